"""What people and other programs read: the door to the terminal, tables, moments and durations.

Texts come from anybody: names of models, questions, replies of servers. Whatever leaves by `say`, `warn`,
`show`, `json_text`, `csv_text` or `markdown` steers no terminal, no spreadsheet and no page.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime, timezone
from io import StringIO, TextIOWrapper
from math import isfinite
from typing import Any, TextIO, TypeVar

from rich.cells import cell_len

from . import __version__

Item = TypeVar('Item')

# Characters that cannot be seen ----------------------------------------------------------------------

UNSEEN = re.compile(
    '[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff'
    '\U000e0000-\U000e007f]'
)
"""Controls, directions, zero widths, halves of characters."""


def escape(text: str, keep: str = '') -> str:
    r"""Return a text with escapes for `UNSEEN` characters, but for those that may stay.

    >>> escape('2\x1b[2J\nis 二', keep='\n')
    '2\\x1b[2J\nis 二'
    """
    return UNSEEN.sub(
        lambda found: found[0] if found[0] in keep else found[0].encode('unicode_escape').decode(), text
    )


def one_line(text: object) -> str:
    """Return a text with one space for each gap, and escapes for what cannot be seen."""
    return escape(' '.join(str(text).split()))


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as JSON without `UNSEEN` characters; who reads it has them back, halves too."""

    def escaped(found: re.Match[str]) -> str:
        if found[0] == '\n':
            return found[0]
        digits = found[0].encode('utf-16-be', 'surrogatepass').hex()
        return ''.join(f'\\u{digits[at : at + 4]}' for at in range(0, len(digits), 4))

    return UNSEEN.sub(escaped, json.dumps(value, ensure_ascii=False, indent=indent))


def whole_characters(value: Any) -> Any:
    """Return JSON-able data with escapes in the place of halves of characters, which no UTF-8 can hold."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode('utf-8', 'backslashreplace').decode('utf-8')
    if isinstance(value, dict):
        return {whole_characters(key): whole_characters(one) for key, one in value.items()}
    return [whole_characters(one) for one in value] if isinstance(value, (list, tuple)) else value


# The terminal ----------------------------------------------------------------------------------------


def say(*lines: object, end: str = '\n', flush: bool = False) -> None:
    """Print a line each on standard output; the work goes on where nobody reads: `gpassk run … | head`."""
    _print(lines, sys.stdout, end, flush)


def warn(*lines: object) -> None:
    """Print a line each on standard error, or nowhere as `say`."""
    _print(lines, sys.stderr)


def _print(lines: Iterable[object], file: TextIO, end: str = '\n', flush: bool = False) -> None:
    try:
        print(*(escape(str(one), keep='\n') for one in lines), sep='\n', end=end, file=file, flush=flush)
    except BrokenPipeError:
        drop_output(file)


def progress(what: str, items: Collection[Item]) -> Iterator[Item]:
    """Yield items; on a terminal a bar says how many are done, once it takes longer than two seconds."""
    if not sys.stderr or not sys.stderr.isatty():
        yield from items
        return
    from tqdm import tqdm

    yield from tqdm(items, desc=what, delay=2, leave=False, file=sys.stderr)


def open_output() -> None:
    """Make standard output writable: where it is closed (`>&-`), what is printed goes nowhere."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, 'w')  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors='backslashreplace')


