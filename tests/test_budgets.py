"""What a budget buys: powers against integrals, likeness and answers against brute force and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.figures.plans import spread
from gpassk_opencompass.uncertainty import Population, compare, plan, value_table
from gpassk_opencompass.uncertainty.budgets import (
    WON,
    BudgetPlan,
    Question,
    affordable,
    chance_not_worse,
    chance_to_decide,
    enough,
    offer,
)
from gpassk_opencompass.uncertainty.rarefaction import Answers
from gpassk_opencompass.uncertainty.rivals import Rival, difference_variance, likeness_of

Floats = NDArray[np.float64]

MG4 = Metric.parse('mG-Pass@4')
FLAT, SHAPED = Population(1.0, 1.0), Population(0.4, 0.6)


def chances(
    generator: np.random.Generator, pair: tuple[Population, Population], share: float, size: int
) -> Floats:
    """Of two models: of one rank with the chance `share`, else each of its own; shape (2, size)."""
    first, own = generator.random((2, size))
    other = np.where(generator.random(size) < share, first, own)
    return np.stack([stats.beta.ppf(u, one.a, one.b) for u, one in zip((first, other), pair, strict=True)])


@pytest.mark.parametrize('problems', [20, 119, 2000, 1_000_000])
@pytest.mark.parametrize('away', [0.1, 1.0, 2.5, 6.0, 30.0])
@pytest.mark.parametrize('variance', [0.001, 0.04])
def test_the_chance_to_decide_is_the_integral_over_the_spread(
    problems: int, away: float, variance: float
) -> None:
    """P(SE·Z + δ > t·√(SE²·χ²/ν + 2/J²)), by adaptive quadrature over χ²."""
    freedom, error = problems - 1, math.sqrt(variance / problems)
    critical = stats.t.ppf(0.975, freedom)

    def at(chi: float) -> float:
        printed = math.hypot(error * math.sqrt(chi / freedom), math.sqrt(2) / problems)
        return float(stats.chi2.pdf(chi, freedom) * stats.norm.sf(critical * printed / error - away))

    ends = stats.chi2.ppf([1e-13, 1 - 1e-13], freedom)
    expected, _ = integrate.quad(at, *ends, limit=200)
    found = chance_to_decide(away * error, variance, problems)
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize('problems', [1_000_000, 1_000_000_000])
def test_with_very_many_problems_the_chance_is_that_of_a_noncentral_t(problems: int) -> None:
    """The added problems are no part of the error any more; scipy has the noncentral t, or the normal."""
    error = math.sqrt(0.04 / problems)
    expected = stats.nct.sf(stats.t.ppf(0.975, problems - 1), problems - 1, 2.5)
    assert chance_to_decide(2.5 * error, 0.04, problems) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ('problems', 'translations', 'variance'), [(20, 1, 0.005), (40, 2, 0.01), (119, 1, 0.05)]
)
def test_normal_differences_are_decided_as_often_as_comparisons_of_them_say(
    problems: int, translations: int, variance: float
) -> None:
    """2,000 draws through `compare`: half-widths, two-sided and one-sided chances."""
    generator = np.random.default_rng(1)
    true = stats.t.ppf(0.975, problems - 1) * math.sqrt(variance / problems + 2 / problems**2)
    names = np.repeat(np.arange(problems), translations).tolist()
    decided, spared, squares, count = 0, 0, [], 2_000
    for drawn in generator.normal(true, math.sqrt(variance), size=(count, problems)):
        apart = np.clip(np.repeat(drawn, translations), -1, 1)
        found = compare(np.maximum(apart, 0), np.maximum(-apart, 0), names)
        apart = np.clip(apart - true, -1, 1)
        inner = compare(np.maximum(apart, 0), np.maximum(-apart, 0), names, 0.9)
        decided += found.low > 0
        spared += inner.low > -true
        squares.append((found.high - found.difference) ** 2)
    assert true == pytest.approx(math.sqrt(np.mean(squares)), rel=0.02)
    for passed, chance in ((decided, chance_to_decide), (spared, chance_not_worse)):
        expected = chance(true, variance, problems)
        assert 0.4 < expected < 0.97
        assert abs(passed / count - expected) < 4 * math.sqrt(expected * (1 - expected) / count)


def test_the_half_width_of_a_score_is_that_of_the_plan() -> None:
    """And its refusal."""
    for questions in (30, 238):
        [planned] = plan(Population(0.3, 0.3, 2), Metric.parse('mG-Pass@16'), 0.02, [32], questions)
        own = Population(0.3, 0.3, 2)
        found = offer(own, Rival(own, 0.8), Question(Metric.parse('mG-Pass@16')), questions, 32)
        assert found.refused == planned.refused
        assert found.half_width == pytest.approx(planned.half_width, nan_ok=True)


@pytest.mark.parametrize('rival_n', [None, 8])
def test_the_variance_of_a_difference_is_that_of_many_questions(rival_n: int | None) -> None:
    """Of 100,000 simulated ones of two models of one hardness, with a correlation of 0.7."""
    generator = np.random.default_rng(2)
    first, second = chances(generator, (SHAPED, SHAPED), 0.7, 100_000)
    m = rival_n or 12
    apart = (
        value_table(MG4, 12)[generator.binomial(12, first)]
        - value_table(MG4, m)[generator.binomial(m, second)]
    )
    found = difference_variance(SHAPED, Rival(SHAPED, 0.7, rival_n), MG4, 12)
    assert found == pytest.approx(apart.var(), rel=0.02)


@pytest.mark.parametrize(('likeness', 'translations'), [(0.8, 1), (0.8, 2), (1.0, 1)])
def test_a_planned_comparison_is_what_comparisons_are(likeness: float, translations: int) -> None:
    """400 simulated ones: their mean half-width within 2 %, decisions within four errors and two points."""
    generator = np.random.default_rng(3)
    own, better = (Population(1.0, b, translations) for b in (1.0, 0.88))
    gain = better.moments(MG4, 4)[0] - own.moments(MG4, 4)[0]
    asked = Question(MG4, difference=gain, margin=0.06)
    planned = offer(own, Rival(better, likeness), asked, 150 * translations, 16)
    values, halves, decided = value_table(MG4, 16), [], []
    names = np.repeat(np.arange(150), translations).tolist()
    for _ in range(400):
        drawn = np.repeat(chances(generator, (own, better), likeness, 150), translations, axis=1)
        first, second = values[generator.binomial(16, drawn)]
        found = compare(second, first, names)
        halves.append((found.high - found.low) / 2)
        decided.append(found.low > 0)
    assert planned.paired == pytest.approx(np.mean(halves), rel=0.02)
    error = math.sqrt(planned.decides * (1 - planned.decides) / 400)
    assert 0.3 < planned.decides < 0.95
    assert abs(np.mean(decided) - planned.decides) < 4 * error + 0.02


def test_more_questions_and_more_samples_never_decide_less() -> None:
    """Of one kind of questions."""
    asked, rival = Question(MG4), Rival(SHAPED, 0.9)
    found = np.array(
        [[offer(SHAPED, rival, asked, q, n).decides for n in (4, 8, 32)] for q in (100, 200, 800)]
    )
    assert (np.diff(found, axis=0) > 0).all()
    assert (np.diff(found, axis=1) > 0).all()


def test_only_few_problems_have_no_comparison() -> None:
    """Runs that hardly differ, or never, have one: two added problems wide; 19 problems have none."""
    never = Population(1e-3, 1e3)
    for population in (Population(0.05, 0.05), never):
        found = offer(population, Rival(population, 1.0), Question(MG4, difference=0.1), 40, 64)
        assert found.paired_refused == ''
        least = stats.t.ppf(0.975, 39) * math.sqrt(2) / 40
        assert least <= found.paired < 1.05 * least
        assert found.decides == pytest.approx(1.0, abs=0.01)
    few = offer(SHAPED, Rival(SHAPED, 0.8), Question(MG4), 19, 8)
    assert few.paired_refused == '19 problems, fewer than 20'
    assert np.isnan([few.paired, few.decides, few.not_worse]).all()
    pairs = Population(SHAPED.a, SHAPED.b, 2)
    assert offer(pairs, Rival(pairs, 0.8), Question(MG4), 38, 8).paired_refused == few.paired_refused
    alike = compare(np.zeros(40), np.zeros(40))
    assert found.paired == pytest.approx(alike.high)


@pytest.mark.parametrize('rival', [None, Rival(SHAPED, 0.8), Rival(SHAPED, 0.8, 8)])
def test_beyond_enough_samples_little_is_won(rival: Rival | None) -> None:
    """The smallest n within 5 % of what a million samples give."""

    def half(n: int) -> float:
        variance = SHAPED.variance(MG4, n) if rival is None else difference_variance(SHAPED, rival, MG4, n)
        return math.sqrt(variance)

    found = enough(SHAPED, rival, MG4, 1000)
    assert found is not None
    least = half(20_000)
    assert half(found) * (1 - WON) <= least * 1.001
    assert half(found - 1) * (1 - WON) > least


@pytest.mark.parametrize('translations', [1, 2])
def test_two_runs_that_differ_in_noise_alone_have_enough_where_problems_are_few(translations: int) -> None:
    """Of any number of problems more samples always help; of 50 the added ones are soon most of the error."""
    own, questions = Population(SHAPED.a, SHAPED.b, translations), 50 * translations
    rival = Rival(own, 1.0)
    assert enough(own, rival, MG4, 1000) is None
    found = BudgetPlan(own, rival, Question(MG4), 10**6, questions).enough()[1]
    assert found is not None

    def half(n: int) -> float:
        return offer(own, rival, Question(MG4), questions, n).paired

    assert half(found) * (1 - WON) <= half(10**5) * 1.001
    assert half(found - 1) * (1 - WON) > half(10**5)


def test_the_best_offer_is_that_of_all_n() -> None:
    """No other n has a narrower interval, for free questions and for 100 at hand."""
    for samples, at_hand in ((2_000, None), (2_000, 100)):
        bought = BudgetPlan(SHAPED, Rival(SHAPED, 0.9), Question(MG4), samples, at_hand)
        score, difference = bought.best()
        every = bought.offers(range(4, 65, 3))
        assert score is not None
        assert difference is not None
        assert score.half_width <= 1.01 * min(one.half_width for one in every if not one.refused)
        assert difference.paired <= 1.01 * min(one.paired for one in every if not one.paired_refused)
        assert all(one.samples <= samples for one in every)


def test_the_questions_for_a_chance_are_the_fewest() -> None:
    """One problem less finds the difference less often."""
    own = Population(0.5, 0.5, 2)
    bought = BudgetPlan(own, Rival(own, 0.9), Question(MG4), 1000)
    found = bought.questions_for(16)
    assert found is not None
    assert bought.offer(found, 16).decides >= 0.8 > bought.offer(found - 2, 16).decides


def test_questions_that_are_affordable_are_whole_problems() -> None:
    """As many as fit, and one problem more would not."""
    for samples, n, size in itertools.product((50, 999, 10_000), (4, 48), (1, 2, 3)):
        found = affordable(samples, n, size)
        assert found % size == 0
        assert found * n <= samples < (found + size) * n


@pytest.mark.parametrize('share', [0.4, 0.8, 1.0])
def test_the_likeness_of_two_runs_is_that_of_their_true_values(share: float) -> None:
    """200 pairs of runs on 200 problems: no bias, and errors as large as the jackknife says."""
    generator, values = np.random.default_rng(4), value_table(MG4, 8)
    noise = (SHAPED.moments(MG4, 8)[2],) * 2
    found, errors = [], []
    for _ in range(200):
        first, second = values[generator.binomial(8, chances(generator, (SHAPED, SHAPED), share, 200))]
        likeness, error = likeness_of(first, second, noise)
        found.append(likeness)
        errors.append(error)
    spread_of = np.std(found)
    cut = 0.5 * np.mean(errors) if share == 1.0 else 0.0  # those above 1 count as 1
    assert abs(np.mean(found) - share) < 4 * spread_of / math.sqrt(200) + 0.01 + cut
    if share < 1:
        assert np.mean(errors) == pytest.approx(spread_of, rel=0.25)


def test_the_error_of_a_likeness_is_that_of_leaving_problems_out() -> None:
    """One after the other, of one to three questions each, whose noise is that of a mean of so many."""
    generator, noise = np.random.default_rng(7), (0.02, 0.03)
    problems = np.repeat(np.arange(25), np.resize([1, 2, 3], 25))
    runs = generator.random(25)[problems] + 0.2 * generator.normal(size=(2, problems.size))

    def likeness(kept: Floats) -> float:
        means = np.array([[run[problems == one].mean() for one in kept] for run in runs])
        sizes = np.array([(problems == one).sum() for one in kept])
        own, its = np.cov(means).diagonal() - [np.mean(each / sizes) for each in noise]
        return float(np.cov(means)[0, 1] / math.sqrt(own * its))

    everything = np.arange(25)
    without = np.array([likeness(np.delete(everything, one)) for one in everything])
    error = math.sqrt(24 / 25 * ((without - without.mean()) ** 2).sum())
    assert likeness_of(*runs, noise, problems.tolist()) == pytest.approx((likeness(everything), error))


def test_what_tells_no_likeness_is_refused() -> None:
    """Too few problems, and questions that differ by no more than noise."""
    with pytest.raises(InputError, match='10 problems are too few'):
        likeness_of(np.linspace(0, 1, 10), np.linspace(0, 1, 10), (0.01, 0.01))
    with pytest.raises(InputError, match='no more than the noise'):
        likeness_of(np.linspace(0.4, 0.5, 40), np.linspace(0, 1, 40), (0.2, 0.01))


def test_distinct_answers_are_those_of_all_subsets() -> None:
    """By drawing every subset of the pilot's samples; a sample without an answer is in none of the counts."""
    given = ['aaabbc__', 'aaaaaaaa', 'abcdefgh', '________']
    answers = Answers([[text.count(one) for one in sorted(set(text) - {'_'})] for text in given], 8)
    for n in range(1, 9):
        expected = np.mean(
            [
                np.mean([len(set(drawn) - {'_'}) for drawn in itertools.combinations(text, n)])
                for text in given
            ]
        )
        assert answers.distinct(n) == pytest.approx(expected, rel=1e-12)
        assert answers.most(n) == answers.distinct(n)


