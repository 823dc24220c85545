"""G-Pass@k_τ over the threshold τ, and metrics over a sampling setting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...metrics import Metric
from ...uncertainty import Interval
from ..labels import varying, written
from ..leaderboard import Board, Entry
from .chosen import HOW, MOST, chosen, picked
from .drawing import (
    BEHIND,
    Drawing,
    Floats,
    LeftOut,
    Sheet,
    counted,
    draw_line,
    estimates,
    handle,
    measured,
    percent_axis,
    plot_style,
    unbanded,
)
from .labels import NAME_WIDTH, drawable, shared_settings
from .style import FAINT, LOOKS, METRIC_LOOKS, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_THRESHOLDS = 32
"""Points of a line over τ: all of 1/k, 2/k, …, 1 up to this k, else so many of them, evenly spread."""

VARIED = ('temperature', 'top_p', 'top_k', 'repetition_penalty')
"""The settings that have a figure each."""

_GREEDY = Look(FAINT, ':', '')
_DODGE = 0.07
"""Between the bars of two metrics, so that none hides another."""


def thresholds(board: Board) -> Iterator[Drawing]:
    """Draw G-Pass@k_τ over τ in one panel: a few runs in colours, the others grey behind them."""
    found = chosen(board, rest='the others are grey')
    sheet, bare, handles = Sheet(1, f'G-Pass@{board.k}_τ over the threshold τ', measured(board)), [], []
    [axes] = sheet.axes
    if found.others:
        metrics = _over_taus(board.k)
        others = [run.entry.result for run in found.others]
        means = np.array([[one.values(metric).mean() for one in others] for metric in metrics])
        axes.plot(_taus(board.k), 100 * means, **BEHIND)
    for run, look in zip(found.runs, LOOKS, strict=False):
        intervals = run.entry.intervals(_over_taus(board.k))
        whole = draw_line(axes, _taus(board.k), intervals, look, run.label, 0.4 / (2 + len(found.runs)))
        bare += [] if whole else [run.label]
        handles.append(handle(look, run.label))
    percent_axis(axes)
    axes.set_xlim(0, 1.02)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ['0', '0.25', '0.5', '0.75', '1'])
    points = f'Points: τ = 1/{board.k}, which is pass@{board.k}, to 1, all {board.k} of {board.k} correct.'
    notes = [points, *unbanded(bare), *found.note, *shared_settings(board)]
    figure = sheet.finish('τ', f'G-Pass@{board.k}_τ, percent', handles, notes)
    runs = counted(len(found.runs), 'run')
    caption = f'Lines of {runs} that fall as τ grows from 1/{board.k} to 1.'
    yield Drawing('thresholds', sheet.title, caption, figure)


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
            yield _figure(board, setting, name, found)
        else:
            yield LeftOut(name, f'no model has two runs that differ in {setting} alone')


def series(board: Board, setting: str) -> list[Series]:
    """Return what the panels of one figure may hold, models in the order of the table."""
    groups: defaultdict[tuple[str, str], dict[float, Entry]] = defaultdict(dict)
    others = [field for field in varying(entry.result for entry in board.entries) if field != setting]
    for entry in board.entries:
        value = entry.result.sampling.get(setting)
        if value is not None:
            groups[entry.model, written(entry.result, others)].setdefault(float(value), entry)
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


def _shown(board: Board, found: Sequence[Series]) -> tuple[list[Series], list[str]]:
    """Return the series of a figure: those asked for, else one of each model first, and a note."""
    wanted = [one for one in found if any(picked(entry, board) for entry in one.entries)]
    models = [one.model for one in found]
    nth = [models[:place].count(model) for place, model in enumerate(models)]
    first = wanted or [one for _, one in sorted(zip(nth, found, strict=True), key=lambda pair: pair[0])]
    shown = [one for one in found if one in first[:MOST]]
    note = f'Shown: {len(shown)} of {len(found)} series, the best models first. {HOW}'
    return shown, [] if len(shown) == len(found) else [note]


def _figure(board: Board, setting: str, name: str, found: Sequence[Series]) -> Drawing:
    shown, note = _shown(board, found)
    handles = [handle(look, str(metric)) for metric, look in lines_of(board)]
    sheet = Sheet(len(shown), f'Sensitivity to {setting}', measured(board, 'Bars'), independent=True)
    bare = [name for axes, one in zip(sheet.axes, shown, strict=True) for name in _panel(axes, one, board)]
    percent_axis(sheet.axes[0])
    if any(entry.greedy for one in shown for entry in one.entries):
        handles.append(handle(_GREEDY, 'greedy run, accuracy'))
    notes = unbanded(list(dict.fromkeys(bare)), 'bar') + note + shared_settings(board)
    figure = sheet.finish(setting, 'percent', handles, notes)
    caption = f'A panel a model, {len(shown)} in all: G-Pass@{board.k} at each value of {setting}.'
    return Drawing(name, sheet.title, caption, figure)


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
