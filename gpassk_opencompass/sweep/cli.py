"""`python dump_configs.py`: a template in, one OpenCompass config a run out."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from ..errors import GPassKError
from .computed import expand_computed, is_computed
from .grid import expand
from .source import config_source
from .template import read_template
from .writer import changed, write


def main(argv: Sequence[str] | None = None) -> int:
    """Expand a template and say how many configs there are.

    Returns:
        The exit code: 0, or 2 with one message on stderr if the template cannot be expanded. Then no file
        was written.
    """
    arguments = _parse(argv)
    try:
        texts = config_texts(arguments.config_template_file)
        names = changed(arguments.output_dir, texts)
        if not arguments.dry_run:
            write(arguments.output_dir, {name: texts[name] for name in names})
    except GPassKError as error:
        print(f'{arguments.config_template_file}: {error}', file=sys.stderr)
        return 2
    _report(arguments, list(texts), len(names))
    return 0


def config_texts(template: Path) -> dict[str, str]:
    """File name → text of each config of a template.

    Raises:
        InputError: the template cannot be expanded.
    """
    variables = read_template(template)
    configs = expand_computed(variables) if is_computed(variables) else expand(variables)
    return {name: config_source(config, template.name) for name, config in configs.items()}


def _parse(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(
        prog='dump_configs.py', description='Write one OpenCompass config for each combination of a template.'
    )
    parser.add_argument('-tc', '--config_template_file', type=Path, required=True, metavar='TEMPLATE')
    parser.add_argument('--output_dir', type=Path, default=Path('opencompass_configs'), metavar='FOLDER')
    parser.add_argument('--dry_run', action='store_true', help='list what would be written, write nothing')
    return parser.parse_args(argv)


def _report(arguments: Namespace, names: Sequence[str], new: int) -> None:
    folder, same = arguments.output_dir, len(names) - new
    count = f'{len(names)} config{"" if len(names) == 1 else "s"}'
    if arguments.dry_run:
        print(*(folder / name for name in names), sep='\n')
        print(f'{count} for {folder}: {new} to write, {same} unchanged (dry run: nothing written)')
    else:
        print(f'{count} in {folder}: {new} written, {same} unchanged')
