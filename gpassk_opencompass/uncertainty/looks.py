"""Several looks at one run: their joint law, and the critical values at which all of them hold at once.

Sources: Lan and DeMets 1983, Biometrika 70, 659 (spending the error over looks); Jennison and Turnbull 2000,
Group Sequential Methods, chapter 11 (joint law of the looks); Genz 1992, JCGS 1, 141 (the integral).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..distributions import chi_square_quantile
from .intervals import LEAST_ERROR

Floats = NDArray[np.float64]

RESERVE = 0.1
"""Of the error, what all looks share evenly where a half-width is the goal; the look that reaches it has the
rest."""

_POINTS = 4093
"""Of the lattice: critical values are good to about 0.01, with up to ten looks at 95 %."""

_LEAST_SPREAD = 1e-6
"""Standard deviation that a look has at least, given the earlier ones: two looks may be identical."""

_SMALLEST = 1e-300


def first_heavy(looks: int, error: float, share: float) -> Floats:
    """Return what each look spends of the error: `share` of it the first, the others the rest, evenly.

    >>> first_heavy(3, 0.05, 0.6).round(3)
    array([0.03, 0.01, 0.01])
    """
    if looks == 1:
        return np.array([error])
    return error * np.array([share, *[(1 - share) / (looks - 1)] * (looks - 1)])


def correlation_of(residuals: Floats) -> Floats:
    """Return the correlation of the looks' means, shape (L, L), from the residuals of J problems, (L, J).

    A look without spread correlates with none: its interval is refused, and what it spends is lost.
    """
    norms = np.linalg.norm(residuals, axis=1)
    spread = norms > LEAST_ERROR
    scaled = residuals / np.where(spread, norms, 1.0)[:, None] * spread[:, None]
    found = scaled @ scaled.T
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def canonical_correlation(errors: Floats) -> Floats:
    """Return the correlation of looks with such standard errors, where a later one is a mean of earlier ones.

    Then Cov(earlier, later) = Var(later), and Corr = later error / earlier error. An error that seems to
    rise is taken to stay, as it cannot rise.

    >>> canonical_correlation(np.array([0.2, 0.1]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    falling = np.maximum(np.minimum.accumulate(errors), LEAST_ERROR)
    return np.asarray(np.minimum.outer(falling, falling) / np.maximum.outer(falling, falling))


def critical_values(correlation: Floats, spent: Floats, freedom: float = np.inf) -> Floats:
    """Return c₁ … c_L with P[|T₁| ≤ c₁, …, |T_(l−1)| ≤ c_(l−1), |T_l| > c_l] = spent_l for each l.

    T is multivariate t with this correlation; with infinite freedom it is normal.

    Args:
        correlation: of the looks, shape (L, L), positive semidefinite.
        spent: the probability of each look, above 0, together below 1.

    >>> critical_values(np.eye(2), np.array([0.025, 0.024375])).round(2)
    array([2.24, 2.24])
    """
    walk = _Walk(correlation, freedom)
    return np.array([walk.take(walk.critical(share)) for share in spent.tolist()])


def critical_values_to_goal(
    correlation: Floats,
    looks: int,
    error: float,
    reaches: Callable[[int, float], bool],
    freedom: float = np.inf,
) -> Floats:
    """Return c₁ … c_L where nearly all of the error is kept for the look that can reach a goal with it.

    A look spends RESERVE/looks of the error. The first one that reaches the goal if it spends all but what
    the later ones have of the reserve does so; else the last one that is planned does. What is spent may
    depend on the errors and the correlation of the looks so far, never on their estimates.

    Args:
        correlation: of the looks so far, shape (L, L).
        looks: planned in all.
        error: 1 − level.
        reaches: whether look number l, from 0, reaches the goal with this critical value.
        freedom: as in `critical_values`.

    >>> critical_values_to_goal(np.eye(2), 2, 0.05, lambda look, value: look == 1).round(1)
    array([3., 2.])
    """
    walk, reserve, kept, found = _Walk(correlation, freedom), RESERVE / looks * error, True, []
    for look in range(len(correlation)):
        if kept:
            lowest = walk.critical(reserve + (1 - RESERVE) * error)
            kept = look < looks - 1 and not reaches(look, lowest)
            found.append(walk.take(walk.critical(reserve) if kept else lowest))
        else:
            found.append(walk.take(walk.critical(reserve)))
    return np.array(found)


class _Walk:
    """From look to look: Genz's integral over the earlier ones, on a fixed lattice, no random numbers."""

    def __init__(self, correlation: Floats, freedom: float) -> None:
        self._factor = _factor(correlation)
        self._uniform, self._scale = _lattice(len(correlation)), _scale(freedom)
        self._drawn = np.zeros((_POINTS, len(correlation)))
        self._weight = np.ones(_POINTS)
        self._look = 0

    def critical(self, share: float) -> float:
        """Return what |T| of the next look exceeds with this probability, where the earlier looks hold."""
        from scipy.optimize import brentq  # as slow to import as numpy; few commands take looks

        means, spread = self._given()

        def excess(critical: float) -> float:
            above = special.ndtr((means - critical * self._scale) / spread)
            below = special.ndtr((-means - critical * self._scale) / spread)
            return float(np.mean(self._weight * (above + below))) - share

        high = 8.0
        while excess(high) > 0:
            high *= 2
        return float(brentq(excess, 0.0, high, xtol=1e-4))

    def take(self, critical: float) -> float:
        """Return the critical value, with which the next look is now one of the earlier ones."""
        means, spread = self._given()
        lowest = special.ndtr((-critical * self._scale - means) / spread)
        inside = special.ndtr((critical * self._scale - means) / spread) - lowest
        places = lowest + self._uniform[:, self._look] * inside
        self._drawn[:, self._look] = special.ndtri(np.clip(places, _SMALLEST, 1 - 1e-16))
        self._weight *= inside
        self._look += 1
        return critical

    def _given(self) -> tuple[Floats, float]:
        """Return mean and standard deviation of the next look, given the earlier ones."""
        row = self._factor[self._look]
        return self._drawn[:, : self._look] @ row[: self._look], float(row[self._look])


def _factor(correlation: Floats) -> Floats:
    """Return Cholesky's factor, also of looks that others determine: their own part is tiny, not 0."""
    factor = np.zeros_like(correlation)
    for row in range(len(correlation)):
        for column in range(row):
            rest = correlation[row, column] - factor[row, :column] @ factor[column, :column]
            factor[row, column] = rest / factor[column, column]
        own = correlation[row, row] - factor[row, :row] @ factor[row, :row]
        factor[row, row] = np.sqrt(max(own, _LEAST_SPREAD**2))
    return factor


@lru_cache(maxsize=64)
def _lattice(dimensions: int) -> Floats:
    """Return points that fill the unit cube evenly, shape (_POINTS, dimensions): Richtmyer's, folded."""
    steps = np.arange(1, _POINTS + 1)[:, None] * np.sqrt(_primes(dimensions + 1)[1:])
    return np.asarray(np.clip(np.abs(2 * (steps % 1) - 1), 1e-12, 1 - 1e-12))


@lru_cache(maxsize=64)
def _scale(freedom: float) -> Floats:
    """Return √(χ²/freedom), which all looks are divided by, at the points' first coordinate."""
    if not np.isfinite(freedom):
        return np.ones(_POINTS)
    uniform = np.abs(2 * (np.arange(1, _POINTS + 1) * np.sqrt(2.0) % 1) - 1)
    return np.asarray(np.sqrt(chi_square_quantile(uniform, freedom) / freedom))


def _primes(count: int) -> Floats:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return np.array(found, dtype=np.float64)
