"""Intervals hold at every look, so wherever sampling stops; goals say when that is."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, e, log

import numpy as np
import pytest
from scipy import optimize, stats

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import (
    Goal,
    GoalKind,
    adjusted_level,
    compare,
    floor_half_width,
    mean_interval,
    parse_goal,
    rerun_adjusted_level,
    rerun_interval,
    rerun_level_of_errors,
    value_table,
)
from gpassk_opencompass.uncertainty.design import clusters_of, strata_of_clusters
from gpassk_opencompass.uncertainty.intervals import quantile
from gpassk_opencompass.uncertainty.looks import (
    canonical_correlation,
    correlation_of,
    critical_values,
    critical_values_to_goal,
)
from gpassk_opencompass.uncertainty.stopping import _residuals

MG4 = Metric.parse('mG-Pass@4')
RISING = np.sqrt(1 / np.arange(1, 6))  # standard errors with 1 … 5 times as much information


def rounds(seed: int = 0, questions: int = 60, ns: tuple[int, ...] = (8, 16, 24, 32)) -> np.ndarray:
    """Counts of questions after each round, shape (L, Q)."""
    generator = np.random.default_rng(seed)
    chances = generator.beta(0.5, 0.5, size=questions)
    return np.cumsum([generator.binomial(step, chances) for step in np.diff([0, *ns])], axis=0)


def values(ns: tuple[int, ...] = (8, 16, 24, 32), **made: int) -> np.ndarray:
    return np.stack([value_table(MG4, n)[row] for n, row in zip(ns, rounds(ns=ns, **made), strict=True)])


@pytest.mark.parametrize(
    ('published', 'spent_by'),
    [
        ([2.438, 2.427, 2.410, 2.397, 2.386], lambda t: 0.05 * log(1 + (e - 1) * t)),
        ([4.877, 3.357, 2.680, 2.290, 2.031], lambda t: 4 * stats.norm.sf(stats.norm.isf(0.0125) / t**0.5)),
    ],
    ids=['Pocock', "O'Brien and Fleming"],
)
def test_five_looks_have_the_published_boundaries(published, spent_by):
    """Lan and DeMets's spending of either kind; the numbers of ldbounds and gsDesign."""
    spent = np.diff([0.0, *(spent_by(t) for t in (0.2, 0.4, 0.6, 0.8, 1.0))])
    found = critical_values(canonical_correlation(RISING), spent)
    assert found == pytest.approx(published, abs=0.012)


@pytest.mark.parametrize('freedom', [np.inf, 19.0])
@pytest.mark.parametrize('between', [0.0, 0.6, 0.97])
def test_all_looks_hold_as_often_as_is_not_spent(between, freedom):
    """Against draws of the joint law itself: 400,000, so that the standard error is 0.03 points."""
    errors = np.sqrt(between + (1 - between) / np.arange(1, 6))
    correlation, spent = canonical_correlation(errors), np.array([0.03, 0.005, 0.005, 0.005, 0.005])
    critical = critical_values(correlation, spent, freedom)
    generator = np.random.default_rng(1)
    drawn = generator.multivariate_normal(np.zeros(5), correlation, size=400_000)
    if np.isfinite(freedom):
        drawn /= np.sqrt(generator.chisquare(freedom, size=(len(drawn), 1)) / freedom)
    held = np.logical_and.accumulate(np.abs(drawn) <= critical, axis=1).mean(axis=0)
    assert held == pytest.approx(1 - np.cumsum(spent), abs=0.0015)


def test_two_looks_agree_with_scipys_bivariate_t():
    """Its distribution function over the rectangle, by inclusion and exclusion."""
    correlation = np.array([[1.0, 0.9], [0.9, 1.0]])
    first, second = critical_values(correlation, np.array([0.03, 0.02]), 29.0)
    law = stats.multivariate_t(np.zeros(2), correlation, df=29)
    held = sum(
        sign * law.cdf([a * first, b * second], random_state=1)
        for sign, a, b in [(1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1)]
    )
    assert held == pytest.approx(0.95, abs=5e-4)


