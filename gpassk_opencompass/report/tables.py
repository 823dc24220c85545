"""The tables of a report as views of its frame, and the files that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..files import save
from ..metrics import ACCURACY, SHOWN_THRESHOLDS, Kind, Metric, metrics_of
from ..record import Result
from ..statistics import mean_interval
from ..text import Table, csv_cell, csv_lines, latex, markdown, markdown_line
from .frame import (
    AVERAGE,
    COLUMNS,
    GREEDY,
    WHOLE,
    Board,
    Score,
    health_line,
    run_names,
    scores_of,
    why_no_average,
)

if TYPE_CHECKING:
    from pandas import DataFrame

HOW_TO_READ = (
    '[low, high] is the {level:g} % interval for new questions of the same kind, clustered by problem. '
    'A rank 2–5 says that the run is nowhere before 2nd and nowhere behind 5th by mG-Pass@{k}, compared with '
    'all others at once; at 95 % at least 93 of 100 simulated tables had no false rank. Unjudged samples '
    'count as incorrect.'
)

Scores = Mapping[tuple[str, str, str, str], Score]
"""(benchmark, run, group, metric) → the score, as `scores_of` gives them."""


class Section(NamedTuple):
    """A table of a report with what stands around it."""

    heading: str
    lead: str
    table: Table
    main: bool
    """Whether it is a leaderboard or the overview, which are printed; the others are in files alone."""


def sections(boards: Sequence[Board], data: DataFrame) -> list[Section]:
    """Return all tables of a report, in their order."""
    scores, found = scores_of(data), []
    for board in boards:
        problems = '' if board.questions == board.problems else f' of {board.problems} source problems'
        why = [f'This table stands {board.reason}.'] if board.reason else []
        lead = [f'{board.questions} questions{problems}, judge: {board.judge}.', *why, *board.notes]
        found.append(Section(board.title, ' '.join(lead), leaderboard(board, scores), main=True))
        found += [Section(table.title, '', table, main=False) for table in by_group(board, scores)]
    if len(boards) > 1:
        found.append(Section('All benchmarks', '', overview(boards, scores), main=True))
    return found


def leaderboard(board: Board, scores: Scores) -> Table:
    """Return a row a run, best first: Greedy, G-Pass@k at each threshold, mG-Pass@k, rank, n and health."""
    shown = [GREEDY, *map(str, board.metrics)]
    data: list[Mapping[str, Any]] = []
    notes = [HOW_TO_READ.format(level=100 * board.level, k=board.k)]
    table = Table(board.title, ['model', *shown, 'rank', 'n', 'health'], notes=notes, data=data)
    for entry, (best, worst) in zip(board.entries, board.pairs.ranks.tolist(), strict=True):
        health, n = health_line(entry.result), entry.result.n
        own = {
            name: score
            for name in [GREEDY, 'accuracy', f'pass@{board.k}', *shown[1:]]
            if (score := scores.get((board.title, entry.name, '', name)))
        }
        rank = f'{best}–{worst}' if best < worst else f'{best}'
        cells = [str(own[name]) if name in own else None for name in shown]
        table.rows.append([entry.name, *cells, rank, n, health or 'ok'])
        row: dict[str, Any] = {'model': entry.name}
        for name, score in own.items():
            row |= {name: score.value, f'{name} low': score.low, f'{name} high': score.high}
        row |= {'rerun': own[str(board.ranked_by)].rerun, 'rank low': best, 'rank high': worst, 'n': n}
        data.append({**row, 'health': health, 'unjudged': entry.result.health.unjudged})
        notes += [f'{entry.name}: {note}' for note in (entry.greedy_note, *entry.remarks) if note]
    return table


def by_group(board: Board, scores: Scores) -> Iterator[Table]:
    """Yield a table a metric: runs × contest and language, and each contest and language as a whole."""
    groups = list(board.groups)
    for metric in [GREEDY, *map(str, board.metrics)]:
        table = Table(f'{board.title}: {metric} by contest and language', ['model', *groups])
        for entry in board.entries:
            cells = [scores.get((board.title, entry.name, group, metric)) for group in groups]
            if any(cells):
                table.rows.append([entry.name, *(cell and str(cell) for cell in cells)])
        if table.rows:
            yield table


def overview(boards: Sequence[Board], scores: Scores) -> Table:
    """Return mG-Pass@k of each run on each benchmark, and the mean where one may be taken."""
    why_not = why_no_average(boards)
    columns = {f'{board.title}: {board.ranked_by}': (board.title, str(board.ranked_by)) for board in boards}
    columns |= {} if why_not else {AVERAGE: (AVERAGE, str(boards[0].ranked_by))}
    table = Table('All benchmarks', ['model', *columns])
    for run in dict.fromkeys(entry.name for board in boards for entry in board.entries):
        cells = [scores.get((title, run, '', metric)) for title, metric in columns.values()]
        table.rows.append([run, *(cell and str(cell) for cell in cells)])
    table.notes = [f'no average: {why_not}'] if why_not else ['No average where a benchmark is missing.']
    return table


def scores_csv(data: DataFrame) -> str:
    """Return the frame as CSV: all digits, empty cells for nothing, and nothing that a spreadsheet obeys."""
    columns = []
    for name in COLUMNS:
        column = data[name].to_numpy()
        if column.dtype == object:
            texts = {cell: csv_cell(cell) for cell in set(column)}
            columns.append(list(map(texts.__getitem__, column)))
            continue
        unknown = np.isnan(column)
        cells = (np.where(unknown, 0, column).astype(int) if name in WHOLE else column).astype(object)
        cells[unknown] = None
        columns.append(cells.tolist())
    return csv_lines([COLUMNS, *zip(*columns, strict=True)])


def write_tables(
    boards: Sequence[Board],
    data: DataFrame,
    tables: Sequence[Section],
    folder: Path,
    left_out: Sequence[str] = (),
) -> None:
    """Write `leaderboard.md` with all tables, `tables/*.tex` one each, and `scores.csv`, the whole frame."""
    parts, files = ['# G-Pass@k\n'], {'scores.csv': scores_csv(data)}
    names, name = set[str](), ''
    for heading, lead, table, main in tables:
        text = '\n\n'.join(filter(None, [markdown_line(lead), markdown(table)]))
        parts.append(f'{"##" if main else "###"} {markdown_line(heading)}\n\n{text}\n')
        name = file_name(heading, names) if main else name
        tex = f'tables/{name}.tex' if main else f'tables/{name}.groups.tex'
        files[tex] = '\n'.join(filter(None, [files.get(tex), latex(table)]))
    signed = [
        f'{board.title}: {entry.name}{mark}: {run.signature}'
        for board in boards
        for entry in board.entries
        for run, mark in ((entry.result, ''), (entry.greedy, ' (greedy)'))
        if run is not None
    ]
    for heading, lines in (('Signatures', signed), ('Left out', left_out)):
        if lines:
            parts.append(f'## {heading}\n\n' + ''.join(f'- {markdown_line(line)}\n' for line in lines))
    files['leaderboard.md'] = '\n'.join(parts)
    for name, text in files.items():
        save(folder / name, text)


def file_name(title: str, taken: set[str]) -> str:
    """Return a file name for a table or figure, and add it to those taken; capitals do not count.

    >>> file_name('AIME: a/b', set()), file_name('aime', {'aime'})
    ('AIME-a-b', 'aime-2')
    """
    # A character takes up to three bytes here, and a file name has 255.
    name = free = re.sub(r'[^\w.+@-]+', '-', title)[:75].strip('-.') or 'table'
    number = 1
    while free.lower() in taken:
        number += 1
        free = f'{name}-{number}'
    taken.add(free.lower())
    return free


# The tables of one run of OpenCompass


def results_table(results: Sequence[Result], *, every_metric: bool = False, by_group: bool = False) -> Table:
    """Return a row a run, or a run and group: the columns of the published tables, or every metric."""
    metrics = _metric_columns(results, every_metric)
    heads = [*(['group'] if by_group else ['n']), *map(str, metrics), *([] if by_group else ['unjudged'])]
    title = 'Results by contest and language' if by_group else 'Results'
    table = Table(title, ['model', 'dataset', *heads])
    for result in results:
        scores, names = result.scores(), [result.run.model, result.run.dataset]
        if by_group:
            for group in dict.fromkeys(result.counts.group):
                table.rows.append([*names, group, *(scores.get(f'{group}/{metric}') for metric in metrics)])
        else:
            cells = [scores.get(metric.name) for metric in metrics]
            table.rows.append([*names, result.n, *cells, result.health.unjudged])
    return table


def summary_table(results: Sequence[Result], level: float = 0.95) -> str:
    """Return a Markdown table a data set, a row a run: the published metrics, below each its interval.

    What all rows share stands in the heading, the settings in which models differ below their names: a line
    fits a terminal of 120 columns.
    """
    names = dict(zip(map(id, results), run_names(results), strict=True))
    texts, remarks = [], []
    for dataset, runs in groupby(
        sorted(results, key=lambda one: one.run.dataset), lambda one: one.run.dataset
    ):
        members = list(runs)
        metrics = _metric_columns(members, every_metric=False)
        table = Table(dataset, ['model', *map(str, metrics)])
        for result in members:
            scores, intervals, name = result.scores(), [], names[id(result)]
            for metric in metrics:
                if metric.name in scores:
                    values = result.values(metric)
                    low, high = mean_interval(values, result.counts.problem, metric.top).at(level)
                    intervals.append(f'{100 * low:.1f}–{100 * high:.1f}')
                else:
                    intervals.append('')
            model = result.model if name.startswith(result.model) else name
            below = ', '.join(filter(None, [name.removeprefix(model).strip(), result.health.mark]))
            table.rows.append([model, *(scores.get(one.name) for one in metrics)])
            table.rows.append([below, *intervals])
            remarks += [f'{name}: {line}' for line in result.health.remarks('copies')]
        sizes = ', '.join(map(str, sorted({one.n for one in members})))
        unjudged = sum(one.health.unjudged for one in members)
        heading = markdown_line(f'{dataset}: n = {sizes}, {unjudged} samples unjudged')
        texts.append(f'{heading}\n\n{markdown(table)}')
    kind = 'interval for new questions of the same kind, clustered by problem.'
    below = f'Below each score: its {100 * level:g} % {kind}'
    return '\n\n'.join([*texts, '\n'.join([below, *map(markdown_line, dict.fromkeys(remarks))])])


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
