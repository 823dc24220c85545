"""Chances and quantiles of the usual distributions, from `scipy.special` alone.

`scipy.stats` has them all, but to import it takes four times as long as all else that a small `gpassk score`
does. The tests compare the two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, ndtri, stdtr, stdtrit

Floats = NDArray[np.float64]


def normal_quantile(chance: float) -> float:
    """Return the number that a standard normal one stays below with this chance.

    >>> round(normal_quantile(0.975), 4)
    1.96
    """
    return float(ndtri(chance))


def student_quantile(chance: float, freedom: float) -> float:
    """Return the number that Student's t stays below with this chance; degrees of freedom may be infinite.

    >>> round(student_quantile(0.975, 3), 4)
    3.1824
    """
    return float(stdtrit(freedom, chance))


def student_tail(numbers: ArrayLike, freedom: float) -> Floats:
    """Return the chance that Student's t lies above each of these; degrees of freedom may be infinite."""
    return np.asarray(stdtr(freedom, -np.asarray(numbers)))


def beta_binomial(n: int, a: ArrayLike, b: ArrayLike) -> Floats:
    """Return P[X = 0 … n] where X of n are right with a chance drawn from Beta(a, b), shape (…, n + 1).

    >>> beta_binomial(2, 1, 1).round(4)
    array([0.3333, 0.3333, 0.3333])
    """
    first, second = (np.asarray(side, dtype=np.float64)[..., None] for side in (a, b))
    c = np.arange(n + 1)
    ways = -np.log(n + 1) - betaln(n - c + 1, c + 1)
    return np.asarray(np.exp(ways + betaln(c + first, n - c + second) - betaln(first, second)))


def hypergeometric(n: int, correct: ArrayLike, m: int) -> Floats:
    """Return P[X = 0 … m] for X correct among m that are drawn of n, shape (…, m + 1).

    Args:
        correct: how many of the n are, one number or several.

    >>> hypergeometric(4, 2, 2).round(4)
    array([0.1667, 0.6667, 0.1667])
    """
    c = np.asarray(correct)[..., None]
    x = np.arange(m + 1)
    # P[X = x + 1] / P[X = x], from the least x that is possible to the largest
    more, rest = (c - x) * (m - x), (x + 1) * (n - c - m + x + 1)
    ratio = np.where((more > 0) & (rest > 0), more / np.where(rest > 0, rest, 1), 1.0)[..., :-1]
    # What logarithms of factorials would lose in rounding, sums of logarithms of these do not.
    logs = np.concatenate([np.zeros_like(c, dtype=np.float64), np.cumsum(np.log(ratio), axis=-1)], axis=-1)
    possible = (x <= c) & (m - x <= n - c)
    chances = np.where(possible, np.exp(logs - logs.max(axis=-1, keepdims=True)), 0.0)
    return np.asarray(chances / chances.sum(axis=-1, keepdims=True))
