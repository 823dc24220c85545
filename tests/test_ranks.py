"""Ranks of a table: how often equal models are told apart, and which ones, against plain computations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchmarks.rank_coverage import Case, row
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import all_pairs, compare, value_table


@pytest.mark.slow
@pytest.mark.parametrize(
    ('questions', 'models', 'k', 'n'), [(24, 8, 16, 48), (24, 29, 16, 48), (60, 8, 15, 48)]
)
def test_equal_models_are_rarely_told_apart(questions: int, models: int, k: int, n: int) -> None:
    """In 5 % of tables at most, also with few problems and many models, where it once was in 20 and 50 %."""
    generator = np.random.default_rng(questions + models)
    wrong, tables = 0, 200
    for _ in range(tables):
        chances = generator.beta(0.3, 0.3, size=questions)
        values = value_table(Metric.parse(f'mG-Pass@{k}'), n)[
            generator.binomial(n, chances, (models, questions))
        ]
        wrong += bool((all_pairs(values, draws=1000).ranks != [1, models]).any())
    assert wrong <= stats.binom.ppf(0.999, tables, 0.05)


@pytest.mark.slow
def test_models_that_differ_clearly_are_told_apart() -> None:
    """Half of eight models better by 0.8 on the log-odds scale: nearly all pairs on 119 problems."""
    assert row(Case('better', 'U', '119 × 2', 8), runs=15)['told apart'] > 95


def test_two_runs_are_told_apart_where_a_randomisation_test_says_so() -> None:
    """The p-value of scipy's, which swaps them on random problems, and that of the two alone are small."""
    generator = np.random.default_rng(4)
    for shift in (0.05, 0.1, 0.15):
        first = generator.beta(0.5, 0.5, size=25)
        second = np.clip(first + shift + 0.3 * generator.normal(size=25), 0, 1)
        found = stats.permutation_test(
            (first, second),
            _t_with_two_more,
            permutation_type='samples',
            alternative='greater',
            vectorized=True,
            n_resamples=9999,
            random_state=1,
        )
        least = max(found.pvalue, compare(first, second).p_value)
        for level in (1 - least - 0.03, 1 - least + 0.03):
            if 0 < level < 1:
                apart = all_pairs([first, second], level=level).ranks[0].tolist() == [2, 2]
                assert apart == (least < 1 - level)


