"""One description of a table, and its outputs: terminal, Markdown, LaTeX and CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tabulate import tabulate

from .escapes import as_typed, csv_text, latex_text, markdown_cell, markdown_line, one_line

NOTHING = '–'
"""In the place of a value that is not there: it is not known, or has no meaning for this row."""


@dataclass(frozen=True)
class Column:
    """A column: its head, its side, and how numbers with a fraction and intervals are shown in it."""

    name: str
    align: str = ''
    """'left' or 'right'; '': left where one of the cells is a text."""
    shown: str = '{:.2f}'
    limits: str = '[{:.1f}, {:.1f}]'


class Cell(NamedTuple):
    """A value with what stands behind it.

    value: a text, a number or None for `NOTHING`; '' where the interval stands alone.
    limits: the ends of its interval.
    refused: why it has none; the cell then shows the letter of a note that says so.
    more: a text behind the interval.
    note: what else has to be known; the cell shows the letter of the note.
    """

    value: str | float | None = ''
    limits: tuple[float, float] | None = None
    refused: str = ''
    more: str = ''
    note: str = ''


Value = Cell | str | float | None


@dataclass
class Table:
    """A title, columns, rows of cells, and notes to which the cells refer by letters: `55.56 [a]`.

    Args:
        title: of the LaTeX; the other outputs leave it to who writes the heading above.
        columns: a name alone is a column with the usual settings.
        rows: cells, or values without anything behind them.
        notes: those that are there already; tables with one list of notes share their letters.
    """

    title: str
    columns: Sequence[Column | str]
    rows: list[Sequence[Value]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.columns = [Column(one) if isinstance(one, str) else one for one in self.columns]
        for row in self.rows:
            self._note_all(row)

    @property
    def headers(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self._columns]

    @property
    def _columns(self) -> list[Column]:
        return [column for column in self.columns if isinstance(column, Column)]

    def add(self, *cells: Value) -> None:
        """Add a row at the end, and its notes."""
        self.rows.append(cells)
        self._note_all(cells)

    def note(self, text: str) -> str:
        """Return the letter of a note, which is added where it is new; exact numbers are left to the CSV."""
        short = short_reason(text)
        if short not in self.notes:
            self.notes.append(short)
        return letter(self.notes.index(short))

    def without(self, *names: str) -> Table:
        """Return a table that lacks some columns."""
        kept = [place for place, name in enumerate(self.headers) if name not in names]
        rows = [[row[place] for place in kept] for row in self.rows]
        return Table(self.title, [self.columns[place] for place in kept], list(rows), list(self.notes))

    def texts(self) -> list[list[str]]:
        """Return all cells as they are shown, before characters are escaped for one of the outputs."""
        return [
            [self._text(column, cell) for column, cell in zip(self._columns, row, strict=True)]
            for row in self.rows
        ]

    def noted(self) -> list[str]:
        """Return a line for each note, with its letter."""
        return [f'[{letter(number)}] {note}' for number, note in enumerate(self.notes)]

    def to_terminal(self, *, notes: bool = True) -> str:
        """Return the table and its notes with nothing escaped but what cannot be seen and bars in cells."""
        below = [one_line(note) for note in self.noted()] if notes else []
        return _above(self._grid(lambda text: one_line(text).replace('|', r'\|'), 'github'), below)

    def to_markdown(self, *, notes: bool = True) -> str:
        """Return the table and its notes; what would end a cell, or be HTML, is escaped."""
        below = [
            f'[{letter(number)}] {markdown_line(note)}  ' for number, note in enumerate(self.notes) if notes
        ]
        return _above(self._grid(markdown_cell, 'github'), below)

    def to_latex(self, *, titled: bool = False) -> str:
        """Return a tabular for the package booktabs, the title as a comment or above it, the notes below."""
        table = as_typed(self._grid(one_line, 'latex_booktabs'))
        # A row that begins with [ or * would be read as an argument of the line break or rule before it.
        table = re.sub(r'(\\\\|\\midrule)\n(\s*)([\[*])', r'\1\n\2{}\3', table)
        table = table.replace(r'\begin', r'\noindent\begin', 1)
        title = (
            rf'\noindent{{\small {latex_text(self.title)}}}\par' if titled else f'% {one_line(self.title)}'
        )
        notes = [
            rf'\\{{\footnotesize [{letter(number)}] {latex_text(note)}}}'
            for number, note in enumerate(self.notes)
        ]
        return '\n'.join([title, table, *notes, ''])

    def to_csv(self) -> str:
        """Return the values with all digits, empty where there is none; intervals have two more columns."""
        wide = [any(isinstance(row[place], Cell) for row in self.rows) for place in range(len(self.columns))]
        heads = [
            name
            for head, spread in zip(self.headers, wide, strict=True)
            for name in ([head, f'{head} low', f'{head} high'] if spread else [head])
        ]
        return csv_text([heads, *(list(_flat(row, wide)) for row in self.rows)])

    def records(self) -> list[dict[str, Any]]:
        """Return a mapping a row: the name of a column → its value."""
        return [dict(zip(self.headers, map(_value, row), strict=True)) for row in self.rows]

    def _note_all(self, row: Iterable[Value]) -> None:
        for cell in row:
            if isinstance(cell, Cell):
                self._marks(cell)

    def _marks(self, cell: Cell) -> tuple[str, str]:
        """Return what refers to the note of a cell, and to why it has no interval; '' where it has."""
        noted = f'[{self.note(cell.note)}]' if cell.note else ''
        return noted, f'[{self.note(f"no interval: {cell.refused}")}]' if cell.refused else ''

    def _text(self, column: Column, given: Value) -> str:
        cell = given if isinstance(given, Cell) else Cell(given)
        noted, refused = self._marks(cell)
        limits = column.limits.format(*cell.limits) if cell.limits else refused
        return ' '.join(filter(None, (_shown(column, cell.value), limits, cell.more, noted)))

    def _grid(self, escape: Callable[[str], str], form: str) -> str:
        sides = [column.align or self._side(place) for place, column in enumerate(self._columns)]
        headers, *rows = ([escape(text) for text in row] for row in [self.headers, *self.texts()])
        return tabulate(rows, headers, form, colalign=sides if rows else None, disable_numparse=True)

    def _side(self, place: int) -> str:
        return 'left' if any(isinstance(_value(row[place]), str) for row in self.rows) else 'right'


def short_reason(refused: str) -> str:
    """Return a reason without the number of the single score, so that many scores share it.

    >>> short_reason('too few problems solved: 1.2 in effect, fewer than 6')
    'too few problems solved'
    """
    return re.sub(r': [0-9.]+ in (?:effect|all), .*', '', refused)


def letter(number: int) -> str:
    """Return a, b, …, z, aa, … for 0, 1, …

    >>> letter(0), letter(25), letter(26)
    ('a', 'z', 'aa')
    """
    head, last = divmod(number, 26)
    return (letter(head - 1) if head else '') + chr(ord('a') + last)


def _above(table: str, notes: Sequence[str]) -> str:
    return '\n'.join([table, '', *notes]) if notes else table


def _shown(column: Column, value: str | float | None) -> str:
    if value is None:
        return NOTHING
    return column.shown.format(value) if isinstance(value, float) else str(value)


def _value(cell: Value) -> str | float | None:
    return cell.value if isinstance(cell, Cell) else cell


def _flat(row: Sequence[Value], wide: Sequence[bool]) -> Iterator[str | float | None]:
    for cell, spread in zip(row, wide, strict=True):
        yield _value(cell)
        if spread:
            yield from (cell.limits if isinstance(cell, Cell) and cell.limits else (None, None))
