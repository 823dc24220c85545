"""`gpassk export`: results as files of other programs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..files import SAMPLES
from ..unseen import printable
from .files import opened, opened_bytes
from .options import WITH_LIMITED, Several, path

if TYPE_CHECKING:
    from ..results.result import Result

_EPILOG = """\
examples:
  gpassk export outputs --to parquet -o samples.parquet        a row a sample, of all runs
  gpassk export mine.gpassk.json --to csv -o mine.csv --responses
  gpassk export mine.gpassk.json --to lm-eval -o lm_eval

Of several results of one run the newest complete one counts. docs/exports.md says what is in the files.
"""

TABLES = ('parquet', 'csv')
"""The formats that hold many runs in one file."""

LM_EVAL = 'lm-eval'


def add_arguments(parser: ArgumentParser) -> None:
    """Add where the results are, and what to write where."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    results = 'results, as `gpassk score`, OpenCompass and Lighteval write them, or folders above several'
    add('results', nargs='+', type=path, metavar='RESULT', help=results)
    formats = "a table, or lm-eval's samples"
    add('--to', required=True, choices=(*TABLES, LM_EVAL), help=formats)
    add('-o', '--output', required=True, type=path, metavar='OUT', help='a file for a table, else a folder')
    add('--responses', action='store_true', help='with the whole responses, read from where the record says')
    manifests = "folders with a sweep's manifest"
    add('--configs', action=Several, type=path, default=[], metavar='FOLDER', help=manifests)
    add('--with-limited', action='store_true', help=WITH_LIMITED)
    add('--strict', action='store_true', help='exit with 1 if a file or result was left out')


def run(arguments: Namespace) -> int:
    """Write what was asked for.

    Returns:
        The exit code: 0; 1 with --strict where something was left out (an older result of a run that has
        a newer one, or one of --limit, is not).
    """
    from ..results.read import collect, full_runs

    if arguments.responses and arguments.to == LM_EVAL:
        raise InputError(f'--responses goes with --to {", ".join(TABLES)}, not with {LM_EVAL}')
    folders = [one for one in arguments.results if one.is_dir()]
    files = [one for one in arguments.results if one not in folders]
    found = collect(folders, files, arguments.configs)
    full, limited = full_runs(found.results, arguments.with_limited)
    chosen, without = _with_samples(full)
    left_out = [*found.passed_over, *without]
    for line in (*left_out, *found.older, *limited):
        print(f'left out: {printable(line)}', file=sys.stderr)
    if not chosen:
        raise InputError(_nothing(arguments.results, [*left_out, *limited]))
    _check_output(arguments.output, chosen)
    if arguments.to == LM_EVAL:
        _write_lm_eval(arguments.output, chosen)
    else:
        _write_table(arguments, chosen)
    return int(arguments.strict and bool(left_out))


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


def _write_lm_eval(output: Path, results: Sequence[Result]) -> None:
    from ..exports.lm_eval import write_lm_eval

    if output.exists() and not output.is_dir():
        raise InputError(f'-o {output} is a file; {LM_EVAL} takes a folder')
    written = [file for one in results for file in write_lm_eval(one, output)]
    print(f'wrote {len(written)} files to {printable(output)}; runs: {len(results)}')
    for file in written:
        print(f'  {printable(file.relative_to(output))}')
