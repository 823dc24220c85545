"""The figure of a plan: half-widths and the chance to decide over n, and what a budget affords of them."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...uncertainty.budgets import WON, BudgetPlan, Offer
from ...uncertainty.intervals import FEWEST_PROBLEMS
from .drawing import Drawing, Floats, Paper, Sheet, handle, log_axis, percent_axis, upright
from .labels import drawable
from .style import DPI, FAINT, INK, LOOKS, Look, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CURVES = 5
_POINTS = 36
_APART = 0.055
"""Of the height of a panel, between two labels."""

_BUDGET, _BEYOND, _BEST = Look(INK, '-', ''), Look(FAINT, (0, (1, 2)), ''), Look(INK, '', '*')
_PAPER = Paper(3, 2.75, 2.9)
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def draw_plan(
    plan: BudgetPlan,
    names: tuple[str, str],
    best: Offer | None,
    enough: Sequence[int | None],
    form: str,
    dpi: int = DPI,
) -> bytes:
    """Return the figure of a plan as a file.

    Args:
        plan: of a budget.
        names: of the budget, '2,000,000,000 tokens', and of the run that is the pilot, '' without one.
        best: what is best for the difference; None where no interval would be printed.
        enough: the n beyond which nothing is won for the score, and for the difference.
        form: png, pdf or svg.
        dpi: of a PNG.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with house_style():
        drawing = plan_drawing(plan, names, best, enough)
        about = {'Title': drawing.title}
        metadata: dict[str, dict[str, str | None]] = {
            'png': {**about, 'Description': drawing.caption, 'Software': None},
            'svg': {**about, 'Description': drawing.caption, 'Date': None, 'Creator': None},
            'pdf': {**about, 'Subject': drawing.caption, 'CreationDate': None, 'Creator': None},
        }
        drawn = io.BytesIO()
        drawing.figure.savefig(drawn, format=form, dpi=dpi, metadata=metadata[form])
    return drawn.getvalue()


def plan_drawing(
    plan: BudgetPlan, names: tuple[str, str], best: Offer | None, enough: Sequence[int | None]
) -> Drawing:
    """Draw a plan in three panels; within `style.house_style`. Arguments are those of `draw_plan`."""
    asked = plan.asked
    curves, ns = numbers_of_questions(plan, best), _over(plan, best)
    title = f'What {names[0]} buy: {asked.metric}, questions against samples'
    sheet = Sheet(3, title, _subtitle(plan, names[1]), _PAPER, own_y=True)
    found = {questions: [plan.offer(questions, n) for n in ns] for questions in curves}
    line = plan.offers(ns)
    panels = (
        ('half_width', 'half-width of the score, points', enough[0]),
        ('paired', 'half-width of the difference, points', enough[1]),
        ('decides', f'chance to find {100 * asked.difference:g} points, percent', enough[1]),
    )
    log_axis(sheet.axes[0], _ticks(ns), ns[-1])
    for axes, (what, _, won) in zip(sheet.axes, panels, strict=True):
        values = [getattr(one, what) for row in (*found.values(), line) for one in row]
        if what == 'decides':
            percent_axis(axes)
        else:
            _points_axis(axes, values)
        axes.set_xlim(ns[0] / 1.12, ns[-1] * 1.12 * (ns[-1] / ns[0]) ** 0.3)  # room for the labels
        _draw_curves(axes, found, what, plan.samples)
        _draw_budget(axes, line, best, what)
        if won is not None and won <= ns[-1]:
            upright(axes, won)
    figure = sheet.finish('samples a question, n', '', _handles(line, best), _notes(plan, line, enough))
    for axes, (_, y_label, _) in zip(sheet.axes, panels, strict=True):
        axes.set_ylabel(y_label)
        axes.set_title('at the curves: questions', size=7, color=FAINT)
    told = f'{best.questions:,} questions with n = {best.n}' if best else 'nothing'
    return Drawing(
        'plan', title, f'Curves of {len(curves)} numbers of questions over n; best: {told}.', figure
    )


