"""The expander: lines of a template given on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweeping import BASE, dump, load

from gpassk_opencompass.sweep.template import read_overrides

ENTRIES: dict[str, Any] = {
    'temperatures': [0.0, 0.7],
    'top_ps': 0.95,
    'random_seeds': [1, 2],
    'max_out_lens': [64],
    'k_lists': [[2], [4, 8]],
    'replications': [2],
    'greedy': True,
    'exclude': [{'temperature': 0.7, 'k': 2}],
    'engine': 'turbomind',
    'version': '202505',
    'llm_infos': [{'path': 'a/b', 'tp': 4}, 'c'],
    'cot': False,
    'judge': {'type': 'rule', 'max_length': 2500},
}


@pytest.mark.slow
@given(st.sets(st.sampled_from(sorted(ENTRIES))), st.booleans())
def test_overrides_are_the_template_with_those_lines_changed(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], quoted: bool
) -> None:
    """The same files with the same text, whichever lines they are."""
    if 'temperatures' in names:
        names.add('greedy')
    given_lines = [f'{name}={_written(ENTRIES[name], quoted)}' for name in sorted(names)]
    changed = BASE + ''.join(f'{name} = {ENTRIES[name]!r}\n' for name in names)
    overridden = [part for line in given_lines for part in ('--override', line)]
    places = [tmp_path_factory.mktemp('sweep') for _ in range(2)]
    assert dump(places[0], changed) == dump(places[1], BASE, *overridden) == 0
    texts = [{path.name: path.read_bytes() for path in (place / 'configs').glob('*.py')} for place in places]
    assert texts[0] == texts[1]


def _written(value: Any, quoted: bool) -> str:
    return value if isinstance(value, str) and not quoted else repr(value)


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('temperatures=0.3,0.7', (0.3, 0.7)),
        (' temperatures = [0.3] ', [0.3]),
        ('engine=vllm', 'vllm'),
        ("engine='vllm'", 'vllm'),
        ('version=202505', '202505'),
        ("version=['202412', '202505']", ['202412', '202505']),
        ('eval_urls=http://node:80/v1?a=b', 'http://node:80/v1?a=b'),
        ('dataset_path=../data', '../data'),
        ("dataset_path={'aime2024': '/data'}", {'aime2024': '/data'}),
        ("dataset_path=dict(olymmath='/data')", {'olymmath': '/data'}),
        ('benchmarks=math500-l5', 'math500-l5'),
        ("llm_infos=[dict(path='a', engine_config=dict(x=-1))]", [{'path': 'a', 'engine_config': {'x': -1}}]),
        ('random_seeds=None', None),
        ('eval_model_name=7b', '7b'),
        ("eval_model_name=''", ''),
    ],
)
def test_values(text: str, value: Any) -> None:
    """What stands behind the `=` of a template, dict(…) too; words need no quotes."""
    assert list(read_overrides([text]).values()) == [value]


@pytest.mark.parametrize(
    ('line', 'parts'),
    [
        ('temperature=1', ["setting of --override 'temperature'", "did you mean 'temperatures'?"]),
        ('temperatures', ['NAME=VALUE']),
        ('temperatures=', ['NAME=VALUE']),
        ('=3', ["unknown setting of --override ''"]),
        ('temperatures=[0.3', ['temperatures=[0.3', 'cannot be read']),
        ('temperatures=[open("x")]', ['cannot be read']),
        ('llm_infos=dict(**x)', ['cannot be read']),
        ('temperatures=warm', ["temperatures[0] is 'warm'", 'number']),
        ('engine=vlm', ["did you mean 'vllm'?"]),
        ("eval_model_name='sk-abcdefgh12'", ['eval_model_name', 'API key']),
        ('k_lists=[64]', ['k = 64', 'n = 48']),
        ('k_lists=' + '[' * 5000, ['cannot be read']),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, parts: list[str]
) -> None:
    """One message, exit code 2, no folder."""
    text = BASE.replace('replications = 3', 'n = 48')
    assert dump(tmp_path, text, '--override', line) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ('', 1)
    assert not (tmp_path / 'configs').exists()
    for part in parts:
        assert part in err


def test_a_models_own_line_stands_above_an_override(tmp_path: Path) -> None:
    """An override is a line of the template, and those hold for models that say nothing else."""
    text = BASE + "llm_infos = ['a', dict(path='b', max_out_lens=[32768])]\n"
    assert dump(tmp_path, text, '--override', 'max_out_lens=[64]') == 0
    lengths = {
        load(path)['models'][0]['path']: load(path)['models'][0]['max_out_len']
        for path in (tmp_path / 'configs').glob('*.py')
    }
    assert lengths == {'a': 64, 'b': 32768}
