"""What `gpassk study coe` shows and writes of its contrasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tables import Cell, Column, Table
from .coe import LENGTH, Contrast
from .separation import STRATA
from .shown import interval_cell, interval_json

_HEADS = {
    'auroc': 'AUROC',
    'auroc_of_residuals': 'length taken out',
    'auroc_in_strata': 'similar length',
    'auroc_in_questions': 'same question',
    'd': 'd',
    'd_of_residuals': 'd, length taken out',
}

NAMES = {'magnitude': 'magnitude', 'angle': 'angle', 'coe_r': 'CoE-R', 'coe_c': 'CoE-C', LENGTH: LENGTH}

_LEFT_OUT = {'questions': ('auroc_in_questions',)}
"""A question is compared with other questions alone."""

_OF_RESIDUALS = ('auroc_of_residuals', 'auroc_in_strata', 'd_of_residuals')


def contrast_table(contrast: Contrast) -> Table:
    """Return a row a number, with how far it tells the two kinds apart."""
    shown = [name for name in _HEADS if name not in _LEFT_OUT.get(contrast.name, ())]
    columns = [
        Column(_HEADS[name], 'right', '{:.2f}' if name.startswith('d') else '{:.3f}', '[{:.2f}, {:.2f}]')
        for name in shown
    ]
    table = Table(contrast.title, [Column('number', 'left'), *columns])
    for number, found in contrast.found.items():
        without = _OF_RESIDUALS if number == LENGTH else ()
        cells = (Cell(None) if name in without else interval_cell(getattr(found, name)) for name in shown)
        table.add(NAMES[number], *cells)
    return table


def how_to_read(level: float) -> str:
    """Say what the columns are."""
    return (
        'AUROC: how often one of the first kind has the larger value than one of the second; 0.5 tells '
        'nothing.\n'
        'length taken out: of the residuals of a least-squares line on log tokens; similar length: among '
        f'pairs of one tenth of all lengths ({STRATA} strata);\n'
        'same question: among responses to one question. d: difference of the means in standard deviations '
        'within the kinds.\n'
        f'Intervals: {100 * level:g} %, by the bootstrap over source problems.'
    )


def contrasts_json(contrasts: Sequence[Contrast]) -> list[dict[str, Any]]:
    """Return the contrasts for a file, with all digits; null for what is not defined."""
    return [
        {
            'contrast': one.name,
            'kinds': one.kinds,
            'sizes': one.sizes,
            'why_not': one.why_not or None,
            'numbers': {
                number: {name: interval_json(interval) for name, interval in found._asdict().items()}
                for number, found in one.found.items()
            },
        }
        for one in contrasts
    ]
