"""Chain-of-Embedding of one response: the definition, its invariances, and what is not defined."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cosine
from scipy.stats import ortho_group

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.studies.embedding_chain import Chain, chain_of


def as_written(states: list[list[float]]) -> Chain:
    """Equations 3 to 7 of arXiv 2410.13640, term by term; cosines are those of scipy."""

    def angle(a: list[float], b: list[float]) -> float:
        return math.acos(1 - cosine(a, b))

    steps = list(zip(states[1:], states[:-1], strict=True))
    whole, turn = math.dist(states[-1], states[0]), angle(states[-1], states[0])
    lengths = [math.dist(after, before) / whole for after, before in steps]
    angles = [angle(after, before) / turn for after, before in steps]
    in_all = sum(length * cmath.exp(1j * one) for length, one in zip(lengths, angles, strict=True))
    magnitude, mean_angle = sum(lengths) / len(steps), sum(angles) / len(steps)
    return Chain(magnitude, mean_angle, magnitude - mean_angle, abs(in_all / len(steps)))


def test_the_numbers_are_those_of_the_paper() -> None:
    """Random chains of several depths."""
    generator = np.random.default_rng(0)
    for layers, size in ((1, 3), (4, 8), (30, 64)):
        states = generator.normal(size=(layers + 1, size)).cumsum(axis=0)
        assert chain_of(states) == pytest.approx(as_written(states.tolist()), rel=1e-12)


def test_a_worked_example() -> None:
    """From (1, 0) over (1, 1) to (0, 1): steps of 1 over √2 and of 45° over 90°, twice."""
    found = chain_of([[1, 0], [1, 1], [0, 1]])
    assert found == pytest.approx((0.5**0.5, 0.5, 0.5**0.5 - 0.5, 0.5**0.5), rel=1e-15)


@given(arrays(np.float64, (5, 6), elements=st.floats(-100, 100)), st.floats(0.01, 100), st.integers(0, 99))
def test_scale_and_rotation_of_the_space_do_not_count(states: np.ndarray, scale: float, seed: int) -> None:
    """All four numbers are ratios of lengths and of angles."""
    states = states + np.random.default_rng(seed).normal(size=states.shape)
    turned = scale * states @ ortho_group.rvs(6, random_state=seed)
    assert chain_of(turned) == pytest.approx(chain_of(states), rel=1e-6)


def test_a_chain_is_at_least_as_long_as_its_ends_are_apart() -> None:
    """The triangle inequality: the steps add up to the whole or more, in length and in angle."""
    states = np.random.default_rng(1).normal(size=(50, 8, 16))
    found = np.array([chain_of(one) for one in states])
    assert found[:, :2].min() >= 1 / 7


def test_a_chain_that_comes_back_has_no_numbers() -> None:
    """Its ends are the same, so nothing can be divided by their distance."""
    assert all(map(math.isnan, chain_of([[1, 0], [0, 1], [1, 0]])))


def test_a_chain_along_a_ray_has_a_magnitude_alone() -> None:
    """No angle lies between its ends."""
    found = chain_of([[1, 0], [2, 0], [4, 0]])
    assert found.magnitude == 0.5
    assert math.isnan(found.angle)
    assert math.isnan(found.coe_c)


def test_one_state_is_no_chain() -> None:
    """The message has the shape."""
    with pytest.raises(InputError, match=r'\(1, 3\)'):
        chain_of([[1, 2, 3]])
