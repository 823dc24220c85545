"""Servers that are started here: ready, never ready, dead once and twice, and never left behind."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import DIRECT, is_healthy
from started_servers import Script, group_of, until

from gpassk_opencompass.errors import IncompleteError, InputError
from gpassk_opencompass.serving import Asked, Server, choosing, ports, read_serve, taken_from_environment
from gpassk_opencompass.serving import server as server_module

OWNER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
from pathlib import Path
from gpassk_opencompass.serving import Asked, Server, read_serve
server = Server(read_serve(dict(command=sys.argv[1])), Asked('m', 'm'), Path(sys.argv[2]), grace=0.3)
server.start()
print('ready', flush=True)
sys.stdin.read()
"""
"""A process that has a server, and ends with its standard input."""

FORK = 'import os\nif os.fork() == 0: sys.stdin.read(); os._exit(0)\n'


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    """A scripted server, of which nothing may be left."""
    found = Script(tmp_path / 'script')
    yield found
    until(lambda: not found.processes)


def server_of(script: Script, logs: Path, name: str = 'm', **serve: Any) -> Server:
    said: list[str] = []
    server = Server(read_serve(script.serve(**serve)), Asked('m', name), logs, said.append, grace=0.3)
    server.said = said  # type: ignore[attr-defined]
    return server


def ask(address: str, seed: int) -> str:
    """What a server replies to one chat."""
    body = {'model': 'm', 'seed': seed, 'messages': [{'role': 'user', 'content': 'Hi'}]}
    request = urllib.request.Request(f'{address}/v1/chat/completions', json.dumps(body).encode())
    with DIRECT.open(request, timeout=20) as reply:
        text: str = json.load(reply)['choices'][0]['message']['content']
    return text


def test_a_server_takes_requests_and_ends(script: Script, tmp_path: Path) -> None:
    """It is there within the block, its log too, and what was said tells where both are."""
    with server_of(script, tmp_path / 'logs') as server:
        assert ask(server.address, 5) == r'5 makes \boxed{2}'
        assert [start['port'] for start in script.starts] == [int(server.address.rpartition(':')[2])]
        said = server.said  # type: ignore[attr-defined]
        assert str(server.log) in said[0]
        assert server.address in said[-1]
    assert not is_healthy(server.address)
    assert 'started: ' in server.log.read_text()
    assert 'arguments: ' in server.log.read_text()
    server.close()  # again


def test_what_ignores_sigterm_is_killed_with_its_children(script: Script, tmp_path: Path) -> None:
    """The whole group, after a time of grace."""
    script.set('stubborn')
    with server_of(script, tmp_path / 'logs'):
        [start] = script.starts
        assert len(group_of(start['pid'])) == 2
    assert group_of(start['pid']) == []


class LateClock:
    """A thousand seconds late as soon as the server has spoken."""

    def __init__(self, logs: Path) -> None:
        self._logs, self.sleep = logs, time.sleep

    def monotonic(self) -> float:
        spoken = any('arguments: ' in log.read_text() for log in self._logs.glob('*.log'))
        return time.monotonic() + 1000 * spoken


