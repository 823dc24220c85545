"""What labels of a sample say about the errors among all answers: which numbers of errors they do not rule
out.

Of the N answers of a kind, W have a wrong verdict. Of a sample of n, drawn without replacement, X are wrong,
and P(X = x | W) is hypergeometric. Numbers W = (W₁, W₂, …) of all kinds are ruled out at level α where

    m(x) / Π P(x_h | W_h) ≥ 1/α,

where m is the chance of x if the numbers of errors were themselves drawn: of each kind with a share that is
Beta(a, 1), and a one of `SHARES` at random. Under the true W this ratio has an expected value of at most 1,
so it reaches 1/α with probability α at most (Markov), whatever W is: no approximation, however few were
asked. So Σ −log P(x_h | W_h) has one budget, log(1/α) − log m(x), which all kinds share. That is far less
than a limit for each kind by itself would allow: an error that is assumed in one kind is paid for in all.

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
        """Answers with a label."""
        return self.asked - self.open

    @property
    def unknown(self) -> int:
        """Answers without a label, asked or not."""
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
    from scipy.stats import betabinom

    logs = np.zeros(len(SHARES))
    for one in seen:
        if one.unknown and one.asked:
            wrong = np.arange(one.wrong, one.wrong + one.open + 1)[:, None]
            logs += betabinom.logpmf(wrong, one.asked, np.array(SHARES), 1.0).min(axis=0)
    return math.log(1 / alpha) - float(np.logaddexp.reduce(logs) - math.log(len(SHARES)))


def most_wrong(seen: Sequence[Seen], alpha: float) -> list[int]:
    """Return for each kind the largest number of errors that is not ruled out, all kinds at once.

    >>> most_wrong([Seen(100, 60, 0), Seen(3, 3, 1)], 0.05)
    [4, 1]
    """
    curves = [costs(one) for one in seen]
    left = budget(seen, alpha) - sum(float(curve.min()) for curve in curves)
    return [
        one.wrong + int(np.flatnonzero(curve <= curve.min() + left).max())
        for one, curve in zip(seen, curves, strict=True)
    ]
