"""G-Pass@k_τ over the threshold τ, and over the number of draws k."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...metrics import required_correct
from ..leaderboard import Board, Entry
from .drawing import LARGEST_DRAWN, Drawing, Sheet, counted, only_first, pages
from .labels import Labelled, labelled, shared
from .lines import (
    draw_line,
    estimates,
    g_pass,
    handle,
    interval_of,
    log_axis,
    measured,
    percent_axis,
    powers,
    unbanded,
    upright,
)
from .style import FAINT, LOOKS, STRICTER, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOGETHER = 4
"""So many runs or fewer share a panel over τ."""

MOST_THRESHOLDS = 32
"""Points of a line over τ: all of 1/k, 2/k, …, 1 up to this k, else so many of them, evenly spread."""

_MEDIAN = Look(FAINT, ':', '')


def thresholds(board: Board) -> Iterator[Drawing]:
    """G-Pass@k_τ over τ: all runs in one panel if they are few, else a panel each beside their median."""
    if len(board.entries) <= TOGETHER:
        yield _thresholds_together(board)
        return
    runs = labelled(board)[:LARGEST_DRAWN]
    median = np.median([_over_thresholds(entry, board.k) for entry in board.entries], axis=0)
    for ending, page in pages(runs):
        sheet, bare = _thresholds_sheet(board, len(page)), []
        for axes, run in zip(sheet.axes, page, strict=True):
            axes.plot(_taus(board.k), median, color=_MEDIAN.colour, linestyle=_MEDIAN.line)
            axes.set_title(run.label)
            bare += _draw_thresholds(axes, run, board.k, LOOKS[0])
        handles = [handle(LOOKS[0], f'G-Pass@{board.k}_τ'), handle(_MEDIAN, 'median of all runs')]
        notes = unbanded(bare) + only_first(len(runs), len(board.entries)) + shared(board)
        yield _thresholds_drawing(sheet, f'thresholds{ending}', board, handles, notes)


def draws(board: Board) -> Iterator[Drawing]:
    """pass@k and G-Pass@k at three τ over k, a panel a run."""
    runs = labelled(board)[:LARGEST_DRAWN]
    handles = [handle(look, name) for name, look, _ in STRICTER]
    for ending, page in pages(runs):
        sheet, bare = Sheet(len(page), 'pass@k and G-Pass@k over the number of draws k', measured(board)), []
        for axes, run in zip(sheet.axes, page, strict=True):
            axes.set_title(run.label)
            upright(axes, board.k)
            bare += _draw_draws(axes, run, board.k)
        highest = max(run.entry.result.n for run in page)
        log_axis(sheet.axes[0], powers(highest), highest)
        percent_axis(sheet.axes[0])
        notes = [f'The upright line: k = {board.k}, that of the tables.']
        notes += unbanded(bare) + only_first(len(runs), len(board.entries)) + shared(board)
        figure = sheet.finish('k', 'percent', handles, notes)
        caption = (
            f'Lines over k from 1 to n, {counted(len(page), "run")}: pass@k rises with k, G-Pass@k_1.0 falls.'
        )
        yield Drawing(f'draws{ending}', sheet.title, caption, figure)


def sizes_of_draws(n: int, k: int) -> list[int]:
    """Where a line over k has its points: the powers of two up to n, and the k of the tables."""
    return sorted({k, *powers(n)})


def steps(k: int) -> list[int]:
    """The numbers of correct answers at which a line over τ has its points."""
    return sorted({round(i) for i in np.linspace(1, k, min(k, MOST_THRESHOLDS))})


def _taus(k: int) -> list[float]:
    return [step / k for step in steps(k)]


def _over_thresholds(entry: Entry, k: int) -> list[float]:
    return list(estimates([interval_of(entry, g_pass(k, step)) for step in steps(k)]))


def _thresholds_together(board: Board) -> Drawing:
    sheet, bare, handles = _thresholds_sheet(board, 1), [], []
    for run, look in zip(labelled(board), LOOKS, strict=False):
        bare += _draw_thresholds(sheet.axes[0], run, board.k, look)
        handles.append(handle(look, run.label))
    notes = unbanded(bare) + shared(board)
    return _thresholds_drawing(sheet, 'thresholds', board, handles, notes)


def _thresholds_sheet(board: Board, panels: int) -> Sheet:
    return Sheet(panels, f'G-Pass@{board.k}_τ over the threshold τ', measured(board))


def _thresholds_drawing(
    sheet: Sheet, name: str, board: Board, handles: list[object], notes: list[str]
) -> Drawing:
    percent_axis(sheet.axes[0])
    sheet.axes[0].set_xlim(0, 1.02)
    sheet.axes[0].set_xticks([0, 0.25, 0.5, 0.75, 1], ['0', '0.25', '0.5', '0.75', '1'])
    points = f'Points: τ = 1/{board.k}, which is pass@{board.k}, to 1, all {board.k} of {board.k} correct.'
    figure = sheet.finish('τ', f'G-Pass@{board.k}_τ, percent', handles, [points, *notes])
    caption = f'Lines of {counted(len(sheet.axes), "panel")} that fall as τ grows from 1/{board.k} to 1.'
    return Drawing(name, sheet.title, caption, figure)


def _draw_thresholds(axes: Axes, run: Labelled, k: int, look: Look) -> list[str]:
    """The line of a run; its label if a point has no interval."""
    intervals = [interval_of(run.entry, g_pass(k, step)) for step in steps(k)]
    complete = draw_line(axes, _taus(k), intervals, look, run.label)
    return [] if complete else [run.label]


def _draw_draws(axes: Axes, run: Labelled, k: int) -> list[str]:
    sizes = sizes_of_draws(run.entry.result.n, k)
    complete = True
    for name, look, tau in STRICTER:
        intervals = [interval_of(run.entry, g_pass(size, required_correct(size, tau))) for size in sizes]
        complete &= draw_line(axes, sizes, intervals, look, name)
    return [] if complete else [run.label]
