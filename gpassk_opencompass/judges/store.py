"""Verdicts that were given once, on disk, so that nobody is asked twice.

A store is a folder. Each process that writes adds a file of its own to it,
`<time>-<host>-<process>-<random>.jsonl`, and nobody else ever writes to that file: so no lock is needed, on a
network disk neither. Readers merge all files. A line is one verdict with what it is about, readable by a
person, and ends in a checksum.

What survives: each verdict is handed to the operating system in one write before the next one is received, so
a `kill -9` loses at most the line in the making, which readers recognise and skip. A crash of the machine
loses at most the last `SYNC_INTERVAL` seconds.

What a judge found out about its servers is noted beside the verdicts, in `*.notes` files of the same kind.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import socket
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import IncompleteError, InputError
from .protocol import Verdict

STORE_VARIABLE = 'GPASSK_VERDICTS'
"""Environment variable with the folder of a verdict store, e.g. one that a team shares."""

SELF_TESTS_VARIABLE = 'GPASSK_SELF_TESTS'
"""Environment variable with the folder where self-tests of the rule judge are kept."""

SYNC_INTERVAL = 5.0
"""Seconds between two fsyncs. One a verdict would cost more than the verdict on a network disk."""

_HEAD = re.compile(rb'\{"key": "(?P<key>[0-9a-f]{32})", "verdict": "(?P<verdict>correct|incorrect)", ')
_NOTE = re.compile(rb'\{"key": "(?P<key>[0-9a-f]{32})", "note": ')
_SUM = re.compile(rb', "sum": "(?P<sum>[0-9a-f]{8})"\}')
_HEAD_LENGTH = len(b'{"key": "", "verdict": "incorrect", ') + 32
_SUM_LENGTH = len(b', "sum": "01234567"}')
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
    return hashlib.sha256(json.dumps([judge, *content], sort_keys=True).encode()).hexdigest()[:32]


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
        self._writer: _Writer | None = None
        self._notes_writer: _Writer | None = None
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
            self._writer = _own(self._writer, self.folder, '.jsonl')
            self._writer.write(_line({'key': key, 'verdict': verdict.value, **about}))

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
            self._notes_writer = _own(self._notes_writer, self.folder, '.notes')
            self._notes_writer.write(_line({'key': key, 'note': note}))

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
        for line in _complete_lines(file, end):
            self._add(line)
            end += len(line) + 1
        self._read_to[file] = end
        (self._torn.add if file.stat().st_size > end else self._torn.discard)(file)

    def _read_notes(self, file: Path) -> None:
        """Read all of them again: there are few."""
        if not file.is_file():  # a pipe would never end
            return
        for line in _complete_lines(file):
            head = _NOTE.match(line)
            if head and _is_whole(line):
                with suppress(ValueError, RecursionError, LookupError):  # not written by this class
                    self.notes.setdefault(head['key'].decode(), json.loads(line)['note'])

    def _add(self, line: bytes) -> None:
        head = _HEAD.match(line)
        if head and _is_whole(line):
            self._verdicts.setdefault(bytes.fromhex(head['key'].decode()), _VERDICTS[head['verdict']])
        elif line.strip():
            self._bad_lines += 1


def _own(writer: _Writer | None, folder: Path, ending: str) -> _Writer:
    """Return the writer, or a new one after a fork, which must not write to its parent's file."""
    return writer if writer is not None and writer.process == os.getpid() else _Writer(folder, ending)


