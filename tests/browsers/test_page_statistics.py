"""The formulas of the page against those of the library."""

from __future__ import annotations

import json
from typing import Any

import pytest
from browser import Page, nasty_board
from scipy import stats

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.page import write_page
from gpassk_opencompass.uncertainty import compare, mean_interval, value_table

pytestmark = pytest.mark.e2e


@pytest.fixture(scope='module')
def statistics(page: Page, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The functions that every page offers in the console of the browser."""
    [path] = write_page([nasty_board()], tmp_path_factory.mktemp('page'))
    page.open(path)
    return lambda code, *values: page.script(f'return gpassk.statistics.{code};', *values)


LIMITS = {'problems': 20, 'effective': 6, 'inAll': 2, 'error': 1e-12, 'added': 2}


@pytest.mark.parametrize(('n', 'k'), [(1, 1), (8, 3), (48, 16), (50, 50), (1000, 500), (3000, 7)])
def test_tables_of_the_browser_are_those_of_the_library(statistics: Any, n: int, k: int) -> None:
    """For each metric and each count, within rounding."""
    metrics = [{'family': 'accuracy', 'k': 1}, {'family': 'pass', 'k': k}, {'family': 'mG-Pass', 'k': k}]
    metrics += [{'family': 'G-Pass', 'k': k, 'tau': tau} for tau in (0, 0.28, 0.5, 0.75, 1)]
    names = [
        'accuracy',
        f'pass@{k}',
        Metric.mg_pass_at(k).name,
        *(Metric.g_pass_at(k, tau).name for tau in (0, 0.28, 0.5, 0.75, 1)),
    ]
    for metric, name in zip(metrics, names, strict=True):
        table = statistics('valueTable(arguments[0], arguments[1])', metric, n)
        assert table == pytest.approx(value_table(Metric.parse(name), n).tolist(), rel=1e-11, abs=1e-13), name


@pytest.mark.parametrize('freedom', [1, 2, 3, 19, 118, 1001])
@pytest.mark.parametrize('t', [0.0, 0.5, 1.98, 6.0])
def test_the_p_value_of_the_browser_is_that_of_scipy(statistics: Any, freedom: int, t: float) -> None:
    """From the finite series for whole degrees of freedom."""
    assert statistics('twoSidedP(arguments[0], arguments[1])', t, freedom) == pytest.approx(
        2 * stats.t.sf(t, freedom), abs=1e-13
    )


@pytest.mark.parametrize('case', ['even', 'constant', 'rare', 'common', 'few', 'one', 'unequal'])
def test_intervals_and_refusals_of_the_browser_are_those_of_the_library(statistics: Any, case: str) -> None:
    """In the middle, at the borders and where none is given, word for word."""
    values = {
        'even': [0.0, 1.0, 0.3] * 20, 'constant': [0.5] * 30, 'rare': [0.0] * 50 + [1.0] * 3,
        'common': [1.0] * 50 + [0.001] * 3, 'few': [0.0, 1.0] * 8, 'one': [0.25],
        'unequal': [0.0, 1.0, 0.3] * 80,
    }[case]  # fmt: skip
    problems = [f'p{number * 2 // 3}' for number in range(len(values))]
    if case == 'unequal':
        problems[:140] = ['p0'] * 140
    count = len(set(problems))
    quantiles = {count: stats.t.ppf(0.975, count - 1)} if count > 1 else {}
    code = 'meanInterval(arguments[0], arguments[1], arguments[2], arguments[3])'
    found = statistics(code, values, problems, json.loads(json.dumps(quantiles)), LIMITS)
    expected = mean_interval(values, problems)
    assert found['refused'] == expected.refused
    assert found['estimate'] == pytest.approx(expected.estimate)
    if not expected.refused:
        assert [found['low'], found['high']] == pytest.approx([expected.low, expected.high])


@pytest.mark.parametrize('case', ['plain', 'alike', 'same', 'few', 'unequal', 'sizes', 'six'])
def test_comparisons_of_the_browser_are_those_of_the_library(statistics: Any, case: str) -> None:
    """Numbers where there are any; the same words where there are none."""
    first = [0.1, 1.0, 0.3, 0.8] * (4 if case == 'few' else 30)
    second = {'alike': [value - 0.1 for value in first], 'same': first}.get(
        case, [0.4, 0.9] * (len(first) // 2)
    )
    if case == 'six':
        first, second = [0.0] * 120, [1 / 7] * 6 + [0.0] * 114
    problems = [f'p{0 if case == "unequal" and number < 70 else number}' for number in range(len(first))]
    if case == 'sizes':
        problems = [f'p{number * 2 // 3}' for number in range(len(first))]
    quantiles = {count: stats.t.ppf(0.975, count - 1) for count in [len(set(problems))]}
    code = 'pairedComparison(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4])'
    found = statistics(code, first, second, problems, json.loads(json.dumps(quantiles)), LIMITS)
    expected = compare(first, second, problems)
    assert bool(expected.refused) == (case in ('few', 'unequal'))
    assert found['refused'] == expected.refused
    assert found['difference'] == pytest.approx(expected.difference)
    numbers = [expected.error, expected.unpaired_error]
    assert [found['error'], found['unpairedError']] == pytest.approx(numbers, rel=1e-9)
    if not expected.refused:
        numbers = [expected.low, expected.high, expected.p_value]
        assert [found['low'], found['high'], found['p']] == pytest.approx(numbers)
