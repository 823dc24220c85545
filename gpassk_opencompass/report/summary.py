"""The tables of one run: a row a model, with each score's interval below it, within a terminal's width."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from ..errors import InputError
from ..metrics import ACCURACY, SHOWN_THRESHOLDS, Kind, Metric, metrics_of
from ..naming.names import ModelName
from ..results.health import copies_warnings, health_of
from ..tables import Cell, Column, Table, markdown_line
from ..tables.table import Value
from ..uncertainty import mean_interval, value_table

LEVEL = 0.95

NAME_WIDTH = 33
"""Characters of the first column; with the published columns of k = 16 a line then has 120."""


class Run(NamedTuple):
    """One result file: which model on which data set, and what the evaluator wrote."""

    model: str
    dataset: str
    record: Mapping[str, Any]


def results_table(runs: Sequence[Run], *, every_metric: bool = False) -> Table:
    """Return a row a run, in the order given: the columns of the published tables, or every metric."""
    metrics = _metric_columns([run.record for run in runs], every_metric)
    rows: list[Sequence[Value]] = [
        [
            run.model,
            run.dataset,
            run.record['gpassk']['n'],
            *(run.record.get(metric.name) for metric in metrics),
            run.record['gpassk']['unjudged'],
        ]
        for run in runs
    ]
    return Table('Results', ['model', 'dataset', 'n', *map(str, metrics), 'unjudged'], rows)


def breakdown_table(runs: Sequence[Run], *, every_metric: bool = False) -> Table:
    """Return a row a run and contest × language."""
    metrics = _metric_columns([run.record for run in runs], every_metric)
    rows: list[Sequence[Value]] = [
        [run.model, run.dataset, group, *(run.record.get(f'{group}/{metric}') for metric in metrics)]
        for run in runs
        for group in dict.fromkeys(run.record['gpassk']['counts']['group'])
    ]
    return Table('Results by contest and language', ['model', 'dataset', 'group', *map(str, metrics)], rows)


def summary_table(runs: Sequence[Run]) -> str:
    """Return a table a data set, a row a run: accuracy and the published metrics, below each its interval.

    Where no interval holds, or the samples look like copies, there is a letter, which a note explains. The
    settings of a model stand below its name, so that a line fits a terminal of 120 columns.
    """
    notes: list[str] = []
    tables = [
        _dataset_table(dataset, list(members), notes)
        for dataset, members in groupby(sorted(runs, key=attrgetter('dataset')), key=attrgetter('dataset'))
    ]
    texts = [f'{markdown_line(one.title)}\n\n{one.to_markdown(notes=False)}' for one in tables]
    below = 'Below each score: its 95 % interval for new questions of the same kind, clustered by problem.'
    return '\n\n'.join([*texts, '\n'.join([below, *tables[-1].noted()])])


def _dataset_table(dataset: str, runs: Sequence[Run], notes: list[str]) -> Table:
    """Return a table with what is the same in all rows in its title; `notes` are those of all data sets."""
    metrics = _metric_columns([run.record for run in runs], every_metric=False)
    sizes = sorted({run.record['gpassk']['n'] for run in runs})
    unjudged = sum(run.record['gpassk']['unjudged'] for run in runs)
    scores = [Column(str(metric), 'right', limits='{:.1f}–{:.1f}') for metric in metrics]
    title = f'{dataset}: n = {", ".join(map(str, sizes))}, {unjudged} samples unjudged'
    table = Table(title, [Column('model', 'left'), *scores], notes=notes)
    for run in runs:
        name, settings = _split(run.model)
        mark = health_of(run.record['gpassk']).mark
        shown = Cell(
            f'{name} ({mark})' if mark else name, note='; '.join(copies_warnings(run.record['gpassk']))
        )
        table.add(shown, *(run.record.get(one.name) for one in metrics))
        table.add(settings, *(_interval(run, metric) for metric in metrics))
    return table


def _metric_columns(records: Iterable[Mapping[str, Any]], every_metric: bool) -> list[Metric]:
    """Return accuracy, then the largest k at the published τ and mG-Pass, or all that any record has."""
    sampled = [record['gpassk'] for record in records if record['gpassk']['n'] > 1]
    ks = sorted({k for block in sampled for k in block['k']})
    thresholds = sorted({threshold for block in sampled for threshold in block['thresholds']})
    if not every_metric:
        ks = ks[-1:]
        thresholds = [tau for tau in thresholds if tau in SHOWN_THRESHOLDS] or thresholds
    found = metrics_of(ks, thresholds, pass_at=every_metric) if ks else []
    return [ACCURACY, *(metric for metric in found if metric.k > 1 or metric.kind is not Kind.MG_PASS)]


def _interval(run: Run, metric: Metric) -> Cell:
    """Return the interval of a score, alone; nothing where there is no score."""
    if run.record.get(metric.name) is None:
        return Cell('')
    block = run.record['gpassk']
    values = value_table(metric, block['n'])[block['counts']['c']]
    found = mean_interval(values, block['counts']['problem'], LEVEL)
    return Cell('', None if found.refused else (100 * found.low, 100 * found.high), found.refused)


def _split(model: str) -> tuple[str, str]:
    """Return the name of a model and its settings, or any name cut in two where it is long."""
    try:
        head = len(ModelName.parse(model).model)
    except InputError:
        head = NAME_WIDTH
    return model[:head], model[head:]
