"""The share of right answers to each question, a run a row: which questions are stable, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..leaderboard import Board, Entry
from .drawing import Drawing, Floats, about, counted, only_first, pages, write_around
from .labels import drawable, labelled, shared
from .style import MAP_COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 60
"""Runs of one map; with more, there are several maps."""

MOST_ROWS = 300
MOST_COLUMNS = 400
"""Columns of a map; of more questions, neighbours by difficulty share one, which shows their mean."""

NAMED_COLUMNS = 48
"""So many questions or fewer have their names below."""

_TITLE = 'Share of right answers, question by question'
_LEFT, _WIDTH, _RIGHT, _TOP, _ROW, _BAR = 2.35, 6.6, 0.15, 0.62, 0.155, 0.85


def questions(board: Board) -> Iterator[Drawing]:
    """Draw the map of c/n, questions from the hardest to the easiest by the mean of all runs."""
    uids, shares = shares_of(board.entries)
    shares, names = columns_of(shares, uids)
    labels = [run.label for run in labelled(board)]
    for ending, rows in pages(range(min(len(labels), MOST_ROWS)), ROWS):
        figure = _map(board, shares[rows], [labels[row] for row in rows], names)
        size = f'{counted(len(rows), "run")} by {counted(len(uids), "question")}'
        caption = f'A map of {size}: the share of right answers, c/n.'
        yield Drawing(f'questions{ending}', _TITLE, caption, figure)


def shares_of(entries: Sequence[Entry]) -> tuple[list[str], Floats]:
    """Return questions from the hardest to the easiest, and c/n of each entry on each; shape (entries, Q)."""
    first = entries[0].result.uids
    shares = np.stack([e.result.counts[e.result.rows_of(first)] / e.result.n for e in entries])
    order = np.argsort(shares.mean(0), kind='stable')
    return [first[place] for place in order], shares[:, order]


def columns_of(shares: Floats, uids: Sequence[str]) -> tuple[Floats, list[str]]:
    """Return at most `MOST_COLUMNS` columns, and the names of the questions if there is room for them."""
    count = shares.shape[1]
    if count > MOST_COLUMNS:
        parts = np.array_split(np.arange(count), MOST_COLUMNS)
        return np.stack([shares[:, part].mean(1) for part in parts], axis=1), []
    return shares, list(uids) if count <= NAMED_COLUMNS else []


def _map(board: Board, shares: Floats, labels: Sequence[str], names: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure

    below = 1.25 if names else 0.3
    tall = _ROW * max(len(labels), 6)
    width, height = _LEFT + _WIDTH + _RIGHT, _TOP + tall + below + _BAR
    figure = Figure(figsize=(width, height))
    box = (_LEFT / width, (below + _BAR) / height, _WIDTH / width, tall / height)
    axes = figure.add_axes(box)
    image = axes.imshow(
        shares, aspect='auto', interpolation='nearest', cmap=MAP_COLOURS, vmin=0, vmax=1, rasterized=True
    )
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xticks(range(len(names)), [drawable(name, 18) for name in names], rotation=90, size=6)
    axes.set_xlabel('questions, hardest first', labelpad=3)
    bar = figure.add_axes((_LEFT / width, 0.64 / height, 2.4 / width, 0.12 / height))
    figure.colorbar(image, cax=bar, orientation='horizontal', ticks=[0, 0.25, 0.5, 0.75, 1])
    bar.set_xticklabels(['0', '25', '50', '75', '100 % right'])
    _write(figure, board)
    return figure


def _write(figure: Figure, board: Board) -> None:
    subtitle = f'{about(board)} Runs in the order of the table (mG-Pass@{board.k}).'
    notes = ['Stable: all dark or all light. Unstable: in between.']
    if board.questions > MOST_COLUMNS:
        notes.append(f'Each column is the mean of {board.questions / MOST_COLUMNS:.1f} questions.')
    notes += only_first(min(len(board.entries), MOST_ROWS), len(board.entries)) + shared(board)
    write_around(figure, _TITLE, subtitle, notes)
