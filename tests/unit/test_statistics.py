"""Intervals, reruns, ranks, decisions and plans, against scipy, brute force and known truths."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import Metric, value_table
from gpassk_opencompass.statistics import (
    all_pairs,
    between_runs,
    compare_runs,
    decide,
    decide_rows,
    difference,
    mean_interval,
    plan,
    rerun_error,
    standard_error,
)

UNEQUAL = [0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9, 9, 10]
"""Problems of six, three, two questions and one."""

shares = st.floats(0, 1, width=32)
rows = st.integers(1, 12).map(
    lambda size: st.lists(shares | st.just(0.0) | st.just(1.0), min_size=size, max_size=size)
)
tables = rows.flatmap(lambda row: st.lists(row, min_size=2, max_size=5))


def table_of(name, n):
    return value_table(Metric.parse(name), n)


def metric(name):
    return partial(value_table, Metric.parse(name))


def drawn(chances, name, n, seed):
    """Values of n answers that are right with these chances."""
    return table_of(name, n)[np.random.default_rng(seed).binomial(n, chances)]


# -------------------- scores and differences


@pytest.mark.parametrize('level', [0.8, 0.95, 0.99])
def test_intervals_are_those_of_t_with_opposite_problems_more(level):
    """Two at the top of the metric and two at 0 for a score; one of each sign for a difference."""
    first, second = np.random.default_rng(2).random((2, 40))
    for top in (1.0, 0.8):
        more = [*(top * first), top, top, 0, 0]
        found = mean_interval(top * first, top=top).at(level)
        assert found == pytest.approx(stats.t.interval(level, 43, np.mean(more), stats.sem(more)))
    paired = stats.ttest_rel([*first, 1, 0], [*second, 0, 1]).confidence_interval(level)
    assert difference(first, second).at(level) == pytest.approx((paired.low, paired.high))


def literal(sums, sizes, added):
    """Centre, error and degrees of freedom by loops over the problems and the added ones."""
    size = sum(m * m for m in sizes) / sum(sizes)
    sums, sizes = [*sums, *(size * a for a in added)], [*sizes, *(size for _ in added)]
    total, centre = sum(sizes), sum(sums) / sum(sizes)
    squares = sum((s - centre * m) ** 2 for s, m in zip(sums, sizes, strict=True))
    factor = len(sizes) / (len(sizes) - 1)
    return centre, math.sqrt(factor * squares) / total, total**2 / sum(m * m for m in sizes) - 1


def test_problems_of_unequal_size_weigh_as_much_as_they_have_questions():
    """The added problems are as large as the problem of a question taken at random."""
    values = np.random.default_rng(3).random(20)
    sums = [float(values[np.array(UNEQUAL) == j].sum()) for j in range(11)]
    sizes = [float(UNEQUAL.count(j)) for j in range(11)]
    found = mean_interval(values, UNEQUAL)
    assert found[1:4] == pytest.approx(literal(sums, sizes, (1, 1, 0, 0)))
    assert (found.estimate, found.problems) == (pytest.approx(values.mean()), 11)
    assert found.effective == pytest.approx(400 / sum(m * m for m in sizes))
    apart = difference(values, np.zeros(20), UNEQUAL)
    assert apart[1:4] == pytest.approx(literal(sums, sizes, (1, -1)))
    # What other programs print has no problem added; of one problem nothing is known.
    assert standard_error(values) == pytest.approx(stats.sem(values))
    assert standard_error(values, UNEQUAL) == pytest.approx(literal(sums, sizes, ())[1])
    assert math.isnan(standard_error([1, 0, 1], [1, 1, 1]))


@given(st.lists(shares, min_size=1, max_size=30), st.data(), st.floats(0.5, 0.999))
def test_no_interval_is_without_the_printed_score(values, data, level):
    """Nor outside of the range of the metric; and it is never refused, whatever the problems."""
    problems = data.draw(st.lists(st.integers(0, 9), min_size=len(values), max_size=len(values)))
    found = mean_interval(values, problems)
    low, high = found.at(level)
    assert 0 <= low <= found.estimate <= high <= 1
    assert found.estimate == pytest.approx(sum(values) / len(values))
    apart = difference(values, values[::-1], problems)
    low, high = apart.at(level)
    assert -1 <= low <= apart.estimate <= high <= 1


def test_few_problems_are_said_to_be_few():
    """By their number in effect: one of 200 questions beside 40 of one question is nearly all."""
    assert mean_interval([0.5] * 10).remark == ''
    assert '9 problems: so few' in mean_interval([0.5] * 9).remark
    lopsided = mean_interval([0.5] * 240, [0] * 200 + list(range(1, 41)))
    assert '41 problems, 1.4 in effect: so few' in lopsided.remark


@pytest.mark.parametrize(
    ('call', 'message'),
    [
        (lambda: mean_interval([]), 'of one question at least'),
        (lambda: mean_interval([50.0, 20.0]), 'expected 0 to 1'),
        (lambda: mean_interval([0.5, math.nan]), 'expected 0 to 1'),
        (lambda: mean_interval([0.5, 0.9], top=0.8), 'expected 0 to 0.8'),
        (lambda: mean_interval([0.5, 0.9], [1]), 'give one a question'),
        (lambda: difference([0.5, 0.9], [1]), 'same questions in both'),
        (lambda: compare_runs([[0.5]], [[0.5]], questions='old'), "expected 'same' or 'new'"),
        (lambda: decide(difference([1], [0]), margin=0.0), 'does not matter'),
        (lambda: plan([1, 2], 4, metric('accuracy'), [4]), 'one of them'),
        (lambda: plan([1], 4, metric('accuracy'), [4], half_width=0.1), 'two at least'),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


# -------------------- reruns


def test_the_larger_of_two_variances_counts():
    """By brute force: Var(value) under each chance alone, and under the likeliest mixture on a grid."""
    counts, table = np.array([8, 8, 7, 8, 2, 8]), table_of('mG-Pass@4', 8)
    chances = np.concatenate([[0], 1 / (1 + np.exp(-np.linspace(-7, 7, 57))), [1]])

    def variance(p):
        ways = [math.comb(8, x) * p**x * (1 - p) ** (8 - x) for x in range(9)]
        mean = sum(way * value for way, value in zip(ways, table, strict=True))
        return sum(way * (value - mean) ** 2 for way, value in zip(ways, table, strict=True))

    weights = np.full(59, 1 / 59)
    for _ in range(100):
        likely = weights * stats.binom.pmf(counts[:, None], 8, chances)
        weights = (likely / likely.sum(1, keepdims=True)).mean(0)
    alone = sum(variance((c + 0.5) / 9) for c in counts)
    mixed = 6 * sum(weight * variance(p) for weight, p in zip(weights, chances, strict=True))
    expected = math.sqrt(max(alone, mixed)) / 6
    assert rerun_error(counts, 8, metric('mG-Pass@4')) == pytest.approx(expected)


def test_questions_with_other_numbers_of_samples_add_up():
    """Variances of sums add up; and n may be larger than what a float's factorial holds."""
    four, six = np.array([1, 3, 4]), np.array([0, 2])
    parts = [3 * rerun_error(four, 4, metric('accuracy')), 2 * rerun_error(six, 6, metric('accuracy'))]
    both = rerun_error([*four, *six], np.array([4, 4, 4, 6, 6]), metric('accuracy'))
    assert both == pytest.approx(math.hypot(*parts) / 5)
    assert rerun_error([1500, 1500], 3000, metric('accuracy')) == pytest.approx(
        0.5 / math.sqrt(6000), rel=1e-3
    )


