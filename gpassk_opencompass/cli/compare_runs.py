"""`gpassk compare` of runs with each other: differences question by question, whatever host asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from tabulate import tabulate

from ..errors import InputError
from ..report.layout import NOTHING, short_reason
from ..report.leaderboard import boards
from ..report.table import markdown_cell
from ..report.tables import heading
from ..results.read import collect
from ..uncertainty import Comparison, compare
from .shown import printable

if TYPE_CHECKING:
    from ..report.leaderboard import Board, Entry


def print_runs(folders: Sequence[Path], metric: str | None, level: float) -> None:
    """For each table of a report, every two of its runs, best first.

    Args:
        folders: as for `gpassk report`.
        metric: compared; None: mG-Pass@k of the table.
        level: of confidence.

    Raises:
        InputError: nothing to compare, or no such metric.
    """
    found = collect(folders, details=False)
    tables, left_out = boards(found.results, level=level)
    for line in (*found.passed_over, *left_out):
        print(f'left out: {printable(line)}')
    pairs = [board for board in tables if len(board.entries) > 1]
    if not pairs:
        raise InputError(
            f'{len(found.results)} results in {len(tables)} tables, none with two runs: only runs on the '
            'same questions, judged by the same judge, can be compared'
        )
    for board in pairs:
        _print_board(board, metric or board.metrics[-1])


def _print_board(board: Board, metric: str) -> None:
    rows = [_row(first, second, metric) for first, second in combinations(board.entries, 2)]
    print(printable(f'{board.title}: {metric}\n{heading(board)}\n', keep='\n'))
    headers = ['first', 'second', 'first − second', f'{100 * board.level:g} % interval', 'p']
    print(tabulate(rows, headers, 'github', disable_numparse=True) + '\n')


def _row(first: Entry, second: Entry, metric: str) -> list[str]:
    found = compared(first, second, metric)
    points = f'{100 * found.difference:+.2f}'
    names = [markdown_cell(_name(entry)) for entry in (first, second)]
    if found.refused:
        return [*names, points, f'none: {short_reason(found.refused)}', NOTHING]
    return [*names, points, f'[{100 * found.low:+.1f}, {100 * found.high:+.1f}]', _p_value(found.p_value)]


def _name(entry: Entry) -> str:
    """With what is to be known of its responses."""
    mark = entry.result.health.mark
    return f'{entry.name} ({mark})' if mark else entry.name


def _p_value(value: float) -> str:
    return '< 0.001' if value < 0.001 else f'{value:.3f}'


def compared(first: Entry, second: Entry, metric: str) -> Comparison:
    """The difference of two runs of one table, whose questions may stand in another order."""
    values = second.result.values(metric)[second.result.rows_of(first.result.uids)]
    return compare(first.result.values(metric), values, first.result.problems, first.level)
