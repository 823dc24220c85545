"""What a benchmark found, as a section of a page."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from tabulate import tabulate

from .measuring import Cost

Size = Literal['tiny', 'quick', 'full']
"""tiny: only to see that it works; quick: a minute or less; full: what the documentation shows."""


class Headline(NamedTuple):
    """One line of the overview: ours beside another one on the same input."""

    task: str
    against: str
    ours: str
    theirs: str
    ratio: str
    memory: str


@dataclass(frozen=True)
class Section:
    """A table, what it compares, and what must be known to read it."""

    title: str
    about: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    headlines: Sequence[Headline] = ()


Measure = Callable[[Size], Section]


def main(measure: Measure, description: str | None) -> None:
    """`python -m benchmarks.NAME`: measure, print the section."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size(parser)
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the section there, print nothing')
    options = parser.parse_args()
    section = measure(options.size)
    if options.json:
        options.json.write_text(json.dumps(asdict(section), ensure_ascii=False), encoding='utf-8')
    else:
        print(markdown(section))


def add_size(parser: argparse.ArgumentParser) -> None:
    """--size and its short form."""
    parser.add_argument('--size', choices=get_args(Size), default='full', help='default: full')
    parser.add_argument(
        '--quick', action='store_const', dest='size', const='quick', help='less of everything'
    )


def read_section(found: dict[str, Any]) -> Section:
    """The section that was written as JSON."""
    return Section(**{**found, 'headlines': [Headline(*line) for line in found['headlines']]})


def markdown(section: Section) -> str:
    """With a heading of the third level."""
    parts = [f'### {section.title}', section.about, table(section.heads, section.rows), *section.notes]
    return '\n\n'.join(parts)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others to the right."""
    align = ['left'] + ['right'] * (len(heads) - 1)
    return tabulate(rows, heads, tablefmt='pipe', colalign=align, disable_numparse=True)


def headline(task: str, against: str, ours: Cost, theirs: Cost, *, by_clock: bool = False) -> Headline:
    """Ours beside theirs by processor time, or by the clock where neither computes."""
    mine, other = (part.seconds if by_clock else part.cpu for part in (ours, theirs))
    return Headline(
        task,
        against,
        duration(mine),
        duration(other),
        times(other / mine),
        f'{megabytes(ours)} / {megabytes(theirs)}',
    )


def duration(seconds: float) -> str:
    """With three digits, in the unit that fits.

    >>> duration(0.000123), duration(0.0456), duration(7.891), duration(4321)
    ('123 µs', '45.6 ms', '7.89 s', '72 min')
    """
    if seconds >= 600:
        return f'{seconds / 60:,.0f} min'
    for unit, factor in (('s', 1.0), ('ms', 1e3), ('µs', 1e6)):
        if seconds * factor >= 1 or unit == 'µs':
            value = seconds * factor
            break
    return f'{value:.{max(0, 3 - len(str(int(value))))}f} {unit}'


def times(ratio: float) -> str:
    """How many times as much.

    >>> times(0.5), times(12.34), times(123456)
    ('0.50×', '12×', '123,456×')
    """
    return f'{ratio:.2f}×' if ratio < 1 else f'{ratio:.1f}×' if ratio < 10 else f'{ratio:,.0f}×'


def share(values: Sequence[bool]) -> str:
    """Of those that are so, in percent.

    >>> share([True, True, False])
    '66.7 %'
    """
    return f'{100 * sum(values) / len(values):.1f} %'


def megabytes(cost: Cost) -> str:
    """The peak, in MB."""
    return f'{cost.mebibytes * 1.048576:,.0f} MB'


def added(cost: Cost) -> str:
    """The peak, and what of it the work added, in MB."""
    return f'{megabytes(cost)} (+{cost.added * 1.048576:,.0f})'