def cache_folder(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the folder of that name in the user's cache, for what runs have in common.

    >>> cache_folder('verdicts', {})
    '~/.cache/gpassk_opencompass/verdicts'
    """
    return str(Path(environment.get('XDG_CACHE_HOME') or '~/.cache', 'gpassk_opencompass', name))


def store_folder(place: str | os.PathLike[str]) -> Path:
    """Return the path of a store, with the home directory for a leading `~`. Nothing is opened.

    Raises:
        InputError: no path, or the home directory of nobody.
    """
    if not isinstance(place, (str, os.PathLike)) or not str(place):
        raise InputError(f'store = {place!r}: expected the path of a folder')
    try:
        return Path(place).expanduser()
    except RuntimeError as error:
        raise InputError(f'store = {str(place)!r}: {error}; write the whole path') from error


def store_files(folder: Path) -> list[Path]:
    """Return the files of a store in the order in which they count; none if it does not exist yet.

    Raises:
        InputError: `folder` is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f'{folder} is a file; a verdict store is a folder')
    return sorted(file for file in folder.glob('*.jsonl') if file.is_file())  # a pipe would never end


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Names the file where the system does not give what is in it, as an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f'cannot read verdicts from {file}: {error.strerror}') from error


def read_lines(file: Path) -> Iterator[Line | None]:
    """Yield each line of a store's file; None for one that is damaged, of another kind or torn."""
    end = 0
    for raw in _complete_lines(file):
        end += len(raw) + 1
        if raw.strip():
            yield _parsed(raw)
    if file.stat().st_size > end:
        yield None


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


class _Writer:
    """A file of this process."""

    def __init__(self, folder: Path, ending: str) -> None:
        self.process = os.getpid()
        host = re.sub(r'[^\w.]', '_', socket.gethostname())[:40]
        moment = time.strftime('%Y%m%dT%H%M%S', time.gmtime())
        self.file = folder / f'{moment}-{host}-{self.process}-{secrets.token_hex(4)}{ending}'
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        except OSError as error:
            raise InputError(f'cannot write verdicts to {folder}: {error}; choose another store') from error
        _sync_folder(folder)
        self._synced_at = time.monotonic()
        self._torn = False

    def write(self, line: bytes) -> None:
        """Write the line at once, all of it; after a failure (a full disk) the next one starts afresh."""
        data = b'\n' + line if self._torn else line
        self._torn = True
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise IncompleteError(
                f'cannot write verdicts to {self.file}: {error.strerror}. Those so far are kept: make room '
                'there, or choose another store, and run the same command again to ask for the rest'
            ) from error
        self._torn = False
        if time.monotonic() - self._synced_at > SYNC_INTERVAL:
            self.sync()

    def sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise IncompleteError(
                f'the disk may have lost verdicts of {self.file}: {error.strerror}. Make room there, or '
                'choose another store, and run the same command again to ask for what is missing'
            ) from error
        self._synced_at = time.monotonic()

    def close(self) -> None:
        try:
            self.sync()
        finally:
            os.close(self._descriptor)


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the name of the file survives too; not every file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _line(fields: Mapping[str, Any]) -> bytes:
    text = json.dumps(fields, ensure_ascii=False)
    content = text.encode('utf-8', 'backslashreplace')[:-1]  # a half of a character: as JSON escapes it
    return content + f', "sum": "{zlib.crc32(content):08x}"}}\n'.encode()


def _complete_lines(file: Path, start: int = 0) -> Iterator[bytes]:
    """Yield the lines from `start` on without line breaks; a last one without a break is left out."""
    with file.open('rb') as content:
        content.seek(start)
        for line in content:
            if line.endswith(b'\n'):
                yield line[:-1]


def _is_whole(line: bytes) -> bool:
    end = _SUM.fullmatch(line, len(line) - _SUM_LENGTH) if len(line) > _SUM_LENGTH else None
    return end is not None and zlib.crc32(line[:-_SUM_LENGTH]) == int(end['sum'], 16)


def _parsed(line: bytes) -> Line | None:
    head = _HEAD.match(line)
    if not (head and _is_whole(line)):
        return None
    try:
        about = json.loads(line)
    except (ValueError, RecursionError):  # a right checksum over wrong content: not written by this class
        return None
    # Key and verdict are those of the head, as for `get`: the line may name them twice.
    more = {name: value for name, value in about.items() if name not in ('key', 'verdict', 'sum')}
    return Line(head['key'].decode(), _VERDICTS[head['verdict']], more)