def test_the_variance_between_runs_is_pooled_over_the_models():
    first, second = np.random.default_rng(10).random((4, 25)), np.random.default_rng(11).random((2, 25))
    pooled = (3 * first.mean(1).var(ddof=1) + second.mean(1).var(ddof=1)) / 4
    assert between_runs([first, second, first[:1]]) == (pytest.approx(pooled), 4)
    assert between_runs([first[:1]]) == (0, 0)


def test_on_the_same_questions_the_run_is_the_unit():
    """Student's two-sample t over the means of the runs, never below what sampling alone makes of them."""
    rng = np.random.default_rng(11)
    first = np.clip(rng.random((3, 40)) + rng.random((3, 1)) / 5, 0, 1)
    second = np.clip(rng.random((5, 40)) + rng.random((5, 1)) / 5, 0, 1)
    expected = stats.ttest_ind(first.mean(1), second.mean(1)).confidence_interval()
    found = compare_runs(first, second, questions='same')
    assert found.at() == pytest.approx((expected.low, expected.high))
    assert compare_runs(first, second, questions='same', rerun_variance=1.0).error == 1
    alone = compare_runs(first[:1], second[:1], questions='same', rerun_variance=0.01)
    gap = first[0].mean() - second[0].mean()
    assert alone.at() == pytest.approx((gap - 0.196, gap + 0.196), abs=1e-4)
    shared = compare_runs(first[:1], second[:1], questions='same', between=(0.02, 8))
    assert (shared.error, shared.freedom) == (pytest.approx(0.2), 8)


