"""G-Pass@k over a sampling setting, a panel for each model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...metrics import g_pass_name, mg_pass_name
from ...uncertainty import Interval
from ..leaderboard import Board, Entry
from ..table import SHOWN_THRESHOLDS
from .drawing import LARGEST_DRAWN, Drawing, LeftOut, Sheet, only_first, pages
from .labels import NAME_WIDTH, settings_of, shared, varying, written
from .lettering import drawable
from .lines import Floats, estimates, handle, measured, percent_axis, plot_style, unbanded
from .style import FAINT, METRIC_LOOKS, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VARIED = ('temperature', 'top_p', 'top_k', 'repetition_penalty')
"""The settings that have a figure each."""

_GREEDY = Look(FAINT, ':', '')
_DODGE = 0.07
"""Between the bars of two metrics, so that none hides another."""


class Series(NamedTuple):
    """Runs of one model that differ in one setting alone, by its value."""

    model: str
    others: str
    """The settings that they share, where the model has several series."""
    values: list[float]
    entries: list[Entry]


def sensitivity(board: Board) -> Iterator[Drawing | LeftOut]:
    """A figure for each setting that some model was run with two values of, all others the same."""
    for setting in VARIED:
        found = series(board, setting)
        name = f'sensitivity-{setting.replace("_", "-")}'
        if found:
            yield from _figures(board, setting, name, found)
        else:
            yield LeftOut(name, f'no model has two runs that differ in {setting} alone')


def series(board: Board, setting: str) -> list[Series]:
    """What the panels of one figure hold, models in the order of the table."""
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


def lines_of(k: int) -> list[tuple[str, Look]]:
    """The metrics of a panel and how they look."""
    looks = [METRIC_LOOKS[kind] for kind in ('half', 'most', 'all', 'mean')]
    return list(
        zip([*(g_pass_name(k, tau) for tau in SHOWN_THRESHOLDS), mg_pass_name(k)], looks, strict=True)
    )


def _figures(board: Board, setting: str, name: str, found: list[Series]) -> Iterator[Drawing]:
    drawn = found[:LARGEST_DRAWN]
    handles = [handle(look, metric) for metric, look in lines_of(board.k)]
    for ending, page in pages(drawn):
        sheet = Sheet(len(page), f'Sensitivity to {setting}', measured(board, 'Bars'), independent=True)
        bare = []
        for axes, one in zip(sheet.axes, page, strict=True):
            bare += _panel(axes, one, board.k)
        percent_axis(sheet.axes[0])
        greedy = any(entry.greedy for one in page for entry in one.entries)
        shown = [*handles, handle(_GREEDY, 'greedy run, accuracy')] if greedy else handles
        notes = unbanded(list(dict.fromkeys(bare)), 'bar')
        notes += only_first(len(drawn), len(found), 'series') + shared(board)
        figure = sheet.finish(setting, 'percent', shown, notes)
        caption = f'A panel a model, {len(page)} in all: G-Pass@{board.k} at each value of {setting}.'
        yield Drawing(f'{name}{ending}', sheet.title, caption, figure)


def _panel(axes: Axes, one: Series, k: int) -> list[str]:
    """Draw one series, its values evenly spread; the names of runs without an interval."""
    bare, lines = [], lines_of(k)
    for number, (metric, look) in enumerate(lines):
        x = np.arange(len(one.values)) + _DODGE * (number - (len(lines) - 1) / 2)
        intervals = [entry.interval(metric) for entry in one.entries]
        axes.plot(x, estimates(intervals), **plot_style(look, len(x)), label=metric)
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
