"""`gpassk gate`: is a new run better than an old one, as good within a margin, or worse? For CI."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InputError
from ..metrics import Metric
from ..unseen import printable
from .files import utf8_output, write_file
from .options import WITH_LIMITED, Several, add_several, path, points, requested
from .shown import add_table_options, show, shows_json

if TYPE_CHECKING:
    from ..collect import LeftOut
    from ..record import Result
    from ..report.gate_runs import Gate, Side

_EPILOG = """\
examples:
  gpassk gate outputs/step-2000 --against outputs/step-1000
  gpassk gate new.gpassk.json --against old.gpassk.json --metric mG-Pass@16 --margin 2
  gpassk gate outputs --run step-2000 --against step-1000 --markdown comment.md --junit gate.xml

outcomes and exit codes:
  better        0  the interval of new − old lies above 0
  equivalent    0  it lies within the margin; also where the new run is worse by less than the margin
  not worse     0  it lies above −margin, and reaches beyond +margin
  worse         1  it lies below 0, and not within the margin
  not decided   2  none of these: more questions or samples are needed
                3  there is no answer: a file or an option is wrong, or the runs cannot be compared
Of several benchmarks or metrics: 1 where one is worse, 0 where all pass, else 2.

Choose runs, metric and margin before you see the scores; all that is said is of these two runs.
"""

STANDARD_OUTPUT = Path('-')


class Reading(NamedTuple):
    """What of both runs was passed over, as `collect.Collected` tells it."""

    lines: list[str]
    left_out: list[LeftOut]


@dataclass(frozen=True)
class GateRequest:
    """What to decide on.

    Args:
        new: results of the new run, or folders of them.
        against: those of the old run, or its name, where `new` has both.
        run, against_run: the names of the two, where files and folders have several.
        metric: what they are compared by; empty: mG-Pass@k with the largest k of both.
        benchmark: only these; empty: all of the old run.
        margin: in points.
        level: of confidence.
        questions: 'new': the statement is on questions of this kind; 'same': on these very ones.
        with_limited: also trials on some of the questions.
        markdown, junit: where these go.
    """

    new: Sequence[Path]
    against: Sequence[Path]
    run: str | None
    against_run: str | None
    metric: Sequence[Metric]
    benchmark: Sequence[str]
    margin: float
    level: float
    questions: str
    with_limited: bool
    markdown: Path | None
    junit: Path | None


def add_arguments(parser: ArgumentParser) -> None:
    """Add the two runs, what they are compared by, and where the answer goes."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add('new', nargs='+', type=path, metavar='NEW', help='results of the new run, or folders of them')
    old = 'those of the old run, or its name, where NEW has both runs'
    add('--against', type=path, action=Several, required=True, metavar='OLD', help=old)
    run = 'the {} run, where {} has several, by its name or a part that no other has'
    add('--run', metavar='NAME', help=run.format('new', 'NEW'))
    add('--against-run', metavar='NAME', help=run.format('old', 'OLD'))
    by = 'by what, several at once if need be (default: mG-Pass@k with the largest k of both)'
    add_several(parser, '--metric', by)
    only = 'only these, by name or a part that no other has (default: all that OLD has)'
    add_several(parser, '--benchmark', only, metavar='NAME')
    margin = 'what does not matter, in points, chosen beforehand (default: 2)'
    add('--margin', type=points, default=2.0, metavar='POINTS', help=margin)
    level = 'of confidence, of all statements together (default: 0.95)'
    add('--level', type=float, default=0.95, help=level)
    questions = (
        'of what the statement is: new questions of this kind (default), or these very questions, where only '
        'the noise of sampling counts'
    )
    add('--questions', choices=('new', 'same'), default='new', help=questions)
    add('--with-limited', action='store_true', help=WITH_LIMITED)
    markdown = 'write a comment for a pull request there; - is standard output, in the place of the table'
    add('--markdown', type=path, metavar='FILE', help=markdown)
    add(
        '--junit', type=path, metavar='FILE', help='write JUnit XML there, a test case a benchmark and metric'
    )
    add_table_options(parser)


def run(arguments: Namespace) -> int:
    """Decide, print and write; the exit code is 0, 1 or 2, see --help."""
    from ..report.gate_runs import gate
    from ..report.gate_texts import exit_code, to_junit, to_markdown

    request = _request(arguments)
    reading = Reading([], [])
    try:
        new, old = _sides(request, reading)
        found = gate(
            new,
            old,
            request.margin / 100,
            request.level,
            metrics=request.metric,
            benchmarks=request.benchmark,
            of_new_questions=request.questions == 'new',
            with_limited=request.with_limited,
        )
        _refuse_damaged(found, request, reading.left_out)
    except InputError as error:
        for line in reading.lines:
            if line not in str(error):
                print(f'left out: {printable(line)}', file=sys.stderr)
        raise
    left_out = dict.fromkeys([*_replaced(found, reading), *reading.lines])
    found = replace(found, remarks=[*found.remarks, *(f'left out: {line}' for line in left_out)])
    as_markdown = request.markdown == STANDARD_OUTPUT
    # Before anything is said: a file that cannot be written is no outcome of the gate.
    with redirect_stdout(sys.stderr) if as_markdown else nullcontext():
        if request.junit:
            write_file(request.junit, to_junit(found))
        if request.markdown and not as_markdown:
            write_file(request.markdown, to_markdown(found))
    _show(found, as_markdown=as_markdown)
    return exit_code(found)