def test_on_new_questions_the_runs_are_added_to_the_questions():
    """Two variances with the degrees of freedom of Satterthwaite; one run a side knows of questions alone."""
    first, second = np.random.default_rng(12).random((2, 3, 40))
    questions = difference(first.mean(0), second.mean(0))
    spread, freedom = between_runs([first, second])
    a, b = float(questions.error) ** 2, float(spread) * 2 / 3
    found = compare_runs(first, second)
    assert found.error == pytest.approx(math.sqrt(a + b))
    assert found.freedom == pytest.approx((a + b) ** 2 / (a**2 / 41 + b**2 / freedom))
    assert found.centre == questions.centre
    assert compare_runs(first[:1], second[:1]) == difference(first[0], second[0])
    known = compare_runs(first[:1], second[:1], between=(0.02**2, math.inf))
    assert known.error > difference(first[0], second[0]).error


# -------------------- ranks


def test_the_critical_value_is_that_of_the_largest_t_of_all_draws():
    """Each draw changes the signs of whole problems, of centred runs, and every pair's t is had anew."""
    values = np.random.default_rng(13).random((4, 20))
    problems = np.array(UNEQUAL)
    sums = np.stack([values[:, problems == j].sum(1) for j in range(11)], 1)
    sizes = np.array([UNEQUAL.count(j) for j in range(11)])
    centred = sums - sums.sum(1, keepdims=True) / 20 * sizes
    largest = []
    for signs in np.random.default_rng(0).integers(2, size=(999, 11)) * 2 - 1:
        ts = []
        for i, j in itertools.combinations(range(4), 2):
            centre, error, freedom = literal([*signs * (centred[i] - centred[j])], [*sizes], (1, 1, -1, -1))
            ts.append(abs(centre) / error)
        largest.append(max(ts))
    expected = max(1.02 * sorted(largest)[949], stats.t.ppf(0.975, freedom))
    assert all_pairs(values, UNEQUAL, draws=999).critical == pytest.approx(expected)


def test_the_interval_of_a_pair_is_wider_on_the_side_of_its_thin_tail():
    """With two problems more each way; Hall's transformation of t reaches the critical value there."""
    rng = np.random.default_rng(31)
    values = np.stack([1.0 - (rng.random(300) < 0.01), np.full(300, 0.97), rng.random(300)])
    found = all_pairs(values)
    for i, j in itertools.permutations(range(3), 2):
        apart = values[i] - values[j]
        centre, error, _ = literal([*apart], [1.0] * 300, (1, 1, -1, -1))
        squares = (error * 304) ** 2 * 303 / 304
        skew = ((apart - apart.mean()) ** 3).sum() / squares**1.5
        reach = found.critical
        if skew < 0:
            hall = lambda t: t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6 - found.critical  # noqa: B023, E731
            reach = max(reach, optimize.brentq(hall, 0, 3 / -skew))
        assert found.low[i, j] == pytest.approx(
            min(centre - reach * error, difference(values[i], values[j]).at()[0])
        )
        assert found.high[j, i] == -found.low[i, j]
    lucky = (found.difference[0, 1] - found.low[0, 1]) / (found.high[0, 1] - found.difference[0, 1])
    assert lucky > 1.1


@settings(deadline=None)
@given(tables, st.booleans())
def test_a_table_and_a_comparison_never_contradict_each_other(table, clustered):
    """Who is better in the table is better in the comparison of the two, and no interval is narrower."""
    values = np.array(table)
    problems = [number % 4 for number in range(values.shape[1])] if clustered else None
    found = all_pairs(values, problems, draws=99)
    for i, j in itertools.permutations(range(len(values)), 2):
        alone = difference(values[i], values[j], problems)
        low, high = alone.at()
        assert found.low[i, j] <= low + 1e-12
        assert found.high[i, j] >= high - 1e-12
        assert found.low[i, j] <= found.difference[i, j] <= found.high[i, j]
        assert not found.better[i, j] or low > 0
        assert not (found.better[i, j] and found.better[j, i])
        if found.better[i, j]:
            assert str(decide(alone, 0.01)) == 'better'


