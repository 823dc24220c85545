"""Intervals that hold whenever sampling stops: the level at which the newest look takes its own.

A look is the interval after a round of samples. Somebody who stops at the first look that pleases has chosen
among several intervals, and an ordinary one then misses more often than it says. Here all looks hold at once,
so the one at which somebody stops does, whatever made them stop. `docs/stopping.md` has the proof.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..distributions import normal_tail, student_tail
from ..errors import InputError
from ..metrics import Metric
from .design import cluster_sums, clusters_of, residuals_within, strata_of_clusters
from .intervals import LEAST_ERROR, check_level, interval_of_sums, strata_used, wilson
from .looks import (
    canonical_correlation,
    correlation_of,
    critical_values,
    critical_values_to_goal,
    first_heavy,
)
from .rerun import rerun_interval

Floats = NDArray[np.float64]

FIRST_SHARE = 0.6
"""Of the error of new questions, what the first look spends; the others share the rest evenly.

Most of this error is the choice of the questions, which all looks have in common: who is right at the first
look is nearly always right at the later ones, which therefore need little. `docs/stopping.md` has what
other shares cost."""

MOST_LOOKS = 50
"""Planned at most; a look costs a dimension of an integral."""


def adjusted_level(
    values: ArrayLike,
    looks: int,
    problems: Sequence[Hashable] | None = None,
    level: float = 0.95,
    strata: Sequence[Hashable] | None = None,
    half_width: float | None = None,
    last: bool = False,
) -> float:
    """Return the level at which the newest look takes its interval, so that those of all looks hold at once.

    Given to `mean_interval` (or to `compare`, where the values are differences) at every look, it makes the
    probability that all the intervals hold `level`, in large samples of problems: so also the probability
    that the one holds at which somebody stops, by whatever rule. An interval that is refused stays refused.

    The first look spends `FIRST_SHARE` of the error 1 − level, the others the rest, evenly; with a
    half-width as the goal nearly all of it is kept for the look that can reach the goal, and the looks
    before that one are wide. A look's critical value is where the chance that it is the first to miss is
    what it spends; the looks' t statistics are taken as multivariate t with (problems − strata) degrees
    of freedom and the correlation of the problems' residuals between looks. Later looks change nothing in
    the levels of earlier ones.

    Args:
        values: of each question at each look so far, shape (L, Q), oldest first; the samples of an earlier
            look are among those of a later one.
        looks: planned in all, at least L, at most `MOST_LOOKS`; fixed before the first.
        problems: the source problem of each question; None: each question is its own.
        level: for all looks at once, between 0 and 1.
        strata: the stratum of each question, the same for all questions of a problem; None: one stratum.
        half_width: the goal of `mean_interval`, on the scale from 0 to 1, fixed before the first look; then
            strata count as they do there.
        last: with a half-width, whether sampling ends here because no later look can reach it, as
            `floor_half_width` says: then the newest look has what was kept for the one that does.

    Returns:
        A level, usually above `level`; `level` itself where one look is planned. It may be below `level` at
        a look that hardly differs from an earlier one which already held at a higher level.

    Raises:
        InputError: values that are no (L, Q), more looks than planned, or problems that do not fit.

    >>> rounds = np.array([[0.0, 1.0, 0.5, 1.0] * 10])
    >>> round(adjusted_level(rounds, looks=6), 3), adjusted_level(rounds, looks=1)
    (0.97, 0.95)
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise InputError(f'values: expected a row of finite values a look, got shape {table.shape}')
    _check_looks(len(table), looks, half_width)
    check_level(level)
    cluster = clusters_of(problems, table.shape[1])
    given = strata_of_clusters(strata, cluster)
    if looks == 1 or given.size == 1:
        return level
    used = _strata_of_looks(table, cluster, given, half_width)
    residuals = np.stack([_residuals(row, cluster, one) for row, one in zip(table, used, strict=True)])
    freedom = max(given.size - int(given.max()) - 1, 1)
    correlation = correlation_of(residuals)
    if half_width is None:
        spent = first_heavy(looks, 1 - level, FIRST_SHARE)[: len(table)]
        critical = critical_values(correlation, spent, freedom)
    else:

        def reaches(look: int, critical: float) -> bool:
            given_up = last and look == len(table) - 1
            return given_up or _half_width(table[look], residuals[look], cluster, critical) <= half_width

        critical = critical_values_to_goal(correlation, looks, 1 - level, reaches, freedom)
    of_newest = max(given.size - int(used[-1].max()) - 1, 1)
    return _level_of(float(student_tail(critical[-1], of_newest)))


