"""G-Pass@k_τ over the threshold τ, over the number of draws k, and over a sampling setting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...metrics import Metric, required_correct
from ...uncertainty import Interval
from ..leaderboard import Board, Entry
from .drawing import (
    LARGEST_DRAWN,
    Drawing,
    Floats,
    LeftOut,
    Sheet,
    counted,
    draw_line,
    estimates,
    handle,
    log_axis,
    measured,
    only_first,
    pages,
    percent_axis,
    plot_style,
    powers,
    unbanded,
    upright,
)
from .labels import NAME_WIDTH, Labelled, drawable, labelled, settings_of, shared, varying, written
from .style import FAINT, LOOKS, METRIC_LOOKS, STRICTER, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOGETHER = 4
"""So many runs or fewer share a panel over τ."""

MOST_THRESHOLDS = 32
"""Points of a line over τ: all of 1/k, 2/k, …, 1 up to this k, else so many of them, evenly spread."""

_MEDIAN = Look(FAINT, ':', '')

VARIED = ('temperature', 'top_p', 'top_k', 'repetition_penalty')
"""The settings that have a figure each."""

_GREEDY = Look(FAINT, ':', '')
_DODGE = 0.07
"""Between the bars of two metrics, so that none hides another."""


def thresholds(board: Board) -> Iterator[Drawing]:
    """Draw G-Pass@k_τ over τ: few runs in one panel, more in a panel each beside their median."""
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
    """Draw pass@k and G-Pass@k at three τ over k, a panel a run."""
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
    """Return where a line over k has its points: the powers of two up to n, and the k of the tables."""
    return sorted({k, *powers(n)})


def steps(k: int) -> list[int]:
    """Return the numbers of correct answers at which a line over τ has its points."""
    return sorted({round(i) for i in np.linspace(1, k, min(k, MOST_THRESHOLDS))})


def _taus(k: int) -> list[float]:
    return [step / k for step in steps(k)]


def _over_taus(k: int) -> list[Metric]:
    return [_g_pass(k, step) for step in steps(k)]


def _g_pass(k: int, needed: int) -> Metric:
    """Return G-Pass@k where `needed` of the k answers must be correct."""
    return Metric.g_pass_at(k, needed / k)


def _over_thresholds(entry: Entry, k: int) -> list[float]:
    return list(estimates([entry.interval(metric) for metric in _over_taus(k)]))


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
    """Draw the line of a run; return its label if a point has no interval."""
    intervals = [run.entry.interval(metric) for metric in _over_taus(k)]
    complete = draw_line(axes, _taus(k), intervals, look, run.label)
    return [] if complete else [run.label]


def _draw_draws(axes: Axes, run: Labelled, k: int) -> list[str]:
    sizes = sizes_of_draws(run.entry.result.n, k)
    complete = True
    for name, look, tau in STRICTER:
        intervals = [run.entry.interval(_g_pass(size, required_correct(size, tau))) for size in sizes]
        complete &= draw_line(axes, sizes, intervals, look, name)
    return [] if complete else [run.label]


class Series(NamedTuple):
    """Runs of one model that differ in one setting alone, by its value."""

    model: str
    others: str
    """The settings that they share, where the model has several series."""
    values: list[float]
    entries: list[Entry]


def sensitivity(board: Board) -> Iterator[Drawing | LeftOut]:
    """Draw a figure for each setting that some model was run with two values of, all others the same."""
    for setting in VARIED:
        found = series(board, setting)
        name = f'sensitivity-{setting.replace("_", "-")}'
        if found:
            yield from _figures(board, setting, name, found)
        else:
            yield LeftOut(name, f'no model has two runs that differ in {setting} alone')


def series(board: Board, setting: str) -> list[Series]:
    """Return what the panels of one figure hold, models in the order of the table."""
    groups: defaultdict[tuple[str, str], dict[float, Entry]] = defaultdict(dict)
    others = [field for field in varying(board.entries) if field != setting]
    for entry in board.entries:
        settings = settings_of(entry)
        value = settings.get(setting)
        if value is not None:
            groups[entry.model, written(settings, others)].setdefault(float(value), entry)
    wide = {key: runs for key, runs in groups.items() if len(runs) > 1}
    models = [model for model, _ in wide]
    ordered = sorted(wide, key=lambda key: (models.index(key[0]), key[1]))
    return [
        Series(key[0], key[1] if models.count(key[0]) > 1 else '', values, [wide[key][v] for v in values])
        for key in ordered
        for values in [sorted(wide[key])]
    ]


def lines_of(board: Board) -> list[tuple[Metric, Look]]:
    """Return the metrics of a panel and how they look."""
    looks = [METRIC_LOOKS[kind] for kind in ('half', 'most', 'all', 'mean')]
    return list(zip(board.metrics, looks, strict=True))


def _figures(board: Board, setting: str, name: str, found: list[Series]) -> Iterator[Drawing]:
    drawn = found[:LARGEST_DRAWN]
    handles = [handle(look, str(metric)) for metric, look in lines_of(board)]
    for ending, page in pages(drawn):
        sheet = Sheet(len(page), f'Sensitivity to {setting}', measured(board, 'Bars'), independent=True)
        bare = []
        for axes, one in zip(sheet.axes, page, strict=True):
            bare += _panel(axes, one, board)
        percent_axis(sheet.axes[0])
        greedy = any(entry.greedy for one in page for entry in one.entries)
        shown = [*handles, handle(_GREEDY, 'greedy run, accuracy')] if greedy else handles
        notes = unbanded(list(dict.fromkeys(bare)), 'bar')
        notes += only_first(len(drawn), len(found), 'series') + shared(board)
        figure = sheet.finish(setting, 'percent', shown, notes)
        caption = f'A panel a model, {len(page)} in all: G-Pass@{board.k} at each value of {setting}.'
        yield Drawing(f'{name}{ending}', sheet.title, caption, figure)


def _panel(axes: Axes, one: Series, board: Board) -> list[str]:
    """Draw one series, its values evenly spread; return the names of runs without an interval."""
    bare, lines = [], lines_of(board)
    for number, (metric, look) in enumerate(lines):
        x = np.arange(len(one.values)) + _DODGE * (number - (len(lines) - 1) / 2)
        intervals = [entry.interval(metric) for entry in one.entries]
        axes.plot(x, estimates(intervals), **plot_style(look, len(x)), label=str(metric))
        bare += _bars(axes, x, intervals, look)
    accuracy = next((e.greedy_accuracy() for e in one.entries if e.greedy), None)
    if accuracy:
        axes.axhline(100 * accuracy.estimate, color=_GREEDY.colour, linestyle=_GREEDY.line)
    axes.set_xticks(range(len(one.values)), [f'{value:g}' for value in one.values])
    axes.set_xlim(-0.5, len(one.values) - 0.5)
    axes.grid(visible=False, axis='x')
    axes.set_title(_heading(one))
    return [drawable(one.model, NAME_WIDTH)] if bare else []


def _bars(axes: Axes, x: Floats, intervals: Sequence[Interval], look: Look) -> list[str]:
    for place, interval in zip(x, intervals, strict=True):
        if not interval.refused:
            axes.vlines(place, 100 * interval.low, 100 * interval.high, color=look.colour, linewidth=1.0)
    return [interval.refused for interval in intervals if interval.refused]


def _heading(one: Series) -> str:
    if not one.others:
        return drawable(one.model, NAME_WIDTH)
    others = drawable(one.others, NAME_WIDTH * 2 // 3)
    return f'{drawable(one.model, max(8, NAME_WIDTH - 2 - len(others)))}, {others}'
