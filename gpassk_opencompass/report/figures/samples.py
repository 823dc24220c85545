"""How far a score can be off, over the number of samples n, exactly, from the counts of one run.

A subset of m of the n answers to a question has C ~ Hypergeometric(n, c, m) correct ones. The mean of the
metric over all subsets is the metric of the n answers, whatever m is; what depends on m is how much it
varies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ...metrics import Metric
from ...uncertainty import mean_interval, value_table
from ...uncertainty.rerun import rerun_variance, subset_squares
from ..leaderboard import Board, Entry
from .drawing import (
    LARGEST_DRAWN,
    Drawing,
    Floats,
    LeftOut,
    Sheet,
    about,
    listed,
    log_axis,
    only_first,
    pages,
    upright,
)
from .labels import NAME_WIDTH, Labelled, labelled, shared
from .style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 12
_QUESTIONS, _RERUN = '#b9cfe4', '#2f6da3'

Counts = NDArray[np.integer[Any]]


def samples(board: Board) -> Iterator[Drawing | LeftOut]:
    """Draw the half-widths of both intervals of mG-Pass@k with k … n samples a question, a panel a run."""
    able = [run for run in labelled(board, NAME_WIDTH - 7) if run.entry.result.n > board.k]
    if not able:
        yield LeftOut('samples', f'no run has more samples than k = {board.k}: there is no smaller n to show')
        return
    runs = able[:LARGEST_DRAWN]
    metric = board.ranked_by
    subtitle = f'{about(board)} 0 is the score, which stands at each panel.'
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
    """Return where a funnel has its points: from k to n, and 3k if that is between."""
    even = {round(size) for size in np.geomspace(k, n, _POINTS)}
    return sorted(even | {size for size in (3 * k,) if size <= n})


def half_widths(entry: Entry, k: int) -> tuple[list[int], Floats, Floats]:
    """Return sizes, and with each the half-width for new questions and that of a rerun, in points."""
    result, metric = entry.result, Metric.mg_pass_at(k)
    points = sizes(result.n, k)
    wide = [question_error(result.counts, result.n, m, metric, result.problems) for m in points]
    narrow = [rerun_error(result.counts, result.n, m, metric) for m in points]
    upper = (1 + entry.level) / 2
    student = stats.t.ppf(upper, len(set(result.problems)) - 1)
    return points, 100 * student * np.array(wide), 100 * stats.norm.ppf(upper) * np.array(narrow)


class _Funnel(NamedTuple):
    widest: float
    whole: bool
    """With the interval for new questions."""


def _funnel(axes: Axes, run: Labelled, k: int) -> _Funnel:
    """Draw one panel."""
    interval = run.entry.interval(Metric.mg_pass_at(k))
    axes.set_title(f'{run.label}: {100 * interval.estimate:.2f}')
    upright(axes, 3 * k)
    points, wide, narrow = half_widths(run.entry, k)
    if not interval.refused:
        _band(axes, points, wide, _QUESTIONS, '-')
    _band(axes, points, narrow, _RERUN, '--')
    axes.axhline(0, color=INK, linewidth=0.8)
    return _Funnel(float(max(narrow if interval.refused else wide)), not interval.refused)


def _band(axes: Axes, points: list[int], half: Floats, colour: str, line: str) -> None:
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


def subset_variances(metric: Metric, n: int, m: int) -> Floats:
    """Return the variance of a question's value over all subsets of m of its n answers, for c = 0 … n.

    >>> subset_variances(Metric.parse('accuracy'), 4, 1)
    array([0.    , 0.1875, 0.25  , 0.1875, 0.    ])
    """
    return np.maximum(subset_squares(metric, n, m) - value_table(metric, n) ** 2, 0.0)


def question_error(c: Counts, n: int, m: int, metric: Metric, problems: Sequence[str]) -> float:
    """Return the standard error for new questions with m samples each: root mean square over all subsets.

    It is that of `mean_interval`, clustered by source problem, with m = n. For m < n the mean of its square
    over the subsets: each question's value adds its `subset_variances` to the residual of its cluster.

    Args:
        c: correct answers of each question, of n.
        m: samples a question, k ≤ m ≤ n.
        problems: the source problem of each question; with one problem the error is NaN.
    """
    whole = mean_interval(value_table(metric, n)[c], problems).error
    variances = subset_variances(metric, n, m)[c]
    _, cluster = np.unique(np.asarray(problems, dtype=np.str_), return_inverse=True)
    share = np.bincount(cluster) / c.size  # of the questions, in each cluster
    of_clusters = np.bincount(cluster, weights=variances)
    if share.size < 2:
        return float('nan')
    residuals = of_clusters @ (1 - 2 * share) + variances.sum() * (share @ share)
    return float(np.sqrt(whole**2 + share.size / (share.size - 1) * residuals / c.size**2))


def rerun_error(c: Counts, n: int, m: int, metric: Metric) -> float:
    """Return the standard error of a rerun with m samples a question, with m = n that of tables."""
    variance = rerun_variance(metric, n, np.bincount(c, minlength=n + 1), m)
    return float(np.sqrt(variance)) / c.size
