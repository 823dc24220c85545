"""What leaves by the door: no text steers a terminal, no number is cut, no row is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gpassk_opencompass.text import (
    Table,
    escape,
    latex,
    markdown,
    say,
    show,
    tables_as_json,
    terminal,
    warn,
)

HOSTILE = 'm\x1b[2J\x07\x9b\u202e\ud800'


def test_no_line_steers_the_terminal(capsys):
    say(HOSTILE, 'a\nb')
    warn(HOSTILE)
    printed = capsys.readouterr()
    assert printed.out == f'{escape(HOSTILE)}\na\nb\n'
    assert printed.err == f'{escape(HOSTILE)}\n'


@given(st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_no_text_makes_or_hides_a_row(texts):
    table = Table('t', ['a', 'b'], [[text, 1.0] for text in texts])
    for shown in (terminal(table), markdown(table)):
        lines = shown.split('\n')
        assert len(lines) == 2 + len(texts)
        assert all(line.replace(r'\|', '').count('|') == 3 for line in lines)


@pytest.mark.parametrize('width', [20, 40, 60, 80, 140])
@pytest.mark.parametrize('name', ['推理模型' * 15, f'Organisation--A.Long_Name-{"x" * 40}_t0.7_l32768'])
@pytest.mark.parametrize('scores', [1, 5, 12])
def test_a_table_fits_any_terminal_and_no_number_is_cut(width, name, scores):
    """Names are wrapped; where the numbers alone are too wide, a row is a block of lines."""
    heads = [f'G-Pass@16_{number}' for number in range(scores)]
    table = Table('t', ['model', *heads, 'n'], [[name, *['55.56 [50.1, 60.1]'] * scores, 48]] * 2)
    shown = terminal(table, width)
    assert shown.count('55.56 [50.1, 60.1]') == 2 * scores
    if shown.startswith('|'):
        assert {cell_len(line) for line in shown.splitlines()} == {cell_len(shown.splitlines()[0])}
        assert cell_len(shown.splitlines()[0]) <= width
    else:
        assert shown.count('n: 48') == 2


def test_json_has_all_digits_and_is_alone_on_standard_output(capsys):
    """What is said besides goes to standard error; a table may know more than it shows."""
    with tables_as_json('score'):
        say('said')
        show(Table('t', ['a'], [[1 / 3], [float('nan')]], ['a note']))
        show(Table('u', ['a'], [['0.33']], data=[{'a': 1 / 3, 'low': 0}]), title='of m')
    printed = capsys.readouterr()
    content = json.loads(printed.out)
    assert printed.err == 'said\n'
    assert content['command'] == 'score'
    assert content['tables'] == [
        {'title': 't', 'columns': ['a'], 'rows': [{'a': 1 / 3}, {'a': None}], 'notes': ['a note']},
        {'title': 'of m', 'columns': ['a', 'low'], 'rows': [{'a': 1 / 3, 'low': 0}], 'notes': []},
    ]


def test_latex_takes_any_text():
    text = latex(Table('t', ['a|b', 'c'], [['*x', '[1, 2]'], ['[y', 'p--q']], ['50 %']))
    assert r'{}*x' in text
    assert r'{}[y' in text
    assert 'p-{}-q' in text
    assert r'\textbar{}' in text
    assert r'50 \%' in text
