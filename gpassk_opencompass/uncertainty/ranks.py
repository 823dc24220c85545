"""Which ranks of a table the data allow, with all pairs of runs looked at at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

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


def rank_intervals(
    values: ArrayLike,
    problems: Sequence[Hashable] | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> NDArray[np.int64]:
    """The best and the worst rank that each of M runs may have, all of them right at once at `level`.

    A run's best rank is one behind all runs that are better beyond doubt, its worst one before all that
    are worse beyond doubt. Two runs differ beyond doubt where their paired, clustered t statistic exceeds
    what the largest one of all M·(M − 1)/2 pairs exceeds in a share 1 − level of `draws` draws in which
    the sign of each source problem's deviation is flipped at random (the maximum keeps the error over the
    whole table; for ranks see Mogstad, Romano, Shaikh and Wilhelm 2024).

    Args:
        values: of M runs on the same Q questions, shape (M, Q).
        problems: the source problem of each question; None: each question is its own.
        level: of confidence for the whole table, between 0 and 1.
        draws, seed: of the random signs.

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


def _better(sums: Floats, sizes: NDArray[np.intp], level: float, draws: int, seed: int) -> NDArray[np.bool_]:
    """better[i, j]: run i is better than run j beyond doubt."""
    runs = len(sums)
    better = np.zeros((runs, runs), dtype=bool)
    i, j = np.triu_indices(runs, 1)
    if problems_refusal(sizes) or not i.size:
        return better
    means = sums.sum(1) / sizes.sum()
    deviations = _deviations(sums, means, sizes)
    errors = _errors(deviations, i, j) / sizes.sum()
    differences = means[i] - means[j]
    enough = _enough_differ(sums, i, j) & (errors > LEAST_ERROR)
    if not enough.any():
        return better
    i, j, errors, differences = i[enough], j[enough], errors[enough], differences[enough]
    critical = _critical(deviations, (i, j), errors * sizes.sum(), level, draws, seed)
    beyond = np.abs(differences) / errors > critical
    better[i[beyond & (differences > 0)], j[beyond & (differences > 0)]] = True
    better[j[beyond & (differences < 0)], i[beyond & (differences < 0)]] = True
    return better


def _deviations(sums: Floats, means: Floats, sizes: NDArray[np.intp]) -> Floats:
    return sums - means[:, None] * sizes


def _errors(deviations: Floats, i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
    """√(J/(J − 1)·Σ(x − y)²) of each pair; pair by pair, since products of sums would cancel badly."""
    count = deviations.shape[1]
    norms = [np.linalg.norm(deviations[a] - deviations[b]) for a, b in zip(i, j, strict=True)]
    return np.asarray(np.array(norms) * np.sqrt(count / (count - 1)))


def _enough_differ(sums: Floats, i: NDArray[np.intp], j: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Pairs that differ on enough problems, in effect."""
    differing = [effective_number(np.abs(sums[a] - sums[b])) for a, b in zip(i, j, strict=True)]
    return np.array(differing) >= FEWEST_EFFECTIVE


def _critical(
    deviations: Floats,
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]],
    scales: Floats,
    level: float,
    draws: int,
    seed: int,
) -> float:
    """The quantile of the largest |t| of all pairs under random signs."""
    generator = np.random.default_rng(seed)
    largest = np.empty(draws)
    for draw in range(draws):
        flipped = deviations @ generator.choice((-1.0, 1.0), size=deviations.shape[1])
        largest[draw] = np.max(np.abs(flipped[pairs[0]] - flipped[pairs[1]]) / scales)
    return float(np.quantile(largest, level, method='higher'))
