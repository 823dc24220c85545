"""What stands in verdict stores: where they are, and one pass over them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import InputError
from .lines import reading, store_files, store_folder
from .protocol import Verdict
from .store import STORE_VARIABLE, Line, begins_sound, read_lines

FOLDER = 'verdicts'
"""Name of the store in a work directory."""


class StoredVerdicts:
    """The verdicts of stores, each key once: of several the first counts, as in `VerdictStore`.

    Iterating reads the files line by line and keeps the keys alone, little more than 100 bytes a verdict. The
    counts are those of the last iteration, complete when it has come to its end.

    Args:
        stores: folders, see `find_stores`; where they differ, the earlier one counts.

    Raises:
        InputError: while iterating, if a file cannot be read.

    >>> import tempfile
    >>> from gpassk_opencompass.judges.store import VerdictStore
    >>> folder = tempfile.mkdtemp()
    >>> VerdictStore(folder).put('0' * 32, Verdict.CORRECT, {'question': '1 + 1?', 'answer': '2'})
    >>> [(line.verdict.value, line.about['answer']) for line in StoredVerdicts([folder])]
    [('correct', '2')]
    """

    def __init__(self, stores: Sequence[str | os.PathLike[str]]) -> None:
        self.stores = [Path(store) for store in stores]
        self._forget()

    def _forget(self) -> None:
        self._said: dict[bytes, Verdict] = {}
        self.files = 0
        self.damaged = 0
        """Lines that were skipped: damaged, of another kind, or torn at the end of a file."""
        self.repeated = 0
        """Lines whose key was there before."""
        self.contradictions: set[str] = set()
        """Keys under which both verdicts stand."""

    def __len__(self) -> int:
        return len(self._said)

    def __iter__(self) -> Iterator[Line]:
        self._forget()
        said = self._said
        for line in self._lines():
            key = bytes.fromhex(line.key)
            if (first := said.get(key)) is None:
                said[key] = line.verdict
                yield line
            else:
                self._again(line, first)

    def _lines(self) -> Iterator[Line]:
        for store in self.stores:
            for file in store_files(store):
                self.files += 1
                yield from self._lines_of(file)

    def _lines_of(self, file: Path) -> Iterator[Line]:
        for line in _read(file):
            if line is None:
                self.damaged += 1
            else:
                yield line

    def _again(self, line: Line, first: Verdict) -> None:
        self.repeated += 1
        if line.verdict is not first:
            self.contradictions.add(line.key)


def find_stores(places: Sequence[str | os.PathLike[str]] = ()) -> list[Path]:
    """Return the stores at some places.

    Args:
        places: a store, i.e. a folder whose `*.jsonl` files hold a sound line, or a folder with stores
            somewhere below it, like a work directory of OpenCompass: those named `verdicts`, and any other
            with a file that begins with a sound line. `~` is the home directory. None: `$GPASSK_VERDICTS`.

    Raises:
        InputError: a place without a store, or none given at all.
    """
    default = os.environ.get(STORE_VARIABLE)
    given = [store_folder(place) for place in places or filter(None, [default])]
    if not given:
        raise InputError(
            f'no verdict store given: name a store or a work directory, or set ${STORE_VARIABLE} to one'
        )
    found: dict[Path, Path] = {}
    for place in given:
        for store in _stores_at(place):
            found.setdefault(store.resolve(), store)
    return list(found.values())


def _stores_at(place: Path) -> list[Path]:
    if not place.is_dir():
        raise InputError(f'{place} is no folder; expected a verdict store or a work directory')
    named, below = set(), set()
    for path, folders, files in os.walk(place):  # passes over what a run at work removes meanwhile
        folder = Path(path)
        named |= {folder / name for name in folders if name == FOLDER}
        if folder != place and any(begins_sound(folder / name) for name in files if name.endswith('.jsonl')):
            below.add(folder)
    stores = [
        folder
        for folder in (place, *sorted(named | below))
        if folder in below or any(map(_holds_verdict, store_files(folder)))
    ]
    if not stores:
        raise InputError(
            f'{place} holds no verdicts: there is no *.jsonl file with a whole verdict in it or in a folder '
            "below it; if the judge's config says store=…, name that folder"
        )
    return stores


def _holds_verdict(file: Path) -> bool:
    return any(line is not None for line in _read(file))


def _read(file: Path) -> Iterator[Line | None]:
    with reading(file):
        yield from read_lines(file)
