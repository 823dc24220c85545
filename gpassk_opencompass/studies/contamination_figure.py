"""The figure of rounds of training: greedy accuracy across, mG-Pass@k upwards, a line a series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..report.figures import Drawing
from ..report.figures.drawing import about, write_around
from ..report.figures.labels import drawable
from ..report.figures.style import FAINT, LOOKS, house_style, save
from ..report.leaderboard import Board
from .contamination import Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _SIDE, _LEFT, _TOP, _FOOT = 7.4, 4.6, 0.66, 0.7, 0.85


def write_figure(stem: Path, board: Board, series: Sequence[Series]) -> list[Path]:
    """Draw the series of a board as `stem`.png and `stem`.svg, at most as many as there are looks.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with house_style():
        return save(_drawing(board, series[: len(LOOKS)]), stem)


def _drawing(board: Board, series: Sequence[Series]) -> Drawing:
    from matplotlib.figure import Figure

    height = _TOP + _SIDE + _FOOT
    figure = Figure(figsize=(_WIDTH, height))
    box = _LEFT / _WIDTH, _FOOT / height, _SIDE / _WIDTH, _SIDE / height
    axes = figure.add_axes(box)
    ends = np.concatenate([one.means.ravel() for one in series])
    low, high = 10 * np.floor(10 * ends.min()) - 3, 10 * np.ceil(10 * ends.max()) + 3
    axes.set(xlim=(low, high), ylim=(low, high))
    axes.set(xlabel='greedy accuracy, percent', ylabel=f'{board.ranked_by}, percent')
    axes.plot([low, high], [low, high], color=FAINT, linewidth=0.8, linestyle=(0, (4, 2)), label='equal')
    for place, one in enumerate(series):
        _draw(axes, one, place)
    figure.legend(
        handles=axes.get_legend_handles_labels()[0],
        loc='upper left',
        bbox_to_anchor=((_LEFT + _SIDE + 0.1) / _WIDTH, 1 - _TOP / height),
    )
    title = f'Greedy accuracy against {board.ranked_by} over rounds of training'
    notes = ['Numbers: the rounds. Lines: least squares; a flat one says that stability does not follow.']
    write_around(figure, title, about(board), notes)
    caption = '; '.join(_label(one).replace('\n', ', ') for one in series)
    return Drawing('contamination', title, caption, figure)


def _draw(axes: Axes, one: Series, place: int) -> None:
    look = LOOKS[place]
    x, y = 100 * one.means
    style: dict[str, Any] = {'color': look.colour, 'marker': look.marker, 'markersize': 5}
    axes.plot(x, y, linestyle='', label=_label(one), **style)
    if not math.isnan(one.slope.estimate):
        ends = np.array([x.min(), x.max()])
        line = 100 * one.slope.intercept + one.slope.estimate * ends
        axes.plot(ends, line, color=look.colour, linestyle=look.line, linewidth=1.2)
    above = 5 if place % 2 == 0 else -11
    for number, at, up in zip(one.numbers, x, y, strict=True):
        if number is not None:
            axes.annotate(
                str(number), (at, up), (4, above), textcoords='offset points', size=7, color=look.colour
            )


def _label(one: Series) -> str:
    slope = one.slope.estimate
    return f'{drawable(one.name, 28)}\n' + (
        'no slope' if math.isnan(slope) else f'slope {slope:.2f}'.replace('-', '−')
    )
