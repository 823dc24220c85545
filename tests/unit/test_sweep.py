"""The expander: what a template becomes, and lines of it that are given on the command line."""

from __future__ import annotations

import pytest
from sweeping import BASE, NAME, dataset_of, dump, expanded

from gpassk_opencompass.sweep.template import read_overrides


@pytest.mark.parametrize(
    ('lines', 'name'),
    [
        ('temperatures = 0.3', NAME),
        ('k_lists = [4, 8, 16]', NAME),
        ('k_lists = 16', NAME.replace('k4_8_16', 'k16')),
        ('import numpy; temperatures = [numpy.float64(0.3)]; max_out_lens = numpy.int64(100)', NAME),
        ('del replications; n = 50', NAME.replace('r3', 'n50')),
        ('cot = False', NAME.replace('-k4', '-nocot-k4')),
        (
            "dataset_splits = ['AMC', 'CCEE']; dataset_languages = 'en'",
            NAME.replace('-k4', '-AMC_CCEE-en-k4'),
        ),
        ("version = '202505'", NAME.replace('202412', '202505-all-en')),
        ('random_seeds = range(7, 8)', NAME.replace('rs42', 'rs7')),
        ("llm_infos = '/models/Qwen2.5-7B/'", NAME.replace('model-7b', 'Qwen2-5-7B')),
        ("import pathlib; llm_infos = pathlib.Path('/models/m')", NAME.replace('model-7b', 'm')),
        ("llm_infos = [dict(path='x/y', name='模型 1')]", NAME.replace('model-7b', '模型-1')),
    ],
)
def test_names(tmp_path, lines, name):
    """A scalar is an axis of one, a flat k list one list; what differs from the standard shows."""
    assert list(expanded(tmp_path, f'{BASE}\n{lines}\n')) == [name]


HELPERS = """
from math import sqrt

def twice(number):
    return 2 * number

b = dict(batch_size=twice(4))
llm_infos = [dict(path=path, **b) for path in ['org/one', 'org/two']]
"""


def test_every_other_name_is_a_helper(tmp_path, capsys):
    """Ordinary Python; one line says which values were not taken for settings."""
    assert dump(tmp_path, BASE + HELPERS) == 0
    out, err = capsys.readouterr()
    assert (out.partition(' ')[0], err) == ('2', 'not taken for settings: b\n')


def test_a_judge_without_urls_is_the_rule_judge(tmp_path, capsys):
    """Said at once, and not refused when all is sampled."""
    evaluator = dataset_of(expanded(tmp_path, f"{BASE}eval_model_name = 'Qwen'\n"))['eval_cfg']['evaluator']
    assert (evaluator['model_name'], evaluator['url']) == ('', [])
    assert "eval_model_name is 'Qwen' and eval_urls is empty" in capsys.readouterr().err


def test_a_rule_may_leave_out_what_cannot_be_and_is_named_if_it_leaves_out_nothing(tmp_path, capsys):
    """An engine is not asked about what is left out; a rule that fits nothing may be misspelt."""
    text = BASE.replace('huggingface', 'turbomind').replace('[0.3]', '[0.3, 2.5]')
    assert dump(tmp_path, text) == 2
    capsys.readouterr()
    assert set(expanded(tmp_path, text + "exclude = [dict(temperature=2.5), dict(model='x*')]\n")) == {NAME}
    line = 'exclude[1] fits no combination of the template, so it leaves nothing out\n'
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('temperatures=0.3,0.7', (0.3, 0.7)),
        ("engine='vllm'", 'vllm'),
        ('version=202505', '202505'),
        ('eval_urls=http://node:80/v1?a=b', 'http://node:80/v1?a=b'),
        ("dataset_path=dict(olymmath='/data')", {'olymmath': '/data'}),
        ("llm_infos=[dict(path='a', engine_config=dict(x=-1))]", [{'path': 'a', 'engine_config': {'x': -1}}]),
    ],
)
def test_values_of_overrides(text, value):
    """What stands behind the `=` of a template, dict(…) too; words need no quotes."""
    assert list(read_overrides([text]).values()) == [value]


@pytest.mark.parametrize(
    ('line', 'parts'),
    [
        ('temperature=1', ["setting of --override 'temperature'", "did you mean 'temperatures'?"]),
        ('temperatures=[0.3', ['temperatures=[0.3', 'cannot be read']),
        ('temperatures', ['NAME=VALUE']),
        ('k_lists=' + '[' * 5000, ['cannot be read']),
        ('engine=vlm', ["did you mean 'vllm'?"]),
        ("eval_model_name='sk-abcdefgh12'", ['eval_model_name', 'API key']),
        ('k_lists=[64]', ['k = 64', 'n = 48']),
    ],
)
def test_an_override_that_is_wrong_is_one_line(tmp_path, capsys, line, parts):
    assert dump(tmp_path, BASE.replace('replications = 3', 'n = 48'), '--override', line) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ('', 1)
    assert not (tmp_path / 'configs').exists()
    assert all(part in err for part in parts)
