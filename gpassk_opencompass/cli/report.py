"""`gpassk report`: the results of many runs as tables, figures and one page."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ..errors import IncompleteError, InputError, MissingExtraError
from ..text import say, show, warn
from .options import add_json, add_several, examples, path

PARTS = ('tables', 'figures', 'page')


def add_arguments(parser: ArgumentParser) -> None:
    """Add where the results are, and what to write where."""
    parser.epilog = examples(
        'gpassk report outputs -o report',
        'gpassk report outputs more/outputs --k 8 --responses',
        'gpassk report samples_aime.jsonl logs --only tables',
    )
    add = parser.add_argument
    where = 'results, work directories, folders above several, or logs of other programs'
    add('paths', nargs='+', type=path, metavar='PATH', help=where)
    folder = 'of the report (default: report)'
    add('-o', '--output-dir', type=path, default=Path('report'), metavar='FOLDER', help=folder)
    add('--k', type=int, help='of the metrics (default: the largest that all have)')
    add('--level', type=float, default=0.95, help='of confidence (default: 0.95)')
    taus = 'thresholds τ of the columns of G-Pass@k, from 0 to 1 (default: 0.5 0.75 1)'
    add_several(parser, '--threshold', taus, type=float, metavar='TAU')
    add_several(parser, '--only', 'write only these: tables, figures, page', type=_part, metavar='PART')
    add('--responses', action='store_true', help='also each response, in a folder beside the page')
    add('--from', dest='source', metavar='FORMAT', help='of the logs (default: as they themselves tell)')
    add_several(parser, '--configs', "more folders with a sweep's manifest", type=path, metavar='FOLDER')
    add('--strict', action='store_true', help='exit with 1 if a file or result was left out')
    add_json(parser)


def _part(text: str) -> str:  # no `choices`: a file behind the parts is told from them by this error
    if text not in PARTS:
        raise ArgumentTypeError(f'{text!r}: expected {", ".join(PARTS)}')
    return text


def run(
    *,
    paths: Sequence[Path],
    output_dir: Path,
    k: int | None,
    level: float,
    threshold: Sequence[float],
    only: Sequence[str],
    responses: bool,
    source: str | None,
    configs: Sequence[Path],
    strict: bool,
) -> int:
    """Read, print the leaderboards, write what was asked for.

    The exit code is 0, or 1 with --strict where something was left out that is neither an older result of a
    run nor a trial. An IncompleteError says that an optional package is missing; all else is written.
    """
    from ..collect import collect
    from ..metrics import SHOWN_THRESHOLDS
    from ..report.figures import Figures, write_figures
    from ..report.frame import boards, frame, full_runs
    from ..report.page import write_page
    from ..report.tables import sections, write_tables

    parts = only or PARTS
    if responses and 'page' not in parts:
        raise InputError(f'--responses writes them for the page, and --only {" ".join(parts)} writes none')
    found = collect(paths, configs=configs, format=source, k=k)
    results, trials = full_runs(found.results)
    tables, apart = boards(results, k, level, threshold or SHOWN_THRESHOLDS)
    missing = [*found.passed_over, *apart]
    left_out = [*missing, *found.older, *trials]
    for line in left_out:
        warn(f'left out: {line}')
    if not tables:
        seen = f'{len(found.results)} found, {len(found.passed_over)} files passed over'
        raise InputError(
            f'no result of G-Pass@k below {", ".join(map(str, paths))} can stand in a table: {seen}; give '
            '<work_dir>/<time>/results/<model>/<dataset>.json; `gpassk check` shows what is not complete'
        )
    data = frame(tables)
    shown = sections(tables, data)
    for lead, table, _ in shown:
        say(table.title, *filter(None, [lead]), '')
        show(table)
        say('')
    own = '|'.join(re.escape(f'{one.resolve().parent}/') for one in paths)
    figures, lacking = Figures(), 'figures' in parts and find_spec('matplotlib') is None
    try:
        if 'tables' in parts:  # no path of this machine is passed on
            write_tables(data, shown, output_dir, [re.sub(own, '', line) for line in left_out])
            say(f'the tables: {output_dir}: leaderboard.md, scores.csv, tables/*.tex')
        if 'figures' in parts and not lacking:
            figures = write_figures(tables, data, output_dir)
            count = sum(map(len, figures.values()))
            say(f'the figures: {output_dir / "figures"}: {count} as .svg and .png')
        if 'page' in parts:
            told = write_page(tables, data, output_dir, responses, figures)
            say(*told, f'the page: {output_dir / "index.html"}')
    except OSError as error:
        raise InputError(f'cannot write to {output_dir}: {error.strerror or error}') from error
    if lacking:
        missing_extra = MissingExtraError('matplotlib', 'report')
        raise IncompleteError(f'no figures: {missing_extra}; --only tables takes none of it')
    return int(strict and bool(missing))
