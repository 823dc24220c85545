"""`gpassk study contamination`: does stability follow greedy accuracy over rounds of training?"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..unseen import printable
from .files import write_file
from .options import WITH_LIMITED, path, requested
from .shown import add_table_options, show
from .study_options import results_of

if TYPE_CHECKING:
    from ..report.leaderboard import Board

_EPILOG = """\
examples:
  gpassk study contamination outputs                     models named …-round1, …-round2, … are one series
  gpassk study contamination outputs --rounds 'leaked=base,leaked-a,leaked-b' --rounds 'clean=base,clean-a'

Each model needs a greedy run beside its sampled one. docs/studies.md says what the slope means.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the study."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add(
        'runs',
        nargs='+',
        type=path,
        metavar='RUN',
        help='work directories, folders above several, result files',
    )
    rounds = 'a series: models in the order of their rounds (default: names that end in round3, step200, …)'
    add('--rounds', action='append', type=_series, metavar='NAME=MODEL,…', help=rounds)
    add('--k', type=int, help='of mG-Pass@k (default: the largest that all have)')
    add('--level', type=float, default=0.95, help='of confidence (default: 0.95)')
    add('--with-limited', action='store_true', help=WITH_LIMITED)
    output = 'default: contamination'
    add('-o', '--output', type=path, default=Path('contamination'), metavar='FOLDER', help=output)
    add_table_options(parser)


@dataclass(frozen=True)
class ContaminationRequest:
    """What `gpassk study contamination` is asked to do; see `add_arguments`."""

    runs: Sequence[Path]
    rounds: Sequence[tuple[str, tuple[str, ...]]] | None
    k: int | None
    level: float
    output: Path
    with_limited: bool


def run(arguments: Namespace) -> int:
    """Print and write the study of each benchmark; return the exit code 0.

    Raises:
        InputError: two series have one name, there is no result, or no model with a greedy run beside its
            sampled one.
    """
    from ..report.figures import board_names
    from ..report.leaderboard import boards

    request = requested(ContaminationRequest, arguments)
    names = [name for name, _ in request.rounds or ()]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f'--rounds: there are {names.count(twice[0])} series {twice[0]!r}; '
            'expected a name of its own for each'
        )
    results = results_of(request.runs)
    found, left_out = boards(results, request.k, request.level, with_limited=request.with_limited)
    for line in left_out:
        print(f'left out: {printable(line)}', file=sys.stderr)
    drawn = [_study(request, board, name) for board, name in zip(found, board_names(found), strict=True)]
    if not any(drawn):
        raise InputError(
            'no model has a greedy run (temperature 0) beside its sampled one; a sweep draws both: '
            'temperatures = [0.0, 1.0] in its template'
        )
    return 0


def _study(request: ContaminationRequest, board: Board, name: str) -> bool:
    """Print and write the study of a board; whether it has a series."""
    from ..studies.contamination import differences, series_of
    from ..studies.contamination_figure import undrawn, write_figure
    from ..studies.contamination_tables import HOW_TO_READ, points_table, slopes_table, study_json

    series, left_out = series_of(board, dict(request.rounds) if request.rounds else None)
    for line in left_out:
        print(f'left out: {printable(line)}', file=sys.stderr)
    if not series:
        return False
    found = differences(series, board.entries[0].result.problems, request.level)
    points = points_table(series, board.ranked_by, request.level)
    slopes = slopes_table(series, found)
    print(f'{printable(board.title)}: {board.questions} questions from {board.problems} problems\n')
    for table in (points, slopes):
        show(table, of=board.title)
        print()
    print(f'{HOW_TO_READ}\n')
    request.output.mkdir(parents=True, exist_ok=True)
    stem = request.output / name
    write_file(Path(f'{stem}.csv'), points.to_csv())
    write_file(
        Path(f'{stem}.json'), json.dumps(study_json(series, found), ensure_ascii=False, indent=1) + '\n'
    )
    for file in write_figure(stem, board, series):
        print(f'wrote {file}')
    for note in undrawn(series):
        print(f'note: {note}')
    return True


def _series(text: str) -> tuple[str, tuple[str, ...]]:
    """Read a series: a name and its models in their order.

    >>> _series('leaked=base,leaked-1')
    ('leaked', ('base', 'leaked-1'))
    """
    name, _, models = text.partition('=')
    named = tuple(model.strip() for model in models.split(','))
    if not name.strip() or not all(named) or len(set(named)) < len(named):
        raise ArgumentTypeError(f'{text!r}: expected a name and different models, NAME=MODEL,MODEL,…')
    return name.strip(), named
