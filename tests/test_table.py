"""The tables that people read."""

from __future__ import annotations

import csv
import io

import pytest
from made_results import result_of

from gpassk_opencompass.report.summary import breakdown_table, results_table
from gpassk_opencompass.tables import Table, one_line

GREEDY = result_of('m_t0', 'd-k1', {'uid': list('abcde'), 'group': 5 * ['A_en'], 'c': [1, 1, 0, 0, 0]}, 1)
SAMPLED = result_of('m_t1', 'd-k4', {'uid': list('abc'), 'group': 3 * ['A_en'], 'c': [4, 2, 1]}, 4, (2, 4))


def test_the_published_columns_are_those_of_the_largest_k() -> None:
    """A reader sees accuracy, G-Pass@4 at 0.5, 0.75 and 1.0, mG-Pass@4, and what stayed unjudged."""
    table = results_table([GREEDY, SAMPLED])
    shown = ['accuracy', 'G-Pass@4_0.5', 'G-Pass@4_0.75', 'G-Pass@4_1.0', 'mG-Pass@4']
    assert table.headers == ['model', 'dataset', 'n', *shown, 'unjudged']


def test_every_metric_is_there_on_demand() -> None:
    """Each k and τ, pass@k too."""
    headers = results_table([SAMPLED], every_metric=True).headers
    assert {'pass@2', 'G-Pass@2_0.0', 'mG-Pass@2', 'pass@4', 'G-Pass@4_0.0'} <= set(headers)


def test_a_greedy_run_has_no_stability() -> None:
    """Its cells are empty, not zero."""
    table = results_table([GREEDY, SAMPLED])
    row = dict(zip(table.headers, table.rows[0], strict=True))
    assert row['accuracy'] == 40.0
    assert row['G-Pass@4_1.0'] is None


def test_only_greedy_runs_make_a_table_of_accuracies() -> None:
    """No sampled run, no G-Pass column."""
    assert results_table([GREEDY]).headers == ['model', 'dataset', 'n', 'accuracy', 'unjudged']


def test_markdown_rounds_and_csv_keeps_all_digits() -> None:
    """Two decimals for people, everything for programs, nothing where there is nothing."""
    table = results_table([GREEDY, SAMPLED])
    assert '33.33' in table.to_markdown()
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    all_digits = str(SAMPLED.scores()['G-Pass@4_1.0'])
    assert (rows[0]['G-Pass@4_1.0'], rows[1]['G-Pass@4_1.0']) == ('', all_digits)
    assert len(all_digits) > 15


def test_the_breakdown_has_a_row_a_group() -> None:
    """Contest × language, with the group's own numbers."""
    [row] = breakdown_table([SAMPLED]).rows
    assert row[:3] == ['m_t1', 'd-k4', 'A_en']
    assert row[breakdown_table([SAMPLED]).headers.index('G-Pass@4_1.0')] == pytest.approx(100 / 3)


def test_a_column_can_be_left_out() -> None:
    """With its cells."""
    assert Table('t', ['a', 'b', 'c'], [[1, 2, 3]]).without('b') == Table('t', ['a', 'c'], [[1, 3]])


@pytest.mark.parametrize(
    'unseen', ['\u200b', '\u200f', '\u202e', '\u2066', '\xad', '\ufeff', '\x1b', '\ud800']
)
def test_what_cannot_be_seen_in_a_cell_is_made_visible(unseen: str) -> None:
    """A name with it would look like another one, or turn what stands behind it."""
    escape = unseen.encode('unicode_escape').decode()
    assert one_line(f'a{unseen}b') == f'a{escape}b'
    assert f'a{escape}b' in Table('t', ['model'], [[f'a{unseen}b']]).to_markdown()
