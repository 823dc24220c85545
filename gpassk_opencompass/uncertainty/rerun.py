"""What a question scores with c of n answers correct, and how far scores move when it is sampled again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

from ..distributions import beta_binomial, hypergeometric, normal_quantile
from ..errors import InputError
from ..metrics import Metric, as_counts, as_sizes, value_table
from ..metrics import _tail as tail
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
    [found] = reruns_of(questions, [metric], level)
    return found


def reruns_of(questions: Floats, metrics: Sequence[Metric], level: float = 0.95) -> list[Interval]:
    """Return `rerun_of` of each metric; of many together it takes little more time than of one."""
    n, count = questions.size - 1, float(questions.sum())
    found = []
    for metric, variance in zip(metrics, _rerun_variances(metrics, n, questions), strict=True):
        estimate, error = float(questions @ value_table(metric, n)) / count, math.sqrt(variance) / count
        half = normal_quantile((1 + level) / 2) * error
        low, high = max(estimate - half, 0.0), min(estimate + half, 1.0)
        found.append(Interval(estimate, error, low, high, level, round(count)))
    return found


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
    [found] = _rerun_variances([metric], n, questions, m)
    return found


def _rerun_variances(
    metrics: Sequence[Metric], n: int, questions: Floats | NDArray[np.intp], m: int | None = None
) -> list[float]:
    fitted = _FittedPrior(questions, n if m is None else m)
    found = []
    for metric in metrics:
        if n < 2 * metric.k:
            other = fitted.variance(metric)
        else:
            squares = value_table(metric, n) ** 2 if m is None else subset_squares(metric, n, m)
            other = float(questions @ (squares - pair_table(metric, n)))
        found.append(max(float(questions @ expected_variances(metric, n, m)), other))
    return found


class _FittedPrior:
    """What the Beta prior of p that makes all counts most likely says of m more samples of each question."""

    def __init__(self, questions: Floats | NDArray[np.intp], m: int) -> None:
        self._questions, self._m = questions, m
        self._kept: dict[int, Floats] = {}

    def variance(self, metric: Metric) -> float:
        """Return Σ E[Var(value of m samples | p)] over the questions.

        It is Σ E[value²] − E[true value²]: of counts of m samples, and of those of two draws of k.
        """
        n, m = self._questions.size - 1, self._m
        if np.count_nonzero(self._questions) < 2:
            return 0.0
        if n == 1:
            right, count = float(self._questions[1]), float(self._questions.sum())
            return right * (1 - right / count)
        squares = self._expected(m) @ value_table(metric, m) ** 2
        return max(float(squares - self._expected(2 * metric.k) @ _pair_scores(metric)), 0.0)

    def _expected(self, m: int) -> Floats:
        """Return how many questions would have 0 … m of m samples right."""
        if m not in self._kept:
            self._kept[m] = _expected_counts(self._questions, *fitted_beta(self._questions), m)
        return self._kept[m]


def _expected_counts(questions: Floats | NDArray[np.intp], a: float, b: float, m: int) -> Floats:
    """Return how many questions have 0 … m of m more samples right where chances are Beta(a, b) distributed.

    A question with c of n right has x of m with chance C(m, x)·B(a + c + x, b + n + m − c − x)/B(a + c,
    b + n − c): the first Beta depends on c + x alone, so that all questions have n + m + 1 of them together.
    """
    n, c = questions.size - 1, np.flatnonzero(questions)
    j = np.arange(n + m + 1)
    logs = gammaln(a + j) + gammaln(b + n + m - j) - gammaln(a + b + n + m)
    chances = np.exp(
        _log_choices(m) + sliding_window_view(logs, m + 1)[c] - betaln(a + c, b + n - c)[:, None]
    )
    return np.asarray(questions[c] @ chances)


@lru_cache(maxsize=256)
def expected_variances(metric: Metric, n: int, m: int | None = None) -> Floats:
    """Return E[Var(value of m samples | p)] for p ~ Beta(c + ½, n − c + ½), c = 0 … n; without m, of n."""
    alphas = np.arange(n + 1) + 0.5
    return _variances(metric, n if m is None else m, alphas, n + 1 - alphas)


def _variances(metric: Metric, m: int, alphas: Floats, betas: Floats) -> Floats:
    """Return E[Var(value of m samples | p)] for p of each Beta distribution."""
    means, variances = beta_moments(metric, alphas, betas)
    squares = beta_binomial(m, alphas, betas) @ value_table(metric, m) ** 2
    return np.asarray(np.maximum(squares - variances - means**2, 0.0))


def beta_moments(metric: Metric, alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of a question's true value where its chance p is Beta(alpha, beta).

    The value is a polynomial Σ_a score(a)·C(k, a)·p^a·(1 − p)^(k − a), its square one of degree 2k.
    """
    mean = beta_mean(metric, alpha, beta)
    square = _expectation(_log_squared_ways(metric), alpha, beta)
    return mean, np.maximum(square - mean**2, 0.0)


def beta_mean(metric: Metric, alpha: Floats, beta: Floats) -> Floats:
    """Return the mean of `beta_moments` alone, which takes much less time than the variance."""
    return _expectation(_log_ways(metric), alpha, beta)


def _expectation(log_ways: Floats, alpha: Floats, beta: Floats) -> Floats:
    """Return E[Σ_s ways[s]·p^s·(1 − p)^(degree − s)] for p of each Beta distribution."""
    alphas, betas = np.atleast_1d(alpha)[:, None], np.atleast_1d(beta)[:, None]
    s = np.arange(log_ways.size)
    logs = betaln(alphas + s, betas + log_ways.size - 1 - s)
    return np.asarray(np.exp(log_ways + logs - betaln(alphas, betas)).sum(1))


@lru_cache(maxsize=256)
def _log_ways(metric: Metric) -> Floats:
    """Return log(score(a)·C(k, a)) for a = 0 … k."""
    return _log_times_choices(metric.scores())


def _log_times_choices(numbers: Floats) -> Floats:
    """Return log(number·C(m, x)) of numbers x = 0 … m; in logs, as C(m, m/2) overflows beyond m = 1,029."""
    m, x = numbers.size - 1, np.arange(numbers.size)
    with np.errstate(divide='ignore'):
        return np.asarray(np.log(numbers) + gammaln(m + 1) - gammaln(x + 1) - gammaln(m - x + 1))


@lru_cache(maxsize=256)
def _log_choices(m: int) -> Floats:
    """Return log C(m, x) for x = 0 … m."""
    return _log_times_choices(np.ones(m + 1))


@lru_cache(maxsize=256)
def _log_squared_ways(metric: Metric) -> Floats:
    return _log_convolve(_log_ways(metric), _log_ways(metric))


@lru_cache(maxsize=256)
def _pair_scores(metric: Metric) -> Floats:
    """Return the expected product of the scores of the halves of 2k answers of which s = 0 … 2k are right."""
    return np.asarray(np.exp(_log_squared_ways(metric) - _log_choices(2 * metric.k)))


def _log_convolve(first: Floats, second: Floats) -> Floats:
    """Return log of the convolution of the exponentials."""
    result = np.full(first.size + second.size - 1, -np.inf)
    for shift, value in enumerate(first):
        if np.isfinite(value):
            part = result[shift : shift + second.size]
            np.logaddexp(part, value + second, out=part)
    return result
