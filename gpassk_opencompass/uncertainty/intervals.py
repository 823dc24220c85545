"""The interval of a mean over questions, for new questions of the same kind; and the cluster bootstrap.

Source: Wilson 1927, JASA 22, 209.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..distributions import student_quantile
from ..errors import InputError
from .design import Design, cluster_sums, clusters_of, squares_between

Floats = NDArray[np.float64]

FEWEST_PROBLEMS = 20
"""With fewer source problems, or fewer in effect where some have many questions, no interval is given."""

FEWEST_EFFECTIVE = 6.0
"""Nor with fewer than so many solved, or unsolved, problems; see `effective_number`."""

FEWEST_IN_ALL = 2.0
"""Nor where the values, or what they lack to 1, add up to fewer: tiny ones hide the rare large ones."""

LEAST_ERROR = 1e-12
"""Nor with a standard error up to this, which is rounding: all problems score alike."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """An estimate and how far it can be trusted, all on the scale of the values.

    Where `refused` says why, `low` and `high` are NaN: no interval that could be given would hold.
    """

    estimate: float
    error: float
    """Standard error."""
    low: float
    high: float
    level: float
    problems: int
    """Source problems: the clusters that are taken as independent."""
    refused: str = ''


def mean_interval(
    values: ArrayLike, problems: Sequence[Hashable] | None = None, level: float = 0.95
) -> Interval:
    """Return the mean of a question's values with an interval for new questions of the same kind.

    The standard error is the one between source problems, which already holds the noise of sampling n
    answers: translations of one problem are one cluster, since they are right or wrong together. The
    interval is Wilson's with the effective number of questions p·(1 − p)/SE² in the place of n and
    Student's t with (problems − 1) degrees of freedom in the place of the normal quantile (cf. Franco,
    Little, Louis and Slud 2019, on intervals for proportions in surveys with clusters). Near 0 and 1 it
    keeps its level far longer than p ± t·SE, with which it agrees in the middle.

    Args:
        values: one a question, each in [0, 1].
        problems: the source problem of each question; None: each question is its own.
        level: of confidence, between 0 and 1.

    Returns:
        An interval, refused with fewer than `FEWEST_PROBLEMS` problems (in effect, by their sizes), where
        fewer than `FEWEST_EFFECTIVE` (or `FEWEST_IN_ALL`) of them are solved or unsolved, or where all are
        alike: it would be wrong more often than it says.

    Raises:
        InputError: no value, one outside [0, 1], or another number of problems.

    >>> interval = mean_interval([0.0, 1.0] * 50)
    >>> round(interval.low, 3), interval.estimate, round(interval.high, 3)
    (0.402, 0.5, 0.598)
    """
    array, cluster = as_scores(values, problems)
    check_level(level)
    [found] = mean_intervals(np.clip(array, 0.0, 1.0)[None], Design(cluster, np.bincount(cluster)), [level])
    return found


def mean_intervals(values: Floats, design: Design, levels: Sequence[float]) -> list[Interval]:
    """Return `mean_interval` of each row of values from 0 to 1, shape (M, Q), with a level each."""
    return intervals_of_sums(cluster_sums(values, design.cluster), design.sizes, levels)


def interval_of_sums(sums: Floats, sizes: NDArray[np.intp], level: float = 0.95) -> Interval:
    """Return the interval of `mean_interval` from the sum of the values and the questions of each problem.

    Args:
        sums, sizes: of each problem.
        level: of confidence.

    >>> interval_of_sums(np.array([0.0, 1.0] * 50), np.ones(100, dtype=np.intp)) == mean_interval([0, 1] * 50)
    True
    """
    [found] = intervals_of_sums(sums[None], sizes, [level])
    return found


def intervals_of_sums(sums: Floats, sizes: NDArray[np.intp], levels: Sequence[float]) -> list[Interval]:
    """Return `interval_of_sums` of each row of sums, shape (M, J), with a level each."""
    estimates, errors = ratio_errors(sums, sizes)
    refusals = _refusals(sums, sizes, errors)
    rows = zip(estimates, errors, levels, refusals, strict=True)
    return [_interval(*row, sizes.size) for row in rows]


def _interval(estimate: float, error: float, level: float, refused: str, problems: int) -> Interval:
    if refused:
        return Interval(estimate, error, np.nan, np.nan, level, problems, refused)
    trials = estimate * (1 - estimate) / error**2
    low, high = wilson(estimate, trials, quantile(level, problems - 1))
    return Interval(estimate, error, low, high, level, problems)


def ratio_error(sums: Floats, sizes: NDArray[np.intp]) -> tuple[float, float]:
    """Return the mean over all questions and its standard error between clusters, from their sums and sizes.

    The error is that of a ratio of sums, with the factor J/(J − 1) for J clusters; NaN for one cluster.
    """
    [mean], [error] = ratio_errors(sums[None], sizes)
    return mean, error


def ratio_errors(sums: Floats, sizes: NDArray[np.intp]) -> tuple[list[float], list[float]]:
    """Return means and errors of `ratio_error` of each row of sums, shape (M, J)."""
    total = int(sizes.sum())
    means = sums.sum(1) / total
    residuals = sums - (means[:, None] if _alone(sizes) else means[:, None] * sizes)
    return means.tolist(), (np.sqrt(squares_between(residuals)) / total).tolist()


def _alone(sizes: NDArray[np.intp]) -> bool:
    """Whether each problem has one question, so that nothing need be done a million times with ones."""
    return bool((sizes == 1).all())


def effective_number(parts: Floats) -> float:
    """Return how many equal parts a sum is worth: (Σx)²/Σx², Kish's effective number, to nine decimals.

    It is held against limits that are whole, and m equal parts are m, not a little less.

    >>> effective_number(np.array([0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.0]))
    6.0
    """
    [found] = effective_numbers(parts[None])
    return found


def effective_numbers(parts: Floats) -> list[float]:
    """Return `effective_number` of each row, shape (M, J)."""
    pairs = zip(parts.sum(1).tolist(), (parts**2).sum(1).tolist(), strict=True)
    return [round(total**2 / squares, 9) if squares else 0.0 for total, squares in pairs]


def problems_refusal(sizes: NDArray[np.intp]) -> str:
    """Return why problems with so many questions each are too few, or ''.

    A mean over questions weighs a problem by its questions, so a few large problems outweigh many small
    ones: what counts is the `effective_number` of the sizes.

    >>> problems_refusal(np.array([200] + [1] * 40))
    '240 questions of 41 problems, in effect 1.4, fewer than 20'
    """
    few = f'fewer than {FEWEST_PROBLEMS}'
    if sizes.size < FEWEST_PROBLEMS:
        return f'{sizes.size} problems, {few}'
    if not _alone(sizes) and (count := effective_number(sizes.astype(np.float64))) < FEWEST_PROBLEMS:
        return f'{sizes.sum()} questions of {sizes.size} problems, in effect {count:.1f}, {few}'
    return ''


def solved_refusal(what: str, effective: float, in_all: float) -> str:
    """Return why problems solved (or unsolved) in such numbers are too few, or ''."""
    if effective < FEWEST_EFFECTIVE:
        return f'too few problems {what}: {effective:.1f} in effect, fewer than {FEWEST_EFFECTIVE:g}'
    if in_all < FEWEST_IN_ALL:
        return f'too few problems {what}: {in_all:.1f} in all, fewer than {FEWEST_IN_ALL:g}'
    return ''


def spread_refusal(error: float) -> str:
    """Return why a standard error says nothing, or ''."""
    return 'all problems alike' if error <= LEAST_ERROR else ''


def as_values(values: ArrayLike, problems: Sequence[Hashable] | None) -> tuple[Floats, NDArray[np.intp]]:
    """Return the values and, for each, the number of its source problem; InputError where they do not fit."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
        raise InputError(
            f'values: expected one finite number a question, got an array of shape {array.shape}'
        )
    return array, clusters_of(problems, array.size)


