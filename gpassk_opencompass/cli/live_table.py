"""The table of a sweep that is at work, redrawn in its place on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..runs.progress import Progress
from ..unseen import printable
from .board import Board, doing, number

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

NARROW = 100
"""Columns below which there is no bar."""

_LEAST_NAME = 12
_AROUND = 9
"""Lines of a terminal that no run may take: empty ones, head, totals, and the line of the cursor."""

_ABOUT = '~'
"""Stands before what is not the score of a result."""


class LiveTable:
    """Draws the table at the end of what stands on a terminal, and takes it away again."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console: Console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
        self._widths: list[int] = []

    def draw(self, board: Board, note: str = '') -> None:
        """Draw the table in the place of the last one.

        Args:
            note: a line below the totals.
        """
        from rich.cells import cell_len
        from rich.text import Text

        width, height = self._size()
        self._console.size = width, height
        with self._console.capture() as captured:
            self._console.print(render(board, width, height, note))
        lines = captured.get().splitlines()[
            -max(1, height - 1) :
        ]  # above the first line none can be taken away
        sys.stdout.write(self._away() + ''.join(f'{line}\n' for line in lines))
        sys.stdout.flush()
        self._widths = [cell_len(Text.from_ansi(line).plain.rstrip()) for line in lines]

    def keep(self) -> None:
        """Leave the table where it stands."""
        self._widths = []

    def clear(self) -> None:
        """Take the table away."""
        sys.stdout.write(self._away())
        sys.stdout.flush()
        self._widths = []

    def _away(self) -> str:
        """Return what takes the last table away, also on a terminal that has become narrower since."""
        width, _ = self._size()
        lines = sum(max(1, -(-line // width)) for line in self._widths)
        return f'\r\x1b[{lines}A\x1b[J' if lines else ''

    def _size(self) -> tuple[int, int]:
        """Return columns and lines of the terminal: its own word, which a $COLUMNS of before is not."""
        try:
            width, height = os.get_terminal_size(sys.stdout.fileno())
        except (OSError, ValueError):  # not even a file
            width = height = 0
        return (width, height) if width and height else shutil.get_terminal_size()


def render(board: Board, width: int, height: int = 1_000_000, note: str = '') -> RenderableType:
    """Return the table for a terminal of that size."""
    from rich.console import Group
    from rich.text import Text

    totals = board.totals()
    room = max(1, height - _AROUND - bool(note))
    last = board.last[-max(0, room - totals.at_work) :] if room > totals.at_work else []
    shown = board.at_work(room if totals.at_work <= room else max(1, room - 1))
    more = totals.at_work - len(shown)
    rows = [*last, *shown]
    lines: list[RenderableType] = [Text('')]
    if rows:
        lines += [_table(rows, width), Text('')]
    if more:
        lines.append(Text(f' … and {more:,} more at work', style='dim'))
    lines.append(Text(f' {totals.line}', style='bold', no_wrap=True, overflow='ellipsis'))
    if totals.speed:
        lines.append(Text(f' {" · ".join(totals.speed)}'))
    if any(one.accuracy_by == 'rule' for one in shown):
        lines.append(Text(f' {_ABOUT} so far, by rule', style='dim'))
    if note:
        lines.append(Text(f' {note}', style='dim', no_wrap=True, overflow='ellipsis'))
    return Group(*lines)


def _table(rows: Sequence[Progress], width: int) -> Table:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    heads = ['samples', 'tokens/s', 'cut off', 'unusual', 'correct', 'time left']
    cells = [_cells(row) for row in rows]
    if not any(row.unusual for row in rows):
        heads.remove('unusual')
        cells = [[*told[:3], *told[4:]] for told in cells]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    bar = min(30, (width - sum(widths)) // 5) if width >= NARROW else 0
    around = 2 * (len(widths) + 1) + (bar + 2 if bar else 0)
    names = max(_LEAST_NAME, width - sum(widths) - around)
    table = Table(box=None, padding=(0, 1), pad_edge=True, header_style='dim', width=width)
    table.add_column('run', width=names, no_wrap=True)
    if bar:
        table.add_column('', width=bar)
    for head, wide in zip(heads, widths, strict=True):
        table.add_column(head, width=wide, justify='right', no_wrap=True)
    for row, told in zip(rows, cells, strict=True):
        style = '' if row.at_work else 'green' if row.state == 'complete' else 'red'
        drawn = [ProgressBar(row.total or 1, row.samples, bar, complete_style='cyan')] if bar else []
        name = Text(_shortened(printable(row.name), names), style=style)
        table.add_row(name, *drawn, *told[:-1], Text(told[-1], style=style))
    return table


def _cells(row: Progress) -> list[str]:
    total = '?' if row.total is None else f'{row.total:,}'
    share = row.cut_off_share
    about = _ABOUT if row.accuracy_by == 'rule' else ''
    return [
        f'{row.samples:,}/{total}',
        '–' if row.tokens_per_second is None else number(row.tokens_per_second),
        '–' if share is None else f'{100 * share:.1f} %',
        f'{row.unusual:,}',
        '–' if row.accuracy is None else f'{about}{row.accuracy:.1f} %',
        doing(row),
    ]


def _shortened(name: str, cells: int) -> str:
    """Return a name without its middle where it is too wide: those of a sweep differ at both ends."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(name) <= cells:
        return name
    end, used = len(name), 0
    while end and used + cell_len(name[end - 1]) <= cells // 2:
        end -= 1
        used += cell_len(name[end])
    return f'{set_cell_size(name, cells - used - 1).rstrip()}…{name[end:]}'
