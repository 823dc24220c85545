"""What the files of a report are called, and which of them the next one takes away."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ..files import digest, mapping, read_json, replace_file

WRITTEN = 'written.json'
"""In the folder of the report: part → path below the folder → SHA-256 of what was written."""

Written = Mapping[str, Mapping[str, str]]


def take_over(folder: Path, parts: Mapping[str, Iterable[Path]]) -> list[Path]:
    """Note what was written now, and remove what an earlier report wrote and this one did not.

    A file that somebody changed since stays, as does all that no report wrote.

    Args:
        folder: of the report.
        parts: the parts that were written ('tables', 'figures', 'page') with their files below the folder;
            files of other parts stay.

    Returns:
        What was removed.
    """
    with alone_in(folder):
        earlier = _read(folder / WRITTEN)
        now = {
            part: {path.relative_to(folder).as_posix(): digest(path.read_bytes()) for path in paths}
            for part, paths in parts.items()
        }
        kept = {part: files for part, files in {**earlier, **now}.items() if files}
        names = {name for files in kept.values() for name in files}
        gone = (item for part in parts for item in earlier.get(part, {}).items())
        removed = [
            folder / name for name, sealed in gone if name not in names and _ours(folder, name, sealed)
        ]
        for path in removed:
            path.unlink()
        note = json.dumps(kept, indent=1, sort_keys=True) + '\n'
        # In one step: with a note that a kill cut, nothing would be known to be ours.
        replace_file(folder / WRITTEN, note.encode(), draft=folder / f'.{WRITTEN}')
        return removed


def write_texts(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write files by their paths below the folder, which is made; halves of characters become escapes.

    Returns:
        The paths written.
    """
    paths = [folder / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text.encode('utf-8', 'backslashreplace'))
    return paths


def write_file(path: Path, content: bytes) -> None:
    """Write one file of a report, in one step: on a full disk the earlier one stays whole."""
    replace_file(path, content, draft=path.with_name(f'.writing-{os.getpid()}'))


@contextmanager
def alone_in(place: Path) -> Iterator[None]:
    """Wait until no other program is in such a block for the same folder, as far as the disk knows locks."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        _lock(descriptor, place)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, place: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        from loguru import logger

        logger.info(f'another report is being written to {place}; this one waits for it')
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:  # a disk that knows no locks
        pass


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name, with a number behind it where it is taken; capitals do not count.

    >>> free_name('AIME', ['aime', 'AIME-2'])
    'AIME-3'
    """
    others = {other.lower() for other in taken}
    number, free = 2, name
    while free.lower() in others:
        number, free = number + 1, f'{name}-{number}'
    return free


def _ours(folder: Path, name: str, sealed: str) -> bool:
    """Whether a file is as it was written, and inside the folder wherever links lead."""
    path = folder / name
    if PurePosixPath(name).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        return False
    return path.is_file() and not path.is_symlink() and digest(path.read_bytes()) == sealed


def _read(path: Path) -> Written:
    """Read what was noted; nothing where the file is missing or damaged: then no file is known to be ours."""
    try:
        parts = mapping(read_json(path))
    except (OSError, ValueError):
        return {}
    return {
        part: {name: told for name, told in files.items() if isinstance(told, str)}
        for part, files in parts.items()
        if isinstance(files, dict)
    }