def test_a_later_look_changes_no_level_of_an_earlier_one():
    """What was printed stays right."""
    correlation = correlation_of(values() - values().mean(axis=1, keepdims=True))
    spent = np.array([0.03, 0.005, 0.005, 0.005])
    whole = critical_values(correlation, spent, 59.0)
    for looks in (1, 2, 3):
        part = critical_values(correlation[:looks, :looks], spent[:looks], 59.0)
        assert part == pytest.approx(whole[:looks], abs=1e-9)


def test_one_planned_look_is_the_ordinary_interval():
    """Nothing is paid where nothing is chosen."""
    assert adjusted_level(values()[:1], looks=1) == 0.95
    assert rerun_adjusted_level(rounds()[:1], [8], MG4, looks=1, level=0.9) == 0.9


def test_all_looks_cost_far_less_than_bonferroni():
    """The questions are common to all looks; the last look is nearly free."""
    table = values(questions=200)
    ordinary, bonferroni = quantile(0.95, 199), quantile(1 - 0.05 / 4, 199)
    paid = [quantile(adjusted_level(table[: look + 1], looks=4), 199) for look in range(4)]
    assert max(paid) < 1.16 * ordinary < bonferroni
    assert paid[-1] < 1.06 * ordinary


def test_identical_looks_cost_nothing_in_the_end():
    """All of them hold where the last one does: together they spend the whole error on one event."""
    table = np.repeat(values()[:1], 3, axis=0)
    assert adjusted_level(table, looks=3) == pytest.approx(0.95, abs=1e-3)


def test_a_look_without_spread_breaks_nothing():
    """All questions right at first: its interval is refused, the next look has a level."""
    table = values()
    table[0] = 1.0
    assert 0.9 < adjusted_level(table, looks=4) < 1
    assert 0.9 < adjusted_level(np.ones((2, 30)), looks=2) < 1


def test_problems_with_several_questions_are_clusters():
    """Each question twice is no more than once."""
    table, names = values(), [f'problem {number}' for number in range(60)]
    twice = np.repeat(table, 2, axis=1)
    doubled = adjusted_level(twice, looks=6, problems=[name for name in names for _ in 'ab'])
    assert doubled == pytest.approx(adjusted_level(table, looks=6), abs=1e-9)


def test_strata_leave_less_that_looks_have_in_common():
    """Between contests of other hardness nothing differs within them: later looks are more of their own."""
    table = values(questions=60)
    order = np.argsort(table[-1])
    contests = np.empty(60, dtype=int)
    contests[order] = np.arange(60) // 20
    alone, stratified = (adjusted_level(table, 6, strata=strata) for strata in (None, contests.tolist()))
    assert stratified > alone
    with pytest.raises(InputError, match='two strata'):
        adjusted_level(table, 6, problems=[0] * 60, strata=contests.tolist())


def test_strata_take_degrees_of_freedom():
    """24 problems in eight contests: multivariate t of scipy with 16, over the residuals within them."""
    generator = np.random.default_rng(5)
    table = np.clip(generator.random(24) + generator.normal(0, [[0.25], [0.1]], (2, 24)), 0, 1)
    within = (table.reshape(2, 8, 3) - table.reshape(2, 8, 3).mean(2, keepdims=True)).reshape(2, 24)
    norms = np.linalg.norm(within, axis=1)
    law = stats.multivariate_t(shape=within @ within.T / np.outer(norms, norms), df=16)
    first = stats.t.isf(0.03 / 2, 16)

    def missed(second: float) -> float:
        ends = np.array([first, second])
        return 1 - law.cdf(ends, lower_limit=-ends, maxpts=100_000, random_state=1)

    second = optimize.brentq(lambda at: missed(at) - 0.05, 1.5, 4.0, xtol=1e-4)
    contests = np.repeat(np.arange(8), 3).tolist()
    levels = [adjusted_level(table[:looks], 2, strata=contests) for looks in (1, 2)]
    assert levels == pytest.approx([0.97, 1 - 2 * stats.t.sf(second, 16)], abs=5e-4)


