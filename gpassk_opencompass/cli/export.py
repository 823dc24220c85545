"""`gpassk export`: results as files of other programs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..exports.formats import RUN_FORMATS
from ..files import SAMPLES
from ..unseen import printable
from .files import opened, opened_bytes
from .options import WITH_LIMITED, Several, path

if TYPE_CHECKING:
    from ..exports.formats import WriteRun
    from ..results.result import Result

_EPILOG = """\
examples:
  gpassk export outputs --to parquet -o samples.parquet        a row a sample, of all runs
  gpassk export mine.gpassk.json --to csv -o mine.csv --responses
  gpassk export outputs --to eee -o eee --organization 'My Lab' --model-id Qwen2.5-7B=Qwen/Qwen2.5-7B
  gpassk export mine.gpassk.json --to lm-eval -o lm_eval

Of several results of one run the newest complete one counts. docs/exports.md says what is in the files.
"""

TABLES = ('parquet', 'csv')
"""The formats that hold many runs in one file."""

_OF_EEE = ('organization', 'relationship', 'model_id', 'level')
_WITH_RESPONSES = (*TABLES, 'eee')


def add_arguments(parser: ArgumentParser) -> None:
    """Add where the results are, and what to write where."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    results = 'results, as `gpassk score`, OpenCompass and Lighteval write them, or folders above several'
    add('results', nargs='+', type=path, metavar='RESULT', help=results)
    formats = {'parquet': 'Parquet', 'csv': 'CSV', 'eee': 'Every Eval Ever', 'lm-eval': "lm-eval's samples"}
    told = ', '.join(f'{name} ({formats[name]})' if name in formats else name for name in _formats())
    add('--to', required=True, choices=_formats(), metavar='FORMAT', help=told)
    add('-o', '--output', required=True, type=path, metavar='OUT', help='a file for a table, else a folder')
    add('--responses', action='store_true', help='with the whole responses, read from where the record says')
    manifests = "folders with a sweep's manifest"
    add('--configs', action=Several, type=path, default=[], metavar='FOLDER', help=manifests)
    add('--with-limited', action='store_true', help=WITH_LIMITED)
    add('--strict', action='store_true', help='exit with 1 if a file or result was left out')
    eee = parser.add_argument_group('Every Eval Ever')
    add = eee.add_argument
    add('--organization', metavar='NAME', help='who evaluated (default: unknown)')
    who = 'of who evaluated to who made the model: first_party, third_party, collaborative, other (default)'
    add('--relationship', choices=('first_party', 'third_party', 'collaborative', 'other'), help=who)
    ids = 'what the model NAME is called on the hub (default: as the record tells, else unknown/NAME)'
    shown = 'NAME=DEVELOPER/MODEL'
    add('--model-id', action=Several, type=_model_id, default=[], metavar=shown, help=ids)
    add('--level', type=float, help='of confidence of the intervals (default: 0.95)')


def run(arguments: Namespace) -> int:
    """Write what was asked for.

    Returns:
        The exit code: 0; 1 with --strict where something was left out (an older result of a run that has
        a newer one, or one of --limit, is not).
    """
    from ..results.read import collect, full_runs

    _check(arguments)
    write = None if arguments.to in TABLES else _writer(arguments)
    folders = [one for one in arguments.results if one.is_dir()]
    files = [one for one in arguments.results if one not in folders]
    found = collect(folders, files, arguments.configs)
    full, limited = full_runs(found.results, arguments.with_limited)
    chosen, without = (full, []) if arguments.to == 'eee' else _with_samples(full)
    left_out = [*found.passed_over, *without]
    for line in (*left_out, *found.older, *limited):
        print(f'left out: {printable(line)}', file=sys.stderr)
    if not chosen:
        raise InputError(_nothing(arguments.results, [*left_out, *limited]))
    _check_output(arguments.output, chosen)
    _check_models(arguments.model_id, chosen)
    if write is None:
        _write_table(arguments, chosen)
    else:
        _write_runs(arguments, chosen, write)
    return int(arguments.strict and bool(left_out))


def _formats() -> list[str]:
    return [*TABLES, *RUN_FORMATS]


def _model_id(text: str) -> tuple[str, str]:
    name, equals, model = text.partition('=')
    if not (name and equals and model):
        raise ArgumentTypeError(f'expected NAME=DEVELOPER/MODEL, got {text!r}')
    return name, model


