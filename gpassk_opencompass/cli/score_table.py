"""What `gpassk score` shows: a line a metric, and the notes below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..report.table import Table
from .shown import printable

if TYPE_CHECKING:
    from ..sources.summary import Line, Settings
    from ..sources.tally import Counts
    from ..sources.votes import Ballot

NORMAL = 1.959964
"""Standard errors on each side of a score in which 95 % of reruns fall."""


def described(
    lines: Sequence[Line], counts: Counts, ballots: Sequence[Ballot], settings: Settings
) -> Iterator[str]:
    """The metrics of all questions, the headline metrics of each group, and what to know of them."""
    from ..sources.summary import headline

    metrics = headline(settings, counts)
    total = lines[-1].group
    shown = [line for line in lines if line.group == total or line.metric in metrics]
    yield f'{total_table(shown).to_markdown()}\n'
    if len(counts.groups) > 1:
        yield f'{groups_table(shown, metrics).to_markdown()}\n'
    yield from notes(shown, counts, ballots, settings)


def scores_table(lines: Sequence[Line]) -> Table:
    """A row a line: percent, all digits, empty where there is no interval; for a file."""
    numbers = ['score', 'low', 'high', 'rerun', 'wrong', 'right']
    rows: list[list[Any]] = []
    for line in lines:
        bounds = line.bounds or (None, None)
        interval = line.interval
        shown = (interval.low, interval.high) if interval and not interval.refused else (None, None)
        row = [line.score, *shown, line.rerun and NORMAL * line.rerun, *bounds]
        scaled = [None if share is None else (100 if line.percent else 1) * share for share in row]
        rows.append([line.group, line.questions, line.metric, *scaled, interval.refused if interval else ''])
    return Table(['group', 'questions', 'metric', *numbers, 'no interval'], rows)


def total_table(lines: Sequence[Line]) -> Table:
    """The metrics of all questions: percent, intervals with one decimal, – where there is none."""
    reasons = refusals(lines)
    total = [line for line in lines if line.group == lines[-1].group]
    bounded = any(line.bounds for line in total)
    rows: list[list[Any]] = []
    for line in total:
        row: list[Any] = [line.metric, (100 if line.percent else 1) * line.score, _interval(line, reasons)]
        row.append('–' if line.rerun is None else f'± {100 * NORMAL * line.rerun:.1f}')
        if bounded:
            row.append(f'{100 * line.bounds[0]:.2f} … {100 * line.bounds[1]:.2f}' if line.bounds else '–')
        rows.append(row)
    headers = ['metric', 'score', '95 % interval', 'rerun', *(['unjudged wrong … right'] if bounded else [])]
    return Table(headers, rows)


def groups_table(lines: Sequence[Line], metrics: Sequence[str]) -> Table:
    """A row a group and one for all questions: each metric with its interval and the rerun error behind ±."""
    reasons = refusals(lines)
    groups = list(dict.fromkeys(line.group for line in lines))
    cells = {(line.group, line.metric): _cell(line, reasons) for line in lines}
    questions = {line.group: line.questions for line in lines}
    rows = [
        [printable(group, 60), questions[group], *(cells[group, metric] for metric in metrics)]
        for group in groups
    ]
    return Table(['group', 'questions', *metrics], rows)


def _cell(line: Line, reasons: Sequence[str]) -> str:
    rerun = '' if line.rerun is None else f' ± {100 * NORMAL * line.rerun:.1f}'
    score = f'{(100 if line.percent else 1) * line.score:.2f}'
    return f'{score} {_interval(line, reasons)}{rerun}'


def refusals(lines: Sequence[Line]) -> list[str]:
    """The different reasons why intervals are refused, in order; the table gives their numbers."""
    return list(
        dict.fromkeys(line.interval.refused for line in lines if line.interval and line.interval.refused)
    )


def _interval(line: Line, reasons: Sequence[str]) -> str:
    if line.interval is None:
        return '–'
    if line.interval.refused:
        return f'none ({reasons.index(line.interval.refused) + 1})'
    return f'[{100 * line.interval.low:.1f}, {100 * line.interval.high:.1f}]'


def notes(lines: Sequence[Line], counts: Counts, ballots: Sequence[Ballot], settings: Settings) -> list[str]:
    """What a reader of the table must know."""
    said = [f'no interval ({number}): {reason}' for number, reason in enumerate(refusals(lines), 1)]
    said.append('interval: for new questions of the same kind; rerun: for new samples of the same questions')
    if lines[0].rerun is None:
        said.append('no rerun error: more than 1,024 samples a question; --n gives that of a smaller rerun')
    if settings.size is not None:
        said.append(
            f'--n {settings.size}: the mean over all subsets of {settings.size} samples, which for metrics '
            'of counts is the score of all samples itself; intervals are those of all samples, the rerun has '
            f'{settings.size} a question'
        )
    if 'pass^k' in settings.also:
        said.append('pass^k of τ-bench is G-Pass@k_1.0 under another name')
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
