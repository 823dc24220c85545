"""Files that subcommands write where they are told to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO

from ..errors import InputError
from ..files import keep_mode

if TYPE_CHECKING:
    from ..record import Names, Result


def check_table_name(output: Path | None) -> None:
    """Refuse a table that is neither CSV nor JSON, before anything is computed; None is no table.

    Raises:
        InputError: the ending is another one.
    """
    if output and output.suffix not in {'.csv', '.json'}:
        raise InputError(f'-o {output}: expected a name that ends in .csv or .json')


def write_file(path: Path, text: str, *, make_folder: bool = False) -> None:
    """Write a text and say so, see `opened`.

    Raises:
        InputError: it cannot be written.
    """
    with opened(path, make_folder=make_folder) as file:
        file.write(text)
    print(f'wrote {path}')


def write_record(path: Path, result: Result) -> None:
    """Write a result and the file of its samples beside it, and say so; the folder is made.

    Raises:
        InputError: it cannot be written.
    """
    from ..record import write  # numpy, pyarrow

    try:
        write(path, result)
    except OSError as error:
        raise InputError(f'cannot write {path}: {error.strerror}') from error
    print(f'wrote {path}')


def record_name(names: Names) -> str:
    """Return what the file with the record of a run is called.

    >>> from types import SimpleNamespace
    >>> record_name(SimpleNamespace(model='Qwen/Qwen3-8B', dataset='aime'))
    'Qwen_Qwen3-8B@aime.gpassk.json'
    """
    name = f'{names.model}@{names.dataset}'
    return ''.join('_' if one in '/\\' or not one.isprintable() else one for one in name) + '.gpassk.json'


@contextmanager
def opened(path: Path, *, make_folder: bool = False) -> Iterator[TextIO]:
    """Open a file that takes the place of `path` when all is written; until then what was there stays.

    Halves of characters, which no file can hold, are escaped. The rest is as in `opened_bytes`.
    """
    with opened_bytes(path, make_folder=make_folder) as raw:
        file = TextIOWrapper(raw, encoding='utf-8', errors='backslashreplace', newline='')
        try:
            yield file
        finally:
            file.detach()  # writes what it still holds, and leaves the file to who opened it


@contextmanager
def opened_bytes(path: Path, *, make_folder: bool) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` when all is written; until then what was there stays.

    A device, a pipe and a link, such as /dev/stdout, are written to as they are.

    Raises:
        InputError: it cannot be written.
    """
    draft = None
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_symlink() and (path.is_file() or not path.exists()):
            draft = path.with_name(f'.writing-{os.getpid()}')
        with (draft or path).open('wb') as file:
            if draft:
                keep_mode(path, draft)
            yield file
        if draft:
            draft.replace(path)
    except OSError as error:
        raise InputError(f'cannot write {path}: {error.strerror}') from error
    finally:
        if draft:
            with suppress(OSError):  # it is in its place, or never was
                draft.unlink()


def utf8_output() -> TextIO:
    """Return standard output for what programs read: in UTF-8, whatever the terminal's encoding."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding='utf-8', errors='backslashreplace')
    return sys.stdout