@pytest.mark.parametrize('reruns', [[2, 2, 2, 2], [3, 1, 2, 5]])
def test_a_table_with_reruns_and_a_comparison_of_two_models_agree(reruns):
    """The variance between runs is the table's in both; the table's interval has Tukey's range in it."""
    rng = np.random.default_rng(14)
    for _ in range(20):
        base = rng.normal(size=40) + 1.5 * rng.normal(size=(4, 1))
        runs = [
            1 / (1 + np.exp(-base[model] - 0.3 * rng.normal(size=(count, 1))))
            for model, count in enumerate(reruns)
        ]
        spread, freedom = between_runs(runs)
        found = all_pairs([one.mean(0) for one in runs], runs=(float(spread), freedom, reruns))
        for i, j in itertools.permutations(range(4), 2):
            low, high = compare_runs(runs[i], runs[j], between=(spread, freedom)).at()
            assert found.low[i, j] <= low + 1e-12
            assert found.high[i, j] >= high - 1e-12
            assert not found.better[i, j] or low > 0


def test_a_table_of_one_model_has_one_rank():
    assert all_pairs([[0.2, 0.9, 0.5]]).ranks.tolist() == [[1, 1]]
    assert not all_pairs([[1, 0, 1]] * 3).better.any()


# -------------------- decisions and plans


@given(st.floats(-0.3, 0.3), st.floats(0, 0.2), st.floats(0.001, 0.4))
def test_a_decision_follows_from_the_printed_interval(estimate, error, margin):
    found = difference([0.5], [0.5])._replace(estimate=estimate, centre=estimate, error=error, freedom=30.0)
    low, high = found.at()
    expected = 'undecided'
    if low > 0:
        expected = 'better'
    elif -margin < low and high < margin:
        expected = 'equivalent'
    elif -margin < low:
        expected = 'not worse'
    elif high < 0:
        expected = 'worse'
    assert str(decide(found, margin)) == expected


def test_several_rows_pass_only_if_all_do():
    like = difference([0.5] * 200, [0.5] * 200)
    better, worse = like._replace(centre=0.2, estimate=0.2), like._replace(centre=-0.2, estimate=-0.2)
    open_ = like._replace(centre=-0.1, estimate=-0.1, error=0.1)
    barely = like._replace(centre=-0.1, estimate=-0.1, error=0.1 / 1.99)
    assert decide_rows([like], 0.05) == ('equivalent', ['equivalent'])
    assert decide_rows([like, better], 0.05)[0] == 'not worse'
    assert decide_rows([better, better], 0.05)[0] == 'better'
    assert decide_rows([better, worse], 0.05)[0] == 'worse'
    assert decide_rows([better, open_], 0.05)[0] == 'undecided'
    assert decide_rows([barely], 0.05)[0] == 'worse'
    assert decide_rows([barely, like, like], 0.05)[0] == 'undecided'


def test_a_plan_gives_the_half_width_it_says():
    """From a pilot of 2,000 questions, which leaves no doubt of its own, and with clusters of two."""
    rng = np.random.default_rng(23)
    chances = rng.beta(0.4, 0.4, 2000)
    for size in (1, 2):
        pilot, problems = rng.binomial(16, np.repeat(chances, size)), np.repeat(np.arange(2000), size)
        [found] = plan(pilot, 16, metric('mG-Pass@8'), [32], half_width=0.05, problems=problems)
        values = drawn(
            np.repeat(rng.beta(0.4, 0.4, (400, found.questions // size)), size, -1), 'mG-Pass@8', 32, 24
        )
        low, high = mean_interval(values, np.repeat(np.arange(found.questions // size), size)).at()
        assert np.median(high - low) / 2 == pytest.approx(0.05, rel=0.05)
        assert found.samples == 32 * found.questions


def test_a_plan_lets_two_equal_runs_pass_as_often_as_it_says():
    """Four times in five, of other questions and samples of the kind of the pilot."""
    rng = np.random.default_rng(29)
    [found] = plan(rng.binomial(16, rng.beta(0.4, 0.4, 2000)), 16, metric('accuracy'), [16], margin=0.04)
    chances = rng.beta(0.4, 0.4, (2000, found.questions))
    first, second = (table_of('accuracy', 16)[rng.binomial(16, chances)] for _ in 'ab')
    assert 0.77 <= (decide(difference(first, second), 0.04) == 'equivalent').mean() <= 0.87
