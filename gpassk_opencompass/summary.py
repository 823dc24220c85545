"""What `gpassk score` tells of a run: each metric with its interval, its rerun error and its bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .metrics import ACCURACY, Metric, value_table
from .record import Floats, Result, values
from .samples import Counts, Integers, Run
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

    def metrics(self, k: int) -> dict[str, Metric]:
        """Return G-Pass@k at each threshold and mG-Pass@k, which says nothing for k = 1, by their names."""
        found = [Metric.g_pass_at(k, threshold) for threshold in self.thresholds]
        return {metric.name: metric for metric in (*found, *([Metric.mg_pass_at(k)] if k > 1 else []))}

    def all_metrics(self, n: int) -> dict[str, Metric]:
        """Return the metrics of n samples a question by their names; of one sample there is accuracy alone.

        >>> list(Measures((2,), (1.0,)).all_metrics(4))
        ['accuracy', 'pass@2', 'G-Pass@2_1.0', 'mG-Pass@2']
        """
        names = {'accuracy': ACCURACY}
        for k in self.ks if n > 1 else ():
            names |= {f'pass@{k}': Metric.pass_at(k), **self.metrics(k)}
        return names

    def check(self, most: int) -> None:
        """Raise InputError where no question has enough samples for a k."""
        if self.ks and max(self.ks) > most:
            raise InputError(f'k = {max(self.ks)} is more than the {most} samples of a question')


class Line(NamedTuple):
    """One metric of one group; all on the scale 0–1."""

    group: str
    questions: int  # those that have enough samples for it
    metric: str
    score: float
    interval: Interval | None = None  # for new questions of the same kind; None for what has none
    rerun: float | None = None  # standard error of the score for new samples of the same questions
    bounds: tuple[float, float] | None = None  # with all unjudged wrong, and right; None where there are none


def summarise(counts: Counts, measures: Measures) -> list[Line]:
    """Return a line a metric for each group, where there are several, and for all questions together.

    A question counts in the metrics of each k up to its own n.

    Raises:
        InputError: a k that no question has as many samples for.
    """
    if not len(counts):
        raise InputError('no question has a verdict; there is nothing to score')
    measures.check(int(counts.n.max()))
    numbers = {name: place for place, name in enumerate(dict.fromkeys(counts.problem))}
    problem, groups = np.array([numbers[name] for name in counts.problem]), np.array(counts.group)
    names = list(dict.fromkeys(counts.group))
    parts = [(name, np.flatnonzero(groups == name)) for name in (names if len(names) > 1 else ())]
    lines: list[Line] = []
    for name, rows in [*parts, (TOTAL, np.arange(len(counts)))]:
        part = _Part(name, *(column[rows] for column in (counts.n, counts.c, counts.unjudged, problem)))
        lines += part.of_counts(measures)
    return lines


class _Part(NamedTuple):
    """The questions of a group, a column each."""

    group: str
    n: Integers
    c: Integers
    unjudged: Integers
    problem: Integers

    def of_counts(self, measures: Measures) -> Iterator[Line]:
        for name, metric in measures.all_metrics(int(self.n.max())).items():
            rows = self.n >= metric.k
            if not rows.any():
                continue
            n, c = self.n[rows], self.c[rows]
            found, top = values(n, c, metric), float(metric.scores().max())
            score, doubt = math.fsum(found) / n.size, self.unjudged[rows]
            bounds = (score, float(values(n, c + doubt, metric).mean())) if doubt.any() else None
            rerun = float(rerun_error(c, n, partial(value_table, metric)))
            line = self._line(name, found, rows, top)
            yield line._replace(score=score, rerun=rerun, bounds=bounds)

    def _line(self, name: str, found: Floats, rows: NDArray[np.bool_], top: float = 1.0) -> Line:
        """Return a line with the interval over source problems."""
        interval = mean_interval(found, self.problem[rows], top)
        return Line(self.group, int(rows.sum()), name, float(interval.estimate), interval)


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


def tables(lines: Sequence[Line], measures: Measures) -> Iterator[Table]:
    """Yield the metrics of all questions, then those of the largest k of each group."""
    total = {line.metric: line for line in lines if line.group == TOTAL}
    bounded = any(line.bounds for line in total.values())
    heads = ['metric', 'score', '95 % interval', 'rerun', *(['unjudged wrong … right'] if bounded else [])]
    first = Table('all questions', heads, data=[])
    for line in total.values():
        row = _percent(line)
        interval = None if row['low'] is None else f'[{row["low"]:.1f}, {row["high"]:.1f}]'
        rerun = None if row['rerun'] is None else f'± {row["rerun"]:.1f}'
        bounds = None if row['wrong'] is None else f'{row["wrong"]:.2f} … {row["right"]:.2f}'
        first.rows.append([line.metric, row['score'], interval, rerun, *([bounds] if bounded else [])])
        first.data = [*(first.data or []), row]
    yield first
    groups = {line.group: line.questions for line in lines if line.metric == 'accuracy'}
    if len(groups) > 1:
        largest = measures.metrics(max(measures.ks)) if measures.ks else {}
        shown = [name for name in ('accuracy', *largest) if name in total]
        rows = {(line.group, line.metric): _percent(line) for line in lines}
        second = Table('groups', ['group', 'questions', *shown], data=list(rows.values()))
        for group, questions in groups.items():
            found = [rows.get((group, name)) for name in shown]
            second.rows.append([group, questions, *(row and _cell(row) for row in found)])
        yield second


def explanation(lines: Sequence[Line]) -> str:
    """Return what the intervals are of."""
    of_all = next((line.interval for line in lines if line.group == TOTAL), None)
    few = f' ({of_all.remark})' if of_all and of_all.remark else ''
    return f'interval: for new questions of the same kind{few}; rerun: for new samples of the same questions'


def scores_table(lines: Sequence[Line]) -> Table:
    """Return a row a line for a file: percent, all digits."""
    rows = [_percent(line) for line in lines]
    heads = ['group', 'questions', 'metric', 'score', 'low', 'high', 'rerun', 'wrong', 'right']
    return Table('scores', heads, [[row[head] for head in heads] for row in rows])


def _percent(line: Line) -> dict[str, Any]:
    """Return a line with percent: the score, its interval, half of that of 95 % of reruns, its bounds."""
    low, high = (None, None) if line.interval is None else line.interval.at()
    wrong, right = line.bounds or (None, None)
    rerun = None if line.rerun is None else REACH * line.rerun
    shares = {'score': line.score, 'low': low, 'high': high, 'rerun': rerun, 'wrong': wrong, 'right': right}
    numbers = {name: None if share is None else 100 * float(share) for name, share in shares.items()}
    return {'group': line.group, 'questions': line.questions, 'metric': line.metric, **numbers}


def _cell(row: Mapping[str, Any]) -> str:
    interval = '' if row['low'] is None else f' [{row["low"]:.1f}, {row["high"]:.1f}]'
    return f'{row["score"]:.2f}{interval}' + ('' if row['rerun'] is None else f' ± {row["rerun"]:.1f}')
