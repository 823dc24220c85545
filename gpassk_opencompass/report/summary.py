"""The table at the end of a run: each score with its interval below it, within the width of a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tabulate import tabulate

from ..errors import InputError
from ..naming.names import ModelName
from ..results.health import health_of
from ..uncertainty import Interval, kernel_of, mean_interval, value_table
from .layout import NOTHING, letter, short_reason
from .table import Run, Table, markdown_cell, markdown_line, results_table

LEVEL = 0.95

NAME_WIDTH = 33
"""Of the first column; with the published columns of k = 16 a line then has 120 characters."""


def summary_table(runs: Sequence[Run]) -> str:
    """A table a data set, a row a run: accuracy and the published metrics, below each its 95 % interval.

    Where no interval holds there is a letter, which a note explains. The settings of a model stand below its
    name, so that a line fits a terminal of 120 columns.
    """
    reasons: list[str] = []
    tables = [
        _dataset_table(dataset, list(members), reasons)
        for dataset, members in groupby(sorted(runs, key=_dataset), key=_dataset)
    ]
    notes = [
        'Below each score: its 95 % interval for new questions of the same kind, clustered by problem.',
        *(f'[{letter(number)}] no interval: {reason}' for number, reason in enumerate(reasons)),
    ]
    return '\n\n'.join([*tables, '\n'.join(notes)])


def _dataset(run: Run) -> str:
    return run.dataset


def _dataset_table(dataset: str, runs: Sequence[Run], reasons: list[str]) -> str:
    """With what is the same in all rows in its title; `reasons` gets those of refused intervals."""
    table = results_table(runs).without('dataset').without('n').without('unjudged')
    rows = _rows(table, runs, reasons)
    sizes = sorted({run.record['gpassk']['n'] for run in runs})
    unjudged = sum(run.record['gpassk']['unjudged'] for run in runs)
    title = f'{dataset}: n = {", ".join(map(str, sizes))}, {unjudged} samples unjudged'
    alignment = ['left'] + ['right'] * (len(table.headers) - 1)
    text = tabulate(rows, table.headers, 'github', colalign=alignment, disable_numparse=True)
    return f'{markdown_line(title)}\n\n{text}'


def _rows(table: Table, runs: Sequence[Run], reasons: list[str]) -> list[list[str]]:
    """Two rows a run; `reasons` gets those for which an interval is refused."""
    rows = []
    for run, (_, *scores) in zip(runs, table.rows, strict=True):
        name, settings = _split(run.model)
        rows.append(
            [markdown_cell(name), *(NOTHING if score is None else f'{score:.2f}' for score in scores)]
        )
        if mark := health_of(run.record['gpassk']).mark:
            rows[-1][0] += f' ({markdown_cell(mark)})'
        below = zip(table.headers[1:], scores, strict=True)
        # Of a cell's underscores the first one begins no emphasis where no other one can end it.
        first, rest = ('_', settings[1:]) if settings.startswith('_') else ('', settings)
        rows.append(
            [first + markdown_cell(rest), *(_below(run, metric, score, reasons) for metric, score in below)]
        )
    return rows


def _below(run: Run, metric: str, score: float | None, reasons: list[str]) -> str:
    """The interval of a score; nothing where there is none."""
    if score is None:
        return ''
    interval = _interval(run, metric)
    if not interval.refused:
        return f'{100 * interval.low:.1f}–{100 * interval.high:.1f}'
    reason = short_reason(interval.refused)
    if reason not in reasons:
        reasons.append(reason)
    return f'{NOTHING} [{letter(reasons.index(reason))}]'


def _interval(run: Run, metric: str) -> Interval:
    block = run.record['gpassk']
    values = value_table(kernel_of(metric), block['n'])[block['counts']['c']]
    return mean_interval(values, block['counts']['problem'], LEVEL)


def _split(model: str) -> tuple[str, str]:
    """The name of a model and its settings, or any name cut in two where it is long."""
    try:
        head = len(ModelName.parse(model).model)
    except InputError:
        head = NAME_WIDTH
    return model[:head], model[head:]
