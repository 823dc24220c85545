"""Every number of a board as one row: what CSV files hold, and what all tables are made of."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal

from ..errors import InputError
from ..metrics import ACCURACY, Metric
from ..naming.names import Settings
from ..results.result import Result
from ..tables import csv_text, read_csv_cell
from ..uncertainty import Interval
from .leaderboard import Board, Entry, judge_line
from .workers import FEWEST, Workers

GREEDY: Final = 'Greedy'
"""The published name of the accuracy of the greedy run."""

Measure = Metric | Literal['Greedy']
"""What a column of a table holds; its text is the published name."""

ALL = ''
"""The group of a score over all questions."""


@dataclass(frozen=True)
class Score:
    """One metric of one run on all questions or on one group. Scores and errors are in percent.

    None where there is nothing: no interval (`refused` says why), no rerun error, no rank.
    """

    benchmark: str
    part: str
    model: str
    run: str
    """The model with its settings, called alike on all benchmarks."""
    host: str
    temperature: float | None
    top_p: float | None
    top_k: float | None
    repetition_penalty: float | None
    random_seed: float | None
    serial_links: float | None
    max_out_len: float | None
    group: str
    metric: Measure
    value: float
    low: float | None
    high: float | None
    level: float
    error: float | None
    refused: str
    note: str
    """What to know of a greedy run: another max_out_len than the sampled one, or unjudged samples."""
    rerun_error: float | None
    bound_low: float | None
    bound_high: float | None
    """With all unjudged samples wrong, and with all of them right; of all questions."""
    best_rank: int | None
    worst_rank: int | None
    k: int
    n: int
    questions: int
    problems: int
    strata: int
    """Contests that are strata of the error and the interval; 0: none, it is for questions of any contest."""
    limited: str
    """How the run was made smaller on this benchmark, else ''."""
    stopped: str
    """What of `gpassk run --until` stopped its sampling there, else ''."""
    unjudged: int
    truncated: int | None
    unanswered: int | None
    unusual: int | None
    """Samples that are no usual response: empty, a refusal, never drawn, …"""
    copies: int | None
    output_tokens: int | None
    """Sum over all samples of the run; None where no engine counted."""
    health: str
    """What is said beside the score of a run with many cut or empty responses, else ''."""
    engine: str
    """Its packages with their versions, else ''."""
    judge: str
    signature: str
    path: str


_SETTINGS = tuple(field.name for field in fields(Settings))

Scores = Mapping[tuple[str, Measure], Score]
"""(group, metric) → the score of one entry."""

Scored = Sequence[tuple[Board, Sequence[Scores]]]
"""Boards with the scores of each of their entries."""


def scores_of(board: Board, workers: Workers | None = None) -> list[Scores]:
    """Return the scores of each entry, also by group: Greedy, accuracy, pass@k and the board's metrics.

    Args:
        workers: compute them where entries are many; None: this process does.
    """
    # Of the other entries nobody needs to know, but of the first in which order the questions stand.
    shell = replace(board, entries=board.entries[:1])
    items = [(shell, entry, ranks) for entry, ranks in zip(board.entries, board.ranks, strict=True)]
    chosen = workers if workers and len(items) >= FEWEST else Workers(1)
    return list(chosen.each(_entry_scores, items))


def scores_csv(scores: Iterable[Score]) -> str:
    """Return scores as CSV: all digits, and an empty cell where there is nothing."""
    names = [field.name for field in fields(Score)]
    return csv_text(chain([names], ([getattr(score, name) for name in names] for score in scores)))


def read_scores(path: Path) -> list[Score]:
    """Read what `scores_csv` wrote.

    Raises:
        InputError: the file cannot be read, or is another table.
    """
    try:
        with path.open(encoding='utf-8', newline='') as file:
            rows = list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f'{path} cannot be read: {error}') from error
    try:
        return [
            Score(**{field.name: _read(str(field.type), row[field.name]) for field in fields(Score)})
            for row in rows
        ]
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(
            f'{path} is not the scores.csv of this version ({error!r}); write the report again'
        ) from error


def measure_of(text: str) -> Measure:
    """Read the published name of a column.

    Raises:
        InputError: it is no metric.
    """
    return GREEDY if text == GREEDY else Metric.parse(text)


def measures_of(board: Board) -> list[Measure]:
    """Return the columns of a leaderboard: Greedy, then the metrics of the board."""
    return [GREEDY, *board.metrics]


def _entry_scores(item: tuple[Board, Entry, Any]) -> Scores:
    board, entry, ranks = item
    result = entry.result
    found: dict[tuple[str, Measure], Score] = {}
    for metric in (ACCURACY, Metric.pass_at(board.k), *board.metrics):
        place = (int(ranks[0]), int(ranks[1])) if metric == board.ranked_by else (None, None)
        rerun = 100 * entry.rerun(metric).error
        overall = entry.interval(metric)
        found[ALL, metric] = _score(board, entry, result, metric, ALL, overall, rerun, place)
        for group, interval in _by_group(board, entry, metric):
            found[group, metric] = _score(board, entry, result, metric, group, interval)
    if entry.greedy and (accuracy := entry.greedy_accuracy()):
        found[ALL, GREEDY] = _score(board, entry, entry.greedy, GREEDY, ALL, accuracy)
        for group in board.groups:
            if of_group := entry.greedy_group_interval(group):
                found[group, GREEDY] = _score(board, entry, entry.greedy, GREEDY, group, of_group)
    return found


def _by_group(board: Board, entry: Entry, metric: Metric) -> Iterator[tuple[str, Interval]]:
    for group in board.groups:
        if interval := entry.group_interval(group, metric):
            yield group, interval


def _score(
    board: Board,
    entry: Entry,
    result: Result,
    metric: Measure,
    group: str,
    interval: Interval,
    rerun_error: float | None = None,
    ranks: tuple[int | None, int | None] = (None, None),
) -> Score:
    """Return one score; `result` is the entry's sampled run, or its greedy one."""
    bounds = None if group else result.bounds(metric if isinstance(metric, Metric) else ACCURACY)
    return Score(
        **_identity(board, entry, result),
        group=group,
        metric=metric,
        value=100 * interval.estimate,
        low=_percent(interval.low),
        high=_percent(interval.high),
        level=interval.level,
        error=_percent(interval.error),
        refused=interval.refused,
        note=entry.greedy_note if metric == GREEDY else '',
        rerun_error=rerun_error,
        bound_low=100 * bounds[0] if bounds else None,
        bound_high=100 * bounds[1] if bounds else None,
        best_rank=ranks[0],
        worst_rank=ranks[1],
        questions=result.groups.count(group) if group else len(result.uids),
        problems=interval.problems,
        strata=interval.strata,
    )


def _identity(board: Board, entry: Entry, result: Result) -> dict[str, Any]:
    """Return what all scores of a run share."""
    return {
        'benchmark': board.benchmark,
        'part': board.part,
        'model': result.model,
        'run': entry.run,
        'host': result.host,
        **{name: result.sampling.get(name) for name in _SETTINGS},
        'k': board.k,
        'n': result.n,
        'limited': result.limits_line,
        'stopped': result.stopped_line,
        'unjudged': result.unjudged,
        'truncated': result.health.truncated,
        'unanswered': result.health.unanswered,
        'unusual': result.health.unusual,
        'copies': result.health.copies,
        'output_tokens': result.health.output_tokens,
        'health': result.health.mark,
        'engine': result.engine,
        'judge': judge_line(result),
        'signature': result.signature,
        'path': str(result.path),
    }


def _percent(value: float) -> float | None:
    return None if math.isnan(value) else 100 * value


def _read(kind: str, text: str) -> Any:
    if kind == 'str':
        return read_csv_cell(text)
    if kind == 'Measure':
        return measure_of(text)
    if text == '' and kind.endswith('None'):
        return None
    return int(text) if kind.startswith('int') else float(text)
