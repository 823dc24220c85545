"""Decisions of a new run beside an old one: against scipy's tests, and in simulations."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import cycle, product

import numpy as np
import pytest
from scipy import stats

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import (
    Outcome,
    PairedRuns,
    compare,
    decide,
    decide_all,
    rerun_interval,
    value_table,
)

MARGIN = 0.1

PROBLEMS = 120


def pair(difference: float, spread: float, seed: int = 0, rerun_error: float = 0.0) -> PairedRuns:
    """Two languages of each of 120 problems, whose differences have this mean and standard deviation."""
    generator = np.random.default_rng(seed)
    noise = generator.permutation(np.resize([-1.0, 1.0], PROBLEMS))
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    apart = np.repeat(difference + spread * noise, 2)
    return PairedRuns(
        np.maximum(apart, 0),
        np.maximum(-apart, 0),
        [number // 2 for number in range(2 * PROBLEMS)],
        rerun_error,
    )


def by_tests(runs: PairedRuns, alpha: float = 0.05) -> Outcome:
    """What the p-values of t tests say, with the error of the comparison."""
    found = compare(runs.new, runs.old, runs.problems)
    student = stats.t(found.problems - 1)
    two_sided = 2 * student.sf(abs(found.difference) / found.error)
    above = student.sf((found.difference + MARGIN) / found.error)
    below = student.cdf((found.difference - MARGIN) / found.error)
    if two_sided < alpha and found.difference > 0:
        return Outcome.BETTER
    if above < alpha:
        return Outcome.EQUIVALENT if below < alpha else Outcome.NOT_WORSE
    return Outcome.WORSE if two_sided < alpha and found.difference < 0 else Outcome.NOT_DECIDED


def test_outcomes_are_those_of_the_t_tests() -> None:
    """Two-sided for better and worse, two one-sided ones for the margin; all outcomes occur."""
    seen: Counter[Outcome] = Counter()
    for difference, spread in product(np.linspace(-0.3, 0.3, 25), (0.25, 0.6, 0.69)):
        runs = pair(float(difference), spread)
        outcome = decide(runs, MARGIN).outcome
        assert outcome is by_tests(runs)
        seen[outcome] += 1
    assert set(seen) == set(Outcome)


def test_what_is_worse_by_less_than_the_margin_is_equivalent() -> None:
    """And what is better by less is better; both pass."""
    slightly = decide(pair(-0.05, 0.03), MARGIN)
    assert slightly.high < 0
    assert slightly.outcome is Outcome.EQUIVALENT
    better = decide(pair(0.05, 0.03), MARGIN)
    assert better.inner_high < MARGIN
    assert better.outcome is Outcome.BETTER
    assert slightly.outcome.passes
    assert better.outcome.passes


def test_no_interval_is_narrower_than_that_of_a_rerun() -> None:
    """A floor with Student's t, for both intervals."""
    floored = decide(pair(0.06, 0.02, rerun_error=0.05), MARGIN)
    t95, t90 = stats.t.ppf([0.975, 0.95], PROBLEMS - 1)
    assert (floored.low, floored.high) == pytest.approx((0.06 - 0.05 * t95, 0.06 + 0.05 * t95))
    assert (floored.inner_low, floored.inner_high) == pytest.approx((0.06 - 0.05 * t90, 0.06 + 0.05 * t90))
    assert floored.error == 0.05
    assert floored.outcome is Outcome.NOT_WORSE
    assert decide(pair(0.06, 0.02), MARGIN).outcome is Outcome.BETTER
    wide = pair(0.06, 0.9, rerun_error=0.05)
    found, expected = decide(wide, MARGIN), compare(wide.new, wide.old, wide.problems)
    assert (found.low, found.high) == (expected.low, expected.high)


def test_on_these_very_questions_the_rerun_error_is_all() -> None:
    """Normal quantiles, for any number of questions."""
    runs = PairedRuns([0.5, 0.9, 0.2], [0.4, 0.9, 0.2], rerun_error=0.02)
    found = decide(runs, 0.05, of_new_questions=False)
    expected = stats.norm(0.1 / 3, 0.02)
    assert (found.low, found.high) == pytest.approx(expected.interval(0.95))
    assert (found.inner_low, found.inner_high) == pytest.approx(expected.interval(0.9))
    assert found.outcome is Outcome.NOT_WORSE
    assert not found.refused
    assert decide(runs, 0.05).refused == '3 problems, fewer than 20'


def test_the_least_margin_is_the_one_that_equal_runs_would_just_pass() -> None:
    """Half of the inner interval."""
    found = decide(pair(0.0, 0.1), 0.5)
    assert found.least_margin == pytest.approx(found.inner_high - found.difference)
    assert decide(pair(0.0, 0.1), found.least_margin * 1.001).outcome is Outcome.EQUIVALENT
    assert decide(pair(0.0, 0.1), found.least_margin * 0.999).outcome is Outcome.NOT_DECIDED


def test_nothing_is_decided_where_there_is_no_interval() -> None:
    """As the comparison says: with too few problems."""
    found = decide(PairedRuns([0.9] * 12, [0.1] * 12, rerun_error=0.01), MARGIN)
    assert found.outcome is Outcome.NOT_DECIDED
    assert found.refused == '12 problems, fewer than 20'
    assert all(map(math.isnan, (found.low, found.high, found.inner_low, found.inner_high)))


