"""Tables within the columns of a terminal: cells are wrapped, and no number is cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product, zip_longest
from typing import NamedTuple

from wcwidth import wcswidth, wcwidth

Parts = Callable[[str], Sequence[str]]
"""Splits a text into what stands on lines of its own where it does not fit on one: a name, its settings."""

_LONG = 16
"""Cells of a word that has no place to be broken at, after which it is cut; a number never is."""

_WITHIN_WORDS = re.compile(r'(?=_)|(?<=\w\w[-/@:])(?<!\de-)')
_WITHIN_INTERVALS = re.compile(rf'{_WITHIN_WORDS.pattern}|(?<=,) ')

_WAYS = ((None, 3), (_WITHIN_WORDS, 4), (_WITHIN_INTERVALS, 20))
"""Where words may be broken, not at all at first; how many lines rows may have before the next is tried."""

_INDENT = 2
"""Blanks before what goes on below in a column of texts, where it could be taken for another row."""

_WORD = re.compile(r'(?:\[\S+, \S+\]|(?<=\d) (?=%)|\S)+')
"""An interval is one, and so is a number with its %."""
_NUMBER = re.compile(r'[\W\d_eE]*\d[\W\d_eE%]*')
_CUT = re.compile(r'\\\||.', re.DOTALL)


Breaks = re.Pattern[str] | None


class Piece(NamedTuple):
    """What stays on one line; `before`: a blank, nothing, or a line break between parts."""

    text: str
    before: str
    width: int


class Column(NamedTuple):
    """A column that is to be laid out: its head and cells, its side, and how its cells fall into parts."""

    cells: Sequence[str]
    right: bool
    parts: Parts | None

    @property
    def indent(self) -> int:
        """Blanks before what goes on below."""
        return 0 if self.right else _INDENT


def display_width(text: str) -> int:
    """Return how many cells of a terminal a text takes; Chinese characters take two.

    >>> display_width('模型-7B')
    7
    """
    return len(text) if text.isascii() else max(wcswidth(text), 0)


def fitted(columns: Sequence[Column], width: int) -> str:
    """Return a table whose lines have at most `width` cells, but where two columns of numbers have more.

    Its rows are as few lines high as they can be. Columns that fit at no height stand in a table of their
    own below, with the first column once more.
    """
    for count in range(len(columns), 2, -1):
        if found := _laid(columns[:count], width):
            break
    else:
        count = min(2, len(columns))
        found = _laid(columns[:count], width) or (
            [_narrowest(one) for one in columns[:count]],
            _WITHIN_INTERVALS,
        )
    table = _drawn(columns[:count], *found)
    left = columns[count:]
    return f'{table}\n\n{fitted([columns[0], *left], width)}' if left else table


def _laid(columns: Sequence[Column], width: int) -> tuple[list[int], Breaks] | None:
    """Return how wide the columns are, and where words are broken; None where they do not fit."""
    room = width - 3 * len(columns) - 1
    for breaks, highest in _WAYS:
        shapes = [{_shape(_pieces(cell, one.parts, breaks)) for cell in one.cells} for one in columns]
        # Numbers stay on one line where it is enough that texts do not.
        for height, of_numbers in product(range(1, highest + 1), (1, highest)):
            found = [
                max(
                    _least_width(shape, min(height, of_numbers) if one.right else height, one.indent)
                    for shape in of_column
                )
                for of_column, one in zip(shapes, columns, strict=True)
            ]
            if sum(found) <= room:
                return _widened(columns, found, room - sum(found)), breaks
    return None


def _widened(columns: Sequence[Column], widths: Sequence[int], left: int) -> list[int]:
    """Give what is left to columns of texts, in equal shares."""
    found = list(widths)
    wanted = [0 if one.right else max(map(display_width, one.cells)) for one in columns]
    while left and (narrow := [place for place, width in enumerate(wanted) if found[place] < width]):
        for place in narrow[:left]:
            found[place] += 1
        left -= len(narrow[:left])
    return found


def _narrowest(column: Column) -> int:
    pieces = (_pieces(cell, column.parts, _WITHIN_INTERVALS) for cell in column.cells)
    return max(piece.width for of_cell in pieces for piece in of_cell) + column.indent


@lru_cache(maxsize=100_000)
def _pieces(text: str, parts: Parts | None, breaks: Breaks) -> tuple[Piece, ...]:
    """Return a cell in pieces, between which its line may be broken."""
    found: list[Piece] = []
    for number, part in enumerate(parts(text) if parts else [text]):
        before = '\n' if number else ''
        for word in _WORD.findall(part):
            for text_of, blank in _broken(word, breaks) if breaks else [(word, '')]:
                found.append(Piece(text_of, before or blank, display_width(text_of)))
                before = ''
            before = ' '
    return tuple(found) or (Piece('', '', 0),)


def _broken(word: str, breaks: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a word, and what stands before each."""
    start = 0
    for found in [*breaks.finditer(word), None]:
        end = found.start() if found else len(word)
        blank = ' ' if start and word[start - 1] == ' ' else ''
        for number, piece in enumerate(_cut(word[start:end])):
            yield piece, '' if number else blank
        start = found.end() if found else end


