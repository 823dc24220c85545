"""The expander: what it refuses, with one message and no file."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweeping import BASE, dump

LLM = "judge = dict(type='llm', model='m',"

ERRORS = {
    'tempratures = 1.0': 'temperatures',
    'k = [4]': "did you mean 'k_lists'?",
    'engine_config = {}': "engine 'turbomind'",
    "engine = 'turbomnd'": "did you mean 'turbomind'?",
    'temperatures = [0.3, 0.30]': 'temperatures',
    'greedy = True; temperatures = [0, -0.0]': '0.0 twice',
    'temperatures = [0.3, -0.1]': 'temperatures[1]',
    "temperatures = '0.3'": 'temperatures',
    "temperatures = [float('nan')]": 'temperatures[0]',
    'del temperatures': 'temperatures',
    'del max_out_lens': 'max_out_lens',
    'exclude = [dict()]': 'exclude[0]',
    'infer = {1.5: 2}': 'infer',
    'models = [dict(path="m")]; datasets = [dict(abbr="d")]': 'models[0]',
    'top_ps = [0]': 'top_ps[0]',
    'top_ks = [-1]': 'top_ks[0]',
    'repetition_penalties = 0': 'repetition_penalties',
    'random_seeds = [1, 1]': 'random_seeds',
    'max_out_lens = 0': 'max_out_lens',
    'k_lists = []': 'k_lists',
    'k_lists = [[4, 8], [8, 4]]': 'k_lists',
    'replications = 0': 'replications',
    'n = 48': 'both n and replications',
    'del replications; n = 8': 'k_lists has k = 16, but n = 8',
    'version = 202412': 'version',
    "version = '2025-05'; dataset_splits = 'a'; dataset_languages = 'en'": '2025-05',
    "dataset_splits = ['AMC', 'AMC']": 'dataset_splits',
    'cot = 1': 'cot',
    "eval_urls = ['localhost:80']": 'eval_urls',
    "judge = dict(type='rul')": "'rul'",
    "judge = dict(type='rule', max_lenght=3)": 'max_lenght',
    "judge = dict(type='cascade', first=dict(type='rule'), second=dict(type='lm'))": "'lm'",
    "judge = dict(type='rule', without=['percents'])": 'without',
    f'{LLM} urls=["foo"])': "'foo'",
    f'{LLM} urls="http://x", max_tokens="x")': 'max_tokens',
    f'{LLM} urls="http://x", prompts="nope")': 'prompts',
    f'{LLM} urls="http://x", extra_body=dict(model="y"))': 'extra_body',
    f'{LLM} urls="http://x", api_key_env="no name")': 'api_key_env',
    "judge = dict(type='cascade', first=dict(typ='rule'), second=dict(type='rule'))": 'first',
    f'{LLM} urls="http://x", rate=0); judge = dict(type="cascade", first=judge, second=judge)': 'rate',
    "eval_urls = ['http://x']": 'needs the name of its model',
    "eval_urls = ['http://x']; eval_model_name = 'Qwen'; judge = dict(type='rule')": 'give one of them',
    'import sys; sys.exit(3)': 'SystemExit',
    'thresholds = [2]': 'thresholds[0]',
    'infer = dict(a=[object()])': 'infer.a',
    "exclude = ['Qwen*']": 'exclude[0]',
    'exclude = dict(temperatures=1.0)': 'temperatures',
    'exclude = [dict(top_k=1), dict(n=0)]': 'exclude[1].n',
    "exclude = dict(model='*')": 'leaves out every combination',
    'temperatures = [0.0, 0.3]': 'temperatures',
    "llm_infos = [dict(path='a/b', max_out_lens=[0])]": 'max_out_lens',
    "llm_infos = [dict(path='a/b', n=8)]": 'a/b, with its own n',
    'del llm_infos': 'llm_infos',
    'llm_infos = [dict(tp=1)]': 'llm_infos[0].path',
    "llm_infos = [dict(path='a', tpp=1)]": 'tpp',
    "llm_infos = [dict(path='a', tp=-1)]": 'llm_infos[0].tp',
    "llm_infos = ['x/a.b', 'y/a-b']": 'llm_infos[0]',
    'k_lists = list(range(1, 90))': 'leave out some k',
    'max_seq_len = 100': 'max_seq_len',
    "llm_infos = [dict(path='a', key='sk-abcdefgh')]": 'llm_infos[0].key',
    "eval_urls = ['https://me:secret@host/v1']": 'eval_urls[0]',
    "judge = dict(headers=dict(Authorization='Bearer abcdefghijkl'))": 'judge.headers.Authorization',
    "judge = dict(api_key='abc')": 'judge.api_key',
    'def': 'not valid Python',
    '1 / 0': 'ZeroDivisionError',
    'models = [dict(abbr="m")]': 'datasets',
    'models = [dict(abbr="m")] * 2; datasets = [dict(abbr="d")]': 'm@d.py',
    'models = [dict(abbr="m")]; datasets = [dict(abbr="d", k=[4, 8], n=7)]': 'd: k = [4, 8], n = 7',
    'x = ' + '-' * 100_000 + '1': 'not valid Python',
    'exclude = []; exclude.append(exclude)': 'holds itself',
    'temperatures = [10 ** 400]': 'temperatures[0]',
    "llm_infos = [dict(path='/models/caf\\udce9')]": 'llm_infos[0].path',
    'models = [dict(abbr="m\\ud800")]; datasets = [dict(abbr="d")]': 'models[0].abbr',
    'models = [dict(abbr="m", key="sk-abcdefgh")]; datasets = [dict(abbr="d")]': 'models[0].key',
    "benchmarks = ['aime']": "did you mean 'aime2024'",
    "benchmarks = ['aime2024', 'AIME2024']": 'remove one',
    "benchmarks = ['livemathbench', 'livemathbench-v202412']": 'both LiveMathBench-v202412',
    "benchmarks = 'aime2024'; dataset_path = '/d'": "{'aime2024': '/d'}",
    "version = '202601'": '202412, 202505',
    "benchmarks = dict(name='a b', path='x')": 'benchmarks[0].name',
    "benchmarks = dict(name='AIME2024', path='x')": 'benchmarks[0]',
}
"""Lines that are added to the template: what the message has to name."""


def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> str:
    """The one message of a template that is refused, after checking that nothing was written."""
    assert dump(tmp_path, text) == 2
    out, err = capsys.readouterr()
    assert out == ''
    assert not (tmp_path / 'configs').exists()
    assert 'template.py: ' in err
    return err


@pytest.mark.parametrize('lines', ERRORS)
def test_what_is_wrong_is_named_and_nothing_is_written(tmp_path, capsys, lines):
    assert ERRORS[lines] in refused(tmp_path, capsys, f'{BASE}\n{lines}\n')


def test_all_mistakes_are_told_at_once(tmp_path, capsys):
    text = f"{BASE}top_ps = 2\ntempratures = 1\nllm_infos = [dict(path='a', tp=-1, n='x')]\n"
    message = refused(tmp_path, capsys, text)
    for part in ('top_ps', "'temperatures'", 'llm_infos[0].tp', 'llm_infos[0].n', '4 mistakes'):
        assert part in message


OPENAI = (
    "engine = 'openai'\ntemperatures = [1.0]\ngreedy = False\nmax_out_lens = [100]\nllm_infos = ['gpt-4o']\n"
)
OF_JUDGE = 'JUDGE_KEY'


@pytest.mark.parametrize(
    ('line', 'said'),
    [
        ("judge = dict(type='llm', api_key='f00dfeed99')", OF_JUDGE),
        ("judge = dict(type='llm', api_key_env='sk-f00dfeed99')", OF_JUDGE),
        ("judge = dict(type='cascade', second=dict(type='llm', api_key_env='sk-f00dfeed99'))", OF_JUDGE),
        ("eval_urls = ['https://me:f00dfeed99@host/v1']", OF_JUDGE),
        (
            "models = [dict(abbr='m')]; datasets = [dict(abbr='d', judge=dict(api_key='f00dfeed99'))]",
            OF_JUDGE,
        ),
        ("openai_api_base = 'https://host/v1?api-key=f00dfeed99'", 'openai_api_base'),
        ("extra_body = {'Authorization': 'f00dfeed99'}", 'extra_body.Authorization'),
    ],
)
def test_a_key_is_refused_with_advice_and_not_repeated(tmp_path, capsys, line, said):
    """Whatever it looks like; a judge's is not key='ENV', but the name of a variable."""
    message = refused(tmp_path, capsys, f'{OPENAI}{line}\n')
    assert 'f00dfeed99' not in message
    if said == OF_JUDGE:
        assert "api_key_env='JUDGE_KEY', the name of an environment variable" in message
        assert "key='ENV'" not in message
    else:
        assert f'{said} looks like a literal API key' in message
