"""Which slow tier CI runs: in turn one of those whose sources changed, else one of all."""

from __future__ import annotations

import runpy
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / '.ci' / 'tiers.py'


@pytest.fixture(scope='module')
def tiers():
    """The names of the script."""
    return runpy.run_path(str(SCRIPT))


def test_a_change_of_its_sources_makes_a_tier_due_and_else_each_has_its_turn(tiers):
    due, names = tiers['due'], list(tiers['TIERS'])
    for path, tier in {
        'gpassk_opencompass/formats/rollouts.py': 'harnesses',
        'gpassk_opencompass/report/page/source/app.tsx': 'browsers',
        'tests/slow/faults/test_kills.py': 'faults',
    }.items():
        assert {due([path, 'README.md'], commits) for commits in range(10)} == {tier}
    for changed in ([], [sources[0] for sources in tiers['TIERS'].values()]):
        assert [due(changed, commits) for commits in range(5, 5 + len(names))] == names


def test_sources_of_tiers_are_there(tiers):
    """A room that moves takes its line in the table with it, and each tier has a command."""
    listed = subprocess.run(['git', 'ls-files'], cwd=ROOT, check=True, capture_output=True, text=True)
    files = listed.stdout.splitlines()
    sources = [source for sources in tiers['TIERS'].values() for source in sources]
    assert [source for source in sources if not any(fnmatch(file, source) for file in files)] == []
    commands = (ROOT / 'Makefile').read_text(encoding='utf-8')
    assert [tier for tier in tiers['TIERS'] if f'\ntest-{tier}: ' not in commands] == []
