"""`gpassk report`: the results of many runs as tables, figures and one page."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import IncompleteError, InputError, MissingExtraError
from ..text import say, show, warn
from .options import add_json, add_several, examples, path

if TYPE_CHECKING:
    from pandas import DataFrame

    from ..report.frame import Board
    from ..report.tables import Section

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
    add_several(parser, '--threshold', taus, type=float, default=(0.5, 0.75, 1.0), metavar='TAU')
    add_several(parser, '--only', 'write only these: tables, figures, page', type=_part, metavar='PART')
    add('--responses', action='store_true', help='also each response, in a folder beside the page')
    add('--from', dest='source', metavar='FORMAT', help='of the logs (default: as they themselves tell)')
    add_several(parser, '--configs', "more folders with a sweep's manifest", type=path, metavar='FOLDER')
    add('--with-limited', action='store_true', help='also trials on some of the questions')
    add('--strict', action='store_true', help='exit with 1 if a file or result was left out')
    add_json(parser)


def _part(text: str) -> str:
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
    with_limited: bool,
    strict: bool,
) -> int:
    """Read, print the leaderboards, write what was asked for.

    Returns:
        The exit code: 0, or 1 with --strict where something was left out (an older result of a run that has
        a newer one, or a trial, is not).

    Raises:
        IncompleteError: an optional package is missing; what can be written without it is.
    """
    from ..collect import collect
    from ..report.frame import boards, frame
    from ..report.tables import sections

    parts = only or PARTS
    if responses and 'page' not in parts:
        raise InputError(f'--responses writes them for the page, and --only {" ".join(parts)} writes none')
    found = collect(paths, configs=configs, format=source, k=k)
    tables, apart = boards(found.results, k, level, threshold, with_limited)
    trials = [line for line in apart if '--with-limited takes' in line]
    missing = [*found.passed_over, *(line for line in apart if line not in trials)]
    left_out = [*missing, *found.older, *trials]
    for line in left_out:
        warn(f'left out: {line}')
    if not tables:
        raise InputError(
            f'no result of G-Pass@k below {", ".join(map(str, paths))} can stand in a table: '
            f'{len(found.results)} found, {len(found.passed_over)} files passed over; expected '
            '<work_dir>/<time>/results/<model>/<dataset>.json; see `gpassk check` for runs that are not '
            'complete'
        )
    data = frame(tables)
    shown = sections(tables, data)
    for lead, table, _ in shown:
        say(table.title, *filter(None, [lead]), '')
        show(table)
        say('')
    own = [f'{one.resolve().parent}/' for one in paths]  # no path of this machine is passed on
    lines = [re.sub('|'.join(map(re.escape, own)), '', line) for line in left_out]
    try:
        _write(parts, tables, data, shown, output_dir, responses, lines)
    except OSError as error:
        raise InputError(f'cannot write to {output_dir}: {error.strerror or error}') from error
    return int(strict and bool(missing))


def _write(
    parts: Sequence[str],
    tables: Sequence[Board],
    data: DataFrame,
    shown: Sequence[Section],
    folder: Path,
    responses: bool,
    left_out: Sequence[str],
) -> None:
    """Write the parts that were asked for; at last say that a missing package kept one from being written."""
    figures: dict[str, list[tuple[str, str]]] = {}
    lacking: MissingExtraError | None = None
    if 'tables' in parts:
        from ..report.tables import write_tables

        write_tables(data, shown, folder, left_out)
        say(f'the tables: {folder}: leaderboard.md, scores.csv, tables/*.tex')
    if 'figures' in parts:
        from ..report.figures import write_figures

        try:
            drawn = write_figures(tables, data, folder)
            say(f'the figures: {folder / "figures"}: {len(drawn)} as .svg and .png')
            for one in drawn:
                figures.setdefault(one.board, []).append((f'{one.title}. {one.caption}', one.svg))
        except MissingExtraError as error:
            lacking = error
    if 'page' in parts:
        from ..report.page import write_page

        for line in write_page(tables, data, folder, responses, figures):
            (warn if ': no responses: ' in line else say)(line)
        say(f'the page: {folder / "index.html"}')
    if lacking:
        raise IncompleteError(f'no figures: {lacking}; --only tables takes none of it')
