"""What the metrics accept and refuse, the tables, and the class for a single question."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import (
    LARGEST_N,
    GPassAtK,
    g_pass_at_k,
    metric_names,
    metric_table,
    mg_pass_at_k,
    pass_at_k,
)

BAD_COUNTS = [
    (9, ValueError, 'c must be from 0 to n = 8, got 9'),
    (2**70, ValueError, 'c must be from 0 to n = 8'),
    (-1, ValueError, 'got -1'),
    (2.5, ValueError, 'whole number, got 2.5'),
    (math.nan, ValueError, 'whole number, got nan'),
    (3.0, TypeError, 'c must be an integer, got 3.0'),
    (True, TypeError, 'got True'),
    ('3', TypeError, "got '3'"),
    (None, TypeError, 'NoneType'),
    ([1, 9], ValueError, 'got 9'),
    ([[1], [-3]], ValueError, 'got -3'),
    ([1, 2.5], ValueError, 'got 2.5'),
    (np.array([1.0, np.nan]), ValueError, 'got nan'),
    (np.array([1.0, np.inf]), ValueError, 'got inf'),
    (np.array([1.0, 2.0]), TypeError, 'got 1.0'),
    (np.array([True, False]), TypeError, 'ndarray of bool'),
    ([1, None], TypeError, 'list of object'),
    (np.array([250], dtype=np.uint8), ValueError, 'got 250'),
]

BAD_SIZES = [
    (8, 9, ValueError, 'k must be from 1 to n = 8, got 9'),
    (8, 0, ValueError, 'got 0'),
    (8, 2.5, ValueError, 'k must be a whole number, got 2.5'),
    (8, math.nan, ValueError, 'k must be a whole number, got nan'),
    (8, 4.0, TypeError, 'k must be an integer, got 4.0'),
    (8, True, TypeError, 'got True'),
    (0, 1, ValueError, 'n must be from 1 to'),
    (LARGEST_N + 1, 1, ValueError, 'n must be from 1 to 10000'),
    (None, 1, TypeError, 'n must be an integer, got None'),
]

BAD_THRESHOLDS = [
    (-0.1, ValueError, 'from 0 to 1, got -0.1'),
    (1.1, ValueError, 'got 1.1'),
    (math.nan, ValueError, 'got nan'),
    ('0.5', TypeError, "got '0.5'"),
    (True, TypeError, 'got True'),
    (None, TypeError, 'NoneType'),
]


@pytest.mark.parametrize(('c', 'error', 'message'), BAD_COUNTS)
def test_impossible_counts_are_refused(c: Any, error: type[Exception], message: str) -> None:
    """Every metric names the count that cannot be; none turns it into a number."""
    with pytest.raises(error, match=message):
        pass_at_k(8, c, 4)
    with pytest.raises(error, match=message):
        g_pass_at_k(8, c, 4, 0.5)
    with pytest.raises(error, match=message):
        mg_pass_at_k(8, c, 4)


@pytest.mark.parametrize(('n', 'k', 'error', 'message'), BAD_SIZES)
def test_impossible_sizes_are_refused(n: Any, k: Any, error: type[Exception], message: str) -> None:
    """k > n and other sizes that mean nothing raise instead of giving 0.0 or 1.0."""
    for metric in (pass_at_k, mg_pass_at_k, lambda n, c, k: g_pass_at_k(n, c, k, 1.0)):
        with pytest.raises(error, match=message):
            metric(n, 0, k)
    with pytest.raises(error, match=message):
        metric_table(n, [k])


@pytest.mark.parametrize(('threshold', 'error', 'message'), BAD_THRESHOLDS)
def test_impossible_thresholds_are_refused(threshold: Any, error: type[Exception], message: str) -> None:
    """A threshold is a number from 0 to 1, not a percentage."""
    with pytest.raises(error, match=message):
        g_pass_at_k(8, 4, 4, threshold)
    with pytest.raises(error, match=message):
        metric_names(4, [threshold])


@settings(max_examples=50)
@given(
    arrays(
        st.sampled_from([np.int64, np.uint8, np.int16]), array_shapes(min_dims=0), elements=st.integers(0, 12)
    )
)
def test_arrays_of_any_shape_and_type_give_the_values_of_their_elements(counts: np.ndarray[Any, Any]) -> None:
    """The result has the shape of c, and each element is what the element alone would give."""
    for metric in (pass_at_k, mg_pass_at_k, lambda n, c, k: g_pass_at_k(n, c, k, 0.75)):
        values = np.asarray(metric(12, counts, 5))
        assert values.dtype == np.float64
        assert values.shape == counts.shape
        assert values.ravel().tolist() == [metric(12, int(c), 5) for c in counts.ravel()]


def test_one_count_gives_a_float_and_none_gives_none() -> None:
    """Integers of Python and numpy give a plain float; an empty list or array an empty result."""
    for c in (3, np.int32(3), np.uint8(3), np.array(3)):
        assert type(g_pass_at_k(np.int64(4), c, np.int8(2), 1.0)) is float
    assert g_pass_at_k(4, [], 2, 1.0).shape == (0,)
    assert g_pass_at_k(4, np.empty((3, 0), dtype=int), 2, 1.0).shape == (3, 0)


def test_lists_of_k_and_thresholds_must_be_sets() -> None:
    """A missing k or one key computed twice is a mistake of the caller."""
    with pytest.raises(InputError, match='at least one k'):
        metric_names([])
    with pytest.raises(InputError, match=r'G-Pass@4_0\.0 would be computed twice'):
        metric_names([4, 8, 4])
    with pytest.raises(InputError, match=r'G-Pass@4_0\.3 would be computed twice'):
        metric_table(8, 4, [0.3, 0.1 + 0.2])


def test_tables_cannot_be_spoiled_for_the_next_caller() -> None:
    """Tables are shared, so they are read-only; looked-up values are the caller's own."""
    with pytest.raises(ValueError, match='read-only'):
        metric_table(12, 4)['mG-Pass@4'][0] = 1.0
    values = mg_pass_at_k(12, [12], 4)
    values[0] = 0.5
    assert mg_pass_at_k(12, 12, 4) == 1.0


