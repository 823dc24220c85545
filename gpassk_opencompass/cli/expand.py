"""`gpassk expand` and `python dump_configs.py`: a template in, one OpenCompass config a run out."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import GPassKError, InputError
from ..sweep.data_check import DataCheck, check_data
from ..sweep.expansion import Changes, Expansion, apply, changes, estimate_table, expand_template
from ..sweep.limits import NO_LIMITS, Limits
from ..unseen import printable
from . import Parser
from .limits import add_limits, limits_of
from .options import path
from .output import drop_output, prepare_output

LINE = 1000
"""Characters of a line on a data set."""

NAMED = 20
"""Files that a message names before it only counts them."""


@dataclass(frozen=True)
class ExpandRequest:
    """What is to be done with a template.

    `listing` only returns the paths of the configs, `dry_run` says what would be written and what it costs;
    neither writes anything. `prune` removes stale configs that nobody has edited. `keep_built_in` leaves the
    models and datasets of its own that a template has as they are. `limits` make runs smaller. `data_check`
    refuses to write configs of questions that cannot be read.
    """

    template: Path
    folder: Path
    overrides: Sequence[str] = ()
    listing: bool = False
    dry_run: bool = False
    prune: bool = False
    keep_built_in: bool = False
    limits: Limits = NO_LIMITS
    data_check: bool = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add the template, and the options of dump_configs.py."""
    parser.usage = f'{parser.prog} TEMPLATE [--output_dir FOLDER] [--override NAME=VALUE] [--dry_run] …'
    parser.add_argument(
        'template', nargs='?', type=path, metavar='TEMPLATE', help='a Python file with the settings'
    )
    _add_options(parser)


