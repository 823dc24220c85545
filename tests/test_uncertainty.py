"""Intervals, comparisons, ranks and plans against brute force, exact sums and scipy."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from gpassk_opencompass import InputError
from gpassk_opencompass.metrics import Metric, metric_table, mg_pass_at_k, required_correct
from gpassk_opencompass.uncertainty import (
    Population,
    bootstrap_means,
    compare,
    fit_population,
    mean_interval,
    plan,
    rank_intervals,
    rerun_interval,
    value_table,
)
from gpassk_opencompass.uncertainty.rerun import beta_moments, expected_variances, pair_table

NAMES = ('accuracy', 'pass@3', 'G-Pass@3_0.5', 'G-Pass@3_1.0', 'G-Pass@2_0.0', 'mG-Pass@3', 'mG-Pass@4')
GENERATOR = np.random.default_rng(7)


def score_of(name: str, drawn: tuple[int, ...]) -> Fraction:
    """What a draw of zeros and ones scores, from the definition of the metric."""
    k, right = len(drawn), sum(drawn)
    if name.startswith('mG'):
        return Fraction(2, k) * max(right - (k + 1) // 2, 0)
    needed = {'accuracy': 1, 'pass@3': 1, 'G-Pass@3_0.5': 2, 'G-Pass@3_1.0': 3, 'G-Pass@2_0.0': 1}[name]
    return Fraction(int(right >= needed))


@pytest.mark.parametrize('name', NAMES)
def test_values_and_products_are_those_of_all_draws(name: str) -> None:
    """Every draw, and every pair of disjoint draws, of every row of eight zeros and ones."""
    kernel, n = Metric.parse(name), 8
    values, pairs = value_table(kernel, n), pair_table(kernel, n)
    for c in range(n + 1):
        row = [1] * c + [0] * (n - c)
        draws = list(combinations(range(n), kernel.k))
        scores = {draw: score_of(name, tuple(row[i] for i in draw)) for draw in draws}
        disjoint = [(x, y) for x in draws for y in draws if not set(x) & set(y)]
        assert values[c] == pytest.approx(float(sum(scores.values()) / len(draws)), abs=1e-14)
        product = sum(scores[x] * scores[y] for x, y in disjoint) / len(disjoint)
        assert pairs[c] == pytest.approx(float(product), abs=1e-14)


def test_values_are_the_published_metrics() -> None:
    """The same tables that every result is computed with."""
    for name, column in metric_table(48, [4, 16], [0.25, 0.5, 1.0]).items():
        assert value_table(Metric.parse(name), 48) == pytest.approx(column, abs=1e-13)
    assert value_table(Metric.parse('mG-Pass@5'), 7) == pytest.approx(mg_pass_at_k(7, range(8), 5), abs=1e-14)


def test_a_name_means_the_threshold_that_it_was_made_of() -> None:
    """τ = i/k for every i and k, which a name has to nine decimals, and all τ with two decimals."""
    for k in range(1, 65):
        for tau in [i / k for i in range(k + 1)] + [i / 100 for i in range(101)]:
            assert Metric.parse(Metric.g_pass_at(k, tau).name).steps == (required_correct(k, tau),)


@pytest.mark.parametrize('name', ['', 'G-Pass@4', 'mG-Pass@4_0.5', 'G-Pass@0_0.5', 'G-Pass@4_1.5', 'cons@4'])
def test_a_name_that_is_no_metric_is_refused(name: str) -> None:
    """With the names that are allowed, or the range of the threshold."""
    with pytest.raises(InputError, match=r'expected accuracy|from 0 to 1'):
        Metric.parse(name)


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('p', [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_the_variance_of_a_rerun_is_estimated_without_bias(name: str, p: Fraction) -> None:
    """Its mean over all counts of a question with chance p is the true variance of the value."""
    kernel, n = Metric.parse(name), 9
    values, pairs = value_table(kernel, n), pair_table(kernel, n)
    chances = np.array([float(comb(n, c) * p**c * (1 - p) ** (n - c)) for c in range(n + 1)])
    true = chances @ values**2 - (chances @ values) ** 2
    assert chances @ (values**2 - pairs) == pytest.approx(true, abs=1e-14)


@pytest.mark.parametrize('name', NAMES)
def test_moments_of_a_beta_population_are_those_of_an_integral(name: str) -> None:
    """Mean and variance of the true value, against quadrature over the chance."""
    kernel = Metric.parse(name)

    def value(p: float) -> float:
        return float(stats.binom.pmf(np.arange(kernel.k + 1), kernel.k, p) @ kernel.scores())

    for a, b in ((0.5, 4.5), (2.0, 1.0)):
        density = stats.beta(a, b).pdf
        mean, square = (
            integrate.quad(lambda p, i=i, density=density: value(p) ** i * density(p), 0, 1)[0]
            for i in (1, 2)
        )
        [got_mean], [got_variance] = beta_moments(kernel, np.array([a]), np.array([b]))
        assert (got_mean, got_variance) == pytest.approx((mean, square - mean**2), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize('name', ['accuracy', 'G-Pass@4_1.0', 'mG-Pass@4'])
def test_a_rerun_is_as_noisy_as_the_posterior_expects(name: str) -> None:
    """The variance of the value of n samples for a fixed chance, integrated over Jeffreys' posterior."""
    kernel, n = Metric.parse(name), 6
    values = value_table(kernel, n)

    def variance(p: float) -> float:
        chances = stats.binom.pmf(np.arange(n + 1), n, p)
        return float(chances @ values**2 - (chances @ values) ** 2)

    for c in range(n + 1):
        density = stats.beta(c + 0.5, n - c + 0.5).pdf
        expected = integrate.quad(lambda p, density=density: variance(p) * density(p), 0, 1)[0]
        assert expected_variances(kernel, n)[c] == pytest.approx(expected, abs=1e-7)


