"""The verdicts that responses came with, beside those of a judge that was asked about the same responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from .record import Result
from .summary import TOTAL, Line, score_cell
from .tables import Column, Table

MOST_SHOWN = 10
"""Differing samples that are shown; a file has all of them."""

_VERDICTS = 'correct', 'incorrect', 'unjudged'


def twice(results: Sequence[Result], lines: Sequence[Sequence[Line]]) -> Iterator[Table | str]:
    """Yield both scores, how the verdicts go together, the first samples on which they differ, remarks.

    Args:
        results, lines: by the verdicts that were there, and by the judge.
    """
    theirs, anew = _names(results)
    difference = Column('difference', 'right', '{:+.2f}')
    scores = Table('scores', ['metric', Column(theirs, 'left'), Column(anew, 'left'), difference])
    others = {line.metric: line for line in lines[1] if line.group == TOTAL}
    for line in lines[0]:
        if line.group == TOTAL and (other := others.get(line.metric)):
            cells = score_cell(line), score_cell(other)
            scores.add(line.metric, *cells, 100 * (other.score - line.score))
    yield scores
    yield from scores.noted()
    verdicts = [result.samples() for result in results]
    pairs = Counter(zip(*(one['verdict'] for one in verdicts if one), strict=True))
    crossed = Table('samples', [Column(f'{theirs} \\ {anew}', 'left'), *_VERDICTS])
    for one in _VERDICTS:
        if any(pairs[one, other] for other in _VERDICTS):
            crossed.add(one, *(pairs[one, other] for other in _VERDICTS))
    yield crossed
    table = differing(results)
    if table.rows:
        yield Table(table.title, table.columns, table.rows[:MOST_SHOWN])
    if len(table.rows) > MOST_SHOWN:
        yield f'{len(table.rows)} samples in all; -o FILE.csv writes all of them'
    yield f'health: {results[1].health.line}'
    yield from dict.fromkeys([*results[1].health.remarks(), *results[1].remarks, *results[0].remarks])


def differing(results: Sequence[Result]) -> Table:
    """Return a row a sample on which the two differ."""
    theirs, anew = _names(results)
    heads = ['question', 'sample', 'reference', 'answer', theirs, anew, 'decided by']
    table = Table('samples on which they differ', [Column(name, 'left') for name in heads])
    first, second = (result.samples() for result in results)
    if first is None or second is None:
        return table
    told = (second.each(name) for name in ('uid', 'replica', 'reference', 'answer'))
    deciders = [why or by for why, by in zip(second.each('why'), second.each('judged_by'), strict=True)]
    for *about, one, other, decider in zip(*told, first['verdict'], second['verdict'], deciders, strict=True):
        if one != other:
            table.add(*about, one, other, decider)
    return table


def _names(results: Sequence[Result]) -> list[str]:
    return [str(result.judge.get('name', 'theirs')) for result in results]
