"""What `gpassk score` tells of one run: its metrics with intervals, and what to know before quoting them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .errors import InputError
from .metrics import ACCURACY, Kind, Metric, metrics_of, value_table
from .record import Result, values
from .samples import Counts, Run
from .scoring import without_answers
from .statistics import REACH, Interval, mean_interval, rerun_error
from .text import Table

TOTAL = 'total'
"""The group of all questions."""


@dataclass(frozen=True)
class Measures:
    """Which metrics are told: G-Pass@k_τ of each k and τ."""

    ks: Sequence[int]
    thresholds: Sequence[float]

    def metrics(self, n: int) -> list[Metric]:
        """Return the metrics of n samples a question; of one sample there is accuracy alone.

        >>> [str(metric) for metric in Measures((2,), (1.0,)).metrics(4)]
        ['accuracy', 'pass@2', 'G-Pass@2_1.0', 'mG-Pass@2']
        """
        found = metrics_of(self.ks, self.thresholds, pass_at=True) if n > 1 and self.ks else []
        return [ACCURACY, *(metric for metric in found if metric.steps)]  # mG-Pass@1 says nothing

    def check(self, most: int) -> None:
        """Raise InputError where no question has enough samples for a k."""
        if max(self.ks, default=0) > most:
            raise InputError(f'k = {max(self.ks)} is more than the {most} samples of a question')


class Line(NamedTuple):
    """One metric of one group, on the scale 0–1."""

    group: str
    questions: int  # those that have enough samples for it
    metric: Metric
    score: float
    interval: Interval  # for new questions of the same kind
    rerun: float  # standard error of the score for new samples of the same questions
    bounds: tuple[float, float] | None  # with all unjudged wrong, and right; None where there are none

    def row(self) -> dict[str, Any]:
        """Return it in percent: the score, its interval, half of that of 95 % of reruns, its bounds."""
        low, high = self.interval.at()
        wrong, right = self.bounds or (None, None)
        shares: dict[str, Any] = {'score': self.score, 'low': low, 'high': high, 'rerun': REACH * self.rerun}
        shares |= {'wrong': wrong, 'right': right}
        numbers = {name: None if share is None else 100 * float(share) for name, share in shares.items()}
        return {'group': self.group, 'questions': self.questions, 'metric': str(self.metric), **numbers}


def summarise(counts: Counts, measures: Measures) -> list[Line]:
    """Return a line a metric for each group, where there are several, and for all questions together.

    A question counts in the metrics of each k up to its own n.

    Raises:
        InputError: a k that no question has as many samples for.
    """
    if not len(counts):
        raise InputError('no question has a verdict; there is nothing to score')
    measures.check(int(counts.n.max()))
    places = {name: place for place, name in enumerate(dict.fromkeys(counts.problem))}
    problem = np.array([places[name] for name in counts.problem]) if len(places) < len(counts) else None
    groups, names = np.array(counts.group), list(dict.fromkeys(counts.group))
    parts = [(name, groups == name) for name in names if len(names) > 1]
    lines = []
    for group, members in [*parts, (TOTAL, np.ones(len(counts), dtype=bool))]:
        for metric in measures.metrics(int(counts.n[members].max())):
            rows = members & (counts.n >= metric.k)
            if not rows.any():
                continue
            n, c, doubt = counts.n[rows], counts.c[rows], counts.unjudged[rows]
            found = values(n, c, metric)
            score, table = math.fsum(found.tolist()) / n.size, partial(value_table, metric)
            bounds = (score, float(values(n, c + doubt, metric).mean())) if doubt.any() else None
            interval = mean_interval(found, None if problem is None else problem[rows], metric.top)
            lines.append(
                Line(group, n.size, metric, score, interval, float(rerun_error(c, n, table)), bounds)
            )
    return lines


def headline(run: Run, result: Result, anew: bool) -> str:
    """Return what was scored, in a line."""
    counts, judge = result.table, result.judge.get('name')
    least, most, problems = counts.n.min(), counts.n.max(), len(set(counts.problem))
    kind = 'responses' if anew else 'a result' if run.record else 'labels' if run.samples else 'counts'
    if kind == 'labels' and run.samples and 'response' in run.samples:
        kind = 'responses with verdicts, which count (--judge rule judges anew)'
    of = f' of {problems} problems' if problems < len(counts) else ''
    n = f'{most}' if least == most else f'{least} to {most}'
    by = f', judged by {judge}' if judge else ''
    return f'{kind}; {len(counts)} questions{of}, n = {n}, {counts.n.sum()} samples{by}'


def remarks(result: Result, *, anew: bool) -> Iterator[str]:
    """Yield what a reader should know before quoting a score; `anew`: a judge was asked."""
    health = result.health
    if health.unjudged:
        share = 100 * health.unjudged / health.samples
        yield f'{health.unjudged} of {health.samples} samples are unjudged ({share:.2f} %): counted as wrong'
    if health.states is not None:
        yield f'health: {health.line}'
    yield from dict.fromkeys([*health.remarks(), *result.remarks])
    if anew:
        yield from without_answers(result)


def tables(lines: Sequence[Line]) -> Iterator[Table]:
    """Yield the metrics of all questions, then those of the largest k of each group."""
    total = {line.metric: line for line in lines if line.group == TOTAL}
    bounded = any(line.bounds for line in total.values())
    heads = ['metric', 'score', '95 % interval', 'rerun', *(['unjudged wrong … right'] if bounded else [])]
    first = Table('all questions', heads, data=[line.row() for line in total.values()])
    for row in first.data or ():
        cells = [
            row['metric'],
            row['score'],
            f'[{row["low"]:.1f}, {row["high"]:.1f}]',
            f'± {row["rerun"]:.1f}',
        ]
        bounds = None if row['wrong'] is None else f'{row["wrong"]:.2f} … {row["right"]:.2f}'
        first.rows.append([*cells, bounds] if bounded else cells)
    yield first
    groups = {line.group: line.questions for line in lines if line.metric == ACCURACY}
    if len(groups) > 1:
        largest = max(metric.k for metric in total)
        shown = [one for one in total if one == ACCURACY or (one.k == largest and one.kind is not Kind.PASS)]
        rows = {(line.group, line.metric): line.row() for line in lines}
        second = Table('groups', ['group', 'questions', *map(str, shown)], data=list(rows.values()))
        for group, questions in groups.items():
            cells = [rows.get((group, metric)) for metric in shown]
            second.rows.append(
                [group, questions]
                + [
                    row and f'{row["score"]:.2f} [{row["low"]:.1f}, {row["high"]:.1f}] ± {row["rerun"]:.1f}'
                    for row in cells
                ]
            )
        yield second


def explanation(lines: Sequence[Line]) -> str:
    """Return what the intervals are of."""
    few = next((line.interval.remark for line in lines if line.group == TOTAL), '')
    kind = f'new questions of the same kind{f" ({few})" if few else ""}'
    return f'interval: for {kind}; rerun: for new samples of the same questions'


def scores_table(lines: Sequence[Line]) -> Table:
    """Return a row a line for a file: percent, all digits."""
    rows = [line.row() for line in lines]
    return Table('scores', list(rows[0]), [list(row.values()) for row in rows])
