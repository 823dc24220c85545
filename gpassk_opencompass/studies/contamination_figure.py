"""The figure of rounds of training: greedy accuracy across, mG-Pass@k upwards, a line a series."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from ..report.figures.drawing import Drawing, about, only_first, write_around
from ..report.figures.labels import drawable
from ..report.figures.style import FAINT, LOOKS, house_style, save
from ..report.leaderboard import Board
from .contamination import Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _SIDE, _LEFT, _TOP, _FOOT = 7.4, 4.6, 0.66, 0.7, 0.85
_MARKER = 5.0
"""Size of a marker, in points; the figure itself is in inches."""


def write_figure(stem: Path, board: Board, series: Sequence[Series]) -> list[Path]:
    """Draw the series of a board as `stem`.png and `stem`.svg, but those of `undrawn`.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with house_style():
        return save(_drawing(board, series), stem)


def undrawn(series: Sequence[Series]) -> list[str]:
    """Return the note about the series that the figure has no room for: there are as many as looks."""
    return only_first(min(len(series), len(LOOKS)), len(series), 'series', 'name')


def _drawing(board: Board, series: Sequence[Series]) -> Drawing:
    from matplotlib.figure import Figure

    notes = ['Numbers: the rounds. Lines: least squares; a flat one says that stability does not follow.']
    notes += undrawn(series)
    series = series[: len(LOOKS)]
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
    write_around(figure, title, about(board), notes)
    caption = '; '.join(_label(one).replace('\n', ', ') for one in series)
    return Drawing('contamination', title, caption, figure)


def _draw(axes: Axes, one: Series, place: int) -> None:
    look = LOOKS[place]
    x, y = 100 * one.means
    style: dict[str, Any] = {'color': look.colour, 'marker': look.marker, 'markersize': _MARKER}
    axes.plot(x, y, linestyle='', label=_label(one), **style)
    if not math.isnan(one.slope.estimate):
        ends = np.array([x.min(), x.max()])
        line = 100 * one.slope.intercept + one.slope.estimate * ends
        axes.plot(ends, line, color=look.colour, linestyle=look.line, linewidth=1.2)
    low, high = axes.get_xlim()
    away: dict[str, Any] = {'xytext': (-4, 3), 'ha': 'right'} if place % 2 == 0 else {'xytext': (4, -11)}
    for text, at, up in round_labels(
        zip(one.numbers, x, y, strict=True), (high - low) * _MARKER / 72 / _SIDE
    ):
        axes.annotate(text, (at, up), textcoords='offset points', size=7, color=look.colour, **away)


def round_labels(
    points: Iterable[tuple[int | None, float, float]], near: float
) -> list[tuple[str, float, float]]:
    """Return a label and its place for each round; rounds whose points lie on each other share one amidst.

    Args:
        points: number of the round, None for a model that is none, and where it is drawn.
        near: points whose coordinates differ by no more than this lie on each other.

    >>> round_labels([(0, 58.3, 39.8), (1, 79.2, 52.6), (4, 58.3, 39.8)], 1.0)
    [('0, 4', 58.3, 39.8), ('1', 79.2, 52.6)]
    """
    groups: list[list[tuple[int | None, float, float]]] = []
    for point in points:
        close = (own for own in groups if np.allclose(own[0][1:], point[1:], rtol=0, atol=near))
        own = next(close, None)
        if own is None:
            groups.append([point])
        else:
            own.append(point)
    named = [[point for point in own if point[0] is not None] for own in groups]
    return [
        (', '.join(str(number) for number, *_ in own), fmean(x for _, x, _ in own), fmean(y for *_, y in own))
        for own in named
        if own
    ]


def _label(one: Series) -> str:
    slope = one.slope.estimate
    return f'{drawable(one.name, 28)}\n' + (
        'no slope' if math.isnan(slope) else f'slope {slope:.2f}'.replace('-', '−')
    )
