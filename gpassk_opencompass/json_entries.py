"""The entries of one large JSON object, read one by one, so that the file need not fit into memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import IO, Any

from .errors import InputError

_CHUNK = 1 << 20
_BYTE_ORDER_MARK = '\xef\xbb\xbf'
"""As it stands in bytes."""
_SPACE = ' \t\n\r'
_CLOSING = {'{': '}', '[': ']'}
_AFTER = frozenset(f'{_SPACE},]}}')
"""What may follow a number."""

_NEXT_KEY = re.compile(r'[ \t\n\r]*,[ \t\n\r]*"(?P<key>[^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
"""What mostly stands between two entries of an object."""


class JsonEntries:
    """The entries of the object in a file, each with its keys; what is iterated is read anew each time.

    Args:
        path: UTF-8 text, one JSON object.
        inside: the key of an entry of which the entries are given, one by one, instead of it: those of a list
            have their places, '0', '1', …, for keys. An entry of another type is given as a whole.
        chunk: characters that are read at a time; a longer entry is read as a whole all the same.

    Raises:
        InputError: while iterating: the file cannot be read, is no JSON object, or is cut off.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / 'result.json'
    >>> _ = path.write_text('{"accuracy": 50.0, "details": [{"correct": true}, {"correct": false}]}')
    >>> for keys, value in JsonEntries(path, 'details'):
    ...     print(keys, value)
    ('accuracy',) 50.0
    ('details', '0') {'correct': True}
    ('details', '1') {'correct': False}
    """

    def __init__(self, path: str | os.PathLike[str], inside: str | None = None, chunk: int = _CHUNK) -> None:
        self.path = Path(path)
        self._inside = inside
        self._chunk = chunk

    def __iter__(self) -> Iterator[tuple[tuple[str, ...], Any]]:
        with _told_of(self.path), self.path.open(encoding='utf-8-sig') as file:
            text = _Text(file, self._chunk)
            yield from self._entries(text)
            text.end()

    def _entries(self, text: _Text) -> Iterator[tuple[tuple[str, ...], Any]]:
        for key in text.each_key_of_object():
            if key == self._inside and text.next() in _CLOSING:
                yield from (((key, one), text.value()) for one in text.each_key())
            else:
                yield (key,), text.value()


def entry_places(path: Path, chunk: int = _CHUNK) -> dict[str, tuple[int, int]]:
    """Return the first and the last byte, plus one, of each entry of the object in a file, by its key.

    So that entries of a file which does not fit into memory can be read one by one in any order. Of several
    with one key the last counts. Keys beyond ASCII are not told as they are.

    Args:
        path, chunk: see `JsonEntries`.

    Raises:
        InputError: the file cannot be read, is no JSON object, or is cut off.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / 'predictions.json'
    >>> _ = path.write_text('{"0": {"prediction": "é"}, "1": 7}', encoding='utf-8')
    >>> start, end = entry_places(path)['0']
    >>> path.read_bytes()[start:end].decode()
    '{"prediction": "é"}'
    """
    places = {}
    with _told_of(path), path.open(encoding='latin-1', newline='') as file:  # a character for each byte
        marked = file.read(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK
        file.seek(len(_BYTE_ORDER_MARK) if marked else 0)
        text = _Text(file, chunk, file.tell())
        for key in text.each_key_of_object():
            start = text.place
            text.value()
            places[key] = start, text.place
        text.end()
    return places


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f'cannot read {path}: {error.strerror or error}') from error
    except (ValueError, RecursionError) as error:
        raise InputError(f'{path} is damaged, or still being written: {error}') from error


class _Text:
    """A text that is read on when it is needed, and where in it one stands."""

    def __init__(self, file: IO[str], chunk: int, place: int = 0) -> None:
        self._file, self._chunk = file, chunk
        self._text, self._at = '', 0
        self._before = place  # characters of the file that are not kept any more
        self._decode = JSONDecoder().raw_decode

    @property
    def place(self) -> int:
        """Return how many characters of the file lie behind."""
        return self._before + self._at

    def end(self) -> None:
        """Refuse what follows the end of the object."""
        if self.next():
            raise ValueError(f'{self.next()!r} follows the end of the object')

    def each_key_of_object(self) -> Iterator[str]:
        """Go through an object as `each_key`, and refuse anything else."""
        if self.next() != '{':
            raise ValueError(f'it begins with {self.next()!r}; expected a JSON object, {{"…": …}}')
        return self.each_key()

    def next(self) -> str:
        """Return the next character that is no space; '' at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._read_on():
                return ''

    def value(self) -> Any:
        """Return the value that begins here, and go to what follows it."""
        self.next()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except JSONDecodeError:
                if not self._read_on():
                    raise
                continue
            whole = self._text[end : end + 1] in _AFTER or not isinstance(value, (int, float))
            if whole or not self._read_on():  # else a number may go on
                self._at = end
                return value

    def each_key(self) -> Iterator[str]:
        """Go through an object or a list: yield a key, after which the value is to be taken."""
        opening = self.next()
        closing = _CLOSING[opening]
        self._at += 1
        place = 0
        while True:
            key = self._usual_key() if place and opening == '{' else None
            if key is None:
                if self.next() == closing:
                    break
                if place:
                    self._skip(',')
                key = self._key() if opening == '{' else str(place)
            yield key
            place += 1
        self._at += 1

    def _usual_key(self) -> str | None:
        """Return the next key, and go to its value; None where it does not stand as it mostly does."""
        found = _NEXT_KEY.match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        self.next()
        return found['key']

    def _key(self) -> str:
        key = self.value()
        if not isinstance(key, str):
            raise ValueError(f'{key!r:.40} stands where a key was expected')
        self._skip(':')
        return key

    def _skip(self, mark: str) -> None:
        if self.next() != mark:
            raise ValueError(f'expected {mark!r}, got {self.next() or "the end of the file"!r}')
        self._at += 1
        self.next()

    def _read_on(self) -> bool:
        left = self._text[self._at :]
        more = self._file.read(max(self._chunk, len(left)))  # as much again: a long value is decoded seldom
        if more:  # else who asks may go on where it was
            self._before = self.place
            self._text, self._at = left + more, 0
        return bool(more)
