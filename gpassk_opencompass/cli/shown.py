"""Tables of modules that still make them with `tables`."""

from __future__ import annotations

import shutil
from argparse import ArgumentParser
from typing import TYPE_CHECKING

from .. import text

if TYPE_CHECKING:
    from ..tables import Table


def add_table_options(parser: ArgumentParser) -> None:
    """Add --json, which every command that prints a table has."""
    meaning = 'print the tables as one JSON object, all digits, and nothing else on standard output'
    parser.add_argument('--json', action='store_true', help=meaning)


def show(table: Table, *, of: str = '', notes: bool = True) -> None:
    """Print a table, or with --json keep it for the end."""
    if text._collected:
        told = table.as_json()
        text._collected[-1].append({**told, 'title': f'{of}: {told["title"]}' if of else told['title']})
    else:
        print(table.to_terminal(notes=notes, width=text.width()))


def shows_json() -> bool:
    """Whether the command that runs prints JSON."""
    return bool(text._collected)


def terminal_width() -> int:
    """Return the columns of the terminal."""
    return shutil.get_terminal_size((100, 24)).columns
