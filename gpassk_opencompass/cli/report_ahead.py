"""What processes do of a report while the command itself does something else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..report.leaderboard import Board
    from ..report.workers import Workers

Item = TypeVar('Item')


def read_each(
    parts: Sequence[str], workers: Workers, work: Callable[[Path], Item], paths: Sequence[Path]
) -> Iterable[Item]:
    """Have files read, by processes where they are many; see `results.read.collect`.

    Args:
        parts: of the report.
        work, paths: as for `map`.
    """
    from ..report.workers import FEWEST

    if len(paths) < FEWEST:
        return map(work, paths)
    read = workers.each(work, paths)
    return read


def begin(
    parts: Sequence[str],
    tables: Sequence[Board],
    workers: Workers,
    responses: bool,
) -> None:
    """Have processes begin what they can do before all else is done, if it is worth to have some.

    What takes longest comes before what is in many small pieces, so that all end at once.

    Args:
        parts: of the report.
        tables: its boards.
        responses: whether responses lie beside the page, which then holds no answers of these runs.
    """
    from ..report.leaderboard import begin_ranks
    from ..report.workers import FEWEST

    if not tables or sum(len(board.entries) for board in tables) < FEWEST:
        return
    begin_ranks(tables, workers)
    if 'page' in parts and not responses:
        from ..report.page.answers import begin_packing

        begin_packing([entry.result for board in tables for entry in board.entries], workers)
