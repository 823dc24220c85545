"""The table of `gpassk judge-agreement`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..agreement.rates import Agreement
from .shown import printable

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


def cells_of(group: Mapping[str, str], found: Agreement) -> Cells:
    """One row: what its pairs have in common, counts, rates in percent and κ, with their intervals."""
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


def as_markdown(rows: Sequence[Cells]) -> str:
    """For a terminal; intervals in brackets."""
    from tabulate import tabulate

    if not rows:
        return 'no pairs in common'
    groups = list(rows[0])[: list(rows[0]).index('pairs')]
    shown = [
        [printable(row[name]) for name in groups] + [_text(row, name) for name in _HEADERS] for row in rows
    ]
    return tabulate(
        shown,
        [*groups, *_HEADERS.values()],
        tablefmt='github',
        disable_numparse=True,
        colalign=_sides(groups),
    )


def _sides(groups: Sequence[str]) -> list[str]:
    return ['left'] * len(groups) + ['right'] * len(_HEADERS)


def _text(row: Cells, name: str) -> str:
    value = row[name]
    if value is None:
        return '–'
    digits = 3 if name == KAPPA else 1
    if f'{name}_low' not in row:
        return f'{value:.{digits}f} %' if name == 'unjudged_percent' else str(value)
    low, high = row[f'{name}_low'], row[f'{name}_high']
    return f'{value:.{digits}f} ' + ('[–]' if low is None else f'[{low:.{digits}f}, {high:.{digits}f}]')
