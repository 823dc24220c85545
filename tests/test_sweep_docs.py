"""docs/sweeps.md: its template, commands and tables are what the expander does."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from gpassk_opencompass.sweep import Entry, main
from gpassk_opencompass.sweep.axes import MODEL_LINES
from gpassk_opencompass.sweep.exclude import FIELDS

PAGE = (Path(__file__).resolve().parents[1] / 'docs' / 'sweeps.md').read_text(encoding='utf-8')


def block(language: str, number: int = 0) -> str:
    """A code block of the page."""
    found: list[str] = re.findall(rf'^```{language}\n(.*?)^```', PAGE, flags=re.MULTILINE | re.DOTALL)
    return found[number]


def section(title: str) -> str:
    """A part of the page, from its heading to the next."""
    return PAGE.partition(f'## {title}')[2].partition('\n## ')[0]


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's template as my_sweep.py."""
    (tmp_path / 'my_sweep.py').write_text(block('python'))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures('in_folder')
def test_the_dry_run_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """Table and last line, letter by letter."""
    python, script, *options = shlex.split(block('sh'))
    assert (python, script, main(options)) == ('python', 'dump_configs.py', 0)
    shown = PAGE.split('```\n| model')[1].partition('```')[0]
    assert capsys.readouterr().out == f'| model{shown}'


def test_the_overrides_of_the_page_work(in_folder: Path) -> None:
    """Another engine, other temperatures, another n, in a folder of their own."""
    assert main(shlex.split(block('sh', 1).replace('\\\n', ''))[2:]) == 0
    names = [path.name for path in (in_folder / 'pilot').glob('*_t0-7_*')]
    assert names
    assert all('-r4.py' in name for name in names)


def test_the_page_lists_every_field() -> None:
    """Of an entry of the manifest, of a rule and of a model's own lines."""
    manifest = section('What is in the folder')
    assert all(f'`{field.name}`' in manifest for field in fields(Entry))
    lines = section('The lines')
    assert all(f'`{name}' in lines for name in FIELDS)
    assert all(f'`{name}`' in lines for name in MODEL_LINES)
