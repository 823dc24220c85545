"""Runs on the same questions: what a table says of all pairs of them at once, and their ranks.

Sources: Romano and Wolf 2005, Econometrica 73, 1237, on the maximum of resampled statistics; Mogstad, Romano,
Shaikh and Wilhelm 2024, Rev. Econ. Stud. 91, 476, on ranks.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..distributions import student_tail
from ..errors import InputError
from .comparison import Comparison, added_squares
from .design import cluster_sums, clusters_of, squares_between
from .intervals import as_scores, check_level, problems_refusal, quantile, ratio_error

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DRAWS, MOST_DRAWS = 2_000, 200_000
"""Of random signs; the most take a minute or two for tables of many runs."""

LEAST_BEYOND = 20
"""Draws that there are beyond a critical value: its own noise is a small part of what it tells."""

_CHUNK = 32_768
"""Numbers at a time, of signs and of pairs in draws: they stay in the cache of a processor."""

_BLOCK = 32
"""Runs that are compared with all behind them at a time."""

_ROUNDING = 1e-9
"""A t statistic that exceeds another one by a smaller share is equal to it."""


@dataclass(frozen=True)
class AllPairs:
    """All pairs of M runs of one table, right at once at `level`: what its ranks are made of.

    Of run i and run j, at [i, j]: that i is better beyond doubt, that their interval lies above 0, and that
    their p-value is at most 1 − level, are one and the same.
    """

    difference: Floats
    """Of the means, run i − run j; shape (M, M)."""
    error: Floats
    """Standard error of the difference, as `compare` has it; shape (M, M), NaN of a run with itself."""
    p_value: Floats
    """Two-sided, of no difference, adjusted for all pairs; shape (M, M), 1 of a run with itself."""
    run_error: Floats
    """Standard error of the mean of each run, shape (M,)."""
    critical: float
    """What |difference| / error must exceed, for every pair; infinite where nothing is beyond doubt."""
    level: float
    problems: int
    refused: str
    """Why nothing is said of any pair; '' where it is."""

    @cached_property
    def better(self) -> Bools:
        """Return at [i, j] whether run i is better than run j beyond doubt."""
        with np.errstate(invalid='ignore'):
            above: Bools = self.difference > self.critical * self.error
        return above

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Return best and worst rank of each run, from 1, shape (M, 2).

        A run's best rank is one behind all runs that are better beyond doubt, its worst one before all that
        are worse beyond doubt.
        """
        return np.stack([1 + self.better.sum(0), len(self.better) - self.better.sum(1)], axis=1)

    def pair(self, i: int, j: int) -> Comparison:
        """Return run i − run j with interval and p-value that hold for all pairs at once."""
        difference, error = float(self.difference[i, j]), float(self.error[i, j])
        unpaired = float(np.hypot(self.run_error[i], self.run_error[j]))
        half = self.critical * error
        low, high, p_value = difference - half, difference + half, float(self.p_value[i, j])
        if self.refused:
            low = high = p_value = float('nan')
        return Comparison(
            *(difference, error, low, high, p_value, unpaired),
            *(self.level, self.problems, self.refused),
        )


