"""A run of MathArena's own scripts, made anew and read: the tables that it uploads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from harness_scores import check_scores, runs_of, scored, verdicts_of
from make_matharena_logs import COUNTS, MODELS, N, is_right, make

CHECKOUT = os.environ.get('MATHARENA', '')

if not CHECKOUT or 'MATHARENA_PYTHON' not in os.environ:
    pytest.skip(
        'MathArena is on no index: set $MATHARENA to a clone of its repository, and $MATHARENA_PYTHON to the '
        'interpreter of an environment of constraints/harness-matharena.txt',
        allow_module_level=True,
    )


def test_a_run_made_now_is_read_as_the_recorded_one(tmp_path: Path) -> None:
    """Verdicts by construction, from each form that it writes, and exact scores."""
    make(Path(CHECKOUT).resolve(), tmp_path)
    truth = {
        str(number): ''.join('01'[is_right(number, replica)] for replica in range(N))
        for number in range(1, len(COUNTS) + 1)
    }
    for place in (tmp_path / 'org_sums.parquet', tmp_path / 'sums.jsonl'):
        runs = {run.model: run for run in runs_of(place)}
        assert set(runs) == set(MODELS)
        assert verdicts_of(runs[MODELS[0]]) == truth
        check_scores(scored(tmp_path / 'out.json', place, '--only', 'scripted', '--k', '2', '4'), COUNTS, N)