def _check(arguments: Namespace) -> None:
    """Refuse options that go with another format."""
    given = [name for name in _OF_EEE if getattr(arguments, name) not in (None, [])]
    if given and arguments.to != 'eee':
        raise InputError(f'--{given[0].replace("_", "-")} goes with --to eee, not with {arguments.to}')
    if arguments.responses and arguments.to not in _WITH_RESPONSES:
        raise InputError(f'--responses goes with --to {", ".join(_WITH_RESPONSES)}, not with {arguments.to}')


def _writer(arguments: Namespace) -> WriteRun:
    """Return what writes a run in a format."""
    write = RUN_FORMATS[arguments.to]
    if arguments.to != 'eee':
        return write
    from ..exports.eee import Evaluator, check_model_ids, write_eee
    from ..uncertainty.intervals import check_level

    told = {name: getattr(arguments, name) for name in _OF_EEE if getattr(arguments, name) is not None}
    check_level(told.get('level', 0.95))
    ids = check_model_ids(told.pop('model_id'))
    return partial(write_eee, evaluator=Evaluator(**told, model_ids=ids, responses=arguments.responses))


def _with_samples(results: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """Return the results of which samples are known, and a line for each other one."""
    from ..exports.samples import NO_SAMPLES

    known = [one for one in results if one.verdicts]
    return known, [NO_SAMPLES.format(path=one.path) for one in results if not one.verdicts]


def _nothing(given: Sequence[Path], left_out: Sequence[str]) -> str:
    """Return why there is nothing to write."""
    if len(left_out) == 1:
        return left_out[0]
    why = f': all of the {len(left_out)} files were left out' if left_out else ''
    return (
        f'no result in {", ".join(map(str, given))}{why}; `gpassk score` makes one of samples of any program'
    )


def _check_output(output: Path, results: Sequence[Result]) -> None:
    """Refuse to write over what is read, before anything is written."""
    taken = {path.resolve() for one in results for path in (one.path, one.sample_file) if path}
    if output.resolve() in taken:
        raise InputError(f'-o {output} would overwrite a result that is read; give another name')
    if output.name.endswith(SAMPLES):
        raise InputError(
            f'-o {output}: files of this name belong to the result beside them; give another one'
        )


def _check_models(ids: Sequence[tuple[str, str]], results: Sequence[Result]) -> None:
    """Refuse the id of a model that no result is of."""
    models = dict.fromkeys(one.model for one in results)
    for name, _ in ids:
        if name not in models:
            raise InputError(f'--model-id {name}: no result is of this model; there are {", ".join(models)}')


def _write_table(arguments: Namespace, results: Sequence[Result]) -> None:
    from ..exports.samples import write_csv, write_parquet

    output: Path = arguments.output
    if output.is_dir():
        raise InputError(f'-o {output} is a folder; give the name of a file')
    if arguments.to == 'csv':
        with opened(output, make_folder=True) as file:
            rows = write_csv(results, file, output.parent, arguments.responses)
    else:
        with opened_bytes(output, make_folder=True) as raw:
            rows = write_parquet(results, raw, output.parent, arguments.responses)
    # Where the table itself is printed, what is said of it goes elsewhere.
    said = sys.stdout if output.is_file() else sys.stderr
    print(f'wrote {rows} samples to {printable(output)}; runs: {len(results)}', file=said)


def _write_runs(arguments: Namespace, results: Sequence[Result], write: WriteRun) -> None:
    output: Path = arguments.output
    if output.exists() and not output.is_dir():
        raise InputError(f'-o {output} is a file; {arguments.to} takes a folder')
    written = [file for one in results for file in write(one, output)]
    print(f'wrote {len(written)} files to {printable(output)}; runs: {len(results)}')
    for file in written:
        print(f'  {printable(file.relative_to(output) if file.is_relative_to(output) else file)}')
    if arguments.to == 'eee':
        _say_unknown(results, arguments)


def _say_unknown(results: Sequence[Result], arguments: Namespace) -> None:
    """Say what no record tells and readers of Every Eval Ever ask for."""
    from ..exports.eee import check_model_ids, model_info
    from ..exports.runs import UNKNOWN

    ids = check_model_ids(arguments.model_id)
    models = {one.model for one in results if model_info(one, ids)['id'].startswith(f'{UNKNOWN}/')}
    for model in sorted(models):
        shown = printable(model)
        print(f'the developer of {shown} is unknown: --model-id {shown}=DEVELOPER/MODEL tells it')