def drop_output(stream: TextIO) -> None:
    """Send what is yet to be written nowhere; the interpreter would else try to write it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


# Tables ----------------------------------------------------------------------------------------------

NOTHING = '–'
"""In the place of a value that is not there: it is not known, or has no meaning for this row."""
SHORT = 12
"""Columns of a text that a narrow terminal does not break."""


@dataclass
class Table:
    """Rows under heads, with notes below.

    Args:
        title: for LaTeX and JSON; elsewhere who shows the table writes the heading above.
        columns: their heads.
        rows: texts and numbers; None is `NOTHING`, a number with a fraction gets two decimals.
        notes: lines below.
        data: for programs, a mapping a row where the cells are not all that is known.
    """

    title: str
    columns: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    data: list[Mapping[str, Any]] | None = None

    def texts(self) -> list[list[str]]:
        """Return the cells as they are shown."""
        return [[_shown(cell) for cell in row] for row in self.rows]

    def sides(self) -> list[str]:
        """Return 'right' for each column of numbers, with their intervals and marks, else 'left'."""
        cells = list(zip(*self.texts(), strict=True)) or [()] * len(self.columns)
        return ['right' if column and all(map(_NUMERIC.fullmatch, column)) else 'left' for column in cells]

    def records(self) -> list[dict[str, Any]]:
        """Return a mapping a row, for programs: `data`, or column → value with all digits."""
        rows = self.data
        if rows is None:
            rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return [{name: _plain(value) for name, value in row.items()} for row in rows]


_NUMERIC = re.compile(r'(?:[\W\d_]|(?<=\d)[eE](?=[+-]?\d)|(?<=\[)[a-z]{1,2}(?=\])|\bto\b)*')


def _shown(cell: Any) -> str:
    if cell is None:
        return NOTHING
    return f'{cell:.2f}' if isinstance(cell, float) else str(cell)


def _plain(value: Any) -> Any:
    """Return a value for JSON, which has no numbers of numpy and none that are not finite."""
    number = value.item() if hasattr(value, 'item') else value
    return None if isinstance(number, float) and not isfinite(number) else number


_collected: list[list[dict[str, Any]]] = []
"""The tables of the command that runs with --json."""


def show(table: Table, title: str = '') -> None:
    """Print a table with its notes, or keep it where a command prints JSON.

    Args:
        title: instead of its own, where a command has several of one title.
    """
    if _collected:
        rows = table.records()
        columns = list(rows[0]) if rows else list(table.columns)
        entry = {'title': title or table.title, 'columns': columns, 'rows': rows, 'notes': list(table.notes)}
        _collected[-1].append(entry)
    else:
        say(terminal(table, width()), *(['', *map(one_line, table.notes)] if table.notes else []))


def width() -> int:
    """Return $COLUMNS, the columns of the terminal, or 0 in a file or pipe, where no line is wrapped."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    told = os.environ.get('COLUMNS', '')
    return int(told) if told.isascii() and told.isdigit() else 0


def terminal(table: Table, width: int = 0) -> str:
    """Return a table for so many columns of a terminal; 0 for any width.

    Long texts are wrapped and no number is cut; where all is too wide, a row is a block of lines.
    """
    heads = [one_line(name) for name in table.columns]
    rows = [[one_line(cell).replace('|', r'\|') for cell in row] for row in table.texts()]
    lines = _aligned([heads, *rows], table.sides())
    if not width or cell_len(lines[0]) <= width:  # nothing has to be wrapped, which takes its time
        return '\n'.join(lines)
    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.MARKDOWN, pad_edge=True, show_edge=True)
    for name, side, column in zip(heads, table.sides(), zip(heads, *rows, strict=True), strict=True):
        fixed = side == 'right'
        whole = fixed or max(map(cell_len, column)) <= SHORT
        grid.add_column(Text(name), justify='right' if fixed else 'left', no_wrap=whole, overflow='fold')
    for row in rows:
        grid.add_row(*(Text(cell.replace(' [', '\n[')) for cell in row))  # an interval below its score
    console = Console(file=StringIO(), width=width, color_system=None, force_terminal=False)
    if Measurement.get(console, console.options.update(width=100_000), grid).minimum > width:
        return '\n\n'.join(
            '\n'.join(f'{head}: {cell}' for head, cell in zip(heads, row, strict=True)) for row in rows
        )
    console.print(grid)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return '\n'.join(line.rstrip() for line in lines if line.strip())


