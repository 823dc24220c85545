"""Which metrics go together, against all counts there are and against the corners of the polytope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpassk_opencompass import InputError
from gpassk_opencompass.metrics import ACCURACY, Metric, metrics_of
from gpassk_opencompass.report.attainable import EVERYTHING, Limits, attainable, exact_values, possible

HALF, THREE_QUARTERS, EVERY = (Metric.g_pass_at(16, tau) for tau in (0.5, 0.75, 1.0))
MEAN = Metric.mg_pass_at(16)


def drawn(k: int, least: int, n: int, c: int) -> Fraction:
    """P[at least so many of k drawn are correct], by looking at every draw."""
    draws = list(combinations([True] * c + [False] * (n - c), k))
    return Fraction(sum(sum(draw) >= least for draw in draws), len(draws))


def tails(k: int, n: int) -> list[list[Fraction]]:
    """P[X ≥ i] of each i = 0 … k for each c = 0 … n, by the formula of the paper."""
    return [
        [
            sum((Fraction(comb(c, j) * comb(n - c, k - j), comb(n, k)) for j in range(i, k + 1)), Fraction(0))
            for c in range(n + 1)
        ]
        for i in range(k + 1)
    ]


def exactly(value: Fraction) -> Limits:
    return Limits(value, value)


def mean(values: Sequence[Fraction], counts: Sequence[int]) -> Fraction:
    return sum((values[c] for c in counts), Fraction(0)) / len(counts)


def test_the_values_are_those_of_all_draws() -> None:
    """G-Pass@4 at thresholds, mG-Pass@4 and accuracy of 0 … 6 correct of 6."""
    expected = {
        Metric.g_pass_at(4, 0.5): [drawn(4, 2, 6, c) for c in range(7)],
        Metric.g_pass_at(4, 1.0): [drawn(4, 4, 6, c) for c in range(7)],
        Metric.pass_at(4): [drawn(4, 1, 6, c) for c in range(7)],
        Metric.mg_pass_at(4): [(drawn(4, 3, 6, c) + drawn(4, 4, 6, c)) / 2 for c in range(7)],
        ACCURACY: [Fraction(c, 6) for c in range(7)],
    }
    for metric, values in expected.items():
        assert list(exact_values(metric, 6)) == values
    with pytest.raises(InputError, match='at least 4 samples'):
        exact_values(Metric.mg_pass_at(4), 3)


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[Metric], int, list[int]]:
    """Metrics of up to two k, n, and the counts of some questions."""
    ks = draw(st.lists(st.integers(2, 8), min_size=1, max_size=2, unique=True))
    n = draw(st.integers(max(ks), 12))
    counts = draw(st.lists(st.integers(0, n), min_size=1, max_size=20))
    return metrics_of(ks, [0.5, 0.75, 1.0]), n, counts


@settings(max_examples=60, deadline=None)
@given(rows(), st.data())
def test_no_counts_are_ever_refused(row: tuple[list[Metric], int, list[int]], data: st.DataObject) -> None:
    """Nor with n = the largest k, which stands for every n; each metric lies in what the others allow."""
    metrics, n, counts = row
    means = {metric: mean(exact_values(metric, n), counts) for metric in metrics}
    asked = data.draw(st.sampled_from(metrics))
    others = {metric: exactly(value) for metric, value in means.items() if metric != asked}
    for size in (n, max(metric.k for metric in metrics)):
        limits = attainable(asked, others, size)
        assert limits is not None
        assert limits.low <= means[asked] <= limits.high
        assert possible({metric: exactly(value) for metric, value in means.items()}, size)
    assert possible({metric: exactly(value) for metric, value in means.items()}, n, len(counts))


@given(st.lists(st.fractions(0, 1, max_denominator=50), min_size=3, max_size=3))
@settings(max_examples=40, deadline=None)
def test_whatever_n_the_limits_are_those_of_a_falling_staircase(values: list[Fraction]) -> None:
    """The closed form, from G_9 … G_11 between G_8 and G_12 and so on; counts of 16 reach both ends."""
    g8, g12, g16 = sorted(values, reverse=True)
    others = dict(zip((HALF, THREE_QUARTERS, EVERY), map(exactly, (g8, g12, g16)), strict=True))
    limits = attainable(MEAN, others, 16)
    assert limits is not None
    lowest, highest = (g12 + g16) / 2, (3 * g8 + 4 * g12 + g16) / 8
    assert limits.low <= lowest
    assert limits.high >= highest
    assert float(lowest - limits.low) < 1e-8
    assert float(limits.high - highest) < 1e-8
    staircase = exact_values(MEAN, 16)
    for end, (middle, low) in ((highest, (15, 11)), (lowest, (12, 8))):
        shares = {16: g16, middle: g12 - g16, low: g8 - g12, 0: 1 - g8}
        assert sum(share * staircase[c] for c, share in shares.items()) == end


def corners(tables: Sequence[Sequence[Fraction]], means: Sequence[Fraction]) -> Iterator[dict[int, Fraction]]:
    """All basic solutions of Σ w = 1, Σ w·f_i = mean_i, w ≥ 0, by Cramer's rule on three counts."""
    n = len(tables[0]) - 1

    def determinant(a: Sequence[Sequence[Fraction]]) -> Fraction:
        return sum(
            (
                a[0][i] * (a[1][(i + 1) % 3] * a[2][(i + 2) % 3] - a[1][(i + 2) % 3] * a[2][(i + 1) % 3])
                for i in range(3)
            ),
            Fraction(0),
        )

    right = [Fraction(1), *means]
    for chosen in combinations(range(n + 1), 3):
        matrix = [[Fraction(1)] * 3, *([table[c] for c in chosen] for table in tables)]
        whole = determinant(matrix)
        if not whole:
            continue
        shares = [
            determinant([[right[r] if i == place else matrix[r][i] for i in range(3)] for r in range(3)])
            / whole
            for place in range(3)
        ]
        if min(shares) >= 0:
            yield dict(zip(chosen, shares, strict=True))