def run(arguments: Namespace) -> int:
    """Expand a template and say how many configs there are; return 0.

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
        lines = expanded(_request(given[0], arguments))
    except GPassKError as error:
        raise InputError(f'{given[0]}: {error}') from error
    print(*lines, sep='\n')
    return 0


def dump_configs(argv: Sequence[str] | None = None) -> int:
    """Do what `python dump_configs.py` is asked for.

    Returns:
        The exit code: 0; 1 if not all could be printed; 2 with one message on stderr if the template cannot
        be expanded. Then no file was written or removed.
    """
    arguments = dump_configs_parser().parse_args(argv)
    template: Path = arguments.config_template_file
    try:
        lines = expanded(_request(template, arguments))
    except GPassKError as error:
        print(f'{template}: {error}', file=sys.stderr)
        return 2
    prepare_output(lasting=False)
    try:
        print(*lines, sep='\n', flush=True)
    except OSError as error:
        drop_output()
        if not isinstance(error, BrokenPipeError):  # dump_configs.py … --list | head
            print(f'dump_configs.py: cannot write all of the output: {error.strerror}', file=sys.stderr)
            return 1
    return 0


def dump_configs_parser() -> ArgumentParser:
    """Return the parser of dump_configs.py."""
    description = 'Write one OpenCompass config for each combination of a template.'
    parser = Parser(prog='dump_configs.py', description=description)
    _add_options(parser, required=True)
    return parser


def _add_options(parser: ArgumentParser, *, required: bool = False) -> None:
    add = parser.add_argument
    template = 'a Python file with the settings, such as one of config_templates/'
    add('-tc', '--config_template_file', type=path, required=required, metavar='TEMPLATE', help=template)
    folder = Path('opencompass_configs')
    where = 'for the configs (default: %(default)s)'
    add('--output_dir', type=path, default=folder, metavar='FOLDER', help=where)
    line = 'a line in place of that of the template, e.g. temperatures=[0.3,0.7]; repeatable'
    add('--override', action='append', default=[], metavar='NAME=VALUE', help=line)
    add('--dry_run', action='store_true', help='say what would be written and what it costs, write nothing')
    add('--list', action='store_true', help='print the path of each config, write nothing')
    stale = 'remove the configs of an earlier expansion that the template no longer gives, unless edited'
    add('--prune', action='store_true', help=stale)
    add_limits(parser)
    elsewhere = 'do not look whether the questions can be read: the configs are run on another machine'
    add('--no-data-check', action='store_true', help=elsewhere)
    untouched = (
        'leave the classes of OpenCompass in the configs of a template that has models and datasets of its '
        'own; by default LiveMathBench, its evaluator and the models are replaced by those of this package'
    )
    add('--keep-built-in', action='store_true', help=untouched)


def _request(template: Path, arguments: Namespace) -> ExpandRequest:
    return ExpandRequest(
        template=template,
        folder=arguments.output_dir,
        overrides=arguments.override,
        listing=arguments.list,
        dry_run=arguments.dry_run,
        prune=arguments.prune,
        keep_built_in=arguments.keep_built_in,
        limits=limits_of(arguments),
        data_check=not arguments.no_data_check,
    )


def expanded(request: ExpandRequest) -> list[str]:
    """Do with a template what is requested; return the lines to print.

    What could not be looked at from here is said on standard error.

    Raises:
        InputError: the template cannot be expanded, or the folder not be written to.
        MissingExtraError: the template needs an optional package.
    """
    expansion = expand_template(
        request.template, request.overrides, keep_built_in=request.keep_built_in, limits=request.limits
    )
    if request.listing:
        return [str(request.folder / name) for name in expansion.texts]
    data = check_data(expansion.runs, os.environ) if request.data_check else DataCheck([], [])
    for line in data.unknown:
        print(f'data not checked: {printable(line, LINE)}', file=sys.stderr)
    if data.problems and not request.dry_run:
        raise InputError(_cannot_be_read(data.problems))
    for line in _judges_missing(expansion) if request.data_check else ():
        print(f'no judge here, gpassk run would refuse: {printable(line, LINE)}', file=sys.stderr)
    found = changes(request.folder, expansion, request.template.name)
    said = [*_said(request, len(expansion.runs), found), *expansion.notes]
    if request.dry_run:
        refused = [f'would be refused: {_cannot_be_read(data.problems)}'] if data.problems else []
        return [estimate_table(expansion.runs), '', *said, *refused]
    apply(request.folder, expansion.texts, found, request.prune)
    return said


def _judges_missing(expansion: Expansion) -> list[str]:
    """Return why judges that runs start by themselves cannot be started on this machine."""
    if not any('judge_serve' in text for text in expansion.texts.values()):
        return []
    from ..runs.judge_servers import missing_judges  # with all that knows of runs: a second

    return missing_judges(run.config for run in expansion.runs)


def _cannot_be_read(problems: Sequence[str]) -> str:
    lines = ''.join(f'\n  {printable(line, LINE)}' for line in problems)
    return (
        'questions cannot be read here, so no config is written; --no-data-check writes those for another '
        f'machine:{lines}'
    )


def _said(request: ExpandRequest, count: int, found: Changes) -> list[str]:
    new, same, template = len(found.written), count - len(found.written), request.template.name
    if request.dry_run:
        line = f'for {request.folder}: {new} to write, {same} unchanged (dry run: nothing written)'
    else:
        line = f'in {request.folder}: {new} written, {same} unchanged'
    removed = 'would be removed' if request.dry_run else 'removed'
    stale = removed if request.prune else 'still there, --prune removes them'
    notes = {
        'overwriting a file that was not as an expansion had left it': found.replaced,
        f'of an earlier expansion of {template}, {stale}': found.stale,
        f'of an earlier expansion of {template}, but edited since, so --prune leaves them': found.edited,
    }
    return [
        f'{_configs(count)} {line}',
        *(part for note, names in notes.items() for part in _named(note, names)),
    ]


def _named(note: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    rest = [f'  … and {len(names) - NAMED} more'] if len(names) > NAMED else []
    return [f'{_configs(len(names))} {note}:', *(f'  {name}' for name in names[:NAMED]), *rest]


def _configs(count: int) -> str:
    return f'{count} config{"" if count == 1 else "s"}'
