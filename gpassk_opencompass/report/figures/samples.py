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

from ...distributions import normal_quantile, student_quantile
from ...metrics import Metric
from ...uncertainty import Interval, mean_interval, value_table
from ...uncertainty.rerun import rerun_variance, subset_squares
from ..leaderboard import Board, Entry
from .chosen import chosen
from .drawing import (
    Drawing,
    Floats,
    LeftOut,
    Sheet,
    about,
    handle,
    listed,
    log_axis,
    plot_style,
    upright,
)
from .labels import Labelled, labelled, shared_settings
from .style import LOOKS, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 12

Counts = NDArray[np.integer[Any]]


class _Widths(NamedTuple):
    """The lines of a run: sizes, and half-widths in points for new questions and for the same ones again."""

    run: Labelled
    look: Look
    score: Interval
    sizes: list[int]
    new: Floats
    again: Floats


def samples(board: Board) -> Iterator[Drawing | LeftOut]:
    """Draw the half-widths of both intervals of mG-Pass@k with k … n samples a question, a line a run."""
    able = [run for run in labelled(board) if run.entry.result.n > board.k]
    if not able:
        yield LeftOut('samples', f'no run has more samples than k = {board.k}: there is no smaller n to show')
        return
    found, metric = chosen(board, able), board.ranked_by
    widths = [
        _Widths(run, look, run.entry.interval(metric), *half_widths(run.entry, board.k))
        for run, look in zip(found.runs, LOOKS, strict=False)
    ]
    whole = [one for one in widths if not one.score.refused]
    highest = max(one.sizes[-1] for one in widths)
    subtitle = f'{about(board)} Half-widths of the {100 * board.level:g} % intervals, in points.'
    sheet = Sheet(2, f'How far {metric} can be off, over the number of samples n', subtitle, own_y=True)
    for axes, kind, lines in zip(
        sheet.axes,
        ('for new questions of the same kind', 'for the same questions again'),
        ([(one, one.new) for one in whole], [(one, one.again) for one in widths]),
        strict=True,
    ):
        axes.set_title(kind)
        _draw(axes, lines)
        if highest >= 3 * board.k:
            upright(axes, 3 * board.k)
    log_axis(sheet.axes[0], _ticks(board.k, highest), highest)
    handles = [handle(one.look, f'{one.run.label}: {100 * one.score.estimate:.2f}') for one in widths]
    bare = [one.run.label for one in widths if one.score.refused]
    notes = [*_notes(board.k, highest), *_unbanded(bare), *found.note, *shared_settings(board)]
    figure = sheet.finish('samples a question, n', '± points', handles, notes)
    caption = f'Lines that fall as n grows from {board.k}: how many points {metric} can be off.'
    yield Drawing('samples', sheet.title, caption, figure)


def _draw(axes: Axes, lines: Sequence[tuple[_Widths, Floats]]) -> None:
    """Draw one panel, from 0 to above its highest line."""
    for one, half in lines:
        axes.plot(one.sizes, half, **plot_style(one.look, len(half)), label=one.run.label)
    axes.set_ylim(0, 1.08 * max((float(half.max()) for _, half in lines), default=0.0) or 1.0)


def sizes(n: int, k: int) -> list[int]:
    """Return where a funnel has its points: from k to n, and 3k if that is between."""
    even = {round(size) for size in np.geomspace(k, n, _POINTS)}
    return sorted(even | {size for size in (3 * k,) if size <= n})


def half_widths(entry: Entry, k: int) -> tuple[list[int], Floats, Floats]:
    """Return sizes, and with each the half-width for new questions and that of a rerun, in points."""
    result, metric = entry.result, Metric.mg_pass_at(k)
    points = sizes(result.n, k)
    wide = [question_error(result.table.c, result.n, m, metric, result.counts.problem) for m in points]
    narrow = [rerun_error(result.table.c, result.n, m, metric) for m in points]
    upper = (1 + entry.level) / 2
    student = student_quantile(upper, len(set(result.counts.problem)) - 1)
    return points, 100 * student * np.array(wide), 100 * normal_quantile(upper) * np.array(narrow)


def _notes(k: int, highest: int) -> list[str]:
    line = [f'The upright line: n = 3k = {3 * k}.'] if highest >= 3 * k else []
    return [
        *line,
        'Beside the names: the score, which does not depend on n.',
        'Both widths follow from the counts; nothing is drawn at random.',
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
