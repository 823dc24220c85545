"""Chain-of-Embedding: how the mean hidden state of a response moves from layer to layer.

Source: Wang, Zhang, Yang, Wong and Wang 2024, arXiv 2410.13640.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

Floats = NDArray[np.float64]


class Chain(NamedTuple):
    """What is said of the chain h₀, …, h_L of a response; NaN where h_L is h₀ or points the same way."""

    magnitude: float
    """Mean over the steps of ‖h_{l+1} − h_l‖ / ‖h_L − h₀‖; at least 1/L."""
    angle: float
    """Mean over the steps of the angle between h_l and h_{l+1}, over the one between h₀ and h_L."""
    coe_r: float
    """`magnitude` − `angle`."""
    coe_c: float
    """|mean over the steps of M_l·e^{iA_l}|, of the terms M_l and A_l whose means are the first two."""


def chain_of(states: ArrayLike) -> Chain:
    """Return the Chain-of-Embedding of one response.

    Args:
        states: h₀, …, h_L, the mean hidden state of the output tokens behind the embedding and behind each of
            the L layers, shape (L + 1, d).

    Raises:
        InputError: fewer than two states.

    >>> tuple(round(value, 4) for value in chain_of([[1, 0], [1, 1], [0, 1]]))
    (0.7071, 0.5, 0.2071, 0.7071)
    """
    chain = np.asarray(states, dtype=np.float64)
    if chain.ndim != 2 or len(chain) < 2:
        raise InputError(f'states of shape {chain.shape}: expected (L + 1, d) of at least one layer')
    before, after = chain[:-1], chain[1:]
    with np.errstate(divide='ignore', invalid='ignore'):
        lengths = np.linalg.norm(after - before, axis=1) / np.linalg.norm(chain[-1] - chain[0])
        angles = _angles(before, after) / _angles(chain[:1], chain[-1:])
        turned = lengths * np.exp(1j * angles)
        magnitude, angle = lengths.mean(), angles.mean()
        values = np.array([magnitude, angle, magnitude - angle, abs(turned.mean())])
    return Chain(*np.where(np.isfinite(values), values, np.nan).tolist())


def _angles(one: Floats, other: Floats) -> Floats:
    """Return the angle between each two rows, from 0 to π; rounding may give a cosine a little above 1."""
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    angles: Floats = np.arccos(np.clip((one * other).sum(axis=1) / norms, -1.0, 1.0))
    return angles