def test_answers_not_seen_yet_are_those_of_chao() -> None:
    """By hand, two samples beyond four: f₀ is ¾·f₁²/2f₂, and ¾·f₁(f₁ − 1)/2 where none was given twice."""
    for given, f1, f0, seen in (
        ([[3, 1], [2, 1, 1]], 3, 0.75 * 9 / 2, 5),
        ([[3, 1], [3, 1], [4]], 2, 0.75, 5),
    ):
        expected = seen + f0 * (1 - (1 - f1 / (4 * f0 + f1)) ** 2)
        assert len(given) * Answers(given, 4).distinct(6) == pytest.approx(expected)


def test_answers_beyond_the_pilot_are_extrapolated() -> None:
    """Of 60 questions with answers that get rarer: near the truth up to twice the pilot, then between."""
    generator = np.random.default_rng(5)
    weights = generator.dirichlet(np.full(30, 0.15), size=60)
    drawn = [generator.multinomial(16, one) for one in weights]
    answers = Answers([[int(count) for count in one if count] for one in drawn], 16)
    for n in (16, 32, 64):
        true = float((1 - (1 - weights) ** n).sum()) / 60
        if n <= 32:
            assert answers.distinct(n) == pytest.approx(true, rel=0.1)
        assert 0.9 * answers.distinct(n) < true < 1.1 * answers.most(n)
    assert Answers([[16], [8, 8]], 16).distinct(100) == 1.5  # nothing was given once
    rarer = Answers([[3, 1]] * 50, 4)  # Good and Turing: the next one is new with a chance of 1/4
    assert rarer.distinct(5) == pytest.approx(2.25, abs=0.01)
    assert rarer.distinct(8) <= rarer.most(8)


