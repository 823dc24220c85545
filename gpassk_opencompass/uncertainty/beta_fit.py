"""The Beta distribution of questions' chances that makes their counts most likely."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LOGS = (math.log(1e-3), math.log(1e3))
"""Bounds of log a and of log b."""

_MOST_STEPS = 200
"""Counts of real runs take about seven."""

_FARTHEST = 2.0
"""Of a step, in logarithms: curvature says little of what is farther off."""

_CLOSE = 1e-8
"""A step up to this leaves an error of its square."""

_FLAT = 1e-9
"""A curvature below this share of the largest one is rounding: all answers are single ones, say."""

_ROUNDING = 1e-13
"""Of a mean log-likelihood, as a share of it."""


def fitted_beta(questions: Floats | NDArray[np.intp]) -> tuple[float, float]:
    """Return a and b of the Beta distribution that makes the counts most likely.

    Both are from 0.001 to 1,000.

    Args:
        questions: how many have c = 0 … n of n correct, shape (n + 1,), of at least two different counts.

    >>> a, b = fitted_beta(np.array([0, 10, 30, 10, 0]))  # more alike than chance would have them
    >>> a > 100, round(a / b, 2)
    (True, 1.0)
    """
    return _fitted(tuple(np.asarray(questions, dtype=np.float64).tolist()))


@lru_cache(maxsize=1024)
def _fitted(questions: tuple[float, ...]) -> tuple[float, float]:
    """Return what `fitted_beta` does: Newton's method for log a and log b, which stay within the bounds."""
    counts = _Counts(np.array(questions))
    here = counts.at((0.0, 0.0))
    for _ in range(_MOST_STEPS):
        step = here.step()
        size = max(map(abs, step))
        here = _downhill(counts, here, step, min(1.0, _FARTHEST / size) if size else 1.0)
        if size <= _CLOSE:
            break
    a, b = map(math.exp, here.logs)
    return a, b


class _Place(NamedTuple):
    """How unlikely counts are under one Beta distribution, and how that changes with log a and log b."""

    logs: tuple[float, float]
    loss: float
    """−log P[c], the mean over the questions, but for what a and b do not change."""
    gradient: tuple[float, float]
    curvature: tuple[float, float, float]
    """Second derivatives by log a, by log b, and by both."""

    def step(self) -> tuple[float, float]:
        """Return the step to the least loss that does not leave the bounds."""
        free = [not _leaves(log, -slope) for log, slope in zip(self.logs, self.gradient, strict=True)]
        step = self._newton(free)
        kept = [not _leaves(log, part) for log, part in zip(self.logs, step, strict=True)]
        return (
            step
            if all(kept)
            else self._newton([one and other for one, other in zip(free, kept, strict=True)])
        )

    def _newton(self, free: Sequence[bool]) -> tuple[float, float]:
        """Return Newton's step of what is free; where the loss curves down it is downhill all the same."""
        first, second = (slope if one else 0.0 for slope, one in zip(self.gradient, free, strict=True))
        bend_a, bend_b, crossed = self.curvature
        if not all(free):
            bend_a, bend_b, crossed = bend_a if free[0] else bend_b, bend_b if free[1] else bend_a, 0.0
        # With the eigenvalues of the curvature made positive, its inverse is some identity + some curvature.
        centre, radius = (bend_a + bend_b) / 2, math.hypot((bend_a - bend_b) / 2, crossed)
        flat = _FLAT * (abs(centre) + radius)
        least, most = (1 / max(abs(bend), flat) for bend in (centre - radius, centre + radius))
        linear = (most - least) / (2 * radius) if radius > flat else 0.0
        constant = most - linear * (centre + radius)
        return (
            -constant * first - linear * (bend_a * first + crossed * second),
            -constant * second - linear * (crossed * first + bend_b * second),
        )


class _Counts:
    """Counts, of which P[c] ∝ Γ(a + c)/Γ(a)·Γ(b + n − c)/Γ(b)·Γ(a + b)/Γ(a + b + n) is asked.

    Each quotient is a product of a + j, b + j or 1/(a + b + j), so that plain sums over j take the place of
    special functions, and lose no digit where a and b are large.
    """

    def __init__(self, questions: Floats) -> None:
        shares = questions / questions.sum()
        right, wrong = np.cumsum(shares[::-1])[-2::-1], np.cumsum(shares)[-2::-1]  # with c > j, n − c > j
        self._weights: Floats = np.stack([right, wrong, np.full(right.size, -1.0)])
        self._j = np.arange(right.size)

    def at(self, logs: tuple[float, float]) -> _Place:
        """Return how unlikely the counts are with these logarithms of a and b."""
        a, b = map(math.exp, logs)
        terms = np.array([[a], [b], [a + b]]) + self._j
        likely = float((self._weights * np.log(terms)).sum())
        parts = self._weights / terms
        right, wrong, both = parts.sum(1).tolist()
        right_bend, wrong_bend, both_bend = (parts / terms).sum(1).tolist()
        gradient = -a * (right + both), -b * (wrong + both)
        bends = a * a * (right_bend + both_bend), b * b * (wrong_bend + both_bend), a * b * both_bend
        return _Place(logs, -likely, gradient, (bends[0] + gradient[0], bends[1] + gradient[1], bends[2]))


def _leaves(log: float, step: float) -> bool:
    low, high = _LOGS
    return (log <= low and step < 0) or (log >= high and step > 0)


def _downhill(counts: _Counts, here: _Place, step: tuple[float, float], share: float) -> _Place:
    """Return the place behind a share of a step, a smaller one where the loss would rise."""
    allowed = here.loss + _ROUNDING * (1 + abs(here.loss))
    while True:
        first, second = (
            min(max(log + share * part, _LOGS[0]), _LOGS[1])
            for log, part in zip(here.logs, step, strict=True)
        )
        found = counts.at((first, second))
        if not found.loss > allowed or share * max(map(abs, step)) <= _CLOSE:  # also of what is no number
            return found
        share /= 2