def _t_with_two_more(a: NDArray[np.float64], b: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    differences = a - b
    count = differences.shape[axis]
    error = np.sqrt(stats.sem(differences, axis=axis) ** 2 + 2 / count**2)
    return np.asarray(np.abs(differences.mean(axis) / error))


@pytest.mark.parametrize('sizes', [(1,), (2,), (1, 2, 3)])
def test_the_largest_statistic_of_all_pairs_decides(sizes: tuple[int, ...]) -> None:
    """Draw by draw the t of `compare` with the runs swapped on some problems, whatever their sizes."""
    generator = np.random.default_rng(len(sizes))
    versions = np.resize(sizes, 24)
    problems = np.repeat(np.arange(24), versions).tolist()
    for _ in range(3):
        shared = generator.beta(0.5, 0.5, size=24)
        runs = np.clip(np.repeat(shared, versions) + 0.2 * generator.normal(size=(3, versions.sum())), 0, 1)
        runs[2] = np.clip(runs[2] + generator.uniform(0, 0.25), 0, 1)
        pairs = list(combinations(range(3), 2))
        alone = [compare(runs[i], runs[j], problems) for i, j in pairs]
        observed = max(abs(one.difference) / one.error for one in alone)
        largest = []
        for _ in range(200):
            swap = np.repeat(generator.random(24) < 0.5, versions)
            swapped = [_swapped(runs[i], runs[j], swap, problems) for i, j in pairs]
            largest.append(max(map(abs, swapped)))
        exceeded = max(np.mean(np.array(largest) >= observed), min(one.p_value for one in alone))
        for level in (1 - exceeded - 0.1, 1 - exceeded + 0.1):
            if 0 < level < 1:
                told = (all_pairs(runs, problems, level=level).ranks != [1, 3]).any()
                assert told == (exceeded < 1 - level)


def _swapped(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    swap: NDArray[np.bool_],
    problems: list[int],
) -> float:
    found = compare(np.where(swap, second, first), np.where(swap, first, second), problems)
    return found.difference / found.error


def test_a_table_is_never_contradicted_by_a_comparison_of_two_alone() -> None:
    """Random tables with ties, sizes and levels: what it tells apart, the two alone do as well."""
    generator = np.random.default_rng(11)
    told = 0
    for _ in range(200):
        problems, level = (
            int(generator.integers(20, 70)),
            float(generator.choice([0.5, 0.8, 0.9, 0.95, 0.99])),
        )
        versions = generator.integers(1, int(generator.integers(2, 4)), problems)
        names = np.repeat(np.arange(problems), versions)
        strengths = generator.choice([0.2, 0.5, 0.6, 0.9], (5, 1))
        values = generator.binomial(1, strengths, (5, names.size)).astype(float)
        values[4] = values[3]
        if generator.random() < 0.5:
            values = np.round(values * generator.random(names.size), 1)
        better = all_pairs(values, names.tolist(), level, 200).better
        assert not (better & better.T).any()
        assert not better[3, 4]
        assert not better[4, 3]
        told += int(better.sum())
        for i, j in np.argwhere(better):
            found = compare(values[i], values[j], names.tolist(), level)
            assert found.low > 0
            assert found.p_value < 1 - level
    assert told > 300


@pytest.mark.slow
def test_a_rare_collapse_is_no_rank() -> None:
    """Every second model fails on a tenth and gains on the rest, equal on average: 6 % of tables at most."""
    assert row(Case('uneven', 'U', '24', 8), runs=60)['false rank'] <= 6


@pytest.mark.parametrize('step', [1.0, 0.999])
def test_six_problems_that_differ_have_a_smallest_p_value(step: float) -> None:
    """2 of the 64 ways to swap them are as far apart as they are: 3.1 %; alone they have 2.6 %."""
    first, second = np.r_[np.full(6, step), np.zeros(24)], np.zeros(30)
    assert all_pairs([first, second], level=0.96).ranks.tolist() == [[1, 1], [2, 2]]
    assert all_pairs([first, second], level=0.98).ranks.tolist() == [[1, 2], [1, 2]]


def test_ranks_need_as_many_draws_as_their_level_takes() -> None:
    """Of 18 draws none can be rare enough for 95 %; of 19 the largest one is."""
    good, bad = np.ones(40), np.r_[np.ones(10), np.zeros(30)]
    assert all_pairs([good, bad], draws=18).ranks.tolist() == [[1, 2], [1, 2]]
    assert all_pairs([good, bad], draws=19).ranks.tolist() == [[1, 1], [2, 2]]
    assert all_pairs([good, bad], draws=19).p_value[0, 1] == 1 / 20


def test_intervals_hold_at_once_where_runs_differ_much() -> None:
    """The critical value is what the largest of all pairs exceeds in 5 % of draws, if all were as good."""
    generator = np.random.default_rng(8)
    odds = generator.normal(0, 1, 1000) + np.linspace(-2.5, 2.5, 10)[:, None]
    values = generator.binomial(16, 1 / (1 + np.exp(-odds))) / 16
    largest = {
        name: np.quantile(_largest_of_all_pairs(made, generator), 0.95)
        for name, made in {'raw': values, 'centred': values - values.mean(1, keepdims=True)}.items()
    }
    assert largest['centred'] > largest['raw'] + 0.1
    found = all_pairs(values, draws=20_000)
    assert found.critical == pytest.approx(largest['centred'], abs=0.04)
    assert (found.better == (found.difference - found.critical * found.error > 0)).all()
    assert ((found.p_value <= 0.05) == (found.better | found.better.T)).all()


def _largest_of_all_pairs(
    values: NDArray[np.float64], generator: np.random.Generator, draws: int = 5000
) -> NDArray[np.float64]:
    signs = generator.choice([-1.0, 1.0], size=(draws, values.shape[1]))
    return np.max(
        [_t_with_two_more(signs * (a - b), 0 * signs, axis=1) for a, b in combinations(values, 2)], axis=0
    )


def test_a_level_near_one_takes_more_draws() -> None:
    """And one that would take too many is refused, not answered with nothing."""
    good, bad = np.ones(60), np.r_[np.ones(10), np.zeros(50)]
    assert np.isfinite(all_pairs([good, bad], level=0.9999).critical)
    with pytest.raises(InputError, match=r'expected at most 0\.9999 for all pairs'):
        all_pairs([good, bad], level=0.99999)


@pytest.mark.parametrize('wrong', [1.5, -0.1, np.nan])
def test_what_is_no_share_is_refused(wrong: float) -> None:
    """As a score in percent, of which the two added problems would be a hundredth."""
    good, bad = [1.0] * 40, [wrong, *[0.0] * 39]
    with pytest.raises(InputError, match='values'):
        all_pairs([good, bad])
    with pytest.raises(InputError, match='values'):
        compare(good, bad)
