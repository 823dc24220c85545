"""One description of a table, four outputs."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpassk_opencompass.tables import NOTHING, Cell, Column, Table

FEW = 'too few problems solved: 1.2 in effect, fewer than 6'


def made() -> Table:
    table = Table(
        'Scores',
        [Column('model', 'left'), Column('score', 'right'), Column('points', 'left', '{:+.1f}'), 'n'],
    )
    table.add('a|<b>', Cell(41.234, (23.44, 62.5), note='greedy'), 1.25, 4)
    table.add('*c', Cell(5.0, refused=FEW, more='± 3.1'), None, None)
    return table


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.replace(r'\|', '¦').strip('|').split('|')]


def test_the_terminal_shows_names_as_they_are() -> None:
    """Two decimals, intervals with one, and below the table why there is none."""
    lines = made().to_terminal().splitlines()
    assert cells(lines[2]) == ['a¦<b>', '41.23 [23.4, 62.5] [a]', '+1.2', '4']
    assert cells(lines[3]) == ['*c', '5.00 [b] ± 3.1', NOTHING, NOTHING]
    assert lines[4:] == ['', '[a] greedy', '[b] no interval: too few problems solved']


def test_markdown_obeys_nothing_in_a_name() -> None:
    """It is the table of the terminal but for escapes."""
    lines = made().to_markdown().splitlines()
    assert cells(lines[2])[0] == 'a¦&lt;b>'
    assert cells(lines[3])[0] == r'\*c'
    assert [cells(line)[1:] for line in lines[2:4]] == [
        cells(line)[1:] for line in made().to_terminal().splitlines()[2:4]
    ]
    assert [line.rstrip() for line in lines[5:]] == made().noted()


def test_latex_has_the_same_cells() -> None:
    """And the notes below, in small letters."""
    text = made().to_latex()
    assert r'{}*c' in text
    assert '41.23 [23.4, 62.5] [a] &' in text
    assert r'\\{\footnotesize [b] no interval: too few problems solved}' in text


def test_csv_has_all_digits_and_the_ends_of_intervals() -> None:
    """Empty cells where there is nothing, no letters."""
    rows = list(csv.reader(io.StringIO(made().to_csv())))
    assert rows == [
        ['model', 'score', 'score low', 'score high', 'points', 'n'],
        ['a|<b>', '41.234', '23.44', '62.5', '1.25', '4'],
        ['*c', '5.0', '', '', '', ''],
    ]


@pytest.mark.parametrize('empty', [Table('t', ['a', 'b']), Table('t', [Column('a', 'left'), 'b'])])
def test_a_table_without_rows_has_its_head(empty: Table) -> None:
    """In every output."""
    assert '| a' in empty.to_terminal()
    assert '| a' in empty.to_markdown()
    assert ' a ' in empty.to_latex()
    assert empty.to_csv() == 'a,b\n'


@given(st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_no_text_makes_or_hides_a_row(texts: list[str]) -> None:
    """A line a row in the terminal and in Markdown, with as many cells as there are columns."""
    table = Table('t', ['a', 'b'], [[text, 1.0] for text in texts])
    for shown in (table.to_terminal(), table.to_markdown()):
        lines = shown.split('\n')
        assert len(lines) == 2 + len(texts)
        assert all(line.replace(r'\|', '').count('|') == 3 for line in lines)
