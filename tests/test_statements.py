"""No statement about the runs of a table contradicts another one: over 1,000 simulated leaderboards.

Of all pairs in the table: ranks, intervals and p-values. Of two runs alone: a
comparison of two that were chosen beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import AllPairs, all_pairs, compare, value_table

TABLES = 1000
LEVEL = 0.95
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Simulated:
    """Runs on the same questions, best first, with what is true of them."""

    values: Floats
    """mG-Pass@8 of each question, shape (M, Q)."""
    problems: list[int]
    same: bool
    """Whether all models have the same chances, so that any statement that one is better is false."""
    pairs: AllPairs


@pytest.fixture(scope='module')
def tables() -> list[Simulated]:
    """Two to ten runs: alike, better, or with collapses on a few problems; with and without contests."""
    return [_simulated(np.random.default_rng(seed), seed) for seed in range(TABLES)]


def _simulated(generator: np.random.Generator, number: int) -> Simulated:
    models, problems, n = int(generator.integers(2, 11)), int(generator.integers(26, 60)), 16
    sizes = generator.integers(1, 3, problems) if number % 3 == 0 else np.ones(problems, dtype=int)
    of = np.repeat(np.arange(problems), sizes)
    contest = np.arange(problems) * 4 // problems
    level = np.linspace(-1.5, 1.5, 4)[contest] if number % 2 else 0.0
    hardness = generator.normal(level, 2.0, problems)
    strength = np.zeros(models) if number % 4 == 0 else generator.normal(0, 0.7, models)
    chances = 1 / (1 + np.exp(-(strength[:, None] + hardness)))
    if number % 4 == 1:
        chances[::2] *= generator.random((len(chances[::2]), problems)) > 0.1
    counts = generator.binomial(n, chances[:, of])
    if number % 5 == 0:  # runs that are the same, to the last sample
        counts[1] = counts[0]
    values = value_table(Metric.mg_pass_at(8), n)[counts]
    values = values[np.argsort(-values.mean(1), kind='stable')]
    found = all_pairs(values, of.tolist(), LEVEL, draws=199)
    return Simulated(values, of.tolist(), number % 4 == 0, found)


def _places(count: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(count) for j in range(count) if i != j)


def test_ranks_intervals_and_p_values_of_a_table_are_one_statement(tables: Sequence[Simulated]) -> None:
    """Ranks are counted from the pairs whose interval excludes 0, and these are those with a small p."""
    apart = 0
    for table in tables:
        found, count = table.pairs, len(table.values)
        above = np.zeros((count, count), dtype=bool)
        for i, j in _places(count):
            one, other = found.pair(i, j), found.pair(j, i)
            assert one.low == -other.high
            assert one.p_value == other.p_value
            above[i, j] = one.low > 0
            assert (one.low > 0 or one.high < 0) == (one.p_value <= 1 - LEVEL)
            assert one.low <= one.difference <= one.high
        better_than = [1 + sum(above[:, i]) for i in range(count)]
        worse_than = [count - sum(above[i]) for i in range(count)]
        assert found.ranks.tolist() == [list(pair) for pair in zip(better_than, worse_than, strict=True)]
        apart += int(above.sum())
    assert apart > TABLES, 'simulated tables that say something'


def test_two_that_the_table_tells_apart_differ_when_compared_alone(tables: Sequence[Simulated]) -> None:
    """What holds for all pairs at once holds for one: same difference, narrower interval, smaller p."""
    for table in tables:
        for i, j in {(0, 1), *zip(*np.nonzero(table.pairs.better), strict=True)}:
            whole = table.pairs.pair(i, j)
            alone = compare(table.values[i], table.values[j], table.problems, LEVEL)
            assert whole.difference == pytest.approx(alone.difference, abs=1e-12)
            assert whole.error == pytest.approx(alone.error, rel=1e-9)
            assert whole.unpaired_error == pytest.approx(alone.unpaired_error, rel=1e-9)
            assert whole.low <= alone.low + 1e-9
            assert whole.high >= alone.high - 1e-9
            assert whole.p_value >= alone.p_value * (1 - 1e-9)
            if whole.low > 0:
                assert alone.low > 0


def test_equal_models_are_rarely_told_apart_in_any_pair_of_a_table(tables: Sequence[Simulated]) -> None:
    """In 5 % of tables at most, up to three standard errors of this simulation."""
    wrong = [bool(table.pairs.better.any()) for table in tables if table.same]
    assert np.mean(wrong) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(wrong))
