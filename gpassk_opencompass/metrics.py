"""pass@k, G-Pass@k and mG-Pass@k from counts: c of the n answers to a question are correct.

A metric depends on a question through c alone, and c has only n + 1 values: so each metric is a table indexed
by c, built from integers and looked up for any number of questions. All values are fractions from 0 to 1.

Sources: G-Pass@k: Liu et al., arXiv 2412.13147; the estimator of pass@k: Chen et al., arXiv 2107.03374.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from .arguments import LARGEST_N, as_counts, as_list, as_sizes, as_threshold, as_whole
from .errors import InputError
from .tails import Floats, mean_tail, tail

DEFAULT_THRESHOLDS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The thresholds τ of the published tables."""

Integer = int | np.integer[Any]
Threshold = float | np.floating[Any]
Counts = NDArray[Any] | Sequence[Any]


@overload
def pass_at_k(n: Integer, c: Integer, k: Integer) -> float: ...
@overload
def pass_at_k(n: Integer, c: Counts, k: Integer) -> Floats: ...
def pass_at_k(n: Integer, c: Integer | Counts, k: Integer) -> float | Floats:
    """The probability that at least one of k answers drawn from the n is correct: 1 − C(n − c, k) / C(n, k).

    It is G-Pass@k at τ = 0; arguments, result and errors are those of `g_pass_at_k`.

    >>> pass_at_k(n=4, c=2, k=1)
    0.5
    """
    n, k = as_sizes(n, k)
    return _look_up(tail(n, k, 1), c)


@overload
def g_pass_at_k(n: Integer, c: Integer, k: Integer, threshold: Threshold) -> float: ...
@overload
def g_pass_at_k(n: Integer, c: Counts, k: Integer, threshold: Threshold) -> Floats: ...
def g_pass_at_k(n: Integer, c: Integer | Counts, k: Integer, threshold: Threshold) -> float | Floats:
    """The probability that at least max(1, ⌈k·τ⌉) of k answers drawn from the n are correct.

    G-Pass@k_τ = Σ_{j ≥ max(1, ⌈k·τ⌉)} C(c, j)·C(n − c, k − j) / C(n, k), drawn without replacement: an
    unbiased estimate for every n ≥ k. Correctly rounded for n ≤ 1,024, within 1e-12 above.

    Args:
        n: answers a question, from 1 to `LARGEST_N`.
        c: correct answers among the n, from 0 to n: an integer, or an integer array (or list) of any shape.
        k: answers drawn, from 1 to n.
        threshold: τ, from 0 to 1; 0 means "at least one". See `required_correct`.

    Returns:
        A float for a single count, else a float64 array of the shape of `c`.

    Raises:
        InputError: (a ValueError) a number is out of range, fractional or NaN.
        TypeError: a count is no integer; booleans and floats are not taken for integers.

    >>> g_pass_at_k(n=4, c=3, k=2, threshold=1.0)
    0.5
    >>> g_pass_at_k(n=4, c=[[0, 1], [2, 4]], k=2, threshold=0.5).round(3)
    array([[0.   , 0.5  ],
           [0.833, 1.   ]])
    """
    n, k = as_sizes(n, k)
    return _look_up(tail(n, k, required_correct(k, threshold)), c)


Integral = Literal['published', 'exact']


@overload
def mg_pass_at_k(n: Integer, c: Integer, k: Integer, *, integral: Integral = 'published') -> float: ...
@overload
def mg_pass_at_k(n: Integer, c: Counts, k: Integer, *, integral: Integral = 'published') -> Floats: ...
def mg_pass_at_k(
    n: Integer, c: Integer | Counts, k: Integer, *, integral: Integral = 'published'
) -> float | Floats:
    """The mean of G-Pass@k_τ over the thresholds from 0.5 to 1.

    'published' is the sum of the paper, (2/k)·Σ_{i = ⌈k/2⌉ + 1}^{k} G-Pass@k_{i/k}. For odd k it cannot reach
    1: a model that is always right gets (k − 1)/k, and k = 1 gives 0. 'exact' is 2·∫_{0.5}^{1} G-Pass@k_τ dτ,
    which adds G-Pass@k_{(k + 1)/2k} / k for odd k and changes nothing for even k. Only the published sum is
    reported as mG-Pass@k. The other arguments, the result and the errors are those of `g_pass_at_k`.

    >>> mg_pass_at_k(n=8, c=[4, 8], k=2)
    array([0.21428571, 1.        ])
    >>> mg_pass_at_k(n=8, c=8, k=5), mg_pass_at_k(n=8, c=8, k=5, integral='exact')
    (0.8, 1.0)
    """
    n, k = as_sizes(n, k)
    if integral not in ('published', 'exact'):
        raise InputError(f"integral must be 'published' or 'exact', got {integral!r}")
    return _look_up(mean_tail(n, k, integral == 'exact' and k % 2 == 1), c)