def numbers_of_questions(plan: BudgetPlan, best: Offer | None) -> list[int]:
    """Return which numbers of questions have a curve: halves of those at hand, or those around the best.

    Most first. Below 20 problems there is no interval and no curve.
    """
    size = plan.population.translations
    middle = best.questions if best else FEWEST_PROBLEMS * size
    if plan.at_hand is None:
        around = [float(f'{middle * factor:.2g}') for factor in (4, 2, 1 / 2, 1 / 4)]
        wanted = [middle, *(round(one / size) * size for one in around)]
    else:
        halves = [plan.at_hand // (2**place * size) * size for place in range(MOST_CURVES)]
        near = any(math.isclose(middle, one, rel_tol=0.25) for one in halves)
        wanted = halves if near or best is None else [*halves[: MOST_CURVES - 1], middle]
    wide = sorted({one for one in wanted if one >= FEWEST_PROBLEMS * size}, reverse=True)
    return wide or [max(wanted)]


def _over(plan: BudgetPlan, best: Offer | None) -> list[int]:
    """Return the n of the curves, which have as many points everywhere on a logarithmic axis."""
    k = plan.asked.metric.k
    last = max(12 * k, 2 * best.n if best else 0)
    steps = np.geomspace(k, last, _POINTS).round().astype(int).tolist()
    return sorted({*steps, *([best.n] if best else [])})


def _ticks(ns: Sequence[int]) -> list[int]:
    """Return where the axis of n has numbers: k, 2k, 4k, …"""
    doubled = [ns[0] * 2**place for place in range((ns[-1] // ns[0]).bit_length())]
    return [tick for tick in doubled if tick <= ns[-1]]


def _points_axis(axes: Axes, values: Sequence[float]) -> None:
    """Make the y axis logarithmic, in points: half as many questions are the same step everywhere."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    there = [100 * value for value in values if value > 0] or [1.0, 10.0]
    low, high = 0.85 * min(there), 1.18 * max(there)
    axes.set_yscale('log')
    axes.set_ylim(low, high)
    digits = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
    fine = [digit * 10.0**power for power in range(-4, 3) for digit in digits]
    inside = [tick for tick in (_TICKS if high > 5 * low else fine) if low <= tick <= high]
    axes.yaxis.set_major_locator(FixedLocator(inside))
    axes.yaxis.set_major_formatter(FixedFormatter([f'{tick:.2g}' for tick in inside]))
    axes.yaxis.set_minor_locator(NullLocator())


def _draw_curves(axes: Axes, found: dict[int, list[Offer]], what: str, samples: int) -> None:
    """Draw a curve for each number of questions, faint where the budget does not reach, with its label."""
    ends = []
    for look, (questions, row) in zip(LOOKS, found.items(), strict=False):
        x, y = np.array([one.n for one in row]), _percent(row, what)
        within = x * questions <= samples
        axes.plot(x, y, color=look.colour, linewidth=0.9, linestyle=_BEYOND.line, zorder=2)
        axes.plot(x, np.where(within, y, np.nan), color=look.colour, linewidth=1.3, zorder=2.5)
        if np.isfinite(y).any():
            last = np.flatnonzero(np.isfinite(y))[-1]
            ends.append((f'{questions:,}', look.colour, (float(x[last]), float(y[last]))))
    _label(axes, ends)


def _label(axes: Axes, ends: Sequence[tuple[str, str, tuple[float, float]]]) -> None:
    """Write the number of questions behind the end of each curve, none over another."""
    box = axes.transAxes.inverted()
    places = [box.transform(axes.transData.transform(end)) for *_, end in ends]
    heights = spread([float(height) for _, height in places], _APART)
    for (text, colour, _), (across, _), height in zip(ends, places, heights, strict=True):
        axes.text(across + 0.02, height, text, size=7, va='center', color=colour, transform=axes.transAxes)


def spread(heights: Sequence[float], apart: float) -> list[float]:
    """Return heights in the same order that are at least so far apart and within 0 … 1, close to the given.

    Of equal ones the first is on top. Where there is no room for all, the lowest go below 0.

    >>> [round(one, 2) for one in spread([0.5, 0.5, 0.99, 0.98], 0.1)]
    [0.5, 0.4, 0.99, 0.89]
    """
    order = sorted(range(len(heights)), key=lambda place: (-heights[place], place))
    found = [0.0] * len(heights)
    ceiling = 0.99
    for place in order:
        found[place] = min(heights[place], ceiling)
        ceiling = found[place] - apart
    floor = 0.02
    for place in reversed(order):
        if found[place] >= floor:
            break
        found[place] = floor
        floor += apart
    return found


def _draw_budget(axes: Axes, line: Sequence[Offer], best: Offer | None, what: str) -> None:
    """Draw what the budget affords: with each n as many questions as possible."""
    x, y = [one.n for one in line], _percent(line, what)
    whole = np.isfinite(y).sum() > 1
    style: dict[str, Any] = {'linestyle': _BUDGET.line} if whole else {'linestyle': '', 'marker': 'o'}
    axes.plot(x, y, color=INK, linewidth=1.6, zorder=3, **style)
    if best:
        [at] = _percent([best], what)
        axes.plot([best.n], [at], color=INK, linestyle='', marker='*', markersize=8, zorder=4)


def _percent(row: Sequence[Offer], what: str) -> Floats:
    return 100 * np.array([getattr(one, what) for one in row], dtype=np.float64)


def _handles(line: Sequence[Offer], best: Offer | None) -> list[Any]:
    looks = [(_BUDGET, 'what the budget affords')] if _buys(line) else []
    looks.append((_BEYOND, 'beyond the budget'))
    if best:
        looks.append((_BEST, f'best for the difference: {best.questions:,} questions, n = {best.n}'))
    return [handle(look, text) for look, text in looks]


def _buys(line: Sequence[Offer]) -> bool:
    return any(not (one.refused and one.paired_refused) for one in line)


def _subtitle(plan: BudgetPlan, pilot: str) -> str:
    asked, own = plan.asked, plan.population
    mean = own.moments(asked.metric, asked.metric.k)[0]
    there = '' if plan.at_hand is None else f'; {plan.at_hand:,} questions at hand'
    told = f'Pilot: {drawable(pilot, 100)}. ' if pilot else ''
    return (
        f'{told}{plan.samples:,} samples in all{there}. Hardness Beta({own.a:.3g}, {own.b:.3g}): '
        f'{asked.metric} {100 * mean:.1f} % expected; likeness of the two runs {plan.rival.likeness:.2f}; '
        f'{100 * asked.level:g} % intervals for new questions of the same kind.'
    )


def _notes(plan: BudgetPlan, line: Sequence[Offer], enough: Sequence[int | None]) -> list[str]:
    notes = [f'No curve where no interval would be printed, as with fewer than {FEWEST_PROBLEMS} problems.']
    if not _buys(line):
        notes.insert(0, 'The budget is too small for any interval.')
    if plan.at_hand is not None and any(enough):
        won = f'more samples of all questions at hand win less than {100 * WON:g} % of the half-width'
        notes.insert(0, f'The upright line: beyond it {won}; the third panel has that of the second.')
    return notes
