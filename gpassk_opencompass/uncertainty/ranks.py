"""Which ranks of a table the data allow, with all pairs of runs looked at at once."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .intervals import (
    FEWEST_EFFECTIVE,
    LEAST_ERROR,
    check_level,
    cluster_sums,
    clusters_of,
    effective_number,
    problems_refusal,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_CHUNK = 100_000
"""Drawn signs at a time, which bounds the memory."""

_ROUNDING = 1e-9
"""A t statistic that exceeds another one by a smaller share is equal to it."""


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
    """better[i, j]: run i is better than run j beyond doubt."""
    if problems_refusal(sizes):
        return np.zeros((len(sums), len(sums)), dtype=bool)
    statistics = _statistics(sums, sizes)
    critical = _critical(sums, sizes, ~np.isnan(statistics), level, draws, seed)
    # A comparison with NaN is False: what cannot be compared is not told apart.
    above: Bools = statistics > critical * (1 + _ROUNDING)
    below: Bools = statistics < -critical * (1 + _ROUNDING)
    return above | below.T


def _statistics(sums: Floats, sizes: NDArray[np.intp]) -> Floats:
    """t of run i − run j at [i, j] for i < j, shape (M, M); NaN where they cannot be compared.

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
    """What the largest |t| of the compared pairs exceeds in a share 1 − level of the draws.

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
    """A sign for each problem, a row a draw, in chunks."""
    generator = np.random.default_rng(seed)
    rows = max(1, _CHUNK // max(shape))
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        yield generator.integers(2, size=(count, shape[1])) * 2.0 - 1


def _largest(signs: Floats, sums: Floats, sizes: NDArray[np.intp], compared: Bools) -> Floats:
    """The largest |t| of the compared pairs in each draw, shape (draws,)."""
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
