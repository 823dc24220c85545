"""What commands import: nothing that they do not need, so that small ones start at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpassk_opencompass

ROOT = Path(gpassk_opencompass.__file__).parent.parent

HOSTS = {'opencompass', 'mmengine', 'torch', 'transformers', 'datasets', 'lighteval', 'lm_eval', 'pandas'}
HEAVY = HOSTS | {'matplotlib', 'pyarrow', 'aiohttp', 'scipy.stats'}
OPTIMISERS = {'scipy.optimize', 'scipy.linalg', 'scipy.sparse'}
READERS = {'pydantic', 'gpassk_opencompass.record'}
RULE = 'gpassk_opencompass.judges.rule'
JUDGES = {'gpassk_opencompass.answers', RULE, 'gpassk_opencompass.scoring'}

LOOK = """
import sys
from gpassk_opencompass.cli import main
try: code = main()
except SystemExit as end: code = end.code
print(code, *sys.modules, sep='\\n', file=sys.stderr)
"""


def imported(*words: str | Path, code: int = 0) -> set[str]:
    """Run a command; return the modules that are loaded at its end."""
    done = subprocess.run(
        [sys.executable, '-c', LOOK, *words], capture_output=True, text=True, cwd=ROOT, check=False
    )
    said, *modules = done.stderr.splitlines()
    assert said == str(code), said
    return set(modules)


@pytest.fixture(scope='module')
def counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100 questions with 16 samples each."""
    path = tmp_path_factory.mktemp('counts') / 'counts.jsonl'
    chances = np.random.default_rng(1).beta(0.5, 0.5, 100)
    found = np.random.default_rng(2).binomial(16, chances).tolist()
    lines = [json.dumps({'uid': f'q{place}', 'n': 16, 'c': c}) for place, c in enumerate(found)]
    path.write_text('\n'.join(lines), encoding='utf-8')
    return path


@pytest.fixture(scope='module')
def results(counts: Path) -> list[Path]:
    """Two records of them."""
    paths = [counts.with_name(f'{name}.gpassk.json') for name in ('new', 'old')]
    for path in paths:
        imported('score', counts, '-o', path)
    return paths


@pytest.fixture(scope='module')
def configs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Configs of runs that were never started, beside their empty folder."""
    folder = tmp_path_factory.mktemp('sweep')
    template = ROOT / 'config_templates' / 'demo.py'
    assert not HEAVY & imported('expand', template, '--output-dir', folder / 'configs')
    (folder / 'runs').mkdir()
    return folder / 'configs'


def test_scoring_counts_imports_neither_statistics_nor_the_rule(counts: Path) -> None:
    """Special functions are all that its intervals need, but for rerun errors of fewer than 2k samples."""
    loaded = imported('score', counts, '--k', '4', '8')
    assert not (HEAVY | OPTIMISERS | {RULE}) & loaded
    assert 'scipy.special' in loaded


def test_a_prior_is_fitted_without_scipy_stats(counts: Path) -> None:
    """With k = n = 16, rerun errors take the chances of all questions together: an optimiser, and no more."""
    loaded = imported('score', counts, '--k', '16')
    assert not (HEAVY | {RULE}) & loaded


@pytest.mark.parametrize('command', ['score', 'plan', 'report', 'expand', 'check', 'compare'])
def test_the_help_of_a_command_needs_no_scipy(command: str) -> None:
    """Only the names of options."""
    assert not (HEAVY | READERS | JUDGES | {'scipy', 'asyncio'}) & imported(command, '--help')


def test_a_plan_without_a_pilot_fits_nothing() -> None:
    """There is nothing to optimise, and no file to read."""
    loaded = imported('plan', '--half-width', '3')
    assert not (HEAVY | OPTIMISERS | READERS | JUDGES) & loaded


def test_a_gate_reads_two_results_and_judges_nothing(results: list[Path]) -> None:
    """It reads records, so their layout is checked, and compares them."""
    new, old = results
    loaded = imported('compare', new, old, '--margin', '5', '--questions', 'new')
    assert not (HEAVY | JUDGES) & loaded
    assert loaded >= READERS


def test_a_look_at_runs_needs_no_scipy(configs: Path) -> None:
    """Their states are in files, and a manifest is checked; no statistics are made."""
    loaded = imported('check', configs.with_name('runs'), '--configs', configs, code=1)
    assert not (HEAVY | JUDGES | {'scipy'}) & loaded
