"""What metrics accept as n, c, k and τ, and what they say of anything else."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

LARGEST_N = 1_000_000
"""The largest n for which the tables were checked (absolute error below 1e-12)."""


def _integer(name: str, value: object) -> int:
    if isinstance(value, (float, np.floating)) and not float(value).is_integer():
        raise InputError(f'{name} must be a whole number, got {value}')
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f'{name} must be an integer, got {value!r} ({type(value).__name__})')
    return int(value)


def as_whole(name: str, value: object, lowest: int, highest: int, meaning: str = '') -> int:
    """Return a whole number from lowest to highest."""
    number = _integer(name, value)
    if not lowest <= number <= highest:
        raise InputError(f'{name} must be from {lowest} to {meaning}{highest}, got {number}')
    return number


def as_sizes(n: object, k: object) -> tuple[int, int]:
    """Return n and k, 1 ≤ k ≤ n."""
    size = as_whole('n', n, 1, LARGEST_N)
    return size, as_whole('k', k, 1, size, meaning='n = ')


def as_counts(c: object, n: int) -> NDArray[Any]:
    """Return an integer array with 0 ≤ c ≤ n; of no dimension for a single count."""
    if np.isscalar(c):
        return np.asarray(as_whole('c', c, 0, n, meaning='n = '))
    array = np.asarray(c)
    if array.size == 0:
        return array.astype(np.intp)  # numpy takes an empty list for floats
    if array.dtype.kind == 'f':
        fractional = array[~np.isfinite(array) | (array != np.floor(array))]
        _integer('c', (fractional if fractional.size else array).flat[0].item())
    if array.dtype.kind not in 'iu':
        raise TypeError(f'c must hold integers, got {type(c).__name__} of {array.dtype}')
    for extreme in (array.min(), array.max()):
        as_whole('c', extreme, 0, n, meaning='n = ')
    return array


def as_threshold(threshold: object) -> float:
    """Return τ, from 0 to 1, as its decimal text says."""
    if isinstance(threshold, bool) or not isinstance(threshold, Real):
        raise TypeError(f'a threshold must be a number, got {threshold!r} ({type(threshold).__name__})')
    # By way of its decimal text, numpy.float32(0.28) is 0.28 and not 0.2800000011920929.
    value = float(str(threshold)) if isinstance(threshold, np.floating) else float(threshold)
    if not 0 <= value <= 1:
        raise InputError(f'a threshold must be from 0 to 1, got {threshold}')
    return value


def as_list(values: object) -> list[Any]:
    """Return one value or several as a list."""
    return list(values) if isinstance(values, Iterable) else [values]
