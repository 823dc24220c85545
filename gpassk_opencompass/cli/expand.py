"""`gpassk expand`: a template in, one OpenCompass config a run out; what dump_configs.py does."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ..errors import GPassKError, InputError
from ..sweep.cli import add_options, expand_as_told
from .options import path


def add_arguments(parser: ArgumentParser) -> None:
    """Which template, and the options of dump_configs.py."""
    parser.usage = f'{parser.prog} TEMPLATE [--output_dir FOLDER] [--override NAME=VALUE] [--dry_run] …'
    parser.add_argument(
        'template', nargs='?', type=path, metavar='TEMPLATE', help='a Python file with the settings'
    )
    add_options(parser, template_required=False)


def run(arguments: Namespace) -> int:
    """Expand it and say how many configs there are; 0.

    Raises:
        InputError: not one template is given, or it cannot be expanded; then no file was written or removed.
    """
    given = [file for file in (arguments.template, arguments.config_template_file) if file is not None]
    if len(given) != 1:
        raise InputError(
            f'{"two templates are" if given else "no template is"} given: expected one, such as template.py '
            'of gpassk init'
        )
    try:
        lines = expand_as_told(given[0], arguments)
    except GPassKError as error:
        raise InputError(f'{given[0]}: {error}') from error
    print(*lines, sep='\n')
    return 0
