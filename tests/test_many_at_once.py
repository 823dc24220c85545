"""What is computed of many metrics, questions, draws or pairs at once is what it is of each alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import made_result
from scipy import optimize, stats

from gpassk_opencompass.metrics import Metric, value_table
from gpassk_opencompass.report.intervals import intervals_of_each
from gpassk_opencompass.uncertainty import mean_interval
from gpassk_opencompass.uncertainty.beta_fit import fitted_beta
from gpassk_opencompass.uncertainty.rerun import pair_table, rerun_of, reruns_of

SPREAD = [3, 1, 0, 2, 5, 1, 0, 4, 9]
ALIKE = [0, 1, 5, 9, 14, 11, 6, 2, 1]
METRICS = ['accuracy', 'G-Pass@8_0.5', 'G-Pass@8_1.0', 'mG-Pass@8', 'mG-Pass@4', 'pass@6']


def _log_likelihood(questions: list[float], a: float, b: float) -> float:
    """Return it as scipy has it, a question after the other."""
    n = len(questions) - 1
    return math.fsum(
        many * float(stats.betabinom.logpmf(c, n, a, b)) for c, many in enumerate(questions) if many
    )


@pytest.mark.parametrize(
    'questions',
    [
        SPREAD, [10, 0, 0, 0, 0, 0, 0, 0, 30], [0, 2, 9, 3, 0], [0.5, 1.25, 0.0, 3.0],
        [0] * 40 + [1, 2, 0, 3, 5, 0, 9, 12, 30], [0, 10, 30, 10, 0], [7, 3],
    ],
)  # fmt: skip
def test_a_fitted_beta_is_the_most_likely_one(questions: list[float]) -> None:
    """Against a search that knows no slopes; counts more alike than chance lead to a bound."""
    a, b = fitted_beta(np.array(questions))

    def loss(logs: list[float]) -> float:
        return -_log_likelihood(questions, *np.exp(logs))

    found = optimize.minimize(
        loss,
        np.log([2.0, 3.0]),
        method='Nelder-Mead',
        bounds=[(math.log(1e-3), math.log(1e3))] * 2,
        options={'xatol': 1e-9, 'fatol': 1e-12, 'maxiter': 2000},
    )
    assert _log_likelihood(questions, a, b) >= -found.fun - 1e-9
    if len(questions) > 2 and max(a, b) < 999:  # single answers tell a / b alone, and a bound is flat
        assert [math.log(a), math.log(b)] == pytest.approx(found.x, abs=1e-5)
    assert max(a, b) <= 1e3 * (1 + 1e-12)


@given(
    st.lists(st.integers(0, 6), min_size=3, max_size=30).filter(lambda one: np.count_nonzero(one) > 1),
    st.tuples(st.floats(-6, 6), st.floats(-6, 6)),
)
def test_no_other_beta_is_more_likely(questions: list[int], logs: tuple[float, float]) -> None:
    """Whatever the counts: of few questions or many, alike or at both ends."""
    best = _log_likelihood(list(map(float, questions)), *fitted_beta(np.array(questions)))
    assert _log_likelihood(list(map(float, questions)), *np.exp(logs)) <= best + 1e-9 * (1 + abs(best))


@pytest.mark.parametrize('questions', [SPREAD, [0, 0, 0, 0, 40, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 1]])
def test_reruns_of_many_metrics_are_those_of_each(questions: list[int]) -> None:
    metrics, counts = list(map(Metric.parse, METRICS)), np.array(questions, dtype=np.float64)
    assert reruns_of(counts, metrics) == [rerun_of(counts, metric) for metric in metrics]


@pytest.mark.parametrize('name', ['G-Pass@8_0.5', 'mG-Pass@8', 'G-Pass@5_0.6'])
def test_a_rerun_under_the_fitted_prior_is_that_of_each_question(name: str) -> None:
    """A question after the other, with scipy's chances, the square of its true value by disjoint draws."""
    metric, n = Metric.parse(name), len(ALIKE) - 1
    a, b = fitted_beta(np.array(ALIKE))
    values, pairs, total = value_table(metric, n), pair_table(metric, 2 * metric.k), 0.0
    for c, many in enumerate(ALIKE):
        again = stats.betabinom.pmf(np.arange(n + 1), n, a + c, b + n - c)
        doubled = stats.betabinom.pmf(np.arange(2 * metric.k + 1), 2 * metric.k, a + c, b + n - c)
        total += many * (again @ values**2 - doubled @ pairs)
    error = rerun_of(np.array(ALIKE, dtype=np.float64), metric).error
    assert error == pytest.approx(math.sqrt(total) / sum(ALIKE), rel=1e-9)


@pytest.mark.parametrize('most', [1, 10_000, 1_000_000])
def test_intervals_of_many_runs_are_those_of_each(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on the same questions and on others, of other n."""
    monkeypatch.setattr('gpassk_opencompass.report.intervals._MOST_VALUES', most)
    metrics, generator = list(map(Metric.parse, METRICS[:4])), np.random.default_rng(2)
    results = []
    for number in range(14):
        n, questions = (8, 16)[number % 2], (90, 120)[number % 3 == 0]
        of_each = [f'p{place // 2}' for place in range(questions)]
        result = made_result(
            f'm{number}', generator.binomial(n, generator.random(questions)), n, (8,), of_each
        )
        groups = ['A_en', 'A_cn', 'B_en', 'B_cn', 'C_en', 'C_cn'][: 6 if number % 4 else 2]
        result.counts.group = [groups[place % len(groups)] for place in range(questions)]
        results.append(result)
    for result, found in zip(results, intervals_of_each(results, metrics, 0.9), strict=True):
        problems, groups = result.counts.problem, np.array(result.counts.group)
        values = [result.values(metric) for metric in metrics]
        assert list(map(repr, found.whole)) == [repr(mean_interval(one, problems, 0.9)) for one in values]
        for group, intervals in found.by_group.items():
            of_group = [problem for problem, own in zip(problems, groups == group, strict=True) if own]
            alone = [mean_interval(one[groups == group], of_group, 0.9) for one in values]
            assert repr(intervals) == repr(alone)
        assert set(found.by_group) == set(groups)
