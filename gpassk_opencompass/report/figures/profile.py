"""The tail profile: G-Pass@k_τ over all τ, with a band that holds for the whole curve at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...uncertainty import TailProfile
from ...uncertainty.profile import LARGEST_K
from ..leaderboard import Board, Entry
from ..stability import profile_of_entry
from .chosen import chosen
from .drawing import Drawing, LeftOut, Sheet, about, counted, handle, percent_axis, plot_style, unbanded
from .labels import shared_settings
from .style import FAINT, LOOKS, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVE = LOOKS[0]
_OTHERS = Look(FAINT, ':', '')


def profile(board: Board) -> Iterator[Drawing | LeftOut]:
    """Draw a panel a run: its curve, the band of the curve, within it the intervals of single points."""
    if board.k > LARGEST_K:
        yield LeftOut('profile', f'k = {board.k} has more than {LARGEST_K:,} thresholds')
        return
    found = chosen(board)
    level = f'{100 * board.level:g} %'
    subtitle = f'{about(board)} Light: a {level} band for the whole curve; dark: of each point alone.'
    sheet = Sheet(len(found.runs), f'Tail profile: G-Pass@{board.k}_τ at every τ', subtitle)
    # Runs with the same counts have one profile: none lies behind the other.
    known = {_counted(run.entry): profile_of_entry(board, run.entry) for run in found.runs}
    profiles = [known[_counted(run.entry)] for run in found.runs]
    for axes, run, one in zip(sheet.axes, found.runs, profiles, strict=True):
        axes.set_title(run.label)
        for other in profiles:
            if other is not one:
                axes.plot(other.thresholds, 100 * other.estimates, color=FAINT, linestyle=':', linewidth=0.6)
        _draw(axes, one)
    percent_axis(sheet.axes[0])
    sheet.axes[0].set_xlim(0, 1.02)
    sheet.axes[0].set_xticks([0, 0.25, 0.5, 0.75, 1], ['0', '0.25', '0.5', '0.75', '1'])
    bare = [run.label for run, one in zip(found.runs, profiles, strict=True) if any(one.refused)]
    handles = [handle(_CURVE, f'G-Pass@{board.k}_τ')]
    handles += [handle(_OTHERS, 'the other runs')] if len(profiles) > 1 else []
    figure = sheet.finish(
        'τ',
        f'G-Pass@{board.k}_τ, percent',
        handles,
        [*unbanded(bare), *found.note, *shared_settings(board)],
    )
    runs = counted(len(found.runs), 'run')
    caption = f'A panel a run, {runs}: a curve that falls as τ grows, within a band for all of it at once.'
    yield Drawing('profile', sheet.title, caption, figure)


def _counted(entry: Entry) -> tuple[tuple[int, ...], int, tuple[str, ...]]:
    result = entry.result
    return tuple(result.counts.tolist()), result.n, tuple(result.problems)


def _draw(axes: Axes, one: TailProfile) -> None:
    x = one.thresholds
    axes.fill_between(x, 100 * one.low, 100 * one.high, color=_CURVE.colour, alpha=0.16, linewidth=0)
    low, high = ([100 * getattr(point, end) for point in one.intervals] for end in ('low', 'high'))
    axes.fill_between(x, low, high, color=_CURVE.colour, alpha=0.25, linewidth=0)
    axes.plot(x, 100 * one.estimates, **plot_style(_CURVE, len(x)))
