"""The expander: the command, and the files that it writes or leaves alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweeping import BASE, NAME, dump, load

from gpassk_opencompass.errors import TemplateError
from gpassk_opencompass.sweep import main
from gpassk_opencompass.sweep.cli import config_texts
from gpassk_opencompass.sweep.source import config_source

ROOT = Path(__file__).resolve().parents[1]


def test_a_missing_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A template that is not there is one message too."""
    assert main(['-tc', str(tmp_path / 'none.py'), '--output_dir', str(tmp_path / 'out')]) == 2
    assert 'cannot read the template' in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_an_output_folder_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that cannot be made is one message, and the file stays as it is."""
    (tmp_path / 'configs').write_text('mine')
    assert dump(tmp_path, BASE) == 2
    assert '--output_dir' in capsys.readouterr().err
    assert (tmp_path / 'configs').read_text() == 'mine'


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


def test_only_what_differs_is_written(tmp_path: Path) -> None:
    """A broken file is replaced, its neighbour and files of others are left alone."""
    text, folder = BASE.replace('[0.3]', '[0.3, 0.7]'), tmp_path / 'configs'
    dump(tmp_path, text)
    broken = folder / NAME.replace('t0-3', 't0-7')
    broken.write_text('broken')
    (folder / 'other.py').write_text('mine')
    before = stamps(folder)
    dump(tmp_path, text)
    assert load(broken)['models']
    assert {name for name, stamp in stamps(folder).items() if stamp != before[name]} == {broken.name}


def test_a_dry_run_lists_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry_run names each file and what would happen."""
    folder = tmp_path / 'configs'
    assert dump(tmp_path, BASE, '--dry_run') == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(folder / NAME)
    assert lines[-1].startswith(f'1 config for {folder}: 1 to write, 0 unchanged')
    assert not folder.exists()


def test_configs_are_the_same_every_time(tmp_path: Path) -> None:
    """No time stamp, no path of the template, no order of a set: equal text wherever it is."""
    texts = []
    for place in ('a', 'b'):
        template = tmp_path / place / 'template.py'
        template.parent.mkdir()
        template.write_text(BASE)
        texts.append(config_texts(template))
    assert texts[0] == texts[1]


def test_configs_are_the_same_in_every_process(tmp_path: Path) -> None:
    """Python shuffles its sets from process to process; configs stay byte for byte."""
    command = [
        sys.executable,
        'dump_configs.py',
        '-tc',
        'config_templates/close.py',
        '--output_dir',
        str(tmp_path),
    ]
    lines = [
        subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, 'PYTHONHASHSEED': seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in '1234'
    ]
    assert [line.endswith(', 8 unchanged\n') for line in lines] == [False, True, True, True]


def test_the_command(tmp_path: Path) -> None:
    """`python dump_configs.py --config_template_file …` from another folder, without the plugin."""
    (tmp_path / 'my.py').write_text(BASE)
    command = [
        sys.executable,
        '-W',
        'error',
        str(ROOT / 'dump_configs.py'),
        '--config_template_file',
        'my.py',
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, '')
    assert [path.name for path in (tmp_path / 'opencompass_configs').iterdir()] == [NAME]
    (tmp_path / 'my.py').write_text('x = 1')
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr.startswith("my.py: unknown variable 'x'")


def test_the_expander_imports_nothing_heavy() -> None:
    """A template of flat assignments needs neither OpenCompass nor mmengine."""
    code = (
        'import sys, gpassk_opencompass.sweep; '
        "print({'mmengine', 'opencompass', 'torch', 'numpy', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == 'set()\n'


leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.integers(), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_source_evaluates_to_the_same_values(value: Any) -> None:
    """What is written is what was meant, for any plain value; no line is broken inside a string."""
    names: dict[str, Any] = {}
    exec(config_source({'models': value}, 'x.py'), names)
    assert names['models'] == value


def test_source_fits_the_page() -> None:
    """Long lists and dicts go one item a line, nested, with trailing commas."""
    text = config_source({'a': {'b': ['x' * 40] * 3, 'c': {}}}, 'my.py')
    assert text.partition('\n\n')[2] == (
        'a = {\n'
        "    'b': [\n"
        f"        '{'x' * 40}',\n"
        f"        '{'x' * 40}',\n"
        f"        '{'x' * 40}',\n"
        '    ],\n'
        "    'c': {},\n"
        '}\n'
    )


def test_a_template_name_cannot_leave_the_first_line() -> None:
    """The comment at the top stays one line whatever the template is called."""
    names: dict[str, Any] = {}
    exec(config_source({'a': 1}, 'x\nb = 2 #.py'), names)
    assert 'b' not in names


def test_a_class_that_cannot_be_imported_is_refused() -> None:
    """A dotted name must lead somewhere."""

    class Local:
        pass

    with pytest.raises(TemplateError, match=r'models\[0\]\.type'):
        config_source({'models': [{'type': Local}]}, 'x.py')
