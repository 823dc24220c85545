"""The formulas against exact rationals, scipy, OpenCompass's own functions and published values."""

from __future__ import annotations

import doctest
import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from gpassk_opencompass import metrics
from gpassk_opencompass.metrics import (
    DEFAULT_THRESHOLDS,
    g_pass_at_k,
    majority,
    metric_names,
    metric_table,
    mg_pass_at_k,
    pass_at_k,
    required_correct,
)

REAL_LABELS = Path(__file__).resolve().parents[2] / 'shared/data/samples/math_cot_100_n8.jsonl'
SIZES = [(n, k) for n in range(1, 25) for k in range(1, n + 1)]


def exact_tails(n: int, c: int, k: int) -> list[Fraction]:
    """P[X ≥ m] for m = 0 … k + 1, by counting the draws with each number of correct answers."""
    ways = [math.comb(c, j) * math.comb(n - c, k - j) for j in range(k + 1)]
    return [Fraction(sum(ways[m:]), math.comb(n, k)) for m in range(k + 2)]


@st.composite
def sizes(draw: st.DrawFn, largest: int = 300) -> tuple[int, int]:
    """n and k with 1 ≤ k ≤ n."""
    n = draw(st.integers(1, largest))
    return n, draw(st.integers(1, n))


def test_every_value_up_to_n_24_is_the_correctly_rounded_rational() -> None:
    """For all c, k and every number of required answers, pass@k and G-Pass@k are the nearest float."""
    for n, k in SIZES:
        tails = [exact_tails(n, c, k) for c in range(n + 1)]
        for m in range(1, k + 1):
            assert g_pass_at_k(n, range(n + 1), k, m / k).tolist() == [float(tail[m]) for tail in tails]
        assert pass_at_k(n, range(n + 1), k).tolist() == [float(tail[1]) for tail in tails]


