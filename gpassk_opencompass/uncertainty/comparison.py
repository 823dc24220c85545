"""Two runs on the same questions: their difference with its interval, of these two alone.

Source of the two problems that are added: Bonett and Price 2012, J. Educ. Behav. Stat. 37, 479, after Agresti
and Min 2005, Stat. Med. 24, 729, on paired proportions; here for differences of any size, with Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..distributions import student_tail
from ..errors import InputError
from .design import cluster_sums, squares_between
from .intervals import as_scores, check_level, problems_refusal, quantile, ratio_error

Floats = NDArray[np.float64]

ADDED_PROBLEMS = 2.0
"""Problems on which one run is right throughout and the other wrong, half of them each way, that are added.

The error of a difference then says something of rare collapses that were not drawn: with none seen among J
problems its interval still reaches to t·√2/J, about 2.8/J, where the rule of three has 3/J.
"""


@dataclass(frozen=True)
class Comparison:
    """first − second on the same questions. Where `refused` says why, interval and p-value are NaN."""

    difference: float
    error: float
    """Standard error, with the problems that are added; see `ADDED_PROBLEMS`."""
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
    """Compare two runs question by question, for new questions of the same kind.

    Questions that are hard for one model are hard for another: the differences vary less than the scores,
    and the interval is narrower than that of two separate runs. Differences are clustered by source
    problem, with Student's t with (problems − 1) degrees of freedom. To the sum of squared residuals
    two problems of the usual size are added, one on which the difference is +1 and one with −1, so that runs
    which agree nearly everywhere are not taken to agree on all that was not drawn.

    Args:
        first, second: a value a question, from 0 to 1, in the same order of questions.
        problems: the source problem of each question; None: each question is its own.
        level: of confidence, between 0 and 1.

    Returns:
        The comparison, refused with fewer than 20 problems (in effect, by their sizes).

    Raises:
        InputError: not one value a question in both, or one outside [0, 1].

    >>> result = compare([1, 1, 0, 1] * 10, [1, 0, 0, 0] * 10)
    >>> result.difference, result.p_value < 0.001, result.error < result.unpaired_error
    (0.5, True, True)
    """
    a, cluster = as_scores(first, problems)
    b, _ = as_scores(second, problems)
    check_level(level)
    if a.size != b.size:
        raise InputError(f'{a.size} values against {b.size}: a comparison needs the same questions in both')
    sizes = np.bincount(cluster)
    first_error, second_error = (ratio_error(cluster_sums(values, cluster), sizes)[1] for values in (a, b))
    difference, error = difference_error(cluster_sums(a - b, cluster), sizes)
    unpaired = float(np.hypot(first_error, second_error))
    if refused := problems_refusal(sizes):
        nan = float('nan')
        return Comparison(difference, error, nan, nan, nan, unpaired, level, sizes.size, refused)
    freedom = sizes.size - 1
    half = quantile(level, freedom) * error
    p_value = 2 * float(student_tail(abs(difference) / error, freedom))
    low, high = difference - half, difference + half
    return Comparison(difference, error, low, high, p_value, unpaired, level, sizes.size)


def difference_error(sums: Floats, sizes: NDArray[np.intp]) -> tuple[float, float]:
    """Return the mean difference over all questions and its error, with the added problems."""
    total = int(sizes.sum())
    difference = float(sums.sum()) / total
    squares = float(squares_between(sums - difference * sizes))
    return difference, math.sqrt(squares + added_squares(sizes)) / total


def added_squares(sizes: NDArray[np.intp]) -> float:
    """Return the squares of the added problems, each as large as problems are in the root mean square."""
    return ADDED_PROBLEMS * float(sizes @ sizes) / sizes.size
