"""The directory that a command runs in, and the environment that it gets there."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ..errors import InputError
from ..judges.store import STORE_VARIABLE
from .config_file import stores_in, texts_in
from .work_dir import DIRECTORY, SIZES

PATH_VARIABLES = (STORE_VARIABLE, 'COMPASS_DATA_CACHE', 'HF_HOME', 'HF_HUB_CACHE', 'HF_DATASETS_CACHE')
"""Environment variables with one path, relative to where the user is."""

_OWN = frozenset({'tmp', '.cache'})
"""What OpenCompass writes where it runs."""

_NEEDS_QUOTES = re.compile(r'[^\w@%+=:,./~-]')


def prepare_directory(work_dir: Path, config: Path, here: Path) -> Path:
    """The directory that OpenCompass runs in: one for each run.

    OpenCompass writes `./tmp` and `./.cache` where it runs. There, two commands at once can read each
    other's half-written files, and sizes of data sets outlive the data. What the config names relative to
    `here`, where the user is, is linked into the directory; the verdict store of a judge is made first.

    Raises:
        InputError: a path of the directory that OpenCompass cannot work in, or a relative path in the config
            that cannot be linked.
    """
    directory = work_dir / DIRECTORY
    unquotable = _NEEDS_QUOTES.search(work_dir.name)
    check_unquoted(str(directory), 'the path', 'rename the config' if unquotable else 'give another -w')
    names = _stores(config, here) | _relative_names(config, here)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / SIZES).unlink(missing_ok=True)
    for path in directory.iterdir():
        if path.is_symlink():
            path.unlink()
    for name in sorted(names):
        _link(directory / name, here / name)
    return directory


def check_unquoted(path: str, what: str, way_out: str) -> None:
    """OpenCompass starts its tasks by a line for the shell, in which no path is quoted.

    Raises:
        InputError: that cannot work with this path.
    """
    found = _NEEDS_QUOTES.search(path)
    if found:
        raise InputError(
            f'{found[0]!r} in {what}: {way_out}; opencompass puts it unquoted on a shell command line: {path}'
        )


def environment(here: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for OpenCompass: `~` and relative paths as seen from `here`, and time in UTC.

    OpenCompass names its time directories by the local time of its process, which differs from machine to
    machine and goes back an hour once a year.
    """
    paths = {name: _seen_from(here, variables[name]) for name in PATH_VARIABLES if variables.get(name)}
    if variables.get('PYTHONPATH'):
        entries = variables['PYTHONPATH'].split(os.pathsep)
        paths['PYTHONPATH'] = os.pathsep.join(_seen_from(here, entry) for entry in entries)
    return {**variables, **paths, 'TZ': 'UTC'}


def _seen_from(here: Path, path: str) -> str:
    return str(here / os.path.expanduser(path))


def _stores(config: Path, here: Path) -> set[str]:
    """The first parts of the relative verdict stores; they need not exist yet, so they are made."""
    names = set()
    for store in stores_in(config):
        if Path(store).is_absolute():
            continue
        first = _first_part(store)
        if first is None:
            raise InputError(f'store = {store!r} of a judge: write an absolute path ({config.name})')
        _check_linkable(first, store, config, here)
        try:
            (here / store).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f'store = {store!r} of a judge cannot be made, {error.strerror}: name a folder; it would be '
                f'{here / store}'
            ) from error
        names.add(first)
    return names


def _relative_names(config: Path, here: Path) -> set[str]:
    """The first parts of all paths in the config that exist relative to `here`."""
    names = set()
    for text in texts_in(config):
        first = _first_part(text)
        if first is not None and _exists(here / text):
            _check_linkable(first, text, config, here)
            names.add(first)
    return names


def _check_linkable(first: str, text: str, config: Path, here: Path) -> None:
    if first == '..' or first in _OWN:
        raise InputError(
            f'{text!r} in the config is relative: write an absolute path; opencompass runs in a directory of '
            f'its own, where that is something else than from {here} ({config.name})'
        )


def _link(link: Path, target: Path) -> None:
    if link.exists():
        raise InputError(
            f'{link.name!r} of an earlier command is in the way of a link: move what you need of it to '
            f'{target}, and remove {link}'
        )
    link.symlink_to(target)


def _first_part(text: str) -> str | None:
    if not text or '\0' in text or len(text) > 4096 or text.startswith(('/', '~')):
        return None
    parts = Path(text).parts
    return parts[0] if parts else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a text that is no path: too long a name
        return False