@pytest.mark.parametrize(
    ('scoring', 'correct'),
    [
        (None, [1, 0, 0, 0]),
        ('full', [1, 0, 0, 0]),
        ('prefix', [1, 1, 0, 0]),
        ('suffix', [1, 0, 1, 0]),
        (lambda pred, gold: gold in pred, [1, 1, 1, 0]),
        (lambda pred, gold: float(gold in pred), [1, 1, 1, 0]),
        (lambda pred, gold: np.bool_(gold in pred), [1, 1, 1, 0]),
    ],
)
def test_scoring_functions_decide_what_is_correct(
    scoring: str | Callable[[str, str], Any] | None, correct: list[int]
) -> None:
    """Names compare texts without outer white space; a function of one's own decides freely."""
    metric = GPassAtK(k=1, thresholds=[1.0], sample_scoring_function=scoring)
    predictions = [' 42\n', '42 apples', 'it is 42', '4']
    found = [
        metric.compute([prediction], '42 ' if isinstance(scoring, str) else '42')
        for prediction in predictions
    ]
    assert [result['G-Pass@1_1.0'] for result in found] == correct


def test_of_more_predictions_the_first_n_are_used() -> None:
    """With n given, later predictions are not looked at."""
    metric = GPassAtK(k=2, n=2)
    assert metric.compute(['a', 'a', 'b', 'b'], 'a')['G-Pass@2_1.0'] == 1.0
    assert metric.compute(['b', 'b', 'a', 'a'], 'a')['G-Pass@2_0.0'] == 0.0


