"""A folder of configs: what has not changed is not touched, and nothing of others is removed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..files import digest, replace_file
from ..naming.manifest import MANIFEST, Entry, manifest_text, merged, read_manifest


@dataclass(frozen=True)
class Changes:
    """What an expansion would do to its folder.

    Names of files: `written` are missing or say something else, `replaced` are those of them that are there
    and not as they were written (edited by hand, or another's), `stale` come from an earlier expansion of
    the template and are as they were written, `edited` are stale and not as they were written.
    """

    written: Sequence[str]
    replaced: Sequence[str]
    stale: Sequence[str]
    edited: Sequence[str]
    entries: Sequence[Entry]
    """Of the manifest afterwards, if nothing is removed."""
    announced: Sequence[Entry]
    """Of the manifest before anything is written: an expansion that is killed leaves no unknown files."""


def changes(folder: Path, texts: Mapping[str, str], current: Sequence[Entry], template: str) -> Changes:
    """Compare a folder with the configs that a template gives.

    Raises:
        InputError: the manifest of the folder cannot be read.
    """
    earlier = {entry.file: entry for entry in read_manifest(folder)}
    contents = {name: _content(folder / name) for name in texts}
    written = [name for name, text in texts.items() if contents[name] != text.encode()]
    entries = []
    stale: dict[bool, list[str]] = {False: [], True: []}
    for entry in merged(list(earlier.values()), current, template):
        content = _content(folder / entry.file) if entry.stale else None
        if content is not None and entry.template == template:
            stale[digest(content) != entry.sha256].append(entry.file)
        if content is not None or not entry.stale:
            entries.append(entry)
    return Changes(
        written=written,
        replaced=[name for name in written if _is_foreign(contents[name], earlier.get(name))],
        stale=stale[False],
        edited=stale[True],
        entries=entries,
        announced=[*earlier.values(), *(entry for entry in entries if entry.file not in earlier)],
    )


def apply(folder: Path, texts: Mapping[str, str], changes: Changes, prune: bool) -> None:
    """Write what differs, then the manifest; with `prune` remove what is stale and unedited.

    A reader of a file sees the old one or the new one, never a part.

    Raises:
        InputError: the folder cannot be made or written to.
    """
    removed = frozenset(changes.stale if prune else ())
    left = [entry for entry in changes.entries if entry.file not in removed]
    draft = folder / f'.writing-{os.getpid()}'  # shorter than the names of configs may be
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_manifest(folder, changes.announced, draft)
        for name in changes.written:
            replace_file(folder / name, texts[name].encode(), draft)
        for name in removed:
            (folder / name).unlink()
        _write_manifest(folder, left, draft)
    except OSError as error:
        raise InputError(f'cannot write configs to {folder}: {error}; choose another --output_dir') from error


def _write_manifest(folder: Path, entries: Sequence[Entry], draft: Path) -> None:
    content = manifest_text(entries).encode()
    if _content(folder / MANIFEST) != content:
        replace_file(folder / MANIFEST, content, draft)


def _is_foreign(content: bytes | None, entry: Entry | None) -> bool:
    return content is not None and (entry is None or entry.sha256 != digest(content))


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
