"""Score tables in a Markdown text: a heading that names the benchmark, a row a model, a column a metric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..errors import InputError

KINDS = {'⚽': 'general', '🏐': 'mathematical', '🏀': 'o1-like'}
"""The marks behind the names of models in the published tables."""

_HEADING = re.compile(r'#{1,6}\s+(.*)')
_TO_ZERO = re.compile(r'(?:→|\\to|\\rightarrow)0(?:\.0+)?')
_RULE = re.compile(r':?-+:?')
_METRIC = re.compile(r'Greedy|accuracy|(?:pass|m?G-Pass)@[0-9].*')
_NUMBER = re.compile(r'[0-9]+(?:\.[0-9]+)?')
_NOTHING = frozenset({'', '-', '–', '—'})


class Printed(NamedTuple):
    """One number of a table as it is printed: '24.0'."""

    benchmark: str
    model: str
    kind: str
    """One of `KINDS`, '' where the model has no mark."""
    metric: str
    """As a key: 'G-Pass@16_0.5' also of 'G-Pass@$16_{0.5}$'."""
    number: str
    closed: bool = False
    """Whether the model has the mark † in Markdown: its weights are not published."""


def printed_numbers(text: str) -> Iterator[Printed]:
    """Return the numbers of all score tables; tables without a column of scores are passed over.

    A table belongs to the heading before it. Emphasis, links, `$`, `%` and the mark ‡ are taken off.

    Raises:
        InputError: a table has no heading, a row has another number of cells than its head, a model stands
            there twice, or a cell is no number. The message begins with the number of the line.
    """
    benchmark, head, models = '', list[str](), set[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _HEADING.fullmatch(line):
            benchmark = _plain(heading[1].rstrip('# \t'))
        cells = _cells(line)
        if not cells:
            head = []
        elif not head:
            head, models = [_metric(cell) for cell in cells], set()
        elif any(head) and not all(map(_RULE.fullmatch, cells)):
            yield from _row(f'line {number}', benchmark, head, cells, models)


def _row(
    where: str, benchmark: str, head: Sequence[str], cells: Sequence[str], models: set[str]
) -> Iterator[Printed]:
    model, kind = _named(cells[0])
    if not benchmark:
        raise InputError(f'{where}: a table of scores without a heading above it that names the benchmark')
    if len(cells) != len(head):
        raise InputError(f'{where}: {len(cells)} cells, and the head of the table has {len(head)}')
    if model in models:
        raise InputError(f'{where}: {model} has two rows on {benchmark}')
    models.add(model)
    for metric, cell in zip(head, cells, strict=True):
        value = _plain(cell).rstrip('%†‡ ')
        if not metric or value in _NOTHING:
            continue
        if not _NUMBER.fullmatch(value):
            raise InputError(f'{where}: {model}, {metric}: {cell!r:.40}; expected a percentage, or –')
        yield Printed(benchmark, model, kind, metric, value, '†' in cells[0])


def _cells(line: str) -> list[str]:
    """Return the cells of a line of a table, [] of any other line."""
    line = line.strip()
    if '|' not in line:
        return []
    return [cell.strip() for cell in re.split(r'(?<!\\)\|', line.removeprefix('|').removesuffix('|'))]


def _metric(cell: str) -> str:
    """Return the key of a column's metric, 'G-Pass@4_0.0' of 'G-Pass@4_→0'; '' of a column that has none."""
    key = _TO_ZERO.sub('0.0', re.sub(r'[${}*\s]', '', cell).replace(r'\_', '_'))
    return key if _METRIC.fullmatch(key) else ''


def _named(cell: str) -> tuple[str, str]:
    """Return the name of a model and its kind."""
    kind = next((kind for mark, kind in KINDS.items() if mark in cell), '')
    for mark in KINDS:
        cell = cell.replace(mark, '')
    return _plain(cell).rstrip('†‡ '), kind


def _plain(text: str) -> str:
    """Return a text without links, emphasis and escapes."""
    text = re.sub(r'\[([^\[\]]*)\]\([^()]*\)', r'\1', text)
    return re.sub(r'\\([\W_])', r'\1', re.sub(r'(?<!\\)[*$`]', '', text)).strip().strip('_')