def all_pairs(
    values: ArrayLike,
    problems: Sequence[Hashable] | None = None,
    level: float = 0.95,
    draws: int | None = None,
    seed: int = 0,
) -> AllPairs:
    """Compare M runs with each other, all M·(M − 1)/2 pairs right at once at `level`.

    Two runs differ beyond doubt where the t statistic of `compare` exceeds what the largest one of all pairs
    exceeds in a share 1 − level of `draws` draws, in each of which the runs are swapped on about half of the
    source problems, the same ones for all pairs: the differences of these problems change their sign. That is
    so for the differences as they are, and for what they differ by from their means: the larger of the two
    values counts, of critical values as of p-values. Every
    statistic is divided by the standard error of its own draw, √(J/(J − 1)·(Q − S²/J) + 2)/J where J problems
    have one question each, with S the sum and Q the sum of squares of a pair's differences. It must exceed
    Student's t, too, so that what the table tells apart, a comparison of these two alone does at this level.
    For two runs this is a randomisation test, exact (or stricter) where neither is better and their
    differences are symmetric; the maximum over all pairs keeps the error over the whole table.

    Args:
        values: of M runs on the same Q questions, shape (M, Q), from 0 to 1.
        problems: the source problem of each question; None: each question is its own.
        level: of confidence for the whole table, between 0 and 1.
        draws: of random signs; with fewer than level/(1 − level) nothing is beyond doubt. None: 2,000, and
            more where the level is above 99 %.
        seed: of the signs.

    Returns:
        The pairs, refused with fewer than 20 problems (in effect, by their sizes).

    Raises:
        InputError: values that are no (M, Q), or another number of problems.

    >>> steady, shaky = [1, 1, 1, 0] * 10, [1, 0, 0, 0] * 10
    >>> found = all_pairs([shaky, steady, steady])
    >>> found.ranks.tolist(), found.pair(1, 0).low > 0
    ([[3, 3], [1, 2], [1, 2]], True)
    """
    runs = np.asarray(values, dtype=np.float64)
    check_level(level)
    if runs.ndim != 2 or runs.size == 0:
        raise InputError(f'values: expected a row of questions a run, got shape {runs.shape}')
    cluster = clusters_of(problems, runs.shape[1])
    sums = np.stack([cluster_sums(as_scores(run, problems)[0], cluster) for run in runs])
    table = _Table(sums, np.bincount(cluster))
    return _compared(table, level, _draws_for(level) if draws is None else draws, seed)


def _draws_for(level: float) -> int:
    """Return how many draws tell what is exceeded in a share 1 − level of them.

    Raises:
        InputError: they would take too long.
    """
    least = math.ceil(round(LEAST_BEYOND / (1 - level), 6))
    if least > MOST_DRAWS:
        highest = 1 - LEAST_BEYOND / MOST_DRAWS
        raise InputError(f'level = {level!r}: expected at most {highest:g} for all pairs of a table at once')
    return max(DRAWS, least)


class _Table(NamedTuple):
    """The sums of the values of each run and problem, shape (M, J), and the size of each problem."""

    sums: Floats
    sizes: NDArray[np.intp]


def _compared(table: _Table, level: float, draws: int, seed: int) -> AllPairs:
    count, problems = table.sums.shape
    difference, error = _differences(table)
    run_error = np.array([ratio_error(run, table.sizes)[1] for run in table.sums])
    refused = problems_refusal(table.sizes)
    p_value, critical = np.ones((count, count)), math.inf
    if not refused and count > 1:
        statistics, freedom = np.abs(difference) / error, problems - 1
        # Differences as they are make a test of equal runs exact, but take runs that differ much for more
        # alike than they are; about their own means they make the intervals hold, whatever the differences.
        found = [_largest_of_draws(one, draws, seed) for one in (table, _centred(table))]
        # Nor is told apart what the comparison of two alone leaves open.
        critical = max(*(_critical(one, level) for one in found), quantile(level, freedom)) * (1 + _ROUNDING)
        p_value = np.maximum(*(_adjusted(statistics, one, freedom) for one in found))
    return AllPairs(difference, error, p_value, run_error, critical, level, problems, refused)


def _differences(table: _Table) -> tuple[Floats, Floats]:
    """Return difference and error of run i − run j at [i, j], as `compare` has them."""
    total, added = int(table.sizes.sum()), added_squares(table.sizes)
    means = table.sums.sum(1) / total
    squares = np.full((len(means), len(means)), np.nan)
    residuals = table.sums - means[:, None] * table.sizes
    for i in range(len(means) - 1):
        apart = squares_between(residuals[i] - residuals[i + 1 :])
        squares[i, i + 1 :] = squares[i + 1 :, i] = added + apart
    return means[:, None] - means, np.sqrt(squares) / total


def _critical(largest: Floats, level: float) -> float:
    """Return what the largest |t| of all pairs exceeds in a share 1 − level of the draws.

    The data themselves count as one more draw, so the share holds for any number of draws.

    Args:
        largest: of each draw, in ascending order.
    """
    place = math.ceil(round((largest.size + 1) * level, 9))
    return math.inf if place > largest.size else float(largest[place - 1])