def rerun_adjusted_level(
    counts: ArrayLike,
    ns: Sequence[int],
    metric: Metric,
    looks: int,
    level: float = 0.95,
    half_width: float | None = None,
) -> float:
    """Return the level of the newest look's `rerun_interval`, so that those of all looks hold at once.

    The looks share no choice of questions, and an early one has few of a late one's samples. A value over
    more samples is the mean of those over its subsets, so the covariance of two looks is the variance of
    the later one (Hoeffding 1948), and the correlation is the ratio of their errors. Each look spends the
    same part of the error; with a half-width as the goal nearly all of it is kept for the look that can
    reach the goal, and the looks before that one are wide.

    Args:
        counts: correct answers of each question at each look so far, shape (L, Q), oldest first.
        ns: samples a question at these looks, rising, each ≥ k.
        metric: the score.
        looks: planned in all, at least L, at most `MOST_LOOKS`; fixed before the first.
        level: for all looks at once, between 0 and 1.
        half_width: the goal, on the scale from 0 to 1, fixed before the first look; None: none.

    Raises:
        InputError: counts that are no (L, Q) or fit no n, samples that do not rise, more looks than planned.

    >>> metric = Metric.parse('accuracy')
    >>> round(rerun_adjusted_level([[2, 4, 8], [5, 8, 16]], [8, 16], metric, looks=2), 2)
    0.97
    """
    table = np.asarray(counts)
    if table.ndim != 2 or table.size == 0 or len(table) != len(ns):
        raise InputError(f'counts of shape {table.shape} for {len(ns)} looks: expected a row a look')
    if any(later <= earlier for earlier, later in pairwise(ns)):
        raise InputError(f'ns = {list(ns)}: expected numbers of samples that rise from look to look')
    errors = [rerun_interval(row, n, metric).error for row, n in zip(table, ns, strict=True)]
    return rerun_level_of_errors(errors, looks, level, half_width)


def rerun_level_of_errors(
    errors: Sequence[float], looks: int, level: float = 0.95, half_width: float | None = None
) -> float:
    """Return the level of `rerun_adjusted_level` from the standard errors of the looks so far.

    For an `Allocation`: those of its `rerun_interval` after each look. All else as there.

    >>> round(rerun_level_of_errors([0.02, 0.014], looks=6), 2)
    0.99
    """
    _check_looks(len(errors), looks, half_width)
    check_level(level)
    if looks == 1:
        return level
    found = np.asarray(errors, dtype=np.float64)
    correlation = canonical_correlation(found)
    if half_width is None:
        critical = critical_values(correlation, np.full(found.size, (1 - level) / looks))
    else:

        def reaches(look: int, critical: float) -> bool:
            return bool(critical * found[look] <= half_width)

        critical = critical_values_to_goal(correlation, looks, 1 - level, reaches)
    return _level_of(float(normal_tail(critical[-1])))


def _half_width(row: Floats, residuals: Floats, cluster: NDArray[np.intp], critical: float) -> float:
    """Return that of `mean_interval` with a critical value; infinite where it is refused."""
    ordinary = interval_of_sums(cluster_sums(row, cluster), np.bincount(cluster))
    error = float(np.linalg.norm(residuals)) / row.size
    if ordinary.refused or error <= LEAST_ERROR:
        return float('inf')
    trials = ordinary.estimate * (1 - ordinary.estimate) / error**2
    low, high = wilson(ordinary.estimate, trials, critical)
    return (high - low) / 2


def _strata_of_looks(
    table: Floats, cluster: NDArray[np.intp], stratum: NDArray[np.intp], half_width: float | None
) -> list[NDArray[np.intp]]:
    """Return the stratum of each problem as the interval of each look has it.

    A half-width is that of `mean_interval`, which has no strata where too little differs within them.
    """
    if half_width is None:
        return [stratum] * len(table)
    sizes, none = np.bincount(cluster), np.zeros_like(stratum)
    used = strata_used(cluster_sums(table, cluster), sizes, stratum)
    return [stratum if one else none for one in used]


def _residuals(row: Floats, cluster: NDArray[np.intp], stratum: NDArray[np.intp]) -> Floats:
    """Return what each problem adds to the error of a look, within strata, shape (J,); norm / Q is it."""
    count = np.bincount(stratum)[stratum]
    scale = np.sqrt(count / np.maximum(count - 1, 1))
    residuals = cluster_sums(row, cluster) - row.mean() * np.bincount(cluster)
    return np.asarray(scale * residuals_within(residuals, stratum))


def _check_looks(taken: int, planned: int, half_width: float | None) -> None:
    if not 1 <= planned <= MOST_LOOKS:
        raise InputError(f'looks = {planned}: expected a plan of 1 to {MOST_LOOKS} looks')
    if taken > planned:
        raise InputError(
            f'{taken} looks where {planned} were planned: all of the error is spent by then; plan as many '
            'looks as there can be before the first one'
        )
    if half_width is not None and not half_width > 0:
        raise InputError(f'half_width = {half_width}: expected a number above 0 (2 points are 0.02)')


def _level_of(tail: float) -> float:
    """Return the level of an interval that misses on each side with this chance."""
    return 1 - 2 * tail
