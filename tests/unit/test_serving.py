"""Servers that are started here: ready, never ready, dead, and never left behind; what may be said of one."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from loopback import DIRECT, is_healthy
from started_servers import Script, group_of, until
from sweeping import configs_of as expand

from gpassk_opencompass.errors import IncompleteError, InputError, TemplateError
from gpassk_opencompass.judges import served_judge
from gpassk_opencompass.serving import (
    SERVERS,
    Served,
    StartedServer,
    choosing,
    read_judge_server,
    read_serve,
    server,
)

OWNER = """
import sys
from pathlib import Path
from gpassk_opencompass.serving import Served, read_serve, server
with server(Served(read_serve(dict(command=sys.argv[1])), 'm', 'm'), Path(sys.argv[2])):
    print('ready', flush=True)
    sys.stdin.read()
"""
"""A process that has a server, and ends with its standard input."""

FORKED = OWNER.replace(
    '    print(', '    import os\n    if os.fork() == 0: sys.stdin.read(); os._exit(0)\n    print('
)
"""One with a copy, which has all that it has open."""


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A scripted server, of which nothing may be left."""
    monkeypatch.setattr('gpassk_opencompass.processes.GRACE', 0.3)
    found = Script(tmp_path / 'script')
    yield found
    until(lambda: not found.processes)


def served(script: Script, path: str = 'm', name: str = 'm', **serve: Any) -> Served:
    return Served(read_serve(script.serve(**serve)), path, name)


def ask(address: str, seed: int) -> str:
    body = {'model': 'm', 'seed': seed, 'messages': [{'role': 'user', 'content': 'Hi'}]}
    request = urllib.request.Request(f'{address}/v1/chat/completions', json.dumps(body).encode())
    with DIRECT.open(request, timeout=60) as reply:
        text: str = json.load(reply)['choices'][0]['message']['content']
    return text


def log_in(folder: Path) -> str:
    [log] = folder.glob('*.log')
    return log.read_text()


def test_a_server_takes_requests_and_ends(script, tmp_path):
    """It is there within the block, its log too, and what was said tells where both are."""
    said: list[str] = []
    with server(served(script), tmp_path / 'logs', said.append) as running:
        [address] = running.addresses
        assert ask(address, 5) == r'5 makes \boxed{2}'
        running.check()
    assert [start['port'] for start in script.starts] == [int(address.rpartition(':')[2])]
    assert str(tmp_path / 'logs') in said[0]
    assert address in said[-1]
    assert not is_healthy(address)
    assert '--port' in log_in(tmp_path / 'logs').splitlines()[0]


def test_one_that_gpassk_run_has_started_is_taken(script, tmp_path, monkeypatch):
    wanted = served(script)
    monkeypatch.setenv(SERVERS, json.dumps({wanted.key: ['http://a', 'http://b']}))
    with server(wanted, tmp_path) as running:
        assert running.addresses == ['http://a', 'http://b']
    script.set('stubborn')  # it ignores SIGTERM, and has a child
    with server(served(script, path='other'), tmp_path) as running:
        assert is_healthy(running.addresses[0])
    assert len(script.starts) == 1


def test_one_that_is_never_ready_is_an_error_with_the_end_of_its_log(script, tmp_path):
    script.set('unready')
    running = StartedServer(served(script), tmp_path)
    until(lambda: script.starts)
    assert not running.advance()
    running.began -= 1000
    with pytest.raises(IncompleteError, match=r'(?s)not ready after 60 s .*\.log\).*arguments: '):
        running.advance()
    running.child.end()


def test_what_is_not_there_is_an_error_before_anything_starts(tmp_path):
    """Unless the user says that the weights lie in a container; which says nothing of the samples."""
    for command, path, complaint in (
        ('no-such-program --port {port}', 'm', "'no-such-program', and there is no such program"),
        ('bin/server --port {port}', 'm', "'bin/server', and there is no such program"),
        (f'{sys.executable} {{port}}', '/no/such/weights', "path = '/no/such/weights': there is no such"),
    ):
        with pytest.raises(InputError, match=complaint):
            StartedServer(Served(read_serve({'command': command}), path, 'm'), tmp_path)
    elsewhere = read_serve({'command': f'{sys.executable} {{port}}', 'check_path': False})
    Served(elsewhere, '/no/such/weights', 'm').check()
    assert read_serve(elsewhere.config()) == elsewhere


@pytest.mark.parametrize('moment', range(6))
def test_a_kill_of_the_owner_leaves_no_server(script, tmp_path, moment):
    """kill -9 while it starts, and when it is ready; with children, and where a copy of the owner lives."""
    if moment % 2:
        script.set('stubborn')
    if moment < 2:
        script.set('unready')
    code = FORKED if moment >= 4 else OWNER
    line = [sys.executable, '-W', 'ignore', '-c', code, script.command, str(tmp_path / 'logs')]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        if moment < 2:
            until(lambda: script.starts)
        else:
            assert owner.stdout.readline() == b'ready\n'
        owner.kill()
        owner.wait()
        until(lambda: not group_of(script.starts[-1]['pid']))


def test_odd_names_and_paths_are_single_words(tmp_path):
    """Blanks, quotes, braces, shell characters and other scripts reach the server as they are."""
    script = Script(tmp_path / "my 'model's; $(touch x) 模型")
    path, name = 'models/a b/{port}"; rm -rf ~', "Qwen 'x' 模型 $HOME {tp}"
    command = f'{script.command} --weights {{model}} --json \'{{"a": {{"b": 1}}}}\''
    with server(served(script, path, name, command=command), tmp_path / 'lo gs'):
        [line] = [line for line in log_in(tmp_path / 'lo gs').splitlines() if 'arguments: ' in line]
    for word in (path, name, '{"a": {"b": 1}}', str(script.folder)):
        assert repr(word) in line
    until(lambda: not script.processes)


