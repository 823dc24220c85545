"""The tail profile: G-Pass@k_τ for all τ = i/k as one curve, with a band that holds for all of it at once.

Sources: the curve: Hariri, Hinczewski, Ayday and Chaudhary 2026, "Success Has a Shape: TailPass@k for
Repeated Sampling Evaluation"; the band: Montiel Olea and Plagborg-Møller 2019, J. Appl. Econometrics 34, 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..arguments import as_counts, as_sizes
from ..errors import InputError
from ..metrics import Metric, value_table
from ..tails import LARGEST_EXACT_N
from .design import cluster_sums, clusters_of
from .intervals import Interval, check_level, intervals_of_sums, quantile, wilson

Floats = NDArray[np.float64]

DRAWS = 10_000
"""Of the largest error of a curve; the critical value then has an error of less than 1 %."""

LARGEST_K = 1_024
"""Points of a curve."""

_CHUNK = 32_768
"""Normal numbers at a time: they stay in the cache of a processor."""


@dataclass(frozen=True)
class TailProfile:
    """G-Pass@k_{i/k} for i = 1 … k: the chances that at least i of k answers are correct."""

    k: int
    intervals: tuple[Interval, ...]
    """Of each point alone, without strata."""
    low: Floats
    high: Floats
    """The band, shape (k,); NaN where the point has no interval. All that is not NaN holds at once."""
    critical: float
    """Standard errors on each side of the curve; NaN where no point has an interval."""
    level: float

    @property
    def thresholds(self) -> Floats:
        """τ = 1/k … 1, shape (k,)."""
        return np.arange(1, self.k + 1) / self.k

    @property
    def estimates(self) -> Floats:
        """The curve, shape (k,), which never rises."""
        return np.array([interval.estimate for interval in self.intervals])

    @property
    def refused(self) -> list[str]:
        """Why points have no band, '' for those that have one."""
        return [interval.refused for interval in self.intervals]


def tail_profile(
    c: object,
    n: int,
    k: int,
    problems: Sequence[Hashable] | None = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> TailProfile:
    """Return the tail profile of a run with a simultaneous band for new questions of the same kind.

    Each point's interval is that of `mean_interval`, Wilson's, with one larger critical value in the place of
    Student's t: what the largest |t| over all points with an interval stays below in a share `level` of
    draws. A draw multiplies the residuals of the source problems by independent normal numbers, the same ones
    for all points, and divides by the root of χ²/(J − 1) (a multiplier bootstrap of a multivariate t, drawn
    from the correlations of the points).
    Limits are then drawn together as far as a curve that never rises allows, which costs no coverage.

    Args:
        c: correct answers of each question, 0 ≤ c ≤ n.
        n, k: samples a question, and answers drawn, 1 ≤ k ≤ n and at most `LARGEST_K`.
        problems: the source problem of each question; None: each question is its own.
        level: of confidence for the whole curve, between 0 and 1.
        draws, seed: of the critical value; never below Student's t.

    Raises:
        InputError: a number out of range, no question, or another number of problems.

    >>> profile = tail_profile([0, 2, 4] * 20, 4, 2)
    >>> profile.estimates.round(3).tolist(), profile.critical > 2
    ([0.611, 0.389], True)
    """
    n, k = as_sizes(n, k)
    check_level(level)
    counts = as_counts(c, n).ravel()
    if counts.size == 0 or k > LARGEST_K or draws < 1:
        raise InputError(f'{counts.size} questions, k = {k}, {draws} draws: expected ≥ 1, ≤ {LARGEST_K}, ≥ 1')
    return profile_of(_curves(counts, n, k), clusters_of(problems, counts.size), level, draws, seed)


def _curves(counts: NDArray[np.int64], n: int, k: int) -> Floats:
    """Return the value of each question at each point, shape (k, Q)."""
    if n <= LARGEST_EXACT_N:
        return np.take(_tables(n, k), counts, axis=1)
    return np.stack([value_table(metric, n)[counts] for metric in _points(k)])


@lru_cache(maxsize=4)
def _tables(n: int, k: int) -> Floats:
    """Return the value at each point for c = 0 … n, shape (k, n + 1): the runs of a board share it."""
    return np.stack([value_table(metric, n) for metric in _points(k)])


def _points(k: int) -> list[Metric]:
    return [Metric.g_pass_at(k, i / k) for i in range(1, k + 1)]


def profile_of(
    curves: Floats, cluster: NDArray[np.intp], level: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> TailProfile:
    """Return the tail profile from the value of each question at each of k points, shape (k, Q).

    Args:
        cluster: the number of each question's source problem, from 0, shape (Q,).
        level, draws, seed: as for `tail_profile`.
    """
    sizes = np.bincount(cluster)
    sums = cluster_sums(curves, cluster)
    intervals = tuple(intervals_of_sums(sums, sizes, [level] * len(sums)))
    low, high = np.full((2, len(curves)), np.nan)
    printed = np.array([not interval.refused for interval in intervals])
    critical = np.nan
    if printed.any():
        means = np.array([interval.estimate for interval in intervals])
        residuals = (sums - means[:, None] * sizes)[printed]
        critical = max(_critical(residuals, level, draws, seed), quantile(level, sizes.size - 1))
        for place in np.flatnonzero(printed):
            one = intervals[place]
            trials = one.estimate * (1 - one.estimate) / one.error**2
            low[place], high[place] = wilson(one.estimate, trials, critical)
        low[printed] = np.maximum.accumulate(low[printed][::-1])[::-1]
        high[printed] = np.minimum.accumulate(high[printed])
    return TailProfile(len(curves), intervals, low, high, float(critical), level)


def _critical(residuals: Floats, level: float, draws: int, seed: int) -> float:
    """Return what the largest |t| of the rows exceeds in a share 1 − level of draws; shape (points, J)."""
    scaled = residuals / np.sqrt((residuals**2).sum(1))[:, None]
    numbers, spread = _drawn(draws, *residuals.shape, seed)
    # Sums of the residuals times normal numbers are normal with their correlations: k numbers are enough.
    variances, directions = np.linalg.eigh(scaled @ scaled.T)
    largest = _largest(numbers, (directions * np.sqrt(np.maximum(variances, 0.0))).T)
    return float(np.quantile(largest / spread, level, method='higher'))


def _largest(numbers: Floats, directions: Floats) -> Floats:
    """Return the largest absolute number of each row of the product, shape (draws,)."""
    found, rows = [], max(1, _CHUNK // len(directions))
    for start in range(0, len(numbers), rows):
        # A row a point, for numpy's `max` of short rows takes long, and so does one over far strides.
        points = np.ascontiguousarray((numbers[start : start + rows] @ directions).T)
        found.append(np.abs(points, out=points).max(0))
    return np.concatenate(found)


@lru_cache(maxsize=4)
def _drawn(draws: int, points: int, problems: int, seed: int) -> tuple[Floats, Floats]:
    """Return normal numbers, shape (draws, points), and roots of χ²/(J − 1), the same ones for all runs."""
    generator = np.random.default_rng(seed)
    normal = generator.standard_normal((draws, points))
    return normal, np.sqrt(generator.chisquare(problems - 1, size=draws) / (problems - 1))