def test_strata_are_those_of_the_interval_that_is_printed():
    """Contests of one problem are one together, as there: the goal is weighed with the error of the table."""
    generator = np.random.default_rng(1)
    problems = np.repeat(np.arange(50), generator.integers(1, 4, 50))
    contests = np.array(['A'] * 24 + ['B'] * 23 + ['C', 'D', 'E'])[problems].tolist()
    table = np.clip(generator.random((2, 50))[:, problems] + generator.normal(0, 0.1, problems.size), 0, 1)
    printed = mean_interval(table[-1], problems.tolist(), strata=contests)
    assert printed.strata == 3
    merged = ['C' if contest in 'DE' else contest for contest in contests]
    given = [adjusted_level(table, 6, problems.tolist(), strata=strata) for strata in (contests, merged)]
    assert given[0] == given[1]
    cluster = clusters_of(problems.tolist(), problems.size)
    residuals = _residuals(table[-1], cluster, strata_of_clusters(contests, cluster))
    assert np.linalg.norm(residuals) / problems.size == pytest.approx(printed.error, rel=1e-12)


def test_where_the_interval_has_no_strata_the_goal_is_weighed_without():
    """Hardly any problem differs within its contest: a goal that the printed interval reaches is reached."""
    contests, score = np.repeat(np.arange(6), 10), np.repeat([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], 10)
    score[[3, 18, 33, 45]] += [0.5, -0.2, 0.4, 0.1]
    table = np.stack([score, score])
    alone = mean_interval(score, strata=contests.tolist())
    assert alone.strata == 0
    goal = 1.001 * (alone.high - alone.low) / 2
    levels = [
        adjusted_level(table[:look], 2, strata=strata, half_width=goal)
        for strata in (contests.tolist(), None)
        for look in (1, 2)
    ]
    assert levels[:2] == pytest.approx(levels[2:], abs=2e-3)
    tight = adjusted_level(table[:1], 2, strata=contests.tolist(), half_width=0.9 * goal)
    interval = mean_interval(score, level=tight, strata=contests.tolist())
    assert tight > 0.99, 'nothing is spent on a look that cannot reach the goal'
    assert (interval.high - interval.low) / 2 > goal


@pytest.mark.parametrize('compared', [False, True])
def test_no_further_sample_leaves_the_interval_within_strata_as_it_is(compared):
    """With Student's t of as many degrees of freedom: half-width of the interval that is printed."""
    counts = np.random.default_rng(2).integers(0, 9, 150)
    contests = ['A', 'B', 'C', 'D', 'E'] * 30
    if compared:
        interval = compare(counts / 8, [0.5] * 150, strata=contests)
    else:
        interval = mean_interval(counts / 8, strata=contests)
    assert interval.strata == 5
    left = floor_half_width(interval, counts, 8, Metric.parse('accuracy'), at=8)
    assert left == pytest.approx((interval.high - interval.low) / 2, rel=1e-12)


@pytest.mark.parametrize(
    ('ns', 'metric'),
    [((4, 8), MG4), ((5, 7), Metric.parse('G-Pass@3_1.0')), ((2, 6), Metric.parse('pass@2'))],
)
def test_the_covariance_of_two_looks_is_the_variance_of_the_later_one(ns, metric):
    """Exactly, for a question of any chance: by enumeration in rationals."""
    early, late = ([Fraction(v).limit_denominator(10**6) for v in value_table(metric, n)] for n in ns)
    for chance in (Fraction(1, 3), Fraction(9, 10)):
        moments = [Fraction(0)] * 4
        for first, more in product(range(ns[0] + 1), range(ns[1] - ns[0] + 1)):
            right = first + more
            ways = comb(ns[0], first) * comb(ns[1] - ns[0], more)
            weight = ways * chance**right * (1 - chance) ** (ns[1] - right)
            terms = (early[first], late[right], early[first] * late[right], late[right] ** 2)
            moments = [total + weight * term for total, term in zip(moments, terms, strict=True)]
        assert moments[0] == moments[1]  # both are unbiased
        assert moments[2] == moments[3]


