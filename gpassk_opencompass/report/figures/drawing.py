"""What a figure gives: drawings, or the reason why there is none; the paper that they stand on, and lines."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...uncertainty import Interval
from ..leaderboard import Board
from .labels import columns, drawable
from .style import FAINT, QUIET, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TOP, _SUBTITLE_ROW, _TITLE_ROW, _NOTE_ROW, _LEGEND_ROW = 0.34, 0.15, 0.3, 0.145, 0.24
_LEFT, _RIGHT, _AXIS, _GAP = 0.62, 0.2, 0.48, 0.18
_TICKS = 0.17
_LETTER = 0.066
"""Width of a letter in a legend, in inches."""

Floats = NDArray[np.float64]

BEHIND: dict[str, Any] = {'color': QUIET, 'linewidth': 0.6, 'zorder': 1}
"""Lines of runs that are there to compare with: without a name."""


@dataclass(frozen=True)
class Drawing:
    """A figure with the name of its files (without ending) and what a reader who cannot see it is told."""

    name: str
    title: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class LeftOut:
    """A figure that would have nothing to show."""

    name: str
    reason: str


@dataclass(frozen=True)
class Paper:
    """Measures of a sheet with panels, in inches."""

    columns: int
    width: float
    height: float

    @classmethod
    def of(cls, panels: int) -> Paper:
        """Return the measures for a number of panels: the fewer, the larger."""
        for most, in_a_row, width, height in (
            (1, 1, 6.0, 3.6),
            (2, 2, 3.9, 2.9),
            (3, 3, 2.9, 2.3),
            (4, 2, 3.9, 2.5),
            (6, 3, 2.9, 2.3),
        ):
            if panels <= most:
                return cls(in_a_row, width, height)
        return cls(4, 2.35, 1.75)


class Sheet:
    """A figure with a title, panels in rows, a legend and notes below.

    Args:
        panels: how many.
        title, subtitle: of the figure.
        independent: the panels do not share their x axis.
        own_y: nor their y axis.

    Limits of the axes are to be set; they do not follow the lines.
    """

    def __init__(
        self,
        panels: int,
        title: str,
        subtitle: str,
        independent: bool = False,
        own_y: bool = False,
    ) -> None:
        from matplotlib.figure import Figure

        self.paper = Paper.of(panels)
        self.columns = self.paper.columns
        self.rows = -(-panels // self.columns)
        self._gap = _LEFT if own_y else _GAP
        self.width = _LEFT + _RIGHT + self.columns * (self.paper.width + self._gap) - self._gap
        self.title = title
        self.figure: Figure = Figure(figsize=(self.width, 1.0))
        self._subtitle = _wrapped(subtitle, self.width * 15)
        self._top = _TOP + _SUBTITLE_ROW * len(self._subtitle)
        self.axes: list[Axes] = []
        self.independent, self.own_y = independent, own_y
        for number in range(panels):
            first = self.axes[0] if self.axes else None
            x, y = None if independent else first, None if own_y else first
            axes = self.figure.add_axes((0.1, 0.1, 0.8, 0.8), label=str(number), sharex=x, sharey=y)
            axes.set_autoscale_on(False)  # limits are set once: with many panels that share them it is slow
            self.axes.append(axes)

    def finish(
        self, x_label: str, y_label: str, handles: Sequence[Any] = (), notes: Sequence[str] = ()
    ) -> Figure:
        """Put everything in its place.

        Args:
            x_label, y_label: stand at the axes that have numbers, those of the outer panels.
            handles: of the legend; none: no legend.
            notes: sentences at the foot.
        """
        longest = max((columns(str(one.get_label())) for one in handles), default=0)
        per_row = max(1, int((self.width - 0.12) // max(1.75, 0.62 + _LETTER * longest)))
        legend = _LEGEND_ROW * -(-len(handles) // per_row) + 0.06 if handles else 0.0
        lines = [line for note in notes for line in _wrapped(note, self.width * 17.5)]
        foot = legend + _NOTE_ROW * len(lines) + 0.1
        height = self._top + self.rows * self._pitch + _AXIS + foot
        self.figure.set_size_inches(self.width, height)
        for number, axes in enumerate(self.axes):
            self._place(axes, number, height)
            self._label(axes, number, x_label, y_label)
        texts = ((self.title, 0.12, 10.5), ('\n'.join(self._subtitle), 0.34, 8.0))
        for text, down, size in texts:
            self.figure.text(0.12 / self.width, 1 - down / height, text, size=size, va='top')
        if handles:
            bottom = (foot - legend) / height
            anchor = (0.12 / self.width, bottom)
            self.figure.legend(handles=handles, loc='lower left', bbox_to_anchor=anchor, ncols=per_row)
        notes_top = (foot - legend - 0.02) / height
        self.figure.text(0.12 / self.width, notes_top, '\n'.join(lines), size=7, va='top', color='#444444')
        return self.figure

    @property
    def _pitch(self) -> float:
        """From one row of panels to the next."""
        return self.paper.height + _TITLE_ROW + (_TICKS if self.independent else 0.0)

    def _place(self, axes: Axes, number: int, height: float) -> None:
        row, column = divmod(number, self.columns)
        left = _LEFT + column * (self.paper.width + self._gap)
        top = height - self._top - _TITLE_ROW - row * self._pitch
        box = left, top - self.paper.height, self.paper.width, self.paper.height
        unit = self.width, height, self.width, height
        x, y, width, tall = (part / whole for part, whole in zip(box, unit, strict=True))
        axes.set_position((x, y, width, tall))

    def _label(self, axes: Axes, number: int, x_label: str, y_label: str) -> None:
        lowest = number + self.columns >= len(self.axes)
        below = lowest or self.independent
        beside = self.own_y or number % self.columns == 0
        axes.tick_params(labelbottom=below, labelleft=beside)
        axes.tick_params(color=FAINT, length=2.5)
        if lowest:
            axes.set_xlabel(x_label)
        if beside:
            axes.set_ylabel(y_label)


def write_around(figure: Figure, title: str, subtitle: str, notes: Sequence[str]) -> None:
    """Write title, subtitle and notes of a figure without panels.

    There is room for two lines each where the figure has no `more_room`.
    """
    width, height = figure.get_size_inches()
    below = '\n'.join(_wrapped(subtitle, width * 15))
    for text, down, size in ((title, 0.12, 10.5), (below, 0.34, 8.0)):
        figure.text(0.12 / width, 1 - down / height, text, size=size, va='top')
    foot = '\n'.join(_foot(notes, width))
    figure.text(0.12 / width, 0.1 / height, foot, size=7, va='bottom', color='#444444')


def more_room(notes: Sequence[str], width: float) -> float:
    """Return the height that notes of more than two lines take, in inches."""
    return _NOTE_ROW * max(0, len(_foot(notes, width)) - 2)


def _foot(notes: Sequence[str], width: float) -> list[str]:
    return _wrapped(' '.join(notes), width * 17.5)


def counted(number: int, what: str) -> str:
    """Return a number of things in words: '1 run', '2 runs'."""
    return f'{number} {what}' if number == 1 else f'{number} {what}s'


def _wrapped(text: str, columns: float) -> list[str]:
    return textwrap.wrap(text, int(columns), break_on_hyphens=False)


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return a few names, and how many more there are."""
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(name.replace(' ', '\u00a0') for name in names[:most]) + more


