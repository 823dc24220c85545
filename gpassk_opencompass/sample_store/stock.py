"""What stands in a sample store: what is kept of each identity, and what may go."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import InputError
from ..files import mapping
from ..line_files import is_being_written, line_files, reading
from ..naming.sampling import NESTED
from .identity import Identity, read_identity
from .store import BESIDE, USED, WHAT, identity_folders, samples_in

_SAMPLING = ('temperature', 'top_p', 'top_k', 'repetition_penalty', 'min_p', 'max_new_tokens', 'do_sample')


@dataclass
class Stock:
    """The samples of one identity and version of its engine."""

    folder: Path
    identity: Identity | None
    """None where its file is gone or damaged."""
    bytes: int
    """Of its files."""
    used: float
    """When a run last looked there, or added to it, in seconds since 1970."""
    replicas: defaultdict[str, set[Any]] = field(default_factory=lambda: defaultdict(set))
    """Uid of a question → which of its replicas there are, however it was asked, and however often."""
    runs: Counter[str] = field(default_factory=Counter)
    """Samples by the name of the run that drew them."""
    latest: str = ''
    """When the last one was drawn, ISO 8601 in UTC."""
    damaged: int = 0
    """Lines that are."""

    @property
    def questions(self) -> int:
        """Return how many there are."""
        return len(self.replicas)

    @property
    def n(self) -> int:
        """Return how many replicas the question has that has most."""
        return max(map(len, self.replicas.values()), default=0)

    @property
    def samples(self) -> int:
        """Return how many there are."""
        return self.runs.total()

    @property
    def model(self) -> str:
        """Return what the model is called: the last part of its path."""
        path = '' if self.identity is None else str(self.identity.model.get('path', ''))
        return PurePosixPath(path).name or path or '?'

    @property
    def engine(self) -> str:
        """Return the class that draws, with the versions of its packages."""
        if self.identity is None:
            return '?'
        versions = [f'{name} {version}' for name, version in sorted(self.identity.versions.items())]
        return ', '.join([str(self.identity.model.get('type', '?')).rpartition('.')[2], *versions])

    @property
    def sampling(self) -> str:
        """Return the sampling settings in words."""
        if self.identity is None:
            return '?'
        model = self.identity.model
        told = {
            **model,
            **{name: value for one in NESTED for name, value in mapping(model.get(one)).items()},
        }
        names = [name for name in (*_SAMPLING, 'random_seed') if told.get(name) is not None]
        length = {'max_out_len': self.identity.inference.get('max_out_len')}
        parts = {name: told[name] for name in names} | {k: v for k, v in length.items() if v is not None}
        return ', '.join(f'{name} {value}' for name, value in parts.items()) or '?'


def find_store(place: Path) -> Path:
    """Return the sample store at a place: the place itself, or what lies beside the work directories there.

    Raises:
        InputError: there is none.
    """
    for root in (place, place.joinpath(*BESIDE), place.parent.joinpath(*BESIDE)):
        if root.is_dir() and identity_folders(root):
            return root
    raise InputError(
        f'{place} holds no samples: expected a sample store, with folders that have an identity.json, or a '
        f'folder with work directories, whose samples are in its {"/".join(BESIDE)}'
    )


def stocks(root: Path) -> Iterator[Stock]:
    """Yield what a store keeps of each identity, by the time of its last use.

    Raises:
        InputError: a file cannot be read.
    """
    found = [_opened(folder) for folder in identity_folders(root)]
    for stock in sorted(found, key=lambda one: (one.used, one.folder)):
        _count(stock)
        yield stock


def _opened(folder: Path) -> Stock:
    with reading(folder, WHAT):
        files = [path for path in folder.iterdir() if path.is_file()]
        used = [(folder / USED).stat().st_mtime] if (folder / USED).exists() else []
        times = [*used, *(path.stat().st_mtime for path in files)] or [folder.stat().st_mtime]
        size = sum(path.stat().st_size for path in files)
    return Stock(folder, read_identity(folder), size, max(times))


def _count(stock: Stock) -> None:
    for kept in samples_in(stock.folder):
        if kept is None:
            stock.damaged += 1
            continue
        stock.replicas[str(kept.about.get('uid'))].add(kept.about.get('replica'))
        stock.runs[str(kept.about.get('run'))] += 1
        stock.latest = max(stock.latest, str(kept.about.get('time', '')))


def in_use(folder: Path) -> bool:
    """Whether a run of this machine adds to a folder now."""
    return any(map(is_being_written, line_files(folder, WHAT)))


def remove(folder: Path) -> None:
    """Remove the samples of an identity; those of a run that adds to them are drawn anew when next asked for.

    Raises:
        InputError: the folder cannot be changed.
    """
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise InputError(f'cannot remove {error.filename or folder}: {error.strerror}') from error
