"""What is lost from one greedy answer to k right ones of k: much, where answers are remembered or lucky."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...metrics import g_pass_name
from ...uncertainty import Comparison, compare
from ..leaderboard import Board
from .drawing import LARGEST_DRAWN, Drawing, LeftOut, counted, only_first, pages, write_around
from .labels import Labelled, shared
from .lines import about, handle
from .potential import NO_GREEDY, with_greedy, without_greedy
from .style import FAINT, METRIC_LOOKS, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROWS = 40

_GREEDY = Look('#d55e00', '', 'D')
_ALL = Look(METRIC_LOOKS['all'].colour, '', 'o')
_LEFT, _WIDTH, _NUMBERS, _TOP, _ROW, _FOOT = 2.35, 4.6, 1.5, 0.66, 0.19, 1.15


class Gap(NamedTuple):
    """A run, and its greedy accuracy less its G-Pass@k_1.0 on the same questions."""

    run: Labelled
    difference: Comparison


def gap(board: Board) -> Iterator[Drawing | LeftOut]:
    """Greedy accuracy less G-Pass@k_1.0, the largest gap first, with its paired interval."""
    runs = with_greedy(board)[:LARGEST_DRAWN]
    if not runs:
        yield LeftOut('gap', NO_GREEDY)
        return
    metric = g_pass_name(board.k, 1.0)
    title = f'The gap between greedy accuracy and {metric}'
    gaps = gaps_of(runs, metric)
    for ending, page in pages(gaps, ROWS):
        figure = _sheet(board, page, metric, title)
        caption = (
            f'{counted(len(page), "run")}, each from {metric} to its greedy accuracy, the largest gap first.'
        )
        yield Drawing(f'gap{ending}', title, caption, figure)


def gaps_of(runs: Sequence[Labelled], metric: str) -> list[Gap]:
    """The gap of each run, largest first; paired by question, clustered by problem."""
    found = []
    for run in runs:
        sampled, greedy = run.entry.result, run.entry.greedy or run.entry.result
        once = greedy.values('accuracy')[greedy.rows_of(sampled.uids)]
        found.append(Gap(run, compare(once, sampled.values(metric), sampled.problems, run.entry.level)))
    return sorted(found, key=lambda one: -one.difference.difference)


def _sheet(board: Board, gaps: Sequence[Gap], metric: str, title: str) -> Figure:
    from matplotlib.figure import Figure

    width, height = _LEFT + _WIDTH + _NUMBERS, _TOP + _ROW * len(gaps) + _FOOT
    figure = Figure(figsize=(width, height))
    box = (_LEFT / width, _FOOT / height, _WIDTH / width, _ROW * len(gaps) / height)
    axes = figure.add_axes(box)
    axes.set(xlim=(0, 100), ylim=(len(gaps) - 0.5, -0.5), xlabel='percent')
    axes.set_yticks(range(len(gaps)), [one.run.label for one in gaps])
    axes.tick_params(axis='y', length=0)
    _rows(axes, gaps, metric)
    handles = [handle(_ALL, metric), handle(_GREEDY, 'greedy accuracy')]
    corner = (0.12 / width, 0.38 / height)
    figure.legend(handles=handles, loc='lower left', bbox_to_anchor=corner, ncols=2)
    _write(figure, board, title)
    return figure


def _rows(axes: Axes, gaps: Sequence[Gap], metric: str) -> None:
    for row, (run, difference) in enumerate(gaps):
        stable = 100 * float(run.entry.result.values(metric).mean())
        once = stable + 100 * difference.difference
        axes.plot([stable, once], [row, row], color=FAINT, linewidth=2.2, solid_capstyle='butt')
        axes.plot(stable, row, marker=_ALL.marker, color=_ALL.colour, markersize=4.5, clip_on=False)
        axes.plot(once, row, marker=_GREEDY.marker, color=_GREEDY.colour, markersize=4.5, clip_on=False)
        where = axes.get_yaxis_transform()  # across: of the panel; down: of the rows
        axes.text(1.27, row, told(difference), transform=where, va='center', ha='right', size=7)


def told(difference: Comparison) -> str:
    """The gap in points with its interval, or without one where that is refused."""
    points = f'{100 * difference.difference:.2f}'
    if difference.refused:
        return f'{points}  no interval'
    return f'{points}  [{100 * difference.low:.1f}, {100 * difference.high:.1f}]'


def _write(figure: Figure, board: Board, title: str) -> None:
    notes = [f'Right: the gap in points, and its {100 * board.level:g} % interval, paired by problem.']
    able = len(with_greedy(board))
    notes += only_first(min(able, LARGEST_DRAWN), able)
    notes += without_greedy(board, able) + shared(board)
    write_around(figure, title, about(board), notes)
