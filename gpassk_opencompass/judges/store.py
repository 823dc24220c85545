"""Verdicts that were given once, on disk, so that nobody is asked twice.

A store is a folder of lines, see `lines`. A line is one verdict with what it is about, readable by a
person, and written before the next verdict is received.

What a judge found out about its servers is noted beside the verdicts, in `*.notes` files of the same kind.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from .lines import (
    LineWriter,
    complete_lines,
    is_whole,
    line_of,
    own_writer,
    reading,
    store_files,
    store_folder,
)
from .protocol import Verdict

STORE_VARIABLE = 'GPASSK_VERDICTS'
"""Environment variable with the folder of a verdict store, e.g. one that a team shares."""

_sorted = json.JSONEncoder(sort_keys=True).encode

_HEAD = re.compile(rb'\{"key": "(?P<key>[0-9a-f]{32})", "verdict": "(?P<verdict>correct|incorrect)", ')
_NOTE = re.compile(rb'\{"key": "(?P<key>[0-9a-f]{32})", "note": ')
_HEAD_LENGTH = len(b'{"key": "", "verdict": "incorrect", ') + 32
_VERDICTS = {verdict.value.encode(): verdict for verdict in (Verdict.CORRECT, Verdict.INCORRECT)}


class Line(NamedTuple):
    """One stored verdict."""

    key: str
    verdict: Verdict
    about: Mapping[str, Any]
    """Everything else on the line: question, reference, answer, language, reply, judge, time."""


def verdict_key(judge: Mapping[str, Any], *content: str) -> str:
    """Return 32 hexadecimal digits that name a verdict by its content.

    Args:
        judge: JSON-able; everything that may change what the judge says (model, prompts, sampling settings).
        content: the texts that are judged; their order and their borders count.

    >>> verdict_key({'model': 'm'}, 'ab', 'c') == verdict_key({'model': 'm'}, 'a', 'bc')
    False
    """
    return VerdictKeys(judge).key(*content)


class VerdictKeys:
    """The keys of one judge's verdicts, see `verdict_key`."""

    def __init__(self, judge: Mapping[str, Any]) -> None:
        self._judge = hashlib.sha256(_sorted([judge])[:-1].encode())

    def key(self, *content: str) -> str:
        """Return the key of a verdict on these texts."""
        digest = self._judge.copy()
        digest.update(''.join([f', {encode_basestring_ascii(text)}' for text in content] + [']']).encode())
        return digest.hexdigest()[:32]


