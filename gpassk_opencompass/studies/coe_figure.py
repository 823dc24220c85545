"""The figure of a Chain-of-Embedding study: its numbers over the length, and without what that explains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..judges.protocol import Verdict
from ..report.figures.drawing import Drawing, Floats, handle, log_axis, powers, write_around
from ..report.figures.labels import drawable
from ..report.figures.style import FAINT, INK, LOOKS, house_style, save
from ..results.result import Result
from .coe import LENGTH, NUMBERS, Contrast, Value, judged_of
from .coe_tables import NAMES
from .separation import Separation, residuals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CORRECT, _INCORRECT = LOOKS[2], LOOKS[1]
_DOTS = 3000
"""Dots that a panel has at most; of more responses, evenly spread ones are drawn."""

_WIDTH, _HEIGHT = 10.4, 5.9


def write_figure(
    stem: Path, result: Result, values: Sequence[Value], found: Sequence[Contrast]
) -> list[Path]:
    """Draw correct against incorrect samples as `stem`.png and `stem`.svg; nothing without both kinds.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    contrast = next((one for one in found if one.name == 'samples' and one.found), None)
    if contrast is None:
        return []
    with house_style():
        return save(_drawing(result, values, contrast), stem)


def _drawing(result: Result, values: Sequence[Value], contrast: Contrast) -> Drawing:
    from matplotlib.figure import Figure

    judged = judged_of(values)
    correct = np.array([one.asked.stored.verdict == Verdict.CORRECT for one in judged])
    table = np.array([one.numbers for one in judged])
    tokens = np.exp(table[:, -1])
    figure = Figure(figsize=(_WIDTH, _HEIGHT))
    shown = [name for name in NUMBERS if name != LENGTH]
    axes = figure.subplots(
        2, len(shown), gridspec_kw={'left': 0.062, 'right': 0.99, 'top': 0.86, 'bottom': 0.17, 'hspace': 0.46}
    )
    for place, name in enumerate(shown):
        column = table[:, place]
        left = residuals(column, table[:, -1], np.ones(len(column)))
        _scatter(axes[0][place], tokens, column, left, correct)
        _distributions(axes[1][place], left, correct)
        axes[0][place].set_title(NAMES[name])
        axes[1][place].set_title(_told(contrast.found[name]))
    axes[0][0].set_ylabel('value')
    axes[1][0].set_ylabel('share of responses up to it')
    figure.legend(handles=_handles(contrast), loc='lower left', bbox_to_anchor=(0.01, 0.035), ncols=3)
    title = 'Chain-of-Embedding of correct and incorrect responses'
    about = f'{drawable(result.model_abbr, 60)} on {drawable(result.dataset_abbr, 70)}: {contrast.title}.'
    write_around(figure, title, about, _notes(len(judged)))
    caption = f'{contrast.title}: four numbers over the tokens of a response, and without what those explain.'
    return Drawing('coe', title, caption, figure)


def _scatter(axes: Axes, tokens: Floats, column: Floats, left: Floats, correct: Any) -> None:
    some = np.unique(np.linspace(0, len(tokens) - 1, min(len(tokens), _DOTS)).astype(int))
    for kind, look in ((~correct, _INCORRECT), (correct, _CORRECT)):
        chosen = some[kind[some]]
        style: dict[str, Any] = {
            'color': look.colour,
            'marker': look.marker,
            'markersize': 2.2,
            'alpha': 0.55,
        }
        axes.plot(tokens[chosen], column[chosen], linestyle='', markeredgewidth=0, **style)
    order = np.argsort(tokens)
    axes.plot(tokens[order], (column - left)[order], color=INK, linewidth=1.0)
    lowest, highest = int(tokens.min()), int(tokens.max())
    log_axis(axes, powers(highest, 2 ** (lowest.bit_length() - 1)), highest)
    axes.set_xlabel('tokens of the response')


def _distributions(axes: Axes, left: Floats, correct: Any) -> None:
    for kind, look in ((~correct, _INCORRECT), (correct, _CORRECT)):
        own = np.sort(left[kind])
        shares = np.arange(1, len(own) + 1) / len(own)
        axes.step(own, shares, where='post', color=look.colour, linestyle=look.line)
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=1.5)
    axes.set_xlabel('residual')


def _told(found: Separation) -> str:
    return f'AUROC {found.auroc.estimate:.3f}, length taken out {found.auroc_of_residuals.estimate:.3f}'


def _handles(contrast: Contrast) -> list[Any]:
    from matplotlib.lines import Line2D

    looks = zip((_CORRECT, _INCORRECT), contrast.kinds, strict=True)
    kinds = [handle(look, kind) for look, kind in looks]
    return [*kinds, Line2D([], [], color=INK, linewidth=1.0, label='what the length explains')]


def _notes(drawn: int) -> list[str]:
    some = [f'Drawn as dots: {_DOTS} of {drawn} responses.'] if drawn > _DOTS else []
    return ['Above: a response each. Below: what a least-squares line on log tokens leaves of it.', *some]
