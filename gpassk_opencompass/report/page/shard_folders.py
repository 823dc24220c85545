"""Folders of shards: written whole or not at all, kept while they are right, removed as they were written."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ...files import digest, mapping, read_json, replace_file

NOTE = 'written.json'
"""In a folder of shards: name → [bytes, SHA-256] of each file that was written, and what is lost of them."""

_NAME = re.compile('[0-9a-f]{12}')
_DRAFT = '.writing-'


class ShardFolder:
    """The shards of one run, which are written at once and never changed.

    The note in it tells what was written. So nothing has to be read of the shards themselves to see that they
    are there, and only what is removed is compared with what was written.

    Args:
        place: the folder of all shards of a report.
        name: of this one.
    """

    def __init__(self, place: Path, name: str) -> None:
        self.name, self._path = name, place / name

    def remark_if_whole(self, count: int) -> str | None:
        """Return what its note says is lost, or ''; None unless `count` shards are there in their sizes."""
        note = self._note()
        written = mapping(note.get('files'))
        sizes = _sizes(self._path)
        if len(written) != count or any(sizes.get(name) != told[0] for name, told in written.items()):
            return None
        return str(note.get('lost') or '')

    @contextmanager
    def draft(self) -> Iterator[Draft]:
        """Give a draft that becomes this folder when it is finished; an error leaves none."""
        draft = Draft(self._path)
        try:
            yield draft
        finally:
            shutil.rmtree(draft.path, ignore_errors=True)  # it has taken its place, or never will

    def remove(self) -> int:
        """Remove what was written and is as it was, the folder too if that was all; return how many files."""
        written = mapping(self._note().get('files'))
        if not written:
            return 0
        own = [path for name, told in written.items() if _is_as_written(path := self._path / name, told)]
        for path in own:
            path.unlink()
        (self._path / NOTE).unlink()
        with suppress(OSError):  # there is something in it
            self._path.rmdir()
        return len(own) + 1

    def _note(self) -> Mapping[str, object]:
        """Read the note; {} where there is none, or it is damaged: then no file is known to be ours."""
        try:
            note = mapping(read_json(self._path / NOTE))
        except (OSError, ValueError):
            return {}
        files = mapping(note.get('files'))
        return note if all(_is_told(name, told) for name, told in files.items()) else {}


class Draft:
    """A folder of shards in the making, hidden beside its place."""

    def __init__(self, target: Path) -> None:
        self.path, self._target = target.with_name(f'{_DRAFT}{target.name}'), target
        self._written: dict[str, list[int | str]] = {}
        self.path.mkdir()

    def add(self, name: str, content: bytes) -> None:
        """Write a file; threads may add different ones at once."""
        (self.path / name).write_bytes(content)
        self._written[name] = [len(content), digest(content)]

    def finish(self, lost: str) -> None:
        """Let the draft take its place, where a folder may be that lacks some of the files.

        Args:
            lost: what the shards lack, for the next report.
        """
        note = {'files': dict(sorted(self._written.items())), 'lost': lost}
        text = json.dumps(note, ensure_ascii=True) + '\n'
        replace_file(self.path / NOTE, text.encode(), self.path / f'.{NOTE}')
        try:
            self.path.rename(self._target)
        except OSError:
            if not self._target.is_dir():
                raise
            for name in [*self._written, NOTE]:  # the note last: without it nothing counts as whole
                (self.path / name).replace(self._target / name)


def shard_folders(place: Path) -> list[ShardFolder]:
    """Return the folders in a place that may be of shards by their names."""
    return [
        ShardFolder(place, path.name)
        for path in sorted(place.iterdir())
        if _NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
    ]


def remove_drafts(place: Path) -> None:
    """Remove what programs left that were ended; to be called within `alone_in`."""
    for path in place.glob(f'{_DRAFT}*'):
        if path.is_dir() and not path.is_symlink() and _NAME.fullmatch(path.name.removeprefix(_DRAFT)):
            shutil.rmtree(path, ignore_errors=True)


def _sizes(folder: Path) -> dict[str, int]:
    """Return the sizes of the scripts in a folder."""
    try:
        with os.scandir(folder) as found:
            return {
                one.name: one.stat(follow_symlinks=False).st_size for one in found if one.name.endswith('.js')
            }
    except OSError:
        return {}


def _is_told(name: str, told: object) -> bool:
    size, sealed = told if isinstance(told, list) and len(told) == 2 else (None, None)
    plain = re.fullmatch(r'\d+\.js', name)  # nothing that leads out of the folder
    return bool(plain) and isinstance(size, int) and isinstance(sealed, str)


def _is_as_written(path: Path, told: list[int | str]) -> bool:
    if not path.is_file() or path.is_symlink() or path.stat().st_size != told[0]:
        return False
    return digest(path.read_bytes()) == told[1]
