"""Intervals, comparisons, ranks and plans against brute force, exact sums and scipy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, stats

from gpassk_opencompass import InputError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import (
    Population,
    all_pairs,
    compare,
    fit_population,
    mean_interval,
    plan,
    rerun_interval,
    value_table,
)
from gpassk_opencompass.uncertainty.beta_fit import fitted_beta
from gpassk_opencompass.uncertainty.design import design_of
from gpassk_opencompass.uncertainty.intervals import mean_intervals
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
    """With n ≥ 2k the disjoint draws may find more than the posterior, with fewer the fitted prior may."""
    kernel = Metric.parse('G-Pass@4_1.0')
    extreme = rerun_interval([0, 0, 5, 6, 6], 6, kernel)
    assert extreme.error == pytest.approx(np.sqrt(expected_variances(kernel, 6)[[0, 0, 5, 6, 6]].sum()) / 5)
    counts = [0, 6, 7, 8, 8]
    disjoint = (value_table(kernel, 8) ** 2 - pair_table(kernel, 8))[counts].sum()
    posterior = expected_variances(kernel, 8)[counts].sum()
    assert rerun_interval(counts, 8, kernel).error == pytest.approx(np.sqrt(max(disjoint, posterior)) / 5)


def test_few_samples_of_questions_that_are_alike_move_as_far_as_they_do() -> None:
    """With n < 2k: all chances are 0.7, of which Jeffreys' prior takes most to be near 0 or 1."""
    kernel, n, generator = Metric.parse('mG-Pass@8'), 8, np.random.default_rng(3)
    values, chances = value_table(kernel, n), stats.binom.pmf(np.arange(n + 1), n, 0.7)
    truth = np.sqrt((chances @ values**2 - (chances @ values) ** 2) / 238)
    errors = [rerun_interval(generator.binomial(n, 0.7, 238), n, kernel).error for _ in range(40)]
    assert np.mean(errors) == pytest.approx(truth, rel=0.02)


def test_the_fitted_prior_is_integrated_as_it_is() -> None:
    """Variance of a question by quadrature under the Beta that scipy's likelihood prefers."""
    kernel, n, counts = Metric.parse('G-Pass@4_0.5'), 4, np.array([1, 2, 2, 2, 2, 2, 3, 3, 1, 2])
    a, b = fitted_beta(np.bincount(counts, minlength=n + 1))
    best = stats.betabinom.logpmf(counts, n, a, b).sum()
    for shape in ((a * 0.8, b), (a, b * 0.8), (a * 0.8, b * 0.8)):
        assert stats.betabinom.logpmf(counts, n, *shape).sum() < best
    values = value_table(kernel, n)

    def variance(p: float) -> float:
        drawn = stats.binom.pmf(np.arange(n + 1), n, p)
        return float(drawn @ values**2 - (drawn @ values) ** 2)

    chances = np.linspace(0, 1, 20_001)
    varied = np.array([variance(p) for p in chances])
    total = sum(
        integrate.simpson(varied * stats.beta(a + c, b + n - c).pdf(chances), x=chances) for c in counts
    )
    assert rerun_interval(counts, n, kernel).error == pytest.approx(np.sqrt(total) / counts.size, rel=1e-4)


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


def _paired(differences: NDArray[np.float64], level: float = 0.95) -> tuple[float, float, float]:
    """Difference, error and half-width of one question a problem: scipy's, with a problem of +1 and of −1."""
    count = differences.size
    error = math.sqrt(stats.sem(differences) ** 2 + 2 / count**2)
    return float(differences.mean()), error, float(stats.t.ppf((1 + level) / 2, count - 1)) * error


def test_a_comparison_is_the_paired_t_test_with_two_problems_more() -> None:
    """Against scipy: on questions, and on the means of problems where translations are clusters."""
    first, second = GENERATOR.random((2, 60))
    clustered = compare(first, second, np.repeat(np.arange(30), 2).tolist())
    means = (first - second).reshape(30, 2).mean(1)
    for got, differences in ((compare(first, second), first - second), (clustered, means)):
        difference, error, half = _paired(differences)
        assert (got.difference, got.error) == (pytest.approx(difference), pytest.approx(error))
        assert (got.low, got.high) == (pytest.approx(difference - half), pytest.approx(difference + half))
        t = abs(difference) / error
        assert got.p_value == pytest.approx(2 * stats.t.sf(t, differences.size - 1))


