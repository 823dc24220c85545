"""Cover@τ, Bayes@N, consistency and std@m: what came after G-Pass@k, from the same counts.

Each is the mean of a metric of `metrics`, or follows from one, so each has that metric's interval for new
questions and for the same questions again. Where it does not, the reason stands in the interval's place.

Sources: Cover@τ: Dragoi, Pintilie, Gogianu and Brad, arXiv 2510.08325; Bayes@N: Hariri, Samandar,
Hinczewski and Chaudhary, arXiv 2510.04265; outcome consistency C_out: Rabanser, Kapoor, Kirgis, Liu, Utpala
and Narayanan, arXiv 2602.16666.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..arguments import as_counts, as_sizes, as_threshold
from ..distributions import beta_tail, binomial_tail, normal_quantile
from ..errors import InputError
from ..metrics import ACCURACY, SHOWN_THRESHOLDS, Metric, value_table
from .intervals import Interval, check_level, mean_interval
from .planning import Population, fit_histogram
from .rerun import reruns_of

Floats = NDArray[np.float64]

DOUBT = 0.05
"""How often a question just below τ may look as if it were surely above, and one at τ surely below."""

MOST_SHIFT = 0.4
"""Posterior standard deviations by which a uniform prior may move the score; farther off, the posterior
interval misses in more than 7 % of runs."""

LARGEST_RERUN_N = 1_024
"""Above so many samples a question no interval for the same questions is given: it takes tables of n²."""

_AGREE = Metric.consistency_at(2)


@dataclass(frozen=True)
class Stability:
    """One number with its intervals, all on the scale from 0 to 1 (`std@m`: of accuracy from 0 to 1)."""

    name: str
    value: float
    """NaN where it is undefined: `new.refused` says why."""
    new: Interval
    """For new questions of the same kind, as many of them, clustered by source problem."""
    again: Interval
    """For these very questions, if they were sampled again without end."""
    beside: float | None = None
    """Of Cover@τ that of a fitted Beta distribution, of C_out that of the published code; else None."""


@dataclass(frozen=True)
class _Run:
    """What the metrics need of a run: how many questions have c = 0 … n, and intervals for new questions."""

    questions: Floats
    interval: Callable[[Metric], Interval]
    thresholds: Sequence[float]
    level: float

    @property
    def n(self) -> int:
        return self.questions.size - 1

    @property
    def count(self) -> float:
        return float(self.questions.sum())

    @cached_property
    def population(self) -> Population | None:
        """The Beta distribution under which the counts are most likely; None where all are alike."""
        return fit_histogram(self.questions)

    def again(self, metric: Metric) -> Interval:
        if self.n <= LARGEST_RERUN_N:
            return self._reruns[metric]
        value = float(self.questions @ value_table(metric, self.n)) / self.count
        nothing = Interval(value, math.nan, math.nan, math.nan, self.level, round(self.count))
        return replace(nothing, refused=f'n = {self.n}, more than {LARGEST_RERUN_N:,} samples a question')

    @cached_property
    def _reruns(self) -> dict[Metric, Interval]:
        """Return the intervals for the same questions of all metrics of which `again` is asked."""
        metrics = metrics_asked_for(self.n, self.thresholds)
        return dict(zip(metrics, reruns_of(self.questions, metrics, self.level), strict=True))


def stability(
    c: object,
    n: int,
    problems: Sequence[Hashable] | None = None,
    thresholds: Sequence[float] = SHOWN_THRESHOLDS,
    level: float = 0.95,
) -> list[Stability]:
    """Return Cover@τ at each threshold, Bayes@n, consistency@2, C_out, std@1 and std@n of a run.

    Args:
        c: correct answers of each question, 0 ≤ c ≤ n.
        n: samples a question. With n = 1 nothing but Bayes@1 and the plug-in of Cover@τ is defined.
        problems: the source problem of each question; None: each question is its own.
        thresholds: τ of Cover@τ, above 0 to 1.
        level: of confidence, between 0 and 1.

    Raises:
        InputError: counts, thresholds or a level out of range, or another number of problems.

    >>> rows = {row.name: row for row in stability([8, 8, 6, 0] * 10, 8, thresholds=[0.5])}
    >>> list(rows)
    ['Cover@0.5', 'Bayes@8', 'consistency@2', 'C_out', 'std@1', 'std@8']
    >>> rows['Cover@0.5'].value, round(rows['consistency@2'].value, 3), round(rows['std@1'].value, 3)
    (0.75, 0.893, 0.037)
    """
    n, _ = as_sizes(n, 1)
    counts = as_counts(c, n).ravel()
    if counts.size == 0:
        raise InputError('c is empty: a score needs at least one question')
    histogram = np.bincount(counts.astype(np.intp, copy=False), minlength=n + 1).astype(np.float64)

    def interval(metric: Metric) -> Interval:
        return mean_interval(value_table(metric, n)[counts], problems, level)

    return stability_of(histogram, interval, thresholds, level)


def stability_of(
    questions: Floats,
    interval: Callable[[Metric], Interval],
    thresholds: Sequence[float] = SHOWN_THRESHOLDS,
    level: float = 0.95,
) -> list[Stability]:
    """Return what `stability` does, where the intervals for new questions come from elsewhere.

    Args:
        questions: how many have c = 0 … n of n correct, shape (n + 1,); parts of questions are allowed.
        interval: of any metric with k ≤ n, at `level`.
        thresholds, level: as for `stability`.
    """
    check_level(level)
    return list(_rows(_Run(questions, interval, tuple(thresholds), level)))


def _rows(run: _Run) -> Iterator[Stability]:
    for threshold in run.thresholds:
        yield _cover(run, threshold)
    yield _bayes(run)
    agree = _agreement(run)
    yield agree
    yield _published_consistency(run, agree)
    yield _deviation(run, agree, 1)
    if run.n > 1:
        yield _deviation(run, agree, run.n)


@lru_cache(maxsize=256)
def cover_bounds(threshold: float, n: int) -> tuple[tuple[int, float], tuple[int, float] | None]:
    """Return from which count on a question may lie at or above τ, and from which on it surely does.

    Returns:
        (m, P[X ≥ m]) for X ~ Binomial(n, τ) with the largest m for which that is 1 − `DOUBT` at least, and
        the same of the smallest m for which it is `DOUBT` at most; None where n samples never say so.

    >>> (may, power), (surely, false) = cover_bounds(0.8, 16)
    >>> may, round(power, 3), surely, round(false, 3)
    (10, 0.973, 16, 0.028)
    """
    reached = binomial_tail(np.arange(n + 1), n, threshold)  # P[X ≥ m] for m = 0 … n, falling
    may = max(1, int(np.flatnonzero(reached >= 1 - DOUBT).max()))
    surely = np.flatnonzero(reached <= DOUBT)
    found = (int(surely[0]), float(reached[surely[0]])) if surely.size else None
    return (may, float(reached[may])), found


def samples_for_cover(threshold: float) -> int | None:
    """Return the fewest samples with which a question may surely lie above τ; None for τ = 1.

    >>> samples_for_cover(0.8), samples_for_cover(0.95)
    (14, 59)
    """
    return None if threshold >= 1 else math.ceil(math.log(DOUBT) / math.log(threshold) - 1e-9)


def _cover(run: _Run, threshold: float) -> Stability:
    """Return Cover@τ, the share of questions whose chance of a right answer is τ at least.

    The published number is the plug-in, the share with c ≥ τ·n, which is G-Pass@n_τ. No estimate from n
    samples is unbiased for the share itself. Two more metrics bracket it for every population: with
    X ~ Binomial(n, p), P[X ≥ m] is at least its value at τ for p ≥ τ, and at most that below τ. So the share
    is E[c ≥ m]/P_τ[X ≥ m] at most, and (E[c ≥ m] − f)/(1 − f) at least, with f = P_τ[X ≥ m].
    """
    tau = as_threshold(threshold)
    plugged, *_ = _of_cover(tau, run.n)
    estimate = run.interval(plugged)
    name = f'Cover@{round(tau, 9):g}'
    new, again = (_between(of, run.n, tau) for of in (run.interval, run.again))
    return Stability(name, estimate.estimate, new, again, _share_from(run.population, tau))


@lru_cache(maxsize=256)
def _of_cover(tau: float, n: int) -> tuple[Metric, ...]:
    """Return the metrics that Cover@τ takes: the plug-in, and those that bracket it if n is enough."""
    if tau == 0:
        raise InputError('Cover@0 is 1 for every model: give a threshold above 0')
    (may, _), sure = cover_bounds(tau, n)
    needed = [may, sure[0]] if sure else []
    return Metric.g_pass_at(n, tau), *(Metric.g_pass_at(n, least / n) for least in needed)


def metrics_asked_for(n: int, thresholds: Sequence[float]) -> list[Metric]:
    """Return the metrics of which `stability_of` asks for the interval, each once.

    >>> list(map(str, metrics_asked_for(8, [0.5])))
    ['G-Pass@8_0.5', 'G-Pass@8_0.25', 'G-Pass@8_0.875', 'accuracy', 'consistency@2']
    """
    covers = [metric for threshold in thresholds for metric in _of_cover(as_threshold(threshold), n)]
    return list(dict.fromkeys([*covers, ACCURACY, *([_AGREE] if n > 1 else [])]))


def _between(interval: Callable[[Metric], Interval], n: int, tau: float) -> Interval:
    """Return the interval of Cover@τ, or why n samples give none."""
    metrics = _of_cover(tau, n)
    plugged = interval(metrics[0])
    (_, power), sure = cover_bounds(tau, n)
    if sure is None:
        needed = samples_for_cover(tau)
        more = f'{needed} samples can' if needed else 'no number of samples can'
        return _refused(plugged, f'n = {n} cannot place a question above τ = {tau:g}; {more}')
    above, below = map(interval, metrics[1:])
    if above.refused and below.refused:
        return _refused(plugged, below.refused)
    low = 0.0 if below.refused else max(0.0, (below.low - sure[1]) / (1 - sure[1]))
    high = 1.0 if above.refused else min(1.0, above.high / power)
    return replace(plugged, low=low, high=high, refused='')


def fitted_cover(questions: Floats, threshold: float) -> float | None:
    """Return the share at or above τ of the Beta distribution under which the counts are most likely.

    None where all questions are alike. Right where chances are Beta distributed, and only there.
    """
    return _share_from(fit_histogram(questions), threshold)


def _share_from(population: Population | None, threshold: float) -> float | None:
    return None if population is None else beta_tail(threshold, population.a, population.b)


def _bayes(run: _Run) -> Stability:
    """Return Bayes@n, the mean over the questions of the posterior mean (c + 1)/(n + 2), uniform prior.

    It is (n·accuracy + 1)/(n + 2), and so is its interval for new questions. For these questions there is
    the posterior's, estimate ± z·√Σ(c + 1)(n − c + 1)/((n + 2)²(n + 3))/Q; refused where the prior moves the
    score by more than `MOST_SHIFT` of its deviations.
    """
    n, accuracy = run.n, run.interval(ACCURACY)
    new = _affine(accuracy, n / (n + 2), 1 / (n + 2))
    c = np.arange(n + 1)
    variance = float(run.questions @ ((c + 1) * (n - c + 1))) / ((n + 2) ** 2 * (n + 3))
    error = math.sqrt(variance) / run.count
    half = normal_quantile((1 + run.level) / 2) * error
    shift = abs(new.estimate - accuracy.estimate) / error
    low, high = max(new.estimate - half, 0.0), min(new.estimate + half, 1.0)
    again = Interval(new.estimate, error, low, high, run.level, round(run.count))
    if shift > MOST_SHIFT:
        why = f'the uniform prior moves the score by {shift:.1f} posterior standard deviations'
        again = _refused(again, f'{why}, more than {MOST_SHIFT:g}')
    return Stability(f'Bayes@{n}', new.estimate, new, again)


def _agreement(run: _Run) -> Stability:
    """Return consistency@2: (c(c − 1) + (n − c)(n − c − 1))/(n(n − 1)), unbiased for p² + (1 − p)²."""
    if run.n == 1:
        return _undefined('consistency@2', run)
    new = run.interval(_AGREE)
    new = replace(new, refused=_in_words_of_agreement(new.refused))
    return Stability(_AGREE.name, new.estimate, new, run.again(_AGREE))


def _published_consistency(run: _Run, agree: Stability) -> Stability:
    """Return C_out = 2·consistency@2 − 1, unbiased for (2p − 1)²; beside it the plug-in (2c/n − 1)²."""
    if run.n == 1:
        return _undefined('C_out', run)
    new, again = _affine(agree.new, 2.0, -1.0), _affine(agree.again, 2.0, -1.0)
    plugged = float(run.questions @ (2 * np.arange(run.n + 1) / run.n - 1) ** 2) / run.count
    return Stability('C_out', new.estimate, _at_least_zero(new), _at_least_zero(again), plugged)


def _deviation(run: _Run, agree: Stability, m: int) -> Stability:
    """Return std@m, the standard deviation of the accuracy of reruns with m samples a question.

    Var = Σ p(1 − p)/(m·Q²), and consistency@2 estimates the mean of 1 − 2p(1 − p).
    """
    if run.n == 1:
        return _undefined('std@1', run)

    def of(share: float) -> float:
        return math.sqrt(max(1 - share, 0.0) / (2 * m * run.count))

    def turned(interval: Interval) -> Interval:
        value = of(interval.estimate)
        error = interval.error / (4 * m * run.count * value) if value else math.nan
        return replace(interval, estimate=value, error=error, low=of(interval.high), high=of(interval.low))

    return Stability(f'std@{m}', of(agree.value), turned(agree.new), turned(agree.again))


def _affine(interval: Interval, factor: float, shift: float) -> Interval:
    estimate, low, high = (factor * at + shift for at in (interval.estimate, interval.low, interval.high))
    return replace(interval, estimate=estimate, error=factor * interval.error, low=low, high=high)


def _at_least_zero(interval: Interval) -> Interval:
    low = interval.low if math.isnan(interval.low) else max(interval.low, 0.0)
    high = interval.high if math.isnan(interval.high) else max(interval.high, 0.0)
    return replace(interval, low=low, high=high)


def _refused(interval: Interval, reason: str) -> Interval:
    return replace(interval, low=math.nan, high=math.nan, refused=reason)


def _undefined(name: str, run: _Run) -> Stability:
    reason = 'undefined: one sample a question has nothing to be compared with'
    nothing = Interval(math.nan, math.nan, math.nan, math.nan, run.level, round(run.count), reason)
    return Stability(name, math.nan, nothing, nothing)


def _in_words_of_agreement(reason: str) -> str:
    """Return why there is no interval of a share of questions whose verdicts agree."""
    words = {
        'problems unsolved': 'problems with differing verdicts',
        'problems solved': 'problems that agree',
    }
    for solved, agreed in words.items():
        reason = reason.replace(solved, agreed)
    return reason
