"""Two runs on the same questions: the difference, its interval, and whether it is there at all."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..errors import InputError
from .intervals import (
    FEWEST_EFFECTIVE,
    as_values,
    check_level,
    cluster_sums,
    effective_number,
    problems_refusal,
    quantile,
    ratio_error,
    spread_refusal,
)


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