def test_a_key_from_the_environment_is_in_no_file(script, tmp_path, monkeypatch):
    """Neither in the log, where the server says it, nor in any other file or error; it reaches the server."""
    secret = 'sk-' + 'q8Zr1Lw5' * 4
    monkeypatch.setenv('SCRIPT_SECRET', secret)
    keyed = Served(read_serve(script.serve()), 'm', 'm', key_env='SCRIPT_SECRET')
    with server(keyed, tmp_path / 'logs'):
        assert 'secret: ***' in log_in(tmp_path / 'logs')
    script.set('broken', f'bad key {secret}')
    with pytest.raises(IncompleteError, match=r'bad key \*\*\*'), server(keyed, tmp_path / 'logs'):
        pass
    script.set('broken', '')
    files = [path for path in tmp_path.rglob('*') if path.is_file()]
    assert files
    assert not [path for path in files if secret in path.read_text(errors='replace')]


# What may be said of a server

MODELS = [
    ({'command': 'x {prot}'}, None, r'\{prot\}; what may stand in braces is \{model\}, \{name\}'),
    ({'command': 'x {model}'}, None, r'\{port\} is missing'),
    ({'command': 'x {port} --hf-token=sk-12345678'}, None, 'has --hf-token: a key would stand in files'),
    ({'command': 'x {port} --host=$HERE'}, None, r'has \$HERE: no shell fills it in'),
    ({}, None, "which server\\? server='vllm' \\(or sglang"),
    ({}, 'vlm', "server = 'vlm': expected vllm, sglang, lmdeploy, llama.cpp, transformers"),
    ({'ready': 'health'}, 'vllm', "serve.ready = 'health': String should match"),
    ({'env': {'HF_TOKEN': 'sk-12345678'}}, 'vllm', 'serve.env.HF_TOKEN would stand in files'),
]
JUDGES = [
    ('vllm', 'expected a dict like'),
    ({'server': 'vllm'}, 'judge_serve.path = None: which model judges'),
]


def test_what_cannot_be_started_is_refused():
    """With what was received, what is allowed and what to do; never with the key."""
    for given, preset, complaint in MODELS:
        with pytest.raises(InputError, match=complaint) as caught:
            read_serve(given, preset)
        assert 'sk-1234' not in str(caught.value)
    for judge, complaint in JUDGES:
        with pytest.raises(InputError, match=complaint):
            read_judge_server(judge)


def test_the_addresses_go_to_the_llm_within_a_cascade():
    cascade = {'type': 'cascade', 'first': {'type': 'rule'}, 'second': {'type': 'llm', 'max_tokens': 9}}
    urls = ['http://127.0.0.1:1', 'http://127.0.0.1:2']
    told = {'type': 'llm', 'max_tokens': 9, 'model': 'j', 'patience': 7.0, 'urls': urls}
    assert served_judge(cascade, 'j', urls, {'patience': 7.0})['second'] == told
    for judge, complaint in (({'type': 'rule'}, 'asks no LLM'), (told, 'judge has urls')):
        with pytest.raises(InputError, match=complaint):
            served_judge(judge, 'j', urls, {})


def test_a_template_says_judge_serve():
    """The config has the whole command line, and the judge's name; a second judge is refused."""
    judge = {'server': 'vllm', 'path': 'org/judge-7b', 'tp': 2, 'serve': {'arguments': '--dtype half'}}
    lines = {'llm_infos': ['org/m'], 'temperatures': [1.0], 'max_out_lens': [64], 'greedy': False}
    [config] = expand({**lines, 'judge_serve': judge}).values()
    evaluator = config['datasets'][0]['eval_cfg']['evaluator']
    assert evaluator['judge'] == {'type': 'llm', 'model': 'judge-7b'}
    assert evaluator['judge_serve']['serve']['command'].endswith('--dtype half')
    assert read_judge_server(evaluator['judge_serve']).gpus == 2
    for more in ({'eval_urls': ['http://x']}, {'judge': {'type': 'llm', 'model': 'x'}}):
        with pytest.raises(TemplateError, match='judge'):
            expand({**lines, 'judge_serve': judge, **more})


def test_what_of_a_command_line_chooses_samples():
    """Places, memory and traffic do not, weights and numerics do; what is not known counts."""
    line = 'vllm serve {model} --port {port}'
    plain = choosing({'command': line})
    same = '--host 0.0.0.0|--gpu-memory-utilization=0.5|-tp 8|--max-num-seqs 9|--disable-log-requests'
    for flags in (*same.split('|'), same.replace('|', ' ')):
        assert choosing({'command': f'{line} {flags}'}) == plain
    assert choosing({'command': f"'/opt/a b/'vllm {line[5:]}"}) == plain
    env = {'CUDA_VISIBLE_DEVICES': '1'}
    assert choosing({'command': line, 'timeout': 5, 'ready': '/x', 'env': env, 'check_path': False}) == plain
    other = '--quantization fp8|--dtype half|--max-model-len 9|--seed=1|--enforce-eager|--new-flag'
    for flags in other.split('|'):
        assert choosing({'command': f'{line} {flags}'}) != plain
    assert choosing({'command': line, 'env': {'VLLM_ATTENTION_BACKEND': 'X'}}) != plain
