"""The lines of a verdict store, which several processes add to at once, and which survive their deaths.

Each process that writes adds a file of its own to the folder, `<time>-<host>-<process>-<random>.jsonl`, and
nobody else ever writes to that file: so no lock is needed, on a network disk neither. Readers merge all
files. A line is a JSON object that a person can read, and ends in a checksum.

What survives: each line is handed to the operating system in one write before the next one is begun, so a
`kill -9` loses at most the line in the making, which readers recognise and skip. A crash of the machine loses
at most the last `SYNC_INTERVAL` seconds.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

from ..errors import IncompleteError, InputError

SYNC_INTERVAL = 5.0
"""Seconds between two fsyncs. One a line would cost more than the line on a network disk."""

_SUM = re.compile(rb', "sum": "(?P<sum>[0-9a-f]{8})"\}')
_encoded = json.JSONEncoder(ensure_ascii=False).encode
_SUM_LENGTH = len(b', "sum": "01234567"}')


class LineWriter:
    """A file of this process.

    Args:
        folder: made if it is not there.
        ending: of the file's name.

    Raises:
        InputError: the folder cannot be written.
    """

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
        """Write the line at once, all of it; after a failure (a full disk) the next one starts afresh.

        Raises:
            IncompleteError: the disk is full; what was written before is kept.
        """
        data = b'\n' + line if self._torn else line
        self._torn = True
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise IncompleteError(
                f'cannot write verdicts to {self.file}: {error.strerror}. Those so far are kept: make '
                'room there, or choose another store, and run the same command again to ask for the rest'
            ) from error
        self._torn = False
        if time.monotonic() - self._synced_at > SYNC_INTERVAL:
            self.sync()

    def sync(self) -> None:
        """Make sure that what was written survives a crash of the machine; IncompleteError if it may not."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise IncompleteError(
                f'the disk may have lost verdicts of {self.file}: {error.strerror}. Make room there, or '
                'choose another store, and run the same command again to ask for what is missing'
            ) from error
        self._synced_at = time.monotonic()

    def close(self) -> None:
        """Sync and let go of the file."""
        try:
            self.sync()
        finally:
            os.close(self._descriptor)


def own_writer(writer: LineWriter | None, folder: Path, ending: str) -> LineWriter:
    """Return the writer, or a new one after a fork, which must not write to its parent's file."""
    if writer is not None and writer.process == os.getpid():
        return writer
    return LineWriter(folder, ending)


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the name of the file survives too; not every file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Encoded(str):
    """JSON, for what stands on many lines and need not be encoded for each."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Any) -> Encoded:
        """Return a value as it stands on a line."""
        return cls(_encoded(value))


def line_of(fields: Mapping[str, Any]) -> bytes:
    """Return a line, with its checksum and its break.

    Args:
        fields: JSON-able or `Encoded`, at least one; none is called `sum`.
    """
    text = ', '.join([f'{encode_basestring(name)}: {_value(value)}' for name, value in fields.items()])
    content = f'{{{text}'.encode('utf-8', 'backslashreplace')  # a half of a character: as JSON escapes it
    return content + f', "sum": "{zlib.crc32(content):08x}"}}\n'.encode()


def _value(value: Any) -> str:
    if type(value) is str:  # most are
        return encode_basestring(value)
    return value if type(value) is Encoded else _encoded(value)


def is_whole(line: bytes) -> bool:
    """Whether a line, without its break, is as it was written."""
    end = _SUM.fullmatch(line, len(line) - _SUM_LENGTH) if len(line) > _SUM_LENGTH else None
    return end is not None and zlib.crc32(line[:-_SUM_LENGTH]) == int(end['sum'], 16)


def complete_lines(file: Path, start: int = 0) -> Iterator[bytes]:
    """Yield the lines from `start` on without line breaks; a last one without a break is left out."""
    with file.open('rb') as content:
        content.seek(start)
        for line in content:
            if line.endswith(b'\n'):
                yield line[:-1]


def store_files(folder: Path) -> list[Path]:
    """Return the files of a store in the order in which they count; none if it does not exist yet.

    Raises:
        InputError: `folder` is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f'{folder} is a file; a store of verdicts is a folder')
    return sorted(file for file in folder.glob('*.jsonl') if file.is_file())  # a pipe would never end


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


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Names the file where the system does not give what is in it, as an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f'cannot read verdicts from {file}: {error.strerror}') from error
