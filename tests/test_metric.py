"""`Metric`: one type for what is computed, and its key in result files."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import (
    ACCURACY,
    Kind,
    Metric,
    metric_names,
    metric_table,
    metrics_of,
    value_table,
)

KS = st.integers(1, 4096)

TAUS = st.floats(0, 1) | st.builds(lambda k, i: min(i, k) / k, KS, st.integers(0, 4096))


@st.composite
def metrics(draw: st.DrawFn) -> Metric:
    kind, k = draw(st.sampled_from(Kind)), draw(KS)
    if kind is Kind.ACCURACY:
        return ACCURACY
    return Metric(kind, k, draw(TAUS) if kind is Kind.G_PASS else None)


@given(metrics())
def test_a_key_is_read_as_the_metric_that_wrote_it(metric: Metric) -> None:
    """Equal, with the same hash and the same key, whatever τ."""
    again = Metric.parse(str(metric))
    assert (again, hash(again), again.name, again.steps) == (metric, hash(metric), str(metric), metric.steps)


@given(metrics(), metrics())
def test_metrics_are_equal_where_their_keys_are(one: Metric, other: Metric) -> None:
    """No two metrics would be written under one key."""
    assert (one == other) == (str(one) == str(other))


@given(KS, st.data())
def test_a_multiple_of_a_k_th_needs_exactly_so_many(k: int, data: st.DataObject) -> None:
    """i/k of k is i, also where the nine decimals of the key lie above it."""
    i = data.draw(st.integers(1, k))
    assert Metric.g_pass_at(k, i / k).steps == Metric.parse(f'G-Pass@{k}_{round(i / k, 9)}').steps == (i,)


@pytest.mark.parametrize(
    ('metric', 'key'),
    [
        (ACCURACY, 'accuracy'),
        (Metric('pass@k', 4), 'pass@4'),  # type: ignore[arg-type]
        (Metric.g_pass_at(16, 0), 'G-Pass@16_0.0'),
        (Metric.g_pass_at(16, np.float32(0.28)), 'G-Pass@16_0.28'),
        (Metric.g_pass_at(3, 0.1 + 0.2), 'G-Pass@3_0.3'),
        (Metric.g_pass_at(4, -0.0), 'G-Pass@4_0.0'),
        (Metric.g_pass_at(4, 1e-5), 'G-Pass@4_1e-05'),
        (Metric.mg_pass_at(16), 'mG-Pass@16'),
    ],
    ids=lambda value: value if isinstance(value, str) else '',
)
def test_keys_are_the_published_ones(metric: Metric, key: str) -> None:
    """As they stand in result files."""
    assert str(metric) == metric.name == f'{metric}' == key
    assert Metric.parse(key) == metric


def test_metrics_are_ordered_as_tables_show_them() -> None:
    """Accuracy, then by k, and of each k the mean last."""
    ordered = [ACCURACY, *metrics_of([2, 16], [0.0, 0.5, 1.0], pass_at=True)]
    for shuffled in itertools.islice(itertools.permutations(ordered), 0, 100_000, 9_973):
        assert sorted(shuffled) == ordered
    assert metric_names([2, 16], [0.0, 0.5, 1.0]) == [
        str(one) for one in ordered if one.kind in (Kind.G_PASS, Kind.MG_PASS)
    ]
    assert list(metric_table(16, [2, 16], [0.0, 0.5, 1.0])) == [str(one) for one in ordered[1:]]


@pytest.mark.parametrize(
    'text',
    [
        *(
            '', 'Accuracy', 'pass', 'pass@', 'pass@0', 'pass@04', 'pass@4_0.5', 'pass^4', 'G-Pass@4',
            'G-Pass@4_',
        ),
        *('G-Pass@4_x', 'G-Pass@4_1.5', 'G-Pass@4_-0.5', 'G-Pass@4_0.5.1'),
        *(
            'G-Pass@4-0.5', 'G-Pass@4_nan', 'mG-Pass@4_0.5', 'mG-Pass@4 ', 'mG-Pass@9999999', 'gPass@4',
            'Greedy', 'G-Pass@４_0.5',
        ),
    ],
)  # fmt: skip
def test_what_is_no_key_is_refused_in_one_line(text: str) -> None:
    """It names the text."""
    with pytest.raises(InputError, match='is no metric: ') as caught:
        Metric.parse(text)
    assert repr(text) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (('other', 4), 'kind of metric'), ((Kind.ACCURACY, 4), 'k = 4'),
        ((Kind.PASS, 4, 0.5), 'threshold 0.5'), ((Kind.G_PASS, 4), 'threshold None'),
        ((Kind.G_PASS, 4, 1.5), 'from 0 to 1'), ((Kind.MG_PASS, 0), 'k must be'),
    ],
    ids=lambda value: value if isinstance(value, str) else '',
)  # fmt: skip
def test_a_metric_that_does_not_exist_is_refused(arguments: tuple[object, ...], words: str) -> None:
    """Before anything is computed of it."""
    with pytest.raises(InputError, match=words):
        Metric(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize('k', [1, 2, 5, 16])
def test_the_top_of_a_metric_is_the_value_of_who_is_always_right(k: int) -> None:
    """Below 1 for the mean of an odd k alone."""
    for metric in (Metric.mg_pass_at(k), Metric.pass_at(k), Metric.g_pass_at(k, 0.75)):
        assert metric.top == pytest.approx(value_table(metric, 20)[20])
