"""`gpassk report`: the results of many runs as tables, figures and one page."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..counting import counted, stage
from ..errors import IncompleteError, InputError, MissingExtraError
from ..metrics import SHOWN_THRESHOLDS
from ..text import say, warn
from ..unseen import printable
from .files import record_name, write_record
from .options import WITH_LIMITED, Several, add_several, listed, path, requested
from .report_summary import summary_of
from .shown import add_table_options, show

if TYPE_CHECKING:
    from ..collect import Collected
    from ..report.gates import Gate
    from ..report.leaderboard import Board
    from ..report.scores import Scored

_EPILOG = """\
examples:
  gpassk report outputs -o report
  gpassk report outputs more/outputs --configs opencompass_configs --k 8 --average
  gpassk report --file mine.gpassk.json
  gpassk report samples_aime_2026-11-21.jsonl logs        files of other harnesses, docs/sources.md
  gpassk report outputs --responses                       the page opens to each response

Of several results of one run the newest complete one counts. Runs stand in one table only if they were asked
the same questions and judged by the same judge.
"""

PARTS = ('tables', 'figures', 'page')

RECORDS = 'records'
"""The folder in a report with the records that it wrote of runs of other programs."""

REFUSED = 3
"""The exit code where a run is above a share of --fail-on."""


@dataclass(frozen=True)
class ReportRequest:
    """What to report of.

    Args:
        paths: results, work directories, folders above several, and logs of other programs.
        source: what wrote the logs; None: as they themselves tell.
        configs: folders with a sweep's manifest.
        output: the folder of the report.
        k: of the metrics; None: the largest that all have.
        level: of confidence.
        thresholds: of the columns of G-Pass@k.
        average: add an average over the benchmarks.
        parts: those of `PARTS` that are written.
        figures: names of figures; None: all.
        responses: write the responses beside the page.
        runs: parts of names of runs that figures show.
        gates: the shares of samples above which a run is refused.
        strict: what is left out is a failure.
        with_limited: also of trials on some of the questions.
    """

    paths: Sequence[Path]
    source: str | None
    configs: Sequence[Path]
    output: Path
    k: int | None
    level: float
    thresholds: Sequence[float]
    average: bool
    parts: Sequence[str]
    figures: Sequence[str] | None
    responses: bool
    runs: Sequence[str]
    gates: Sequence[Gate]
    strict: bool
    with_limited: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Add where the results are, and what to write where."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    where = 'results, work directories, folders above several, or logs of other programs'
    add('paths', nargs='*', type=path, metavar='PATH', help=where)
    wrote = 'what wrote the logs of other programs, see docs/sources.md (default: as they themselves tell)'
    add('--from', dest='source', metavar='FORMAT', help=wrote)
    more = 'more results, as `gpassk score` writes them'
    add('--file', action=Several, type=path, default=[], metavar='FILE', help=more)
    manifests = "folders with a sweep's manifest"
    add('--configs', action=Several, type=path, default=[], metavar='FOLDER', help=manifests)
    add('-o', '--output', type=path, default=Path('report'), metavar='FOLDER', help='default: report')
    add('--k', type=int, help='of the metrics (default: the largest that all have)')
    add('--level', type=float, default=0.95, help='of confidence (default: 0.95)')
    taus = 'thresholds τ of the columns of G-Pass@k, from 0 to 1 (default: 0.5 0.75 1)'
    add_several(parser, '--threshold', taus, SHOWN_THRESHOLDS, type=listed(float), metavar='TAU')
    add('--average', action='store_true', help='average over benchmarks, where one may be taken')
    add('--only', choices=PARTS, help='write only these')
    names = 'draw only these of thresholds, samples, sensitivity and questions (default: all)'
    add('--figures', action=Several, metavar='NAME', help=names)
    beside_page = 'also the responses, in a folder beside the page, which loads them on a click'
    add('--responses', action='store_true', help=beside_page)
    which = (
        'runs in figures that cannot show all, by a part of the name (default: the best of each model first)'
    )
    add('--runs', action=Several, default=[], metavar='NAME', help=which)
    add('--with-limited', action='store_true', help=WITH_LIMITED)
    add('--strict', action='store_true', help='exit with 1 if a file or result was left out')
    gate = "exit with 3 if a run is above this share: 'truncated>5%%' (or unanswered, unjudged, copies)"
    add('--fail-on', action=Several, default=[], metavar='NAME>SHARE%%', help=gate)
    add_table_options(parser)


def run(arguments: Namespace) -> int:
    """Read, print the leaderboard, write what was asked for.

    Returns:
        The exit code: 0; 1 with --strict where something was left out (an older result of a run that has
        a newer one, or one of --limit, is not); 3 with --fail-on where a run is above a share.

    Raises:
        IncompleteError: an optional package is missing; what can be written without it is.
    """
    from .progress import shown_progress

    with shown_progress('report'):
        with stage('looking for results', 1):  # so that a terminal shows it before all imports are done
            request = _request(arguments)
        return _report(request)


def _report(request: ReportRequest) -> int:
    from ..report.leaderboard import boards, full_runs
    from ..report.scores import compute_intervals, scores_of

    found = _found(request)
    chosen, limited = full_runs(found.results, request.with_limited)
    settings = (request.k, request.level, request.thresholds, request.with_limited)
    tables, left_out = boards(chosen, *settings)
    missing, meant = [*found.passed_over, *left_out], [*found.older, *limited]
    for line in (*missing, *meant):
        print(f'left out: {printable(line)}', file=sys.stderr)
    if not tables:
        raise InputError(_nothing(request.paths, len(found.results), len(found.passed_over)))
    compute_intervals(tables)
    for board in counted('computing ranks', tables):
        board.compared_by(board.ranked_by)  # once, for all that shows it
    scored = [(board, scores_of(board)) for board in counted('computing scores', tables)]
    _print(scored)
    parts, lacking = _write(request, scored, [*missing, *meant])
    print(*summary_of(request.output, parts), sep='\n')
    if lacking:
        why = '; '.join(dict.fromkeys(map(str, lacking.values())))
        raise IncompleteError(f'no {" and no ".join(lacking)}: {why}; --only tables takes none of it')
    if _refused(tables, request.gates):
        return REFUSED
    return int(request.strict and bool(missing))


def _request(arguments: Namespace) -> ReportRequest:
    """Return what was asked for.

    Raises:
        InputError: there is nothing to report of, or a name or share that means nothing.
    """
    from ..report.figures import FIGURES
    from ..report.gates import Gate

    if not (arguments.paths or arguments.file):
        taken = [*map(str, arguments.configs)]
        hint = f'; --configs took {" ".join(taken)}: folders of results stand before it' if taken else ''
        raise InputError(f'give a folder of results or --file FILE{hint}')
    if arguments.figures and arguments.only not in (None, 'figures'):
        raise InputError(f'--figures names figures, and --only {arguments.only} writes none')
    if arguments.responses and arguments.only not in (None, 'page'):
        raise InputError(f'--responses writes them for the page, and --only {arguments.only} writes none')
    if arguments.runs and arguments.only not in (None, 'figures'):
        raise InputError(f'--runs says what figures show, and --only {arguments.only} writes none')
    if unknown := [name for name in arguments.figures or () if name not in FIGURES]:
        raise InputError(f'--figures {unknown[0]!r}: expected {", ".join(FIGURES)}')
    return requested(
        ReportRequest,
        arguments,
        paths=[*arguments.paths, *arguments.file],
        thresholds=arguments.threshold,
        gates=[Gate.parse(text) for text in arguments.fail_on],
        parts=[arguments.only] if arguments.only else PARTS,
        figures=arguments.figures and list(dict.fromkeys(arguments.figures)),
    )


def _found(request: ReportRequest) -> Collected:
    """Return all results; those of other programs, which were scored now, from records that it writes."""
    from ..collect import LeftOut, collect
    from ..record import read

    found = collect(request.paths, configs=request.configs, format=request.source, k=request.k)
    scored = {id(result) for result in found.scored}
    results = [result for result in found.results if id(result) not in scored]
    written: dict[Path, Path] = {}
    for result in found.scored:
        run, target = result.run, request.output / RECORDS / record_name(result.run)
        if target in written:
            why = (
                f'{result.path}: {run.model} on {run.dataset} is in {written[target]} too; give them names '
                'with gpassk score -o'
            )
            found.left_out.append(LeftOut(result.path, why, foreign=True))
            continue
        print(printable(f'{result.path}: {run.written_by or run.host}: {run.model}/{run.dataset}'))
        write_record(target, result)
        results.append(read(target))
        written[target] = result.path
    return found._replace(results=results)


def _refused(boards: Sequence[Board], gates: Sequence[Gate]) -> bool:
    """Say which runs are above a share that was named; whether there are any."""
    refused = [
        f'{board.title}: {run.run.model}: {why}'
        for board in boards
        for entry in board.entries
        for run in (entry.result, entry.greedy)
        if run is not None
        for gate in gates
        if (why := gate.refused(run.health))
    ]
    for line in dict.fromkeys(refused):
        print(f'--fail-on: {printable(line)}', file=sys.stderr)
    return bool(refused)


def _nothing(folders: Sequence[Path], results: int, passed_over: int) -> str:
    where = ', '.join(map(str, folders)) or 'the files'
    if results:
        return f'no result of {where} can stand in a table: {results} found, see above'
    return (
        f'no result of G-Pass@k below {where} (files passed over: {passed_over}): expected '
        '<work_dir>/<time>/results/<model>/<dataset>.json; see `gpassk check` for runs that are not complete'
    )


def _write(
    request: ReportRequest, scored: Scored, notes: Sequence[str]
) -> tuple[dict[str, list[Path]], dict[str, MissingExtraError]]:
    """Write the parts that were asked for.

    Returns:
        The files of each part that was written, and why parts are not among them.
    """
    folder = request.output
    parts: dict[str, list[Path]] = {}
    lacking: dict[str, MissingExtraError] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part in request.parts:
            try:
                with stage(f'writing {part}', 1):
                    parts[part] = _WRITERS[part](request, scored, notes)
            except MissingExtraError as error:
                lacking[part] = error
    except OSError as error:
        raise InputError(f'cannot write to {folder}: {error.strerror or error}') from error
    return parts, lacking


def _tables(request: ReportRequest, scored: Scored, notes: Sequence[str]) -> list[Path]:
    from ..report.tables import write_scored

    return write_scored(scored, request.output, notes, request.average)


def _figures(request: ReportRequest, scored: Scored, notes: Sequence[str]) -> list[Path]:
    from ..report.figures import FIGURES, write_figures

    names = request.figures or list(FIGURES)
    tables = [board for board, _ in scored]
    with stage('drawing figures', len(scored) * len(names)):
        return write_figures(tables, request.output, names=request.figures, runs=request.runs)


def _page(request: ReportRequest, scored: Scored, notes: Sequence[str]) -> list[Path]:
    from ..report.frame import boards, frame
    from ..report.page import write_page

    results = [one for board, _ in scored for e in board.entries for one in (e.result, e.greedy) if one]
    tables, _ = boards(
        [*{id(one): one for one in results}.values()], request.k, request.level, request.thresholds, True
    )
    for line in write_page(tables, frame(tables).itertuples(), request.output, request.responses):
        (warn if ': no responses: ' in line else say)(line)
    return [request.output / 'index.html']


_WRITERS = {'tables': _tables, 'figures': _figures, 'page': _page}


def _print(scored: Scored) -> None:
    from ..report.tables import heading, health_table, how_to_read, leaderboard_table, remarks

    for board, rows in scored:
        print(printable(f'{board.title}\n{heading(board)}\n', keep='\n'))
        show(leaderboard_table(board, rows))
        print(f'\n{how_to_read(board)}\n')
        if lines := remarks(board):
            print(*(printable(f'- {line}') for line in lines), sep='\n', end='\n\n')
        health = health_table(board)
        print(printable(f'{health.title}\n', keep='\n'))
        show(health)
        print()
