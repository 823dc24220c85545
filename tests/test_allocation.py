"""Unequal numbers of samples, decided by a question's own counts, leave its value unbiased."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import Allocation, rerun_interval, uncertain_first, value_table

METRICS = ('accuracy', 'pass@2', 'G-Pass@3_1.0', 'mG-Pass@4')
LOOKS = (4, 6, 9)
CHANCES = (Fraction(1, 7), Fraction(1, 2), Fraction(9, 10))


def plan(metric: str, seed: int) -> Allocation:
    """A plan made at random: some rows let few go on, some many."""
    generator = np.random.default_rng(seed)
    rows = [generator.random(n + 1) < 0.6 for n in LOOKS[:-1]]
    return Allocation(Metric.parse(metric), LOOKS, tuple(tuple(row.tolist()) for row in rows))


def ends(made: Allocation, looks: int) -> list[tuple[tuple[int, ...], int, int]]:
    """Every sequence of right and wrong answers until it stops: answers, n and c; from the definition."""
    found = []

    def on(answers: tuple[int, ...], look: int) -> None:
        n = made.looks[look]
        for more in product((0, 1), repeat=n - len(answers)):
            whole = answers + more
            if look + 1 < looks and made.go_on[look][sum(whole)]:
                on(whole, look + 1)
            else:
                found.append((whole, n, sum(whole)))

    on((), 0)
    return found


def kernel(metric: Metric, answers: tuple[int, ...]) -> Fraction:
    """The score of the first k answers."""
    return Fraction(float(metric.scores()[sum(answers[: metric.k])])).limit_denominator(1000)


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('metric', METRICS)
def test_values_are_unbiased_for_every_chance(metric, seed):
    """All sequences, their probabilities in rationals; after each look that may be the last."""
    made = plan(metric, seed)
    for looks in (1, 2, 3):
        sequences = ends(made, looks)
        sizes, counts = [n for _, n, _ in sequences], [c for _, _, c in sequences]
        table = {}
        for n, c in {(n, c) for n, c in zip(sizes, counts, strict=True)}:
            table[n, c] = Fraction(float(made.values[LOOKS.index(n)][c])).limit_denominator(10**7)
            assert 0 <= table[n, c] <= 1
        for chance in CHANCES:
            weigh = [chance**c * (1 - chance) ** (n - c) for _, n, c in sequences]
            assert sum(weigh) == 1
            found = sum(w * table[n, c] for w, (_, n, c) in zip(weigh, sequences, strict=True))
            k, scores = (
                made.metric.k,
                [Fraction(float(s)).limit_denominator(1000) for s in made.metric.scores()],
            )
            truth = sum(s * comb(k, a) * chance**a * (1 - chance) ** (k - a) for a, s in enumerate(scores))
            assert float(found) == pytest.approx(float(truth), abs=1e-12)


@pytest.mark.parametrize('metric', METRICS)
def test_a_value_is_the_mean_of_the_kernel_over_the_ways_there(metric):
    """The definition of Rao and Blackwell, sequence by sequence."""
    made = plan(metric, 5)
    sums: dict[tuple[int, int], list[Fraction]] = {}
    for answers, n, c in ends(made, 3):
        sums.setdefault((n, c), []).append(kernel(made.metric, answers))
    for (n, c), scores in sums.items():
        look = LOOKS.index(n)
        assert made.ways[look][c] == len(scores)
        assert made.values[look][c] == pytest.approx(float(sum(scores) / len(scores)), abs=1e-12)


@pytest.mark.parametrize('metric', METRICS)
def test_the_covariance_of_two_looks_is_the_variance_of_the_later_one(metric):
    """A reverse martingale, as with equal numbers: what the levels of several looks rest on."""
    made, chance = plan(metric, 2), 0.3
    moments = np.zeros(4)
    for answers, n, c in ends(made, 3):
        weight = chance**c * (1 - chance) ** (n - c)
        early_n = min(n, LOOKS[1])
        if n > LOOKS[0] and made.go_on[0][sum(answers[: LOOKS[0]])]:
            early_n = LOOKS[1]
        early = made.values[LOOKS.index(early_n)][sum(answers[:early_n])]
        late = made.values[LOOKS.index(n)][c]
        moments += weight * np.array([early, late, early * late, late * late])
    assert moments[0] == pytest.approx(moments[1], abs=1e-12)
    assert moments[2] == pytest.approx(moments[3], abs=1e-12)


def test_a_plan_where_all_go_on_gives_the_ordinary_values():
    """And expects of them what Beta-binomial counts give."""
    metric = Metric.parse('mG-Pass@4')
    made = Allocation(metric, (8, 16), ((True,) * 9,))
    assert made.values[1] == pytest.approx(value_table(metric, 16), abs=1e-12)
    samples, variance = made.expected(0.5, 2.0)
    counts = stats.betabinom(16, 0.5, 2.0).pmf(np.arange(17))
    truths = stats.beta.ppf((np.arange(200_000) + 0.5) / 200_000, 0.5, 2.0)
    score = stats.binom.pmf(np.arange(5), 4, truths[:, None]) @ metric.scores()
    assert samples == pytest.approx(16)
    assert variance == pytest.approx(counts @ value_table(metric, 16) ** 2 - (score**2).mean(), abs=1e-6)
    assert made.saving(0.5, 2.0) == pytest.approx(1.0)


def test_the_rerun_error_is_the_spread_of_runs_of_the_same_plan():
    """400 runs of 300 questions; the mean squared error against the mean of the variances that are told."""
    metric = Metric.parse('mG-Pass@4')
    made = uncertain_first(metric, (8, 16, 24))
    generator = np.random.default_rng(1)
    chances = generator.beta(1, 1, size=300)
    truth = (stats.binom.pmf(np.arange(5), 4, chances[:, None]) @ metric.scores()).mean()
    misses, variances = [], []
    for run in range(400):
        n, c = np.full(300, 8), generator.binomial(8, chances)
        for look in (0, 1):
            on = made.going_on(n, c, look)
            c = c + on * generator.binomial(8, chances)
            n = n + 8 * on
        misses.append(made.value(n, c).mean() - truth)
        if run < 20:
            variances.append(made.rerun_interval(n, c).error ** 2)
    assert np.mean(misses) == pytest.approx(0, abs=4 * np.std(misses) / 20)
    assert np.mean(np.square(misses)) == pytest.approx(np.mean(variances), rel=0.25)


def test_before_anything_stopped_it_is_the_ordinary_interval():
    """With n < 2k, where the ordinary one rests on the posterior alone, as few questions are middling."""
    metric = Metric.parse('mG-Pass@16')
    made, counts = uncertain_first(metric, (16, 32)), np.array([0] * 8 + [16] * 8 + [8])
    ours, ordinary = made.rerun_interval(np.full(17, 16), counts), rerun_interval(counts, 16, metric)
    assert (ours.estimate, ours.error) == pytest.approx((ordinary.estimate, ordinary.error))
    half = stats.norm.ppf(0.975) * ordinary.error
    assert (ours.low, ours.high) == pytest.approx((ordinary.estimate - half, ordinary.estimate + half))


@pytest.mark.parametrize(
    ('metric', 'least'), [('mG-Pass@16', 1.4), ('G-Pass@16_1.0', 2.5), ('G-Pass@16_0.5', 1.6)]
)
def test_uncertain_questions_first_save_samples(metric, least):
    """Where every chance is as likely."""
    made = uncertain_first(Metric.parse(metric), range(16, 97, 16))
    assert made.saving() > least - 0.05
    assert not made.go_on[0][0]


def test_where_it_does_not_save_it_is_not_offered():
    """Accuracy: nearly every question is worth the same."""
    with pytest.raises(InputError, match='give all questions as many samples'):
        uncertain_first(Metric.parse('accuracy'), (16, 32, 48))
    with pytest.raises(InputError, match=r'a factor of 1\.09, less than 1\.1;'):
        uncertain_first(Metric.parse('pass@2'), (16, 32))
    assert uncertain_first(Metric.parse('pass@2'), (16, 64)).saving() == pytest.approx(1.11, abs=0.005)


def test_large_plans_neither_overflow_nor_leave_the_unit_interval():
    """C(1040, 520) is no float."""
    made = Allocation(Metric.parse('pass@2'), (520, 1040), ((False, *(True,) * 519, False),))
    assert np.nanmin(made.values[1]) >= 0
    assert np.nanmax(made.values[1]) <= 1
    assert made.expected(1.0, 1.0)[0] == pytest.approx(1040 - 520 * 2 / 521)


@pytest.mark.parametrize(
    ('n', 'c', 'message'),
    [
        ([4, 5], [1, 1], 'expected one of the looks'),
        ([4], [5], 'never gets there'),
        ([6, 4], [3, 2], 'sample it on first'),
        ([4, 6], [1], 'one a question'),
        ([], [], 'one a question'),
    ],
)
def test_questions_that_do_not_follow_the_plan_are_refused(n, c, message):
    """An unbiased value exists for what was decided beforehand only."""
    made = Allocation(Metric.parse('accuracy'), (4, 6), ((False, False, True, True, False),))
    with pytest.raises(InputError, match=message):
        made.value(n, c)


def test_a_state_that_no_way_leads_to_is_refused():
    """6 of 6 where 4 of 4 stops, and 5 of 6 comes from 3 of 4 alone."""
    made = Allocation(Metric.parse('accuracy'), (4, 6), ((False, False, True, True, False),))
    with pytest.raises(InputError, match='never gets there'):
        made.value([6], [6])
    assert made.value([6], [5]) == pytest.approx([0.75])


@pytest.mark.parametrize(
    ('metric', 'looks', 'rows', 'message'),
    [
        ('accuracy', (4, 4), ((True,) * 5,), 'rise'),
        ('accuracy', (), (), 'rise'),
        ('accuracy', (4, 6), (), 'n \\+ 1 entries'),
        ('mG-Pass@8', (4, 8), ((True,) * 5,), 'k'),
    ],
)
def test_what_is_no_plan_is_refused(metric, looks, rows, message):
    """The message says what is expected."""
    with pytest.raises(InputError, match=message):
        Allocation(Metric.parse(metric), looks, rows)
