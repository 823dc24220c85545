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

    from ..collect import Collected
    from ..record import Result
    from ..report.frame import Board
    from ..report.tables import Section

PARTS = ('tables', 'figures', 'page')

RECORDS = 'records'
"""The folder in a report with the records that it wrote of runs of other programs."""

REFUSED = 3
"""The exit code where a run is above a share of --fail-on."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add where the results are, and what to write where."""
    parser.epilog = examples(
        'gpassk report outputs -o report',
        'gpassk report outputs more/outputs --k 8 --responses',
        "gpassk report samples_aime.jsonl logs --fail-on 'truncated>5%'",
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
    gate = 'exit with 3 if a run is above a share of samples that are NAME: truncated, unanswered, unjudged'
    add_several(parser, '--fail-on', gate, type=_gate, metavar='NAME>SHARE%%')
    add_json(parser)


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
    fail_on: Sequence[tuple[str, float]],
) -> int:
    """Read, print the leaderboards, write what was asked for.

    Returns:
        The exit code: 0; 1 with --strict where something was left out (an older result of a run that has
        a newer one, or a trial, is not); 3 with --fail-on where a run is above a share.

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
    results = _with_records(found, output_dir)
    tables, left_out = boards(results, k, level, threshold, with_limited)
    missing = [*found.passed_over, *(line for line in left_out if '--with-limited takes' not in line)]
    meant = [*found.older, *(line for line in left_out if '--with-limited takes' in line)]
    for line in (*missing, *meant):
        warn(f'left out: {line}')
    if not tables:
        raise InputError(
            f'no result of G-Pass@k below {", ".join(map(str, paths))} can stand in a table: {len(results)} '
            f'found, {len(found.passed_over)} files passed over; expected <work_dir>/<time>/results/<model>/'
            '<dataset>.json; see `gpassk check` for runs that are not complete'
        )
    data = frame(tables)
    shown = sections(tables, data)
    for heading, lead, table, main in shown:
        if main:
            say(heading, *filter(None, [lead]), '')
            show(table)
            say('')
    own = [f'{one.resolve().parent}/' for one in paths]  # no path of this machine in a file that is passed on
    lines = [re.sub('|'.join(map(re.escape, own)), '', line) for line in (*missing, *meant)]
    try:
        lacking = _write(parts, tables, data, shown, output_dir, responses, lines)
    except OSError as error:
        raise InputError(f'cannot write to {output_dir}: {error.strerror or error}') from error
    if lacking:
        why = '; '.join(dict.fromkeys(map(str, lacking.values())))
        raise IncompleteError(f'no {" and no ".join(lacking)}: {why}; --only tables takes none of it')
    if refused := _refused(tables, fail_on):
        warn(*(f'--fail-on: {line}' for line in refused))
        return REFUSED
    return int(strict and bool(missing))


def _write(
    parts: Sequence[str],
    tables: Sequence[Board],
    data: DataFrame,
    shown: Sequence[Section],
    folder: Path,
    responses: bool,
    left_out: Sequence[str],
) -> dict[str, MissingExtraError]:
    """Write the parts that were asked for; return those that a missing package keeps from being written."""
    lacking: dict[str, MissingExtraError] = {}
    figures: dict[str, list[tuple[str, str]]] = {}
    if 'tables' in parts:
        from ..report.tables import write_tables

        write_tables(tables, data, shown, folder, left_out)
        say(f'the tables: {folder}: leaderboard.md, scores.csv, tables/*.tex')
    if 'figures' in parts:
        from ..report.figures import write_figures

        try:
            drawn = write_figures(tables, data, folder)
            say(f'the figures: {folder / "figures"}: {len(drawn)} as .svg and .png')
            for one in drawn:
                svg = one.path.with_name(f'{one.path.name}.svg').read_text(encoding='utf-8')
                figures.setdefault(one.board, []).append((f'{one.title}. {one.caption}', svg))
        except MissingExtraError as error:
            lacking['figures'] = error
    if 'page' in parts:
        from ..report.page import write_page

        for line in write_page(tables, data.itertuples(), folder, responses, figures):
            (warn if ': no responses: ' in line else say)(line)
        say(f'the page: {folder / "index.html"}')
    return lacking


def _part(text: str) -> str:
    if text not in PARTS:
        raise ArgumentTypeError(f'{text!r}: expected {", ".join(PARTS)}')
    return text


def _gate(text: str) -> tuple[str, float]:
    """Read a share of samples above which a report fails.

    >>> _gate('truncated>5%')
    ('truncated', 0.05)
    """
    from ..health import WORDS

    found = re.fullmatch(r'\s*(\w+)\s*>\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*', text)
    if not found or found[1] not in WORDS or float(found[2]) > 100:
        raise ArgumentTypeError(
            f'{text!r}: expected NAME>SHARE%, as in truncated>5%; names: {", ".join(WORDS)}'
        )
    return found[1], float(found[2]) / 100


def _with_records(found: Collected, folder: Path) -> list[Result]:
    """Return all results; those of other programs, which were scored now, from records that it writes."""
    from ..collect import LeftOut
    from ..record import read, write
    from ..report.tables import file_name

    scored = {id(result) for result in found.scored}
    results = [result for result in found.results if id(result) not in scored]
    written: dict[tuple[str, str], Path] = {}
    taken: set[str] = set()
    for result in found.scored:
        name = result.run.model, result.run.dataset
        if name in written:
            hint = 'give them names with gpassk score -o'
            why = f'{result.path}: {"/".join(name)} is in {written[name]} too; {hint}'
            found.left_out.append(LeftOut(result.path, why, foreign=True))
            continue
        written[name] = result.path
        target = folder / RECORDS / f'{file_name("@".join(name), taken)}.gpassk.json'
        say(f'{result.path}: {result.run.written_by or result.run.host}: {"/".join(name)}')
        try:
            write(target, result)
        except OSError as error:
            raise InputError(f'cannot write {target}: {error.strerror or error}') from error
        results.append(read(target))
    return results


def _refused(tables: Sequence[Board], gates: Sequence[tuple[str, float]]) -> list[str]:
    """Return a line for each run above a share that was named; what is not known does not pass."""
    from ..health import WORDS

    lines = []
    for board in tables:
        for entry in board.entries:
            for one in filter(None, (entry.result, entry.greedy)):
                for what, most in gates:
                    share = one.health.share(what)
                    if share is None:
                        lines.append(
                            f'{board.title}: {one.run.model}: how many samples are {WORDS[what]} is not known'
                        )
                    elif share > most:
                        said = f'{100 * share:.1f} % {WORDS[what]}, above {100 * most:g} %'
                        lines.append(f'{board.title}: {one.run.model}: {said}')
    return list(dict.fromkeys(lines))
