"""`python dump_configs.py` and `gpassk expand`: a template in, one OpenCompass config a run out."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple

from ..errors import GPassKError
from ..files import digest
from ..naming.manifest import Entry
from .computed import check_overrides, computed_runs, is_computed
from .estimate import estimate_table
from .grid import Run, runs
from .overrides import read_overrides
from .signatures import canonical_parts, signature
from .source import config_source, part_sources
from .template import read_template
from .writer import Changes, apply, changes

NAMED = 20
"""Files that a message names before it only counts them."""


class Expansion(NamedTuple):
    """The runs of a template, and file name → text of the config of each."""

    runs: list[Run]
    texts: dict[str, str]


def main(argv: Sequence[str] | None = None) -> int:
    """Expand a template and say how many configs there are.

    Returns:
        The exit code: 0; 1 if not all could be printed; 2 with one message on stderr if the template cannot
        be expanded. Then no file was written or removed.
    """
    arguments = _parse(argv)
    try:
        lines = expand_as_told(arguments.config_template_file, arguments)
    except GPassKError as error:
        print(f'{arguments.config_template_file}: {error}', file=sys.stderr)
        return 2
    return _print(lines)


def _print(lines: Sequence[str]) -> int:
    """Say it, to whom still reads; returns the exit code."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors='backslashreplace')  # an encoding may lack … and 二
    try:
        print(*lines, sep='\n', flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # dump_configs.py … --list | head
            print(f'dump_configs.py: cannot write all of the output: {error.strerror}', file=sys.stderr)
            return 1
    return 0


def expand_as_told(template: Path, arguments: Namespace) -> list[str]:
    """Do with a template what the options of `add_options` ask for.

    Returns:
        The lines to print.

    Raises:
        InputError: the template cannot be expanded, or the folder not be written to.
        MissingExtraError: the template needs an optional package.
    """
    folder = arguments.output_dir
    expansion = expand_template(template, arguments.override)
    if arguments.list:
        return [str(folder / name) for name in expansion.texts]
    found = changes(folder, expansion.texts, entries(expansion, template.name), template.name)
    if arguments.dry_run:
        table = estimate_table(expansion.runs)
        return [table, '', *_report(template.name, arguments, len(expansion.runs), found)]
    apply(folder, expansion.texts, found, arguments.prune)
    return _report(template.name, arguments, len(expansion.runs), found)


def expand_template(template: Path, overrides: Sequence[str] = ()) -> Expansion:
    """Run a template, with lines of `--override` in place of its own.

    Raises:
        InputError: the template cannot be expanded.
    """
    lines = read_overrides(overrides)
    variables = read_template(template, lines)
    if is_computed(variables):
        check_overrides(lines)
        found = computed_runs(variables)
    else:
        found = runs(variables)
    texts = part_sources()
    return Expansion(found, {run.file: config_source(run.config, template.name, texts) for run in found})


def entries(expansion: Expansion, template: str) -> list[Entry]:
    """What the manifest says of each config."""
    texts = canonical_parts()
    return [
        Entry(
            file=run.file,
            template=template,
            model=run.model,
            path=run.path,
            model_abbr=run.config['models'][0]['abbr'],
            dataset_abbr=run.config['datasets'][0]['abbr'],
            settings=run.settings,
            benchmark=run.benchmark,
            k=run.k,
            n=run.n,
            questions=run.questions,
            signature=signature(run.config, texts),
            sha256=digest(expansion.texts[run.file].encode()),
        )
        for run in expansion.runs
    ]


def _parse(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(
        prog='dump_configs.py', description='Write one OpenCompass config for each combination of a template.'
    )
    add_options(parser, template_required=True)
    return parser.parse_args(argv)


def add_options(parser: ArgumentParser, *, template_required: bool) -> None:
    """The options of both commands."""
    parser.add_argument(
        '-tc',
        '--config_template_file',
        type=_path,
        required=template_required,
        metavar='TEMPLATE',
        help='a Python file with the settings, such as one of config_templates/',
    )
    parser.add_argument(
        '--output_dir',
        type=_path,
        default=Path('opencompass_configs'),
        metavar='FOLDER',
        help='for the configs (default: %(default)s)',
    )
    parser.add_argument(
        '--override',
        action='append',
        default=[],
        metavar='NAME=VALUE',
        help='a line in place of that of the template, e.g. temperatures=[0.3,0.7]; repeatable',
    )
    parser.add_argument(
        '--dry_run', action='store_true', help='say what would be written and what it costs, write nothing'
    )
    parser.add_argument('--list', action='store_true', help='print the path of each config, write nothing')
    parser.add_argument(
        '--prune',
        action='store_true',
        help='remove the configs of an earlier expansion that the template no longer gives, unless edited',
    )


def _path(text: str) -> Path:
    """`~` is the home directory, also in `--output_dir=~/configs`, where shells leave it alone."""
    if not text:  # as it were the folder that one is in
        raise ArgumentTypeError("'': expected a path; is a variable empty?")
    return Path(os.path.expanduser(text))


def _report(template: str, arguments: Namespace, count: int, found: Changes) -> list[str]:
    folder = arguments.output_dir
    new, same = len(found.written), count - len(found.written)
    if arguments.dry_run:
        line = f'{_configs(count)} for {folder}: {new} to write, {same} unchanged (dry run: nothing written)'
    else:
        line = f'{_configs(count)} in {folder}: {new} written, {same} unchanged'
    removed = 'would be removed' if arguments.dry_run else 'removed'
    stale = removed if arguments.prune else 'still there, --prune removes them'
    notes = {
        'overwriting a file that was not as an expansion had left it': found.replaced,
        f'of an earlier expansion of {template}, {stale}': found.stale,
        f'of an earlier expansion of {template}, but edited since, so --prune leaves them': found.edited,
    }
    return [line, *(part for note, names in notes.items() for part in _named(note, names))]


def _named(note: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    rest = [f'  … and {len(names) - NAMED} more'] if len(names) > NAMED else []
    return [f'{_configs(len(names))} {note}:', *(f'  {name}' for name in names[:NAMED]), *rest]


def _configs(count: int) -> str:
    return f'{count} config{"" if count == 1 else "s"}'
