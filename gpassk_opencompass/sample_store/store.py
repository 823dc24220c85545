"""The store of samples: folders of lines, one for each identity and version of its engine.

`<store>/<settings>-<versions>/` has an `identity.json` and the files of `line_files`; a line is one sample
with what it is about. Of several samples under one key of one run the first of the first file counts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import mapping
from ..line_files import (
    LineWriter,
    complete_lines,
    is_whole,
    line_files,
    line_of,
    own_writer,
    reading,
    store_folder,
)
from .identity import IDENTITY, Identity, Origin, read_identity, write_identity

STORE_VARIABLE = 'GPASSK_SAMPLES'
"""Environment variable with the folder of a sample store; without it one lies beside the work directory."""

BESIDE = ('.gpassk', 'samples')
"""Where the store lies in the folder of the work directories."""

USED = 'used'
"""Name of an empty file in the folder of an identity; its time is that of the last run that looked there."""

WHAT = 'samples'

_HEAD = re.compile(rb'\{"key": "(?P<key>[0-9a-f]{32})", "origin": "(?P<origin>[0-9a-f]{16})", ')
_FOLDER = re.compile(r'[0-9a-f]{16}-[0-9a-f]{8}')


def check_store(place: str | None) -> None:
    """Check what `$GPASSK_SAMPLES` names before anything is started for it; nothing is made.

    Raises:
        InputError: a file is there, or the home directory of nobody.
    """
    if place:
        identity_folders(store_folder(place), 'none')


class Place(NamedTuple):
    """Where a sample stands."""

    file: Path
    offset: int
    length: int
    """In bytes, without the line break."""


class Kept(NamedTuple):
    """A sample that is kept."""

    key: str
    origin: str
    """See `Origin.id`."""
    about: Mapping[str, Any]
    """Everything else on the line: run, since, uid, replica, seed, question, reference, prompt, generation,
    response, time."""

    @property
    def response(self) -> str:
        """Return the text of the model."""
        return str(self.about['response'])


class SampleStore:
    """The samples of one identity, of all versions of its engine; texts stay on the disk until they are read.

    Lines that are damaged, of another kind or edited by hand are skipped and counted.

    Args:
        root: the store; made with the first sample.
        identity: of the samples that are asked for, and put.

    Raises:
        InputError: `root` is a file, or something in it cannot be read.
    """

    def __init__(self, root: Path, identity: Identity) -> None:
        self.root, self.identity = root, identity
        self.folder = root / identity.folder
        self.damaged = 0
        """Lines that were skipped, torn last lines included."""
        self.origins: dict[str, Origin] = {}
        """By id."""
        self._folders: dict[str, Path] = {}
        self._places: dict[bytes, dict[str, Place]] = {}
        self._writer: LineWriter | None = None
        for folder in identity_folders(root, identity.settings):
            self._read_folder(folder)

    def places(self, key: str) -> Mapping[str, Place]:
        """Return where the samples of a key stand, by the id of their origin."""
        return self._places.get(bytes.fromhex(key), {})

    def folder_of(self, origin: str) -> Path:
        """Return the folder with the samples of an origin; there is one for each version of the engine."""
        return self._folders[origin]

    def versions_of(self, origin: str) -> Mapping[str, str]:
        """Return package of the engine → version that an origin drew with; {} if that is not known."""
        identity = read_identity(self.folder_of(origin))
        return {} if identity is None else identity.versions

    def read(self, place: Place) -> Kept | None:
        """Return the sample at a place; None if the file has gone, or was changed."""
        with suppress(OSError), place.file.open('rb') as content:
            content.seek(place.offset)
            return parsed(content.read(place.length))
        return None

    def open(self) -> None:
        """Make sure that samples can be put, before they are paid for.

        Raises:
            InputError: the folder cannot be written.
        """
        fresh = self._writer
        self._writer = own_writer(self._writer, self.folder, '.jsonl', WHAT)
        if fresh is not self._writer:
            self._writer.lock()
            try:
                write_identity(self.folder, self.identity)
            except OSError as error:
                raise InputError(
                    f'cannot write {self.folder / IDENTITY}: {error.strerror}; choose another store'
                ) from error

    def put(self, key: str, origin: Origin, about: Mapping[str, Any]) -> None:
        """Keep a sample.

        Args:
            key: see `sample_key`.
            about: JSON-able; with `response`, a text.

        Raises:
            InputError: the folder cannot be written.
            IncompleteError: the disk is full; what was put before is kept.
        """
        self.open()
        assert self._writer is not None
        self._writer.write(line_of({'key': key, 'origin': origin.id, **origin._asdict(), **about}))

    def touch(self) -> None:
        """Note that these samples are used, and mend their identity, as far as the folder may be written."""
        with suppress(OSError):
            if self.folder.is_dir():
                (self.folder / USED).touch()
                write_identity(self.folder, self.identity)

    def close(self) -> None:
        """Let go of the file, and remove it if nothing was put; IncompleteError if the disk fails."""
        writer, self._writer = self._writer, None
        if writer is not None and writer.process == os.getpid():
            writer.close()
            with suppress(OSError):
                if not writer.file.stat().st_size:
                    writer.file.unlink()

    def _read_folder(self, folder: Path) -> None:
        for file in line_files(folder, WHAT):
            with reading(file, WHAT):
                self._read_file(file)

    def _read_file(self, file: Path) -> None:
        end = 0
        for line in complete_lines(file):
            head = _HEAD.match(line)
            if head and is_whole(line):
                self._add(head['key'], head['origin'].decode(), Place(file, end, len(line)), line)
            elif line.strip():
                self.damaged += 1
            end += len(line) + 1
        self.damaged += file.stat().st_size > end

    def _add(self, key: bytes, origin: str, place: Place, line: bytes) -> None:
        if origin not in self.origins:
            kept = parsed(line)
            if kept is None:
                self.damaged += 1
                return
            self.origins[origin] = Origin(str(kept.about.get('run')), str(kept.about.get('since')))
            self._folders[origin] = place.file.parent
        self._places.setdefault(bytes.fromhex(key.decode()), {}).setdefault(origin, place)


def identity_folders(root: Path, settings: str = '*') -> list[Path]:
    """Return the folders of identities in a store, or of one of them in all versions of its engine.

    Raises:
        InputError: `root` is a file, or cannot be read.
    """
    if root.exists() and not root.is_dir():
        raise InputError(f'{root} is a file; a store of {WHAT} is a folder')
    with reading(root, WHAT):
        found = sorted(root.glob(f'{settings}-*'))
    return [folder for folder in found if _FOLDER.fullmatch(folder.name) and folder.is_dir()]


def samples_in(folder: Path) -> Iterator[Kept | None]:
    """Yield each sample of an identity's folder; None for a line that is damaged or of another kind.

    Raises:
        InputError: a file cannot be read.
    """
    for file in line_files(folder, WHAT):
        with reading(file, WHAT):
            for line in complete_lines(file):
                if line.strip():
                    yield parsed(line)


def parsed(line: bytes) -> Kept | None:
    """Return the sample of a line without its break; None if it is damaged or of another kind."""
    head = _HEAD.match(line)
    if not (head and is_whole(line)):
        return None
    try:
        about = mapping(json.loads(line))
    except (ValueError, RecursionError):  # a right checksum over wrong content: not written by this class
        return None
    if not isinstance(about.get('response'), str):
        return None
    more = {name: value for name, value in about.items() if name not in ('key', 'origin', 'sum')}
    return Kept(head['key'].decode(), head['origin'].decode(), more)
