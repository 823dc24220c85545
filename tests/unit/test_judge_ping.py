"""`gpassk judge ping` against servers that do what they should, and that do not."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import judge_server
import pytest
from judge_server import CANARIES, Act, Asked, Fail, Hang, Say, SkippingClock, right_verdict

from gpassk_opencompass.cli import main
from gpassk_opencompass.judges.llm import ServerHealth, ping

JudgeServer = partial(judge_server.JudgeServer, fit=False)
"""Pings ask canaries alone, and a test says what becomes of them."""


@pytest.fixture(autouse=True)
def skipped_waits(monkeypatch):
    """No test waits between two attempts."""
    monkeypatch.setattr('gpassk_opencompass.judges.llm.Clock', SkippingClock)


def judge_well(asked: Asked) -> str:
    """The prompts of this package quote: reference and answer are lines of their own."""
    _, reference, answer, *_ = [line[2:] for line in asked.prompt.splitlines() if line.startswith('| ')]
    said = r'So \boxed{yes}' if answer == reference else r'So \boxed{no}'
    assert said[2:] == (right_verdict(asked.prompt) or '')[5:]
    return said


def ask(*servers: judge_server.JudgeServer, **settings: Any) -> list[ServerHealth]:
    return ping('judge', [server.url for server in servers], **{'prompts': 'own', **settings})


def gpassk(*servers: judge_server.JudgeServer, **settings: Any) -> int:
    config = {'type': 'llm', 'model': 'judge', 'prompts': 'own', 'urls': [server.url for server in servers]}
    return main(['judge', 'ping', '--judge', json.dumps({**config, **settings})])


def test_a_good_server_is_fit(capsys):
    with JudgeServer(judge_well) as server:
        assert gpassk(server) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f'{server.url}/v1/chat/completions: 10 of 10 right'
    rows = [[cell.strip() for cell in line.split('|')[1:-1]] for line in lines if line.startswith('|')][2:]
    kinds = [', an order', ', a fake verdict', ', a fake end']
    assert [row[:4] for row in rows] == [
        ['en', '56 for 56', 'correct', 'correct'],
        ['en', '54 for 56', 'incorrect', 'incorrect'],
        ['cn', '56 for 56', 'correct', 'correct'],
        ['cn', '54 for 56', 'incorrect', 'incorrect'],
        *(['en', f'41 for 42{kind}', 'incorrect', 'incorrect'] for kind in kinds),
        *(['cn', f'57 for 60{kind}', 'incorrect', 'incorrect'] for kind in kinds),
    ]
    assert all(0 <= float(row[4]) < 60 and row[5] == 'right' for row in rows)
    assert lines[-1] == "1 of 1 servers is fit to judge as 'judge'"


def test_a_wrong_model_name_is_told_with_those_that_are_served(capsys):
    missing = Fail(404, {'object': 'error', 'message': "The model 'judge' does not exist.", 'code': 404})
    with JudgeServer(lambda asked: missing, models=['Qwen2.5-72B', 'qwen-lora']) as server:
        assert main(['judge', 'ping', '--model', 'judge', '--url', server.url]) == 1
    printed = capsys.readouterr().out
    assert "HTTP 404: The model 'judge' does not exist." in printed
    assert "→ it serves 'Qwen2.5-72B', 'qwen-lora': give one as the model" in printed
    assert len(server.asked) <= len(CANARIES)


@pytest.mark.parametrize(
    'message',
    [  # vLLM 0.33, older vLLM, lmdeploy 0.18
        'max_tokens=8192 cannot be greater than max_model_len=4096. Please request fewer output tokens.',
        "This model's maximum context length is 4096 tokens. However, you requested 8692 tokens.",
        'Input length (5000) must be smaller than the model context length (4096).',
    ],
)
def test_a_short_context_asks_for_fewer_tokens(message):
    with JudgeServer(lambda asked: Fail(400, {'error': {'message': message}})) as server:
        [health] = ask(server)
    assert health.failure.startswith(f'HTTP 400: {message} → lower max_tokens')


@pytest.mark.parametrize('status', [401, 403])
def test_a_missing_key_is_asked_for_and_never_shown(status, monkeypatch, capsys):
    monkeypatch.setenv('JUDGE_KEY', 'sk-secret')
    with JudgeServer(
        lambda asked: Fail(status, {'error': f'bad key {asked.headers["Authorization"]}'})
    ) as server:
        assert gpassk(server, api_key_env='JUDGE_KEY') == 1
    printed = capsys.readouterr().out
    assert f'HTTP {status}: bad key Bearer ***' in printed
    assert 'as api_key_env' in printed
    assert 'sk-secret' not in printed


def test_a_dead_or_slow_server_is_told_after_few_attempts(capsys):
    """Nothing listens there, or nothing comes; then with the advice to allow more."""
    with JudgeServer(judge_well) as server:
        server.stop()
        assert gpassk(server) == 1
    printed = capsys.readouterr().out
    assert f'{server.url}/v1/chat/completions: no reply' in printed
    assert 'no connection' in printed
    assert server.asked == []
    with JudgeServer(lambda asked: Hang()) as server:
        assert gpassk(server, timeout=1.5) == 1
    assert (
        'time-out → is it still loading, or busy? timeout allows more than 1.5 s' in capsys.readouterr().out
    )
    assert len(server.asked) <= 4 * len(CANARIES)


def test_what_a_server_says_cannot_steer_the_terminal(capsys):
    with (
        JudgeServer(lambda asked: Fail(404, {'message': 'no \x1b[2J'}), models=['\x1b[31m']) as failing,
        JudgeServer(lambda asked: 'hm \x1b]0;x\x07\n') as talking,
    ):
        assert gpassk(failing, talking) == 1
    printed = capsys.readouterr().out
    assert {character for character in printed if not character.isprintable()} == {'\n'}


def thinking(text: str) -> Act:
    """As a server that keeps all in reasoning_content."""
    message = {'role': 'assistant', 'content': None, 'reasoning_content': text}
    return Say('', more={'choices': [{'index': 0, 'message': message, 'finish_reason': 'stop'}]})


@pytest.mark.parametrize(
    ('change', 'said'),
    [
        (lambda text: Say(text, 'done'), "did not come to its own end: if it did, finish_reasons=['done']"),
        (lambda text: Say(text, 'length'), 'it was cut at max_tokens or at the end of the context: raise'),
        (lambda text: Say(text, 'abort'), 'was broken off by the server: see its log'),
        (lambda text: f'<think>{text}', 'within a thought: raise max_tokens; extra_body={'),
        (thinking, 'it has nothing but a thought'),
        (lambda text: 'I agree.', 'no verdict of its own'),
        (None, 'it repeats the prompt: serve a chat model'),
        (lambda text: r'\boxed{yes}', 'it does what an answer tells it: prompts "own"'),
        (lambda text: r'\boxed{no}', 'it says incorrect, twice'),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(change, said, capsys):
    with JudgeServer(lambda asked: change(judge_well(asked)) if change else asked.prompt) as server:
        assert gpassk(server) == 1
    assert said in capsys.readouterr().out


def test_what_is_served_is_told_and_compared(capsys):
    """Two servers that say different things are no judge, however well each judges."""
    cards = [{'id': 'judge', 'root': f'/models/{name}', 'created': 1} for name in 'ab']
    with JudgeServer(judge_well, models=[cards[0]]) as one, JudgeServer(judge_well, models=[cards[1]]) as two:
        assert gpassk(one) == 0
        assert gpassk(one, two) == 1
    printed = capsys.readouterr().out
    assert "it says that it serves model 'judge', root '/models/a'" in printed
    assert any(
        f"{this.url}/v1/chat/completions serves as 'judge': root {its!r} instead of {other!r}" in printed
        for this, its, other in ((one, '/models/a', '/models/b'), (two, '/models/b', '/models/a'))
    )
