"""The tables of an audit: what was drawn and found, and what it says of the scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..tables import Cell, Column, Table
from ..unseen import printable

if TYPE_CHECKING:
    from ..tables.table import Value
    from .findings import Findings
    from .sample import Run, Sheet


def described(model: str, benchmark: str, judge: Mapping[str, Any], run: Run) -> str:
    """Return a line on the run: what is there to be drawn from."""
    questions = len(run.correct)
    return (
        f'{printable(model)} on {printable(benchmark)}: {questions} questions, n = {run.n}, '
        f'{len(run.answers)} different answers of {questions * run.n} samples, judged by '
        f'{printable(judge.get("name", "an unnamed judge"), 60)}'
    )


def kinds_table(found: Findings, planned: bool) -> Table:
    """Return a row a kind of verdicts.

    Args:
        planned: nobody was asked yet; the last column is for no wrong verdict among those drawn.
    """
    rows: list[Sequence[Value]] = []
    for one in found.kinds:
        trusted = one.most_wrong is None
        most = Cell('trusted') if trusted else _of(one.most_wrong or 0, one.answers)
        asked = [None, None] if planned or trusted else [one.labelled, _of(one.wrong, one.labelled)]
        verdict = 'accepted' if one.kind.accepted else 'rejected'
        rows.append(
            [verdict, printable(one.kind.type, 40), one.answers, one.samples, one.drawn, *asked, most]
        )
    table = Table(
        'verdicts',
        [
            *('verdict', 'type', 'answers', 'samples', 'drawn', 'labelled'),
            *(Column(name, 'left') for name in ('wrong', 'wrong at most')),
        ],
        rows,
    )
    return table.without('labelled', 'wrong') if planned else table


def metrics_table(found: Findings) -> Table:
    """Return a row a metric, in percent."""
    rows: list[Sequence[Value]] = [
        [one.name, *(_percent(value) for value in one[1:])] for one in found.metrics
    ]
    return Table('metrics', ['metric', 'reported', 'as audited', 'lowest', 'highest'], rows)


def notes(found: Findings, sheet: Sheet, level: float, planned: bool) -> Iterator[str]:
    """Return what a reader of the tables must know."""
    drawn = sum(one.drawn for one in found.kinds)
    labelled = sum(one.labelled for one in found.kinds)
    if planned:
        yield f'nobody was asked yet: this is what {drawn} labels would say if none contradicts its verdict'
    elif labelled < drawn:
        yield f'{drawn - labelled} of {drawn} drawn answers have no label; with more the bounds are narrower'
    yield (
        f'bounds: what the labels leave possible at {100 * level:g} %, all at once, if the labels are right; '
        'unjudged samples are wrong in the lowest and right in the highest value'
    )
    if sheet.plan.trusted:
        yield f'taken for right without asking: {", ".join(map(printable, sheet.plan.trusted))}'


def _of(count: int, total: int) -> Cell:
    return Cell(count, more=f'({100 * count / total:.1f} %)') if total else Cell(None)


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
