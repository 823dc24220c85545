"""The table of a judge against labels, or against another judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..tables import Cell, Column, Table
from ..unseen import printable
from .rates import FEWEST, Agreement

RATES = ('agreement', 'precision', 'recall', 'false_positive_rate')
KAPPA = 'kappa'

Cells = dict[str, Any]
"""Column → text, number (rates in percent) or None."""

_HEADERS = {
    'pairs': 'pairs',
    'questions': 'questions',
    'unjudged_percent': 'unjudged',
    'agreement': 'agreement',
    'precision': 'precision',
    'recall': 'recall',
    'false_positive_rate': 'false pos.',
    KAPPA: 'κ',
}

_FORMS = {name: Column(head, 'right', '{:.1f}') for name, head in _HEADERS.items()} | {
    'unjudged_percent': Column(_HEADERS['unjudged_percent'], 'right', '{:.1f} %'),
    KAPPA: Column(_HEADERS[KAPPA], 'right', '{:.3f}', '[{:.3f}, {:.3f}]'),
}

_REFUSED = f'fewer than {FEWEST} pairs that are worth independent ones, or κ of one label'


def cells_of(group: Mapping[str, str], found: Agreement) -> Cells:
    """Return one row: what its pairs have in common, counts, rates in percent and κ, with their intervals."""
    counts = {
        name: getattr(found, name)
        for name in (
            'pairs',
            'questions',
            'unjudged',
            'both_correct',
            'false_positives',
            'false_negatives',
            'both_incorrect',
        )
    }
    cells: Cells = {**group, **counts}
    cells['unjudged_percent'] = 100 * found.unjudged / found.pairs if found.pairs else None
    cells['effective_pairs'] = found.effective
    for name in (*RATES, KAPPA):
        scale = 1 if name == KAPPA else 100
        for part, value in zip(('', '_low', '_high'), getattr(found, name), strict=True):
            cells[name + part] = None if value is None else scale * value
    return cells


def shown_table(rows: Sequence[Cells]) -> Table:
    """Return what people are shown of the rows: rates with their intervals, or why there are none."""
    groups = list(rows[0])[: list(rows[0]).index('pairs')] if rows else []
    table = Table(
        'agreement',
        [
            *(Column(name, 'left') for name in groups),
            *_FORMS.values(),
        ],
    )
    for row in rows:
        table.add(*(printable(row[name]) for name in groups), *(_cell(row, name) for name in _HEADERS))
    return table


def _cell(row: Cells, name: str) -> Cell:
    if f'{name}_low' not in row or row[name] is None:
        return Cell(row[name])
    if row[f'{name}_low'] is None:
        return Cell(row[name], refused=_REFUSED)
    return Cell(row[name], (row[f'{name}_low'], row[f'{name}_high']))
