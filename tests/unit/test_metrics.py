"""The formulas against exact rationals, scipy, OpenCompass's own functions and published values; the keys."""

from __future__ import annotations

import doctest
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from gpassk_opencompass import metrics
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import (
    ACCURACY,
    DEFAULT_THRESHOLDS,
    Kind,
    Metric,
    g_pass_at_k,
    majority,
    metric_names,
    metric_table,
    metrics_of,
    mg_pass_at_k,
    pass_at_k,
    required_correct,
    value_table,
)

REAL_LABELS = Path(__file__).resolve().parents[3] / 'shared/data/samples/math_cot_100_n8.jsonl'


def exact_tails(n: int, c: int, k: int) -> list[Fraction]:
    """P[X ≥ m] for m = 0 … k + 1, by counting the draws with each number of correct answers."""
    ways = [math.comb(c, j) * math.comb(n - c, k - j) for j in range(k + 1)]
    return [Fraction(sum(ways[m:]), math.comb(n, k)) for m in range(k + 2)]


# Values


@pytest.mark.parametrize('n', range(1, 25))
def test_every_value_up_to_n_24_is_the_correctly_rounded_rational(n: int) -> None:
    """All c, k and numbers of required answers; the published sum; 2·∫ of the steps over [0.5, 1]."""
    for k in range(1, n + 1):
        tails = [exact_tails(n, c, k) for c in range(n + 1)]
        for m in range(1, k + 1):
            assert g_pass_at_k(n, range(n + 1), k, m / k).tolist() == [float(tail[m]) for tail in tails]
        assert pass_at_k(n, range(n + 1), k).tolist() == [float(tail[1]) for tail in tails]
        sums = [Fraction(2, k) * sum(tail[(k + 1) // 2 + 1 :]) for tail in tails]
        assert mg_pass_at_k(n, range(n + 1), k).tolist() == [float(value) for value in sums]
        half = Fraction(1, 2)
        widths = [max(Fraction(0), Fraction(i, k) - max(Fraction(i - 1, k), half)) for i in range(k + 1)]
        areas = [2 * sum(w * value for w, value in zip(widths, tail, strict=False)) for tail in tails]
        exact = mg_pass_at_k(n, range(n + 1), k, integral='exact')
        assert exact.tolist() == [float(area) for area in areas]


@pytest.mark.parametrize('n', [48, 1025, 10_000])
@pytest.mark.parametrize('k', [4, 16, 48])
def test_agrees_with_scipy_up_to_n_10000(n: int, k: int) -> None:
    """Its hypergeometric distribution."""
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
    """With k ≤ n and the published thresholds."""
    for c in range(n + 1):
        assert pass_at_k(n, c, k) == pytest.approx(opencompass.compute_pass_at_k(n, c, k), abs=1e-12)
        assert mg_pass_at_k(n, c, k) == pytest.approx(opencompass.compute_mg_pass_at_k(n, c, k), abs=1e-12)
        for tau in DEFAULT_THRESHOLDS:
            theirs = opencompass.compute_g_pass_at_k(n, c, k, tau)
            assert g_pass_at_k(n, c, k, tau) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.filterwarnings('ignore')
def test_opencompass_is_one_too_strict_at_threshold_0_28(opencompass: ModuleType) -> None:
    """The ceiling of 25·0.28 is 7, not 8: the number differs from the built-in one there, and is right."""
    tails = exact_tails(50, 20, 25)
    assert g_pass_at_k(50, 20, 25, 0.28) == float(tails[7])
    assert opencompass.compute_g_pass_at_k(50, 20, 25, 0.28) == pytest.approx(float(tails[8]))


@pytest.mark.skipif(not REAL_LABELS.is_file(), reason='the real samples are not beside the checkout')
@pytest.mark.parametrize(
    ('k', 'expected'), [(4, [95.10, 92.49, 89.44, 86.97, 88.21]), (8, [96.0, 92.0, 89.0, 86.0, 87.75])]
)
def test_real_labels_give_the_reference_values(k: int, expected: list[float]) -> None:
    """100 questions × 8 graded samples give the values that their description lists."""
    with REAL_LABELS.open(encoding='utf-8') as file:
        counts = [sum(json.loads(line)['score']) for line in file]
    table, taus = metric_table(8, k, [0.0, 0.5, 0.75, 1.0]), [0.0, 0.5, 0.75, 1.0]
    published = [100 * table[name][counts].mean() for name in metric_names(k, taus)]
    assert published == pytest.approx(expected, abs=0.00501)


def test_odd_k_leaves_a_perfect_model_below_one() -> None:
    """(k − 1)/k by the published sum, which is empty for k = 1; the exact integral gives 1, and accuracy."""
    for k in range(1, 25):
        assert mg_pass_at_k(24, 24, k) == ((k - 1) / k if k % 2 else 1.0)
        assert mg_pass_at_k(24, 24, k, integral='exact') == 1.0
        for metric in (Metric(Kind.MG_PASS, k), Metric(Kind.PASS, k), Metric(Kind.G_PASS, k, 0.75)):
            assert metric.top == value_table(metric, k)[-1]
    assert mg_pass_at_k(8, range(9), 1).tolist() == [0.0] * 9
    assert mg_pass_at_k(8, range(9), 1, integral='exact').tolist() == [c / 8 for c in range(9)]


def test_ceilings_are_free_of_binary_rounding() -> None:
    """25·0.28 is 7.000000000000001 in binary; what arange, linspace and i/k make means what it says."""
    assert math.ceil(25 * 0.28) == 8
    assert required_correct(25, 0.28) == required_correct(25, np.float32(0.28)) == 7
    for k in (3, 7, 10, 25, 49, 98, 100, 1_000, 9_999):
        expected = [max(1, -(-k * i // 100)) for i in range(101)]
        assert [required_correct(k, tau) for tau in np.arange(0, 1.005, 0.01)] == expected
        assert [required_correct(k, tau) for tau in np.linspace(0, 1, 101)] == expected
        steps = range(1, min(k, 1_000) + 1)
        assert [required_correct(k, i / k) for i in steps] == list(steps)


@settings(max_examples=50)
@given(st.data())
def test_estimates_are_unbiased(data: st.DataObject) -> None:
    """Averaged over all ways to keep n of N answers, the estimate from n is the one from N."""
    everything = data.draw(st.integers(1, 60))
    n, c = data.draw(st.integers(1, everything)), data.draw(st.integers(0, everything))
    k, tau = data.draw(st.integers(1, n)), data.draw(st.sampled_from(DEFAULT_THRESHOLDS))
    ways = [math.comb(c, kept) * math.comb(everything - c, n - kept) for kept in range(n + 1)]
    chances = np.array([way / math.comb(everything, n) for way in ways])
    assert chances @ g_pass_at_k(n, range(n + 1), k, tau) == pytest.approx(g_pass_at_k(everything, c, k, tau))
    assert chances @ mg_pass_at_k(n, range(n + 1), k) == pytest.approx(mg_pass_at_k(everything, c, k))


@given(st.data())
def test_the_majority_is_that_of_all_draws_counted(data: st.DataObject) -> None:
    """Every subset of k samples, its commonest answers, a fair draw between those that tie."""
    n = data.draw(st.integers(1, 8))
    answers = data.draw(st.lists(st.sampled_from(['', '1', '2', '3', '4']), min_size=n, max_size=n))
    correct = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    k = data.draw(st.integers(1, n))
    hits = {one: [hit for a, hit in zip(answers, correct, strict=True) if a == one] for one in answers}
    right = {answer for answer, each in hits.items() if answer and 2 * sum(each) > len(each)}
    won = Fraction(0)
    for draw in itertools.combinations(answers, k):
        cast = [answer for answer in draw if answer]
        most = max(map(cast.count, cast), default=0)
        tied = {answer for answer in cast if cast.count(answer) == most}
        won += Fraction(len(tied & right), max(len(tied), 1))
    assert majority(answers, correct, k) == float(won / math.comb(n, k))


# Keys

KS = st.integers(1, 4096)
TAUS = st.floats(0, 1) | st.builds(lambda k, i: min(i, k) / k, KS, st.integers(0, 4096))
METRICS = st.just(ACCURACY) | st.builds(Metric, st.just(Kind.G_PASS), KS, TAUS)
METRICS |= st.builds(Metric, st.sampled_from([Kind.PASS, Kind.MG_PASS]), KS)


@given(METRICS, METRICS)
def test_a_key_is_read_as_the_metric_that_wrote_it(metric: Metric, other: Metric) -> None:
    """Equal, with the same hash and the same key, whatever τ; no two metrics have one key."""
    again = Metric.parse(str(metric))
    assert (again, hash(again), str(again), again.steps) == (metric, hash(metric), str(metric), metric.steps)
    assert (metric == other) == (str(metric) == str(other))


@given(KS, st.data())
def test_a_multiple_of_a_k_th_needs_exactly_so_many(k: int, data: st.DataObject) -> None:
    """i/k of k is i, also where the nine decimals of the key lie above it."""
    i = data.draw(st.integers(1, k))
    assert Metric(Kind.G_PASS, k, i / k).steps == Metric.parse(f'G-Pass@{k}_{round(i / k, 9)}').steps == (i,)


@pytest.mark.parametrize(
    ('metric', 'key'),
    [
        (ACCURACY, 'accuracy'),
        (Metric(Kind.PASS, 4), 'pass@4'),
        (Metric(Kind.G_PASS, 16, 0), 'G-Pass@16_0.0'),
        (Metric(Kind.G_PASS, 16, np.float32(0.28)), 'G-Pass@16_0.28'),
        (Metric(Kind.G_PASS, 3, 0.1 + 0.2), 'G-Pass@3_0.3'),
        (Metric(Kind.G_PASS, 4, -0.0), 'G-Pass@4_0.0'),
        (Metric(Kind.G_PASS, 4, 1e-5), 'G-Pass@4_1e-05'),
        (Metric(Kind.MG_PASS, 16), 'mG-Pass@16'),
    ],
    ids=str,
)
def test_keys_are_the_published_ones(metric: Metric, key: str) -> None:
    """As they stand in result files."""
    assert str(metric) == key
    assert Metric.parse(key) == metric


def test_metrics_are_ordered_as_tables_show_them() -> None:
    """Accuracy, then by k, and of each k the mean last."""
    ordered = [ACCURACY, *metrics_of([2, 16], [0.0, 0.5, 1.0], pass_at=True)]
    for shuffled in itertools.islice(itertools.permutations(ordered), 0, 100_000, 9_973):
        assert sorted(shuffled) == ordered
    means = [str(one) for one in ordered if one.kind in (Kind.G_PASS, Kind.MG_PASS)]
    assert metric_names([2, 16], [0.0, 0.5, 1.0]) == means
    assert list(metric_table(16, [2, 16], [0.0, 0.5, 1.0])) == [str(one) for one in ordered[1:]]


NO_KEYS = """pass pass@ pass@0 pass@04 pass@4_0.5 pass^4 G-Pass@4 G-Pass@4_ G-Pass@4_x G-Pass@4_1.5 gPass@4
G-Pass@4_-0.5 G-Pass@4_0.5.1 G-Pass@4-0.5 G-Pass@4_nan mG-Pass@4_0.5 mG-Pass@9999999 mG-Pass@10001 Greedy
Accuracy"""


@pytest.mark.parametrize('text', ['', 'mG-Pass@4 ', 'G-Pass@\uff14_0.5', *NO_KEYS.split()])
def test_what_is_no_key_is_refused_in_one_line(text: str) -> None:
    """It names the text."""
    with pytest.raises(InputError, match='is no metric: ') as caught:
        Metric.parse(text)
    assert repr(text) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (('other', 4), 'kind of metric'), ((Kind.ACCURACY, 4), 'k = 4'),
        ((Kind.PASS, 4, 0.5), 'threshold 0.5'), ((Kind.G_PASS, 4), 'threshold None'),
        ((Kind.G_PASS, 4, 1.5), 'from 0 to 1'), ((Kind.MG_PASS, 0), 'k must be'),
    ],
    ids=str,
)  # fmt: skip
def test_a_metric_that_does_not_exist_is_refused(arguments: tuple[object, ...], words: str) -> None:
    """Before anything is computed of it."""
    with pytest.raises(InputError, match=words):
        Metric(*arguments)  # type: ignore[arg-type]


def test_docstring_examples_run() -> None:
    """What the docstrings show is what happens."""
    assert doctest.testmod(metrics).failed == 0