def test_a_rerun_pays_as_the_published_boundary_says():
    """Ten looks that spend alike cost less than Bonferroni's, more than one look; the first has its part."""
    level = rerun_level_of_errors([1 / n**0.5 for n in range(1, 11)], looks=10)
    assert 0.975 < level < 1 - 0.05 / 10
    assert rerun_level_of_errors([1.0], looks=10) == pytest.approx(1 - 0.05 / 10, abs=1e-5)


def test_the_look_that_reaches_a_half_width_has_nearly_all_of_the_error():
    """Those before it are wide, and the last one takes what is left."""
    errors = [0.03, 0.02, 0.01]
    levels = [rerun_level_of_errors(errors[: look + 1], looks=4, half_width=0.021) for look in range(3)]
    assert levels[0] > 0.99
    assert levels[1] > 0.99
    assert stats.norm.ppf((1 + levels[2]) / 2) == pytest.approx(1.96, abs=0.06)
    last = rerun_level_of_errors([*errors[:2], 0.02, 0.02], looks=4, half_width=0.021)
    assert stats.norm.ppf((1 + last) / 2) == pytest.approx(1.96, abs=0.06)
    held = critical_values_to_goal(np.eye(4), 4, 0.05, lambda look, _: look == 1)
    assert np.prod(2 * stats.norm.cdf(held) - 1) == pytest.approx(0.95, abs=1e-4)


def test_the_level_for_a_half_width_gives_that_half_width():
    """The first look that can reach it does."""
    table = values(questions=200)
    goal = 0.06
    for look in range(4):
        level = adjusted_level(table[: look + 1], looks=4, half_width=goal)
        interval = mean_interval(table[look], level=level)
        if parse_goal('half-width<=6').reached(interval):
            assert quantile(level, 199) < 1.05 * quantile(0.95, 199)
            return
    assert (interval.high - interval.low) / 2 > goal


@pytest.mark.parametrize('looks', [1, 2, 3])
def test_a_look_after_which_a_goal_is_given_up_has_all_that_is_left(looks):
    """Multivariate t of scipy: the looks so far hold with 95 % and what later ones have of the reserve.

    Critical values are good to 0.01, which is 0.12 points of this probability.
    """
    table = values()[:looks]
    found = [
        quantile(adjusted_level(table[:count], 4, half_width=0.01, last=count == looks), 59)
        for count in range(1, looks + 1)
    ]
    law = stats.multivariate_t(np.zeros(looks), correlation_of(table - table.mean(1, keepdims=True)), df=59)
    held = sum(
        np.prod(signs) * law.cdf(np.array(signs) * found, random_state=1, maxpts=20_000)
        for signs in product([1, -1], repeat=looks)
    )
    assert held == pytest.approx(1 - 0.05 * (1 - 0.1 * (4 - looks) / 4), abs=1.2e-3)


def test_a_look_without_an_interval_reaches_no_half_width():
    """Two of 100 questions solved: narrow, and refused; the error is kept for the next look."""
    table = np.stack([np.r_[1.0, 1.0, np.zeros(98)], np.linspace(0, 1, 100)])
    refused, printed = map(mean_interval, table)
    assert 'too few problems solved' in refused.refused
    assert (printed.high - printed.low) / 2 < 0.1
    levels = [adjusted_level(table[:looks], 2, half_width=0.1) for looks in (1, 2)]
    assert levels == pytest.approx([1 - 0.05 * 0.1 / 2, 0.9525], abs=5e-4)


