"""The tables of one run: a row a model, with each score's interval below it, within a terminal's width."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from ..errors import InputError
from ..metrics import ACCURACY, SHOWN_THRESHOLDS, Kind, Metric, metrics_of
from ..record import Result
from ..sweep.names import ModelName
from ..tables import Cell, Column, Table, markdown_line
from ..tables.table import Value
from .intervals import intervals_of

LEVEL = 0.95

NAME_WIDTH = 33
"""Characters of the first column; with the published columns of k = 16 a line then has 120."""


def results_table(results: Sequence[Result], *, every_metric: bool = False) -> Table:
    """Return a row a run, in the order given: the columns of the published tables, or every metric."""
    metrics = _metric_columns(results, every_metric)
    rows: list[Sequence[Value]] = []
    for result in results:
        names, scores, unjudged = result.run, result.scores(), result.health.unjudged
        shown = (scores.get(metric.name) for metric in metrics)
        rows.append([names.model, names.dataset, result.n, *shown, unjudged])
    return Table('Results', ['model', 'dataset', 'n', *map(str, metrics), 'unjudged'], rows)


def breakdown_table(results: Sequence[Result], *, every_metric: bool = False) -> Table:
    """Return a row a run and contest × language."""
    metrics = _metric_columns(results, every_metric)
    rows: list[Sequence[Value]] = []
    for result in results:
        scores = result.scores()
        for group in dict.fromkeys(result.counts.group):
            shown = (scores.get(f'{group}/{metric}') for metric in metrics)
            rows.append([result.run.model, result.run.dataset, group, *shown])
    return Table('Results by contest and language', ['model', 'dataset', 'group', *map(str, metrics)], rows)


def summary_table(results: Sequence[Result]) -> str:
    """Return a table a data set, a row a run: accuracy and the published metrics, below each its interval.

    Where no interval holds, or the samples look like copies, there is a letter, which a note explains. The
    settings of a model stand below its name, so that a line fits a terminal of 120 columns.
    """
    notes: list[str] = []
    by_dataset = attrgetter('run.dataset')
    tables = [
        _dataset_table(dataset, list(members), notes)
        for dataset, members in groupby(sorted(results, key=by_dataset), key=by_dataset)
    ]
    texts = [f'{markdown_line(one.title)}\n\n{one.to_markdown(notes=False)}' for one in tables]
    below = 'Below each score: its 95 % interval for new questions of the same kind, clustered by problem.'
    return '\n\n'.join([*texts, '\n'.join([below, *tables[-1].noted()])])


def _dataset_table(dataset: str, results: Sequence[Result], notes: list[str]) -> Table:
    """Return a table with what is the same in all rows in its title; `notes` are those of all data sets."""
    metrics = _metric_columns(results, every_metric=False)
    sizes = sorted({result.n for result in results})
    unjudged = sum(result.health.unjudged for result in results)
    scores = [Column(str(metric), 'right', limits='{:.1f}–{:.1f}') for metric in metrics]
    title = f'{dataset}: n = {", ".join(map(str, sizes))}, {unjudged} samples unjudged'
    table = Table(title, [Column('model', 'left'), *scores], notes=notes)
    for result in results:
        name, settings = _split(result.run.model)
        health, found = result.health, result.scores()
        marked = f'{name} ({health.mark})' if health.mark else name
        shown = Cell(marked, note='; '.join(health.copies_warnings()))
        table.add(shown, *(found.get(one.name) for one in metrics))
        table.add(settings, *(_interval(result, metric, found) for metric in metrics))
    return table


def _metric_columns(results: Iterable[Result], every_metric: bool) -> list[Metric]:
    """Return accuracy, then the largest k at the published τ and mG-Pass, or all that any has."""
    sampled = [result for result in results if result.n > 1]
    ks = sorted({k for result in sampled for k in result.ks})
    thresholds = sorted({threshold for result in sampled for threshold in result.thresholds})
    if not every_metric:
        ks = ks[-1:]
        thresholds = [tau for tau in thresholds if tau in SHOWN_THRESHOLDS] or thresholds
    found = metrics_of(ks, thresholds, pass_at=every_metric) if ks else []
    return [ACCURACY, *(metric for metric in found if metric.k > 1 or metric.kind is not Kind.MG_PASS)]


def _interval(result: Result, metric: Metric, scores: Mapping[str, float]) -> Cell:
    """Return the interval of a score, alone; nothing where there is no score."""
    if metric.name not in scores:
        return Cell('')
    [found] = intervals_of(result, [metric], LEVEL).whole
    return Cell('', None if found.refused else (100 * found.low, 100 * found.high), found.refused)


def _split(model: str) -> tuple[str, str]:
    """Return the name of a model and its settings, or any name cut in two where it is long."""
    try:
        head = len(ModelName.parse(model).model)
    except InputError:
        head = NAME_WIDTH
    return model[:head], model[head:]
