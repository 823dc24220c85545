"""The noise of a rerun: how far a score moves when the same questions are sampled again."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betaln, gammaln

from ..arguments import as_counts, as_sizes
from ..errors import InputError
from .intervals import Interval, check_level
from .kernels import Kernel, pair_table, subset_squares, value_table

Floats = NDArray[np.float64]


def rerun_interval(c: object, n: int, kernel: Kernel, level: float = 0.95) -> Interval:
    """The score of these very questions with an interval for more samples of them.

    It says nothing about other questions; for those see `mean_interval`, whose error is wider. The standard
    error follows from `rerun_variance`.

    Args:
        c: correct answers of each question, 0 ≤ c ≤ n.
        n: samples a question, n ≥ k.
        kernel: of the metric.
        level: of confidence, between 0 and 1.

    Raises:
        InputError: counts out of range, or k > n.

    >>> from gpassk_opencompass.uncertainty import kernel_of
    >>> rerun = rerun_interval([0, 12, 16], 16, kernel_of('accuracy'))
    >>> round(rerun.low, 3), round(rerun.estimate, 3), round(rerun.high, 3)
    (0.504, 0.583, 0.663)
    """
    n, _ = as_sizes(n, kernel.k)
    counts = as_counts(c, n).ravel()
    check_level(level)
    if counts.size == 0:
        raise InputError('c is empty: a score needs at least one question')
    questions = np.bincount(counts.astype(np.intp, copy=False), minlength=n + 1)
    variance = rerun_variance(kernel, n, questions)
    estimate, error = float(value_table(kernel, n)[counts].mean()), float(np.sqrt(variance)) / counts.size
    half = float(stats.norm.ppf((1 + level) / 2)) * error
    low, high = max(estimate - half, 0.0), min(estimate + half, 1.0)
    return Interval(estimate, error, low, high, level, counts.size)


def rerun_variance(
    kernel: Kernel, n: int, questions: Floats | NDArray[np.intp], m: int | None = None
) -> float:
    """The sum of the variances of the questions' values over reruns with m samples each.

    A question's variance is what Jeffreys' posterior of its chance, Beta(c + ½, n − c + ½), expects of
    another m samples (`expected_variances`). With n ≥ 2k there is an estimate from subsets and disjoint
    draws beside it, unbiased but blind where few questions are answered now right, now wrong
    (`subset_squares`, `pair_table`); the larger of the two sums counts.

    Args:
        questions: how many have c = 0 … n of n correct, shape (n + 1,).
        m: k ≤ m ≤ n; None: n.
    """
    variance = float(questions @ expected_variances(kernel, n, m))
    if n < 2 * kernel.k:
        return variance
    squares = value_table(kernel, n) ** 2 if m is None else subset_squares(kernel, n, m)
    return max(variance, float(questions @ (squares - pair_table(kernel, n))))


@lru_cache(maxsize=256)
def expected_variances(kernel: Kernel, n: int, m: int | None = None) -> Floats:
    """E[Var(value of m samples | p)] for p ~ Beta(c + ½, n − c + ½), for c = 0 … n; without m, of n."""
    m = n if m is None else m
    alphas = np.arange(n + 1) + 0.5
    means, variances = beta_moments(kernel, alphas, n + 1 - alphas)
    again = stats.betabinom.pmf(np.arange(m + 1), m, alphas[:, None], (n + 1 - alphas)[:, None])
    return np.asarray(np.maximum(again @ value_table(kernel, m) ** 2 - variances - means**2, 0.0))


def beta_moments(kernel: Kernel, alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of a question's true value where its chance p is Beta(alpha, beta).

    The value is a polynomial Σ_a score(a)·C(k, a)·p^a·(1 − p)^(k − a), its square one of degree 2k.
    """
    ways = _log_ways(kernel)
    mean = beta_mean(kernel, alpha, beta)
    square = _beta_expectation(_log_convolve(ways, ways), alpha, beta)
    return mean, np.maximum(square - mean**2, 0.0)


def beta_mean(kernel: Kernel, alpha: Floats, beta: Floats) -> Floats:
    """The mean of `beta_moments` alone, which is much sooner there than the variance."""
    return _beta_expectation(_log_ways(kernel), alpha, beta)


def _beta_expectation(log_ways: Floats, alpha: Floats, beta: Floats) -> Floats:
    """E[Σ_s ways[s]·p^s·(1 − p)^(degree − s)] for p ~ Beta(alpha, beta)."""
    s = np.arange(log_ways.size)
    alpha, beta = np.atleast_1d(alpha)[:, None], np.atleast_1d(beta)[:, None]
    terms = log_ways + betaln(alpha + s, beta + log_ways.size - 1 - s) - betaln(alpha, beta)
    return np.asarray(np.exp(terms).sum(1))


@lru_cache(maxsize=256)
def _log_ways(kernel: Kernel) -> Floats:
    """log(score(a)·C(k, a)) for a = 0 … k; in logs, since C(k, k/2) overflows beyond k = 1,029."""
    k, a = kernel.k, np.arange(kernel.k + 1)
    with np.errstate(divide='ignore'):
        return np.asarray(np.log(kernel.scores()) + gammaln(k + 1) - gammaln(a + 1) - gammaln(k - a + 1))


def _log_convolve(first: Floats, second: Floats) -> Floats:
    """log of the convolution of the exponentials."""
    result = np.full(first.size + second.size - 1, -np.inf)
    for shift, value in enumerate(first):
        if np.isfinite(value):
            part = result[shift : shift + second.size]
            np.logaddexp(part, value + second, out=part)
    return result
