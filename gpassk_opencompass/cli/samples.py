"""`gpassk samples`: what stands in a store of samples."""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..errors import InputError
from ..line_files import store_folder
from ..sample_store.identity import IDENTITY
from ..sample_store.stock import Stock, find_store, in_use, remove, stocks
from ..sample_store.store import STORE_VARIABLE
from ..tables import Column, Table
from ..times import seconds_of
from ..unseen import printable
from .files import opened, opened_bytes
from .options import add_actions, path, positive
from .shown import add_table_options, show

_DAY = 86400.0
_FORMS = {'.jsonl': 'jsonl', '.parquet': 'parquet'}


@dataclass(frozen=True)
class Chosen:
    """Which identities of a store are meant; None where it does not matter."""

    model: str | None = None
    settings: str | None = None
    older: int | None = None
    unused: int | None = None

    def of(self, root: Path) -> list[Stock]:
        """Return those that are meant."""
        return [stock for stock in stocks(root) if self._holds(stock)]

    def _holds(self, stock: Stock) -> bool:
        now = time.time()
        drawn = seconds_of(stock.latest)
        return (
            (self.model is None or self.model.casefold() in f'{stock.model}\n{_path(stock)}'.casefold())
            and (self.settings is None or stock.folder.name.startswith(self.settings))
            and (self.older is None or now - (stock.used if drawn is None else drawn) > self.older * _DAY)
            and (self.unused is None or now - stock.used > self.unused * _DAY)
        )


def add_arguments(parser: ArgumentParser) -> None:
    """Add the actions list, prune and export."""
    about = {
        'list': 'one line for each model and setting',
        'prune': 'remove what is kept of some; shows first what that would be',
        'export': 'a table with a row a sample, fit for `gpassk score`',
    }
    where = 'a sample store, or a folder of work directories with one beside them'
    store = {'nargs': '?', 'type': path, 'metavar': 'STORE'}
    actions = add_actions(
        parser, about, 'store', **store, help=f'{where}; default: ${STORE_VARIABLE}, else outputs'
    )
    listing, pruning, exporting = actions.values()
    for action in actions.values():
        action.add_argument('--model', metavar='TEXT', help="part of the model's path")
        action.add_argument('--settings', metavar='ID', help='the start of the name of its folder, see list')
    add_table_options(listing)
    pruning.add_argument('--older-than', type=positive, metavar='DAYS', help='no sample is younger')
    pruning.add_argument('--unused', type=positive, metavar='DAYS', help='no run looked there for so long')
    pruning.add_argument('--all', action='store_true', help='whatever it is')
    pruning.add_argument('--yes', action='store_true', help='remove it; else it is only shown')
    exporting.add_argument('--run', metavar='NAME', help='only what the run with this work directory drew')
    exporting.add_argument(
        '-o', '--output', type=path, metavar='FILE', help='.jsonl or .parquet', required=True
    )


def run(arguments: Namespace) -> int:
    """Do what was asked and return the exit code."""
    root = find_store(arguments.store or _default())
    chosen = Chosen(
        arguments.model,
        arguments.settings,
        getattr(arguments, 'older_than', None),
        getattr(arguments, 'unused', None),
    )
    if arguments.action == 'prune':
        return _prune(root, chosen, arguments.all, arguments.yes)
    found = chosen.of(root)
    if arguments.action == 'export':
        return _export(root, found, arguments.run, arguments.output)
    show(_table(found))
    print(f'\n{_sum(found)} in {printable(root)}')
    _print_unknown(found)
    return 0


def _default() -> Path:
    named = os.environ.get(STORE_VARIABLE)
    return store_folder(named) if named else Path('outputs')


