"""What a question scores with c of n answers correct, and how far scores move when it is sampled again."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

from ..arguments import as_counts, as_sizes
from ..distributions import beta_binomial, hypergeometric, normal_quantile
from ..errors import InputError
from ..metrics import Metric, value_table
from ..tails import tail
from .beta_fit import fitted_beta
from .intervals import Interval, check_level

Floats = NDArray[np.float64]


@lru_cache(maxsize=256)
def pair_table(metric: Metric, n: int) -> Floats:
    """Return the expected product of the scores of two disjoint draws of k from n ≥ 2k, for c = 0 … n.

    Two disjoint draws are independent given the question, so this estimates the square of the question's
    true value without bias (a U-statistic).
    """
    k, scores = metric.k, metric.scores()
    second = value_table(metric, n - k)
    tails = np.stack([np.ones(n + 1), *(tail(n, k, step) for step in range(1, k + 1)), np.zeros(n + 1)])
    chances = tails[:-1] - tails[1:]  # P[a of the first k drawn are correct], of shape (k + 1, n + 1)
    left = np.arange(n + 1) - np.arange(k + 1)[:, None]  # correct ones among the n − k that remain
    products = chances * scores[:, None] * second[np.clip(left, 0, n - k)]
    return np.asarray(np.where((left >= 0) & (left <= n - k), products, 0.0).sum(0))


@lru_cache(maxsize=256)
def subset_squares(metric: Metric, n: int, m: int) -> Floats:
    """Return the mean square of a question's value over all subsets of m of its n answers, for c = 0 … n.

    It estimates the mean square of the value of m fresh answers without bias, for it is a mean over all
    that m of the n could have been (a U-statistic).

    Raises:
        InputError: not 1 ≤ k ≤ m ≤ n.
    """
    if m > n:
        raise InputError(f'm = {m}: expected at most the n = {n} answers that there are')
    chances = hypergeometric(n, np.arange(n + 1), m)
    return np.asarray(chances @ value_table(metric, m) ** 2)


def rerun_interval(c: object, n: int, metric: Metric, level: float = 0.95) -> Interval:
    """Return the score of these very questions with an interval for more samples of them.

    It says nothing about other questions; for those see `mean_interval`, whose error is wider. The standard
    error follows from `rerun_variance`.

    Args:
        c: correct answers of each question, 0 ≤ c ≤ n.
        n: samples a question, n ≥ k.
        metric: the score.
        level: of confidence, between 0 and 1.

    Raises:
        InputError: counts out of range, or k > n.

    >>> rerun = rerun_interval([0, 12, 16], 16, Metric.parse('accuracy'))
    >>> round(rerun.low, 3), round(rerun.estimate, 3), round(rerun.high, 3)
    (0.504, 0.583, 0.663)
    """
    n, _ = as_sizes(n, metric.k)
    counts = as_counts(c, n).ravel()
    check_level(level)
    if counts.size == 0:
        raise InputError('c is empty: a score needs at least one question')
    questions = np.bincount(counts.astype(np.intp, copy=False), minlength=n + 1)
    return rerun_of(questions.astype(np.float64), metric, level)


def rerun_of(questions: Floats, metric: Metric, level: float = 0.95) -> Interval:
    """Return the interval of `rerun_interval` from how many questions have c = 0 … n, shape (n + 1,).

    >>> round(rerun_of(np.array([1.0, 0.0, 1.0]), Metric.parse('accuracy')).estimate, 3)
    0.5
    """
    n, count = questions.size - 1, float(questions.sum())
    variance = rerun_variance(metric, n, questions)
    estimate, error = float(questions @ value_table(metric, n)) / count, float(np.sqrt(variance)) / count
    half = normal_quantile((1 + level) / 2) * error
    low, high = max(estimate - half, 0.0), min(estimate + half, 1.0)
    return Interval(estimate, error, low, high, level, round(count))


def rerun_variance(
    metric: Metric, n: int, questions: Floats | NDArray[np.intp], m: int | None = None
) -> float:
    """Return the sum of the variances of the questions' values over reruns with m samples each.

    A question's variance is what Jeffreys' posterior of its chance, Beta(c + ½, n − c + ½), expects of
    another m samples (`expected_variances`). There is another estimate beside it, and the larger of the two
    sums counts. With n ≥ 2k it is from subsets and disjoint draws, unbiased but blind where few questions are
    answered now right, now wrong (`subset_squares`, `pair_table`). With fewer samples Jeffreys' prior, which
    takes most questions for nearly always right or wrong, weighs too much: it is the same with the prior that
    is fitted to all questions. A single answer says nothing of what would change: all may have one chance.

    Args:
        questions: how many have c = 0 … n of n correct, shape (n + 1,).
        m: k ≤ m ≤ n; None: n.
    """
    variance = float(questions @ expected_variances(metric, n, m))
    if n < 2 * metric.k:
        return max(variance, float(questions @ _fitted_variances(metric, n, questions, m)))
    squares = value_table(metric, n) ** 2 if m is None else subset_squares(metric, n, m)
    return max(variance, float(questions @ (squares - pair_table(metric, n))))


def _fitted_variances(metric: Metric, n: int, questions: Floats | NDArray[np.intp], m: int | None) -> Floats:
    """Return E[Var(value of m samples | p)] with the Beta prior of p that makes all counts most likely."""
    if np.count_nonzero(questions) < 2:
        return np.zeros(n + 1)
    if n == 1:
        share = float(questions[1] / questions.sum())
        return np.full(2, share * (1 - share))
    return _variances(metric, n if m is None else m, _posteriors(*fitted_beta(questions), n))


@lru_cache(maxsize=256)
def expected_variances(metric: Metric, n: int, m: int | None = None) -> Floats:
    """Return E[Var(value of m samples | p)] for p ~ Beta(c + ½, n − c + ½), c = 0 … n; without m, of n."""
    alphas = np.arange(n + 1) + 0.5
    return _variances(metric, n if m is None else m, _Betas(alphas, n + 1 - alphas))


class _Betas:
    """Beta distributions of p, with what the metrics of one k have in common: logarithms take the time."""

    def __init__(self, alphas: Floats, betas: Floats) -> None:
        self._alphas, self._betas = np.atleast_1d(alphas)[:, None], np.atleast_1d(betas)[:, None]
        self._logs: dict[int, Floats] = {}
        self._counts: dict[int, Floats] = {}

    def expectation(self, log_ways: Floats) -> Floats:
        """Return E[Σ_s ways[s]·p^s·(1 − p)^(degree − s)] of each."""
        if log_ways.size not in self._logs:
            s = np.arange(log_ways.size)
            self._logs[log_ways.size] = betaln(self._alphas + s, self._betas + log_ways.size - 1 - s)
            self._logs.setdefault(0, betaln(self._alphas, self._betas))
        return np.asarray(np.exp(log_ways + self._logs[log_ways.size] - self._logs[0]).sum(1))

    def counts(self, m: int) -> Floats:
        """Return P[c = 0 … m of m samples are right] of each."""
        if m not in self._counts:
            self._counts[m] = beta_binomial(m, self._alphas[:, 0], self._betas[:, 0])
        return self._counts[m]


@lru_cache(maxsize=2)
def _posteriors(a: float, b: float, n: int) -> _Betas:
    """Return Beta(a + c, b + n − c), c = 0 … n; the metrics of a run ask for them one after the other."""
    c = np.arange(n + 1)
    return _Betas(a + c, b + n - c)


def _variances(metric: Metric, m: int, chances: _Betas) -> Floats:
    """Return E[Var(value of m samples | p)] for each p."""
    means, variances = _moments(metric, chances)
    squares = chances.counts(m) @ value_table(metric, m) ** 2
    return np.asarray(np.maximum(squares - variances - means**2, 0.0))


def beta_moments(metric: Metric, alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of a question's true value where its chance p is Beta(alpha, beta).

    The value is a polynomial Σ_a score(a)·C(k, a)·p^a·(1 − p)^(k − a), its square one of degree 2k.
    """
    return _moments(metric, _Betas(alpha, beta))


