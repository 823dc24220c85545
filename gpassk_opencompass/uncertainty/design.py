"""What all means over the same questions have in common: source problems, their sizes, and their strata."""

from __future__ import annotations

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
    stratum: NDArray[np.intp] | None = None
    """0, 1, … of each problem, as `strata_of_clusters` has them; None: there are none."""


def design_of(problems: Sequence[Hashable], strata: Sequence[Hashable] | None = None) -> Design:
    """Return the design of questions with these source problems and strata; errors as in `mean_interval`."""
    cluster = cluster_numbers(problems)
    stratum = None if strata is None else strata_of_clusters(strata, cluster)
    return Design(cluster, np.bincount(cluster), stratum)


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


def strata_of_clusters(strata: Sequence[Hashable] | None, cluster: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return 0, 1, … for the stratum of each problem; all 0 without strata.

    A stratum of one problem says nothing of how problems differ. All such strata are one together; where
    that, too, has one problem, it goes to the smallest of the others (of equal ones to the first).

    Args:
        strata: of each question; None: all are of one.
        cluster: the number of the source problem of each question.

    Raises:
        InputError: there is not one stratum a question, or a problem has questions of two.

    >>> strata_of_clusters(['CNMO', 'CNMO', 'WLPMC', 'AMC', 'AMC', 'AMC'], np.arange(6)).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if strata is None:
        return np.zeros(int(cluster.max()) + 1, dtype=np.intp)
    if len(strata) != cluster.size:
        raise InputError(f'{len(strata)} strata for {cluster.size} questions: give one a question')
    named = cluster_numbers(strata)
    found = np.empty(int(cluster.max()) + 1, dtype=np.intp)
    found[cluster] = named
    if (wrong := np.flatnonzero(found[cluster] != named)).size:
        place = int(wrong[0])
        other = next(i for i in np.flatnonzero(cluster == cluster[place]) if strata[i] != strata[place])
        raise InputError(
            f'one problem has questions in two strata, {strata[place]!r} and {strata[other]!r}: give all '
            'translations of a problem one stratum, e.g. the set of the contests in which it stands'
        )
    return _merged(found)


def _merged(stratum: NDArray[np.intp]) -> NDArray[np.intp]:
    sizes = np.bincount(stratum)
    alone = np.flatnonzero(sizes == 1)
    target = alone
    if alone.size == 1 and sizes.size > 1:
        target = np.array([min(np.flatnonzero(sizes > 1), key=lambda one: (sizes[one], one))])
    merged = np.where(np.isin(stratum, alone), target[:1] if alone.size else 0, stratum)
    return cluster_numbers(merged.tolist())


def residuals_within(residuals: Floats, stratum: NDArray[np.intp]) -> Floats:
    """Return how far the residual of each problem is from the mean of its stratum, shape (…, J)."""
    means = _sums_within(residuals, stratum) / np.bincount(stratum)
    return np.asarray(residuals - means[..., stratum])


def squares_within(within: Floats, stratum: NDArray[np.intp]) -> Floats:
    """Return Σ over strata of J/(J − 1)·Σr², r the residuals of its J problems; NaN where a stratum has one.

    Args:
        within: what `residuals_within` returns, shape (…, J); the result has shape (…).
    """
    return np.asarray(_sums_within(within**2, stratum) @ _factors(stratum))


def squares_of_rows(within: Floats, stratum: NDArray[np.intp]) -> Floats:
    """Return `squares_within` of each row, shape (M,), to the last digit as of a row alone."""
    return dots(_sums_within(within**2, stratum), _factors(stratum))


def dots(first: Floats, second: Floats) -> Floats:
    """Return the product of each two rows, shape (M,): summed as `row @ row` is, however many rows there are.

    >>> dots(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([10.0, 1.0]))
    array([12., 34.])
    """
    products: Floats = np.matmul(first[:, None, :], second[..., :, None])[:, 0, 0]
    return products


def _factors(stratum: NDArray[np.intp]) -> Floats:
    sizes = np.bincount(stratum).astype(np.float64)
    return np.divide(sizes, sizes - 1, out=np.full_like(sizes, np.nan), where=sizes > 1)


def _sums_within(values: Floats, stratum: NDArray[np.intp]) -> Floats:
    """Return the sum of each stratum, shape (…, strata)."""
    order = np.argsort(stratum, kind='stable')
    starts = np.searchsorted(stratum[order], np.arange(int(stratum.max()) + 1))
    return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1))
