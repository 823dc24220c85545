"""What `gpassk study contamination` shows and writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..metrics import ACCURACY, Metric
from ..tables import Column, Table
from .contamination import Difference, Series
from .shown import finite, interval_cell, interval_json

HOW_TO_READ = (
    'slope: points of mG-Pass@k per point of greedy accuracy, by least squares. more rounds: its interval\n'
    'for other rounds of such a training, if they scatter around a line; new questions: for these very\n'
    'rounds on other questions of the kind.'
)


def points_table(series: Sequence[Series], metric: Metric, level: float) -> Table:
    """Return a row a round."""
    names = ['series', 'round', 'model', 'greedy', str(metric)]
    table = Table(
        'rounds', [Column(name, 'left' if name in ('series', 'model') else 'right') for name in names]
    )
    for one in series:
        for number, entry in zip(one.numbers, one.entries, strict=True):
            greedy = entry.greedy.interval(ACCURACY, level) if entry.greedy else None
            stable = interval_cell(entry.result.interval(metric, level), 100)
            table.add(one.name, number, entry.name, interval_cell(greedy, 100) if greedy else None, stable)
    return table


def slopes_table(series: Sequence[Series], found: Sequence[Difference]) -> Table:
    """Return a row a series, and below it how much its slope differs from the first one's."""
    columns = [
        Column('series', 'left'),
        Column('rounds', 'right'),
        *(
            Column(name, 'right', limits='[{:.2f}, {:.2f}]')
            for name in ('slope, more rounds', 'new questions')
        ),
    ]
    table = Table('slopes', columns)
    for one in series:
        line = one.slope
        table.add(one.name, len(one.entries), interval_cell(line.rounds), interval_cell(line.questions))
    for other in found:
        table.add(f'{other.second} less {other.first}', None, None, interval_cell(other.slope))
    return table


def study_json(series: Sequence[Series], found: Sequence[Difference]) -> dict[str, Any]:
    """Return the slopes for a file, with all digits; null for what is not defined."""
    return {
        'series': [
            {
                'series': one.name,
                'rounds': list(one.numbers),
                'runs': [entry.name for entry in one.entries],
                'greedy': (100 * one.means[0]).tolist(),
                'stable': (100 * one.means[1]).tolist(),
                'intercept': finite(100 * one.slope.intercept),
                'more_rounds': interval_json(one.slope.rounds),
                'new_questions': interval_json(one.slope.questions),
            }
            for one in series
        ],
        'differences': [{**one._asdict(), 'slope': interval_json(one.slope)} for one in found],
    }
