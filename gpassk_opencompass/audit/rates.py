"""How many verdicts of a run are wrong, as far as the labels of a sample tell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..tables import Cell, Column, Table
from ..unseen import printable
from .sample import Answer, Kind, Labels, Run

TOTAL = 'all'
"""The type of the row for all kinds of one verdict together."""


class Seen(NamedTuple):
    """What is known of one kind."""

    answers: int
    samples: int
    drawn: int
    labelled: int
    wrong: int
    """Those whose label contradicts the verdict."""
    skipped: int = 0
    """Those without a label that stand before one that has; each may be either."""

    def wrong_in_all(self, alpha: float) -> tuple[int, int]:
        """Return the fewest and the most wrong ones among all answers that the labels do not rule out.

        The interval of Clopper and Pearson for a finite number of answers: `labelled` of them were drawn
        without replacement, so the chances are hypergeometric. A number is ruled out where as few wrong ones
        as were found, or as many, have a chance below α/2.

        >>> Seen(100, 100, 20, 20, 1).wrong_in_all(0.05)
        (1, 22)
        """
        from scipy.stats import hypergeom

        asked, most_seen = self.labelled + self.skipped, self.wrong + self.skipped
        errors = np.arange(self.wrong, self.answers - self.labelled + self.wrong + 1)
        few = hypergeom.sf(self.wrong - 1, self.answers, errors, asked) >= alpha / 2
        many = hypergeom.cdf(most_seen, self.answers, errors, asked) >= alpha / 2
        return int(errors[few].min()), int(errors[many].max())


class Rate(NamedTuple):
    """How many verdicts of a kind are wrong; shares are from 0 to 1."""

    accepted: bool
    type: str
    """`TOTAL` of all kinds with this verdict."""
    trusted: bool
    answers: int
    samples: int
    drawn: int
    labelled: int
    wrong: int
    share: float | None
    """The estimate, each kind weighted with its answers; None where one that is not trusted has no label."""
    low: float
    high: float


def rates(
    run: Run,
    drawn: Mapping[Kind, Sequence[Answer]],
    labels: Labels,
    trusted: Collection[str] = (),
    level: float = 0.95,
) -> list[Rate]:
    """Return the share of wrong verdicts of each kind, and of all accepted and all rejected answers.

    The limits of a kind are exact, see `Seen.wrong_in_all`. Those of several kinds are the sums of each at a
    level of 1 − (1 − level)/kinds, where kinds of which all answers have a label do not count, so that they
    hold with the probability `level` at least.

    Args:
        run: the verdicts.
        drawn: the sample, of each kind in its order (`sample.draw`).
        labels: of answers in `drawn`, taken for true. Of each kind they count up to the last one; an answer
            without a label before that may be either.
        trusted: types of which no verdict is wrong.
        level: above 0 and below 1.

    Raises:
        InputError: no such level.
    """
    check_level(level)
    found = []
    for accepted in (True, False):
        seen = {
            kind: _seen(answers, drawn.get(kind, ()), labels)
            for kind, answers in run.kinds.items()
            if kind.accepted is accepted
        }
        asked = {kind: one for kind, one in seen.items() if kind.type not in trusted}
        for kind, one in seen.items():
            found.append(_rate(kind, [one], [one] if kind in asked else [], 1 - level))
        if len(seen) > 1:
            found.append(_rate(Kind(accepted, TOTAL), list(seen.values()), list(asked.values()), 1 - level))
    return found


def check_level(level: float) -> None:
    """Raise InputError unless a level is above 0 and below 1."""
    if not 0 < level < 1:
        raise InputError(f'--level {level:g}: expected a number between 0 and 1, such as 0.95')


def _seen(answers: Sequence[Answer], sample: Sequence[Answer], labels: Labels) -> Seen:
    told = [labels.get(answer.name) for answer in sample]
    asked = max((place for place, label in enumerate(told, 1) if label is not None), default=0)
    wrong = sum(
        label is not None and label is not answer.kind.accepted
        for answer, label in zip(sample, told, strict=True)
    )
    skipped = told[:asked].count(None)
    samples = sum(answer.samples for answer in answers)
    return Seen(len(answers), samples, len(sample), asked - skipped, wrong, skipped)


def _rate(kind: Kind, seen: Sequence[Seen], asked: Sequence[Seen], alpha: float) -> Rate:
    """Return the rate of some kinds together, of which those that are `asked` are not trusted."""
    answers, samples, drawn, labelled, wrong = (sum(one[place] for one in seen) for place in range(5))
    in_doubt = sum(one.answers > one.labelled for one in asked)
    limits = [one.wrong_in_all(alpha / max(1, in_doubt)) for one in asked]
    low, high = (sum(numbers) / answers for numbers in zip((0, 0), *limits, strict=True))
    share = None
    if all(one.labelled for one in asked):
        share = sum(one.answers * one.wrong / one.labelled for one in asked) / answers
    return Rate(*kind, not asked, answers, samples, drawn, labelled, wrong, share, low, high)


def rates_table(found: Sequence[Rate], planned: bool) -> Table:
    """Return a row a kind, shares in percent.

    Args:
        planned: nobody was asked yet; the labels that were counted contradict no verdict.
    """
    table = Table(
        'verdicts',
        [
            *(Column(name, 'left') for name in ('verdict', 'type')),
            *('answers', 'samples', 'drawn', 'labelled', 'wrong', 'share wrong', 'lowest', 'highest'),
        ],
    )
    for one in found:
        shares = [Cell(None if share is None else 100 * share) for share in (one.share, one.low, one.high)]
        if one.trusted:
            shares = [Cell('trusted'), Cell(None), Cell(None)]
        verdict = 'accepted' if one.accepted else 'rejected'
        table.add(verdict, printable(one.type, 40), *one[3:8], *shares)
    return table.without('labelled', 'wrong', 'share wrong', 'lowest') if planned else table


def notes(found: Sequence[Rate], trusted: Collection[str], level: float, planned: bool) -> Iterator[str]:
    """Return what a reader of the table must know."""
    kinds = [one for one in found if one.type != TOTAL]
    drawn, labelled = sum(one.drawn for one in kinds), sum(one.labelled for one in kinds)
    if planned:
        yield f'nobody was asked yet: this is what {drawn} labels would say if none contradicts its verdict'
    elif labelled < drawn:
        yield f'{drawn - labelled} of {drawn} drawn answers have no label; with more the limits are narrower'
    yield (
        f'lowest, highest: limits of the share of wrong verdicts, in percent; exact at {100 * level:g} % for '
        'each row, if the labels are right'
    )
    if trusted:
        yield f'taken for right without asking: {", ".join(map(printable, trusted))}'
