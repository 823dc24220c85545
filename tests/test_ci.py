"""Which slow tier CI runs: in turn one of those whose sources changed, else one of all."""

from __future__ import annotations

import runpy
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from hosts import TESTS

ROOT = TESTS.parent
SCRIPT = ROOT / '.ci' / 'tiers.py'


@pytest.fixture(scope='module')
def tiers() -> dict[str, Any]:
    """The names of the script."""
    return runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize(
    ('path', 'tier'),
    [
        ('gpassk_opencompass/lighteval.py', 'lighteval'),
        ('gpassk_opencompass/formats/verl.py', 'harnesses'),
        ('gpassk_opencompass/plugin/models/vllm.py', 'engines'),
        ('gpassk_opencompass/report/page/source/app.tsx', 'browsers'),
        ('tests/faults/test_kills.py', 'faults'),
    ],
)
def test_a_change_of_its_sources_makes_a_tier_due(tiers: dict[str, Any], path: str, tier: str) -> None:
    """Whoever's turn it would be."""
    assert {tiers['due']([path, 'README.md'], commits) for commits in range(10)} == {tier}


def test_each_tier_has_its_turn(tiers: dict[str, Any]) -> None:
    """Where sources of all have changed, and where none of any has."""
    names = list(tiers['TIERS'])
    whole = [sources[0] for sources in tiers['TIERS'].values()]
    for changed in ([], whole):
        assert [tiers['due'](changed, commits) for commits in range(5, 5 + len(names))] == names


def test_sources_of_tiers_are_there(tiers: dict[str, Any]) -> None:
    """A room that moves takes its line in the table with it, and each tier has a command."""
    listed = subprocess.run(['git', 'ls-files'], cwd=ROOT, check=True, capture_output=True, text=True)
    files = listed.stdout.splitlines()
    sources = [source for sources in tiers['TIERS'].values() for source in sources]
    assert [source for source in sources if not any(fnmatch(file, source) for file in files)] == []
    commands = (ROOT / 'Makefile').read_text(encoding='utf-8')
    assert [tier for tier in tiers['TIERS'] if f'\ntest-{tier}: ' not in commands] == []


def test_changes_of_the_last_hours_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are twelve hours older than the last commit do not, unless an older one is named."""

    def git(*words: str) -> None:
        line = ['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *words]
        subprocess.run(line, cwd=tmp_path, check=True, capture_output=True)

    def commit(path: str, hour: int) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
        monkeypatch.setenv('GIT_COMMITTER_DATE', f'2026-01-02T{hour:02}:00:00Z')
        git('add', '.')
        git('commit', '-m', path)

    def told() -> str:
        line = [sys.executable, SCRIPT]
        return subprocess.run(line, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.delenv('GPASSK_CI_BASE', raising=False)
    git('init')
    commit('tests/faults/a.py', 1)
    commit('tests/browsers/a.py', 2)
    assert told() == 'browsers'  # all there is: the first of two, after two commits
    commit('tests/engines/a.py', 14)
    assert told() == 'engines'  # the others are older
    monkeypatch.setenv('GPASSK_CI_BASE', 'HEAD~2')
    assert told() == 'browsers'  # of engines and browsers the second, after three commits
    commit('README.md', 15)
    monkeypatch.setenv('GPASSK_CI_BASE', 'HEAD~1')
    assert told() == 'faults'  # the last of all, after four