def test_the_larger_of_two_estimates_of_the_rerun_noise_counts() -> None:
    """With n < 2k there is the posterior's alone; with n ≥ 2k the disjoint draws may find more."""
    kernel = Metric.parse('G-Pass@4_1.0')
    few = rerun_interval([0, 3, 5, 6, 6], 6, kernel)
    assert few.error == pytest.approx(np.sqrt(expected_variances(kernel, 6)[[0, 3, 5, 6, 6]].sum()) / 5)
    counts = [0, 6, 7, 8, 8]
    disjoint = (value_table(kernel, 8) ** 2 - pair_table(kernel, 8))[counts].sum()
    posterior = expected_variances(kernel, 8)[counts].sum()
    assert rerun_interval(counts, 8, kernel).error == pytest.approx(np.sqrt(max(disjoint, posterior)) / 5)


def test_large_k_does_not_overflow() -> None:
    """k = 2,000, where binomial coefficients are beyond a float; with a uniform chance the mean is plain."""
    [mean], _ = beta_moments(Metric.parse('G-Pass@2000_0.5'), np.array([1.0]), np.array([1.0]))
    assert mean == pytest.approx(1001 / 2001)


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=40, max_size=60), st.floats(0.5, 0.99))
def test_the_interval_solves_wilsons_equation(values: list[float], level: float) -> None:
    """(mean − x)² = t²·x(1 − x)/n, with n = p(1 − p)/SE², at both ends; within [0, 1]."""
    interval = mean_interval(values, level=level)
    mean, error = np.mean(values), stats.sem(values)
    if interval.refused or error == 0:
        return
    t = stats.t.ppf((1 + level) / 2, len(values) - 1)
    number = mean * (1 - mean) / error**2
    for x in (interval.low, interval.high):
        assert (mean - x) ** 2 == pytest.approx(t**2 * x * (1 - x) / number, abs=1e-9)
        assert 0 <= x <= 1
    assert interval.low <= mean <= interval.high


def test_translations_of_one_problem_count_once() -> None:
    """Every row twice under one problem: the error of the 40 problems, not of 80 rows."""
    values = GENERATOR.random(40)
    once = mean_interval(values)
    twice = mean_interval(np.repeat(values, 2), np.repeat(np.arange(40), 2).tolist())
    assert (twice.low, twice.high, twice.problems) == (pytest.approx(once.low), pytest.approx(once.high), 40)
    apart = mean_interval(np.repeat(values, 2))
    assert apart.error == pytest.approx(once.error / np.sqrt(2), rel=0.02)


def test_the_error_is_the_sandwich_of_a_regression() -> None:
    """Clusters of unequal size: the intercept's cluster-robust variance, from its matrices."""
    problems = [i for i in range(30) for _ in range(1 + i % 3)]
    values = GENERATOR.random(len(problems))
    ones = np.ones((len(problems), 1))
    bread = np.linalg.inv(ones.T @ ones)
    residuals = values - values.mean()
    meat = sum(np.sum(residuals[np.array(problems) == i]) ** 2 for i in range(30))
    expected = float(np.sqrt(30 / 29 * bread[0, 0] * meat * bread[0, 0]))
    assert mean_interval(values, problems).error == pytest.approx(expected)


