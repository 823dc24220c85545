"""Tails of the hypergeometric distribution as tables over c: exact integers, rounded once at the end."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGEST_EXACT_N = 1_024

# P[X ≥ m] for X ~ Hypergeometric(n, c, k) as an array over c. Put the answers in a row, the c correct
# ones first. The m-th of the k drawn stands at place r in C(r − 1, m − 1)·C(n − r, k − m) of the C(n, k)
# draws, and X ≥ m exactly where that place is among the first c.


def tail(n: int, k: int, m: int) -> Floats:
    """Return P[at least m of k drawn are correct] for c = 0 … n correct of n; read-only."""
    # Only small tables are kept: at most 512 × 8 KiB.
    return _exact_tail(n, k, m) if n <= LARGEST_EXACT_N else _float_tail(n, k, m)


@lru_cache(maxsize=512)
def _exact_tail(n: int, k: int, m: int) -> Floats:
    return _divided(_tail_numerators(n, k, m), math.comb(n, k))


def mean_tail(n: int, k: int, with_half: bool) -> Floats:
    """Return (2/k)·Σ P[X ≥ i] over i > ⌈k/2⌉, with_half P[X ≥ (k+1)/2]/k more, for odd k; read-only."""
    # (2/k)·Σ_{i>h} P[X ≥ i] = (2/k)·E[max(X − h, 0)], and answer r ≤ c adds one to X − h where it is drawn
    # (k/n) and h before it are: the sum over i is a sum over r in the table of n − 1 answers and k − 1 draws.
    if n <= LARGEST_EXACT_N:
        return _exact_mean_tail(n, k, with_half)
    half = (k + 1) // 2
    values = np.concatenate(([0.0], np.cumsum(_float_tail(n - 1, k - 1, half)))) * (2 / n)
    if with_half:
        values += _float_tail(n, k, half) / k
    return frozen(np.minimum(values, 1.0))


@lru_cache(maxsize=512)
def _exact_mean_tail(n: int, k: int, with_half: bool) -> Floats:
    half = (k + 1) // 2
    numerators = [0, *(2 * total for total in accumulate(_tail_numerators(n - 1, k - 1, half)))]
    if with_half:
        numerators = [a + b for a, b in zip(numerators, _tail_numerators(n, k, half), strict=True)]
    return _divided(numerators, k * math.comb(n, k))


def _tail_numerators(n: int, k: int, m: int) -> list[int]:
    """Return P[X ≥ m]·C(n, k) for c = 0 … n."""
    if m > k:
        return [0] * (n + 1)
    terms = [math.comb(n - m, k - m)]
    for r in range(m, n - k + m):
        terms.append(terms[-1] * r * (n - r - k + m) // ((r - m + 1) * (n - r)))
    sums = list(accumulate(terms))
    return [0] * m + sums + sums[-1:] * (k - m)


def _float_tail(n: int, k: int, m: int) -> Floats:
    table = np.zeros(n + 1)
    if m > k:
        return frozen(table)
    last = n - k + m
    r = np.arange(m, last, dtype=np.float64)
    ratio = r / (r - m + 1) * ((last - r) / (n - r))
    # The terms rise to one peak and fall again: from there, nothing overflows and what underflows is nil.
    peak = int(np.count_nonzero(ratio > 1))
    with np.errstate(under='ignore'):
        rise, fall = np.cumprod(1 / ratio[:peak][::-1])[::-1], np.cumprod(ratio[peak:])
    sums = np.cumsum(np.concatenate((rise, [1.0], fall)))
    table[m : last + 1] = sums / sums[-1]
    table[last + 1 :] = 1.0
    return frozen(table)


def _divided(numerators: list[int], denominator: int) -> Floats:
    # Python rounds a quotient of integers correctly, whatever their size.
    return frozen(np.array([numerator / denominator for numerator in numerators]))


def frozen(table: Floats) -> Floats:
    """Return a table that nobody can change, as all have it that ask for it."""
    table.setflags(write=False)
    return table
