"""More samples for the questions that are still uncertain, and the unbiased value of each.

A question that stops because of its own counts is not a question with fewer samples: questions that stop
early did so since they looked good, or bad, and the ordinary value of their counts is biased. Unbiased is the
mean of the metric's kernel over all the ways, of those that the plan allows, to come to the state in which
the question stopped. `docs/stopping.md` has the proof.

Sources: Girshick, Mosteller and Savage 1946, Ann. Math. Stat. 17, 13 (unbiased estimates after sequential
stopping); Blackwell 1947, Ann. Math. Stat. 18, 105; Neyman 1934 (where samples are worth most).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln

from ..arguments import as_sizes
from ..distributions import beta_binomial, normal_quantile
from ..errors import InputError
from ..metrics import Metric, value_table
from .intervals import Interval, check_level
from .rerun import beta_moments, expected_variances, rerun_interval

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

WORTH = 0.1
"""`uncertain_first` goes on where a question's variance is at least this part of the largest one."""

LEAST_SAVING = 1.1
"""It is offered where equal numbers of samples would have to be at least so many times as large."""


@dataclass(frozen=True)
class Allocation:
    """How many samples a question gets: fixed beforehand, and decided by the question's own counts alone.

    Every question gets `looks[0]` samples. One with c of looks[r] correct goes on to looks[r + 1] where
    `go_on[r][c]`, and stops otherwise. A plan of R looks may be ended for all questions after any look.

    Args:
        metric: of which the values are.
        looks: numbers of samples, rising, the first ≥ k.
        go_on: for each look but the last one, whether c = 0 … n go on.

    Raises:
        InputError: looks that do not rise or are below k, or a table that does not fit.
    """

    metric: Metric
    looks: tuple[int, ...]
    go_on: tuple[tuple[bool, ...], ...]

    def __post_init__(self) -> None:
        if not self.looks or any(later <= earlier for earlier, later in pairwise(self.looks)):
            raise InputError(f'looks = {list(self.looks)}: expected numbers of samples that rise')
        as_sizes(self.looks[0], self.metric.k)
        if [len(row) for row in self.go_on] != [n + 1 for n in self.looks[:-1]]:
            raise InputError('go_on: expected n + 1 entries, c = 0 … n, for each look but the last one')

    @cached_property
    def values(self) -> tuple[Floats, ...]:
        """The unbiased value of a question with c = 0 … n correct at each look; NaN where none can be.

        E[kernel on the first k answers | state]: at the first look the ordinary value, then the mean over
        the states one look before that go on, weighed by the numbers of ways through them.
        """
        found = [value_table(self.metric, self.looks[0])]
        for look, weights in enumerate(self._steps):
            found.append(
                np.array([_mean(found[look][start : start + len(row)], row) for start, row in weights])
            )
        return tuple(found)

    @cached_property
    def ways(self) -> tuple[tuple[int, ...], ...]:
        """In how many orders of right and wrong answers a question comes to c = 0 … n at each look."""
        first = tuple(math.comb(self.looks[0], c) for c in range(self.looks[0] + 1))
        return (first, *(tuple(sum(row) for _, row in step) for step in self._steps))

    @cached_property
    def _steps(self) -> list[list[tuple[int, list[int]]]]:
        """For each later look and each c there: the first c before it, and the ways through each."""
        ways, found = [math.comb(self.looks[0], c) for c in range(self.looks[0] + 1)], []
        for (before, after), goes in zip(pairwise(self.looks), self.go_on, strict=True):
            drawn = [math.comb(after - before, more) for more in range(after - before + 1)]
            going = [count if on else 0 for count, on in zip(ways, goes, strict=True)]
            step = []
            for c in range(after + 1):
                start, stop = max(0, c - len(drawn) + 1), min(before, c) + 1
                step.append((start, [going[b] * drawn[c - b] for b in range(start, stop)]))
            found.append(step)
            ways = [sum(row) for _, row in step]
        return found

    def value(self, n: ArrayLike, c: ArrayLike) -> Floats:
        """Return the unbiased value of each question, shape (Q,), after any look.

        Args:
            n: samples of each question, each one of `looks`.
            c: correct ones among them.

        Raises:
            InputError: a question has another number of samples than the plan gives it with such counts.

        >>> plan = Allocation(Metric.parse('accuracy'), (2, 4), ((False, True, False),))
        >>> plan.value([2, 4, 4, 2], [0, 1, 2, 2])
        array([0. , 0.5, 0.5, 1. ])
        """
        places, counts = self._states(n, c)
        return np.array(
            [self.values[place][count] for place, count in zip(places, counts, strict=True)], np.float64
        )

    def going_on(self, n: ArrayLike, c: ArrayLike, look: int) -> NDArray[np.bool_]:
        """Return which questions get more samples after look number `look` (from 0), shape (Q,).

        Arguments and errors are those of `value`.
        """
        places, counts = self._states(n, c)
        if look >= len(self.go_on):
            return np.zeros(counts.size, dtype=bool)
        goes = np.array(self.go_on[look])
        here = places == look
        return np.asarray(here & goes[np.where(here, counts, 0)])

    def rerun_interval(self, n: ArrayLike, c: ArrayLike, level: float = 0.95) -> Interval:
        """Return the score of these very questions with an interval for another run of the same plan.

        A question's variance is what Jeffreys' posterior of its chance, Beta(c + ½, n − c + ½), expects of
        the plan as far as it went: how the sampling stopped changes nothing in a posterior. After the first
        look, where all questions have as many samples, it is the ordinary `rerun_interval`.

        Arguments and errors are those of `value`.
        """
        places, counts = self._states(n, c)
        check_level(level)
        if not places.any():
            return rerun_interval(counts, self.looks[0], self.metric, level)
        variances = _variances(self, int(places.max()))
        total = sum(variances[place][count] for place, count in zip(places, counts, strict=True))
        estimate, error = float(self.value(n, c).mean()), math.sqrt(total) / counts.size
        half = normal_quantile((1 + level) / 2) * error
        low, high = max(estimate - half, 0.0), min(estimate + half, 1.0)
        return Interval(estimate, error, low, high, level, counts.size)

    def expected(self, a: float, b: float) -> tuple[float, float]:
        """Return a question's mean number of samples and the variance of its value, its chance Beta(a, b).

        The variance is the mean one of the value given the chance: what sampling adds to a score's error.
        """
        samples = square = 0.0
        for place, n in enumerate(self.looks):
            chances = self.stopping_chances(place, np.array([a]), np.array([b]))[0]
            samples += n * float(chances.sum())
            square += float(chances @ np.nan_to_num(self.values[place]) ** 2)
        [mean], [between] = beta_moments(self.metric, np.array([a]), np.array([b]))
        return samples, max(square - between - mean**2, 0.0)

    def saving(self, a: float = 1.0, b: float = 1.0) -> float:
        """Return how many times as many samples equal numbers a question need, its chance Beta(a, b)."""
        samples, variance = self.expected(a, b)
        equal = _Equal(self.metric, a, b)
        low, high = self.metric.k, max(self.looks[-1], self.metric.k + 1)
        if equal.variance(low) <= variance:
            return low / samples
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if equal.variance(middle) > variance else (low, middle)
        first, second = equal.variance(low), equal.variance(high)
        between = (first - variance) / (first - second) if first > second else 1.0
        return (low + min(between, 1.0)) / samples

    def stopping_chances(self, look: int, a: Floats, b: Floats, last: int | None = None) -> Floats:
        """Return the chances to stop at look number `look` with c = 0 … n correct, shape (A, n + 1).

        Args:
            look: from 0.
            a, b: of the Beta distributions of the question's chance, shape (A,).
            last: the look after which all stop; None: the last one.
        """
        last = len(self.looks) - 1 if last is None else last
        n, c = self.looks[look], np.arange(self.looks[look] + 1)
        stays = np.array([not on for on in self.go_on[look]] if look < last else [True])
        logs = np.array([math.log(count) if count else -np.inf for count in self.ways[look]])
        shapes = betaln(a[:, None] + c, b[:, None] + n - c) - betaln(a, b)[:, None]
        return np.asarray(np.exp(logs + shapes) * stays)

    def _states(self, n: ArrayLike, c: ArrayLike) -> tuple[Integers, Integers]:
        """Return the look and the count of each question; InputError where the plan has no such state."""
        sizes, counts = np.atleast_1d(np.asarray(n)), np.atleast_1d(np.asarray(c))
        if sizes.shape != counts.shape or sizes.ndim != 1 or not sizes.size:
            raise InputError(f'n of shape {sizes.shape}, c of shape {counts.shape}: expected one a question')
        if unknown := sorted({*sizes.tolist()} - {*self.looks}):
            raise InputError(f'n = {unknown[0]}: expected one of the looks {list(self.looks)}')
        places = np.searchsorted(self.looks, sizes)
        newest = int(places.max())
        for size, count, place in zip(sizes.tolist(), counts.tolist(), places.tolist(), strict=True):
            if not 0 <= count <= size or not self.ways[place][int(count)]:
                raise InputError(
                    f'{count} of {size} correct: the plan with looks {list(self.looks)} never gets there'
                )
            if place < newest and self.go_on[place][count]:
                raise InputError(
                    f'{count} of {size} correct goes on to {self.looks[place + 1]} samples by the plan, but '
                    f'stopped while others have {self.looks[newest]}: sample it on first'
                )
        return places, counts.astype(np.intp)


