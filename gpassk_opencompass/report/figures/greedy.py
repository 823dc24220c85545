"""Greedy runs beside sampled ones: what a model can do once, and how much of it every time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...metrics import ACCURACY, Metric
from ...uncertainty import Comparison, compare
from ..leaderboard import Board, Entry
from .chosen import HOW, Chosen, chosen
from .drawing import (
    Drawing,
    Floats,
    LeftOut,
    about,
    counted,
    handle,
    more_room,
    write_around,
)
from .labels import Labelled, labelled, shared_settings
from .style import FAINT, LOOKS, METRIC_LOOKS, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED = 30
"""Runs with a number and a name, as many as stand beside the panel."""

NO_GREEDY = 'no greedy run (temperature 0) stands beside a sampled one'

_LEFT, _SIDE, _TOP, _LIST, _ROW, _FOOT = 0.62, 4.9, 0.66, 3.1, 0.152, 0.85
_ANGLES = np.deg2rad(np.arange(45, 405, 45))

ROWS = 40

_GREEDY = Look(LOOKS[1].colour, '', 'D')
_ALL = Look(METRIC_LOOKS['all'].colour, '', 'o')
_LABELS, _LINES, _NUMBERS, _HEAD, _LINE, _BELOW = 2.35, 4.6, 1.5, 0.66, 0.19, 1.15


def potential(board: Board) -> Iterator[Drawing | LeftOut]:
    """Draw the accuracy of the greedy run across, mG-Pass@k upwards."""
    runs = with_greedy(board)
    if not runs:
        yield LeftOut('potential', NO_GREEDY)
        return
    from matplotlib.figure import Figure

    metric, found = board.ranked_by, _named(board, runs)
    width, notes = _LEFT + _SIDE + 0.25 + _LIST, _notes(board, found)
    foot = _FOOT + more_room(notes, width)
    height = _TOP + _SIDE + foot
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((_LEFT / width, foot / height, _SIDE / width, _SIDE / height))
    named = points_of([run.entry for run in found.runs], metric)
    others = points_of([run.entry for run in found.others], metric)
    bars = bars_of([run.entry for run in found.runs], metric)
    low, high = _limits([*named.ravel(), *others.ravel(), *bars[:, 1:].ravel()])
    axes.set(xlim=(low, high), ylim=(low, high))
    axes.set(xlabel='greedy accuracy, percent', ylabel=f'{metric}, percent')
    axes.plot([low, high], [low, high], color=FAINT, linewidth=0.8, linestyle=(0, (4, 2)), label='equal')
    axes.vlines(*bars.T, color=LOOKS[0].colour, linewidth=0.6, alpha=0.55)
    _draw_points(axes, named, others)
    title = f'Greedy accuracy against {metric}: potential and stability'
    _write_names(figure, found)
    subtitle = f'{about(board)} On the line a model is as good every time as once.'
    write_around(figure, title, subtitle, notes)
    points = counted(len(runs), 'point')
    caption = f'{points}, greedy accuracy across and {metric} upwards, nearly all below the line.'
    yield Drawing('potential', title, caption, figure)


def _named(board: Board, runs: Sequence[Labelled]) -> Chosen:
    """Return the runs that have a name: those asked for, else the best of each of the first models."""
    if board.picked:
        return chosen(board, runs, NAMED)
    best = [runs[place] for place in best_places(runs)]
    note = f'Named: the first {NAMED} of {len(best)} models. {HOW}'
    named = {id(run) for run in best[:NAMED]}
    others = [run for run in runs if id(run) not in named]
    return Chosen(best[:NAMED], others, [note] if len(best) > NAMED else [])


def with_greedy(board: Board) -> list[Labelled]:
    """Return the runs beside which a greedy run stands, in the order of the table."""
    return [run for run in labelled(board) if run.entry.greedy]


def points_of(entries: Sequence[Entry], metric: Metric) -> Floats:
    """Return greedy accuracy and the metric of each run, in percent, of shape (entries, 2)."""
    pairs = [(e.greedy.values(ACCURACY).mean(), e.result.values(metric).mean()) for e in entries if e.greedy]
    return np.array([(100.0 * x, 100.0 * y) for x, y in pairs], dtype=np.float64).reshape(-1, 2)


def bars_of(entries: Sequence[Entry], metric: Metric) -> Floats:
    """Return where bars stand and their ends, the intervals for new questions; percent, (bars, 3)."""
    intervals = [entry.interval(metric) for entry in entries]
    bars = [
        (x, 100 * interval.low, 100 * interval.high)
        for (x, _), interval in zip(points_of(entries, metric), intervals, strict=True)
        if not interval.refused
    ]
    return np.array(bars, dtype=np.float64).reshape(-1, 3)


def free_places(points: Floats, chosen: Sequence[int], radius: float, limits: tuple[float, float]) -> Floats:
    """Return where the chosen points have their numbers: close by, clear of points and other numbers.

    Each takes the first place on rings around its point at which nothing is nearer than `radius`, or the
    place with most room if there is none; all places lie within the limits of the axes.
    """
    circle = np.array([np.cos(_ANGLES), np.sin(_ANGLES)]).T
    rings = np.concatenate([radius * size * circle for size in (1.0, 1.7, 2.4, 3.2)])
    taken, places = [*points], []
    low, high = limits[0] + radius / 2, limits[1] - radius / 2
    for point in points[list(chosen)]:
        offers = np.clip(point + rings, low, high)
        room = np.min(np.hypot(*(offers[:, None] - np.array(taken)).transpose(2, 0, 1)), axis=1)
        free = np.flatnonzero(room >= 0.93 * radius)
        places.append(offers[free[0] if free.size else int(room.argmax())])
        taken.append(places[-1])
    return np.array(places)


def _draw_points(axes: Axes, named: Floats, others: Floats) -> None:
    colour = LOOKS[0].colour
    axes.plot(*others.T, 'o', color=colour, markersize=3, markerfacecolor='white', label='others')
    axes.plot(*named.T, 'o', color=colour, markersize=4, label='named')
    limits = axes.get_xlim()
    points = np.concatenate([named, others])
    places = free_places(points, range(len(named)), 0.16 * (limits[1] - limits[0]) / _SIDE, limits)
    for number, (point, place) in enumerate(zip(named, places, strict=True), 1):
        axes.plot(*np.array([point, place]).T, color=FAINT, linewidth=0.4, zorder=1)
        box = {'boxstyle': 'round,pad=0.1', 'facecolor': 'white', 'edgecolor': 'none', 'alpha': 0.85}
        axes.text(place[0], place[1], str(number), size=7, ha='center', va='center', bbox=box)


def _limits(ends: Sequence[float]) -> tuple[float, float]:
    """Return whole tens around all that is drawn, the same on both axes."""
    return np.floor(min(ends) / 10) * 10 - 3, np.ceil(max(ends) / 10) * 10 + 3


def _write_names(figure: Figure, found: Chosen) -> None:
    width, height = figure.get_size_inches()
    for row, run in enumerate(found.runs):
        x, y = (_LEFT + _SIDE + 0.45) / width, 1 - (_TOP + _ROW * row) / height
        figure.text(x - 0.06 / width, y, str(row + 1), size=7, va='top', ha='right')
        figure.text(x, y, run.label, size=7, va='top')


def _notes(board: Board, found: Chosen) -> list[str]:
    shown = len(found.runs) + len(found.others)
    return [
        f'Upright bars: {100 * board.level:g} % intervals for new questions, where they are not refused.',
        *(['Hollow: the other runs.'] if found.others else []),
        *found.note,
        *without_greedy(board, shown),
        *shared_settings(board),
    ]


def best_places(runs: Sequence[Labelled]) -> list[int]:
    """Return where in the runs, which are in the order of the table, the first one of each model stands."""
    first: dict[str, int] = {}
    for place, run in enumerate(runs):
        first.setdefault(run.entry.model, place)
    return list(first.values())


def without_greedy(board: Board, drawn: int) -> list[str]:
    """Return the note about runs beside which no greedy run stands."""
    missing = len(board.entries) - drawn
    return [f'Without a greedy run, so not here: {missing}.'] if missing else []


class Gap(NamedTuple):
    """A run, and its greedy accuracy less its G-Pass@k_1.0 on the same questions."""

    run: Labelled
    difference: Comparison


def gap(board: Board) -> Iterator[Drawing | LeftOut]:
    """Draw greedy accuracy less G-Pass@k_1.0, the largest gap first, with its paired interval."""
    found = chosen(board, with_greedy(board), ROWS)
    if not found.runs:
        yield LeftOut('gap', NO_GREEDY)
        return
    metric = Metric.g_pass_at(board.k, 1.0)
    title = f'The gap between greedy accuracy and {metric}'
    gaps = gaps_of(found.runs, metric)
    shown = len(found.runs) + len(found.others)
    notes = [
        f'Right: the gap in points, and its {100 * board.level:g} % interval, paired by problem.',
        *found.note,
        *without_greedy(board, shown),
        *shared_settings(board),
    ]
    figure = _sheet(gaps, metric, notes)
    write_around(figure, title, about(board), notes)
    runs = counted(len(gaps), 'run')
    caption = f'{runs}, each from {metric} to its greedy accuracy, the largest gap first.'
    yield Drawing('gap', title, caption, figure)


def gaps_of(runs: Sequence[Labelled], metric: Metric) -> list[Gap]:
    """Return the gap of each run, largest first; paired by question, clustered by problem."""
    found = []
    for run in runs:
        sampled, greedy = run.entry.result, run.entry.greedy or run.entry.result
        once = greedy.values(ACCURACY)[greedy.rows_of(sampled.uids)]
        found.append(
            Gap(
                run,
                compare(
                    once,
                    sampled.values(metric),
                    sampled.problems,
                    run.entry.level,
                    run.entry.strata_of_questions,
                ),
            )
        )
    return sorted(found, key=lambda one: -one.difference.difference)


def _sheet(gaps: Sequence[Gap], metric: Metric, notes: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure

    width = _LABELS + _LINES + _NUMBERS
    more = more_room(notes, width)
    height = _HEAD + _LINE * len(gaps) + _BELOW + more
    figure = Figure(figsize=(width, height))
    box = (_LABELS / width, (_BELOW + more) / height, _LINES / width, _LINE * len(gaps) / height)
    axes = figure.add_axes(box)
    axes.set(xlim=(0, 100), ylim=(len(gaps) - 0.5, -0.5), xlabel='percent')
    axes.set_yticks(range(len(gaps)), [one.run.label for one in gaps])
    axes.tick_params(axis='y', length=0)
    _rows(axes, gaps, metric)
    handles = [handle(_ALL, str(metric)), handle(_GREEDY, 'greedy accuracy')]
    corner = (0.12 / width, (0.38 + more) / height)
    figure.legend(handles=handles, loc='lower left', bbox_to_anchor=corner, ncols=2)
    return figure


def _rows(axes: Axes, gaps: Sequence[Gap], metric: Metric) -> None:
    for row, (run, difference) in enumerate(gaps):
        stable = 100 * float(run.entry.result.values(metric).mean())
        once = stable + 100 * difference.difference
        axes.plot([stable, once], [row, row], color=FAINT, linewidth=2.2, solid_capstyle='butt')
        axes.plot(stable, row, marker=_ALL.marker, color=_ALL.colour, markersize=4.5, clip_on=False)
        axes.plot(once, row, marker=_GREEDY.marker, color=_GREEDY.colour, markersize=4.5, clip_on=False)
        where = axes.get_yaxis_transform()  # across: of the panel; down: of the rows
        axes.text(1.27, row, told(difference), transform=where, va='center', ha='right', size=7)


def told(difference: Comparison) -> str:
    """Return the gap in points with its interval, or without one where that is refused."""
    points = f'{100 * difference.difference:.2f}'
    if difference.refused:
        return f'{points}  no interval'
    return f'{points}  [{100 * difference.low:.1f}, {100 * difference.high:.1f}]'
