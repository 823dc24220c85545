"""`gpassk expand` and `python dump_configs.py`: a template in, one OpenCompass config a run out."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import GPassKError, InputError
from ..text import drop_output, open_output
from ..unseen import printable
from . import Parser
from .options import path, positive

if TYPE_CHECKING:
    from ..sweep.folder import Changes, Run

LINE = 1000
"""Characters of a line on a data set."""

NAMED = 20
"""Files that a message names before it only counts them."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the template, and the options of dump_configs.py."""
    parser.usage = f'{parser.prog} TEMPLATE [--output_dir FOLDER] [--override NAME=VALUE] [--dry_run] …'
    parser.add_argument(
        'template', nargs='?', type=path, metavar='TEMPLATE', help='a Python file with the settings'
    )
    _add_options(parser)


def run(arguments: Namespace) -> int:
    """Expand a template and say how many configs there are; return the exit code.

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
        code, lines = expanded(given[0], arguments)
    except GPassKError as error:
        raise InputError(f'{given[0]}: {error}') from error
    print(*lines, sep='\n')
    return code


def dump_configs(argv: Sequence[str] | None = None) -> int:
    """Do what `python dump_configs.py` is asked for.

    Returns:
        The exit code: 0; 1 if not all could be printed; 2 with one message on stderr if the template cannot
        be expanded. Then no file was written or removed.
    """
    arguments = dump_configs_parser().parse_args(argv)
    template: Path = arguments.config_template_file
    try:
        code, lines = expanded(template, arguments)
    except GPassKError as error:
        print(f'{template}: {error}', file=sys.stderr)
        return 2
    open_output()
    try:
        print(*lines, sep='\n', flush=True)
    except OSError as error:
        drop_output()
        if not isinstance(error, BrokenPipeError):  # dump_configs.py … --list | head
            print(f'dump_configs.py: cannot write all of the output: {error.strerror}', file=sys.stderr)
            return 1
    return code


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
    limit = 'a trial: N questions of each benchmark, as many of one contest and language as of another'
    add('--limit', type=_bounded, metavar='N', help=limit)
    samples = 'a trial: N samples a question; k above N are left out, greedy runs keep theirs'
    add('--n', type=_bounded, metavar='N', help=samples)
    elsewhere = 'do not look whether the questions can be read: the configs are run on another machine'
    add('--no-data-check', action='store_true', help=elsewhere)
    untouched = (
        'leave the classes of OpenCompass in the configs of a template that has models and datasets of its '
        'own; by default LiveMathBench, its evaluator and the models are replaced by those of this package'
    )
    add('--keep-built-in', action='store_true', help=untouched)


def _bounded(text: str) -> int:
    """Read a number that a record may hold: above it a run would sample, and its result be refused."""
    from ..arguments import LARGEST_N  # imports numpy

    if len(text) > len(str(LARGEST_N)) or positive(text) > LARGEST_N:
        raise ArgumentTypeError(f'{text[:40]!r}: expected an integer from 1 to {LARGEST_N:,}')
    return positive(text)


def expanded(template: Path, arguments: Namespace) -> tuple[int, list[str]]:
    """Do with a template what is asked; return the exit code and the lines to print.

    What is another than one might think is said on standard error. A dry run ends as the real call would.

    Raises:
        InputError: the template cannot be expanded, or the folder not be written to.
        MissingExtraError: the template needs an optional package.
    """
    from ..sweep.checks import Checked, check
    from ..sweep.folder import changes
    from ..sweep.template import expand

    folder: Path = arguments.output_dir
    expansion = expand(
        template,
        arguments.override,
        keep_built_in=arguments.keep_built_in,
        limit=arguments.limit,
        n=arguments.n,
    )
    found = changes(folder, expansion.runs, template, expansion.trial)
    if arguments.list:
        return 0, [str(folder / name) for name in found.texts]
    checked = Checked([], []) if arguments.no_data_check else check(expansion.runs)
    notes = [*expansion.notes, *checked.notes]
    if not arguments.no_data_check and any(map(_starts_a_judge, expansion.runs)):
        from ..runs.judge_servers import missing_judges  # with all that knows of runs: a second

        configs = [run.config for run in expansion.runs]
        notes += [f'no judge here, gpassk run would refuse: {line}' for line in missing_judges(configs)]
    refusal = ''
    if checked.problems:
        refusal = (
            'questions cannot be read here, so no config is written; --no-data-check writes those for '
            'another machine:' + ''.join(f'\n  {printable(line, LINE)}' for line in checked.problems)
        )
        if not arguments.dry_run:
            raise InputError(refusal)
    for note in notes:
        print(*(printable(line, LINE) for line in note.splitlines()), sep='\n', file=sys.stderr)
    said = _said(found, template.name, arguments.dry_run, arguments.prune)
    if arguments.dry_run:
        refused = [f'would be refused: {refusal}'] if refusal else []
        return 2 if refusal else 0, [estimate_table(expansion.runs), '', *said, *refused]
    found.apply(arguments.prune)
    return 0, said


def _starts_a_judge(run: Run) -> bool:
    return 'judge_serve' in str(run.config['datasets'])


def _said(found: Changes, template: str, dry_run: bool, prune: bool) -> list[str]:
    new = len(found.written)
    same = len(found.texts) - new
    if dry_run:
        line = f'for {found.folder}: {new} to write, {same} unchanged (dry run: nothing written)'
    else:
        line = f'in {found.folder}: {new} written, {same} unchanged'
    removed = 'would be removed' if dry_run else 'removed'
    stale = removed if prune else 'still there, --prune removes them'
    notes = {
        'overwriting a file that was not as an expansion had left it': found.replaced,
        f'of an earlier expansion of {template}, {stale}': found.stale,
        f'of an earlier expansion of {template}, but edited since, so --prune leaves them': found.edited,
    }
    lines = [f'{_configs(len(found.texts))} {line}']
    for note, names in notes.items():
        if names:
            lines += [f'{_configs(len(names))} {note}:', *(f'  {name}' for name in names[:NAMED])]
        if len(names) > NAMED:
            lines.append(f'  … and {len(names) - NAMED} more')
    return lines


def _configs(count: int) -> str:
    return f'{count} config{"" if count == 1 else "s"}'


def estimate_table(runs: Sequence[Run]) -> str:
    """Return a row a model and benchmark, and a last one with the totals; `?` where a size is not known.

    samples: n × questions. verdicts: a judge is asked once for each different answer to a question, so at
    most once a sample. tokens: sampled ones, if every response were as long as `max_out_len` allows.
    """
    from tabulate import tabulate

    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        mark = '' if run.limit is None else f', {run.limit} questions'
        groups.setdefault((run.model, f'{run.benchmark}{mark}'), []).append(run)
    rows = [[*names, *_cells(group)] for names, group in groups.items()]
    total = ['total', '', *_cells(runs)]
    total[3] = ''
    return tabulate(
        [*rows, total],
        ('model', 'benchmark', 'configs', 'questions', 'samples', 'verdicts, at most', 'tokens, at most'),
        tablefmt='github',
        colalign=('left', 'left', *['right'] * 5),
        disable_numparse=True,
    )


def _questions(run: Run) -> int | None:
    """Return how many there are, or where that is not known, how many at most."""
    return run.limit if run.questions is None else run.questions


def _samples(run: Run) -> int | None:
    questions = _questions(run)
    return None if run.n is None or questions is None else run.n * questions


def _tokens(run: Run) -> int | None:
    drawn, length = _samples(run), run.settings.get('max_out_len')
    return None if drawn is None or length is None else drawn * int(length)


def _cells(runs: Sequence[Run]) -> list[str]:
    drawn, asked = _sum(_samples, runs), _questions(runs[0])
    questions = '?' if asked is None else f'{asked:,}'
    return [f'{len(runs):,}', questions, drawn, drawn, _sum(_tokens, runs)]


def _sum(count: Callable[[Any], int | None], runs: Iterable[Run]) -> str:
    counts = [count(run) for run in runs]
    known = [number for number in counts if number is not None]
    if not known:
        return '?'
    return f'{sum(known):,}' + (' + ?' if len(known) < len(counts) else '')