class VerdictStore:
    """The verdicts of a folder, or, without one, of this process.

    Of several verdicts under one key the first of the first file (by name, which begins with a time) counts,
    so that all readers agree. Lines that are damaged, of another kind or edited by hand are skipped and
    counted.

    Args:
        folder: created with the first verdict, `~` is the home directory; None keeps the verdicts in memory
            only.

    Raises:
        InputError: `folder` is a file or cannot be read.

    >>> store = VerdictStore(None)
    >>> store.put('0' * 32, Verdict.CORRECT, {'question': '1 + 1?'})
    >>> store.get('0' * 32)
    <Verdict.CORRECT: 'correct'>
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else store_folder(folder)
        self._verdicts: dict[bytes, Verdict] = {}
        self.notes: dict[str, Any] = {}
        """What was noted, by key; of several notes under one key the first."""
        self._read_to: dict[Path, int] = {}
        self._bad_lines = 0
        self._torn: set[Path] = set()
        self._writer: LineWriter | None = None
        self._notes_writer: LineWriter | None = None
        self.refresh()

    def __len__(self) -> int:
        return len(self._verdicts)

    @property
    def damaged(self) -> int:
        """Return lines that were skipped, torn last lines included."""
        return self._bad_lines + len(self._torn)

    def get(self, key: str) -> Verdict | None:
        """Return the verdict under `key`, if there is one."""
        return self._verdicts.get(bytes.fromhex(key))

    def put(self, key: str, verdict: Verdict, about: Mapping[str, Any]) -> None:
        """Keep a verdict.

        Args:
            key: see `verdict_key`.
            verdict: correct or incorrect.
            about: JSON-able, for the reader of the line.

        Raises:
            InputError: an unjudged pair is no verdict; or the folder cannot be written.
            IncompleteError: the disk is full; what was put before is kept.
        """
        if verdict is Verdict.UNJUDGED:
            raise InputError(f'unjudged is no verdict to keep (key {key})')
        self._verdicts.setdefault(bytes.fromhex(key), verdict)
        if self.folder is not None:
            self._writer = own_writer(self._writer, self.folder, '.jsonl')
            self._writer.write(line_of({'key': key, 'verdict': verdict.value, **about}))

    def note(self, key: str, note: Mapping[str, Any]) -> None:
        """Keep in `notes` what is no verdict; of several under one key the first.

        Args:
            key: as for a verdict.
            note: JSON-able.

        Raises:
            InputError, IncompleteError: as `put`.
        """
        if key in self.notes:
            return
        self.notes[key] = note
        if self.folder is not None:
            self._notes_writer = own_writer(self._notes_writer, self.folder, '.notes')
            self._notes_writer.write(line_of({'key': key, 'note': note}))

    def refresh(self) -> None:
        """Read what others have added since the last look; raises InputError where it cannot be read."""
        for file in self._files():
            if self._writer is None or file != self._writer.file:
                with reading(file):
                    self._read(file)
        for file in [] if self.folder is None else sorted(self.folder.glob('*.notes')):
            with reading(file):
                self._read_notes(file)

    def lines(self) -> Iterator[Line]:
        """Return every sound line of the folder, repeated keys too, in the order in which they count."""
        return (line for file in self._files() for line in read_lines(file) if line is not None)

    def flush(self) -> None:
        """Make sure that what was put survives a crash of the machine; IncompleteError if the disk fails."""
        for writer in (self._writer, self._notes_writer):
            if writer is not None:
                writer.sync()

    def close(self) -> None:
        """Flush and let go of the files; a later `put` begins a new one. May be called twice."""
        writers = [writer for writer in (self._notes_writer, self._writer) if writer is not None]
        self._notes_writer = self._writer = None
        with ExitStack() as closing:
            for writer in writers:
                closing.callback(writer.close)

    def _files(self) -> list[Path]:
        return [] if self.folder is None else store_files(self.folder)

    def _read(self, file: Path) -> None:
        end = self._read_to.get(file, 0)
        for line in complete_lines(file, end):
            self._add(line)
            end += len(line) + 1
        self._read_to[file] = end
        (self._torn.add if file.stat().st_size > end else self._torn.discard)(file)

    def _read_notes(self, file: Path) -> None:
        """Read all of them again: there are few."""
        if not file.is_file():  # a pipe would never end
            return
        for line in complete_lines(file):
            head = _NOTE.match(line)
            if head and is_whole(line):
                with suppress(ValueError, RecursionError, LookupError):  # not written by this class
                    self.notes.setdefault(head['key'].decode(), json.loads(line)['note'])

    def _add(self, line: bytes) -> None:
        head = _HEAD.match(line)
        if head and is_whole(line):
            self._verdicts.setdefault(bytes.fromhex(head['key'].decode()), _VERDICTS[head['verdict']])
        elif line.strip():
            self._bad_lines += 1


def cache_folder(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the folder of that name in the user's cache, for what runs have in common.

    >>> cache_folder('verdicts', {})
    '~/.cache/gpassk_opencompass/verdicts'
    """
    return str(Path(environment.get('XDG_CACHE_HOME') or '~/.cache', 'gpassk_opencompass', name))


def read_lines(file: Path) -> Iterator[Line | None]:
    """Yield each line of a store's file; None for one that is damaged, of another kind or torn."""
    end = 0
    for raw in complete_lines(file):
        end += len(raw) + 1
        if raw.strip():
            yield _parsed(raw)
    if file.stat().st_size > end:
        yield None


def line_places(file: Path) -> Iterator[tuple[str, int]]:
    """Yield the key of each verdict in a store's file, and where its line begins, for `line_at`."""
    start = 0
    for raw in complete_lines(file):
        if head := _HEAD.match(raw):
            yield head['key'].decode(), start
        start += len(raw) + 1


def line_at(file: Path, start: int) -> Line | None:
    """Return the verdict whose line begins there; None where it is damaged."""
    with file.open('rb') as content:
        content.seek(start)
        return _parsed(content.readline().removesuffix(b'\n'))


def begins_sound(file: Path) -> bool:
    """Whether the first line of a file is a sound verdict; of another file, however big, little is read."""
    try:
        if not file.is_file():  # a pipe would never end
            return False
        with file.open('rb') as content:
            head = content.read(_HEAD_LENGTH)
            line = head + content.readline() if _HEAD.match(head) else b''
    except OSError:
        return False
    return line.endswith(b'\n') and _parsed(line[:-1]) is not None


def _parsed(line: bytes) -> Line | None:
    head = _HEAD.match(line)
    if not (head and is_whole(line)):
        return None
    try:
        about = json.loads(line)
    except (ValueError, RecursionError):  # a right checksum over wrong content: not written by this class
        return None
    # Key and verdict are those of the head, as for `get`: the line may name them twice.
    more = {name: value for name, value in about.items() if name not in ('key', 'verdict', 'sum')}
    return Line(head['key'].decode(), _VERDICTS[head['verdict']], more)
