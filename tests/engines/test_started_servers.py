"""Real servers, started from a command line: llama.cpp's and transformers'."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path

import pytest
from engines.llama_server import MODEL as GGUF
from engines.llama_server import NAME, PROGRAM
from loopback import DIRECT, is_healthy
from started_servers import group_of, until
from transformers_server import PROGRAM as TRANSFORMERS

from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.errors import IncompleteError
from gpassk_opencompass.serving import Asked, Serve, Server, read_serve

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('served')]


def ask(address: str, model: str) -> str:
    """A response of at most 8 tokens."""
    messages = [{'role': 'user', 'content': 'What is 7 + 5?'}]
    body = {'model': model, 'messages': messages, 'seed': 1, 'temperature': 0.0, 'max_tokens': 8}
    request = urllib.request.Request(
        f'{address}/v1/chat/completions', json.dumps(body).encode(), {'Content-Type': 'application/json'}
    )
    with DIRECT.open(request, timeout=120) as reply:
        text: str = json.load(reply)['choices'][0]['message']['content']
    return text


def lives_and_dies(serve: Serve, asked: Asked, logs: Path) -> None:
    """It answers, once more after a kill -9 of all that it is, and is gone at the end."""
    with Server(serve, asked, logs) as server:
        before = ask(server.address, asked.name)
        keeper = server._keeper
        assert keeper is not None
        [first] = children(keeper.pid)
        for process in group_of(first):
            os.kill(process, 9)
        until(lambda: children(keeper.pid) not in ([], [first]) and is_up(server.address + serve.ready), 120)
        assert ask(server.address, asked.name) == before
        [second] = children(keeper.pid)
    assert group_of(second) == []
    assert not is_healthy(server.address)


def is_up(address: str) -> bool:
    """Whether it takes requests."""
    try:
        with DIRECT.open(address, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    text = Path(f'/proc/{pid}/task/{pid}/children').read_text()
    return [int(word) for word in text.split() if group_of(int(word))]


def test_the_server_of_transformers(tmp_path: Path) -> None:
    """Its list of models fails where the machine has none from the hub; `/health` does not."""
    if not TRANSFORMERS.exists():
        pytest.skip(f'no {TRANSFORMERS.parents[1].name}: `make test-engines` makes it')
    command = f'{TRANSFORMERS} serve {{model}} --host {{host}} --port {{port}} --device cpu'
    env = {'HF_HUB_OFFLINE': '1', 'OMP_NUM_THREADS': '1', 'PYTHONPATH': ''}
    serve = read_serve({'command': command, 'ready': '/health', 'env': env, 'timeout': 120})
    lives_and_dies(serve, Asked(MODEL, MODEL), tmp_path)


def test_the_server_of_llama_cpp(tmp_path: Path) -> None:
    """By its usual command line."""
    if not (PROGRAM.exists() and GGUF.exists()):
        pytest.skip('no .venv-llama')
    arguments = '-t 1 -np 2 -c 2048 --no-ui'
    preset = read_serve({}, 'llama.cpp').command.split(maxsplit=1)[1]
    serve = read_serve({'command': f'{PROGRAM} {preset} {arguments}', 'ready': '/health', 'timeout': 120})
    try:
        lives_and_dies(serve, Asked(str(GGUF), NAME), tmp_path)
    except IncompleteError as error:
        if 'SIGILL' in str(error):
            pytest.skip("the wheel's llama.cpp does not run on this processor")
        raise
