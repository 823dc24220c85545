"""Source problems: which questions are of one, how many each has, and sums over them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

Floats = NDArray[np.float64]


class Design(NamedTuple):
    """What all means over the same questions have in common."""

    cluster: NDArray[np.intp]
    """The number of the source problem of each question, from 0."""
    sizes: NDArray[np.intp]
    """Questions of each problem."""


def design_of(problems: Sequence[Hashable]) -> Design:
    """Return the design of questions with these source problems."""
    cluster = cluster_numbers(problems)
    return Design(cluster, np.bincount(cluster))


def clusters_of(problems: Sequence[Hashable] | None, questions: int) -> NDArray[np.intp]:
    """Return the number of each question's source problem; without problems each question is its own.

    Raises:
        InputError: there is not one problem a question.
    """
    if problems is None:
        return np.arange(questions)
    if len(problems) != questions:
        raise InputError(f'{len(problems)} problems for {questions} questions: give one a question')
    return cluster_numbers(problems)


def cluster_numbers(problems: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return 0, 1, … for the different problems in the order of their first question."""
    numbers = {problem: number for number, problem in enumerate(dict.fromkeys(problems))}
    return np.array([numbers[problem] for problem in problems], dtype=np.intp)


def cluster_sums(values: Floats, cluster: NDArray[np.intp]) -> Floats:
    """Return the sum of the values of each cluster, shape (…, J), of values of shape (…, Q)."""
    rows, count = values.reshape(-1, cluster.size), int(cluster.max()) + 1
    places = cluster + count * np.arange(len(rows))[:, None]
    sums = np.bincount(places.ravel(), rows.ravel(), count * len(rows)).astype(np.float64)
    return sums.reshape(*values.shape[:-1], count)


def squares_between(residuals: Floats) -> Floats:
    """Return J/(J − 1)·Σr² of the residuals of J problems, shape (…, J); NaN where there is one problem."""
    count = residuals.shape[-1]
    factor = count / (count - 1) if count > 1 else math.nan
    return np.asarray(factor * (residuals**2).sum(-1))
