"""The expander: the command, and the files that it writes or leaves alone."""

from __future__ import annotations

import builtins
import json
import os
import runpy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweeping import BASE, dump, load_with_mmengine

from gpassk_opencompass.errors import TemplateError
from gpassk_opencompass.sweep.folder import Run, changes, read_manifest, signature
from gpassk_opencompass.sweep.template import expand

ROOT = Path(__file__).resolve().parents[1]


def test_an_output_folder_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that cannot be made is one message, and the file stays as it is."""
    (tmp_path / 'configs').write_text('mine')
    assert dump(tmp_path, BASE) == 2
    assert '--output-dir' in capsys.readouterr().err
    assert (tmp_path / 'configs').read_text() == 'mine'


@pytest.mark.parametrize('stopped_in', ['import', 'template'])
def test_ctrl_c_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stopped_in: str
) -> None:
    """While modules are loaded, and while a template runs."""
    (tmp_path / 'template.py').write_text(BASE + 'raise KeyboardInterrupt\n')
    monkeypatch.setattr(sys, 'argv', ['dump_configs.py', '-tc', str(tmp_path / 'template.py')])
    imports = builtins.__import__

    def importing(name: str, *arguments: Any) -> Any:
        if name == 'gpassk_opencompass.cli.expand' and stopped_in == 'import':
            raise KeyboardInterrupt
        return imports(name, *arguments)

    monkeypatch.setattr(builtins, '__import__', importing)
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(ROOT / 'dump_configs.py'), run_name='__main__')
    assert stopped.value.code == 130
    assert capsys.readouterr() == ('', 'dump_configs.py: stopped\n')


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """When each file was written, and which file it is."""
    return {path.name: (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.iterdir()}


def test_a_second_run_changes_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that say the same already keep their time stamp and inode."""
    text, folder = BASE.replace('[0.3]', '[0.3, 0.7]'), tmp_path / 'configs'
    dump(tmp_path, text)
    capsys.readouterr()
    for path in folder.iterdir():
        os.utime(path, ns=(10**9, 10**9))
    before = stamps(folder)
    dump(tmp_path, text)
    assert stamps(folder) == before
    assert capsys.readouterr().out == f'2 configs in {folder}: 0 written, 2 unchanged\n'


def cells(line: str) -> list[str]:
    """Of a row of a table."""
    return [cell.strip() for cell in line.split('|')[1:-1]]


def test_a_dry_run_says_what_a_sweep_costs_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row a model and benchmark: n × 238 samples a config, and no response longer than max_out_len."""
    text = BASE.replace('greedy = False', '').replace('[100]', '[100, 1000]') + "llm_infos = ['x/a', 'x/b']\n"
    assert dump(tmp_path, text, '--dry-run') == 0
    lines = capsys.readouterr().out.splitlines()
    samples, tokens = 238 * (48 + 48 + 1), 238 * (48 * 100 + 48 * 1000 + 1000)
    counts = [f'{samples:,}', f'{samples:,}', f'{tokens:,}']
    assert [cells(line) for line in lines[2:5]] == [
        ['a', 'LiveMathBench-v202412', '3', '238', *counts],
        ['b', 'LiveMathBench-v202412', '3', '238', *counts],
        ['total', '', '6', '', f'{2 * samples:,}', f'{2 * samples:,}', f'{2 * tokens:,}'],
    ]
    assert lines[-1].startswith(f'6 configs for {tmp_path / "configs"}: 6 to write, 0 unchanged')
    assert not (tmp_path / 'configs').exists()


leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.integers(), inner, max_size=4),
    max_leaves=12,
)


def source_of(config: dict[str, Any], template: str = 'x.py') -> str:
    """The text of a config with these parts."""
    whole = {'models': [{'abbr': 'm'}], 'datasets': [{'abbr': 'd'}], **config}
    run = Run(file='r.py', config=whole, model='m', path='m', benchmark='d', settings={}, k=(), n=None)
    with TemporaryDirectory() as folder:
        Path(folder, template).touch()
        return changes(Path(folder), [run], Path(folder, template)).texts['r.py']


@given(values)
def test_source_evaluates_to_the_same_values(value: Any) -> None:
    """What is written is what was meant, for any plain value; no line is broken inside a string."""
    names: dict[str, Any] = {}
    exec(source_of({'infer': value}), names)
    assert names['infer'] == value


CROSSED = """
llm_infos = [
    ('org/a', 1, 8),
    dict(path='org/b', name='b 2.5', max_out_lens=[32768], engine_config=dict(cache_max_entry_count=0.5)),
]
temperatures = [0.3, 1]
top_ps = [0.8, 1]
max_out_lens = [10, 20]
k_lists = [[4, 8], [2, 1]]
benchmarks = ['livemathbench', 'math500-l5']
judge = dict(type='cascade', first=dict(type='rule'), second=dict(type='llm', model='"m\\n', urls=('http://x',)))
exclude = dict(model='a', k=[1, 2])
infer = dict(partitioner=dict(type='opencompass.partitioners.NumWorkerPartitioner', num_worker=8))
"""


def test_every_config_loads_in_mmengine_as_it_was_meant(tmp_path: Path) -> None:
    """Texts that configs share are written out once, and each config still has all of its own."""
    assert dump(tmp_path, CROSSED) == 0
    configs = expand(tmp_path / 'template.py').configs
    assert len(configs) == 2 * (1 + 2 * 2 * 2) + 2 * (1 + 2 * 2 * 2)
    for name, config in configs.items():
        loaded = load_with_mmengine(tmp_path / 'configs' / name)
        assert loaded == json.loads(json.dumps(config))
        assert signature(loaded) == signature(config)
    signatures = {entry.file: entry.signature for entry in read_manifest(tmp_path / 'configs')}
    assert signatures == {name: signature(config) for name, config in configs.items()}
    assert len(set(signatures.values())) == len(configs)


def test_a_template_name_cannot_leave_the_first_line() -> None:
    """The comment at the top stays one line whatever the template is called."""
    names: dict[str, Any] = {}
    exec(source_of({'a': 1}, 'x\nb = 2 #.py'), names)
    assert 'b' not in names


def test_a_class_that_cannot_be_imported_is_refused() -> None:
    """A dotted name must lead somewhere."""

    class Local:
        pass

    with pytest.raises(TemplateError, match=r'models\[0\]\.type'):
        source_of({'models': [{'abbr': 'm', 'type': Local}]})
