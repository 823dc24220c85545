"""Metrics of counts and answers: enumeration of subsets, orders and groups as the oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import Metric, value_table
from gpassk_opencompass.samples import Counts
from gpassk_opencompass.scoring import score_counts
from gpassk_opencompass.statistics import mean_interval, rerun_error
from gpassk_opencompass.summary import TOTAL, Line, Measures, explanation, scores_table, summarise, tables


def counts(
    n: Sequence[int], c: Sequence[int], unjudged: Sequence[int] = (), problem: Sequence[str] = (),
    group: Sequence[str] = (),
) -> Counts:  # fmt: skip
    uids = [f'q{place}' for place in range(len(n))]
    doubt = np.array(unjudged or [0] * len(n))
    return Counts(uids, problem or uids, group or ['all'] * len(n), np.array(n), np.array(c), doubt)


def found(counts: Counts, measures: Measures) -> dict[tuple[str, str], Line]:
    return {(line.group, str(line.metric)): line for line in summarise(counts, measures)}


def total(lines: Sequence[Line]) -> dict[str, float]:
    return {str(line.metric): line.score for line in lines if line.group == TOTAL}


def g_pass(verdicts: Sequence[bool], k: int, threshold: Fraction) -> Fraction:
    """By drawing every subset of k."""
    draws = list(combinations(verdicts, k))
    needed = max(1, math.ceil(k * threshold))
    return Fraction(sum(sum(draw) >= needed for draw in draws), len(draws))


# Metrics of counts


@settings(max_examples=40)
@given(st.lists(st.text('01', min_size=1, max_size=6), min_size=1, max_size=5), st.integers(1, 4), st.data())
def test_a_question_counts_up_to_its_own_number_of_samples(
    verdicts: list[str], k: int, data: st.DataObject
) -> None:
    """Questions with different numbers of samples, against the draws of k of each that has as many."""
    threshold = data.draw(st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)]))
    enough = [[mark == '1' for mark in text] for text in verdicts if len(text) >= k]
    table = counts([len(text) for text in verdicts], [text.count('1') for text in verdicts])
    measures = Measures((k,), (float(threshold),))
    if not enough:
        with pytest.raises(InputError, match=f'k = {k} is more than the'):
            summarise(table, measures)
        return
    lines = found(table, measures)
    shares = [Fraction(text.count('1'), len(text)) for text in verdicts]
    assert lines[TOTAL, 'accuracy'].score == pytest.approx(float(sum(shares) / len(shares)), abs=1e-12)
    for line in (line for (_, name), line in lines.items() if name.startswith('G-Pass')):
        each = [g_pass(question, k, threshold) for question in enough]
        assert line.score == pytest.approx(float(sum(each) / len(each)), abs=1e-12)
        assert line.questions == len(enough)


def test_one_sample_a_question_has_accuracy_alone() -> None:
    assert list(found(counts([1, 1], [1, 0]), Measures((1,), (0.5, 1.0)))) == [(TOTAL, 'accuracy')]


@pytest.mark.parametrize('name', ['accuracy', 'G-Pass@2_1.0', 'G-Pass@8_1.0', 'mG-Pass@8'])
def test_the_rerun_error_is_that_of_the_counts(name: str) -> None:
    """Of questions with different n the variances add up."""
    c = np.random.default_rng(1).integers(0, 9, size=50)
    measures, metric = Measures((2, 8), (1.0,)), partial(value_table, Metric.parse(name))
    alike = found(counts([8] * 50, c.tolist()), measures)[TOTAL, name].rerun
    assert alike == pytest.approx(rerun_error(c, 8, metric))
    both = found(counts([8] * 50 + [16] * 50, [*c.tolist(), *(2 * c).tolist()]), measures)[TOTAL, name].rerun
    parts = 50 * rerun_error(c, 8, metric), 50 * rerun_error(2 * c, 16, metric)
    assert both == pytest.approx(math.hypot(*parts) / 100)


def test_intervals_are_clustered_by_problem_in_every_group() -> None:
    """As `mean_interval` has them, of a group and of all questions."""
    c = np.random.default_rng(2).integers(0, 9, size=120)
    problems = [f'p{place // 2}' for place in range(120)]
    groups = ['S_en' if place % 2 else 'S_cn' for place in range(120)]
    lines = found(counts([8] * 120, c.tolist(), (), problems, groups), Measures((4,), (0.5,)))
    values = value_table(Metric.parse('G-Pass@4_0.5'), 8)[c]
    for group, rows in ((TOTAL, slice(None)), ('S_en', slice(1, None, 2))):
        interval, expected = (
            lines[group, 'G-Pass@4_0.5'].interval,
            mean_interval(values[rows], problems[rows]),
        )
        assert interval is not None
        assert interval.at() == pytest.approx(expected.at(), abs=1e-12)
        assert interval.problems == expected.problems == 60
    assert lines['S_en', 'G-Pass@4_0.5'].questions == 60


def test_unjudged_samples_are_wrong_with_bounds() -> None:
    """Of four samples two are correct and one is open; of another question all are."""
    table = counts([4, 4], [2, 0], [1, 4])
    measures = Measures((2,), (1.0,))
    line = found(table, measures)[TOTAL, 'accuracy']
    assert line.score == 0.25
    assert line.bounds == pytest.approx((0.25, (3 / 4 + 1) / 2))


def test_scores_are_those_of_the_result() -> None:
    """Of questions with different numbers of samples."""
    table = counts([8, 8, 4, 16], [3, 8, 1, 9])
    result = score_counts(table, {'name': 'labels'}, k=[4, 8], thresholds=(0.5, 1.0))
    lines = total(summarise(result.table, Measures((4, 8), (0.5, 1.0))))
    assert lines == pytest.approx({name: result.scores()[name] / 100 for name in lines}, abs=1e-15)


# Tables


def test_what_a_group_has_too_few_samples_for_is_not_known_of_it() -> None:
    """Its cell is empty; the row of all questions has the others."""
    measures = Measures((2, 8), (1.0,))
    lines = summarise(counts([4, 8], [2, 4], (), (), ['A', 'B']), measures)
    _, groups = tables(lines)
    place = groups.columns.index('G-Pass@8_1.0')
    assert [row[place] is None for row in groups.rows] == [True, False, False]


def test_the_interval_of_a_score_reaches_as_far_as_its_metric() -> None:
    """Always right is 80 % of mG-Pass@5, and no interval says more; few problems are said to be few."""
    measures = Measures((5,), (1.0,))
    lines = summarise(counts([8] * 6, [8] * 6), measures)
    [record] = [one for one in scores_table(lines).records() if one['metric'] == 'mG-Pass@5']
    assert record['score'] == pytest.approx(80)
    assert record['low'] < record['high'] == pytest.approx(80)
    assert '(6 problems: so few say little of others of their kind)' in explanation(lines)
