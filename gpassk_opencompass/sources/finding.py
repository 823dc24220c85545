"""Finds the runs in files and folders that somebody gave, whichever programs wrote them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from loguru import logger

from ..errors import InputError
from .source import ROWS, SOURCES, Place, Reading, Run

_ENDINGS = ('.json', '.jsonl', '.eval', '.parquet', '.csv', '.tsv', '.gz', '.zst')
"""What the names of files end in that are looked at in a folder."""


class Found(NamedTuple):
    """What was found.

    runs: of each its source's name and what was given, in the order of the places.
    passed_over: files in folders that no source recognises.
    """

    runs: list[tuple[str, str, Run]]
    passed_over: list[Path]


def find_runs(paths: Sequence[str | os.PathLike[str]], reading: Reading, source: str | None = None) -> Found:
    """Return the runs of files and folders.

    A folder is read as a whole by the source that recognises it; else its files and folders are looked at
    one by one.

    Args:
        paths: what somebody gave.
        reading: what is asked of the sources.
        source: one of `SOURCES`; None: the one that recognises a place.

    Raises:
        InputError: no source recognises a path, or several do; or it cannot be read.
    """
    places: dict[str, list[Place]] = {}
    passed_over: list[Path] = []
    for path in paths:
        for name, place in _recognised(Place(path), source, passed_over):
            places.setdefault(name, []).append(place)
    runs = []
    for name, of_source in places.items():
        runs += [(name, given, run) for given, run in _read(name, of_source, reading)]
    return Found(runs, passed_over)


def _read(name: str, places: Sequence[Place], reading: Reading) -> Iterator[tuple[str, Run]]:
    source = SOURCES[name]()
    read_all = getattr(source, 'read_all', None)
    if read_all and len(places) > 1:
        given = os.path.commonpath([place.name for place in places]) or '.'
        yield from ((given, run) for run in read_all(places, reading))
        return
    for place in places:
        yield from ((place.name, run) for run in source.read(place, reading))


def _recognised(place: Place, wanted: str | None, passed_over: list[Path]) -> Iterator[tuple[str, Place]]:
    """Return the source of what somebody gave, or of what is in it."""
    if not place.path.is_dir():
        yield wanted or detected(place), place
        return
    found = list(_in_folder(place, wanted, passed_over))
    if not found and wanted:
        found = [(wanted, place)]  # it says what it expects
    if not found:
        there = f': there is {passed_over[0]}, …' if passed_over else ''
        raise InputError(
            f'{place.name} holds no file that one of the sources recognises{there}; name a file, or say what '
            f'wrote them: --from {" or ".join(SOURCES)}'
        )
    yield from found


def _in_folder(place: Place, wanted: str | None, passed_over: list[Path]) -> Iterator[tuple[str, Place]]:
    names = _names(place)
    if found := [name for name in names if wanted in (None, name)]:
        yield _only(place, found), place
    elif not place.path.is_dir():
        passed_over.append(place.path)
    else:
        for entry in sorted(place.path.iterdir()):
            if entry.is_dir() or entry.name.endswith(_ENDINGS):
                yield from _in_folder(Place(entry), wanted, passed_over)


def detected(place: Place) -> str:
    """Return the name of the source that recognises a file; `ROWS` where none does.

    Raises:
        InputError: several do.
    """
    from ..results.read import is_named_as_result  # pydantic: who only asks for the names needs none

    if found := _names(place):
        return _only(place, found)
    return 'result' if is_named_as_result(place.path) else ROWS


def _names(place: Place) -> list[str]:
    """Return the names of the sources that recognise a place."""
    found = []
    for name, source in SOURCES.each():
        if isinstance(source, InputError):
            logger.warning(f'passed over: {source}')
        elif name != ROWS and source().recognises(place):
            found.append(name)
    return found


def _only(place: Place, names: Sequence[str]) -> str:
    if len(names) > 1:
        raise InputError(
            f'{place.name} looks like files of {" and of ".join(names)}; say which: --from {names[0]}'
        )
    return names[0]
