"""Keys in templates are refused wherever they stand; what only looks a little like one is not."""

from __future__ import annotations

import base64
import random
import string

import pytest
from sweeping import dump
from test_sweep_errors import BASE, LLM, OPENAI, refused

from gpassk_opencompass.keys import looks_like_key

CHANCE = random.Random(7)
MIXED = string.ascii_letters + string.digits


def drawn(length: int, alphabet: str = MIXED) -> str:
    return ''.join(CHANCE.choice(alphabet) for _ in range(length))


def jwt() -> str:
    header = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip('=')
    return f'{header}.{base64.urlsafe_b64encode(b"{}" + drawn(40).encode()).decode().rstrip("=")}.{drawn(43)}'


KEYS = {
    'OpenAI': f'sk-{drawn(48)}', 'OpenAI, project': f'sk-proj-{drawn(60, MIXED + "-_")}',
    'Anthropic': f'sk-ant-api03-{drawn(90, MIXED + "-_")}',
    'OpenRouter': f'sk-or-v1-{drawn(64, "0123456789abcdef")}', 'Groq': f'gsk_{drawn(52)}',
    'GitHub': f'ghp_{drawn(36)}', 'GitHub, fine-grained': f'github_pat_{drawn(22)}_{drawn(59)}',
    'NVIDIA': f'nvapi-{drawn(64, MIXED + "-_")}', 'Perplexity': f'pplx-{drawn(48)}',
    'Hugging Face': f'hf_{drawn(34)}', 'Google': f'AIza{drawn(35, MIXED + "-_")}',
    'xAI': f'xai-{drawn(80)}', 'AWS': f'AKIA{drawn(16, string.ascii_uppercase + string.digits)}',
    'JWT': jwt(), 'Bearer': f'Bearer {drawn(24)}',
    'Basic': f'Basic {base64.b64encode(b"user:" + drawn(12).encode()).decode()}',
    'of nobody we know': 'q7Zt2LmX9bVw4KsR8nPy3HdJ6fGc1TaE',
    'of nobody we know, for URLs': 'Q7zT-2lMx9BvW4kSr8NpY3hDj6Fg_C1tAe5Uo',
    'URL with a password': 'https://me:pa/ss@host/v1', 'URL with a name': f'https://{drawn(20)}@host/v1',
}  # fmt: skip

LINES = {
    'openai_api_base': "openai_api_base = 'https://host/{}/v1'",
    'openai_api_base[1]': "openai_api_base = ['https://host/v1', 'https://host/v1?x={}']",
    'extra_body.metadata.user[0]': "extra_body = dict(metadata=dict(user=['{}']))",
    'extra_body.headers.X-Thing': "extra_body = dict(headers={{'X-Thing': '{}'}})",
    'llm_infos[0].path': "llm_infos = [dict(path='{}')]",
    'llm_infos[0].extra_body.a': "llm_infos = [dict(path='gpt-4o', extra_body=dict(a='{}'))]",
    'judge.extra_body.x': LLM + " urls='http://h', extra_body=dict(x='{}'))",
    'judge.model': "judge = dict(type='llm', urls='http://h', model='{}')",
    'the name of an entry of extra_body': "extra_body = {{'{}': 1}}",
}


@pytest.mark.parametrize('provider', KEYS)
def test_a_key_is_refused_in_any_value(tmp_path, capsys, provider):
    key = KEYS[provider]
    for number, (place, line) in enumerate(LINES.items()):
        (folder := tmp_path / str(number)).mkdir()
        message = refused(folder, capsys, f'{OPENAI}{line.format(key)}\n')
        assert f'{place} looks like a literal API key' in message
        assert 'key_env=' in message
        assert 'not_keys' in message
        assert key[-8:] not in message


LEGITIMATE = [
    'Qwen/Qwen2.5-72B-Instruct',
    'nvidia/Llama-3_1-Nemotron-Ultra-253B-v1-FP8',
    'mistralai/Mixtral-8x22B-Instruct-v0.1',
    '495f39366efef23836d0cfae4fbe635880d2be31',
    'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '/ckpt/550e8400-e29b-41d4-a716-446655440000/global_step_1200/actor/huggingface',
    '/mnt/data/hf_models_and_tokenizers/hub/models--Qwen--Qwen2.5-7B/snapshots/a09a35458c702b33eeacc393d103063234e8bc28',
    '/home/user/runs/2025-01-31_12-00-00_lr1e-5_bs64_T0.7_P0.95_N48_L8192_seed42_GRPO_v2_final',
    's3://bucket/models/Qwen2.5-7B/2025-01-31T12:00:00Z/',
    'http://localhost:8000/v1',
    'https://api.example.org/openai/deployments/gpt-4o-2024-11-20/v1?api-version=2024-10-21',
    'git@github.com:org/repo.git',
    'Solve the problem. The bearer of this ticket pays $3.50; what does he pay for 17? Put it in \\boxed{}.',
    '请逐步推理，并将最终答案放在 \\boxed{} 中。',
    '\\frac{x^2+2x+1}{x+1} = \\sqrt{\\sum_{n=1}^{10} a_n b_{n+1}}',
    'data:image/png;base64,' + base64.b64encode(bytes(range(256)) * 2).decode(),
    base64.b64encode(bytes(range(256)) * 40).decode(),
    'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
    'gpassk_opencompass.judges.llm.LLMJudge',
]


@pytest.mark.parametrize('text', LEGITIMATE, ids=lambda text: text[:40])
def test_what_templates_really_hold_passes(text):
    assert not looks_like_key(text)


def test_a_false_alarm_can_be_allowed(tmp_path, capsys):
    """By repeating the value, on purpose; another one is refused all the same."""
    name = KEYS['of nobody we know']
    lines = f"{BASE}llm_infos = [dict(path='org/{name}', name='m', tp=1)]\n"
    assert 'llm_infos[0].path' in refused(tmp_path, capsys, f"{lines}not_keys = ['org/other']\n")
    assert dump(tmp_path, f"{lines}not_keys = ['org/{name}']\n") == 0
    assert list((tmp_path / 'configs').glob('*.py'))
    capsys.readouterr()
    (tmp_path / 'other').mkdir()
    assert 'not_keys must be a list' in refused(tmp_path / 'other', capsys, f"{lines}not_keys = 'org'\n")
