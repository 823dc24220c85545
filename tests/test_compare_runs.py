"""`gpassk compare` of many runs: which pairs, in what order, and what is said of them."""

from __future__ import annotations

import csv
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from made_results import made_sweep, write_results

from gpassk_opencompass.cli import main
from gpassk_opencompass.collect import collect
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.compare import compared
from gpassk_opencompass.report.leaderboard import Board, Entry, boards
from gpassk_opencompass.uncertainty import all_pairs, compare

RUNS = 12


@pytest.fixture(scope='module')
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve sampled runs of three models."""
    folder = tmp_path_factory.mktemp('many')
    results = [one for one in made_sweep(['a', 'b', 'c'], (0.3, 1.0), questions=60) if one.n > 1]
    write_results(results, folder)
    return folder


@pytest.fixture(scope='module')
def board(outputs: Path) -> Board:
    """Their table."""
    [found] = boards(collect([outputs]).results)[0]
    assert len(found.entries) == RUNS
    return found


def rows_of(capsys: pytest.CaptureFixture[str], *line: object) -> list[dict[str, Any]]:
    assert main(['compare', *map(str, line), '--json']) == 0
    [table] = json.loads(capsys.readouterr().out)['tables']
    rows: list[dict[str, Any]] = table['rows']
    return rows


def means(board: Board, metric: str) -> dict[str, float]:
    return {entry.name: float(entry.result.values(Metric.parse(metric)).mean()) for entry in board.entries}


def test_a_bare_comparison_is_bounded_and_says_how_to_get_the_rest(
    outputs: Path, board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every two of the ten best."""
    assert main(['compare', str(outputs)]) == 0
    printed = capsys.readouterr().out
    assert sum(line.startswith('| ') for line in printed.splitlines()) == 1 + 45
    assert '45 of 66 pairs: those of the 10 runs with the highest mG-Pass@16, best first' in printed
    assert all(option in printed for option in ('--top N', '--against RUN', '-o FILE.csv'))
    assert 'of all pairs in this table' in printed
    best = sorted(means(board, 'mG-Pass@16').items(), key=lambda one: -one[1])
    shown = rows_of(capsys, outputs)
    assert [(row['first'], row['second']) for row in shown] == list(
        combinations([name for name, _ in best[:10]], 2)
    )


def test_all_against_one(outputs: Path, board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    """Best first; each difference is that of the library, run less the one."""
    one = board.entries[4].name
    rows = rows_of(capsys, outputs, '--against', one, '--chosen')
    assert {row['second'] for row in rows} == {one}
    assert len(rows) == RUNS - 1
    found = means(board, 'mG-Pass@16')
    assert [row['first'] for row in rows] == sorted(set(found) - {one}, key=lambda name: -found[name])
    results: dict[str, Entry] = {entry.name: entry for entry in board.entries}
    for row in rows:
        metric = Metric.parse('mG-Pass@16')
        first, second = results[row['first']].result, results[one].result
        expected = compare(first.values(metric), second.values(metric), first.counts.problem)
        assert row['first − second'] == pytest.approx(100 * expected.difference)
        assert row['p'] == pytest.approx(expected.p_value)


def test_the_best_by_another_metric(outputs: Path, board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    """--top is of what the runs are compared by, and so is what tells them apart."""
    rows = rows_of(capsys, outputs, '--metric', 'accuracy', '--top', 7)
    found = means(board, 'accuracy')
    best = sorted(found, key=lambda name: -found[name])[:7]
    assert set(best) != {entry.name for entry in board.entries[:7]}, 'those of mG-Pass@k are others'
    assert [(row['first'], row['second']) for row in rows] == list(combinations(best, 2))
    metric = Metric.parse('accuracy')
    values = [entry.result.values(metric) for entry in board.entries]
    better = all_pairs(values, board.entries[0].result.counts.problem).better
    place = {name: number for number, name in enumerate(found)}
    for row in rows:
        one, other = place[row['first']], place[row['second']]
        assert row['told apart'] == ('yes' if better[one, other] or better[other, one] else 'no')


def test_a_pair_of_a_table_has_another_interval_than_two_that_were_chosen(
    outputs: Path, board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of all pairs, p, interval and "told apart" say one thing; of two chosen beforehand, another."""
    one = next(
        second.name
        for first, second in combinations(board.entries, 2)
        if compared(first, second, board.ranked_by).p_value < 0.04
        and not (board.better | board.better.T)[board.entries.index(first), board.entries.index(second)]
    )
    whole = rows_of(capsys, outputs, '--against', one)
    alone = rows_of(capsys, outputs, '--against', one, '--chosen')
    assert any(row['p'] < 0.05 and row['told apart'] == 'no' for row in alone), 'that only seem apart'
    for row, chosen in zip(whole, alone, strict=True):
        apart = row['told apart'] == 'yes'
        assert apart == (chosen['told apart'] == 'yes') == (row['p'] <= 0.05)
        assert apart == (row['95 % interval low'] > 0 or row['95 % interval high'] < 0)
        assert chosen['p'] <= row['p']
        assert chosen['95 % interval low'] > row['95 % interval low']
    assert main(['compare', str(outputs), '--against', one, '--chosen']) == 0
    assert 'of these two, chosen beforehand' in capsys.readouterr().out
    assert main(['compare', str(outputs), '--chosen']) == 2
    assert '--chosen goes with --against RUN' in capsys.readouterr().err


def test_all_pairs_go_into_a_file(outputs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With all digits of what is printed, and what the numbers are of."""
    file = tmp_path / 'pairs.csv'
    assert main(['compare', str(outputs), '-o', str(file)]) == 0
    capsys.readouterr()
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert len(rows) == RUNS * (RUNS - 1) // 2, 'all of them, not those that were printed'
    assert {row['statement'] for row in rows} == {'of all pairs in this table'}
    shown = {(row['first'], row['second']): row for row in rows_of(capsys, outputs, '--top', RUNS)}
    for row in rows:
        other = shown[row['first'], row['second']]
        assert float(row['difference']) == other['first − second']
        assert (float(row['p']) if row['p'] else None) == other['p']
        assert row['told_apart'] == other['told apart']
    assert main(['compare', str(outputs), '-o', str(file), '--against', 'a_t0.3_p0.8', '--top', '2']) == 0
    assert len(file.read_text().splitlines()) == 1 + 2


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('a_t', "'a_t' is in the names of 4 runs: a_t0.3"),
        ('aa_t0.3_p0.8_k50_rs42_l8192', 'is no run here; there are a_t0.3_p0.8_k50_rs42_l8192'),
    ],
)
def test_a_name_that_is_not_one_run_is_refused(
    name: str, message: str, outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With those that are near."""
    assert main(['compare', str(outputs), '--against', name]) == 2
    assert message in capsys.readouterr().err
