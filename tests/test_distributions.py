"""Distributions by special functions, against `scipy.stats` and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from gpassk_opencompass.distributions import (
    beta_binomial,
    hypergeometric,
    normal_quantile,
    student_quantile,
    student_tail,
)

CHANCES = (1e-300, 1e-12, 0.025, 0.5, 0.8, 0.95, 0.975, 0.995, 1 - 1e-6, 1 - 1e-12, math.nextafter(1, 0))
FREEDOMS = (1e-3, 0.5, 1, 1.5, 2, 3, 10, 237, 1e5, 1e9, 1e15, 1e300, math.inf)
NUMBERS = (-math.inf, -40.0, -8.5, -1.0, -1e-9, 0.0, 1e-9, 0.3, 1.96, 8.5, 37.0, 1e9, math.inf)
SHAPES = (1e-3, 0.05, 0.5, 1, 2.5, 30, 1e3)


def close(found: object, wanted: object, *, absolute: float = 0.0) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-12, atol=absolute)


@pytest.mark.parametrize('chance', [0.0, *CHANCES, 1.0])
def test_the_normal_quantile_is_that_of_scipy_stats(chance: float) -> None:
    """At the ends it is infinite."""
    close(normal_quantile(chance), stats.norm.ppf(chance))


@pytest.mark.parametrize('freedom', FREEDOMS)
def test_student_t_is_that_of_scipy_stats(freedom: float) -> None:
    """From a thousandth of a degree of freedom to infinitely many, where it is normal."""
    for chance in CHANCES:
        close(student_quantile(chance, freedom), stats.t.ppf(chance, freedom))
    close(student_tail(NUMBERS, freedom), stats.t.sf(NUMBERS, freedom))


def test_student_t_of_infinitely_many_degrees_is_normal() -> None:
    """By functions that do not know of t."""
    close(student_quantile(0.975, math.inf), stats.norm.ppf(0.975))
    close(student_tail(1.5, math.inf), stats.norm.sf(1.5))


@pytest.mark.parametrize('freedom', [0, -1, math.nan])
def test_student_t_without_degrees_of_freedom_is_not_a_number(freedom: float) -> None:
    """As in scipy.stats: no interval is made of it."""
    assert math.isnan(student_quantile(0.975, freedom))
    assert math.isnan(student_tail(1.0, freedom))


@pytest.mark.parametrize('n', [1, 2, 16, 48, 1024])
def test_the_beta_binomial_is_that_of_scipy_stats(n: int) -> None:
    """For every pair of shapes at once, and for one."""
    a, b = (side.ravel() for side in np.meshgrid(SHAPES, SHAPES))
    wanted = stats.betabinom.pmf(np.arange(n + 1), n, a[:, None], b[:, None])
    close(beta_binomial(n, a, b), wanted)
    close(beta_binomial(n, a[1], b[1]), wanted[1])


@pytest.mark.parametrize(('n', 'm'), [(1, 0), (1, 1), (5, 3), (16, 16), (48, 16), (1024, 16), (1024, 512)])
def test_the_hypergeometric_is_that_of_scipy_stats(n: int, m: int) -> None:
    """What cannot be drawn has the chance 0, exactly."""
    correct = np.unique(np.linspace(0, n, 25).astype(int))
    found = hypergeometric(n, correct, m)
    wanted = stats.hypergeom.pmf(np.arange(m + 1), n, correct[:, None], m)
    close(found, wanted, absolute=1e-300)
    drawn = np.arange(m + 1)
    cannot = (drawn > correct[:, None]) | (m - drawn > n - correct[:, None])
    assert (found[cannot] == 0).all()
    close(hypergeometric(n, int(correct[-1]), m), found[-1])


@pytest.mark.parametrize(('n', 'correct', 'm'), [(48, 20, 16), (2_000, 900, 300), (20_000, 7_000, 200)])
def test_the_hypergeometric_is_a_quotient_of_whole_numbers(n: int, correct: int, m: int) -> None:
    """Computed without rounding, also far from the most likely number."""
    wanted = [
        float(Fraction(math.comb(correct, x) * math.comb(n - correct, m - x), math.comb(n, m)))
        for x in range(m + 1)
    ]
    close(hypergeometric(n, correct, m), wanted, absolute=1e-300)
