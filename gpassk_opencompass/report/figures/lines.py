"""Lines with their bands, and what is said where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...uncertainty import Interval, Kernel, mean_interval, value_table
from ..leaderboard import Board, Entry
from .drawing import listed
from .lettering import drawable
from .style import FAINT, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


def interval_of(entry: Entry, kernel: Kernel) -> Interval:
    """A metric of a run, for new questions of the same kind."""
    values = value_table(kernel, entry.result.n)[entry.result.counts]
    return mean_interval(values, entry.result.problems, entry.level)


def g_pass(k: int, needed: int) -> Kernel:
    """G-Pass@k where `needed` of the k must be correct; a τ = needed/k, rounded, might ask for one more."""
    return Kernel(f'{needed} of {k}', k, (needed,), (1.0,))


def estimates(intervals: Sequence[Interval]) -> Floats:
    """In percent."""
    return np.array([100 * interval.estimate for interval in intervals])


def draw_line(axes: Axes, x: Sequence[float], intervals: Sequence[Interval], look: Look, label: str) -> bool:
    """A line with its band where the intervals are not refused; whether all of it has one."""
    axes.plot(x, estimates(intervals), **plot_style(look, len(x)), label=label)
    low, high = (
        np.array([100 * getattr(interval, end) for interval in intervals]) for end in ('low', 'high')
    )
    axes.fill_between(x, low, high, color=look.colour, alpha=0.16, linewidth=0)
    return not any(interval.refused for interval in intervals)


def plot_style(look: Look, points: int) -> dict[str, Any]:
    """Arguments of a line; where points are many, only some are marked."""
    style = {'color': look.colour, 'linestyle': look.line, 'marker': look.marker}
    step = max(1, points // 8)
    return {**style, 'markevery': list(range(points - 1, -1, -step))[::-1]} if step > 1 else style


def handle(look: Look, label: str) -> Any:
    """A line of the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **plot_style(look, 1), label=label)


def percent_axis(axes: Axes) -> None:
    """0 to 100, with room for the markers at the ends."""
    axes.set_ylim(-3, 103)
    axes.set_yticks(range(0, 101, 25))


def about(board: Board) -> str:
    """Which questions a figure is about."""
    return f'{drawable(board.title, 80)}: {board.questions} questions from {board.problems} problems.'


def measured(board: Board, what: str = 'Bands') -> str:
    """The same, and what the bands are."""
    return f'{about(board)} {what}: {100 * board.level:g} % intervals for new questions of the same kind.'


def unbanded(labels: Sequence[str], what: str = 'band') -> list[str]:
    """The note about runs of which some points have no interval."""
    if not labels:
        return []
    where = f'No {what} where too few problems are solved or unsolved for an interval that holds'
    return [f'{where}: {listed(labels)}.']


def powers(highest: int, lowest: int = 1) -> list[int]:
    """Powers of two between the two."""
    return [2**i for i in range(highest.bit_length()) if 2**i >= lowest]


def log_axis(axes: Axes, ticks: Sequence[int], highest: int) -> None:
    """A logarithmic x axis from the first tick to the highest number, with the ticks written out."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axes.set_xscale('log', base=2)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FixedFormatter([str(tick) for tick in ticks]))
    axes.set_xlim(ticks[0] / 1.12, highest * 1.12)


def upright(axes: Axes, x: float) -> None:
    """A mark at x from bottom to top."""
    axes.axvline(x, color=FAINT, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1.5)
