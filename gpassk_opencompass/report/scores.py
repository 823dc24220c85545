"""Every number of a board as one row: what CSV files hold, and what all tables are made of."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args, get_type_hints

from ..adapter import limits_line
from ..counting import stage, step
from ..errors import InputError
from ..metrics import ACCURACY, Metric
from ..record import Result, values
from ..sweep.names import Settings
from ..tables import csv_text, read_csv_cell
from ..uncertainty import Interval
from .intervals import intervals_of, intervals_of_each
from .leaderboard import Board, Entry, judge_line

GREEDY: Final = 'Greedy'
"""The published name of the accuracy of the greedy run."""

Measure = Metric | Literal['Greedy']
"""What a column of a table holds; its text is the published name."""

ALL = ''
"""The group of a score over all questions."""


class Score(NamedTuple):
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
    limited: str
    """How the run was made smaller on this benchmark, else ''."""
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


def compute_intervals(boards: Sequence[Board]) -> None:
    """Compute the intervals of all scores, which takes most of the time of `scores_of` and needs no ranks."""
    with stage('computing intervals', sum(len(board.entries) for board in boards)):
        for board in boards:
            metrics = _metrics_of(board)
            results = [entry.result for entry in board.entries]
            each = intervals_of_each(results, metrics, board.level)
            for entry, found in zip(board.entries, each, strict=True):
                entry.learn(metrics, found)
                entry.reruns(metrics)
                step()


def scores_of(board: Board) -> list[Scores]:
    """Return the scores of each entry, also by group: Greedy, accuracy, pass@k and the board's metrics."""
    pairs = zip(board.entries, board.ranks.tolist(), strict=True)
    metrics, groups = _metrics_of(board), board.groups
    return [_entry_scores(board, entry, metrics, groups, ranks) for entry, ranks in pairs]


def scores_csv(scores: Iterable[Score]) -> str:
    """Return scores as CSV: all digits, and an empty cell where there is nothing."""
    return csv_text(chain([Score._fields], scores))


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
        kinds = get_type_hints(Score)
        return [Score(**{name: _read(kind, row[name]) for name, kind in kinds.items()}) for row in rows]
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


def _metrics_of(board: Board) -> tuple[Metric, ...]:
    """Return the metrics of which there are scores."""
    return ACCURACY, Metric.pass_at(board.k), *board.metrics


def _entry_scores(
    board: Board, entry: Entry, metrics: Sequence[Metric], groups: Sequence[str], ranks: Sequence[int]
) -> Scores:
    of_run = _Run(board, entry, entry.result, _identity(board, entry, entry.result))
    overall, of_groups = entry.intervals(metrics), entry.intervals_by_group(metrics)
    by_group = {group: of_groups[group] for group in groups if group in of_groups}
    found: dict[tuple[str, Measure], Score] = {}
    ranked_by, reruns = board.ranked_by, entry.reruns(metrics)
    for number, metric in enumerate(metrics):
        place = (ranks[0], ranks[1]) if metric == ranked_by else (None, None)
        rerun = 100 * reruns[number].error
        found[ALL, metric] = _score(of_run, metric, ALL, overall[number], rerun, place)
        for group, intervals in by_group.items():
            found[group, metric] = _score(of_run, metric, group, intervals[number])
    if entry.greedy and (accuracy := entry.greedy_accuracy()):
        of_greedy = _Run(board, entry, entry.greedy, _identity(board, entry, entry.greedy))
        found[ALL, GREEDY] = _score(of_greedy, GREEDY, ALL, accuracy)
        of_groups = intervals_of(entry.greedy, [ACCURACY], entry.level).by_group
        for group in groups:
            if group in of_groups:
                found[group, GREEDY] = _score(of_greedy, GREEDY, group, of_groups[group][0])
    return found


class _Run(NamedTuple):
    """A run of which there are scores: the sampled one of an entry, or its greedy one."""

    board: Board
    entry: Entry
    result: Result
    identity: Mapping[str, Any]
    """See `_identity`."""


def _score(
    run: _Run,
    metric: Measure,
    group: str,
    interval: Interval,
    rerun_error: float | None = None,
    ranks: tuple[int | None, int | None] = (None, None),
) -> Score:
    """Return one score."""
    result, entry = run.result, run.entry
    bounds = None if group else _bounds(result, metric if isinstance(metric, Metric) else ACCURACY)
    return Score(
        **run.identity,
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
        questions=result.counts.group.count(group) if group else len(result.table),
        problems=interval.problems,
    )


def _identity(board: Board, entry: Entry, result: Result) -> dict[str, Any]:
    """Return what all scores of a run share."""
    return {
        'benchmark': board.benchmark,
        'part': board.part,
        'model': result.model,
        'run': entry.run,
        'host': result.run.host,
        **{name: result.sampling.get(name) for name in _SETTINGS},
        'k': board.k,
        'n': result.n,
        'limited': limits_line(result),
        'unjudged': result.health.unjudged,
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


def _bounds(result: Result, metric: Metric) -> tuple[float, float]:
    """Return the mean of a metric with all samples in doubt wrong, and with all of them right."""
    counts = result.table
    doubt = counts.unjudged if counts.undecided is None else counts.unjudged + counts.undecided
    high = values(counts.n, counts.c + doubt, metric)
    return float(result.values(metric).mean()), float(high.mean())


def _percent(value: float) -> float | None:
    return None if math.isnan(value) else 100 * value


def _read(kind: Any, text: str) -> Any:
    if kind is str:
        return read_csv_cell(text)
    if kind == Measure:
        return measure_of(text)
    kinds = get_args(kind) or (kind,)
    if text == '' and type(None) in kinds:
        return None
    return int(text) if int in kinds else float(text)
