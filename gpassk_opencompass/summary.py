"""What `gpassk score` tells of a run: each metric with its interval, its rerun error and its bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .metrics import ACCURACY, Metric, value_table
from .record import Floats, Result, values
from .samples import Counts, Integers, Run
from .scoring import without_answers
from .statistics import REACH, Interval, mean_interval, rerun_error
from .tables import Cell, Column, Table
from .unseen import printable

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


def lines_of(result: Result, measures: Measures, *, leave_out: bool = False) -> list[Line]:
    """Return the metrics of a result, see `summarise`; `leave_out`: as if the unjudged had not been drawn."""
    counts = result.table
    if leave_out:
        counts = replace(counts, n=counts.n - counts.unjudged, unjudged=0 * counts.unjudged)
        counts = counts.select(counts.n > 0)
    return summarise(counts, measures)


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
        interval = mean_interval(found, self.problem[rows].tolist(), top)
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
    by = f', judged by {printable(judge, 60)}' if judge else ''
    return f'{kind}; {len(counts)} questions{of}, n = {n}, {counts.n.sum()} samples{by}'


def remarks(result: Result, *, leave_out: bool, anew: bool) -> Iterator[str]:
    """Yield what a reader should know before quoting a score; `anew`: a judge was asked."""
    health = result.health
    if health.unjudged:
        how = 'left out, as if they had not been drawn' if leave_out else 'counted as wrong'
        share = 100 * health.unjudged / health.samples
        yield f'{health.unjudged} of {health.samples} samples are unjudged ({share:.2f} %): {how}'
        if leave_out and (gone := int((result.table.n == result.table.unjudged).sum())):
            yield f'{gone} of {len(result.table)} questions have no judged sample, and do not count'
    if health.states is not None:
        yield f'health: {health.line}'
    yield from dict.fromkeys([*health.remarks(), *result.remarks])
    if anew:
        yield from without_answers(result)


def tables(lines: Sequence[Line], measures: Measures) -> Iterator[Table | str]:
    """Yield the metrics of all questions, those of the largest k of each group, and the notes of both."""
    notes: list[str] = []
    total = {line.metric: line for line in lines if line.group == TOTAL}
    bounded = any(line.bounds for line in total.values())
    columns = [Column('metric'), Column('score'), Column('95 % interval', 'left'), Column('rerun', 'left')]
    bounds = [Column('unjudged wrong … right', 'left', limits='{:.2f} … {:.2f}')] if bounded else []
    table = Table('all questions', [*columns, *bounds], notes=notes)
    for line in total.values():
        cell = score_cell(line)
        interval = cell._replace(value='', half=None) if line.interval else None
        limits = Cell('', (100 * line.bounds[0], 100 * line.bounds[1])) if line.bounds else None
        rerun = None if cell.half is None else Cell('', half=cell.half)
        table.add(line.metric, cell.value, interval, rerun, *([limits] if bounded else []))
    yield table
    groups = {line.group: line.questions for line in lines if line.metric == 'accuracy'}
    if len(groups) > 1:
        largest = measures.metrics(max(measures.ks)) if measures.ks else {}
        shown = [name for name in ('accuracy', *largest) if name in total]
        found = {(line.group, line.metric): score_cell(line) for line in lines}
        of_metrics = [Column(name, 'left') for name in shown]
        table = Table('groups', ['group', 'questions', *of_metrics], notes=notes)
        for group, questions in groups.items():
            table.add(printable(group, 60), questions, *(found.get((group, name)) for name in shown))
        yield table
    yield from Table('', [], notes=notes).noted()
    of_all = total['accuracy'].interval
    few = f' ({of_all.remark})' if of_all and of_all.remark else ''
    yield f'interval: for new questions of the same kind{few}; rerun: for new samples of the same questions'


def score_cell(line: Line) -> Cell:
    """Return a score in percent with its interval, and half of that of 95 % of reruns."""
    score = 100 * line.score
    rerun = None if line.rerun is None else 100 * REACH * line.rerun
    if line.interval is None:
        return Cell(score, half=rerun)
    low, high = line.interval.at()
    return Cell(score, (100 * float(low), 100 * float(high)), half=rerun)


def scores_table(lines: Sequence[Line]) -> Table:
    """Return a row a line for a file: percent, all digits."""
    heads = ['group', 'questions', 'metric', 'score', 'low', 'high', 'rerun', 'wrong', 'right']
    table = Table('scores', list(heads))
    for line in lines:
        cell = score_cell(line)
        bounds = [100 * share for share in line.bounds] if line.bounds else [None, None]
        numbers = cell.value, *(cell.limits or (None, None)), cell.half, *bounds
        table.add(line.group, line.questions, line.metric, *numbers)
    return table
