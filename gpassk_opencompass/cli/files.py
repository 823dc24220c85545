"""Files that subcommands write where they are told to."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError


def check_table_name(output: str | None) -> None:
    """Refuse a table that is neither CSV nor JSON, before anything is computed; None is no table.

    Raises:
        InputError: the ending is another one.
    """
    if output and Path(output).suffix not in {'.csv', '.json'}:
        raise InputError(f'-o {output}: expected a name that ends in .csv or .json')


def write_file(path: Path, text: str, *, make_folder: bool = False) -> None:
    """Write a text and say so; halves of characters, which no file can hold, are escaped.

    Raises:
        InputError: it cannot be written.
    """
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8', errors='backslashreplace')
    except OSError as error:
        raise InputError(f'cannot write {path}: {error.strerror}') from error
    print(f'wrote {path}')