def _aligned(rows: Sequence[Sequence[str]], sides: Sequence[str]) -> list[str]:
    """Return the lines of a table in Markdown, the first row as its heads."""
    wide = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        gaps = [' ' * (size - cell_len(cell)) for size, cell in zip(wide, row, strict=True)]
        cells = zip(row, gaps, sides, strict=True)
        parts = [gap + cell if side == 'right' else cell + gap for cell, gap, side in cells]
        lines.append(f'| {" | ".join(parts)} |')
    lines.insert(1, f'|{"|".join("-" * (size + 2) for size in wide)}|')
    return lines


@contextmanager
def tables_as_json(command: str) -> Iterator[None]:
    """Print all tables of a command as one JSON object on standard output, all else on standard error."""
    _collected.append([])
    done = False
    try:
        with redirect_stdout(sys.stderr):
            yield
        done = True
    finally:
        tables = _collected.pop()
        if done or tables:
            if isinstance(sys.stdout, TextIOWrapper):
                sys.stdout.reconfigure(encoding='utf-8', errors='backslashreplace')
            print(json_text({'command': command, 'version': __version__, 'tables': tables}, indent=1))


def markdown(table: Table) -> str:
    """Return a table and its notes; what would end a cell, or be HTML, a link or emphasis, is escaped."""
    rows = [table.columns, *table.texts()]
    cells = [[markdown_line(cell).replace('|', r'\|') for cell in row] for row in rows]
    notes = [f'{markdown_line(note)}  ' for note in table.notes]
    return '\n'.join([*_aligned(cells, table.sides()), *([''] if notes else []), *notes])


def latex(table: Table) -> str:
    """Return a tabular for the package booktabs, the title as a comment above it, the notes below."""
    from tabulate import LATEX_ESCAPE_RULES, tabulate  # it looks through what is installed, which takes time

    heads, *rows = ([one_line(cell) for cell in row] for row in [table.columns, *table.texts()])
    sides = table.sides() if rows else None
    text = _as_typed(tabulate(rows, heads, 'latex_booktabs', colalign=sides, disable_numparse=True))
    # A row that begins with [ or * would be read as an argument of the line break or rule before it.
    text = re.sub(r'(\\\\|\\midrule)\n(\s*)([\[*])', r'\1\n\2{}\3', text)
    lines = [f'% {one_line(table.title)}', text.replace(r'\begin', r'\noindent\begin', 1)]
    for note in table.notes:
        typed = _as_typed(''.join(LATEX_ESCAPE_RULES.get(one, one) for one in one_line(note)))
        lines.append(rf'\\{{\footnotesize {typed}}}')
    return '\n'.join([*lines, ''])


# Texts in CSV, Markdown and LaTeX: shown as they are, and obeyed nowhere --------------------------------