@pytest.mark.parametrize(
    ('made', 'message'),
    [
        (lambda: Question(MG4, 0.4), 'above 0.5 and below 1'),
        (lambda: Question(MG4, difference=0), 'difference = 0'),
        (lambda: Question(MG4, margin=math.nan), 'margin = nan'),
        (lambda: Rival(FLAT, 1.2), 'likeness = 1.2'),
        (lambda: offer(FLAT, Rival(FLAT, 0.8), Question(MG4), 1, 4), 'two source problems'),
        (lambda: offer(FLAT, Rival(FLAT, 0.8), Question(MG4), 30, 2), 'k must be from 1 to n = 2'),
    ],
)
def test_what_cannot_be_planned_is_an_input_error(made: object, message: str) -> None:
    """One line that says what is allowed."""
    assert callable(made)
    with pytest.raises(InputError, match=message):
        made()


def test_labels_of_curves_keep_their_distance_and_their_order() -> None:
    """Many at one height, also at the top and at the bottom."""
    generator = np.random.default_rng(6)
    for heights in ([1.0] * 5, [0.0] * 5, generator.random(6).tolist(), [0.97, 0.98, 0.99, 0.5]):
        found = spread(heights, 0.055)
        ordered = sorted(found)
        assert min(np.diff(ordered)) > 0.0549
        assert ordered[0] >= 0
        assert ordered[-1] <= 1
        assert [heights[place] for place in np.argsort(found)] == sorted(heights)
