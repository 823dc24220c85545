"""A run on several benchmarks is one run, whatever made it smaller on one of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from result_files import ABBR, write_result

from gpassk_opencompass.collect import collect
from gpassk_opencompass.report.leaderboard import Board, boards
from gpassk_opencompass.report.page.content import page_content
from gpassk_opencompass.report.published import as_published
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


@pytest.fixture
def smaller(tmp_path: Path) -> Path:
    """Two runs on two benchmarks; one of them has another n by --samples on each of them."""
    for seed, (dataset, n) in enumerate(zip(BENCHMARKS, (32, 40), strict=True)):
        write_run(tmp_path, 1, dataset, n, 10 + seed, name=f'-samples{n}-k2-r{n // 2}')
    for seed, dataset in enumerate(BENCHMARKS):
        write_run(tmp_path, 2, dataset, 48, 50 + seed)
    return tmp_path


def test_a_run_that_was_made_smaller_in_two_ways_has_one_row_and_one_average(smaller: Path) -> None:
    """How is said of each benchmark, and of the average what it is."""
    tables = found_in(smaller, with_limited=True)
    names = {entry.name for board in tables for entry in board.entries}
    assert {name for name in names if name.startswith(ABBR.format(1))} == {
        f'{ABBR.format(1)} (n = {n} by --samples)' for n in (32, 40)
    }
    rows, notes = overview(tables)
    assert [row['model'] for row in rows] == sorted(
        map(ABBR.format, (1, 2)),
        key=[entry.run for entry in tables[0].entries].index,
    )
    for row in rows:
        scores = [
            float(entry.result.values(board.ranked_by).mean())
            for board in tables
            for entry in board.entries
            if entry.run == row['model']
        ]
        assert len(scores) == 2
        assert row['average'] == pytest.approx(100 * math.fsum(scores) / 2)
    assert [note.partition('] ')[2] for note in notes] == [
        'n = 40 by --samples',
        'n = 32 by --samples',
        'of runs that were made smaller on AIME2024 (n = 40 by --samples), MATH500-L5 (n = 32 by --samples)',
    ]


def test_it_is_one_run_of_the_page_and_of_the_files(smaller: Path) -> None:
    """With a mark of how it was made smaller at each of its results."""
    tables = found_in(smaller, with_limited=True)
    told = page_content(tables)
    assert sorted(run['name'] for run in told['runs']) == list(map(ABBR.format, (1, 2)))
    badges = [
        badge
        for board in told['boards']
        for entry in board['entries']
        if entry['name'] == ABBR.format(1)
        for badge in entry['badges']
    ]
    assert [badge['kind'] for badge in badges] == ['limited', 'limited']
    assert {badge['text'] for badge in badges} == {'n = 32 by --samples', 'n = 40 by --samples'}
    scored = [(board, scores_of(board)) for board in tables]
    assert {score.run for _, rows in scored for row in rows for score in row.values()} == set(
        map(ABBR.format, (1, 2))
    )
    published = as_published(scored)
    assert set(published) == {'m1', 'm2'}
    assert all(None not in facts['mG-Pass@2'].values() for facts in published.values())


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