def test_all_looks_hold_in_simulated_runs():
    """150 runs on 40 problems; the standard error of 95 % is 1.8 points."""
    generator, ns, spent = np.random.default_rng(7), (8, 16, 24), np.array([0.03, 0.01, 0.01])
    chances = (np.arange(20_000) + 0.5) / 20_000
    truth = float((stats.binom.pmf(np.arange(5), 4, chances[:, None]) @ MG4.scores()).mean())
    held = naive = 0
    for run in range(150):
        drawn = generator.random(40)
        counts = np.cumsum([generator.binomial(8, drawn) for _ in ns], axis=0)
        table = np.stack([value_table(MG4, n)[row] for n, row in zip(ns, counts, strict=True)])
        critical = critical_values(correlation_of(table - table.mean(axis=1, keepdims=True)), spent, 39.0)
        levels = 1 - 2 * stats.t.sf(critical, 39)
        if run < 2:  # it is what the levels come from
            assert adjusted_level(table, looks=3) == pytest.approx(levels[-1], abs=1e-6)
        held += all(
            (made := mean_interval(row, level=level)).low <= truth <= made.high
            for row, level in zip(table, levels.tolist(), strict=True)
        )
        naive += all((made := mean_interval(row)).low <= truth <= made.high for row in table)
    assert held / 150 > 0.95 - 3 * 0.018
    assert naive < held


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'values': [0.5, 1.0], 'looks': 2}, 'a row of finite values a look'),
        ({'values': [[0.5, np.nan]], 'looks': 2}, 'a row of finite values a look'),
        ({'values': np.ones((3, 30)), 'looks': 2}, '3 looks where 2 were planned'),
        ({'values': np.ones((1, 30)), 'looks': 51}, '1 to 50 looks'),
        ({'values': np.ones((1, 30)), 'looks': 2, 'level': 95}, 'between 0 and 1'),
        ({'values': np.ones((1, 30)), 'looks': 2, 'half_width': 0.0}, 'half_width = 0.0'),
        ({'values': np.ones((1, 30)), 'looks': 2, 'problems': ['a']}, '1 problems for 30 questions'),
        ({'values': np.ones((1, 30)), 'looks': 2, 'strata': ['a']}, '1 strata for 30 questions'),
    ],
)
def test_what_is_no_plan_is_refused(arguments, message):
    """The message says what is allowed."""
    with pytest.raises(InputError, match=message):
        adjusted_level(**arguments)


@pytest.mark.parametrize(
    ('counts', 'ns', 'message'),
    [([[1, 2]], [4, 8], '2 looks'), ([[1, 2], [3, 4]], [8, 8], 'rise'), ([1, 2], [4, 8], 'a row a look')],
)
def test_counts_that_are_no_looks_are_refused(counts, ns, message):
    """The message says what is expected."""
    with pytest.raises(InputError, match=message):
        rerun_adjusted_level(counts, ns, Metric.parse('accuracy'), looks=4)


@pytest.mark.parametrize(
    ('text', 'goal'),
    [
        ('half-width<=2', Goal(GoalKind.HALF_WIDTH, 0.02)),
        (' half-width <= 2 % ', Goal(GoalKind.HALF_WIDTH, 0.02)),
        ('rerun-half-width≤0.5', Goal(GoalKind.RERUN_HALF_WIDTH, 0.005)),
    ],
)
def test_a_half_width_is_read_in_points(text, goal):
    """With and without spaces and the sign of percent."""
    assert parse_goal(text) == goal
    assert parse_goal(str(goal)) == goal


def test_a_run_to_be_decided_against_keeps_its_name():
    """Also one with spaces."""
    goal = parse_goal('decided against runs/my model')
    assert (goal.kind, goal.run) == (GoalKind.DECIDED, 'runs/my model')
    assert parse_goal(str(goal)).run == goal.run


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('half-width', 'is no goal'),
        ('width<=2', 'is no goal'),
        ('decided against ', 'is no goal'),
        ('half-width<2', 'write <='),
        ('half-width=2', 'write <='),
        ('half-width<=two', "'two' is no number"),
        ('half-width<=0', 'more than 0'),
        ('half-width<=nan', 'more than 0'),
        ('half-width<=50', 'fewer than 50'),
    ],
)
def test_what_is_no_goal_is_refused(text, message):
    """The message shows the forms."""
    with pytest.raises(InputError, match=message):
        parse_goal(text)


