"""What commands import: nothing that they do not need, so that small ones start at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import gpassk_opencompass

ROOT = Path(gpassk_opencompass.__file__).parent.parent
HOSTS = {'opencompass', 'mmengine', 'torch', 'transformers', 'datasets', 'lighteval', 'lm_eval', 'pandas'}
HEAVY = HOSTS | {'matplotlib', 'pyarrow', 'aiohttp', 'scipy.stats'}
JUDGES = {'gpassk_opencompass.answers', 'gpassk_opencompass.judges.rule', 'gpassk_opencompass.scoring'}
LOOK = """
import sys
from gpassk_opencompass.cli import main
try: code = main()
except SystemExit as end: code = end.code
print(code, *sys.modules, sep='\\n', file=sys.stderr)
"""


def imported(*words: str | Path) -> set[str]:
    """Run a command to its good end; return the modules that are loaded then."""
    line = [sys.executable, '-c', LOOK, *words]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False)
    code, *modules = done.stderr.splitlines()
    assert code == '0', done.stderr
    return set(modules)


@pytest.mark.parametrize('command', ['score', 'plan', 'report', 'expand', 'check', 'compare'])
def test_the_help_of_a_command_needs_no_scipy(command):
    """Only the names of options."""
    assert not (HEAVY | JUDGES | {'scipy', 'asyncio', 'pydantic'}) & imported(command, '--help')


def test_counts_are_scored_and_templates_expanded_without_heavy_packages(tmp_path):
    """Special functions are all that intervals of counts need; a sweep is written without its host."""
    counts = tmp_path / 'counts.jsonl'
    lines = [json.dumps({'uid': f'q{place}', 'n': 16, 'c': place}) for place in range(17)]
    counts.write_text('\n'.join(lines), encoding='utf-8')
    assert not (HEAVY | {'scipy.optimize'}) & imported('score', counts, '--k', '4', '8')
    template = ROOT / 'config_templates' / 'demo.py'
    assert not HEAVY & imported('expand', template, '--output-dir', tmp_path / 'configs')
    assert not (HEAVY | JUDGES | {'scipy.optimize'}) & imported('plan', '--half-width', '3')