def as_scores(values: ArrayLike, problems: Sequence[Hashable] | None) -> tuple[Floats, NDArray[np.intp]]:
    """Return what `as_values` does, of values from 0 to 1; InputError where one is not, as a percentage."""
    array, cluster = as_values(values, problems)
    if array.min() < -_ROUNDING or array.max() > 1 + _ROUNDING:
        raise InputError(f'values must lie in [0, 1], got {array.min()} … {array.max()}')
    return array, cluster


def check_level(level: float) -> None:
    """Refuse a level that is not between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f'level = {level!r}: expected a confidence between 0 and 1, e.g. 0.95')


@lru_cache(maxsize=1024)
def quantile(level: float, freedom: int) -> float:
    """Return Student's t for two sides; tables of many runs ask for the same one thousands of times."""
    return student_quantile((1 + level) / 2, freedom)


def _refusals(sums: Floats, sizes: NDArray[np.intp], errors: Sequence[float]) -> list[str]:
    """Return for each row of sums why it has no interval, or ''."""
    if refused := problems_refusal(sizes):
        return [refused] * len(sums)
    solved = sums if _alone(sizes) else sums / sizes
    refusals = [''] * len(sums)
    # Of shares the effective number is no less than their sum, so that many need no further look.
    many = 2 * FEWEST_EFFECTIVE
    if many < solved.sum(1).min() and solved.sum(1).max() < sizes.size - many:
        return [spread_refusal(error) for error in errors]
    for what, shares in (('solved', solved), ('unsolved', 1 - solved)):
        told = zip(refusals, effective_numbers(shares), shares.sum(1).tolist(), strict=True)
        refusals = [why or solved_refusal(what, effective, in_all) for why, effective, in_all in told]
    return [why or spread_refusal(error) for why, error in zip(refusals, errors, strict=True)]


def wilson(share: float, trials: float, quantile: float) -> tuple[float, float]:
    """Return Wilson's interval: the shares of which the observed one is within `quantile` standard errors.

    Args:
        share: observed, from 0 to 1.
        trials: how many there were, above 0; an effective number need not be whole.
        quantile: of the normal distribution, or of Student's t where the error itself is estimated.

    >>> low, high = wilson(0.5, 100, 1.96)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    shrink = 1 + quantile**2 / trials
    centre = (share + quantile**2 / (2 * trials)) / shrink
    half = quantile / shrink * math.sqrt(share * (1 - share) / trials + quantile**2 / (4 * trials**2))
    return centre - half, centre + half
