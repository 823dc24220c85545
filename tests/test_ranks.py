"""Ranks of a table: how often equal models are told apart, and which ones, against plain computations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchmarks.rank_coverage import MODELS, Case, row, true_ranks
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import compare, rank_intervals, value_table


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
        wrong += bool((rank_intervals(values, draws=1000) != [1, models]).any())
    assert wrong <= stats.binom.ppf(0.999, tables, 0.05)


@pytest.mark.slow
def test_models_that_differ_clearly_are_told_apart() -> None:
    """Half of eight models better by 0.8 on the log-odds scale: nearly all pairs on 60 problems."""
    assert row(Case('better', 'U', '60', 8), runs=30)['told apart'] > 95


def test_two_runs_are_told_apart_where_a_randomisation_test_says_so() -> None:
    """The p-value of scipy's, which swaps the runs on random problems, lies on the same side of 1 − level."""
    generator = np.random.default_rng(4)
    for shift in (0.05, 0.1, 0.15):
        first = generator.beta(0.5, 0.5, size=25)
        second = np.clip(first + shift + 0.3 * generator.normal(size=25), 0, 1)
        found = stats.permutation_test(
            (first, second),
            lambda a, b, axis: np.abs(stats.ttest_rel(a, b, axis=axis).statistic),
            permutation_type='samples',
            alternative='greater',
            vectorized=True,
            n_resamples=9999,
            random_state=1,
        )
        for level in (1 - found.pvalue - 0.03, 1 - found.pvalue + 0.03):
            if 0 < level < 1:
                apart = rank_intervals([first, second], level=level)[0].tolist() == [2, 2]
                assert apart == (found.pvalue < 1 - level)


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
        observed = max(abs(_t(runs[i], runs[j], problems)) for i, j in combinations(range(3), 2))
        largest = []
        for _ in range(200):
            swap = np.repeat(generator.random(24) < 0.5, versions)
            pairs = combinations(range(3), 2)
            largest.append(max(abs(_swapped(runs[i], runs[j], swap, problems)) for i, j in pairs))
        exceeded = np.mean(np.array(largest) >= observed)
        for level in (1 - exceeded - 0.1, 1 - exceeded + 0.1):
            if 0 < level < 1:
                told = (rank_intervals(runs, problems, level=level) != [1, 3]).any()
                assert told == (exceeded < 1 - level)


def _t(first: NDArray[np.float64], second: NDArray[np.float64], problems: list[int]) -> float:
    found = compare(first, second, problems)
    return found.difference / found.error


def _swapped(
    first: NDArray[np.float64], second: NDArray[np.float64], swap: NDArray[np.bool_], problems: list[int]
) -> float:
    return _t(np.where(swap, second, first), np.where(swap, first, second), problems)


@pytest.mark.parametrize('step', [1.0, 1 / 7, 0.3])
def test_six_problems_that_differ_have_a_smallest_p_value(step: float) -> None:
    """2 of the 64 ways to swap them are as far apart as they are: 3.1 %, whatever binary rounding says."""
    first, second = np.r_[np.full(6, step), np.zeros(24)], np.zeros(30)
    assert rank_intervals([first, second], level=0.96).tolist() == [[1, 1], [2, 2]]
    assert rank_intervals([first, second], level=0.98).tolist() == [[1, 2], [1, 2]]


def test_ranks_need_as_many_draws_as_their_level_takes() -> None:
    """Of 18 draws none can be rare enough for 95 %; of 19 the largest one is."""
    good, bad = np.ones(40), np.r_[np.ones(10), np.zeros(30)]
    assert rank_intervals([good, bad], draws=18).tolist() == [[1, 2], [1, 2]]
    assert rank_intervals([good, bad], draws=19).tolist() == [[1, 1], [2, 2]]


def test_ranks_do_not_depend_on_how_the_draws_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded by a few draws at a time."""
    values = np.random.default_rng(3).beta(0.5, 0.5, size=(5, 40)) + np.linspace(0, 0.3, 5)[:, None]
    whole = rank_intervals(values, draws=500)
    monkeypatch.setattr('gpassk_opencompass.uncertainty.comparison._CHUNK', 120)
    assert rank_intervals(values, draws=500).tolist() == whole.tolist()
    assert (whole != [1, 5]).any()


@pytest.mark.parametrize('models', list(MODELS))
def test_the_benchmark_knows_which_ranks_are_true(models: str) -> None:
    """Of four models: all share them, or every second one is ahead; and a row of its table is made."""
    ranks = np.stack(true_ranks(Case(models, 'U', '24', 4)), axis=1).tolist()
    ahead, behind = [1, 2], [3, 4]
    expected = {'better': [behind, ahead] * 2, 'collapse': [ahead, behind] * 2}.get(models, [[1, 4]] * 4)
    assert ranks == expected
    assert row(Case(models, 'U', '119 × 1–4', 2), runs=2)['false rank'] <= 100
