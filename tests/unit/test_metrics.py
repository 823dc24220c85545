"""The formulas against rationals, scipy, OpenCompass and published values; keys; what is refused."""

import itertools
import json
import math
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import hypergeom

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import (
    ACCURACY,
    DEFAULT_THRESHOLDS,
    LARGEST_N,
    GPassAtK,
    Kind,
    Metric,
    g_pass_at_k,
    majority,
    metric_table,
    metrics_of,
    mg_pass_at_k,
    pass_at_k,
    value_table,
)

REAL_LABELS = Path(__file__).resolve().parents[3] / 'shared/data/samples/math_cot_100_n8.jsonl'


def exact_tails(n, c, k):
    """P[X ≥ m] for m = 0 … k + 1, by counting the draws with each number of correct answers."""
    ways = [math.comb(c, j) * math.comb(n - c, k - j) for j in range(k + 1)]
    return [Fraction(sum(ways[m:]), math.comb(n, k)) for m in range(k + 2)]


# Values


@pytest.mark.parametrize('n', range(1, 25))
def test_every_value_up_to_n_24_is_the_correctly_rounded_rational(n):
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
def test_agrees_with_scipy_up_to_n_10000(n, k):
    c = np.unique(np.linspace(0, n, 200).astype(int))
    tails = {m: hypergeom.sf(m - 1, n, c, k) for m in range(1, k + 1)}
    for threshold in DEFAULT_THRESHOLDS:
        expected = tails[max(1, math.ceil(k * threshold))]
        np.testing.assert_allclose(g_pass_at_k(n, c, k, threshold), expected, rtol=0, atol=1e-12)
    published = 2 / k * sum(tails[i] for i in range(k // 2 + 1, k + 1))
    np.testing.assert_allclose(mg_pass_at_k(n, c, k), published, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize(('n', 'k'), [(8, 4), (12, 8), (48, 16), (9, 5), (6, 1)])
def test_agrees_with_opencompass_where_opencompass_is_right(n, k):
    """Where it is not: tests/plugin/test_builtin_differences.py."""
    name = 'opencompass.openicl.icl_evaluator.icl_base_evaluator'
    opencompass = pytest.importorskip(name, reason='OpenCompass is not installed')
    for c in range(n + 1):
        assert pass_at_k(n, c, k) == pytest.approx(opencompass.compute_pass_at_k(n, c, k), abs=1e-12)
        assert mg_pass_at_k(n, c, k) == pytest.approx(opencompass.compute_mg_pass_at_k(n, c, k), abs=1e-12)
        for tau in DEFAULT_THRESHOLDS:
            theirs = opencompass.compute_g_pass_at_k(n, c, k, tau)
            assert g_pass_at_k(n, c, k, tau) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.skipif(not REAL_LABELS.is_file(), reason='the real samples are not beside the checkout')
@pytest.mark.parametrize(
    ('k', 'expected'), [(4, [95.10, 92.49, 89.44, 86.97, 88.21]), (8, [96.0, 92.0, 89.0, 86.0, 87.75])]
)
def test_real_labels_give_the_reference_values(k, expected):
    """100 questions × 8 graded samples give the values that their description lists."""
    with REAL_LABELS.open(encoding='utf-8') as file:
        counts = [sum(json.loads(line)['score']) for line in file]
    table, taus = metric_table(8, k, [0.0, 0.5, 0.75, 1.0]), [0.0, 0.5, 0.75, 1.0]
    published = [100 * table[name][counts].mean() for name in map(str, metrics_of(k, taus))]
    assert published == pytest.approx(expected, abs=0.00501)


def test_odd_k_leaves_a_perfect_model_below_one():
    """(k − 1)/k by the published sum, which is empty for k = 1; the exact integral gives 1, and accuracy."""
    for k in range(1, 25):
        assert mg_pass_at_k(24, 24, k) == ((k - 1) / k if k % 2 else 1.0)
        assert mg_pass_at_k(24, 24, k, integral='exact') == 1.0
        for metric in (Metric(Kind.MG_PASS, k), Metric(Kind.PASS, k), Metric(Kind.G_PASS, k, 0.75)):
            assert metric.top == value_table(metric, k)[-1]
    assert mg_pass_at_k(8, range(9), 1).tolist() == [0.0] * 9
    assert mg_pass_at_k(8, range(9), 1, integral='exact').tolist() == [c / 8 for c in range(9)]


def needed(k, tau):
    """How many of k answers have to be right."""
    return Metric(Kind.G_PASS, k, tau).steps[0]


def test_ceilings_are_free_of_binary_rounding():
    """25·0.28 is 7.000000000000001 in binary; what arange, linspace and i/k make means what it says."""
    assert math.ceil(25 * 0.28) == 8
    assert needed(25, 0.28) == needed(25, np.float32(0.28)) == 7
    for k in (3, 7, 10, 25, 49, 98, 100, 1_000, 9_999):
        expected = [max(1, -(-k * i // 100)) for i in range(101)]
        assert [needed(k, tau) for tau in np.arange(0, 1.005, 0.01)] == expected
        assert [needed(k, tau) for tau in np.linspace(0, 1, 101)] == expected
        steps = range(1, min(k, 1_000) + 1)
        assert [needed(k, i / k) for i in steps] == list(steps)


@given(st.data())
def test_the_majority_is_that_of_all_draws_counted(data):
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
def test_a_key_is_read_as_the_metric_that_wrote_it(metric, other):
    """Equal, and with the same steps, whatever τ; no two metrics have one key."""
    again = Metric.parse(str(metric))
    assert (again, str(again), again.steps) == (metric, str(metric), metric.steps)
    assert (metric == other) == (str(metric) == str(other))


@given(KS, st.data())
def test_a_multiple_of_a_k_th_needs_exactly_so_many(k, data):
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
def test_keys_are_the_published_ones(metric, key):
    assert str(metric) == key
    assert Metric.parse(key) == metric


def test_metrics_are_ordered_as_tables_show_them():
    ordered = [ACCURACY, *metrics_of([2, 16], [0.0, 0.5, 1.0], pass_at=True)]
    for shuffled in itertools.islice(itertools.permutations(ordered), 0, 100_000, 9_973):
        assert sorted(shuffled) == ordered
    means = [str(one) for one in ordered if one.kind in (Kind.G_PASS, Kind.MG_PASS)]
    assert list(map(str, metrics_of([2, 16], [0.0, 0.5, 1.0]))) == means
    assert list(metric_table(16, [2, 16], [0.0, 0.5, 1.0])) == [str(one) for one in ordered[1:]]


NO_KEYS = """pass pass@ pass@0 pass@04 pass@4_0.5 pass^4 G-Pass@4 G-Pass@4_ G-Pass@4_x G-Pass@4_1.5 gPass@4
G-Pass@4_-0.5 G-Pass@4_0.5.1 G-Pass@4-0.5 G-Pass@4_nan mG-Pass@4_0.5 mG-Pass@9999999 mG-Pass@10001 Greedy
Accuracy"""


@pytest.mark.parametrize('text', ['', 'mG-Pass@4 ', 'G-Pass@\uff14_0.5', *NO_KEYS.split()])
def test_what_is_no_key_is_refused_in_one_line(text):
    with pytest.raises(InputError, match='is no metric: ') as caught:
        Metric.parse(text)
    assert repr(text) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    'arguments',
    [(Kind.ACCURACY, 4), (Kind.PASS, 4, 0.5), (Kind.G_PASS, 4), (Kind.G_PASS, 4, 1.5), (Kind.MG_PASS, 0)],
    ids=str,
)
def test_a_metric_that_does_not_exist_is_refused(arguments):
    with pytest.raises(InputError):
        Metric(*arguments)


# What they accept and refuse

BAD_COUNTS = [
    9, 2**70, -1, 2.5, math.nan, 3.0, True, '3', None, [1, 9], [[1], [-3]], [1, 2.5], [1, None],
    np.array([1.0, np.nan]), np.array([1.0, 2.0]), np.array([True, False]), np.array([250], dtype=np.uint8),
]  # fmt: skip
BAD_SIZES = [
    (8, 9, 'k must be a whole number from 1 to n = 8, got 9'), (8, 0, 'k must be'), (8, 2.5, 'k must be'),
    (8, math.nan, 'k must be'), (8, 4.0, 'k must be'), (8, True, 'k must be'), (0, 1, 'n must be'),
    (LARGEST_N + 1, 1, 'n must be a whole number from 1 to 10000'), (None, 1, 'n must be'),
]  # fmt: skip


@pytest.mark.parametrize('c', BAD_COUNTS, ids=str)
def test_impossible_counts_are_refused(c):
    for metric in (pass_at_k, mg_pass_at_k, partial(g_pass_at_k, threshold=0.5)):
        with pytest.raises(InputError, match='c must '):
            metric(8, c, 4)


@pytest.mark.parametrize(('n', 'k', 'message'), BAD_SIZES)
def test_impossible_sizes_are_refused(n, k, message):
    """k > n and other sizes that mean nothing raise instead of giving 0.0 or 1.0."""
    for metric in (pass_at_k, mg_pass_at_k, partial(g_pass_at_k, threshold=1.0)):
        with pytest.raises(InputError, match=message):
            metric(n, 0, k)
    with pytest.raises(InputError, match=message):
        metric_table(n, [k])


@pytest.mark.parametrize('threshold', [-0.1, 1.1, math.nan, '0.5', True, None])
def test_impossible_thresholds_are_refused(threshold):
    with pytest.raises(InputError, match='threshold'):
        g_pass_at_k(8, 4, 4, threshold)
    with pytest.raises(InputError, match='threshold'):
        metrics_of(4, [threshold])


DTYPES = st.sampled_from([np.int64, np.uint8, np.int16])


@settings(max_examples=50)
@given(arrays(DTYPES, array_shapes(min_dims=0), elements=st.integers(0, 12)))
def test_arrays_of_any_shape_and_type_give_the_values_of_their_elements(counts):
    """The result has the shape of c; of a single count it is a plain float."""
    for metric in (pass_at_k, mg_pass_at_k, partial(g_pass_at_k, threshold=0.75)):
        values = np.asarray(metric(12, counts, 5))
        assert (values.dtype, values.shape) == (np.float64, counts.shape)
        assert values.ravel().tolist() == [metric(12, int(c), 5) for c in counts.ravel()]
    for c in (3, np.int32(3), np.uint8(3), np.array(3)):
        assert type(g_pass_at_k(np.int64(4), c, np.int8(2), 1.0)) is float
    assert g_pass_at_k(4, np.empty((3, 0), dtype=int), 2, 1.0).shape == (3, 0)


def test_lists_of_k_and_thresholds_must_be_sets():
    with pytest.raises(InputError, match='at least one k'):
        metrics_of([])
    with pytest.raises(InputError, match=r'G-Pass@4_0\.0 would be computed twice'):
        metrics_of([4, 8, 4])
    with pytest.raises(InputError, match=r'G-Pass@4_0\.3 would be computed twice'):
        metric_table(8, 4, [0.3, 0.1 + 0.2])


def test_tables_cannot_be_spoiled_for_the_next_caller():
    """Tables are shared, so they are read-only; looked-up values are the caller's own."""
    with pytest.raises(ValueError, match='read-only'):
        metric_table(12, 4)['mG-Pass@4'][0] = 1.0
    values = mg_pass_at_k(12, [12], 4)
    values[0] = 0.5
    assert mg_pass_at_k(12, 12, 4) == 1.0


# A single question


@pytest.mark.parametrize(
    ('scoring', 'correct'),
    [
        (None, [1, 0, 0, 0]),
        ('prefix', [1, 1, 0, 0]),
        ('suffix', [1, 0, 1, 0]),
        (lambda pred, gold: np.bool_(gold in pred), [1, 1, 1, 0]),
    ],
)
def test_scoring_functions_decide_what_is_correct(scoring, correct):
    metric = GPassAtK(k=1, thresholds=[1.0], sample_scoring_function=scoring)
    gold = '42 ' if isinstance(scoring, str) else '42'
    found = [metric.compute([text], gold)['G-Pass@1_1.0'] for text in (' 42\n', '42 apples', 'it is 42', '4')]
    assert found == correct


def computed(predictions, gold, **arguments):
    return lambda: GPassAtK(**arguments).compute(predictions, gold)


@pytest.mark.parametrize(
    ('call', 'message'),
    [
        (computed(['a', 'b'], ['a', 'b'], k=2), 'exactly one gold answer, got 2'),
        (computed(['a', 'b'], 'a', k=2, n=3), 'at least 3 answers, got 2'),
        (computed([], 'a', k=1), 'at least 1 answers, got 0'),
        (computed('ab', 'a', k=1), 'a list with an item an answer, got str'),
        (computed(['a', None], 'a', k=1), 'prediction None'),
        (computed(['a'], 7, k=1), 'gold 7'),
        (computed(['a'], ' ', k=1, sample_scoring_function='prefix'), "gold ' '"),
        (computed(['a'], 'a', k=1, sample_scoring_function=lambda p, g: 0.5), 'or 1, got 0.5'),
        (lambda: GPassAtK(k=2, n=4).g_pass_at_k([1, 0.5, 0, 1]), 'got 0.5'),
        (lambda: GPassAtK(k=2, n=4).g_pass_at_k('1101'), 'got str'),
        (partial(GPassAtK, k=4, n=3), 'n must be a whole number from 4'),
        (partial(GPassAtK, k=[]), 'at least one k'),
        (partial(GPassAtK, k=4, thresholds=[2]), 'from 0 to 1'),
        (partial(GPassAtK, 4, sample_scoring_function='equal'), "or a function, got 'equal'"),
    ],
)
def test_what_cannot_be_scored_is_refused(call, message):
    """Missing predictions, several golds and odd scores; none counts as wrong. Settings at once."""
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize('scores', [[1, 0, 1, 1, 0, 1, 0, 1], [True] * 3 + [False] * 5, [1.0] * 8])
@pytest.mark.parametrize('given', [None, 8], ids=['n of the scores', 'n given'])
def test_scores_of_one_question_give_its_metrics(scores, given):
    """As the paper's README calls it: of k answers drawn from n enough are right."""
    c, expected = sum(map(bool, scores)), {}
    for k in (2, 4):
        for tau in (0.0, 0.25, 0.5, 0.75, 1.0):
            expected[f'G-Pass@{k}_{tau}'] = g_pass_at_k(8, c, k, tau)
        expected[f'mG-Pass@{k}'] = mg_pass_at_k(8, c, k)
    metric = GPassAtK(k=[2, 4], n=given, thresholds=[0.0, 0.25, 0.5, 0.75, 1.0])
    found = metric.g_pass_at_k(scores)
    assert list(found) == list(expected) == metric.all_metrics
    assert found == expected == metric.g_pass_at_k(np.array(scores))
    assert found == metric.compute(['7' if score else '8' for score in scores], gold='7')
