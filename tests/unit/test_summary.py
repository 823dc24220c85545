"""The rows of `gpassk score`: enumeration of subsets and independent formulas as the oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import Metric, value_table
from gpassk_opencompass.record import Result
from gpassk_opencompass.samples import Counts
from gpassk_opencompass.scoring import score_counts
from gpassk_opencompass.statistics import REACH, mean_interval, rerun_error
from gpassk_opencompass.summary import TOTAL, Row, remarks, summarise, tables


def result(
    n: Sequence[int], c: Sequence[int], k: Sequence[int], taus: Sequence[float] = (0.5, 1.0), **columns: Any
) -> Result:
    uids = [f'q{place}' for place in range(len(n))]
    told = {'problem': uids, 'group': ['all'] * len(n), 'unjudged': np.zeros(len(n), int), **columns}
    counts = Counts(uid=uids, n=np.array(n), c=np.array(c), **told)
    return score_counts(counts, {'name': 'labels'}, k=k, thresholds=taus)


def rows_of(scored: Result) -> dict[tuple[str, str], Row]:
    return {(row['group'], row['metric']): row for row in summarise(scored)}


def g_pass(verdicts: Sequence[bool], k: int, threshold: Fraction) -> Fraction:
    """By drawing every subset of k."""
    draws = list(combinations(verdicts, k))
    needed = max(1, math.ceil(k * threshold))
    return Fraction(sum(sum(draw) >= needed for draw in draws), len(draws))


@settings(max_examples=40)
@given(st.lists(st.text('01', min_size=1, max_size=6), min_size=1, max_size=5), st.integers(1, 4), st.data())
def test_a_question_counts_up_to_its_own_number_of_samples(
    verdicts: list[str], k: int, data: st.DataObject
) -> None:
    """Questions with different numbers of samples, against the draws of k of each that has as many."""
    threshold = data.draw(st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)]))
    enough = [[mark == '1' for mark in text] for text in verdicts if len(text) >= k]
    given = [len(text) for text in verdicts], [text.count('1') for text in verdicts], [k], [float(threshold)]
    if not enough:
        with pytest.raises(InputError, match=f'k = {k}: expected'):
            result(*given)
        return
    rows = rows_of(scored := result(*given))
    shares = [Fraction(text.count('1'), len(text)) for text in verdicts]
    assert rows[TOTAL, 'accuracy']['score'] == pytest.approx(100 * float(sum(shares) / len(shares)), abs=1e-9)
    for row in (row for (_, name), row in rows.items() if name.startswith('G-Pass')):
        each = [g_pass(question, k, threshold) for question in enough]
        assert row['score'] == pytest.approx(100 * float(sum(each) / len(each)), abs=1e-9)
        assert row['questions'] == len(enough)
    scores = scored.scores()
    assert {name: row['score'] for (group, name), row in rows.items() if group == TOTAL} == pytest.approx(
        {name: value for name, value in scores.items() if '/' not in name}, abs=1e-9
    )


@pytest.mark.parametrize('name', ['accuracy', 'G-Pass@2_1.0', 'G-Pass@8_1.0', 'mG-Pass@8'])
def test_the_rerun_error_is_that_of_the_counts(name: str) -> None:
    c = np.random.default_rng(1).integers(0, 9, size=50)
    metric, reach = partial(value_table, Metric.parse(name)), 100 * REACH
    alike = rows_of(result([8] * 50, c.tolist(), [2, 8]))[TOTAL, name]['rerun']
    assert alike == pytest.approx(reach * rerun_error(c, 8, metric))
    both = rows_of(result([8] * 50 + [16] * 50, [*c.tolist(), *(2 * c).tolist()], [2, 8]))[TOTAL, name]
    parts = 50 * rerun_error(c, 8, metric), 50 * rerun_error(2 * c, 16, metric)
    assert both['rerun'] == pytest.approx(reach * math.hypot(*parts) / 100)


def test_intervals_are_clustered_by_problem_in_every_group() -> None:
    c = np.random.default_rng(2).integers(0, 9, size=120)
    problems = [f'p{place // 2}' for place in range(120)]
    groups = ['S_en' if place % 2 else 'S_cn' for place in range(120)]
    rows = rows_of(result([8] * 120, c.tolist(), [4], problem=problems, group=groups))
    values = value_table(Metric.parse('G-Pass@4_0.5'), 8)[c]
    for group, part in ((TOTAL, slice(None)), ('S_en', slice(1, None, 2))):
        row, expected = rows[group, 'G-Pass@4_0.5'], mean_interval(values[part], problems[part])
        assert (row['low'], row['high']) == pytest.approx([100 * float(end) for end in expected.at()])
        assert expected.problems == 60
    assert rows['S_en', 'G-Pass@4_0.5']['questions'] == 60


def test_unjudged_samples_are_wrong_with_bounds() -> None:
    """Of four samples two are correct and one is open; of another question all are."""
    row = rows_of(result([4, 4], [2, 0], [2], unjudged=np.array([1, 4])))[TOTAL, 'accuracy']
    assert (row['score'], row['wrong']) == (25.0, 25.0)
    assert row['right'] == pytest.approx(100 * (3 / 4 + 1) / 2)


def test_what_a_group_has_too_few_samples_for_is_not_known_of_it() -> None:
    _, groups = tables(summarise(result([4, 8], [2, 4], [2, 8], group=['A', 'B'])))
    place = groups.columns.index('G-Pass@8_1.0')
    assert [row[place] is None for row in groups.rows] == [True, False, False]


def test_the_interval_of_a_score_reaches_as_far_as_its_metric() -> None:
    """Always right is 80 % of mG-Pass@5, and no interval says more; few problems are said to be few."""
    scored = result([8] * 6, [8] * 6, [5], [1.0])
    row = rows_of(scored)[TOTAL, 'mG-Pass@5']
    assert row['score'] == pytest.approx(80)
    assert row['low'] < row['high'] == pytest.approx(80)
    assert '(6 problems: so few say little of others of their kind)' in next(remarks(scored, anew=False))