def _table(found: Sequence[Stock]) -> Table:
    """Return a row a model and setting; programs get all of it."""
    texts = [('settings', None), ('model', 40), ('engine', 60), ('sampling', 100)]
    numbers = [Column(name, 'right') for name in ('questions', 'n', 'samples', 'runs')]
    more = [Column('size', 'right', _size), Column('used', 'left', _day)]
    hidden = [Column(name, hidden=True) for name in ('of runs', 'damaged', 'latest', 'folder')]
    columns = [Column(name, 'left', partial(printable, width=width)) for name, width in texts]
    table = Table('kept samples', [*columns, *numbers, *more, *hidden])
    for one in found:
        table.add(
            *(one.folder.name, one.model, one.engine, one.sampling),
            *(one.questions, one.n, one.samples, len(one.runs), one.bytes, one.used),
            *(
                [{'run': run, 'samples': drawn} for run, drawn in one.runs.items()],
                one.damaged,
                one.latest,
                str(one.folder),
            ),
        )
    return table


def _day(moment: float) -> str:
    return time.strftime('%Y-%m-%d', time.gmtime(moment))


def _sum(found: Sequence[Stock]) -> str:
    samples, damaged = sum(one.samples for one in found), sum(one.damaged for one in found)
    told = f', {damaged} damaged lines' if damaged else ''
    return f'{samples} samples in {len(found)} folders, {_size(sum(one.bytes for one in found))}{told}'


def _print_unknown(found: Sequence[Stock]) -> None:
    if unknown := [stock.folder.name for stock in found if stock.identity is None]:
        print(
            f'{IDENTITY} is missing or damaged in {", ".join(unknown)}: its samples are taken all the same, '
            'and the next run with the same settings and engine writes it again',
            file=sys.stderr,
        )


def _size(count: int) -> str:
    """Return a number of bytes in words.

    >>> _size(999), _size(2_340_000)
    ('999 B', '2.3 MB')
    """
    size, unit = float(count), 'B'
    for unit in ('B', 'kB', 'MB', 'GB', 'TB'):
        if size < 1000 or unit == 'TB':
            break
        size /= 1000
    return f'{size:.0f} {unit}' if unit == 'B' else f'{size:.1f} {unit}'


def _prune(root: Path, chosen: Chosen, everything: bool, sure: bool) -> int:
    if chosen == Chosen() and not everything:
        raise InputError('say what may go: --model, --settings, --older-than, --unused, or --all')
    found = chosen.of(root)
    busy = [stock for stock in found if in_use(stock.folder)]
    found = [stock for stock in found if stock not in busy]
    for stock in busy:
        print(f'{stock.folder.name} is left: a run adds to it now', file=sys.stderr)
    if not found:
        print('nothing to remove')
        return 0
    show(_table(found))
    if not sure:
        print(f'\nto remove: {_sum(found)}. Nothing was removed; the same line with --yes does it')
        return 0
    for stock in found:
        remove(stock.folder)
    print(f'\nremoved: {_sum(found)}')
    return 0


def _export(root: Path, found: Sequence[Stock], run: str | None, output: Path) -> int:
    from ..exports.kept_samples import rows_of, write_lines, write_parquet

    form = _FORMS.get(output.suffix)
    if form is None:
        raise InputError(f'-o {output}: expected a name that ends in {" or ".join(_FORMS)}')
    if output.resolve().is_relative_to(root.resolve()):
        raise InputError(f'{output} would lie in the store that is read; choose another folder')
    rows, left_out = rows_of(found, run)
    if not rows:
        raise InputError(f'no such samples in {root}; `gpassk samples list` shows what there is')
    if form == 'parquet':
        with opened_bytes(output, make_folder=True) as raw:
            write_parquet(rows, raw)
    else:
        with opened(output, make_folder=True) as file:
            write_lines(rows, file)
    if left_out:
        print(
            f'{left_out} samples were left out, as other runs drew them too; --run NAME chooses one',
            file=sys.stderr,
        )
    print(f'wrote {len(rows)} samples to {printable(output)}')
    return 0


def _path(stock: Stock) -> str:
    return '' if stock.identity is None else json.dumps(stock.identity.model.get('path', ''))
