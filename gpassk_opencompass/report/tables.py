"""The tables of a report as views of its frame, with their files, and those of one run of OpenCompass."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import NamedTuple

from pandas import DataFrame

from ..files import save
from ..metrics import ACCURACY, SHOWN_THRESHOLDS, Metric, metrics_of
from ..record import Result
from ..statistics import mean_interval
from ..text import Table, csv_cell, latex, markdown, markdown_line
from . import frame

HOW_TO_READ = (
    '[low, high] is the {level:g} % interval for new questions of the same kind, clustered by problem. '
    'A rank 2–5 says that the run is nowhere before 2nd and nowhere behind 5th by mG-Pass@{k}, compared with '
    'all others at once; at 95 % at least 93 of 100 simulated tables had no false rank. Unjudged samples '
    'count as incorrect.'
)


class Section(NamedTuple):
    """A leaderboard, or the overview, with what stands above it, and its groups, which are in files alone."""

    lead: str
    table: Table
    groups: list[Table]


def sections(boards: Sequence[frame.Board], data: DataFrame) -> list[Section]:
    """Return all tables of a report, in their order."""
    scores, found = frame.scores_of(data), []
    for board in boards:
        why = [f'This table stands {board.reason}.'] if board.reason else []
        lead = [f'{board.size}, judge: {frame.judge_line(board.entries[0].result)}.', *why, *board.notes]
        found.append(Section(' '.join(lead), leaderboard(board, data, scores), by_group(board, scores)))
    return [*found, Section('', overview(boards, scores), [])] if len(boards) > 1 else found


def leaderboard(board: frame.Board, data: DataFrame, scores: frame.Scores) -> Table:
    """Return a row a run, best first: Greedy, G-Pass@k at each threshold, mG-Pass@k, rank, n and health.

    For programs: the rows of the frame that are of all questions.
    """
    shown = [frame.GREEDY, *map(str, board.metrics)]
    notes = [HOW_TO_READ.format(level=100 * board.level, k=board.k)]
    table = Table(board.title, ['model', *shown, 'rank', 'n', 'health'], notes=notes)
    table.data = [
        {name: int(one) if name in frame.WHOLE and not isnan(one) else one for name, one in row.items()}
        for row in data[(data.benchmark == board.title) & (data.group == '')].to_dict('records')
    ]
    for entry, (best, worst) in zip(board.entries, board.pairs.ranks.tolist(), strict=True):
        cells = [(own := scores.get((board.title, entry.name, '', name))) and str(own) for name in shown]
        rank = f'{best}–{worst}' if best < worst else f'{best}'
        table.rows.append([entry.name, *cells, rank, entry.result.n, frame.health_line(entry.result) or 'ok'])
        notes += [f'{entry.name}: {note}' for note in (entry.greedy_note, *entry.remarks) if note]
    return table


def by_group(board: frame.Board, scores: frame.Scores) -> list[Table]:
    """Return a table a metric: runs × contest and language, and each contest and language as a whole."""
    found = []
    for metric in [frame.GREEDY, *map(str, board.metrics)]:
        table = Table(f'{board.title}: {metric} by contest and language', ['model', *board.groups])
        for entry in board.entries:
            cells = [scores.get((board.title, entry.name, group, metric)) for group in board.groups]
            table.rows += [[entry.name, *(cell and str(cell) for cell in cells)]] if any(cells) else []
        found += [table] if table.rows else []
    return found


def overview(boards: Sequence[frame.Board], scores: frame.Scores) -> Table:
    """Return mG-Pass@k of each run on each benchmark, and the mean where one may be taken."""
    why_not = frame.why_no_average(boards)
    columns = {f'{board.title}: {board.ranked_by}': (board.title, str(board.ranked_by)) for board in boards}
    columns |= {} if why_not else {frame.AVERAGE: (frame.AVERAGE, str(boards[0].ranked_by))}
    note = f'no average: {why_not}' if why_not else 'No average where a benchmark is missing.'
    table = Table('All benchmarks', ['model', *columns], notes=[note])
    for run in dict.fromkeys(entry.name for board in boards for entry in board.entries):
        cells = [scores.get((title, run, '', metric)) for title, metric in columns.values()]
        table.rows.append([run, *(cell and str(cell) for cell in cells)])
    return table


def write_tables(
    data: DataFrame, tables: Sequence[Section], folder: Path, left_out: Sequence[str] = ()
) -> None:
    """Write `leaderboard.md` with all tables, `tables/*.tex` one each, and `scores.csv`, the whole frame."""
    parts, names = ['# G-Pass@k\n'], set[str]()
    for lead, main, groups in tables:
        name = file_name(main.title, names)
        for table, above in ((main, [markdown_line(lead)] if lead else []), *((one, []) for one in groups)):
            text = '\n\n'.join([*above, markdown(table)])
            parts.append(f'{"##" if table is main else "###"} {markdown_line(table.title)}\n\n{text}\n')
        save(folder / f'tables/{name}.tex', latex(main))
        if groups:
            save(folder / f'tables/{name}.groups.tex', '\n'.join(map(latex, groups)))
    runs = data[data.metric.isin(['accuracy', frame.GREEDY]) & (data.group == '')]
    marks = [' (greedy)' if metric == frame.GREEDY else '' for metric in runs.metric]
    signed = [
        f'{title}: {run}{mark}: {signature}'
        for title, run, mark, signature in zip(runs.benchmark, runs.run, marks, runs.signature, strict=True)
    ]
    for heading, lines in (('Signatures', signed), ('Left out', left_out)):
        if lines:
            parts.append(f'## {heading}\n\n' + ''.join(f'- {markdown_line(line)}\n' for line in lines))
    save(folder / 'leaderboard.md', '\n'.join(parts))
    save(folder / 'scores.csv', scores_csv(data))


def scores_csv(data: DataFrame) -> str:
    """Return the frame as CSV: all digits, empty cells for nothing, and nothing that a spreadsheet obeys."""
    data = data[list(frame.COLUMNS)].astype(dict.fromkeys(frame.WHOLE, 'Int64'))
    for name, column in data.select_dtypes(exclude='number').items():
        data[name] = column.map({text: csv_cell(text) for text in column.unique()})
    return str(data.to_csv(index=False, lineterminator='\n'))


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


def results_table(
    results: Sequence[Result], *, every_metric: bool = False, by_group: bool = False, intervals: bool = False
) -> Table:
    """Return a row a run, or a run and group: accuracy, then every metric, or those of the published tables.

    Those are of the largest k. `intervals`: behind each score of a run, at 95 %, for new questions.
    """
    sampled = [result for result in results if result.n > 1]
    ks = sorted({k for result in sampled for k in result.ks})
    thresholds = sorted({threshold for result in sampled for threshold in result.thresholds})
    if not every_metric:
        ks = ks[-1:]
        thresholds = [tau for tau in thresholds if tau in SHOWN_THRESHOLDS] or thresholds
    known = metrics_of(ks, thresholds, pass_at=every_metric) if ks else []
    metrics = [ACCURACY, *(metric for metric in known if metric.steps)]

    def cell(result: Result, scores: Mapping[str, float], metric: Metric) -> float | str | None:
        score = scores.get(str(metric))
        if score is None or not intervals:
            return score
        found = mean_interval(result.values(metric), result.counts.problem, metric.top)
        return '{:.2f} [{:.1f}, {:.1f}]'.format(score, *(100 * end for end in found.at()))

    heads = ['group', *map(str, metrics)] if by_group else ['n', *map(str, metrics), 'unjudged']
    table = Table(f'Results{" by contest and language" * by_group}', ['model', 'dataset', *heads])
    for result in results:
        scores, names = result.scores(), [result.run.model, result.run.dataset]
        for group in dict.fromkeys(result.counts.group) if by_group else ():
            table.rows.append([*names, group, *(scores.get(f'{group}/{metric}') for metric in metrics)])
        if not by_group:
            cells = [cell(result, scores, metric) for metric in metrics]
            table.rows.append([*names, result.n, *cells, result.health.unjudged])
    kind = '[low, high] is the 95 % interval for new questions of the same kind, clustered by problem.'
    table.notes += [kind] * intervals
    return table
