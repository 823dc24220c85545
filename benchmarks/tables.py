"""What a benchmark measured, as a section of a page; numbers as people read them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from tabulate import tabulate

from .measuring import Cost

Size = Literal['tiny', 'quick', 'full']
"""tiny: only to see that it works; quick: a minute or less; full: what the documentation shows."""

Row = dict[str, str]


@dataclass(frozen=True)
class Section:
    """A table, what it compares, and what must be known to read it."""

    title: str
    about: str
    rows: Sequence[Row]
    note: str = ''
    overview: Sequence[Row] = ()
    """Lines of the table over all sections."""


def main(measure: Callable[[Size], Section], description: str | None) -> None:
    """`python -m benchmarks.NAME`: measure, print the section."""
    options = options_of(description)
    section = measure(options.size)
    print(json.dumps(asdict(section), ensure_ascii=False) if options.json else markdown(section))


def options_of(description: str | None, names: Sequence[str] = ()) -> argparse.Namespace:
    """Read the command line of one benchmark, or, with `names`, of the suite of these."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if names:
        parser.add_argument('names', nargs='*', choices=[*names, []], metavar='NAME', help=', '.join(names))
        parser.add_argument('--page', type=Path, metavar='FILE', help='put the tables between its two marks')
    else:
        parser.add_argument('--json', action='store_true', help='print the section as JSON')
    parser.add_argument('--size', choices=('tiny', 'quick', 'full'), default='full', help='default: full')
    parser.add_argument(
        '--quick', action='store_const', dest='size', const='quick', help='less of everything'
    )
    return parser.parse_args()


def markdown(section: Section) -> str:
    """With a heading of the third level."""
    parts = [f'### {section.title}', section.about, table(section.rows), section.note]
    return '\n\n'.join(filter(None, parts))


def table(rows: Sequence[Row]) -> str:
    """The first column to the left, the others to the right."""
    align = ['left'] + ['right'] * (len(rows[0]) - 1)
    return tabulate(rows, 'keys', tablefmt='pipe', colalign=align, disable_numparse=True)


def overview(task: str, against: str, ours: Cost, theirs: Cost, *, by_clock: bool = False) -> Row:
    """Ours beside theirs by processor time, or by the clock where neither computes."""
    mine, other = (part.seconds if by_clock else part.cpu for part in (ours, theirs))
    return {
        'what': task,
        'against': against,
        'ours': duration(mine),
        'theirs': duration(other),
        'theirs / ours': times(other / mine),
        'memory, ours / theirs': f'{megabytes(ours)} / {megabytes(theirs)}',
    }


def duration(seconds: float) -> str:
    """With three digits, in the unit that fits.

    >>> duration(0.000123), duration(0.0456), duration(7.891), duration(4321)
    ('123 µs', '45.6 ms', '7.89 s', '72 min')
    """
    if seconds >= 600:
        return f'{seconds / 60:,.0f} min'
    unit, factor = next((pair for pair in (('s', 1.0), ('ms', 1e3)) if seconds * pair[1] >= 1), ('µs', 1e6))
    value = seconds * factor
    return f'{value:.{max(0, 3 - len(str(int(value))))}f} {unit}'


def times(ratio: float) -> str:
    """How many times as much.

    >>> times(0.5), times(12.34), times(123456)
    ('0.50×', '12×', '123,456×')
    """
    return f'{ratio:.2f}×' if ratio < 1 else f'{ratio:.1f}×' if ratio < 10 else f'{ratio:,.0f}×'


def megabytes(cost: Cost) -> str:
    """The peak, in MB."""
    return f'{cost.mebibytes * 1.048576:,.0f} MB'
