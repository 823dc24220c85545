"""What the files of a report are called, and which of them the next one takes away."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

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
    earlier = _read(folder / WRITTEN)
    now = {
        part: {path.relative_to(folder).as_posix(): _digest(path) for path in paths}
        for part, paths in parts.items()
    }
    kept = {**earlier, **now}
    names = {name for files in kept.values() for name in files}
    gone = (item for part in parts for item in earlier.get(part, {}).items())
    removed = [folder / name for name, digest in gone if name not in names and _ours(folder, name, digest)]
    for path in removed:
        path.unlink()
    draft = folder / f'.{WRITTEN}'  # a kill must not leave a cut note: then nothing would be known to be ours
    draft.write_text(json.dumps(kept, indent=1, sort_keys=True) + '\n', encoding='utf-8')
    draft.replace(folder / WRITTEN)
    return removed


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, with a number behind it where it is taken; capitals do not count, as on some file systems.

    >>> free_name('AIME', ['aime', 'AIME-2'])
    'AIME-3'
    """
    others = {other.lower() for other in taken}
    number, free = 2, name
    while free.lower() in others:
        number, free = number + 1, f'{name}-{number}'
    return free


def _ours(folder: Path, name: str, digest: str) -> bool:
    """A file as it was written, inside the folder wherever links lead."""
    path = folder / name
    if PurePosixPath(name).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        return False
    return path.is_file() and not path.is_symlink() and _digest(path) == digest


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read(path: Path) -> Written:
    """Nothing where the file is missing or damaged: then nothing is known to be ours."""
    try:
        content = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError, RecursionError):
        return {}
    parts = content.items() if isinstance(content, dict) else ()
    return {
        part: {name: digest for name, digest in files.items() if isinstance(digest, str)}
        for part, files in parts
        if isinstance(files, dict)
    }