_FORMULA = r'[=+\-@＝＋－＠\t\r\n]'
"""What begins a formula in a spreadsheet."""


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV in which a spreadsheet finds no formula."""
    file = StringIO()
    csv.writer(file, lineterminator='\n').writerows(map(csv_cell, row) for row in rows)
    return file.getvalue()


def csv_cell(value: Any) -> Any:
    r"""Return a text for a spreadsheet: what cannot be seen is escaped, what would be a formula is quoted.

    It is quoted by an apostrophe. Line breaks and tabs stay; other values are returned as they are.

    >>> csv_cell('=HYPERLINK(1)'), csv_cell('m\x1b[2J'), csv_cell(-1.5)
    ("'=HYPERLINK(1)", 'm\\x1b[2J', -1.5)
    """
    if not isinstance(value, str):
        return value
    text = escape(value, keep='\n\t')
    return f"'{text}" if re.match(rf"'*{_FORMULA}", text) else text


def read_csv_cell(text: str) -> str:
    """Return the text that `csv_cell` was given, with the escapes that it made."""
    return text[1:] if re.match(rf"'+{_FORMULA}", text) else text


_EDGE = r'(?<![^\W_])_|_(?![^\W_])'
"""An underscore that is not within a word."""
_MARKUP = re.compile(
    rf"""[<*`~]
    | &(?=\#|\w+;)                         # what would be read as another character
    | \\(?=[!-/:-@\[-`{{-~]|$)             # what would take the meaning of the next character away
    | {_EDGE}                              # emphasis
    | \](?=[(\[:])                         # a link, an image, what a link refers to
    | (?<=:)/(?=/) | (?<=www)\.            # addresses that some readers make links of
    | ^[-+](?!\d) | ^[>\#\[] | ^\d+[.)](?=\ |$) | \#(?=\#*$)
    """,  # the last: lists, quotations, the target of a link, headings and their ends
    re.VERBOSE | re.IGNORECASE,
)
_PLAIN = {'<': '&lt;', '&': '&amp;', '~': '&#126;', '/': '&#47;'}
"""Characters before which some readers of Markdown show a backslash → what is written for them."""


def markdown_line(text: str) -> str:
    """Return a text for a line of its own in which Markdown finds nothing but the text.

    No HTML, image, link (nor a bare address), code or emphasis; underscores within a word stay as they are.
    """
    plain = one_line(text)
    alone = len(re.findall(_EDGE, plain)) < 2  # no emphasis, e.g. before settings: _t1-0_l8192

    def escaped(found: re.Match[str]) -> str:
        return '_' if alone and found[0] == '_' else _PLAIN.get(found[0], f'{found[0][:-1]}\\{found[0][-1]}')

    return _MARKUP.sub(escaped, plain)


def _as_typed(escaped: str) -> str:
    """Return LaTeX in which two hyphens do not become a dash, nor a bar another character."""
    return re.sub('-(?=-)', '-{}', escaped).replace('|', r'\textbar{}')


# Moments and durations -------------------------------------------------------------------------------

FOLDER = '%Y%m%d_%H%M%S'
"""How OpenCompass names its time directories, by the clock on the wall."""


def utc_now() -> str:
    """Return the present as ISO 8601, to the microsecond: two runs may begin in one second."""
    return datetime.now(timezone.utc).strftime('%Y-%m-%dT%H:%M:%S.%fZ')


def utc_folder() -> str:
    """Return the present in the form of a time directory, in UTC as in each one that `gpassk run` makes."""
    return datetime.now(timezone.utc).strftime(FOLDER)


def own_folder(taken: Collection[str]) -> str:
    """Return the present as `utc_folder` does, once it is none of those taken: within a second.

    OpenCompass names a time directory after the second: two starts within one would share it.
    """
    while (now := utc_folder()) in taken:
        time.sleep(0.02)
    return now


def seconds_of(moment: object) -> float | None:
    """Return the seconds since 1970 of an ISO 8601 text, which is in UTC where it says no other; else None.

    >>> seconds_of('1970-01-01T00:00:01.5')
    1.5
    """
    # Python 3.10 reads fractions of three or six digits alone.
    text = re.sub(r'\.(\d{1,6})\d*', lambda found: f'.{found[1]:0<6}', str(moment).replace('Z', '+00:00'))
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        return None


def seconds_of_folder(name: str, utc: bool = False) -> float | None:
    """Return the seconds since 1970 of a time directory, named by the local time or in UTC; None for others.

    >>> seconds_of_folder('19700102_000000', utc=True)
    86400.0
    """
    try:
        moment = datetime.strptime(name, FOLDER)
        return (moment.replace(tzinfo=timezone.utc) if utc else moment.astimezone()).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def words(text: str) -> frozenset[str]:
    """Return the words of a text, for long tables of them."""
    return frozenset(text.split())


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(42.4), duration(185), duration(7500)
    ('42 s', '3:05 min', '2:05 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f'{whole} s'
    if whole < 3600:
        return f'{whole // 60}:{whole % 60:02} min'
    return f'{whole // 3600}:{whole % 3600 // 60:02} h'