def uncertain_first(metric: Metric, looks: Sequence[int]) -> Allocation:
    """Return the plan that samples on where more samples are worth most.

    A question goes on where the variance of its value, as Jeffreys' posterior of its chance expects it, is
    at least `WORTH` of the largest one at that look: where samples are worth most by Neyman's rule.

    Args:
        metric: of which the values are.
        looks: numbers of samples, rising, the first ≥ k.

    Raises:
        InputError: looks that do not rise or are below k, or a metric for which it does not save at least
            a tenth where all chances are as likely, as accuracy: give all its questions as many samples.

    >>> plan = uncertain_first(Metric.parse('mG-Pass@16'), [32, 64, 96])
    >>> [c for c in range(33) if plan.go_on[0][c]][0], round(plan.saving(), 1)
    (12, 1.3)
    """
    found = plan_by_worth(metric, looks)
    if len(looks) > 1 and (saving := found.saving()) < LEAST_SAVING:
        raise InputError(
            f'{metric.name} with looks {list(looks)}: sampling uncertain questions first would save a factor '
            f'of {saving:.2f}, less than {LEAST_SAVING:g}; give all questions as many samples'
        )
    return found


def plan_by_worth(metric: Metric, looks: Sequence[int]) -> Allocation:
    """Return the plan of `uncertain_first` whether it saves or not, for studies of it."""
    rows = (expected_variances(metric, as_sizes(n, metric.k)[0]) for n in looks[:-1])
    go_on = tuple(tuple((row >= WORTH * row.max()).tolist()) for row in rows)
    return Allocation(metric, tuple(looks), go_on)