def _moments(metric: Metric, chances: _Betas) -> tuple[Floats, Floats]:
    mean = chances.expectation(_log_ways(metric))
    square = chances.expectation(_log_squared_ways(metric))
    return mean, np.maximum(square - mean**2, 0.0)


def beta_mean(metric: Metric, alpha: Floats, beta: Floats) -> Floats:
    """Return the mean of `beta_moments` alone, which takes much less time than the variance."""
    return _Betas(alpha, beta).expectation(_log_ways(metric))


@lru_cache(maxsize=256)
def _log_ways(metric: Metric) -> Floats:
    """Return log(score(a)·C(k, a)) for a = 0 … k; in logs, as C(k, k/2) overflows beyond k = 1,029."""
    k, a = metric.k, np.arange(metric.k + 1)
    with np.errstate(divide='ignore'):
        return np.asarray(np.log(metric.scores()) + gammaln(k + 1) - gammaln(a + 1) - gammaln(k - a + 1))


@lru_cache(maxsize=256)
def _log_squared_ways(metric: Metric) -> Floats:
    return _log_convolve(_log_ways(metric), _log_ways(metric))


def _log_convolve(first: Floats, second: Floats) -> Floats:
    """Return log of the convolution of the exponentials."""
    result = np.full(first.size + second.size - 1, -np.inf)
    for shift, value in enumerate(first):
        if np.isfinite(value):
            part = result[shift : shift + second.size]
            np.logaddexp(part, value + second, out=part)
    return result
