"""The tables of rescored files: a line a metric, and what has to be known of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..tables import Cell, Column, Table
from ..unseen import printable
from .summary import headline

if TYPE_CHECKING:
    from ..tables.table import Value
    from ..votes import Ballot
    from .summary import Line, Settings
    from .tally import Counts

NORMAL = 1.959964
"""Standard errors on each side of a score in which 95 % of reruns fall."""


def described(
    lines: Sequence[Line], counts: Counts, ballots: Sequence[Ballot], settings: Settings
) -> Iterator[Table | str]:
    """Return the metrics of all questions, the headline metrics of each group, their notes, what to know."""
    noted: list[str] = []
    metrics = headline(settings, counts)
    total = lines[-1].group
    shown = [line for line in lines if line.group == total or line.metric in metrics]
    yield total_table(shown, noted)
    if len(counts.groups) > 1:
        yield groups_table(shown, metrics, noted)
    yield from Table('', [], notes=noted).noted()
    yield from notes(shown, counts, ballots, settings)


def scores_table(lines: Sequence[Line]) -> Table:
    """Return a row a line: percent, all digits, empty where there is no interval; for a file."""
    numbers = ['score', 'low', 'high', 'rerun', 'wrong', 'right']
    rows: list[Sequence[Value]] = []
    for line in lines:
        bounds = line.bounds or (None, None)
        interval = line.interval
        shown = (interval.low, interval.high) if interval and not interval.refused else (None, None)
        row = [_known(line.score), *shown, line.rerun and NORMAL * line.rerun, *bounds]
        scaled = [None if share is None else (100 if line.percent else 1) * share for share in row]
        refused = interval.refused if interval else ''
        rows.append([line.group, line.questions, line.metric, *scaled, refused])
    return Table('scores', ['group', 'questions', 'metric', *numbers, 'no interval'], rows)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def total_table(lines: Sequence[Line], noted: list[str]) -> Table:
    """Return the metrics of all questions: percent, intervals with one decimal, or the letter of a note.

    Args:
        lines: of all groups, those of all questions last.
        noted: why there are no intervals; gets more of it.
    """
    total = [line for line in lines if line.group == lines[-1].group]
    bounded = any(line.bounds for line in total)
    columns = [Column('metric'), Column('score'), Column('95 % interval', 'left'), Column('rerun', 'left')]
    bounds = Column('unjudged wrong … right', 'left', limits='{:.2f} … {:.2f}')
    table = Table('all questions', [*columns, bounds] if bounded else columns, notes=noted)
    for line in total:
        cell = score_cell(line)
        rerun = None if cell.half is None else Cell('', half=cell.half)
        interval = cell._replace(value='', half=None) if line.interval else None
        limits = Cell('', (100 * line.bounds[0], 100 * line.bounds[1])) if line.bounds else None
        table.add(line.metric, cell.value, interval, rerun, *([limits] if bounded else []))
    return table


def groups_table(lines: Sequence[Line], metrics: Sequence[str], noted: list[str]) -> Table:
    """Return a row a group and one for all questions: each metric with its interval and the rerun error."""
    found = {(line.group, line.metric): line for line in lines}
    questions = {line.group: line.questions for line in lines}
    metrics = [name for name in metrics if all((group, name) in found for group in questions)]
    table = Table('groups', ['group', 'questions', *(Column(name, 'left') for name in metrics)], notes=noted)
    for group in dict.fromkeys(line.group for line in lines):
        cells = [score_cell(found[group, metric]) for metric in metrics]
        table.add(printable(group, 60), questions[group], *cells)
    return table


def score_cell(line: Line) -> Cell:
    rerun = None if line.rerun is None else 100 * NORMAL * line.rerun
    found = line.interval
    if found is None or found.refused:
        return Cell(_known(_score(line)), refused=found.refused if found else '', half=rerun)
    return Cell(_score(line), (100 * found.low, 100 * found.high), half=rerun)


def _score(line: Line) -> float:
    return (100 if line.percent else 1) * line.score


def notes(lines: Sequence[Line], counts: Counts, ballots: Sequence[Ballot], settings: Settings) -> list[str]:
    """Return what a reader of the tables must know."""
    said = ['interval: for new questions of the same kind; rerun: for new samples of the same questions']
    if lines[0].rerun is None:
        said.append('no rerun error: more than 1,024 samples a question; --n gives that of a smaller rerun')
    if settings.size is not None:
        said.append(
            f'--n {settings.size}: the mean over all subsets of {settings.size} samples, which for metrics '
            'of counts is the score of all samples itself; intervals are those of all samples, the rerun has '
            f'{settings.size} a question'
        )
    if unjudged := counts.unjudged_samples:
        said.append(
            f'{unjudged} of {counts.samples} samples are unjudged ({100 * unjudged / counts.samples:.2f} %): '
            f'{_POLICY[counts.unjudged.value]}'
        )
    if doubtful := sum(ballot.contradicted for ballot in ballots):
        said.append(
            f'{doubtful} answers are called both correct and incorrect; in votes most of their labels count'
        )
    return said


_POLICY = {
    'wrong': 'counted as wrong',
    'right': 'counted as right',
    'leave-out': 'left out, as if they had not been drawn',
}
