"""A run on several benchmarks is one run, whatever made it smaller on one of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from result_files import ABBR, write_result

from gpassk_opencompass.collect import collect
from gpassk_opencompass.report.leaderboard import Board, boards
from gpassk_opencompass.report.scores import scores_of
from gpassk_opencompass.report.tables import overview_table

BENCHMARKS = ('MATH500-L5', 'AIME2024')


def write_run(
    outputs: Path, model: int, dataset: str, n: int, seed: int, name: str = '', **more: Any
) -> Path:
    """A result of 60 questions of that data set alone, in a work directory of its own."""
    c = np.random.default_rng(seed).binomial(n, np.linspace(0.05, 0.95, 60)).tolist()
    problems = [f'{dataset} {number}' for number in range(60)]
    more = {'data': dataset, 'problems': problems, 'work': f'{dataset}{name}-{model}'} | more
    path = write_result(outputs, ABBR.format(model), c, n, dataset=dataset, **more)
    record = json.loads(path.read_text())
    record['gpassk']['run']['dataset'] = f'{dataset}{name or f"-k2-r{n // 2}"}'
    path.write_text(json.dumps(record))
    return path


def found_in(outputs: Path, **options: Any) -> list[Board]:
    return boards(collect([outputs]).results, **options)[0]


def overview(tables: Sequence[Board]) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of all benchmarks together, with an average, and the notes below them."""
    found = overview_table([(board, scores_of(board)) for board in tables], average=True)
    assert found is not None
    told = found.as_json()
    return told['rows'], found.noted()


def test_two_sizes_on_one_benchmark_are_two_runs_on_all(tmp_path: Path) -> None:
    """Nobody could say which of the two the other benchmark continues, but for its k and n."""
    for seed, (dataset, n) in enumerate([('AIME2024', 8), ('AIME2024', 4), ('MATH500-L5', 4)]):
        write_run(tmp_path, 1, dataset, n, seed, work=f'{dataset}-{n}')
    tables = found_in(tmp_path)
    small, large = (f'{ABBR.format(1)} ({sizes})' for sizes in ('k2-r2', 'k2-r4'))
    assert {board.benchmark: {entry.run for entry in board.entries} for board in tables} == {
        'AIME2024': {small, large},
        'MATH500-L5': {small},
    }
    averages = {row['model']: row['average'] for row in overview(tables)[0]}
    assert averages[large] is None
    assert averages[small] is not None


def test_models_of_two_owners_are_not_averaged(tmp_path: Path) -> None:
    """Although they never meet on a benchmark."""
    for seed, (dataset, owner) in enumerate(zip(BENCHMARKS, ('one/m', 'other/m'), strict=True)):
        path = write_run(tmp_path, 1, dataset, 8, seed)
        record = json.loads(path.read_text())
        names = {'model': ABBR.format(1), 'dataset': f'{dataset}-k2-r4', 'host': 'lighteval', 'path': owner}
        record['gpassk']['run'] = names
        path.with_suffix('.gpassk.json').write_text(json.dumps(record))
        path.unlink()
    tables = found_in(tmp_path)
    assert [entry.run for board in tables for entry in board.entries] == [
        f'{ABBR.format(1)} (other/m)',
        f'{ABBR.format(1)} (one/m)',
    ]
    assert [row['average'] for row in overview(tables)[0]] == [None, None]