@pytest.mark.parametrize(('first_only', 'second_only'), [(0, 0), (6, 0), (9, 2)])
def test_of_solved_and_unsolved_problems_it_is_that_of_bonett_and_price(
    first_only: int, second_only: int
) -> None:
    """Their variance of paired proportions, with one more of either kind, but for the size of the sample."""
    count = 2000
    first = np.r_[np.ones(first_only), np.zeros(count - first_only)]
    second = np.r_[np.zeros(count - second_only), np.ones(second_only)]
    one, other = ((number + 1) / (count + 2) for number in (first_only, second_only))
    expected = math.sqrt((one + other - (one - other) ** 2) / (count + 2))
    assert compare(first, second).error == pytest.approx(expected, rel=0.002)


def test_two_runs_that_hardly_differ_may_differ_on_what_was_not_drawn() -> None:
    """None of 100 problems differs: up to 2.8 % may, the rule of three has 3; five differ: it is open."""
    first = np.r_[np.ones(5), np.zeros(95)]
    same = compare(first, first)
    assert (same.difference, same.p_value, same.refused) == (0, pytest.approx(1), '')
    assert same.high == pytest.approx(stats.t.ppf(0.975, 99) * math.sqrt(2) / 100)
    five = compare(first, np.zeros(100))
    assert five.low < 0 < five.high
    with pytest.raises(InputError, match='100 values against 99'):
        compare(first, np.zeros(99))


@pytest.mark.slow
@pytest.mark.parametrize('problems', [30, 46, 60, 119, 238])
def test_a_comparison_holds_where_one_run_collapses(problems: int) -> None:
    """Exactly, with binomial probabilities: for any share of problems on which a run fails, 93 % at least."""
    counts = np.arange(problems + 1)
    ends = [compare(np.arange(problems) < fallen, np.zeros(problems)) for fallen in counts]
    low, high = np.array([one.low for one in ends]), np.array([one.high for one in ends])
    for share in np.linspace(0.005, 0.5, 200):
        chances = stats.binom.pmf(counts, problems, share)
        assert chances[(low <= share) & (share <= high)].sum() > 0.93


def test_clear_ranks_are_found_and_unclear_ones_left_open() -> None:
    """A run that is better everywhere is first; copies share their ranks; few questions leave all open."""
    good, fair = np.ones(60), np.r_[np.ones(30), np.zeros(30)]
    assert all_pairs([fair, good, fair]).ranks.tolist() == [[2, 3], [1, 1], [2, 3]]
    assert all_pairs([fair[:10], good[:10]]).ranks.tolist() == [[1, 2], [1, 2]]
    assert all_pairs([good]).ranks.tolist() == [[1, 1]]


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
    assert all_pairs([values, values / 2], problems).ranks.tolist() == [[1, 2], [1, 2]]
    for size in (1, 2, 7):
        assert not mean_interval([0, 1] * 10 * size, list(range(20)) * size).refused
        assert mean_interval([0, 1] * 19 * size, list(range(19)) * 2 * size).refused.startswith('19 problems')


def test_problems_that_are_all_alike_have_no_error() -> None:
    """An error of 0, or of rounding alone, is none for a score; a difference has what is added."""
    assert mean_interval([0.5] * 100).refused == 'all problems alike'
    assert mean_interval([0.1] * 99).refused == 'all problems alike'
    same = compare([0.5] * 30, [0.4] * 30)
    assert (same.refused, same.error) == ('', pytest.approx(math.sqrt(2) / 30))
    spread = np.linspace(0.2, 1, 30)
    few = math.sqrt(2) / 30 * stats.t.ppf(0.975, 29)
    for step, ranks in ((0.9 * few, [[1, 2], [1, 2]]), (1.1 * few, [[1, 1], [2, 2]])):
        assert all_pairs([spread, spread - step]).ranks.tolist() == ranks


def test_intervals_of_many_rows_are_those_of_each_row_to_the_last_digit() -> None:
    """Also of rows that are refused, each at its level."""
    generator = np.random.default_rng(5)
    rows = generator.random((30, 120)) ** np.linspace(0.05, 40, 30)[:, None]
    rows[3], rows[4] = 0.0, 1.0
    problems = [number // 4 * 2 + number % 2 for number in range(120)]
    levels = np.linspace(0.5, 0.99, 30).tolist()
    found = mean_intervals(rows, design_of(problems), levels)
    alone = [mean_interval(row, problems, level) for row, level in zip(rows, levels, strict=True)]
    assert repr(found) == repr(alone)
    assert len({bool(one.refused) for one in found}) == 2
