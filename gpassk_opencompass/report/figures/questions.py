"""The share of right answers to each question, a run a row: which questions are stable, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...adapter import rows_of
from ..leaderboard import Board, Entry
from .chosen import Chosen, chosen
from .drawing import Drawing, Floats, about, counted, more_room, write_around
from .labels import drawable, shared_settings
from .style import MAP_COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 50
"""Runs of the map: more names are not read."""

MOST_COLUMNS = 400
"""Columns of a map; of more questions, neighbours by difficulty share one, which shows their mean."""

NAMED_COLUMNS = 48
"""So many questions or fewer have their names below."""

_TITLE = 'Share of right answers, question by question'
_LEFT, _WIDTH, _RIGHT, _TOP, _ROW, _BAR = 2.35, 6.6, 0.15, 0.62, 0.155, 0.85


def questions(board: Board) -> Iterator[Drawing]:
    """Draw the map of c/n, questions from the hardest to the easiest by the mean of all runs."""
    found = chosen(board, most=MOST_ROWS)
    uids, shares = shares_of(board.entries)
    columns, names = columns_of(shares, uids)
    places = {id(entry): place for place, entry in enumerate(board.entries)}
    rows = columns[[places[id(run.entry)] for run in found.runs]]
    figure = _map(board, rows, [run.label for run in found.runs], names, _notes(board, found))
    size = f'{counted(len(rows), "run")} by {counted(len(uids), "question")}'
    yield Drawing('questions', _TITLE, f'A map of {size}: the share of right answers, c/n.', figure)


def shares_of(entries: Sequence[Entry]) -> tuple[list[str], Floats]:
    """Return questions from the hardest to the easiest, and c/n of each entry on each; shape (entries, Q)."""
    first = entries[0].result.counts.uid
    shares = np.stack([e.result.table.c[rows_of(e.result, first)] / e.result.n for e in entries])
    order = np.argsort(shares.mean(0), kind='stable')
    return [first[place] for place in order], shares[:, order]


def columns_of(shares: Floats, uids: Sequence[str]) -> tuple[Floats, list[str]]:
    """Return at most `MOST_COLUMNS` columns, and the names of the questions if there is room for them."""
    count = shares.shape[1]
    if count > MOST_COLUMNS:
        parts = np.array_split(np.arange(count), MOST_COLUMNS)
        return np.stack([shares[:, part].mean(1) for part in parts], axis=1), []
    return shares, list(uids) if count <= NAMED_COLUMNS else []


def _map(
    board: Board, shares: Floats, labels: Sequence[str], names: Sequence[str], notes: Sequence[str]
) -> Figure:
    from matplotlib.figure import Figure

    below = 1.25 if names else 0.3
    tall = _ROW * max(len(labels), 6)
    width = _LEFT + _WIDTH + _RIGHT
    more = more_room(notes, width)
    height = _TOP + tall + below + _BAR + more
    figure = Figure(figsize=(width, height))
    box = (_LEFT / width, (below + _BAR + more) / height, _WIDTH / width, tall / height)
    axes = figure.add_axes(box)
    image = axes.imshow(
        shares, aspect='auto', interpolation='nearest', cmap=MAP_COLOURS, vmin=0, vmax=1, rasterized=True
    )
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xticks(range(len(names)), [drawable(name, 18) for name in names], rotation=90, size=6)
    axes.set_xlabel('questions, hardest first', labelpad=3)
    bar = figure.add_axes((_LEFT / width, (0.64 + more) / height, 2.4 / width, 0.12 / height))
    figure.colorbar(image, cax=bar, orientation='horizontal', ticks=[0, 0.25, 0.5, 0.75, 1])
    bar.set_xticklabels(['0', '25', '50', '75', '100 % right'])
    subtitle = f'{about(board)} Runs in the order of the table (mG-Pass@{board.k}).'
    write_around(figure, _TITLE, subtitle, notes)
    return figure


def _notes(board: Board, found: Chosen) -> list[str]:
    many = board.questions > MOST_COLUMNS
    return [
        'Stable: all dark or all light. Unstable: in between.',
        *([f'Each column is the mean of {board.questions / MOST_COLUMNS:.1f} questions.'] if many else []),
        *found.note,
        *shared_settings(board),
    ]
