"""`gpassk compare` of results alone: runs with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..counting import counted
from ..errors import InputError
from ..metrics import Metric
from ..unseen import printable
from .compare import MOST_RUNS
from .files import write_file
from .progress import shown_progress
from .shown import show

if TYPE_CHECKING:
    from ..report.compare import Pairs
    from ..report.leaderboard import Board
    from .compare import CompareRequest


_STAGE = 'comparing all runs of each table'


def compare_runs(request: CompareRequest) -> None:
    """Print two runs each of every table of a report, best first; write all that is asked for.

    Raises:
        InputError: nothing to compare, or no such metric or run.
    """
    from ..report.compare import differences_csv, differences_table
    from ..report.tables import heading

    with shown_progress('compare'):
        tables = _tables(request)
        chosen = _chosen(request, tables, request.top)
    shown = chosen if request.against or request.top else _chosen(request, tables, MOST_RUNS)
    for all_of, pairs in zip(chosen, shown, strict=True):
        table = differences_table(pairs)
        print(printable(f'{table.title}\n{heading(pairs.board)}\n', keep='\n'))
        show(table)
        print(f'\n{pairs.how_to_read}\n{_which(request, all_of, pairs)}\n')
    if request.output:
        write_file(request.output, differences_csv(chosen))


def _tables(request: CompareRequest) -> list[Board]:
    """Return the tables of a report that have two runs or more."""
    from ..collect import collect
    from ..report.leaderboard import boards

    found = collect(request.ours)
    level, limited = request.level, request.with_limited
    tables, left_out = boards(found.results, level=level, with_limited=limited)
    for line in (*found.passed_over, *found.older, *left_out):
        print(f'left out: {printable(line)}')
    with_pairs = [board for board in tables if len(board.entries) > 1]
    if not with_pairs:
        raise InputError(
            f'{len(found.results)} results in {len(tables)} tables, none with two runs: only runs on the '
            f'same questions, judged by the same judge, can be compared'
        )
    return with_pairs


def _chosen(request: CompareRequest, tables: Sequence[Board], top: int | None) -> list[Pairs]:
    """Return the pairs of each table; of those without the run of --against none."""
    from ..report.compare import Pairs, entry_called

    by = request.metric
    if by is not None and not isinstance(by, Metric):
        raise InputError('--metric Greedy: runs are compared by their samples; take accuracy or G-Pass@k')
    if request.against is None:
        each = counted(_STAGE, tables)
        return [Pairs(board, by or board.ranked_by, None, top) for board in each]
    name = entry_called(request.against, tables)
    return [
        Pairs(board, by or board.ranked_by, entry, top, request.chosen)
        for board in counted(_STAGE, tables)
        for entry in board.entries
        if entry.run == name
    ]


def _which(request: CompareRequest, chosen: Pairs, shown: Pairs) -> str:
    """Return which pairs are shown, in what order, and how to get the others."""
    runs = len(shown.board.entries)
    every = runs - 1 if request.against else runs * (runs - 1) // 2
    if len(shown) == every:
        return f'In the order of {shown.metric}, best first.'
    if len(shown) < len(chosen):
        more = '; --top N shows those of more, --against RUN all with one, -o FILE.csv writes all'
    else:
        more = ''
    which = f'{shown.top} {"others" if request.against else "runs"} with the highest {shown.metric}'
    return f'{len(shown):,} of {every:,} pairs: those of the {which}, best first{more}.'
