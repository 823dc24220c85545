"""One description of a table, and its outputs: terminal, Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .. import text as door
from ..text import NOTHING, csv_text, latex_text, markdown_cell, markdown_line, one_line
from ..text import _as_typed as as_typed

Parts = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class Column:
    """A column: its head, its side, and how numbers with a fraction and intervals are shown in it."""

    name: str
    align: str = ''
    """'left' or 'right'; '': left where one of the cells is a text."""
    shown: str | Callable[[Any], str] = '{:.2f}'
    """A format of numbers with a fraction, or a function of all values that are there."""
    limits: str | Callable[[float, float], str] = '[{:.1f}, {:.1f}]'
    parts: Parts | None = None
    """Of texts that are wrapped: what stands on lines of its own, such as a name and its settings."""
    hidden: bool = False
    """For programs alone: it stands in CSV and JSON, where a cell may be a list, too."""


class Cell(NamedTuple):
    """A value with what stands behind it.

    value: a text, a number or None for `NOTHING`; '' where the interval stands alone.
    limits: the ends of its interval.
    refused: why it has none; the cell then shows the letter of a note that says so.
    half: half the width of another interval around the value, such as that of new samples: `± 3.1`.
    more: a text behind all of it, which says what follows from the other cells; it is not in CSV and JSON.
    note: what else has to be known; the cell shows the letter of the note.
    """

    value: str | float | None = ''
    limits: tuple[float, float] | None = None
    refused: str = ''
    more: str = ''
    note: str = ''
    half: float | None = None


Value = Cell | str | float | list[Any] | None


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
        short = _short_reason(text)
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
            [
                self._text(column, cell)
                for column, cell in zip(self._columns, row, strict=True)
                if not column.hidden
            ]
            for row in self.rows
        ]

    def noted(self) -> list[str]:
        """Return a line for each note, with its letter."""
        return [f'[{letter(number)}] {note}' for number, note in enumerate(self.notes)]

    def to_terminal(self, *, notes: bool = True, width: int | None = None) -> str:
        """Return the table and its notes with nothing escaped but what cannot be seen and bars in cells.

        Args:
            notes: below the table.
            width: of the terminal; cells are wrapped where the table would be wider. None: of any width.
        """
        heads = [column.name for column in self._columns if not column.hidden]
        below = [one_line(note) for note in self.noted()] if notes else []
        return _above(door.terminal(door.Table(self.title, heads, list(self.texts())), width or 0), below)

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
        heads, rows = self._spread()
        return csv_text([heads, *rows])

    def as_json(self) -> dict[str, Any]:
        """Return title, columns, rows and notes for `schemas/tables.schema.json`, with all digits.

        A row is a mapping, column → text, number, list or None. Of an interval there are the columns
        `<name> low` and `<name> high`, of another one around the value `<name> ±`. A note names its cells.
        """
        heads, rows = self._spread()
        return {
            'title': self.title,
            'columns': heads,
            'rows': [dict(zip(heads, map(_plain, row), strict=True)) for row in rows],
            'notes': self._notes_of_cells(),
        }

    def records(self) -> list[dict[str, Any]]:
        """Return a mapping a row: the name of a column → its value."""
        return [dict(zip(self.headers, map(_value, row), strict=True)) for row in self.rows]

    def _spread(self) -> tuple[list[str], list[list[Any]]]:
        """Return the columns of CSV and JSON, and their rows: a column a number."""
        parts: list[tuple[str, int, Callable[[Cell], Any]]] = []
        for place, head in enumerate(self.headers):
            cells = [row[place] for row in self.rows]
            wide = [cell for cell in cells if isinstance(cell, Cell)]
            values = {_value(cell) for cell in cells} if wide else set()
            if values - {'', None} or '' not in values:
                parts.append((head, place, lambda cell: cell.value))
            if wide:
                parts.append((f'{head} low', place, lambda cell: cell.limits and cell.limits[0]))
                parts.append((f'{head} high', place, lambda cell: cell.limits and cell.limits[1]))
            if any(cell.half is not None for cell in wide):
                parts.append((f'{head} ±', place, lambda cell: cell.half))
        rows = [[part(_as_cell(row[place])) for _, place, part in parts] for row in self.rows]
        return [head for head, _, _ in parts], rows

    def _notes_of_cells(self) -> list[dict[str, Any]]:
        """Return the notes in full, each with its cells; none of them for a note on the whole table."""
        found: dict[str, list[dict[str, Any]]] = {}
        for number, row in enumerate(self.rows):
            for head, given in zip(self.headers, row, strict=True):
                cell = _as_cell(given)
                reasons = [cell.note, cell.refused and f'{_NO_INTERVAL}{cell.refused}']
                for text in filter(None, reasons):
                    found.setdefault(text, []).append({'row': number, 'column': head})
        told = {_short_reason(text) for text in found}
        alone = [{'text': note, 'cells': []} for note in self.notes if note not in told]
        return [{'text': text, 'cells': cells} for text, cells in found.items()] + alone

    def _note_all(self, row: Iterable[Value]) -> None:
        for cell in row:
            if isinstance(cell, Cell):
                self._marks(cell)

    def _marks(self, cell: Cell) -> tuple[str, str]:
        """Return what refers to the note of a cell, and to why it has no interval; '' where it has."""
        noted = f'[{self.note(cell.note)}]' if cell.note else ''
        return noted, f'[{self.note(f"{_NO_INTERVAL}{cell.refused}")}]' if cell.refused else ''

    def _text(self, column: Column, given: Value) -> str:
        cell = _as_cell(given)
        noted, refused = self._marks(cell)
        limits = _form(column.limits)(*cell.limits) if cell.limits else refused
        half = '' if cell.half is None else f'± {cell.half:.1f}'
        return ' '.join(filter(None, (_shown(column, cell.value), limits, half, cell.more, noted)))

    def _grid(self, escape: Callable[[str], str], form: str) -> str:
        from tabulate import tabulate  # it looks through what is installed: only what shows a table pays that

        heads = [column.name for column in self._columns if not column.hidden]
        headers, *rows = ([escape(text) for text in row] for row in [heads, *self.texts()])
        return tabulate(rows, headers, form, colalign=self._sides() if rows else None, disable_numparse=True)

    def _sides(self) -> list[str]:
        return [
            column.align or self._side(place)
            for place, column in enumerate(self._columns)
            if not column.hidden
        ]

    def _side(self, place: int) -> str:
        return 'left' if any(isinstance(_value(row[place]), str) for row in self.rows) else 'right'


_NO_INTERVAL = 'no interval: '


def _short_reason(refused: str) -> str:
    """Return a reason without the number of the single score, so that many scores share it.

    >>> _short_reason('too few problems solved: 1.2 in effect, fewer than 6')
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
    if isinstance(column.shown, str):
        return column.shown.format(value) if isinstance(value, float) else str(value)
    return column.shown(value)


def _form(form: str | Callable[..., str]) -> Callable[..., str]:
    return form.format if isinstance(form, str) else form


def _as_cell(given: Value) -> Cell:
    return given if isinstance(given, Cell) else Cell(given)  # type: ignore[arg-type]  # lists are hidden


def _plain(value: Any) -> Any:
    """Return a value for JSON, which has no numbers of numpy and none that are not finite."""
    number = value.item() if hasattr(value, 'item') else value
    return None if isinstance(number, float) and not math.isfinite(number) else number


def _value(cell: Value) -> Any:
    return cell.value if isinstance(cell, Cell) else cell
