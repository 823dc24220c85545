"""`gpassk migrate`: a template of the older style, written as a template of today."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path

from ..errors import GPassKError, InputError
from ..sweep.migration import migrated
from ..unseen import printable
from .files import write_file
from .options import path


def add_arguments(parser: ArgumentParser) -> None:
    """Add the older template, and where the new one goes."""
    older = 'a template that computes models and datasets itself, such as those published with the paper'
    parser.add_argument('template', type=path, metavar='OLD', help=older)
    where = 'where to write it (default: <OLD>_migrated.py in this folder); never over a file that is there'
    parser.add_argument('-o', '--output', type=path, metavar='NEW', help=where)


def run(arguments: Namespace) -> int:
    """Write the new template and say what to type next; return 0.

    Raises:
        InputError: the new file is there, or the older template has no form of today; nothing was written.
    """
    template: Path = arguments.template
    output: Path = arguments.output or Path(f'{template.stem}_migrated.py')
    if output.exists() or output.is_symlink():
        raise InputError(f'{output} is there already: name another file with -o')
    try:
        text = migrated(template)
    except GPassKError as error:
        raise InputError(f'{template}: {error}') from error
    write_file(output, text)
    quoted = printable(shlex.quote(str(output)))
    print(f'next: read it, then\n  gpassk expand {quoted} --dry_run\n  gpassk expand {quoted}')
    return 0
