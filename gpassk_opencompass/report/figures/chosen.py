"""Which runs of a board a figure shows where there are more than a reader can tell apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ...errors import InputError
from ..leaderboard import Board, Entry
from .drawing import listed
from .labels import Labelled, labelled

MOST = 6
"""Lines in one panel, or panels of one figure: as many as there are colours."""

HOW = 'Other runs: gpassk report --runs NAME; the tables have all.'


class Chosen(NamedTuple):
    """The runs of a figure, in the order of the table."""

    runs: list[Labelled]
    others: list[Labelled]
    note: list[str]
    """The sentence on what is left out; none where all are shown."""


def chosen(board: Board, runs: Sequence[Labelled] | None = None, most: int = MOST, rest: str = '') -> Chosen:
    """Return the runs of a figure: those that are asked for, else the best of each model first.

    Args:
        runs: those that the figure can show; None: all of the board.
        most: so many at most.
        rest: what becomes of the others, for the note: 'grey: the others'.
    """
    able = labelled(board) if runs is None else list(runs)
    wanted = [run for run in able if picked(run.entry, board)] if board.picked else []
    shown = {id(run) for run in wanted[:most]} if wanted else _best_of_each(able, most)
    if len(shown) == len(able):
        return Chosen(able, [], [])
    how = 'those that were asked for' if wanted else 'the best run of each model first'
    note = f'Shown: {len(shown)} of {len(able)} runs, {how}{"; " + rest if rest else ""}. {HOW}'
    runs = [run for run in able if id(run) in shown]
    return Chosen(runs, [run for run in able if id(run) not in shown], [note])


def with_picked(boards: Sequence[Board], names: Sequence[str]) -> list[Board]:
    """Return boards whose figures show the runs of these names, or of names with these parts.

    Raises:
        InputError: no run is called so.
    """
    found = [replace(board, picked=tuple(names)) for board in boards]
    for name in names:
        asked = [(entry, replace(board, picked=(name,))) for board in boards for entry in board.entries]
        if boards and not any(picked(entry, board) for entry, board in asked):
            known = list(dict.fromkeys(entry.run for entry, _ in asked))
            raise InputError(
                f'--runs {name!r}: no run of the tables has that in its name; they are {listed(known)}'
            )
    return found


def picked(entry: Entry, board: Board) -> bool:
    """Whether a run was asked for: by a part of its name, in upper or lower case."""
    names = {entry.run.casefold(), entry.name.casefold()}
    return any(part.casefold() in name for part in board.picked for name in names)


def _best_of_each(runs: Sequence[Labelled], most: int) -> set[int]:
    seen: Counter[str] = Counter()
    places = []
    for place, run in enumerate(runs):
        places.append((seen[run.entry.model], place))
        seen[run.entry.model] += 1
    return {id(runs[place]) for _, place in sorted(places)[:most]}