def test_one_that_is_never_ready_is_an_error_with_the_end_of_its_log(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time that it has; nothing is left."""
    script.set('unready')
    monkeypatch.setattr(server_module, 'time', LateClock(tmp_path / 'logs'))
    with pytest.raises(IncompleteError, match=r'(?s)not ready after 60 s .*\.log ends in.*arguments: '):
        server_of(script, tmp_path / 'logs').start()
    assert script.processes == []


def test_one_that_ends_at_once_is_an_error_with_the_end_of_its_log(script: Script, tmp_path: Path) -> None:
    """It is not started again: it was never ready."""
    script.set('broken', 'CUDA out of memory')
    with pytest.raises(
        IncompleteError, match=r'(?s)ended before it was ready: .*CUDA out of memory.*exit code 1'
    ):
        server_of(script, tmp_path / 'logs').start()


def test_a_program_that_is_not_there_is_an_error_of_one_line(tmp_path: Path) -> None:
    """Before anything is started."""
    serve = read_serve({'command': 'no-such-program --port {port}'})
    with pytest.raises(InputError, match="'no-such-program', and there is no such program"):
        Server(serve, Asked('m', 'm'), tmp_path).start()


def test_a_model_under_another_name_is_an_error(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of the server tells."""
    monkeypatch.setattr(server_module, '_LISTED', 0.1)
    command = script.command.replace('{name}', 'other')
    with pytest.raises(InputError, match=r"has 'other', and not 'm'.*needs \{name\}"):
        server_of(script, tmp_path / 'logs', command=command).start()


@pytest.mark.parametrize('answers', [False, True], ids=['a socket', 'another server of the same model'])
def test_a_port_that_is_taken_meanwhile_costs_another_try(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    """Whoever listens there, even as the same model, is not taken for the server."""
    thief = Script(tmp_path / 'thief')
    with socket.socket() as taken, server_of(thief, tmp_path / 'logs') as other:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = int(other.address.rpartition(':')[2]) if answers else taken.getsockname()[1]
        free, chosen = ports.free_port, [port]
        monkeypatch.setattr(server_module, 'free_port', lambda but: chosen.pop() if chosen else free(but))
        with server_of(script, tmp_path / 'logs') as server:
            assert server.address != f'http://127.0.0.1:{port}'
            assert ask(server.address, 1)
            assert any('taken by another process' in said for said in server.said)  # type: ignore[attr-defined]
        assert thief.replied == []


def test_one_that_dies_is_started_once_more_at_its_address(script: Script, tmp_path: Path) -> None:
    """The log says how it ended; a second death is the end, and the error has the log's."""
    with server_of(script, tmp_path / 'logs') as server:
        script.kill()
        until(lambda: len(script.starts) == 2 and is_healthy(server.address))
        server.check()
        assert ask(server.address, 2)
        script.kill()
        until(lambda: _error(server.check) is not None)
        error = str(_error(server.check))
        assert error.count('ended: signal 9 (SIGKILL)') == 2
        assert len(script.starts) == 2


def _error(check: Callable[[], None]) -> IncompleteError | None:
    try:
        check()
    except IncompleteError as error:
        return error
    return None


@pytest.mark.parametrize('moment', range(6))
def test_a_kill_of_the_owner_leaves_no_server(script: Script, tmp_path: Path, moment: int) -> None:
    """kill -9 while it starts, when it is ready, and while it is started again; with children, too."""
    if moment % 2:
        script.set('stubborn')
    if moment >= 4:
        script.set('unready')
    owner = subprocess.Popen(
        [sys.executable, '-c', OWNER, script.command, str(tmp_path / 'logs')],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with owner:
        assert owner.stdout is not None
        if moment >= 4:
            until(lambda: script.starts)
        else:
            assert owner.stdout.readline() == b'ready\n'
        if moment in (2, 3):
            script.kill()
            until(lambda: len(script.starts) == 2)
        assert script.processes
        owner.kill()
    groups = [start['pid'] for start in script.starts]
    until(lambda: not script.processes and not any(map(group_of, groups)))


def test_a_worker_that_outlives_its_owner_keeps_no_server(script: Script, tmp_path: Path) -> None:
    """A forked copy has the pipe, too; the server's keeper looks whose child it is."""
    code = OWNER.replace("print('ready'", f"{FORK}print('ready'")
    owner = subprocess.Popen(
        [sys.executable, '-W', 'ignore', '-c', code, script.command, str(tmp_path / 'logs')],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b'ready\n'
        owner.kill()
        owner.wait()
        until(lambda: not [pid for pid in script.processes if pid in group_of(script.starts[-1]['pid'])])


def test_a_kill_of_the_keeper_takes_the_server_with_it(script: Script, tmp_path: Path) -> None:
    """The owner is told that it ended."""
    with server_of(script, tmp_path / 'logs') as server:
        keeper = server._keeper
        assert keeper is not None
        keeper.kill()
        until(lambda: not group_of(script.starts[-1]['pid']))
        until(lambda: _error(server.check) is not None)
        assert 'the process that keeps the server of' in str(_error(server.check))
        assert 'was ended by signal 9 (SIGKILL), and the server with it' in str(_error(server.check))


def test_odd_names_and_paths_are_single_words(tmp_path: Path) -> None:
    """Blanks, quotes, braces, shell characters and other scripts reach the server as they are."""
    script = Script(tmp_path / "my 'model's; $(touch x) 模型")
    path, name = '/models/a b/{port}"; rm -rf ~', "Qwen 'x' 模型 $HOME {tp}"
    command = f'{script.command} --weights {{model}} --json \'{{"a": {{"b": 1}}}}\''
    serve = read_serve({'command': command, 'ready': '/health'})
    with Server(serve, Asked(path, name), tmp_path / 'lo gs') as server:
        text = server.log.read_text()
    for word in (path, name, '{"a": {"b": 1}}', str(script.folder)):
        assert repr(word) in text.splitlines()[1]
    until(lambda: not script.processes)


def test_a_key_from_the_environment_is_in_no_file(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the log, where the server says it, nor in any other file; it reaches the server."""
    secret = 'sk-' + 'q8Zr1Lw5' * 4
    monkeypatch.setenv('MY_KEY', secret)
    command = f'{script.command} --api-key $MY_KEY'
    with server_of(script, tmp_path / 'logs', command=command, env={'SCRIPT_SECRET': '$MY_KEY'}) as server:
        assert 'secret: ***' in server.log.read_text()
        script.set('broken', f'bad key {secret}')
        script.kill()
        until(lambda: _error(server.check) is not None)
        assert secret not in str(_error(server.check))
    script.set('broken', '')
    files = [path for path in tmp_path.rglob('*') if path.is_file()]
    assert files
    assert not [path for path in files if secret in path.read_text(errors='replace')]


@pytest.mark.parametrize(
    ('given', 'server', 'complaint'),
    [
        (
            {'command': 'x {prot}'},
            None,
            r'\{prot\}; what may stand in braces is \{model\}, \{name\}, \{host\}',
        ),
        ({'command': 'x {model}'}, None, r'\{port\} is missing'),
        ({'command': 'x "{port}'}, None, 'cannot be split into words'),
        ({'command': 'x {port} --api-key sk-12345678'}, None, 'write --api-key \\$MY_KEY'),
        ({'command': 'x {port} --api-key=sk-12345678'}, None, 'write --api-key \\$MY_KEY'),
        ({'command': 'x {port} --hf-token sk-12345678'}, None, 'write --hf-token \\$MY_KEY'),
        ({}, None, "which server\\? server='vllm' \\(or sglang"),
        ({}, 'vlm', "server = 'vlm': expected vllm, sglang, lmdeploy, llama.cpp"),
        ({'port': 1}, 'vllm', r"serve has \['port'\]; it takes command, arguments"),
        ({'ready': 'health'}, 'vllm', "serve.ready = 'health': expected a path"),
        ({'timeout': 0}, 'vllm', 'serve.timeout = 0: expected seconds above 0'),
        ({'timeout': True}, 'vllm', 'serve.timeout = True'),
        ({'env': {'A B': 'x'}}, 'vllm', "serve.env has 'A B'"),
        ({'env': {'A': 1}}, 'vllm', "serve.env has 'A'"),
        ('vllm', None, "serve = 'vllm': expected a dict"),
        ({'command': 5}, None, 'are texts'),
    ],
)
def test_what_cannot_be_started_is_refused(given: Any, server: str | None, complaint: str) -> None:
    """With what was received, what is allowed and what to do; never with the key."""
    with pytest.raises(InputError, match=complaint) as caught:
        read_serve(given, server)
    assert 'sk-1234' not in str(caught.value)


OPERATIONAL = [
    '--host 0.0.0.0',
    '--gpu-memory-utilization 0.5',
    '--gpu-memory-utilization=0.5',
    '-tp 8',
    '--max-num-seqs 9',
    '--disable-log-requests',
    '--api-key $K',
    '--hf-token',
    '--hf-token $K',
]
CHOOSING = [
    '--quantization fp8',
    '--dtype half',
    '--max-model-len 9',
    '--seed=1',
    '--enforce-eager',
    '--new-flag',
]


def test_what_a_command_line_takes_from_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its value, which stands nowhere; of keys, places and the machine nothing."""
    line = 'vllm serve {model} --port {port} --chat-template=$TEMPLATE --api-key $MY_KEY --host $HERE'
    serve = {'command': line, 'env': {'VLLM_MODE': '$MODE', 'HF_TOKEN': '$OTHER_KEY', 'HF_HOME': '$PLACE'}}
    for name in ('TEMPLATE', 'MY_KEY', 'HERE', 'MODE', 'OTHER_KEY', 'PLACE'):
        monkeypatch.setenv(name, 'before')
    first = taken_from_environment(serve)
    assert set(first) == {'TEMPLATE', 'MODE'}
    assert 'before' not in str(first)
    for name in ('TEMPLATE', 'MY_KEY', 'HERE', 'MODE', 'OTHER_KEY', 'PLACE'):
        monkeypatch.setenv(name, 'after')
        assert (taken_from_environment(serve) != first) == (name in first)
        monkeypatch.setenv(name, 'before')


def test_what_of_a_command_line_chooses_samples() -> None:
    """Places, memory and traffic do not, weights and numerics do; what is not known counts."""
    line = 'vllm serve {model} --port {port}'
    plain = choosing({'command': line})
    for flags in random.Random(1).sample(OPERATIONAL, len(OPERATIONAL)):
        assert choosing({'command': f'{line} {flags}'}) == plain
    assert choosing({'command': f'/opt/a b/vllm {line[5:]}'.replace('/opt/a b', "'/opt/a b'/")}) == plain
    assert (
        choosing({'command': line, 'timeout': 5, 'ready': '/x', 'env': {'CUDA_VISIBLE_DEVICES': '1'}})
        == plain
    )
    for flags in CHOOSING:
        assert choosing({'command': f'{line} {flags}'}) != plain
    assert choosing({'command': line, 'env': {'VLLM_ATTENTION_BACKEND': 'X'}}) != plain


def test_a_stop_while_it_starts_leaves_nothing(script: Script, tmp_path: Path) -> None:
    """Ctrl-C of a process that waits for it."""
    script.set('unready')
    owner = subprocess.Popen(
        [sys.executable, '-c', OWNER, script.command, str(tmp_path / 'logs')],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with owner:
        until(lambda: script.starts)
        owner.send_signal(signal.SIGINT)
        assert owner.stderr is not None
        assert b'KeyboardInterrupt' in owner.stderr.read()
    assert group_of(script.starts[0]['pid']) == []


def test_a_terminal_that_hangs_up_ends_no_server_of_nohup(script: Script, tmp_path: Path) -> None:
    """Who ignores it has a server that lives on."""
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with server_of(script, tmp_path / 'logs') as server:
            keeper = server._keeper
            assert keeper is not None
            for _ in range(3):
                keeper.send_signal(signal.SIGHUP)
                assert ask(server.address, 1)
            server.check()
    finally:
        signal.signal(signal.SIGHUP, former)