@dataclass(frozen=True)
class _Equal:
    """All questions with as many samples, their chances Beta(a, b)."""

    metric: Metric
    a: float
    b: float

    def variance(self, n: int) -> float:
        """Return the mean variance of a question's value given its chance."""
        [mean], [between] = beta_moments(self.metric, np.array([self.a]), np.array([self.b]))
        chances = beta_binomial(n, self.a, self.b)
        return float(chances @ value_table(self.metric, n) ** 2 - between - mean**2)


def _mean(values: Floats, weights: list[int]) -> float:
    """Return the mean of the values by integer weights of any size; NaN where all are 0."""
    total = sum(weights)
    if not total:
        return float('nan')
    return float(
        math.fsum(weight / total * value for weight, value in zip(weights, values, strict=True) if weight)
    )


@lru_cache(maxsize=32)
def _variances(plan: Allocation, last: int) -> tuple[Floats, ...]:
    """Return E[Var(value of the plan ended at look `last` | p)], p ~ Beta(c + ½, n − c + ½)."""
    found = []
    for n in plan.looks[: last + 1]:
        a = np.arange(n + 1) + 0.5
        b = n + 1 - a
        means, between = beta_moments(plan.metric, a, b)
        square = sum(
            plan.stopping_chances(place, a, b, last) @ np.nan_to_num(plan.values[place]) ** 2
            for place in range(last + 1)
        )
        found.append(np.maximum(square - between - means**2, 0.0))
    return tuple(found)