def estimates(intervals: Sequence[Interval]) -> Floats:
    """Return the estimates in percent."""
    return np.array([100 * interval.estimate for interval in intervals])


def draw_line(
    axes: Axes, x: Sequence[float], intervals: Sequence[Interval], look: Look, label: str, band: float = 0.16
) -> bool:
    """Draw a line with its band where intervals are not refused; return whether all of it has one.

    Args:
        band: how opaque it is.
    """
    axes.plot(x, estimates(intervals), **plot_style(look, len(x)), label=label)
    low, high = (
        np.array([100 * getattr(interval, end) for interval in intervals]) for end in ('low', 'high')
    )
    axes.fill_between(x, low, high, color=look.colour, alpha=band, linewidth=0)
    return not any(interval.refused for interval in intervals)


def plot_style(look: Look, points: int) -> dict[str, Any]:
    """Return the arguments of a line; where points are many, only some are marked."""
    style = {'color': look.colour, 'linestyle': look.line, 'marker': look.marker}
    step = max(1, points // 8)
    return {**style, 'markevery': list(range(points - 1, -1, -step))[::-1]} if step > 1 else style


def handle(look: Look, label: str) -> Any:
    """Return a line of the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **plot_style(look, 1), label=label)


def percent_axis(axes: Axes) -> None:
    """Show 0 to 100, with room for the markers at the ends."""
    axes.set_ylim(-3, 103)
    axes.set_yticks(range(0, 101, 25))


def about(board: Board) -> str:
    """Say which questions a figure is about."""
    return f'{drawable(board.title, 80)}: {board.questions} questions from {board.problems} problems.'


def measured(board: Board, what: str = 'Bands') -> str:
    """Say which questions a figure is about, and what its bands are."""
    return f'{about(board)} {what}: {100 * board.level:g} % intervals for new questions of the same kind.'


def unbanded(labels: Sequence[str], what: str = 'band') -> list[str]:
    """Return the note about runs of which some points have no interval."""
    if not labels:
        return []
    where = f'No {what} where too few problems are solved or unsolved for an interval that holds'
    return [f'{where}: {listed(labels)}.']


def log_axis(axes: Axes, ticks: Sequence[int], highest: int) -> None:
    """Make the x axis logarithmic, from the first tick to the highest number, with the ticks written out."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axes.set_xscale('log', base=2)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FixedFormatter([str(tick) for tick in ticks]))
    axes.set_xlim(ticks[0] / 1.12, highest * 1.12)


def upright(axes: Axes, x: float) -> None:
    """Draw a line at x from bottom to top."""
    axes.axvline(x, color=FAINT, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1.5)
