"""Texts of anybody in CSV, Markdown and LaTeX: shown as they are, and obeyed nowhere."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import Any

from ..unseen import escaped

_FORMULA = r'[=+\-@＝＋－＠\t\r\n]'
"""What begins a formula in a spreadsheet."""


class _Lines(list[str]):
    """Collects what csv.writer writes, a line at a time."""

    write = list.append


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV in which a spreadsheet finds no formula."""
    known: dict[str, str] = {}  # of a column most texts are those of the row above

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return known[value] if value in known else known.setdefault(value, csv_cell(value))

    return csv_lines([cell(value) for value in row] for row in rows)


def csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows of cells that `csv_cell` made as CSV."""
    lines = _Lines()
    # With this end of a line csv.writer quotes cells with either of its characters.
    csv.writer(lines, lineterminator='\r\n').writerows(rows)
    return ''.join([f'{line[:-2]}\n' for line in lines])


def csv_cell(value: Any) -> Any:
    r"""Return a text for a spreadsheet: what cannot be seen is escaped, what would be a formula is quoted.

    It is quoted by an apostrophe. Line breaks and tabs stay; other values are returned as they are.

    >>> csv_cell('=HYPERLINK(1)'), csv_cell('m\x1b[2J'), csv_cell(-1.5)
    ("'=HYPERLINK(1)", 'm\\x1b[2J', -1.5)
    """
    if not isinstance(value, str):
        return value
    text = escaped(value, keep='\n\t')
    return f"'{text}" if re.match(rf"'*{_FORMULA}", text) else text


def read_csv_cell(text: str) -> str:
    """Return the text that `csv_cell` was given, with the escapes that it made.

    >>> read_csv_cell("'=HYPERLINK(1)"), read_csv_cell("'m")
    ('=HYPERLINK(1)', "'m")
    """
    return text[1:] if re.match(rf"'+{_FORMULA}", text) else text


def markdown_cell(value: Any) -> Any:
    """Return a text for a cell of a Markdown table, which it does not end; other values as they are.

    >>> markdown_cell('a|b <i>')
    'a\\\\|b &lt;i>'
    """
    return _as_text(value).replace('|', r'\|') if isinstance(value, str) else value


def markdown_line(text: str) -> str:
    """Return a text for a line of its own in which Markdown finds nothing but the text.

    No HTML, no image, no link, also none that is made of a bare address, no code and no emphasis. Names with
    underscores between letters or digits stay as they are.

    >>> markdown_line('![x](http://e.org) Qwen2.5-7B_t1-0 a*b')
    '![x\\\\](http:&#47;/e.org) Qwen2.5-7B_t1-0 a\\\\*b'
    """
    return _AT_ENDS.sub(lambda found: f'{found[0][:-1]}\\{found[0][-1]}', _as_text(text))


def _as_text(text: str) -> str:
    plain = one_line(text)
    alone = len(_EDGE.findall(plain)) < 2  # one underscore is no emphasis, e.g. before settings: _t1-0_l8192
    return _MARKUP.sub(
        lambda found: '_' if alone and found[0] == '_' else _PLAIN.get(found[0], f'\\{found[0]}'), plain
    )


_EDGE = re.compile(r'(?<![^\W_])_|_(?![^\W_])')
"""An underscore that is not within a word."""


_MARKUP = re.compile(
    r"""<
    | &(?=\#|\w+;)                         # what would be read as another character
    | \\(?=[!-/:-@\[-`{-~]|$)              # what would take the meaning of the next character away
    | [*`~]
    | (?<![^\W_])_ | _(?![^\W_])            # emphasis, as `_EDGE`
    | \](?=[(\[:])                         # a link, an image, what a link refers to
    | (?<=:)/(?=/) | (?<=www)\.            # addresses that some readers make links of
    """,
    re.VERBOSE | re.IGNORECASE,
)

_AT_ENDS = re.compile(r'^[-+>#\[]|^\d+[.)](?= |$)|#(?=#*$)')
"""What begins a list, a quotation, a heading or the target of a link, and what ends a heading."""

_PLAIN = {'<': '&lt;', '&': '&amp;', '~': '&#126;', '/': '&#47;'}
"""Characters before which some readers of Markdown show a backslash → what is written for them."""


def one_line(text: str) -> str:
    r"""Return a text with one space for each gap, and escapes for what cannot be seen.

    Among the controls is one that tabulate takes for a line between rows.

    >>> one_line('a\n b\x01')
    'a b\\x01'
    """
    return escaped(' '.join(text.split()))


def latex_text(text: str) -> str:
    """Return a text for LaTeX, which shows it as it is typed."""
    from tabulate import LATEX_ESCAPE_RULES

    return as_typed(''.join(LATEX_ESCAPE_RULES.get(character, character) for character in one_line(text)))


def as_typed(escaped_text: str) -> str:
    """Return LaTeX in which two hyphens do not become a dash, nor a bar another character."""
    return re.sub('-(?=-)', '-{}', escaped_text).replace('|', r'\textbar{}')
