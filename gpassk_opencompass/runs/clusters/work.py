"""What a job of a cluster is told, and what it tells: files in a folder that all nodes see."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError
from ...files import digest, mapping, parse_json, read_json, replace_file
from ...times import utc_now

WORKS = 'works.json'
"""The file of a folder of jobs that says what each of them does."""

TO_BE_CONTINUED = 75
"""The exit code of a job that was stopped by the cluster, and could not have itself started again."""

WORKS_FOLDER = 'GPASSK_WORKS'
"""Variable: the folder of `WORKS`, where it is not that of the notes."""

TIED = 'GPASSK_TIED'
"""Variable: the job ends when its standard input ends, that is with the process that started it."""

FRUITLESS = 2
"""After so many allocations in a row in which nothing was drawn or judged a job is not started again."""

_GROWING = ('2*/predictions/*/*.json*', '2*/results/*/*.json', '2*/verdicts/*.jsonl')


@dataclass(frozen=True)
class Work:
    """A session, as one job does it: `gpassk` with these words, in this directory."""

    session: str
    runs: tuple[str, ...]
    work_dirs: tuple[str, ...]
    """Absolute, one a run."""
    words: tuple[str, ...]
    """What follows `gpassk`."""
    here: str
    """The current directory; relative paths in configs are meant from there."""
    gpus: int = 0
    stores: tuple[str, ...] = ()
    """Folders of verdicts elsewhere, absolute."""

    def extent(self) -> str:
        """Return a text that changes with each sample that it draws, and each verdict that it keeps."""
        return extent_of(self.work_dirs, self.stores)


class Ended(NamedTuple):
    """How a job said that it ended."""

    code: int
    says: str = ''


class Notes:
    """The files that a job leaves beside `WORKS`, by its index; who reads them may be another machine."""

    def __init__(self, folder: Path, index: int) -> None:
        self._folder, self._index = folder, index

    @property
    def log(self) -> Path:
        """Return the file with the output of the job."""
        return self._folder / f'{self._index}.log'

    def begin(self, start: str, node: str) -> None:
        """Note that the job works now, on a node; its earlier end no longer counts."""
        self._path('ended').unlink(missing_ok=True)
        self._write('begun', {'start': start, 'node': node, 'since': utc_now()})

    def end(self, ended: Ended) -> None:
        """Note how it ended; a full disk makes it look as if it was killed."""
        with suppress(OSError):
            self._write('ended', ended._asdict())

    @property
    def node(self) -> str | None:
        """Return where it works, or worked last; None before that."""
        told = _read(self._path('begun')).get('node')
        return told if isinstance(told, str) else None

    @property
    def ended(self) -> Ended | None:
        """Return how it said that it ended; None if it works, or was killed."""
        told = _read(self._path('ended'))
        code, says = told.get('code'), told.get('says')
        return Ended(code, str(says or '')) if isinstance(code, int) else None

    def is_fruitful(self, before: str, after: str) -> bool:
        """Note what there was before and after an allocation; return whether one more is worth it."""
        path = self._path('allocations')
        with path.open('a', encoding='utf-8') as file:
            file.write(json.dumps({'before': before, 'after': after}) + '\n')
        last = path.read_text(encoding='utf-8').splitlines()[-FRUITLESS:]
        told = [mapping(_parsed(line)) for line in last]
        return len(told) < FRUITLESS or any(one.get('before') != one.get('after') for one in told)

    def _path(self, kind: str) -> Path:
        return self._folder / f'{self._index}.{kind}'

    def _write(self, kind: str, content: Mapping[str, Any]) -> None:
        path = self._path(kind)
        replace_file(path, json.dumps(content).encode(), path.with_name(f'{path.name}.{os.getpid()}.draft'))


def write_works(folder: Path, works: Sequence[Work]) -> None:
    """Write what the jobs of a new folder do, each by its index.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True)
    text = works_text(works)
    replace_file(folder / WORKS, text.encode(), folder / f'{WORKS}.draft')


def works_text(works: Sequence[Work]) -> str:
    """Return the content of `WORKS`."""
    return json.dumps([asdict(work) for work in works], ensure_ascii=False, indent=1)


def read_works(folder: Path) -> list[Work]:
    """Read what the jobs of a folder do.

    Raises:
        InputError: there is no such file, or it is none of `write_works`.
    """
    path = folder / WORKS
    try:
        return [Work(**{name: _frozen(value) for name, value in one.items()}) for one in read_json(path)]
    except OSError as error:
        raise InputError(f'cannot read {path}, which says what the job does: {error.strerror}') from error
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f'{path} does not say what the job does: {error}') from error


def extent_of(work_dirs: Iterable[str | Path], stores: Iterable[str] = ()) -> str:
    """Return a text that changes with each sample that is drawn, and each verdict that is kept.

    Args:
        work_dirs: of the runs.
        stores: folders of verdicts that are elsewhere.
    """
    places = [(Path(folder), pattern) for folder in work_dirs for pattern in _GROWING]
    places += [(Path(store), '*.jsonl') for store in stores]
    sizes: list[str] = []
    for folder, pattern in places:
        with suppress(OSError):
            sizes += sorted(f'{path} {path.stat().st_size}' for path in folder.glob(pattern))
    return digest('\n'.join(sizes).encode())


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return mapping(read_json(path))
    except (OSError, ValueError):
        return {}


def _parsed(line: str) -> Any:
    try:
        return parse_json(line)
    except ValueError:
        return None


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
