"""What the page asks of the samples of a result."""

from __future__ import annotations

from .record import SYMBOLS, Result
from .samples import Samples


def counted_samples(result: Result, *columns: str) -> Samples | None:
    """Return the samples of the questions that are counted, in their order; None where they are not known."""
    return result.samples(columns, (0, int(result.table.n.sum())))


def verdicts_of(samples: Samples) -> str:
    """Return '1', '0' or '?' for each sample."""
    return ''.join(SYMBOLS.get(one, '?') for one in samples.each('verdict'))


def deciders_of(samples: Samples) -> list[str]:
    """Return who judged each sample, or why nobody did; '' where it is not known."""
    pairs = zip(samples.each('why'), samples.each('judged_by'), strict=True)
    return [why or judge or '' for why, judge in pairs]
