"""Tables within the columns of a terminal: wrapped, aligned, and no number cut."""

from __future__ import annotations

import re
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from result_files import ABBR, HALVES, THIRDS, write_result
from wcwidth import wcswidth

from gpassk_opencompass.cli import main
from gpassk_opencompass.report.tables import name_parts
from gpassk_opencompass.tables import Cell, Column, Table

CHINESE = '推理模型' * 15
LONG = f'An-Organisation--A.Rather_Long-Name-of-a-Model-{"x" * 40}_t0.7_p0.95_k50_rs42_l32768'


def widths(text: str) -> set[int]:
    """The cells of a terminal that its lines take."""
    return {wcswidth(line) for line in text.splitlines()}


def leaderboard(*names: str, numbers: int = 5) -> Table:
    scores = [Column(f'G-Pass@16_{number / 4}', 'right') for number in range(numbers)]
    table = Table('t', [Column('model', 'left', parts=name_parts), *scores, 'n'])
    for name in names:
        table.add(name, *[Cell(55.556, (50.05, 60.15))] * numbers, 48)
    return table


def test_settings_stand_below_the_name_of_the_model() -> None:
    """Where one line is too narrow, and the numbers stay beside the name."""
    shown = leaderboard('Model-7B_t0.7_l8192', numbers=1).to_terminal(width=44)
    assert shown.splitlines()[-2:] == [
        '| Model-7B       | 55.56 [50.0, 60.1] | 48 |',
        '|   _t0.7_l8192  |                    |    |',
    ]


def test_what_fits_is_one_line_a_row() -> None:
    """As without a width."""
    table = leaderboard('Model-7B_t0.7_l8192', numbers=2)
    assert table.to_terminal(width=100) == table.to_terminal()


@pytest.mark.parametrize(('width', 'numbers'), list(zip([40, 60, 80, 100, 140], cycle([1, 5, 12]))))
def test_long_and_chinese_names_fit_any_width(width: int, numbers: int) -> None:
    """No line is wider, and all lines of a table end at one bar; with many columns it falls into several."""
    shown = leaderboard(LONG, CHINESE, 'short', numbers=numbers).to_terminal(width=width)
    assert max(widths(shown)) <= width
    for block in shown.split('\n\n'):
        assert len(widths(block)) == 1
    assert shown.count('55.56') == 3 * numbers
    assert len(re.findall(r'\[50\.0,\s', shown)) == len(re.findall(r'60\.1\]', shown)) == 3 * numbers


def downwards(table: str) -> dict[str, str]:
    """The head of each column, and the texts of its cells without blanks."""
    head, _, *lines = (re.split(r'(?<!\\)\|', line)[1:-1] for line in table.splitlines())
    return {
        name.strip(): ''.join(cells[place].replace(' ', '') for cells in lines)
        for place, name in enumerate(head)
    }


@given(
    st.lists(
        st.tuples(
            st.text(
                st.characters(codec='utf-8', exclude_categories=['C', 'Z', 'M', 'N']), min_size=1, max_size=60
            ),
            st.floats(-1e18, 1e18),
            st.lists(st.sampled_from(['one', 'two-three', '1.5', '-2,000', '模型']), max_size=30).map(
                ' '.join
            ),
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(50, 120),
)
def test_nothing_is_lost_and_no_number_is_cut(rows: list[tuple[str, float, str]], width: int) -> None:
    """The pieces of each column, read downwards, are its cells; whole numbers stand in some line."""
    table = Table('t', ['name', 'number', Column('text', 'left')], [list(row) for row in rows])
    shown = table.to_terminal(width=width)
    assert max(widths(shown)) <= width
    whole = downwards(table.to_terminal())
    assert set(whole) == {'name', 'number', 'text'}
    found: dict[str, str] = {}
    for block in shown.split('\n\n'):
        columns = downwards(block)
        assert all(found.get(name, text) == text for name, text in columns.items())
        found |= columns
    assert found == whole
    for _, number, text in rows:
        assert f' {number:.2f} ' in shown
        assert all(f' {word}' in shown for word in text.split() if word in ('1.5', '-2,000'))


@pytest.mark.parametrize('width', [40, 60, 80, 100])
def test_a_number_keeps_its_percent(width: int) -> None:
    """A share is never on two lines, where its % would look like a cell."""
    heads = ['cut off', 'without an answer', 'unjudged', 'no usual response', 'copies']
    table = Table('t', ['model', *(Column(head, 'right') for head in heads)])
    table.add('m_t0.3_l2048', '0.0 %', '88.3 %', '1.2 %', '100.0 %', '7.5 %')
    shown = table.to_terminal(width=width)
    assert [share for share in ('0.0', '88.3', '1.2', '100.0', '7.5') if f' {share} % ' not in shown] == []


def test_a_command_takes_the_columns_that_it_is_told(
    tmp_path: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--width, else $COLUMNS, else 100 where there is no terminal."""
    write_result(tmp_path, ABBR.format(f'{CHINESE}1'), THIRDS)  # type: ignore[arg-type]
    write_result(tmp_path, ABBR.format(f'{"long-" * 20}2'), HALVES)  # type: ignore[arg-type]

    def widest(*options: str) -> int:
        assert main(['compare', str(tmp_path), *options]) == 0
        return max(wcswidth(line) for line in capsys.readouterr().out.splitlines() if line.startswith('|'))

    assert widest() > 200
    monkeypatch.delenv('COLUMNS')
    assert 90 < widest() <= 100
    assert 60 < widest('--width', '70') <= 70
    monkeypatch.setenv('COLUMNS', '60')
    assert 50 < widest() <= 60
    with pytest.raises(SystemExit, match='2'):
        main(['compare', str(tmp_path), '--width', '39'])
    assert "'39': expected a number of columns, at least 40" in capsys.readouterr().err
