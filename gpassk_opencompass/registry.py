"""Named things of one kind: those of this package, and those that other packages bring as entry points."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar('T')

_DESCRIPTIONS = ('.dist-info', '.egg-info', 'egg-info')
"""What the names of folders end in that describe an installed package."""


class Registry(Mapping[str, T], Generic[T]):
    """A mapping of names to objects that are imported when they are asked for, and not before.

    A package adds one by an entry point of the group, `name = package.module:attribute`. Its name must not
    be one of this package's or of another package's: whoever asks for a name gets what the docs say, in
    whatever order packages are installed.

    Args:
        group: of the entry points, such as 'gpassk_opencompass.judges'.
        what: one of them, for messages, such as 'judge'.
        own: those of this package: name → 'module:attribute'.
        accepts: whether the object under a name is one.
        expected: what `accepts` asks for, for messages.

    Raises:
        InputError: on access, for an unknown name, a name that two packages bring, or one whose object
            cannot be imported or is none.
    """

    def __init__(
        self,
        group: str,
        what: str,
        own: Mapping[str, str],
        accepts: Callable[[str, Any], bool] = lambda name, found: True,
        expected: str = '',
    ) -> None:
        self.group = group
        self._what = what
        self._own = own
        self._accepts = accepts
        self._expected = expected

    def __getitem__(self, name: str) -> T:
        try:
            places = self._places[name]
        except KeyError:
            raise InputError(f'{self._what} {name!r}: expected one of {", ".join(self)}') from None
        if len(places) > 1:
            raise InputError(
                f'{self._what} {name!r} is brought by {" and by ".join(places)}: uninstall one of them'
            )
        found = self._imported(name, places[0])
        if not self._accepts(name, found):
            raise InputError(
                f'{self._what} {name!r} ({places[0]}) is {found!r:.80}; expected {self._expected}'
            )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        """Return whether there is one of this name, without importing it."""
        return name in self._places

    def each(self) -> Iterator[tuple[str, T | InputError]]:
        """Yield each name with its object, or with the error that asking for it raises."""
        for name in self:
            try:
                yield name, self[name]
            except InputError as error:
                yield name, error

    def place(self, name: str) -> str:
        """Return 'module:attribute' of a name, without importing it; '' for a name that is unknown."""
        return next(iter(self._places.get(name, [])), '')

    @cached_property
    def _places(self) -> dict[str, list[str]]:
        """Name → where its object is; more than one place where packages disagree."""
        places = {name: [place] for name, place in self._own.items()}
        if not _may_be_brought(self.group):
            return places
        from importlib.metadata import entry_points  # as slow to import as all of this package

        brought = sorted(entry_points(group=self.group), key=_order)
        for point in brought:
            known = places.setdefault(point.name, [])
            if point.value not in known:  # a package that is found twice on the path brings it once
                known.append(point.value)
        return places

    def _imported(self, name: str, place: str) -> T:
        module, _, attribute = place.partition(':')
        try:
            found: T = getattr(import_module(module), attribute)
        except (Exception, SystemExit) as error:  # a module of another package may raise anything
            reason = ' '.join(f'{type(error).__name__}: {error}'.split())
            raise InputError(f'{self._what} {name!r} ({place}) cannot be imported: {reason}') from error
        return found


def _may_be_brought(group: str) -> bool:
    """Whether a package may have entry points of a group: files that hold them name it, or cannot be seen.

    Most often none does, and it takes a tenth of the time to look for the name in files on the path.
    """
    others = (one for one in sys.meta_path if one is not PathFinder)
    if any(hasattr(finder, 'find_distributions') for finder in others):
        return True
    return any(_may_name(folder, group.encode()) for folder in dict.fromkeys(sys.path))


def _may_name(folder: str, group: bytes) -> bool:
    try:
        with os.scandir(folder or '.') as entries:
            found = [entry.path for entry in entries if entry.name.lower().endswith(_DESCRIPTIONS)]
    except NotADirectoryError:
        return True  # an archive
    except OSError:
        return False
    return any(map(partial(_holds, group), found))


def _holds(group: bytes, description: str) -> bool:
    try:
        with open(os.path.join(description, 'entry_points.txt'), 'rb') as file:
            return group in file.read()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _order(point: EntryPoint) -> tuple[str, str]:
    return point.name, point.value
