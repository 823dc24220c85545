"""Runs on the same questions: the difference of two with its interval, and the ranks of many."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ..errors import InputError
from .intervals import (
    FEWEST_EFFECTIVE,
    LEAST_ERROR,
    as_values,
    check_level,
    cluster_sums,
    clusters_of,
    effective_number,
    problems_refusal,
    quantile,
    ratio_error,
    spread_refusal,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_CHUNK = 100_000
"""Drawn signs at a time, which bounds the memory."""

_ROUNDING = 1e-9
"""A t statistic that exceeds another one by a smaller share is equal to it."""


@dataclass(frozen=True)
class Comparison:
    """first − second on the same questions. Where `refused` says why, interval and p-value are NaN."""

    difference: float
    error: float
    low: float
    high: float
    p_value: float
    """Two-sided, of no difference between the runs on questions of this kind."""
    unpaired_error: float
    """What the error would be if the two had answered different questions."""
    level: float
    problems: int
    refused: str = ''


def compare(
    first: ArrayLike,
    second: ArrayLike,
    problems: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Comparison:
    """Compare two runs question by question.

    Questions that are hard for one model are hard for another: the differences vary less than the scores,
    and the interval is narrower than that of two separate runs. Differences are clustered by source
    problem, with Student's t.

    Args:
        first, second: a value a question, in the same order of questions.
        problems: the source problem of each question; None: each question is its own.
        level: of confidence, between 0 and 1.

    Returns:
        The comparison, refused with fewer than 20 problems (in effect, by their sizes), where fewer than
        6, in effect, differ, or where all differ alike.

    Raises:
        InputError: not one value a question in both.

    >>> result = compare([1, 1, 0, 1] * 10, [1, 0, 0, 0] * 10)
    >>> result.difference, result.p_value < 0.001, result.error < result.unpaired_error
    (0.5, True, True)
    """
    a, cluster = as_values(first, problems)
    b, _ = as_values(second, problems)
    check_level(level)
    if a.size != b.size:
        raise InputError(f'{a.size} values against {b.size}: a comparison needs the same questions in both')
    sizes = np.bincount(cluster)
    first_error, second_error = (ratio_error(cluster_sums(values, cluster), sizes)[1] for values in (a, b))
    sums = cluster_sums(a - b, cluster)
    difference, error = ratio_error(sums, sizes)
    unpaired = float(np.hypot(first_error, second_error))
    differing = effective_number(np.abs(sums))
    refused = problems_refusal(sizes) or _differing_refusal(differing) or spread_refusal(error)
    if refused:
        nan = float('nan')
        return Comparison(difference, error, nan, nan, nan, unpaired, level, sizes.size, refused)
    freedom = sizes.size - 1
    half = quantile(level, freedom) * error
    p_value = 2 * float(stats.t.sf(abs(difference) / error, freedom))
    return Comparison(
        difference, error, difference - half, difference + half, p_value, unpaired, level, sizes.size
    )


def _differing_refusal(differing: float) -> str:
    if differing < FEWEST_EFFECTIVE:
        return f'too few problems differ: {differing:.1f} in effect, fewer than {FEWEST_EFFECTIVE:g}'
    return ''


def rank_intervals(
    values: ArrayLike,
    problems: Sequence[Hashable] | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> NDArray[np.int64]:
    """Return the best and the worst rank that each of M runs may have, all right at once at `level`.

    A run's best rank is one behind all runs that are better beyond doubt, its worst one before all that
    are worse beyond doubt. Two runs differ beyond doubt where their paired, clustered t statistic exceeds
    what the largest one of all M·(M − 1)/2 pairs exceeds in a share 1 − level of `draws` draws, in each of
    which the runs are swapped on about half of the source problems, the same ones for all pairs: the
    differences of these problems change their sign. Every statistic is divided by the standard error of
    its own draw, √(J/(J − 1)·(Q − S²/J)) where all J problems have as many questions, with S the sum and
    Q the sum of squares of a pair's differences. For two runs this is a randomisation test, exact where
    neither is better and their differences are symmetric; the maximum keeps the error over the whole
    table (for ranks see Mogstad, Romano, Shaikh and Wilhelm 2024).

    Args:
        values: of M runs on the same Q questions, shape (M, Q).
        problems: the source problem of each question; None: each question is its own.
        level: of confidence for the whole table, between 0 and 1.
        draws, seed: of the random signs; with fewer than level/(1 − level) draws nothing is beyond doubt.

    Returns:
        Shape (M, 2): best and worst rank, from 1. With fewer than 20 problems (in effect, by their sizes),
        or for two runs that differ in effect on fewer than 6 or on all alike, nothing is beyond doubt.

    Raises:
        InputError: values that are no (M, Q), or another number of problems.

    >>> steady, shaky = [1, 1, 1, 0] * 10, [1, 0, 0, 0] * 10
    >>> rank_intervals([shaky, steady, steady]).tolist()
    [[3, 3], [1, 2], [1, 2]]
    """
    runs = np.asarray(values, dtype=np.float64)
    check_level(level)
    if runs.ndim != 2 or runs.size == 0:
        raise InputError(f'values: expected a row of questions a run, got shape {runs.shape}')
    cluster = clusters_of(problems, runs.shape[1])
    sums = np.stack([cluster_sums(run, cluster) for run in runs])
    better = _better(sums, np.bincount(cluster), level, draws, seed)
    return np.stack([1 + better.sum(0), len(runs) - better.sum(1)], axis=1)


def _better(sums: Floats, sizes: NDArray[np.intp], level: float, draws: int, seed: int) -> Bools:
    """Return at [i, j] whether run i is better than run j beyond doubt."""
    if problems_refusal(sizes):
        return np.zeros((len(sums), len(sums)), dtype=bool)
    statistics = _statistics(sums, sizes)
    critical = _critical(sums, sizes, ~np.isnan(statistics), level, draws, seed)
    # A comparison with NaN is False: what cannot be compared is not told apart.
    above: Bools = statistics > critical * (1 + _ROUNDING)
    below: Bools = statistics < -critical * (1 + _ROUNDING)
    return above | below.T


def _statistics(sums: Floats, sizes: NDArray[np.intp]) -> Floats:
    """Return t of run i − run j at [i, j] for i < j, shape (M, M); NaN where they cannot be compared.

    From the residuals themselves: the sums of squares of `_critical` would cancel where all problems
    differ alike.
    """
    count, total = sizes.size, int(sizes.sum())
    found = np.full((len(sums), len(sums)), np.nan)
    for i, run in enumerate(sums[:-1]):
        differences = run - sums[i + 1 :]
        means = differences.sum(1) / total
        residuals = differences - means[:, None] * sizes
        errors = np.sqrt(count / (count - 1) * (residuals**2).sum(1)) / total
        differing = np.array([effective_number(one) for one in np.abs(differences)])
        enough = (differing >= FEWEST_EFFECTIVE) & (errors > LEAST_ERROR)
        found[i, i + 1 :][enough] = means[enough] / errors[enough]
    return found


def _critical(
    sums: Floats, sizes: NDArray[np.intp], compared: Bools, level: float, draws: int, seed: int
) -> float:
    """Return what the largest |t| of the compared pairs exceeds in a share 1 − level of the draws.

    The data themselves count as one more draw, so the share holds for any number of draws.
    """
    place = math.ceil(round((draws + 1) * level, 9))
    if place > draws or not compared.any():
        return math.inf
    largest = np.concatenate(
        [_largest(signs, sums, sizes, compared) for signs in _signs(sums.shape, draws, seed)]
    )
    return float(np.partition(largest, place - 1)[place - 1])


def _signs(shape: tuple[int, ...], draws: int, seed: int) -> Iterator[Floats]:
    """Return a sign for each problem, a row a draw, in chunks."""
    generator = np.random.default_rng(seed)
    rows = max(1, _CHUNK // max(shape))
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        yield generator.integers(2, size=(count, shape[1])) * 2.0 - 1


def _largest(signs: Floats, sums: Floats, sizes: NDArray[np.intp], compared: Bools) -> Floats:
    """Return the largest |t| of the compared pairs in each draw, shape (draws,)."""
    count, total, squared = sizes.size, int(sizes.sum()), float(sizes @ sizes)
    flipped, weighed = signs @ sums.T, signs @ (sums * sizes).T
    largest = np.zeros(len(signs))
    for i in np.flatnonzero(compared.any(1)):
        others = np.flatnonzero(compared[i])
        squares = ((sums[i] - sums[others]) ** 2).sum(1)
        sum_of = flipped[:, [i]] - flipped[:, others]
        crossed = weighed[:, [i]] - weighed[:, others]
        means = sum_of / total
        # Σ(x − mean·size)², where flipping leaves Σx² as it is; above 0 but for rounding.
        residuals = np.maximum(squares - means * (2 * crossed - means * squared), _ROUNDING * squares)
        np.maximum(largest, (sum_of**2 / residuals).max(1), out=largest)
    return np.asarray(np.sqrt(largest * (count - 1) / count))
