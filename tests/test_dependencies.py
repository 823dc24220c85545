"""The page on dependencies says what setup.py says, and names whatever the code imports."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import setuptools

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / 'docs' / 'dependencies.md').read_text(encoding='utf-8')
IMPORTED_AS = {'math_verify': 'math-verify'}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments of `setup`."""
    given: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, 'setup', lambda **arguments: given.update(arguments))
    runpy.run_path(str(ROOT / 'setup.py'))
    return given


def name_of(requirement: str) -> str:
    return re.split(r'[^A-Za-z0-9_.-]', requirement, maxsplit=1)[0]


def rows_of(heading: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    section = PAGE.split(f'\n## {heading}\n')[1].split('\n## ')[0]
    lines = [line for line in section.splitlines() if line.startswith('| `')]
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines]


def test_the_core_is_listed_with_reasons(told: dict[str, Any]) -> None:
    """Each package once, in order, with a reason and a licence."""
    rows = rows_of('Core')
    assert [row[0].strip('`') for row in rows] == sorted(map(name_of, told['install_requires']))
    assert all(len(row) == 3 and all(row) for row in rows)


def test_the_extras_are_listed_with_reasons(told: dict[str, Any]) -> None:
    """Each package once, with all its extras."""
    extras: defaultdict[str, set[str]] = defaultdict(set)
    for extra, requirements in told['extras_require'].items():
        for requirement in requirements:
            extras[name_of(requirement)].add(extra)
    rows = rows_of('Extras')
    assert len(rows) == len(extras)
    assert {row[0].strip('`'): set(row[1].split(', ')) for row in rows} == extras
    assert all(len(row) == 4 and all(row) for row in rows)


def test_nothing_is_imported_that_the_page_does_not_name() -> None:
    """Of this package's modules, also within functions."""
    imported: set[str] = set()
    for path in (ROOT / 'gpassk_opencompass').rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(str(node.module).partition('.')[0])
    others = imported - sys.stdlib_module_names - {'gpassk_opencompass'}
    named = set(re.findall(r'`([\w-]+)`', PAGE))
    assert {IMPORTED_AS.get(name, name) for name in others} <= named


def test_every_pin_is_exact_or_says_why_not() -> None:
    """A pin without == has its reason at the top of the file."""
    for path in (ROOT / 'constraints').glob('*.txt'):
        lines = path.read_text(encoding='utf-8').splitlines()
        reasons = ' '.join(line for line in lines if line.startswith('#'))
        for line in lines:
            if line and not line.startswith('#') and '==' not in line:
                assert name_of(line) in reasons, f'{path.name}: {line}'


@pytest.mark.parametrize('harness', ['evalscope', 'inspect', 'lm-eval', 'nemo-skills', 'verl'])
def test_a_lock_installed_without_dependencies_has_all_of_ours(told: dict[str, Any], harness: str) -> None:
    """This package runs beside the harness, and pip adds nothing to such a list."""
    lines = (ROOT / 'constraints' / f'harness-{harness}.txt').read_text(encoding='utf-8').splitlines()
    pinned = {name_of(line).lower().replace('_', '-') for line in lines}
    assert not {name_of(requirement).lower() for requirement in told['install_requires']} - pinned
