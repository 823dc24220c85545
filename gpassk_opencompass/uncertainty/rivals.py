"""Two runs on the same questions: how alike they are, and how much their difference varies.

Source: correlation freed of the noise of measuring, Spearman 1904, Am. J. Psychol. 15, 72.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..metrics import Metric
from .design import cluster_sums, clusters_of
from .intervals import FEWEST_PROBLEMS
from .planning import Population

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rival:
    """The run that a planned one will be compared with, on the same questions.

    Args:
        population: how hard its questions are.
        likeness: correlation between the true values of the two runs over the problems, from 0 to 1.
        n: its samples a question; None: as many as the planned run will have.

    Raises:
        InputError: a number out of range.
    """

    population: Population
    likeness: float
    n: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.likeness <= 1:
            raise InputError(f'likeness = {self.likeness}: expected a correlation from 0 to 1')


def difference_variance(population: Population, rival: Rival, metric: Metric, n: int) -> float:
    """Return the variance of a source problem's difference of the two runs' scores."""
    other = rival.population
    own, its = population.variance(metric, n), other.variance(metric, rival.n or n)
    true = population.true_variance(metric) * other.true_variance(metric)
    return max(own + its - 2 * rival.likeness * math.sqrt(true), 0.0)


def likeness_of(
    first: ArrayLike,
    second: ArrayLike,
    noise: tuple[float, float],
    problems: Sequence[Hashable] | None = None,
) -> tuple[float, float]:
    """Return the correlation between the true values of two runs over the problems, and its standard error.

    The samples of two runs are independent given the question, so the covariance of the observed values is
    that of the true ones; of the variances the noise of sampling is taken away.

    Args:
        first, second: a value a question, in the same order of questions.
        noise: the variance within questions of each run's values, on average over the questions.
        problems: the source problem of each question; None: each question is its own.

    Returns:
        The correlation, cut to 0 … 1, and its jackknife error over the problems.

    Raises:
        InputError: fewer than 20 problems, or a run whose questions differ by no more than the noise.
    """
    cluster = clusters_of(problems, np.size(first))
    sizes = np.bincount(cluster)
    if sizes.size < FEWEST_PROBLEMS:
        raise InputError(f'{sizes.size} problems are too few to tell the likeness of two runs from')
    means = np.stack(
        [cluster_sums(np.asarray(one, dtype=np.float64), cluster) / sizes for one in (first, second)]
    )
    shares = np.array(noise)[:, None] / sizes
    residuals = means - means.mean(1, keepdims=True)
    squares = np.stack([residuals[0] ** 2, residuals[1] ** 2, residuals[0] * residuals[1]])
    count = sizes.size
    [found] = _freed(squares.sum(1)[:, None] / (count - 1), shares.mean(1)[:, None])
    if math.isnan(found):
        raise InputError('the questions of a run differ by no more than the noise of sampling')
    left = squares.sum(1)[:, None] - squares * count / (count - 1)  # without one problem each
    without = _freed(left / (count - 2), (shares.sum(1)[:, None] - shares) / (count - 1))
    return min(max(float(found), 0.0), 1.0), float(np.sqrt(np.nanvar(without) * (count - 1)))


def _freed(moments: Floats, noise: Floats) -> Floats:
    """Return correlations from two variances and a covariance, shape (3, J), without the noise, (2, J).

    NaN where a variance is not above its noise.
    """
    own, its = np.maximum(moments[:2] - noise, 0.0)
    with np.errstate(divide='ignore', invalid='ignore'):
        found = moments[2] / np.sqrt(own * its)
    return np.where(np.isfinite(found), found, np.nan)