def _cut(word: str) -> Iterator[str]:
    """Yield a word in pieces that are not longer than they may be."""
    if not word or display_width(word) <= _LONG or _NUMBER.fullmatch(word):
        yield from [word] if word else []
        return
    piece, used = '', 0
    for character in _CUT.findall(word):
        wide = max(wcwidth(character), 0) if len(character) == 1 else 2
        if used + wide > _LONG:
            yield piece
            piece, used = '', 0
        piece, used = piece + character, used + wide
    yield piece


Shape = tuple[tuple[str, int], ...]
"""What stands before each piece of a cell, and its width: cells of one shape need the same room."""


def _shape(pieces: Sequence[Piece]) -> Shape:
    return tuple((one.before, one.width) for one in pieces)


@lru_cache(maxsize=100_000)
def _least_width(shape: Shape, height: int, indent: int) -> int:
    """Return the least width in which a cell of this shape takes at most so many lines."""
    low, high = max(width for _, width in shape), _whole(shape)
    while low < high:
        middle = (low + high) // 2
        lines = _breaks(shape, middle, indent)
        if lines is not None and len(lines) <= height:
            high = middle
        else:
            low = middle + 1
    return low


def _whole(shape: Shape) -> int:
    return sum(width + (before == ' ') for before, width in shape)


def _breaks(shape: Shape, width: int, indent: int) -> list[int] | None:
    """Return which pieces begin a line; None where one is wider than a line."""
    if _whole(shape) <= width:
        return [0]
    begin, used = [0], shape[0][1]
    for place, (before, wide) in enumerate(shape[1:], 1):
        if before != '\n' and used + (before == ' ') + wide <= width:
            used += (before == ' ') + wide
        else:
            begin.append(place)
            used = indent + wide
            if used > width:
                return None
    return begin


def _lines(pieces: Sequence[Piece], width: int, indent: int) -> list[str]:
    """Return the lines of a cell."""
    begin = _breaks(_shape(pieces), width, indent) or list(range(len(pieces)))
    lines = []
    for first, end in zip_longest(begin, begin[1:]):
        text = ''.join((' ' if one.before == ' ' else '') + one.text for one in pieces[first:end])
        lines.append(' ' * (indent if first else 0) + text.lstrip(' '))
    return lines


def _drawn(columns: Sequence[Column], widths: Sequence[int], breaks: Breaks) -> str:
    head, *rows = zip(
        *(
            [_lines(_pieces(cell, one.parts, breaks), width, one.indent) for cell in one.cells]
            for one, width in zip(columns, widths, strict=True)
        ),
        strict=True,
    )
    rule = '|' + '|'.join('-' * (width + 2) for width in widths) + '|'
    drawn = [_row(cells, columns, widths) for cells in (head, *rows)]
    return '\n'.join([drawn[0], rule, *drawn[1:]])


def _row(cells: Sequence[Sequence[str]], columns: Sequence[Column], widths: Sequence[int]) -> str:
    lines = []
    for texts in zip_longest(*cells, fillvalue=''):
        padded = []
        for text, one, width in zip(texts, columns, widths, strict=True):
            blanks = ' ' * (width - display_width(text))
            padded.append(f'{blanks}{text}' if one.right else f'{text}{blanks}')
        lines.append(f'| {" | ".join(padded)} |')
    return '\n'.join(lines)
