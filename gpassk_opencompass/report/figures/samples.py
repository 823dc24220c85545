"""How far a score can be off, over the number of samples n."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ...metrics import mg_pass_name
from ...uncertainty import kernel_of
from ..leaderboard import Board, Entry
from .drawing import LARGEST_DRAWN, Drawing, LeftOut, Sheet, listed, only_first, pages
from .labels import NAME_WIDTH, Labelled, labelled, shared
from .lines import about, log_axis, upright
from .style import INK
from .subsampling import question_error, rerun_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 12
_QUESTIONS, _RERUN = '#b9cfe4', '#2f6da3'


def samples(board: Board) -> Iterator[Drawing | LeftOut]:
    """The half-widths of both intervals of mG-Pass@k with k … n samples a question, a panel a run."""
    able = [run for run in labelled(board, NAME_WIDTH - 7) if run.entry.result.n > board.k]
    if not able:
        yield LeftOut('samples', f'no run has more samples than k = {board.k}: there is no smaller n to show')
        return
    runs = able[:LARGEST_DRAWN]
    metric, subtitle = mg_pass_name(board.k), f'{about(board)} 0 is the score, which stands at each panel.'
    for ending, page in pages(runs):
        sheet = Sheet(len(page), f'How far {metric} can be off, over the number of samples n', subtitle)
        funnels = [_funnel(axes, run, board.k) for axes, run in zip(sheet.axes, page, strict=True)]
        bare = [run.label for run, funnel in zip(page, funnels, strict=True) if not funnel.whole]
        widest = 1.05 * max(funnel.widest for funnel in funnels) or 1.0
        sheet.axes[0].set_ylim(-widest, widest)
        highest = max(run.entry.result.n for run in page)
        log_axis(sheet.axes[0], _ticks(board.k, highest), highest)
        notes = [
            *_notes(board.k, highest),
            *_unbanded(bare),
            *only_first(len(runs), len(able)),
            *shared(board),
        ]
        figure = sheet.finish('samples a question, n', 'points off', _handles(board.level), notes)
        caption = f'Funnels that narrow as n grows from {board.k}: ± in points, around {metric} of each run.'
        yield Drawing(f'samples{ending}', sheet.title, caption, figure)


def sizes(n: int, k: int) -> list[int]:
    """Where a funnel has its points: from k to n, and 3k if that is between."""
    even = {round(size) for size in np.geomspace(k, n, _POINTS)}
    return sorted(even | {size for size in (3 * k,) if size <= n})


def half_widths(entry: Entry, k: int) -> tuple[list[int], NDArray[np.float64], NDArray[np.float64]]:
    """Sizes, and with each the half-width for new questions and that of a rerun, in points."""
    result, kernel = entry.result, kernel_of(mg_pass_name(k))
    points = sizes(result.n, k)
    wide = [question_error(result.counts, result.n, m, kernel, result.problems) for m in points]
    narrow = [rerun_error(result.counts, result.n, m, kernel) for m in points]
    upper = (1 + entry.level) / 2
    student = stats.t.ppf(upper, len(set(result.problems)) - 1)
    return points, 100 * student * np.array(wide), 100 * stats.norm.ppf(upper) * np.array(narrow)


class _Funnel(NamedTuple):
    widest: float
    whole: bool
    """With the interval for new questions."""


def _funnel(axes: Axes, run: Labelled, k: int) -> _Funnel:
    """Draw one panel."""
    interval = run.entry.interval(mg_pass_name(k))
    axes.set_title(f'{run.label}: {100 * interval.estimate:.2f}')
    upright(axes, 3 * k)
    points, wide, narrow = half_widths(run.entry, k)
    if not interval.refused:
        _band(axes, points, wide, _QUESTIONS, '-')
    _band(axes, points, narrow, _RERUN, '--')
    axes.axhline(0, color=INK, linewidth=0.8)
    return _Funnel(float(max(narrow if interval.refused else wide)), not interval.refused)


def _band(axes: Axes, points: list[int], half: NDArray[np.float64], colour: str, line: str) -> None:
    axes.fill_between(points, -half, half, color=colour, linewidth=0, alpha=0.85)
    for side in (half, -half):
        axes.plot(points, side, color=INK, linewidth=0.7, linestyle=line)


def _handles(level: float) -> list[Any]:
    from matplotlib.patches import Patch

    share = f'{100 * level:g} %'
    return [
        Patch(color=_QUESTIONS, label=f'{share}, new questions'),
        Patch(color=_RERUN, label=f'{share}, same questions again'),
    ]


def _notes(k: int, highest: int) -> list[str]:
    line = [f'The upright line: n = 3k = {3 * k}.'] if highest >= 3 * k else []
    return [
        *line,
        'Both widths follow from the counts, nothing is drawn at random; the score does not depend on n.',
    ]


def _unbanded(labels: list[str]) -> list[str]:
    if not labels:
        return []
    return [f'No interval for new questions (too few problems solved or unsolved): {listed(labels)}.']


def _ticks(k: int, n: int) -> list[int]:
    factors = [1, 2, 3, *(2**i for i in range(2, 12))]
    ticks = [factor * k for factor in factors if factor * k <= n]
    return [*ticks, n] if n > 1.15 * ticks[-1] else ticks
