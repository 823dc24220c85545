"""Lines of JSON that differ in their values alone, as one program writes them: many of them at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .texts import PADDING, Texts

_FIELD = re.compile(rb'( *[{,] *"([^"\\]*)" *: *)(?:"[^"\\]*(")|[0-9]+(?= *[,}]))')
_DIGITS = 18
"""So many fit into a whole number of 64 bits, whichever they are."""

_BEHIND = max(PADDING, bytes(_DIGITS))
"""What is put behind a block, so that nobody reads behind that."""

Places = NDArray[np.int64]


class Column(NamedTuple):
    """One field of many lines, as numbers and as texts; None where a line has something else.

    Whole numbers may have their texts, too.
    """

    numbers: Places | None
    texts: Texts | None


class _Value(NamedTuple):
    name: str
    is_text: bool
    before: bytes
    """What stands between the value before it, or the begin of the line, and this one."""
    quote: int | None
    """Which quotation mark of the line is the next one behind the value; None: none is."""
    behind: int
    """How many bytes lie between the end of the value and that, or the end of the line."""


class SameLines(NamedTuple):
    """What all lines have in common.

    Each byte of a line belongs to a value or to what stands between values, which has to be there as it is
    in the first line, with all quotation marks that the line has. So where no text holds a backslash or a
    control character, and numbers are digits, the line is the JSON object that it looks like.
    """

    values: Sequence[_Value]
    end: bytes
    """What stands behind the last value, with the line break."""
    quotes: int
    """In a line."""

    @classmethod
    def of(cls, line: bytes) -> SameLines | None:
        """Return how a line is made; None unless it is an object of texts and whole numbers.

        >>> same = SameLines.of(b'{"uid": "q1", "c": 3}')
        >>> same.columns(b'{"uid": "q2", "c": 4}\\n{"uid": "q3", "c": 15}\\n')['c'].numbers
        array([ 4, 15])
        """
        names, pieces, mark, at = [], [], b'', 0
        while (field := _FIELD.match(line, at)) and (b'{' in field[1].partition(b'"')[0]) is (at == 0):
            names.append(field[2].decode('utf-8', 'replace'))
            text = field[3] or b''  # its quotation marks belong to what stands around it
            pieces.append(mark + field[1] + text)
            mark, at = text, field.end()
        if not names or line[at:].strip() != b'}' or len(set(names)) < len(names):
            return None
        pieces.append(mark + line[at:].rstrip(b'\r\n') + b'\n')
        values, quotes = [], 0
        for name, before, after in zip(names, pieces, pieces[1:], strict=False):
            quotes += before.count(b'"')
            behind = after.find(b'"')
            quote = (quotes, behind) if behind >= 0 else (None, len(after) - 1)
            values.append(_Value(name, before.endswith(b'"'), before, *quote))
        return cls(values, pieces[-1], quotes + pieces[-1].count(b'"'))

    def columns(self, block: bytes) -> Mapping[str, Column] | None:
        """Return the fields of whole lines by their names; None where a line is made in another way.

        Args:
            block: lines, each with its line break.
        """
        data = np.frombuffer(block + _BEHIND, np.uint8)
        within = data[: len(block)]
        ends = np.flatnonzero(within < ord(' '))
        quotes = np.flatnonzero(within == ord('"'))
        if b'\\' in block or len(quotes) != len(ends) * self.quotes or (data[ends] != ord('\n')).any():
            return None
        if not block.isascii() and not _is_utf8(block):
            return None
        return self._columns(data, ends, quotes.reshape(len(ends), self.quotes))

    def _columns(self, data: NDArray[np.uint8], ends: Places, quotes: Places) -> Mapping[str, Column] | None:
        found = {}
        at = np.concatenate([[0], ends[:-1] + 1])
        for name, is_text, before, quote, behind in self.values:
            starts = at + len(before)
            if not _stands(before, data, at):
                return None
            at = (ends if quote is None else quotes[:, quote]) - behind
            texts = Texts(data, starts, at - starts)
            numbers = None if is_text else _numbers(texts)
            if (at < starts).any() or (numbers is None and not is_text):
                return None
            found[name] = Column(numbers, texts)
        return found if _stands(self.end, data, at) and (at + len(self.end) == ends + 1).all() else None


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _stands(piece: bytes, data: NDArray[np.uint8], at: Places) -> bool:
    """Whether a piece, which holds no zero byte, begins at all these places."""
    pieces: NDArray[np.bytes_] = np.ndarray((data.size - len(piece) + 1,), f'S{len(piece)}', data, 0, (1,))
    return int(at.max()) < pieces.size and bool((pieces[at] == piece).all())


def _numbers(texts: Texts) -> Places | None:
    """Return the whole numbers that texts are; None where one is none, as JSON writes them, or a long one."""
    data, starts, lengths = texts
    shortest, longest = int(lengths.min()), int(lengths.max())
    if shortest < 1 or longest > _DIGITS or ((lengths > 1) & (data[starts] == ord('0'))).any():
        return None
    numbers = np.zeros(starts.size, dtype=np.int64)
    for place in range(longest):
        digits = data[starts + place] - np.uint8(ord('0'))  # a sign before it is above 9
        there = lengths > place
        if (digits > 9 if place < shortest else there & (digits > 9)).any():
            return None
        larger = 10 * numbers + digits
        numbers = larger if place < shortest else np.where(there, larger, numbers)
    return numbers