@pytest.mark.parametrize(
    ('arguments', 'predictions', 'gold', 'error', 'message'),
    [
        ({'k': 2}, ['a', 'b'], ['a', 'b'], ValueError, 'exactly one gold answer, got 2'),
        ({'k': 2}, ['a', 'b'], [], ValueError, 'exactly one gold answer, got 0'),
        ({'k': 2, 'n': 3}, ['a', 'b'], 'a', ValueError, 'at least 3 answers, got 2'),
        ({'k': 3}, ['a', 'b'], 'a', ValueError, 'k must be from 1 to n = 2, got 3'),
        ({'k': 1}, [], 'a', ValueError, 'at least 1 answers, got 0'),
        ({'k': 1}, 'ab', 'a', TypeError, 'list of answers, got str'),
        ({'k': 1}, None, 'a', TypeError, 'list of answers, got NoneType'),
        ({'k': 1}, ['a', None], 'a', TypeError, 'each prediction must be a string, got None'),
        ({'k': 1}, ['a'], 7, TypeError, 'each gold must be a string, got 7'),
        ({'k': 1, 'sample_scoring_function': 'prefix'}, ['a'], ' ', ValueError, 'gold is blank'),
        ({'k': 1, 'sample_scoring_function': lambda p, g: 0.5}, ['a'], 'a', ValueError, '0 or 1, got 0.5'),
        ({'k': 1, 'sample_scoring_function': lambda p, g: 'yes'}, ['a'], 'a', ValueError, "got 'yes'"),
        ({'k': 1, 'sample_scoring_function': lambda p, g: None}, ['a'], 'a', ValueError, 'got None'),
    ],
)
def test_questions_that_cannot_be_scored_are_refused(
    arguments: dict[str, Any], predictions: Any, gold: Any, error: type[Exception], message: str
) -> None:
    """Missing predictions, several golds and odd scores raise; none counts as wrong."""
    with pytest.raises(error, match=message):
        GPassAtK(**arguments).compute(predictions, gold)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'k': 4, 'n': 3}, 'k must be from 1 to n = 3, got 4'),
        ({'k': []}, 'at least one k'),
        ({'k': [0, 4]}, 'k must be from 1'),
        ({'k': 4, 'n': 8.5}, 'n must be a whole number'),
        ({'k': 4, 'thresholds': [2]}, 'from 0 to 1'),
        (
            {'k': 4, 'sample_scoring_function': 'equal'},
            "'full', 'prefix', 'suffix' or a function, got 'equal'",
        ),
        ({'k': 4, 'sample_scoring_function': ['full']}, 'or a function'),
    ],
)
def test_settings_that_cannot_work_are_refused_at_once(arguments: dict[str, Any], message: str) -> None:
    """A wrong setting raises when the metric is made, not at the first question."""
    with pytest.raises(InputError, match=message):
        GPassAtK(**arguments)


@pytest.mark.parametrize('scores', [[1, 0, 1, 1, 0, 1, 0, 1], [True] * 3 + [False] * 5, [0] * 8, [1.0] * 8])
@pytest.mark.parametrize('given', [None, 8], ids=['n of the scores', 'n given'])
def test_scores_of_one_question_give_its_metrics(scores: list[Any], given: int | None) -> None:
    """As the paper's README calls it: of k answers drawn from n enough are right, in exact fractions."""
    n, correct = 8, sum(map(bool, scores))

    def at_least(k: int, least: int) -> Fraction:
        ways = sum(math.comb(correct, j) * math.comb(n - correct, k - j) for j in range(least, k + 1))
        return Fraction(ways, math.comb(n, k))

    expected = {}
    for k in (2, 4):
        for threshold in ('0.0', '0.25', '0.5', '0.75', '1.0'):
            expected[f'G-Pass@{k}_{threshold}'] = at_least(k, max(1, math.ceil(Fraction(threshold) * k)))
        expected[f'mG-Pass@{k}'] = Fraction(2, k) * sum(at_least(k, i) for i in range(k // 2 + 1, k + 1))
    metric = GPassAtK(k=[2, 4], n=given, thresholds=[0.0, 0.25, 0.5, 0.75, 1.0])
    found = metric.g_pass_at_k(scores)
    assert list(found) == list(expected) == metric.all_metrics
    assert found == pytest.approx({name: float(value) for name, value in expected.items()}, abs=1e-15)
    assert found == metric.g_pass_at_k(np.array(scores))
    assert found == metric.compute(['7' if score else '8' for score in scores], gold='7')


@pytest.mark.parametrize(
    ('scores', 'error', 'message'),
    [
        ([1, 0.5, 0, 1], InputError, 'all scores must be booleans, 0 or 1, got 0.5'),
        ([1, None, 0, 1], InputError, 'got None'),
        ([1, 0], InputError, 'all_scores must hold at least 4 answers, got 2'),
        ([], InputError, 'got 0'),
        ('1101', TypeError, 'all_scores must be a list of scores, got str'),
        (3, TypeError, 'got int'),
    ],
)
def test_scores_that_are_none_are_refused(scores: Any, error: type[Exception], message: str) -> None:
    """Rather than counted as wrong answers."""
    with pytest.raises(error, match=message):
        GPassAtK(k=2, n=4).g_pass_at_k(scores)