def _request(arguments: Namespace) -> GateRequest:
    """Return what was asked for.

    Raises:
        InputError: a margin that is none, no metric, or two things on standard output.
    """
    if not 0 < arguments.margin < 100:  # not of NaN either
        raise InputError(
            f'--margin {arguments.margin:g}: expected points above 0 and below 100, e.g. 2; where every '
            'difference matters take a small one, such as 0.1'
        )
    if arguments.markdown == STANDARD_OUTPUT and arguments.tables_as_json:
        raise InputError('--markdown - and --json both go to standard output; give one of them a file')
    if arguments.junit == STANDARD_OUTPUT:
        raise InputError('--junit - is no file; XML goes to one, such as --junit gate.xml')
    if arguments.junit and arguments.markdown and arguments.junit.resolve() == arguments.markdown.resolve():
        raise InputError(f'--junit and --markdown both go to {arguments.junit}; give each a file of its own')
    metrics = [Metric.parse(name) for name in arguments.metric]
    return requested(GateRequest, arguments, metric=metrics)


def _sides(request: GateRequest, reading: Reading) -> tuple[Side, Side]:
    """Return the results of both runs; those of a run that is named are among the new ones.

    Raises:
        InputError: a path is missing, or a name is given twice.
    """
    from ..report.gate_runs import NEW, OLD, Side

    new = _read(request.new, reading)
    one = request.against[0]
    if len(request.against) == 1 and not one.exists() and len(one.parts) == 1:
        if request.against_run:
            raise InputError(f'--against {one} is no path, so it names a run; leave --against-run out')
        return Side(NEW, new, request.run, '--run NAME'), Side(OLD, new, str(one), '--against NAME')
    old = _read(request.against, reading)
    return Side(NEW, new, request.run, '--run NAME'), Side(
        OLD, old, request.against_run, '--against-run NAME'
    )


def _read(paths: Sequence[Path], reading: Reading) -> list[Result]:
    """Return all results in files and folders, see `collect`; add what was passed over."""
    from ..collect import collect

    found = collect(paths)
    reading.lines.extend(found.passed_over)
    reading.left_out.extend(found.left_out)
    return found.results


def _replaced(found: Gate, reading: Reading) -> list[str]:
    """Return a line for each other result of the two runs: of several of one name the newest counts."""
    used = {entry.result.path for row in found.rows for entry in (row.new, row.old)}
    return [one.why for one in reading.left_out if one.newer in used]


def _refuse_damaged(found: Gate, request: GateRequest, left_out: Sequence[LeftOut]) -> None:
    """Refuse to decide without a file that may be a result of one of the two runs.

    Of a folder those count that lie in a folder called as that of a result which was compared, which is the
    model's in a work directory: an older result must not stand for a newer one that is damaged, nor may a
    benchmark of the old run go unseen.

    Raises:
        InputError: there is one, or a file that was given by name is none.
    """
    named = {one.resolve() for one in (*request.new, *request.against)}
    used = [entry.result.path for row in found.rows for entry in (row.new, row.old)]
    folders, names = {one.parent.name for one in used}, {one.name for one in used}
    for one in left_out:
        beside = one.path.parent.name in folders and (not request.benchmark or one.path.name in names)
        if one.newer is None and (one.path in named or (beside and not one.foreign)):
            raise InputError(
                f'{one.why}; it may be a result of one of the two runs: mend it or take it away, or name the '
                'files that count, or --benchmark'
            )


def _show(found: Gate, *, as_markdown: bool) -> None:
    from ..report.gate_texts import to_markdown, whole_table

    if as_markdown:
        print(to_markdown(found), end='', file=utf8_output())
        return
    _print(found)
    if shows_json():
        show(whole_table(found))


def _print(found: Gate) -> None:
    from ..report.gate_texts import basis, decisions_table, how_to_read, sentences, verdict

    print(f'{verdict(found)}\n\n{printable(basis(found))}\n')
    show(decisions_table(found))
    print()
    for line in sentences(found):
        print(printable(line))
    print('', *how_to_read(found), '', sep='\n')
    for remark in found.remarks:
        print(f'- {printable(remark)}')