def test_each_of_several_is_decided_at_its_share_of_the_error() -> None:
    """1 − α/B, so that all are right together."""
    pairs = [pair(0.1, 0.3), pair(0.0, 0.1, 1), pair(-0.25, 0.3, 2)]
    found = decide_all(pairs, MARGIN)
    assert found.each == [decide(one, MARGIN, 1 - 0.05 / 3) for one in pairs]
    assert found.outcome is Outcome.WORSE
    assert [one.outcome for one in found.each] == [Outcome.BETTER, Outcome.EQUIVALENT, Outcome.WORSE]


def test_one_pair_alone_is_decided_as_ever() -> None:
    """At the whole level."""
    for runs in (pair(0.1, 0.3), pair(0.0, 0.1), pair(-0.25, 0.3), pair(-0.05, 0.9)):
        found = decide_all([runs], MARGIN)
        assert found.each == [decide(runs, MARGIN)]
        assert found.outcome is found.each[0].outcome


def test_that_all_pass_needs_no_correction() -> None:
    """Each passes at 95 %, none of three at 98.3 %: the one statement on all holds, and is named."""
    weak = pair(0.0, MARGIN * math.sqrt(PROBLEMS) / 1.9)
    assert decide(weak, MARGIN).outcome is Outcome.EQUIVALENT
    assert decide(weak, MARGIN, 1 - 0.05 / 3).outcome is Outcome.NOT_DECIDED
    found = decide_all([weak, weak, weak], MARGIN)
    assert found.outcome is Outcome.NOT_WORSE
    assert [(one.outcome, one.together) for one in found.each] == [(Outcome.NOT_WORSE, True)] * 3
    broken = decide_all([weak, weak, pair(-0.08, 0.9)], MARGIN)
    assert broken.outcome is Outcome.NOT_DECIDED
    assert {one.outcome for one in broken.each} == {Outcome.NOT_DECIDED}
    assert not any(one.together for one in broken.each)


def test_what_is_worse_is_not_overruled_by_all_of_them() -> None:
    """Of three each is within the margin at 95 %, and worse at 98.3 %, where the margin is not told."""
    slightly = PairedRuns([0.45] * 120, [0.5] * 120)
    assert decide(slightly, 0.072).outcome is Outcome.EQUIVALENT
    found = decide_all([slightly] * 3, 0.072)
    assert [one.outcome for one in found.each] == [Outcome.WORSE] * 3
    assert found.outcome is Outcome.WORSE


@pytest.mark.parametrize(
    ('change', 'message', 'of_new_questions'),
    [
        (change, message, of_new_questions)
        for (change, message), of_new_questions in zip(
            [
                ({'margin': 0.0}, 'margin = 0.0: expected a difference that does not matter'),
                ({'margin': -0.02}, 'margin = -0.02'),
                ({'margin': math.nan}, 'margin = nan'),
                ({'margin': 1.0}, 'margin = 1.0'),
                ({'level': 0.5}, 'level = 0.5: expected a confidence above 0.5'),
                ({'level': 1.0}, 'level = 1.0'),
                ({'rerun_error': math.inf}, 'rerun_error = inf'),
                ({'rerun_error': math.nan}, 'rerun_error = nan'),
                ({'old': [0.5]}, '240 values against 1'),
            ],
            cycle([True, False]),
        )
    ],
)
def test_what_makes_no_sense_is_refused(
    change: dict[str, float], message: str, of_new_questions: bool
) -> None:
    """With what is allowed."""
    settings = {'margin': 0.02, 'level': 0.95} | {k: v for k, v in change.items() if k in ('margin', 'level')}
    runs = pair(0.0, 0.1, rerun_error=0.01)
    more = {name: value for name, value in change.items() if name not in settings}
    if 'old' in more:
        more['problems'] = None  # type: ignore[assignment]
    with pytest.raises(InputError, match=message.replace('.', r'\.')):
        decide(replace(runs, **more), **settings, of_new_questions=of_new_questions)  # type: ignore[arg-type]


def test_no_pair_is_no_decision() -> None:
    """Nor is an error of 0 on these very questions."""
    with pytest.raises(InputError, match='no pairs of runs'):
        decide_all([], MARGIN)
    with pytest.raises(InputError, match='rerun_error = 0'):
        decide(PairedRuns([0.5], [0.4]), MARGIN, of_new_questions=False)


@pytest.mark.parametrize('of_new_questions', [True, False])
def test_a_rerun_is_hardly_ever_called_better_or_worse(of_new_questions: bool) -> None:
    """Of 400 reruns of one model 5 % and three Monte Carlo errors at most; most pass at 8 points."""
    metric, n = Metric.parse('mG-Pass@16'), 16
    generator, table = np.random.default_rng(7), value_table(metric, n)
    found: Counter[Outcome] = Counter()
    for _ in range(400):
        chances = generator.beta(0.3, 0.3, 60)
        counts = [generator.binomial(n, chances) for _ in range(2)]
        error = math.hypot(*(rerun_interval(one, n, metric).error for one in counts))
        runs = PairedRuns(table[counts[0]], table[counts[1]], None, error)
        found[decide(runs, 0.08, of_new_questions=of_new_questions).outcome] += 1
    most = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
    assert (found[Outcome.BETTER] + found[Outcome.WORSE]) / 400 < most
    assert sum(count for outcome, count in found.items() if outcome.passes) > 200
