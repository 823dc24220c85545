"""Tables on standard output: for people within the width of the terminal, or all as one JSON object."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from ..unseen import json_text
from ..version import __version__
from .files import utf8_output

if TYPE_CHECKING:
    from ..tables import Table

PIPED = 100
"""Columns where standard output is no terminal and $COLUMNS does not say."""

NARROWEST = 40


class Shown:
    """Takes the tables of one command.

    Args:
        width: columns of the terminal.
        as_json: keep the tables for `as_json` instead of printing them.
    """

    def __init__(self, width: int, as_json: bool = False) -> None:
        self.width = width
        self.collects = as_json
        self.tables: list[dict[str, Any]] = []

    def add(self, table: Table, of: str, notes: bool) -> None:
        """Print a table, or keep it."""
        if self.collects:
            told = table.as_json()
            self.tables.append({**told, 'title': f'{of}: {told["title"]}' if of else told['title']})
        else:
            print(table.to_terminal(notes=notes, width=self.width))

    def as_json(self, command: str) -> str:
        """Return all tables as JSON, see `schemas/tables.schema.json`."""
        return json_text({'command': command, 'version': __version__, 'tables': self.tables}, indent=1)


_now: list[Shown] = []
"""Where the command that runs shows its tables."""


def add_table_options(parser: ArgumentParser) -> None:
    """Add --json and --width, which every command that prints a table has."""
    as_json = 'print the tables as one JSON object, all digits, and nothing else on standard output'
    parser.add_argument('--json', dest='tables_as_json', action='store_true', help=as_json)
    width = f'columns that tables may take (default: those of the terminal; {PIPED} in a file or pipe)'
    parser.add_argument('--width', type=_width, metavar='N', help=width)


@contextmanager
def showing(command: str, arguments: Namespace) -> Iterator[None]:
    """Have the tables of a command shown as its options say.

    With --json what is printed goes to standard error, and at the end standard output gets the tables, also
    those of a command that then fails.
    """
    as_json = getattr(arguments, 'tables_as_json', False)
    _now.append(Shown(getattr(arguments, 'width', None) or terminal_width(), as_json))
    try:
        if not as_json:
            yield
            return
        done = False
        try:
            with redirect_stdout(sys.stderr):
                yield
            done = True
        finally:
            if done or _now[-1].tables:
                print(_now[-1].as_json(command), file=utf8_output())
    finally:
        _now.pop()


def show(table: Table, *, of: str = '', notes: bool = True) -> None:
    """Print a table, or with --json keep it for the end.

    Args:
        of: what it is of, where a command has several tables of one title; people read that elsewhere.
        notes: print them below; JSON has them always.
    """
    shown = _now[-1] if _now else Shown(terminal_width())
    shown.add(table, of, notes)


def shows_json() -> bool:
    """Whether the command that runs prints JSON."""
    return bool(_now and _now[-1].collects)


def terminal_width() -> int:
    """Return $COLUMNS, the columns of the terminal, or where there is none `PIPED`."""
    return max(shutil.get_terminal_size((PIPED, 24)).columns, NARROWEST)


def _width(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= NARROWEST):
        raise ArgumentTypeError(f'{text!r}: expected a number of columns, at least {NARROWEST}')
    return int(text)
