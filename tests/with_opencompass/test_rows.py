"""Rows of a data set, gone through and column by column, as `datasets` itself gives them."""

from __future__ import annotations

import copy
from itertools import islice

import pytest
from hosts import import_plugin

data = import_plugin('.dataset')
rows_module = import_plugin('.rows')

import datasets  # noqa: E402


def questions(count: int = 3) -> datasets.Dataset:
    return datasets.Dataset.from_list(
        [
            {'uid': f'a/{place}', 'answer': f'é{place}', 'options': [str(place)], 'level': place}
            for place in range(count)
        ]
    )


def test_rows_are_what_a_data_set_gives_one_by_one() -> None:
    """Also of a copy, of a selection, and of rows in another format."""
    rows = data.ReplicatedRows.repeat(questions(700), 3, 'made')  # more than are decoded at a time
    plain = datasets.concatenate_datasets([rows.select(range(len(rows)))])
    assert type(plain) is datasets.Dataset
    assert list(rows) == list(plain) == list(copy.deepcopy(rows))
    assert list(rows.select([5, 2])) == [rows[5], rows[2]]
    assert [int(row['idx']) for row in islice(rows.with_format('numpy'), 2)] == [0, 1]


def test_a_row_that_somebody_changes_changes_no_other_one() -> None:
    """OpenCompass adds to the rows that it goes through; lists in them are their own as well."""
    rows = data.ReplicatedRows.repeat(questions(1), 2, 'made')
    first, second = rows
    first['options'].append('x')
    assert second['options'] == ['0']


@pytest.mark.parametrize('name', ['uid', 'answer', 'options', 'level'])
def test_a_column_is_what_the_data_set_gives(name: str) -> None:
    """In memory, after a selection, and of another's concatenation."""
    rows = data.ReplicatedRows.repeat(questions(), 4, 'made')
    for one in (
        rows,
        rows.select([3, 1]),
        rows.shuffle(seed=1),
        datasets.concatenate_datasets([questions()] * 3),
    ):
        assert list(rows_module.column_of(one, name)) == list(one[name])


def test_replicas_share_their_texts() -> None:
    """So that a column of n × Q rows has Q texts."""
    column = rows_module.column_of(data.ReplicatedRows.repeat(questions(), 4, 'made'), 'answer')
    assert len({id(text) for text in column}) == 3