def test_mg_pass_up_to_n_24_is_the_correctly_rounded_published_sum() -> None:
    """mG-Pass@k is (2/k)·Σ from ⌈k/2⌉ + 1 to k in rationals, for all c and k."""
    for n, k in SIZES:
        sums = [Fraction(2, k) * sum(exact_tails(n, c, k)[(k + 1) // 2 + 1 :]) for c in range(n + 1)]
        assert mg_pass_at_k(n, range(n + 1), k).tolist() == [float(value) for value in sums]


def test_exact_integral_up_to_n_24_is_the_area_under_the_steps() -> None:
    """integral='exact' is 2·∫ of the step function over [0.5, 1], each step weighted by its overlap."""
    for n, k in SIZES:
        widths = [
            max(Fraction(0), Fraction(i, k) - max(Fraction(i - 1, k), Fraction(1, 2))) for i in range(k + 1)
        ]
        for c in range(n + 1):
            area = 2 * sum(width * tail for width, tail in zip(widths, exact_tails(n, c, k), strict=False))
            assert mg_pass_at_k(n, c, k, integral='exact') == float(area)


@pytest.mark.parametrize('n', [48, 1025, 10_000])
@pytest.mark.parametrize('k', [4, 16, 48])
def test_agrees_with_scipy_up_to_n_10000(n: int, k: int) -> None:
    """The tables follow scipy's hypergeometric distribution."""
    c = np.unique(np.linspace(0, n, 200).astype(int))
    tails = {m: hypergeom.sf(m - 1, n, c, k) for m in range(1, k + 1)}
    for threshold in DEFAULT_THRESHOLDS:
        expected = tails[max(1, math.ceil(k * threshold))]
        np.testing.assert_allclose(g_pass_at_k(n, c, k, threshold), expected, rtol=0, atol=1e-12)
    published = 2 / k * sum(tails[i] for i in range(k // 2 + 1, k + 1))
    np.testing.assert_allclose(mg_pass_at_k(n, c, k), published, rtol=0, atol=1e-12)


@pytest.fixture(scope='module')
def opencompass() -> ModuleType:
    """OpenCompass's own implementation."""
    name = 'opencompass.openicl.icl_evaluator.icl_base_evaluator'
    module: ModuleType = pytest.importorskip(name, reason='OpenCompass is not installed')
    return module


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize(('n', 'k'), [(8, 4), (12, 8), (48, 16), (9, 5), (6, 1)])
def test_agrees_with_opencompass_where_opencompass_is_right(n: int, k: int, opencompass: ModuleType) -> None:
    """With k ≤ n and the published thresholds, OpenCompass's functions return the same numbers."""
    for c in range(n + 1):
        assert pass_at_k(n, c, k) == pytest.approx(opencompass.compute_pass_at_k(n, c, k), abs=1e-12)
        assert mg_pass_at_k(n, c, k) == pytest.approx(opencompass.compute_mg_pass_at_k(n, c, k), abs=1e-12)
        for tau in DEFAULT_THRESHOLDS:
            theirs = opencompass.compute_g_pass_at_k(n, c, k, tau)
            assert g_pass_at_k(n, c, k, tau) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.filterwarnings('ignore')
def test_opencompass_is_one_too_strict_at_threshold_0_28(opencompass: ModuleType) -> None:
    """The ceiling of 25·0.28 is 7, not 8: the number differs from the built-in one there, and is right."""
    assert g_pass_at_k(50, 20, 25, 0.28) == float(exact_tails(50, 20, 25)[7])
    assert opencompass.compute_g_pass_at_k(50, 20, 25, 0.28) == pytest.approx(
        float(exact_tails(50, 20, 25)[8])
    )


@pytest.mark.skipif(not REAL_LABELS.is_file(), reason='the real samples are not beside the checkout')
@pytest.mark.parametrize(
    ('k', 'expected'), [(4, [95.10, 92.49, 89.44, 86.97, 88.21]), (8, [96.0, 92.0, 89.0, 86.0, 87.75])]
)
def test_real_labels_give_the_reference_values(k: int, expected: list[float]) -> None:
    """100 questions × 8 graded samples give the values that their description lists."""
    with REAL_LABELS.open(encoding='utf-8') as file:
        counts = [sum(json.loads(line)['score']) for line in file]
    table = metric_table(8, k, [0.0, 0.5, 0.75, 1.0])
    published = [100 * table[name][counts].mean() for name in metric_names(k, [0.0, 0.5, 0.75, 1.0])]
    assert published == pytest.approx(expected, abs=0.00501)


def test_odd_k_leaves_a_perfect_model_below_one() -> None:
    """The published sum gives (k − 1)/k for odd k and 1 for even k; the exact integral always gives 1."""
    for k in range(1, 25):
        assert mg_pass_at_k(24, 24, k) == ((k - 1) / k if k % 2 else 1.0)
        assert mg_pass_at_k(24, 24, k, integral='exact') == 1.0


def test_k_1_makes_mg_pass_zero_and_the_exact_integral_the_accuracy() -> None:
    """With a single draw the published sum is empty."""
    assert mg_pass_at_k(8, range(9), 1).tolist() == [0.0] * 9
    assert mg_pass_at_k(8, range(9), 1, integral='exact').tolist() == [c / 8 for c in range(9)]
    assert pass_at_k(8, range(9), 1).tolist() == [c / 8 for c in range(9)]


def test_ceiling_of_25_times_0_28_is_7() -> None:
    """25·0.28 is 7.000000000000001 in binary, which must not cost a model one more correct answer."""
    assert math.ceil(25 * 0.28) == 8
    assert required_correct(25, 0.28) == required_correct(25, np.float32(0.28)) == 7


def test_thresholds_made_by_numpy_mean_what_they_say() -> None:
    """arange, linspace and i/k all give the ceiling of the intended fraction, also for large k."""
    by_adding, by_dividing = np.arange(0, 1.005, 0.01), np.linspace(0, 1, 101)
    for k in (3, 7, 10, 25, 49, 98, 100, 1_000, 9_999):
        expected = [max(1, -(-k * i // 100)) for i in range(101)]
        assert [required_correct(k, tau) for tau in by_adding] == expected
        assert [required_correct(k, tau) for tau in by_dividing] == expected
        steps = range(1, min(k, 1_000) + 1)
        assert [required_correct(k, i / k) for i in steps] == list(steps)


@settings(max_examples=50)
@given(st.data())
def test_estimates_are_unbiased(data: st.DataObject) -> None:
    """Averaged over all ways to keep n of N answers, the estimate from n is the one from N."""
    everything, n = data.draw(sizes(largest=60))
    k, c = data.draw(st.integers(1, n)), data.draw(st.integers(0, everything))
    tau = data.draw(st.sampled_from(DEFAULT_THRESHOLDS))
    ways = [math.comb(c, kept) * math.comb(everything - c, n - kept) for kept in range(n + 1)]
    chances = np.array([way / math.comb(everything, n) for way in ways])
    assert chances @ g_pass_at_k(n, range(n + 1), k, tau) == pytest.approx(g_pass_at_k(everything, c, k, tau))
    assert chances @ mg_pass_at_k(n, range(n + 1), k) == pytest.approx(mg_pass_at_k(everything, c, k))


def test_docstring_examples_run() -> None:
    """What the docstrings show is what happens."""
    assert doctest.testmod(metrics).failed == 0


@given(st.data())
def test_the_majority_is_that_of_all_draws_counted(data: st.DataObject) -> None:
    """Every subset of k samples, its commonest answers, a fair draw between those that tie."""
    n = data.draw(st.integers(1, 8))
    answers = data.draw(st.lists(st.sampled_from(['', '1', '2', '3', '4']), min_size=n, max_size=n))
    correct = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    k = data.draw(st.integers(1, n))
    verdicts = {
        answer: [hit for one, hit in zip(answers, correct, strict=True) if one == answer]
        for answer in answers
    }
    right = {answer for answer, hits in verdicts.items() if answer and 2 * sum(hits) > len(hits)}
    won = Fraction(0)
    for draw in combinations(answers, k):
        cast = [answer for answer in draw if answer]
        most = max(map(cast.count, cast), default=0)
        tied = {answer for answer in cast if cast.count(answer) == most}
        won += Fraction(len(tied & right), max(len(tied), 1))
    assert majority(answers, correct, k) == float(won / math.comb(n, k))
