"""JSON from files that need not fit into memory: rows, the entries of a large object, how a file begins."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import IO, Any

from .errors import InputError

Row = dict[str, Any]
"""A row of a file, also as a format makes it of a sample."""

_CHUNK = 1 << 20
_SPACE = re.compile(r'[ \t\n\r]*')
_AFTER_NUMBER = frozenset(' \t\n\r,]}')
_SURROGATE = re.compile(r'\\u[dD][89a-fA-F]..')
_CLOSING = {'{': '}', '[': ']'}
_decode = JSONDecoder().raw_decode


def json_rows(path: Path, strict: bool = True) -> Iterator[tuple[int, Row]]:
    """Yield the objects of a file with their numbers from 1, those of lines where an object is a line.

    A file holds an object a line, one list of objects, or one object over several lines; `.gz` is unpacked.
    Values are those that `json` makes: NaN, halves of surrogates, integers of any size.

    Args:
        strict: False: what is no object is given as {'_bad': why}, and the next line is read.

    Raises:
        InputError: the file cannot be read, or is no JSON; names the file and the line.
    """
    with open_text(path) as file:
        text = _Text(file)
        entries = ((int(key) + 1, value, '') for (key,), value in text.entries())
        for number, value, why in entries if text.next() == '[' else _lines(file):
            if type(value) is dict:
                yield number, value
                continue
            told = why or f'holds a {type(value).__name__}; expected an object'
            if strict:
                raise InputError(f'{path}:{number} {told}')
            yield number, {'_bad': told}


def _lines(file: IO[str]) -> Iterator[tuple[int, Any, str]]:
    """Yield the values of lines with their numbers, and why one is no JSON; '' where it is."""
    from pydantic_core import from_json  # three times as fast as json, of the values that both take

    file.seek(0)
    lines = ((number, line) for number, line in enumerate(file, 1) if not line.isspace())
    for count, (number, line) in enumerate(lines):
        value, why = None, ''
        try:
            value = from_json(line, cache_strings='keys')
        except ValueError:
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                why = f'is no JSON: {error}'
                if count == 0 and isinstance(error, JSONDecodeError) and error.pos >= len(line.rstrip()):
                    try:  # an object over several lines
                        value, why = json.loads(line + file.read()), ''
                    except (ValueError, RecursionError) as whole:
                        why = f'is no JSON, and neither is the whole file: {whole}'
        yield number, value, why


def json_entries(path: Path, inside: str | None = None) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the entries of the object in a file, one by one, each with its keys.

    Args:
        inside: the key of an entry of which the entries are given instead of it, those of a list with their
            places, '0', '1', …, for keys: ('details', '0'), value.

    Raises:
        InputError: the file cannot be read, is no JSON object, or is cut off.
    """
    with open_text(path) as file:
        text = _Text(file)
        if text.next() != '{':
            raise ValueError(f'it begins with {text.next()!r}; expected a JSON object, {{"…": …}}')
        yield from text.entries(inside)


def first_object(path: Path) -> Row | None:
    """Return the first object of a file of JSON, or of the list in it; None where there is none.

    Of one that is longer than 4 MiB, what begins there: of a list that goes on, its beginning.
    """
    from pydantic_core import from_json

    with open_text(path) as file:
        text = file.read(4 * _CHUNK).lstrip().removeprefix('[').lstrip()
    if not text.startswith('{'):
        return None
    try:
        return dict(_decode(text)[0])
    except (ValueError, RecursionError) as error:  # it goes on, or is no JSON from some place on
        text = text[: getattr(error, 'pos', None)]
    with suppress(ValueError):  # a half of a surrogate is one
        return dict(from_json(_SURROGATE.sub('', text), allow_partial=True))
    return {}


@contextmanager
def open_text(path: Path, newline: str | None = None) -> Iterator[IO[str]]:
    """Open a file of UTF-8 text, .gz unpacked; what cannot be read, or is damaged, is an InputError."""
    opened = gzip.open if str(path).lower().endswith('.gz') else open
    try:
        with opened(path, 'rt', encoding='utf-8-sig', newline=newline) as file:
            yield file
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f'cannot read {path}: {error}; expected text in UTF-8') from error
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f'cannot read {path}: {getattr(error, "strerror", None) or error}') from error
    except (ValueError, RecursionError) as error:
        raise InputError(f'{path} is damaged, or still being written: {error}') from error


class _Text:
    """A text that is read on when it is needed, and where in it one stands."""

    def __init__(self, file: IO[str]) -> None:
        self._file, self._text, self._at = file, '', 0

    def next(self) -> str:
        """Return the next character that is no space; '' at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or not self._read_on():
                return self._text[self._at : self._at + 1]

    def value(self) -> Any:
        """Return the value that begins here, and go to its end."""
        self.next()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except JSONDecodeError:
                if not self._read_on():
                    raise
                continue
            number = type(value) in (int, float)  # it may go on
            if not number or self._text[end : end + 1] in _AFTER_NUMBER or not self._read_on():
                self._at = end
                return value

    def entries(self, inside: str | None = None) -> Iterator[tuple[tuple[str, ...], Any]]:
        """Yield keys and value of each entry of the one object or list that a file holds."""
        for key in self._keys():
            if key == inside and self.next() in _CLOSING:
                yield from (((key, one), self.value()) for one in self._keys())
            else:
                yield (key,), self.value()
        if self.next():
            raise ValueError(f'{self.next()!r} follows the end')

    def _keys(self) -> Iterator[str]:
        """Yield the keys of an object or the places of a list; after each its value is to be taken."""
        opening, place = self.next(), 0
        self._at += 1
        while self.next() != _CLOSING[opening]:
            if place:
                self._skip(',')
            key = str(place) if opening == '[' else self.value()
            if not isinstance(key, str):
                raise ValueError(f'{key!r:.40} stands where a key was expected')
            if opening == '{':
                self._skip(':')
            yield key
            place += 1
        self._at += 1

    def _skip(self, mark: str) -> None:
        if self.next() != mark:
            raise ValueError(f'expected {mark!r}, got {self.next() or "the end of the file"!r}')
        self._at += 1

    def _read_on(self) -> bool:
        left = self._text[self._at :]
        more = self._file.read(max(_CHUNK, len(left)))  # as much again: a long value is decoded seldom
        if more:  # else who asks may go on where it was
            self._text, self._at = left + more, 0
        return bool(more)