@pytest.mark.parametrize(
    ('values', 'reason'),
    [
        ([0.5] * 19, '19 problems, fewer than 20'),
        ([1.0] * 5 + [0.0] * 200, 'too few problems solved: 5.0'),
        ([0.0] * 5 + [1.0] * 200, 'too few problems unsolved: 5.0'),
        ([0.0] * 50, 'too few problems solved: 0.0'),
        ([0.03] * 50, 'too few problems solved: 1.5 in all'),
    ],
)
def test_no_interval_is_printed_where_none_would_hold(values: list[float], reason: str) -> None:
    """The reason stands where the numbers would."""
    interval = mean_interval(values)
    assert reason in interval.refused
    assert np.isnan([interval.low, interval.high]).all()
    assert interval.estimate == pytest.approx(np.mean(values))


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (([],), 'one finite number'),
        (([0.5, float('nan')],), 'one finite number'),
        (([0.5, 1.5],), r'in \[0, 1\]'),
        (([0.5, 0.5], ['a']), '1 problems for 2 questions'),
        (([0.5] * 30, None, 95), 'level = 95'),
    ],
)
def test_values_that_are_no_scores_are_refused(arguments: tuple[object, ...], message: str) -> None:
    """One number a question, from 0 to 1; a level between 0 and 1."""
    with pytest.raises(InputError, match=message):
        mean_interval(*arguments)  # type: ignore[arg-type]


