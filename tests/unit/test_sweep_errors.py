"""The expander: what it refuses, with one message and no file."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweeping import BASE, dump

LLM = "judge = dict(type='llm', model='m',"

ERRORS = {
    'temperature = 1.0': 'temperatures',
    'tempratures = 1.0': 'temperatures',
    'k = [4]': "did you mean 'k_lists'?",
    'engine_config = {}': "engine 'turbomind'",
    "engine = 'turbomnd'": "did you mean 'turbomind'?",
    'engine = None': 'None',
    'temperatures = []': 'temperatures',
    'temperatures = [0.3, 0.30]': 'temperatures',
    'greedy = True; temperatures = [0, -0.0]': '0.0 twice',
    'temperatures = [0.3, -0.1]': 'temperatures[1]',
    "temperatures = '0.3'": 'temperatures',
    'temperatures = {0.3}': 'temperatures',
    'temperatures = [True]': 'temperatures[0]',
    "temperatures = [float('inf')]": 'temperatures[0]',
    "temperatures = [float('nan')]": 'temperatures[0]',
    'del temperatures': 'temperatures',
    'top_ps = [0]': 'top_ps[0]',
    'top_ps = [1.1]': 'top_ps[0]',
    'top_ks = [-1]': 'top_ks[0]',
    'top_ks = [1.5]': 'top_ks[0]',
    'repetition_penalties = 0': 'repetition_penalties',
    'random_seeds = [1, 1]': 'random_seeds',
    'max_out_lens = 0': 'max_out_lens',
    'del max_out_lens': 'max_out_lens',
    'k_lists = []': 'k_lists',
    'k_lists = [[]]': 'k_lists',
    'k_lists = [[4], 8, []]': 'k_lists[2]',
    'k_lists = [4, 4]': 'k_lists',
    'k_lists = [[4, 8], [8, 4]]': 'k_lists',
    'k_lists = [0]': 'k_lists[0]',
    'replications = 0': 'replications',
    'n = 48': 'both n and replications',
    'del replications; n = 8': 'k_lists has k = 16, but n = 8',
    'version = 202412': 'version',
    "version = '2025-05'": 'dataset_splits',
    "version = '2025-05'; dataset_splits = 'a'; dataset_languages = 'en'": '2025-05',
    "dataset_splits = ['AMC', 'AMC']": 'dataset_splits',
    "dataset_splits = [['AMC']]": 'dataset_splits',
    'dataset_path = None': 'dataset_path',
    'cot = 1': 'cot',
    "eval_urls = ['localhost:80']": 'eval_urls',
    'eval_model_name = None': 'eval_model_name',
    "judge = 'rule'": 'judge',
    "judge = dict(type='rul')": "'rul'",
    "judge = dict(type='rule', max_lenght=3)": 'max_lenght',
    'judge = dict(first=1)': 'judge',
    "judge = dict(type='cascade', first=dict(type='rule'), second=dict(type='lm'))": "'lm'",
    "judge = dict(type='rule', max_length=-3)": 'max_length',
    "judge = dict(type='rule', without=['percents'])": 'without',
    "judge = dict(type='rule', max_length=2.5)": 'max_length',
    f'{LLM} urls=["foo"])': "'foo'",
    f'{LLM} urls=5)': 'urls',
    "judge = dict(type='llm', model='', urls='http://x')": 'model',
    f'{LLM} urls="http://x", max_tokens="x")': 'max_tokens',
    f'{LLM} urls="http://x", temperature=-1)': 'temperature',
    f'{LLM} urls="http://x", timeout=-1)': 'timeout',
    f'{LLM} urls="http://x", timeout=None)': 'timeout',
    f'{LLM} urls="http://x", longest="9")': 'longest',
    f'{LLM} urls="http://x", prompts="nope")': 'prompts',
    f'{LLM} urls="http://x", extra_body=dict(model="y"))': 'extra_body',
    f'{LLM} urls="http://x", extra_body="seed")': 'extra_body',
    f'{LLM} urls="http://x", accept_equal="no")': 'accept_equal',
    f'{LLM} urls="http://x", verdicts="")': 'verdicts',
    f'{LLM} urls="http://x", api_key_env="no name")': 'api_key_env',
    "judge = dict(type='cascade', first='rule', second=dict(type='rule'))": 'first',
    "judge = dict(type='cascade', first=dict(typ='rule'), second=dict(type='rule'))": 'first',
    f'{LLM} urls="http://x", rate=0); judge = dict(type="cascade", first=judge, second=judge)': 'rate',
    "eval_urls = ['http://']; eval_model_name = 'Qwen'": "'http://'",
    "eval_urls = ['http://x']": 'needs the name of its model',
    "eval_urls = ['http://x']; eval_model_name = 'Qwen'; judge = dict(type='rule')": 'give one of them',
    'import sys; sys.exit(3)': 'SystemExit',
    'thresholds = [2]': 'thresholds[0]',
    'infer = []': 'infer',
    'infer = dict(a=[object()])': 'infer.a',
    'infer = {1.5: 2}': 'infer',
    'infer = dict(a=lambda: 1)': 'infer.a',
    "infer = dict(a=float('inf'))": 'infer.a',
    'exclude = [dict()]': 'exclude[0]',
    "exclude = 'Qwen*'": 'exclude',
    "exclude = ['Qwen*']": 'exclude[0]',
    'exclude = dict(temperatures=1.0)': 'temperatures',
    'exclude = [dict(top_k=1), dict(n=0)]': 'exclude[1].n',
    'exclude = dict(temperature=[])': 'exclude[0].temperature',
    'exclude = dict(model=7)': 'exclude[0].model',
    'exclude = dict(k=[[4], 0])': 'exclude[0].k',
    "exclude = dict(model='*')": 'leaves out every combination',
    'greedy = 1': 'greedy',
    'temperatures = [0.0, 0.3]': 'temperatures',
    'random_seeds = None': 'random_seeds',
    "llm_infos = [dict(path='a/b', max_out_len=9)]": 'max_out_lens',
    "llm_infos = [dict(path='a/b', max_out_lens=[0])]": 'max_out_lens',
    "llm_infos = [dict(path='a/b', temperatures=[0])]": 'temperatures',
    "llm_infos = [dict(path='a/b', n=8)]": 'a/b, with its own n',
    "llm_infos = [dict(path='a/b', n=48, replications=3)]": 'a/b, with its own',
    'del llm_infos': 'llm_infos',
    'llm_infos = []': 'llm_infos',
    'llm_infos = [1]': 'llm_infos[0]',
    'llm_infos = [dict(tp=1)]': 'llm_infos[0].path',
    "llm_infos = [dict(path='..')]": 'llm_infos[0].path',
    "llm_infos = [dict(path='a', tpp=1)]": 'tpp',
    "llm_infos = [dict(path='a', tp=-1)]": 'llm_infos[0].tp',
    "llm_infos = [dict(path='a', batch_size=0)]": 'llm_infos[0].batch_size',
    "llm_infos = [dict(path='a', model_kwargs=1)]": 'llm_infos[0].model_kwargs',
    "llm_infos = ['x/a.b', 'y/a-b']": 'llm_infos[0]',
    "llm_infos = [dict(path='a', batch=8)]": "did you mean 'batch_size'?",
    'k_lists = list(range(1, 90))': 'leave out some k',
    'max_seq_len = 100': 'max_seq_len',
    "llm_infos = [dict(path='a', key='sk-abcdefgh')]": 'llm_infos[0].key',
    "eval_model_name = 'x sk-proj-abcdefghijk'": 'eval_model_name',
    "eval_urls = ['https://me:secret@host/v1']": 'eval_urls[0]',
    "judge = dict(headers=dict(Authorization='Bearer abcdefghijkl'))": 'judge.headers.Authorization',
    "judge = dict(api_key='abc')": 'judge.api_key',
    'def': 'not valid Python',
    '1 / 0': 'ZeroDivisionError',
    'import no_such_module': 'no_such_module',
    'models = [dict(abbr="m")]': 'datasets',
    'models = []; datasets = []': 'models',
    'models = [dict(path="m")]; datasets = [dict(abbr="d")]': 'models[0]',
    'models = [dict(abbr="m")] * 2; datasets = [dict(abbr="d")]': 'm@d.py',
    'models = [dict(abbr="m/n")]; datasets = [dict(abbr="d")]': 'm/n@d.py',
    'models = [dict(abbr="m")]; datasets = [dict(abbr="d", k=[4, 8], n=7)]': 'd: k = [4, 8], n = 7',
    'models = [dict(abbr="m")]; datasets = [dict(abbr="d", k=["4"], n=7)]': "k = ['4']",
    'models = [dict(abbr="m")]; datasets = [dict(abbr="d", k=4, n=True)]': 'n = True',
    'x = ' + '-' * 100_000 + '1': 'not valid Python',
    'exclude = []; exclude.append(exclude)': 'holds itself',
    'max_out_lens = [1 << 20000]': 'max_out_lens[0]',
    'temperatures = [10 ** 400]': 'temperatures[0]',
    "llm_infos = [dict(path='/models/caf\\udce9')]": 'llm_infos[0].path',
    'models = [dict(abbr="m\\ud800")]; datasets = [dict(abbr="d")]': 'models[0].abbr',
    'models = [dict(abbr="m", key="sk-abcdefgh")]; datasets = [dict(abbr="d")]': 'models[0].key',
    'models = [dict(abbr="m", f=1j)]; datasets = [dict(abbr="d")]': 'models[0].f',
    "benchmarks = ['aime']": "did you mean 'aime2024'",
    "benchmarks = ['math500']": "did you mean 'math500-l5'",
    "benchmarks = ['aime2024', 'AIME2024']": 'remove one',
    "benchmarks = ['livemathbench', 'livemathbench-v202412']": 'both LiveMathBench-v202412',
    'benchmarks = []': 'benchmarks is []',
    'benchmarks = [1]': 'benchmarks[0] is 1',
    "benchmarks = 'aime2024'; dataset_path = '/d'": "{'aime2024': '/d'}",
    "dataset_path = {'aime': '/d'}": "'aime2024'",
    "dataset_path = {'aime2024': 1}": 'dataset_path.aime2024 is 1',
    "version = '202601'": '202412, 202505',
    "benchmarks = dict(name='a b', path='x')": 'benchmarks[0].name',
    "benchmarks = dict(name='x')": 'benchmarks[0].path',
    "benchmarks = dict(name='AIME2024', path='x')": 'benchmarks[0]',
    "benchmarks = dict(name='x', path='x', x=1)": 'benchmarks[0]',
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
        (LLM + " urls='http://h', extra_body=dict(auth_token='f00dfeed99'))", 'judge.extra_body.auth_token'),
        ("openai_api_base = 'https://host/v1?api-key=f00dfeed99'", 'openai_api_base'),
        ("openai_api_base = 'https://host/v1?v=1&apiKey=f00dfeed99'", 'openai_api_base'),
        ("openai_api_base = ['http://a/v1', 'http://b/v1?access_token=f00dfeed99']", 'openai_api_base[1]'),
        ("extra_body = dict(headers={'x-api-key': 'f00dfeed99'})", 'extra_body.headers.x-api-key'),
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