def test_a_goal_is_reached_by_its_own_kind_of_interval_only():
    """A refused interval never reaches one."""
    wide, refused = mean_interval([0.0, 1.0] * 50), mean_interval([0.0, 1.0] * 5)
    narrow = mean_interval([0.0, 1.0] * 5000)
    assert [parse_goal('half-width<=2').reached(made) for made in (wide, refused, narrow)] == [
        False,
        False,
        True,
    ]
    better = compare([1, 1, 0, 1] * 10, [1, 0, 0, 0] * 10)
    goal = parse_goal('decided against old')
    assert goal.reached(better)
    assert goal.reached(compare([1, 0, 0, 0] * 10, [1, 1, 0, 1] * 10)), 'worse is decided too'
    assert not goal.reached(compare([1, 0, 0, 1] * 10, [0, 1, 1, 0] * 10))
    for one, made in ((goal, wide), (parse_goal('half-width<=2'), better)):
        with pytest.raises(InputError, match='expected'):
            one.reached(made)


def test_the_floor_is_what_the_choice_of_questions_leaves():
    """200 questions whose chances are known: the interval of their true values."""
    generator = np.random.default_rng(3)
    chances = generator.beta(1, 1, size=2000)
    counts = generator.binomial(16, chances)
    interval = mean_interval(value_table(MG4, 16)[counts])
    best = mean_interval(stats.binom.pmf(np.arange(5), 4, chances[:, None]) @ MG4.scores())
    half, floor = (interval.high - interval.low) / 2, floor_half_width(interval, counts, 16, MG4)
    assert floor == pytest.approx((best.high - best.low) / 2, rel=0.03)
    later = floor_half_width(interval, counts, 16, MG4, at=64)
    assert floor < later < half
    assert floor_half_width(interval, counts, 16, MG4, at=16) == pytest.approx(half)
    with pytest.raises(InputError, match='at = 8'):
        floor_half_width(interval, counts, 16, MG4, at=8)


def test_the_floor_of_a_difference_keeps_the_other_runs_noise():
    """Only the run that is sampled on gets better."""
    generator = np.random.default_rng(4)
    chances = generator.beta(1, 1, size=400)
    counts, other = (generator.binomial(n, chances) / n for n in (4, 4))
    comparison = compare(counts, other)
    floor = floor_half_width(comparison, (4 * counts).astype(int), 4, Metric.parse('accuracy'))
    half = (comparison.high - comparison.low) / 2
    assert floor == pytest.approx(half / np.sqrt(2), rel=0.1)  # both have as much noise, and nothing else


@pytest.mark.parametrize(('at', 'part'), [(None, 1.0), (16, 0.5)])
def test_the_floor_is_without_the_noise_of_all_questions(at, part):
    """16 samples of accuracy leave half as much noise as eight, also where problems have two questions."""
    counts = np.random.default_rng(5).binomial(8, np.repeat(np.linspace(0.1, 0.9, 40), 2))
    found = compare(counts / 8, [0.5] * 80, np.repeat(np.arange(40), 2).tolist())
    noise = rerun_interval(counts, 8, Metric.parse('accuracy')).error ** 2
    floor = floor_half_width(found, counts, 8, Metric.parse('accuracy'), at=at)
    assert floor == pytest.approx(stats.t.ppf(0.975, 39) * np.sqrt(found.error**2 - part * noise))


def test_an_error_that_seems_to_rise_stays():
    """No more samples make a score less certain: the looks are one, which is paid once."""
    level = rerun_level_of_errors([0.02, 0.025], looks=2)
    assert level == rerun_level_of_errors([0.02, 0.02], looks=2) == pytest.approx(0.95, abs=1e-3)


def test_the_rerun_error_of_equal_samples_sets_the_level():
    """From counts as from the errors of the intervals themselves."""
    counts, ns = rounds(), [8, 16, 24, 32]
    errors = [rerun_interval(row, n, MG4).error for row, n in zip(counts, ns, strict=True)]
    assert rerun_adjusted_level(counts, ns, MG4, looks=5) == rerun_level_of_errors(errors, looks=5)