def required_correct(k: Integer, threshold: Threshold) -> int:
    """How many of k answers must be correct at threshold τ: max(1, ⌈k·τ⌉), free of binary rounding.

    k·τ is rounded to nine decimals first, so that 0.28, 7/25 and the thresholds that `numpy.arange` and
    `numpy.linspace` make all mean what they say. Errors are those of `g_pass_at_k`.

    >>> required_correct(25, 0.28), math.ceil(25 * 0.28)
    (7, 8)
    """
    return max(1, math.ceil(round(as_whole('k', k, 1, LARGEST_N) * as_threshold(threshold), 9)))


def pass_name(k: Integer) -> str:
    """The key of pass@k in every result, e.g. 'pass@4'."""
    return f'pass@{k}'


def g_pass_name(k: Integer, threshold: Threshold) -> str:
    """The key of G-Pass@k_τ in every result, e.g. 'G-Pass@4_0.5'; binary noise is not part of a name."""
    return f'G-Pass@{k}_{round(as_threshold(threshold), 9)}'


def mg_pass_name(k: Integer) -> str:
    """The key of mG-Pass@k in every result, e.g. 'mG-Pass@4'."""
    return f'mG-Pass@{k}'


def metric_names(
    k_list: Integer | Iterable[Integer], thresholds: Threshold | Iterable[Threshold] = DEFAULT_THRESHOLDS
) -> list[str]:
    """The published keys in their order: for each k, G-Pass@k at each threshold, then mG-Pass@k.

    Raises InputError where a k or a threshold is out of range or given twice, or no k is given; TypeError
    where one is no number.

    >>> metric_names(4, [0.5, 1.0])
    ['G-Pass@4_0.5', 'G-Pass@4_1.0', 'mG-Pass@4']
    """
    ks = [as_whole('k', k, 1, LARGEST_N) for k in as_list(k_list)]
    if not ks:
        raise InputError('k is empty: give at least one k')
    taus = as_list(thresholds)
    names = [name for k in ks for name in (*(g_pass_name(k, tau) for tau in taus), mg_pass_name(k))]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(f'give each k and each threshold once: {repeated[0]} would be computed twice')
    return names


def metric_table(
    n: Integer,
    k_list: Integer | Iterable[Integer],
    thresholds: Threshold | Iterable[Threshold] = DEFAULT_THRESHOLDS,
) -> dict[str, Floats]:
    """Every metric as a read-only array over c = 0 … n: for each k, pass@k and the metrics of `metric_names`.

    `table[name][c]` gives the values of any questions, `metric_means(table, c)` the means. Errors are those
    of `metric_names` and `g_pass_at_k`.

    >>> metric_table(4, [2], [1.0])['G-Pass@2_1.0'].round(3)
    array([0.   , 0.   , 0.167, 0.5  , 1.   ])
    """
    ks, taus = as_list(k_list), as_list(thresholds)
    metric_names(ks, taus)  # refuses an empty list and repetitions
    table: dict[str, Floats] = {}
    for size, k in (as_sizes(n, k) for k in ks):
        table[pass_name(k)] = tail(size, k, 1)
        for tau in taus:
            table[g_pass_name(k, tau)] = tail(size, k, required_correct(k, tau))
        table[mg_pass_name(k)] = mean_tail(size, k, with_half=False)
    return table


def metric_means(table: Mapping[str, Floats], c: Counts) -> dict[str, float]:
    """The mean of each metric over the questions with counts `c`, at the cost of one pass over `c`.

    Args:
        table: arrays over c = 0 … n, as `metric_table` makes them.
        c: as in `g_pass_at_k`, but not empty: a mean over no question is undefined and an InputError.

    >>> metric_means(metric_table(4, [2], [1.0]), [4, 3, 0])
    {'pass@2': 0.6666666666666666, 'G-Pass@2_1.0': 0.5, 'mG-Pass@2': 0.5}
    """
    n = min(len(column) for column in table.values()) - 1
    counts = as_counts(c, n)
    if counts.size == 0:
        raise InputError('c is empty: a mean needs at least one question')
    questions = np.bincount(counts.ravel().astype(np.intp, copy=False), minlength=n + 1)
    return {name: float(questions @ column) / counts.size for name, column in table.items()}


def _look_up(table: Floats, c: Integer | Counts) -> float | Floats:
    counts = as_counts(c, len(table) - 1)
    return float(table[counts]) if counts.ndim == 0 else table[counts]
