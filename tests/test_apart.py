"""Work in an event loop of its own: what it does to Python's search for cyclic garbage meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from gpassk_opencompass.servers import in_own_loop


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    """Python's own before each test, and what was there before after it."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


async def _threshold() -> tuple[int, int, int]:
    return gc.get_threshold()


async def _fail() -> None:
    raise ValueError('as it must')


async def _nested() -> tuple[int, int, int]:
    in_own_loop(_threshold)
    return gc.get_threshold()


def test_python_looks_for_cycles_more_seldom_until_the_work_ends() -> None:
    """Young objects alone; also where one work starts another, and the first goes on behind it."""
    assert in_own_loop(_threshold) == (10_000, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)
    assert in_own_loop(_nested) == (10_000, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


def test_the_threshold_comes_back_after_a_failure() -> None:
    """Whatever the work raises goes on, and leaves nothing behind."""
    with pytest.raises(ValueError, match='as it must'):
        in_own_loop(_fail)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize('chosen', [0, 50_000])
def test_a_threshold_that_is_higher_or_none_stays(chosen: int) -> None:
    """0 turns the search off."""
    gc.set_threshold(chosen, 5, 5)
    assert in_own_loop(_threshold) == (chosen, 5, 5)
    assert gc.get_threshold() == (chosen, 5, 5)


def test_a_threshold_that_is_set_during_the_work_stays() -> None:
    """It is not overwritten with the one of before."""

    async def choose() -> None:
        gc.set_threshold(123)

    in_own_loop(choose)
    assert gc.get_threshold()[0] == 123
