"""Figures of the formulas: what pass@k does not see, and that the estimate of G-Pass@k is unbiased."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...distributions import binomial_tail
from ...metrics import g_pass_at_k, required_correct
from .drawing import (
    Drawing,
    Floats,
    Paper,
    Sheet,
    handle,
    log_axis,
    percent_axis,
    plot_style,
    powers,
    upright,
)
from .style import INK, LOOKS, STRICTER, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAMPLES = 80
"""n of the figure of pass@k beside G-Pass@k."""

CORRECT = (8, 16, 24, 32, 48, 64, 72, 78)
"""Its c over k; those over c have a panel for each of `DRAWN`."""

DRAWN = (4, 8, 16, 32)

CHANCE, DRAWS, QUESTIONS, RERUNS = 0.75, 8, 100, 2_000
"""The simulation: the chance of a right answer, k, the number of questions, and the reruns."""

SIZES = (8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128)
"""The n of the simulation."""


def _value(k: int, c: NDArray[np.int64], tau: float) -> Floats:
    """Return G-Pass@k_τ in percent; with τ = 0 it is pass@k."""
    return 100 * g_pass_at_k(SAMPLES, c, k, tau)


def _over_draws() -> Drawing:
    title = f'pass@k and G-Pass@k of a question with c of n = {SAMPLES} answers right, over k'
    sheet = Sheet(
        len(CORRECT),
        title,
        'Exact values at k = 4, 8, …, where k·τ is whole. pass@k goes to 100 for every c > 0.',
    )
    ks = np.arange(4, SAMPLES + 1, 4)
    for axes, c in zip(sheet.axes, CORRECT, strict=True):
        for name, look, tau in STRICTER:
            y = np.array([_value(int(k), np.array(c), tau) for k in ks])
            axes.plot(ks, y, **plot_style(look, len(ks)), label=name)
        axes.set_title(f'c = {c}')
    return _finished(sheet, 'formula-over-k', 'k', [0, 20, 40, 60, 80])


def _over_correct() -> Drawing:
    title = f'pass@k and G-Pass@k of a question with c of n = {SAMPLES} answers right, over c'
    sheet = Sheet(len(DRAWN), title, 'Exact values.')
    c = np.arange(SAMPLES + 1)
    for axes, k in zip(sheet.axes, DRAWN, strict=True):
        for name, look, tau in STRICTER:
            axes.plot(c, _value(k, c, tau), **plot_style(look, len(c)), label=name)
        axes.set_title(f'k = {k}')
    return _finished(sheet, 'formula-over-c', 'c', [0, 20, 40, 60, 80])


def _finished(sheet: Sheet, name: str, x_label: str, ticks: list[int]) -> Drawing:
    percent_axis(sheet.axes[0])
    sheet.axes[0].set_xticks(ticks)
    sheet.axes[0].set_xlim(-1, SAMPLES + 1)
    handles = [handle(look, metric) for metric, look, _ in STRICTER]
    figure = sheet.finish(x_label, 'percent', handles)
    caption = f'{len(sheet.axes)} panels with pass@k above G-Pass@k at τ = 0.5, 0.75 and 1.0.'
    return Drawing(name, sheet.title, caption, figure)


class Simulated(NamedTuple):
    """What reruns of `QUESTIONS` equal questions gave, in percent, with each of `SIZES` samples."""

    truth: float
    estimates: Floats
    """Means of G-Pass@k over the questions, of shape (sizes, reruns)."""
    plugged: Floats
    """Means of the binomial formula with c/n in the place of the chance, of the same shape."""


def simulate(tau: float, seed: int = 0) -> Simulated:
    """Sample all questions anew `RERUNS` times with each n; the same seed gives the same numbers."""
    needed, generator = required_correct(DRAWS, tau), np.random.default_rng(seed)
    estimates: list[Floats] = []
    plugged: list[Floats] = []
    for n in SIZES:
        c = generator.binomial(n, CHANCE, size=(RERUNS, QUESTIONS))
        estimates.append(g_pass_at_k(n, c, DRAWS, tau).mean(1))
        plugged.append(binomial_tail(needed, DRAWS, np.arange(n + 1) / n)[c].mean(1))
    truth = float(binomial_tail(needed, DRAWS, CHANCE))
    return Simulated(100 * truth, 100.0 * np.stack(estimates), 100.0 * np.stack(plugged))


_TRUTH = Look(INK, ':', '')
_ESTIMATE, _PLUGGED = LOOKS[0], LOOKS[1]


def _unbiased() -> Drawing:
    title = f'The estimate of G-Pass@{DRAWS}_τ is right on average, whatever n is'
    about = f'{RERUNS:,} simulated runs of {QUESTIONS} questions, each answered right with chance {CHANCE}.'
    sheet = Sheet(3, title, about, Paper(3, 2.9, 2.5))
    for axes, tau in zip(sheet.axes, (0.5, 0.75, 1.0), strict=True):
        _draw_simulated(axes, simulate(tau))
        axes.set_title(f'τ = {tau}')
    log_axis(sheet.axes[0], powers(SIZES[-1], SIZES[0]), SIZES[-1])
    percent_axis(sheet.axes[0])
    handles = [
        handle(_TRUTH, 'true value'),
        handle(_ESTIMATE, 'mean of the estimates'),
        handle(_PLUGGED, 'c/n put into the binomial'),
    ]
    note = f'Band: where 95 % of the runs lie. The upright line: n = 3k = {3 * DRAWS}.'
    figure = sheet.finish('samples a question, n', f'G-Pass@{DRAWS}_τ, percent', handles, [note])
    caption = 'The mean of the estimates lies on the true value for every n; the plugged-in formula does not.'
    return Drawing('formula-unbiased', title, caption, figure)


def _draw_simulated(axes: Axes, simulated: Simulated) -> None:
    low, high = np.quantile(simulated.estimates, [0.025, 0.975], axis=1)
    upright(axes, 3 * DRAWS)
    axes.fill_between(SIZES, low, high, color=_ESTIMATE.colour, alpha=0.16, linewidth=0)
    axes.axhline(simulated.truth, color=_TRUTH.colour, linestyle=_TRUTH.line, zorder=3)
    for look, runs in ((_ESTIMATE, simulated.estimates), (_PLUGGED, simulated.plugged)):
        axes.plot(SIZES, runs.mean(1), **plot_style(look, 1))


FORMULAS = (_over_draws, _over_correct, _unbiased)
"""Each draws one figure."""