def test_a_comparison_is_the_paired_t_test() -> None:
    """Against scipy: on questions, and on the means of problems where translations are clusters."""
    first, second = GENERATOR.random((2, 60))
    got, expected = compare(first, second), stats.ttest_rel(first, second)
    assert got.p_value == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert (got.low, got.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    clustered = compare(first, second, np.repeat(np.arange(30), 2).tolist())
    means = stats.ttest_rel(first.reshape(30, 2).mean(1), second.reshape(30, 2).mean(1))
    assert clustered.p_value == pytest.approx(means.pvalue)


def test_pairing_pays_where_questions_are_hard_for_both() -> None:
    """The error of the difference is below that of two separate runs."""
    first = GENERATOR.random(80)
    got = compare(first, np.clip(first + 0.02 * GENERATOR.random(80), 0, 1))
    assert got.error < got.unpaired_error / 5


def test_two_runs_that_hardly_differ_are_not_compared() -> None:
    """Five problems differ: no p-value; another number of questions: an error."""
    first = np.r_[np.ones(5), np.zeros(95)]
    refused = compare(first, np.zeros(100))
    assert 'too few problems differ: 5.0' in refused.refused
    assert np.isnan(refused.p_value)
    with pytest.raises(InputError, match='100 values against 99'):
        compare(first, np.zeros(99))


@pytest.mark.parametrize('value', [1 / 7, 3 / 5, 1.0])
def test_six_equal_problems_are_six(value: float) -> None:
    """At the border nothing hangs on binary rounding, which would call them 5.999999999999999."""
    first = np.r_[np.full(6, value), np.zeros(94)]
    assert compare(first, np.zeros(100)).refused == ''
    beyond = rank_intervals([first, np.zeros(100), 1 - first])
    assert beyond[2].tolist() == [1, 1]
    solved = mean_interval(np.r_[np.full(6, max(value, 3 / 5)), np.zeros(94)])
    assert solved.refused == ''


def test_the_bootstrap_agrees_with_the_formula() -> None:
    """Its spread is the clustered error; the same seed gives the same; runs share their resamples."""
    problems = np.repeat(np.arange(100), 2).tolist()
    values = np.repeat(GENERATOR.random(100), 2)
    means = bootstrap_means(values, problems, replicates=4000, seed=3)
    error = mean_interval(values, problems).error
    assert means.std() == pytest.approx(error, rel=0.06)
    assert means.mean() == pytest.approx(values.mean(), abs=5 * error / np.sqrt(4000))
    assert np.array_equal(means, bootstrap_means(values, problems, replicates=4000, seed=3))
    both = bootstrap_means(np.stack([values, values]), problems, replicates=50)
    assert both.shape == (50, 2)
    assert np.array_equal(both[:, 0], both[:, 1])


def test_clear_ranks_are_found_and_unclear_ones_left_open() -> None:
    """A run that is better everywhere is first; copies share their ranks; few questions leave all open."""
    good, fair = np.ones(60), np.r_[np.ones(30), np.zeros(30)]
    assert rank_intervals([fair, good, fair]).tolist() == [[2, 3], [1, 1], [2, 3]]
    assert rank_intervals([fair[:10], good[:10]]).tolist() == [[1, 2], [1, 2]]
    assert rank_intervals([good]).tolist() == [[1, 1]]


def test_a_population_is_found_again_from_its_counts() -> None:
    """4,000 questions drawn from Beta(0.4, 1.2): the fit is near."""
    counts = stats.betabinom.rvs(16, 0.4, 1.2, size=4000, random_state=5)
    found = fit_population(counts, 16)
    assert (found.a, found.b) == pytest.approx((0.4, 1.2), rel=0.1)
    with pytest.raises(InputError, match='all alike'):
        fit_population([3, 3, 3], 16)


def test_a_plan_holds_what_it_says() -> None:
    """The questions that it asks for give the half-width: the spread of simulated scores agrees."""
    kernel, population = Metric.parse('G-Pass@16_1.0'), Population(0.5, 0.5, translations=2, correlation=1.0)
    [few, many] = plan(population, kernel, half_width=0.05, ns=[16, 48], questions=238)
    assert few.questions > many.questions
    assert many.samples == many.questions * 48
    generator = np.random.default_rng(2)
    chances = np.repeat(generator.beta(0.5, 0.5, size=(4000, 119)), 2, axis=1)
    scores = value_table(kernel, 48)[generator.binomial(48, chances)].mean(1)
    assert many.half_width == pytest.approx(stats.t.ppf(0.975, 118) * scores.std(), rel=0.04)
    problems = many.questions // 2
    expected = stats.t.ppf(0.975, problems - 1) * scores.std() * np.sqrt(119 / problems)
    assert expected == pytest.approx(0.05, rel=0.04)


@pytest.mark.parametrize(
    ('change', 'message'),
    [({'half_width': 2}, 'half_width = 2'), ({'questions': 1}, 'questions = 1'), ({'ns': [8]}, 'k must be')],
)
def test_a_plan_that_makes_no_sense_is_refused(change: dict[str, object], message: str) -> None:
    """A width in points, a single question, fewer samples than k."""
    arguments = {'half_width': 0.02, 'ns': [16], **change}
    with pytest.raises(InputError, match=message):
        plan(Population(1, 1), Metric.parse('G-Pass@16_1.0'), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(('a', 'b', 'versions', 'correlation'), [(0, 1, 1, 1), (1, 1, 0, 1), (1, 1, 2, 1.5)])
def test_a_population_that_is_none_is_refused(a: float, b: float, versions: int, correlation: float) -> None:
    """Beta parameters above 0, at least one version, a correlation from 0 to 1."""
    with pytest.raises(InputError, match='expected'):
        Population(a, b, versions, correlation)


@pytest.mark.slow
def test_a_perfect_question_is_worth_one_for_every_k() -> None:
    """The steps of k = 18, 22, 36 … add up to 1 + 2e-16; a value is never above 1, and reports go through."""
    for k in range(2, 257):
        table = value_table(Metric.parse(Metric.mg_pass_at(k).name), k + 3)
        assert table.max() <= 1, k
        assert table[-1] == pytest.approx(1 if k % 2 == 0 else (k - 1) / k), k
    assert mean_interval([0.0, 1 + 1e-13, -1e-13] * 20).low > 0


def test_a_problem_with_most_questions_makes_the_others_too_few() -> None:
    """(Σ sizes)²/Σ sizes² must be 20 at least; nothing changes where all problems have one size."""
    problems = [0] * 200 + list(range(1, 41))
    values = GENERATOR.beta(0.5, 0.5, size=41)[problems]
    reason = '240 questions of 41 problems, in effect 1.4, fewer than 20'
    assert mean_interval(values, problems).refused == reason
    assert compare(values, 1 - values, problems).refused == reason
    assert rank_intervals([values, values / 2], problems).tolist() == [[1, 2], [1, 2]]
    for size in (1, 2, 7):
        assert not mean_interval([0, 1] * 10 * size, list(range(20)) * size).refused
        assert mean_interval([0, 1] * 19 * size, list(range(19)) * 2 * size).refused.startswith('19 problems')


def test_problems_that_are_all_alike_have_no_error() -> None:
    """An error of 0, or of rounding alone, is none: no interval, no p-value, no rank."""
    assert mean_interval([0.5] * 100).refused == 'all problems alike'
    assert mean_interval([0.1] * 99).refused == 'all problems alike'
    same = compare([0.5] * 30, [0.4] * 30)
    assert (same.refused, np.isnan(same.p_value)) == ('all problems alike', True)
    spread = np.linspace(0.2, 1, 30)
    assert rank_intervals([[0.5] * 30, [0.4] * 30]).tolist() == [[1, 2], [1, 2]]
    assert rank_intervals([spread, spread - 0.1]).tolist() == [[1, 2], [1, 2]]