def _adjusted(statistics: Floats, largest: Floats, freedom: int) -> Floats:
    """Return the p-value of each |t|: that of all pairs at once, and not below that of the pair alone."""
    beyond = largest.size - np.searchsorted(largest * (1 + _ROUNDING), np.nan_to_num(statistics))
    alone = 2 * student_tail(np.nan_to_num(statistics), freedom)
    return np.asarray(np.maximum((beyond + 1) / (largest.size + 1), alone))


def _largest_of_draws(table: _Table, draws: int, seed: int) -> Floats:
    """Return the largest |t| of all pairs in each draw, in ascending order."""
    law = _law(table)
    found = [_largest(signs, table, law) for signs in _signs(table.sums.shape, draws, seed)]
    return np.sort(np.concatenate([np.empty(0), *found]))


def _centred(table: _Table) -> _Table:
    """Return a table of runs that are equally good: each as it is about its own mean."""
    means = table.sums.sum(1) / int(table.sizes.sum())
    return table._replace(sums=table.sums - means[:, None] * table.sizes)


def _signs(shape: tuple[int, ...], draws: int, seed: int) -> Iterator[Floats]:
    """Return a sign for each problem, a row a draw, in chunks."""
    generator = np.random.default_rng(seed)
    rows = max(1, _CHUNK // max(shape))
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        yield generator.integers(2, size=(count, shape[1])) * 2.0 - 1


class _Law(NamedTuple):
    """The t² of run i and run j in a draw, s² / (base − v'Kv), v what their vectors differ by.

    The vector of a run holds Σ±sum and Σ±sum·size; s is the first of v.
    """

    base: Floats
    """What no sign changes: the added squares, and J/(J − 1)·Σ(x_i − x_j)²; shape (M, M)."""
    form: Floats
    """K: what the squares about the mean lack of those about zero; shape (2, 2)."""


def _law(table: _Table) -> _Law:
    sums, sizes, total = table.sums, table.sizes.astype(np.float64), int(table.sizes.sum())
    factor = sizes.size / (sizes.size - 1)
    base = np.stack([added_squares(table.sizes) + factor * ((run - sums) ** 2).sum(1) for run in sums])
    # Σ(±x − mean·size)², mean = Σ±x/total, is Σx² − 2·mean·Σ±x·size + mean²·Σsize².
    form = factor * np.array([[-float(sizes @ sizes) / total**2, 1 / total], [1 / total, 0.0]])
    return _Law(base, form)


def _vectors(signs: Floats, table: _Table) -> Floats:
    """Return Σ±sum and Σ±sum·size of each run in each draw, shape (draws, M, 2)."""
    return np.stack([signs @ of.T for of in (table.sums, table.sums * table.sizes)], axis=-1)


def _largest(signs: Floats, table: _Table, law: _Law) -> Floats:
    """Return the largest |t| of all pairs in each draw, shape (draws,)."""
    count, vectors = len(table.sums), _vectors(signs, table)
    sums_of = vectors[..., 0]
    half = vectors @ law.form
    own = (half * vectors).sum(-1, keepdims=True)
    one = np.ones_like(own)
    # So that a product of two is −(v_i − v_j)'K(v_i − v_j).
    left, right = np.concatenate([2 * half, -own, -one], -1), np.concatenate([vectors, one, own], -1)
    largest = np.zeros(len(signs))
    for start in range(0, count, _BLOCK):  # a pair is looked at once, but for those within a block
        rows, least = slice(start, start + _BLOCK), law.base[0, 0]
        draws = max(1, _CHUNK // (_BLOCK * (count - start)))  # what stays in a processor's cache
        for first in range(0, len(signs), draws):
            some = slice(first, first + draws)
            squares = left[some, rows] @ right[some, start:].swapaxes(1, 2)
            squares += law.base[rows, start:]
            np.maximum(squares, least, out=squares)  # rounding: no square is below 0
            apart = sums_of[some, rows, None] - sums_of[some, None, start:]
            np.multiply(apart, apart, out=apart)
            apart /= squares
            np.maximum(largest[some], apart.max((1, 2)), out=largest[some])
    return np.asarray(np.sqrt(largest))
