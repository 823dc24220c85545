"""Real servers, started from a command line: llama.cpp's and transformers'."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import psutil
import pytest
from llama_server import MODEL as GGUF
from llama_server import NAME, PROGRAM
from loopback import DIRECT, is_healthy
from started_servers import until
from transformers_server import ENVIRONMENT, need_transformers_server
from transformers_server import PROGRAM as TRANSFORMERS

from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.errors import IncompleteError
from gpassk_opencompass.serving import PRESETS, Serve, Served, read_serve, server

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('served')]


def ask(address: str, model: str) -> str:
    messages = [{'role': 'user', 'content': 'What is 7 + 5?'}]
    body = {'model': model, 'messages': messages, 'seed': 1, 'temperature': 0.0, 'max_tokens': 8}
    request = urllib.request.Request(
        f'{address}/v1/chat/completions', json.dumps(body).encode(), {'Content-Type': 'application/json'}
    )
    with DIRECT.open(request, timeout=120) as reply:
        text: str = json.load(reply)['choices'][0]['message']['content']
    return text


def lives_and_dies(serve: Serve, path: str, name: str, logs: Path) -> None:
    """It answers, is gone at the end, and its death is told with the end of its log."""
    served = Served(serve, path, name)
    with server(served, logs) as running:
        [address] = running.addresses
        assert ask(address, name)
    assert not is_healthy(address)
    with server(served, logs) as running:
        [address] = running.addresses
        for process in psutil.Process().children(recursive=True):
            if address.rpartition(':')[2] in process.cmdline():
                process.kill()
        with pytest.raises(IncompleteError, match=r'was killed by signal 9 \(SIGKILL\): '):
            until(running.check)


def test_the_server_of_transformers(tmp_path):
    """Its list of models fails where the machine has none from the hub; `/health` does not."""
    need_transformers_server()
    command = f'{TRANSFORMERS.parent}/{PRESETS["transformers"].command} --device cpu'
    serve = read_serve({'command': command, 'ready': '/health', 'env': ENVIRONMENT, 'timeout': 120})
    lives_and_dies(serve, MODEL, MODEL, tmp_path)


def test_the_server_of_llama_cpp(tmp_path):
    """By its usual command line."""
    if not (PROGRAM.exists() and GGUF.exists()):
        pytest.skip('no .venv-llama')
    arguments = '-t 1 -np 2 -c 2048 --no-ui'
    preset = read_serve({}, 'llama.cpp').command.split(maxsplit=1)[1]
    serve = read_serve({'command': f'{PROGRAM} {preset} {arguments}', 'ready': '/health', 'timeout': 120})
    try:
        lives_and_dies(serve, str(GGUF), NAME, tmp_path)
    except IncompleteError as error:
        if 'SIGILL' in str(error):
            pytest.skip("the wheel's llama.cpp does not run on this processor")
        raise
