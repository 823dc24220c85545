"""Finds the runs in files and folders that somebody gave, whichever programs wrote them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from ..files import SAMPLES
from ..results.named import is_named_as_result
from .source import ROWS, SOURCES, TABLE, Place, Reading, Run

_TABLES = ('.csv', '.tsv')
_PACKED = ('.jsonl.gz', '.json.gz', '.csv.gz', '.tsv.gz', '.gpassk.json')
_STEMS = (*_PACKED, '.jsonl', '.json', '.eval', '.parquet', '.csv', '.tsv', '.gz')
"""What is cut off from a file's name where it stands for the model, longest first."""

_ENDINGS = ('.json', '.jsonl', '.eval', '.parquet', '.csv', '.tsv', '.gz')
"""What the names of files end in that are looked at in a folder."""


class FoundRun(NamedTuple):
    """A run, the name of its source, and the file or folder that holds it."""

    run: Run
    source: str
    place: str

    @property
    def names(self) -> dict[str, str]:
        """Return what its model and its data set are called in a record."""
        file = Path(self.place).name
        ending = next((one for one in _STEMS if file.lower().endswith(one)), '')
        model = self.run.model or file[: len(file) - len(ending)] or 'model'
        return {'model': model, 'dataset': self.run.dataset or 'samples'}

    @property
    def name(self) -> str:
        """Return `<model>/<data set>`."""
        return '/'.join(self.names.values())


class Found(NamedTuple):
    """What was found.

    runs: in the order of the places.
    passed_over: files in folders that no source recognises.
    failed: why a file or folder could not be read, where others could.
    """

    runs: list[FoundRun]
    passed_over: list[Path]
    failed: list[str]


def record_name(names: Mapping[str, str]) -> str:
    """Return what the file with the record of a run is called.

    >>> record_name({'model': 'Qwen/Qwen3-8B', 'dataset': 'aime'})
    'Qwen_Qwen3-8B@aime.gpassk.json'
    """
    name = f'{names["model"]}@{names["dataset"]}'
    return ''.join('_' if one in '/\\' or not one.isprintable() else one for one in name) + '.gpassk.json'


def find_runs(paths: Sequence[str | os.PathLike[str]], reading: Reading, source: str | None = None) -> Found:
    """Return the runs of files and folders.

    A folder is read as a whole by the source that recognises it; else its files and folders are looked at
    one by one, but for hidden ones.

    Args:
        paths: what somebody gave.
        reading: what is asked of the sources.
        source: one of `SOURCES`; None: the one that recognises a place.

    Raises:
        InputError: no source recognises a path, or several do; or none of them can be read.
    """
    places: dict[str, list[Place]] = {}
    passed_over: list[Path] = []
    seen: set[Path] = set()
    for path in paths:
        for name, place in _recognised(Place(path), source, passed_over, seen):
            places.setdefault(name, []).append(place)
    runs: list[FoundRun] = []
    failed: list[InputError] = []
    for name, of_source in places.items():
        for group in _groups(name, of_source):
            found, errors = _read_or_told(name, group, reading)
            runs += found
            failed += errors
    if failed and not runs:
        raise failed[0]
    return Found(runs, passed_over, list(map(str, failed)))


def _read_or_told(
    name: str, places: Sequence[Place], reading: Reading
) -> tuple[list[FoundRun], list[InputError]]:
    """Return the runs, and what went wrong: folders that cannot be read together are read one by one."""
    try:
        return _read(name, places, reading), []
    except InputError as error:
        if len(places) == 1 or not all(place.path.is_dir() for place in places):
            return [], [error]
    each = [_read_or_told(name, [place], reading) for place in places]
    return [run for runs, _ in each for run in runs], [error for _, errors in each for error in errors]


def _groups(name: str, places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    """Return what is read at once: all places, of a source whose runs lie in several, else each by itself."""
    if hasattr(SOURCES[name], 'read_all'):
        yield places
    else:
        yield from ([place] for place in places)


def _read(name: str, places: Sequence[Place], reading: Reading) -> list[FoundRun]:
    source = SOURCES[name]()
    if len(places) == 1:
        return [FoundRun(run, name, places[0].name) for run in source.read(places[0], reading)]
    folder = os.path.relpath(os.path.commonpath([place.path.resolve().parent for place in places]))
    read_all: Callable[[Sequence[Place], Reading], Sequence[Run]] = source.read_all  # type: ignore[attr-defined]
    return [FoundRun(run, name, folder) for run in read_all(places, reading)]


def _recognised(
    place: Place, wanted: str | None, passed_over: list[Path], seen: set[Path]
) -> Iterator[tuple[str, Place]]:
    """Return the source of what somebody gave, or of what is in it; nothing of what was seen before."""
    if not place.path.exists():
        raise InputError(f'{place.name} is neither a file nor a folder')
    if place.path.resolve() in seen:
        return
    if not place.path.is_dir():
        seen.add(place.path.resolve())
        yield wanted or detected(place), place
        return
    found = list(_in_folder(place, wanted, passed_over, seen))
    if not found and wanted:
        found = [(wanted, place)]  # it says what it expects
    if not found:
        there = f': there is {passed_over[0]}, …' if passed_over else ''
        raise InputError(
            f'{place.name} holds no file that one of the sources recognises{there}; name a file, or say what '
            f'wrote them: --from {" or ".join(SOURCES)}'
        )
    yield from found


def _in_folder(
    place: Place, wanted: str | None, passed_over: list[Path], seen: set[Path]
) -> Iterator[tuple[str, Place]]:
    if (path := place.path.resolve()) in seen:  # by a link, perhaps to a folder above
        return
    seen.add(path)
    names = _names(place)
    if found := [name for name in names if wanted in (None, name)]:
        yield _only(place, found), place
    elif not place.path.is_dir():
        passed_over.append(place.path)
    else:
        for entry in sorted(place.path.iterdir()):
            file = entry.is_file() and entry.name.lower().endswith(_ENDINGS)  # not what a pipe may send
            hidden = entry.name.startswith('.') or entry.name.endswith(SAMPLES)
            if (file or entry.is_dir()) and not hidden:
                yield from _in_folder(Place(entry), wanted, passed_over, seen)


def detected(place: Place) -> str:
    """Return the name of the source that recognises a file; `ROWS` where none does.

    Raises:
        InputError: several do.
    """
    if found := _names(place):
        return _only(place, found)
    if place.schema is not None and not place.path.name.startswith('details_'):
        return TABLE
    if is_named_as_result(place.path):
        return 'result'
    return TABLE if place.path.name.lower().removesuffix('.gz').endswith(_TABLES) else ROWS


def _names(place: Place) -> list[str]:
    """Return the names of the sources that recognise a place: of programs, or that of tables."""
    found = []
    for name, source in SOURCES.each():
        if isinstance(source, InputError):
            from loguru import logger  # seldom needed

            logger.warning(f'passed over: {source}')
        elif name not in (ROWS, TABLE) and source().recognises(place):
            found.append(name)
    return found or ([TABLE] if not place.path.is_dir() and SOURCES[TABLE]().recognises(place) else [])


def _only(place: Place, names: Sequence[str]) -> str:
    if len(names) > 1:
        raise InputError(
            f'{place.name} looks like files of {" and of ".join(names)}; say which: --from {names[0]}'
        )
    return names[0]
