"""All benchmarks side by side, and an average only where one may be taken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from scipy import stats

from ..metrics import mg_pass_name
from .hosts import judges_differ
from .layout import NOTHING, TextTable
from .leaderboard import Board
from .scores import ALL, Score, Scored

AVERAGE = 'average'

_MISSING = 'no average: a benchmark is missing'


def overview_table(scored: Scored, average: bool) -> TextTable | None:
    """mG-Pass@k of each run on each benchmark; None with fewer than two.

    Args:
        scored: boards with the scores of their entries.
        average: add a column with the mean over the benchmarks for runs that have all of them.
    """
    if len(scored) < 2:
        return None
    titles = [_title(board) for board, _ in scored]
    cells: dict[str, dict[str, Score]] = {}
    for title, (board, rows) in zip(titles, scored, strict=True):
        for entry, scores in zip(board.entries, rows, strict=True):
            cells.setdefault(entry.name, {}).setdefault(title, scores[ALL, mg_pass_name(board.k)])
    table = TextTable('All benchmarks', ['model', *titles])
    table.rows = [[run, *(table.score(row.get(title)) for title in titles)] for run, row in cells.items()]
    if average:
        _add_average(
            table, [board for board, _ in scored], [[row.get(t) for t in titles] for row in cells.values()]
        )
    return table


def why_no_average(boards: Sequence[Board]) -> str:
    """Why no average over these boards means anything; '' if one does."""
    if parted := sorted({board.benchmark for board in boards if board.part}):
        return f'{parted[0]} has results that must not stand together (other questions or another judge)'
    if judges_differ([entry.result for board in boards for entry in board.entries]):
        return 'the benchmarks were judged by different judges'
    if len({board.k for board in boards}) > 1:
        return f'the benchmarks have different k ({", ".join(str(board.k) for board in boards)}); give one k'
    problems = [(board.title, set(board.entries[0].result.problems)) for board in boards]
    for (first, ours), (second, theirs) in combinations(problems, 2):
        if shared := ours & theirs:
            return f'{first} and {second} share {len(shared)} problems, which would count twice'
    return ''


def mean_score(scores: Sequence[Score | None]) -> Score | None:
    """The unweighted mean over benchmarks with an interval from their errors; None if one is missing.

    Benchmarks are independent samples of questions, so the squared errors add up; the interval is Student's
    with Satterthwaite's degrees of freedom. Without an interval for each of them there is none for the mean.
    """
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return None
    value = math.fsum(score.value for score in known) / len(known)
    parts = [(score.error or 0.0) ** 2 / len(known) ** 2 for score in known]
    if any(score.low is None for score in known):
        return replace(known[0], value=value, low=None, high=None, refused='none on one of the benchmarks')
    error, half = math.sqrt(sum(parts)), 0.0
    if error:
        squares = sum(part**2 / (score.problems - 1) for part, score in zip(parts, known, strict=True))
        half = float(stats.t.ppf((1 + known[0].level) / 2, sum(parts) ** 2 / squares)) * error
    low, high = max(value - half, 0.0), min(value + half, 100.0)
    return replace(known[0], value=value, low=low, high=high, error=error, refused='')


def _title(board: Board) -> str:
    return f'{board.title}: {mg_pass_name(board.k)}'


def _add_average(table: TextTable, boards: Sequence[Board], scores: Sequence[Sequence[Score | None]]) -> None:
    if why := why_no_average(boards):
        table.notes.append(f'no average: {why}')
        return
    table.headers.append(AVERAGE)
    for row, values in zip(table.rows, scores, strict=True):
        mean = mean_score(values)
        row.append(table.score(mean) if mean else f'{NOTHING} [{table.note(_MISSING)}]')