@pytest.mark.parametrize('counts', [(0, 3, 6), (1, 2, 4, 5), (0, 0, 5), (2, 4, 6, 6), (0, 1, 2, 3, 4, 5, 6)])
def test_the_limits_are_reached(counts: Sequence[int]) -> None:
    """The best corner of all shares with the same G-Pass@4_0.5 and G-Pass@4_1.0, in fractions."""
    tail = tails(4, 6)
    metric, others = Metric.mg_pass_at(4), [Metric.g_pass_at(4, 0.5), Metric.g_pass_at(4, 1.0)]
    tables = [tail[2], tail[4]]
    means = [mean(table, counts) for table in tables]
    asked = [(third + fourth) / 2 for third, fourth in zip(tail[3], tail[4], strict=True)]
    reached = [sum(share * asked[c] for c, share in corner.items()) for corner in corners(tables, means)]
    limits = attainable(metric, dict(zip(others, map(exactly, means), strict=True)), 6)
    assert limits is not None
    assert limits.low <= min(reached)
    assert limits.high >= max(reached)
    assert float(min(reached) - limits.low) < 1e-8
    assert float(limits.high - max(reached)) < 1e-8


def test_a_row_is_possible_where_some_counts_give_it() -> None:
    """Three questions with four samples each: all 35 sets of counts, against a grid of limits."""
    row = [Metric.g_pass_at(2, 0.5), Metric.g_pass_at(2, 1.0)]
    tables = [exact_values(metric, 4) for metric in row]
    rows_there = [
        tuple(mean(table, counts) for table in tables)
        for counts in combinations_with_replacement(range(5), 3)
    ]
    width = Fraction(1, 25)
    seen = set()
    for low in product([Fraction(step, 20) for step in range(20)], repeat=2):
        limits = {metric: Limits(end, end + width) for metric, end in zip(row, low, strict=True)}
        expected = any(
            all(end <= value <= end + width for end, value in zip(low, values, strict=True))
            for values in rows_there
        )
        assert possible(limits, 4, 3) == expected, low
        seen.add((expected, possible(limits, 4)))
    assert seen == {(True, True), (False, True), (False, False)}


def test_what_contradicts_itself_allows_nothing() -> None:
    """More at τ = 1 than at τ = 0.5."""
    row = {HALF: exactly(Fraction(1, 4)), EVERY: exactly(Fraction(1, 2))}
    assert attainable(MEAN, row, 48) is None
    assert not possible(row, 48)
    assert attainable(MEAN, {}, 48) == EVERYTHING
    odd = attainable(Metric.mg_pass_at(5), {}, 8)
    assert odd == Limits(Fraction(0), Fraction(4, 5))  # the published sum cannot reach 1 for odd k
