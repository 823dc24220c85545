"""What labels of a sample say about the errors among all answers: which numbers of them are not ruled out.

Of the N answers of a kind, W have a wrong verdict. Of a sample of n, drawn without replacement, X are wrong,
and P(X = x | W) is hypergeometric. Numbers W = (W₁, W₂, …) of all kinds are ruled out at level α where

    m(x) / Π P(x_h | W_h) ≥ 1/α,

where m is the chance of x if the numbers of errors were themselves drawn: with a share of errors that is
Beta(a, 1), of each kind for itself or one of all kinds, and an a of `SHARES`, all of it with equal chances.
Under the true W this ratio has an expected value of at most 1, so it reaches 1/α with probability α at most
(Markov), whatever W is: no approximation, however few were asked. So Σ −log P(x_h | W_h) has one budget,
log(1/α) − log m(x), which all kinds share. That is far less than a limit for each kind by itself would
allow: an error that is assumed in one kind is paid for in all.

Sources: the ratio is the inverse of the prior-posterior ratio of Waudby-Smith and Ramdas 2020, Confidence
sequences for sampling without replacement, NeurIPS 33; a product over strata: Spertus and Stark 2022, Sweeter
than SUITE, E-Vote-ID.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHARES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""The a of Beta(a, 1); the mean share of errors is a/(a + 1)."""


class Seen(NamedTuple):
    """What is known of one kind."""

    answers: int
    """N: all different answers of the kind."""
    asked: int
    """n: those of the sample, up to the last one with a label."""
    wrong: int
    """Those whose label contradicts the verdict."""
    open: int = 0
    """Those of the sample without a label; each of them may be wrong."""

    @property
    def labelled(self) -> int:
        """Return answers with a label."""
        return self.asked - self.open

    @property
    def unknown(self) -> int:
        """Return answers without a label, asked or not."""
        return self.answers - self.labelled


def costs(seen: Seen) -> Floats:
    """Return −log P(what was seen | W) for W = wrong, wrong + 1, … up to all that have no label.

    Of what was asked and has no label the most likely part is taken for wrong. Where every answer has its
    label, the only entry is 0.

    >>> costs(Seen(4, 2, 0)).round(3)  # W = 0, 1, 2: C(4 − W, 2) / C(4, 2)
    array([0.   , 0.693, 1.792])
    """
    from scipy.stats import hypergeom

    errors = np.arange(seen.wrong, seen.wrong + seen.unknown + 1)
    chances = [
        hypergeom.logpmf(wrong, seen.answers, errors, seen.asked)
        for wrong in range(seen.wrong, seen.wrong + seen.open + 1)
    ]
    found: Floats = np.maximum(-np.max(chances, axis=0), 0.0)
    return found


def budget(seen: Sequence[Seen], alpha: float) -> float:
    """Return what the costs of all kinds may add up to: log(1/α) − log m(x).

    Kinds of which every answer has its label are left out; what they hold is known.
    """
    open_kinds = [one for one in seen if one.unknown and one.asked]
    logs = [_apart(open_kinds, a) for a in SHARES] + [_together(open_kinds, a) for a in SHARES]
    return math.log(1 / alpha) - float(np.logaddexp.reduce(logs) - math.log(len(logs)))


def _apart(seen: Sequence[Seen], a: float) -> float:
    """Return log m(x) where each kind has its own share; the least that unlabelled answers may make of it."""
    from scipy.stats import betabinom

    return sum(float(betabinom.logpmf(_wrong(one), one.asked, a, 1.0).min()) for one in seen)


def _together(seen: Sequence[Seen], a: float) -> float:
    """Return the same where all kinds have one share."""
    from scipy.special import betaln, gammaln

    asked, wrong, left = (sum(counts) for counts in zip((0, 0, 0), *(one[1:] for one in seen), strict=True))
    ways = 0.0
    for one in seen:
        x = _wrong(one)
        ways += float((gammaln(one.asked + 1) - gammaln(x + 1) - gammaln(one.asked - x + 1)).min())
    total = np.arange(wrong, wrong + left + 1)
    return ways + float((betaln(total + a, asked - total + 1.0) - betaln(a, 1.0)).min())


def _wrong(one: Seen) -> NDArray[np.int64]:
    """Return the numbers of errors that the asked answers may hold."""
    return np.arange(one.wrong, one.wrong + one.open + 1)


def most_wrong(seen: Sequence[Seen], alpha: float) -> list[int]:
    """Return for each kind the largest number of errors that is not ruled out, all kinds at once.

    >>> most_wrong([Seen(100, 60, 0), Seen(3, 3, 1)], 0.05)
    [3, 1]
    """
    curves = [costs(one) for one in seen]
    left = budget(seen, alpha) - sum(float(curve.min()) for curve in curves)
    return [
        one.wrong + int(np.flatnonzero(curve <= curve.min() + left).max())
        for one, curve in zip(seen, curves, strict=True)
    ]
