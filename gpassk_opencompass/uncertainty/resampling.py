"""The cluster bootstrap: means of questions drawn again, whole source problems at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .intervals import cluster_sums, clusters_of

Floats = NDArray[np.float64]

_CHUNK = 4_000_000
"""Drawn problems at a time, which bounds the memory."""


def bootstrap_means(
    values: ArrayLike,
    problems: Sequence[Hashable] | None = None,
    replicates: int = 10_000,
    seed: int = 0,
) -> Floats:
    """Means of `replicates` resamples of the source problems.

    Args:
        values: of one run, shape (Q,), or of M runs on the same questions, shape (M, Q).
        problems: the source problem of each question; None: each question is its own.
        replicates: how many resamples.
        seed: the same seed gives the same resamples.

    Returns:
        Shape (replicates,) or (replicates, M); runs share their resamples, so that differences are paired.

    Raises:
        InputError: no values, or another number of problems.
    """
    array = np.asarray(values, dtype=np.float64)
    runs = np.atleast_2d(array)
    if runs.ndim != 2 or runs.size == 0 or replicates < 1:
        raise InputError(f'values of shape {array.shape}, {replicates} replicates: expected (M, Q) and ≥ 1')
    cluster = clusters_of(problems, runs.shape[1])
    sums = np.stack([cluster_sums(run, cluster) for run in runs], axis=1)
    sizes = np.bincount(cluster)
    means = [(drawn @ sums) / (drawn @ sizes)[:, None] for drawn in _resamples(sizes.size, replicates, seed)]
    together = np.concatenate(means)
    return together[:, 0] if array.ndim == 1 else together


def _resamples(problems: int, replicates: int, seed: int) -> Iterator[Floats]:
    """How often each problem was drawn, a row a resample, in chunks."""
    generator = np.random.default_rng(seed)
    rows = max(1, _CHUNK // problems)
    for start in range(0, replicates, rows):
        count = min(rows, replicates - start)
        drawn = generator.integers(problems, size=(count, problems))
        drawn += np.arange(count)[:, None] * problems
        yield np.bincount(drawn.ravel(), minlength=count * problems).reshape(count, problems).astype(float)
