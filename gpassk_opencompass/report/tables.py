"""The tables of a report as views of its frame, and the files that hold them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..files import save
from ..metrics import ACCURACY, SHOWN_THRESHOLDS, Kind, Metric, metrics_of, value_table
from ..record import Result
from ..statistics import mean_interval
from ..text import Table, csv_text, latex, markdown, markdown_line
from .frame import AVERAGE, COLUMNS, GREEDY, Board, run_names, why_no_average

if TYPE_CHECKING:
    from pandas import DataFrame

SCORES_FILE = 'scores.csv'

HOW_TO_READ = (
    '[low, high] is the {level:g} % interval for new questions of the same kind, clustered by problem. '
    'A rank 2–5 says that the run is nowhere before 2nd and nowhere behind 5th by mG-Pass@{k}, compared with '
    'all others at once; at 95 % at least 90 of 100 simulated tables had no false rank. Unjudged samples '
    'count as incorrect.'
)


class Section(NamedTuple):
    """A table of a report with what stands around it."""

    heading: str
    lead: str
    table: Table
    main: bool
    """Whether it is a leaderboard or the overview, which are printed; the others are in files alone."""


Rows = Mapping[tuple[str, str, str, str], Any]
"""(benchmark, run, group, metric) → the row of the frame."""


def rows_of(data: DataFrame) -> Rows:
    """Return the rows of a frame by what they are of: tables look up many."""
    return {(row.benchmark, row.run, row.group, row.metric): row for row in data.itertuples()}


def sections(boards: Sequence[Board], data: DataFrame) -> list[Section]:
    """Return all tables of a report, in their order."""
    rows, found = rows_of(data), []
    for board in boards:
        found.append(Section(board.title, lead(board), leaderboard(board, rows), main=True))
        found += [Section(table.title, '', table, main=False) for table in by_group(board, rows)]
    if len(boards) > 1:
        found.append(Section('All benchmarks', '', overview(boards, rows), main=True))
    return found


def lead(board: Board) -> str:
    """Return what all rows of a board share."""
    problems = '' if board.questions == board.problems else f' of {board.problems} source problems'
    why = [f'This table stands {board.reason}.'] if board.reason else []
    return ' '.join([f'{board.questions} questions{problems}, judge: {board.judge}.', *why, *board.notes])


def leaderboard(board: Board, rows: Rows) -> Table:
    """Return a row a run, best first: Greedy, G-Pass@k at each threshold, mG-Pass@k, rank, n and health."""
    metrics = [GREEDY, 'accuracy', f'pass@{board.k}', *map(str, board.metrics)]
    shown = [GREEDY, *map(str, board.metrics)]
    data: list[Mapping[str, Any]] = []
    table = Table(board.title, ['model', *shown, 'rank', 'n', 'health'], data=data)
    notes = []
    for entry in board.entries:
        own = {name: row for name in metrics if (row := rows.get((board.title, entry.name, '', name)))}
        ranked = own[str(board.ranked_by)]
        best, worst = int(ranked.rank_low), int(ranked.rank_high)
        rank = f'{best}–{worst}' if best < worst else f'{best}'
        scores = [_score(own.get(name)) for name in shown]
        table.rows.append([entry.name, *scores, rank, entry.result.n, ranked.health or 'ok'])
        told = {'model': entry.name}
        for name, row in own.items():
            told |= {name: row.value, f'{name} low': row.low, f'{name} high': row.high}
        rest = {'rank low': best, 'rank high': worst, 'n': entry.result.n, 'health': ranked.health}
        data.append({**told, 'rerun': ranked.rerun, **rest, 'unjudged': int(ranked.unjudged)})
        notes += [f'{entry.name}: {note}' for note in (entry.greedy_note, *entry.remarks) if note]
    table.notes = [HOW_TO_READ.format(level=100 * board.level, k=board.k), *notes]
    return table


def by_group(board: Board, rows: Rows) -> Iterator[Table]:
    """Yield a table a metric: runs × contest and language, and each contest and language as a whole."""
    groups = list(board.groups)
    for metric in [GREEDY, *map(str, board.metrics)]:
        table = Table(f'{board.title}: {metric} by contest and language', ['model', *groups])
        for entry in board.entries:
            cells = [_score(rows.get((board.title, entry.name, group, metric))) for group in groups]
            if any(cells):
                table.rows.append([entry.name, *cells])
        if table.rows:
            yield table


def overview(boards: Sequence[Board], rows: Rows) -> Table:
    """Return mG-Pass@k of each run on each benchmark, and the mean where one may be taken."""
    why_not = why_no_average(boards)
    columns = [(board.title, str(board.ranked_by)) for board in boards]
    heads = [f'{title}: {metric}' for title, metric in columns]
    if not why_not:
        columns.append((AVERAGE, str(boards[0].ranked_by)))
        heads.append(AVERAGE)
    table = Table('All benchmarks', ['model', *heads])
    for run in dict.fromkeys(entry.name for board in boards for entry in board.entries):
        cells = [_score(rows.get((title, run, '', metric))) for title, metric in columns]
        table.rows.append([run, *cells])
    table.notes = [f'no average: {why_not}'] if why_not else ['No average where a benchmark is missing.']
    return table


def _score(row: Any) -> str | None:
    """Return '77.78 [59.7, 89.2]' of a row of the frame; None where there is none."""
    return f'{row.value:.2f} [{row.low:.1f}, {row.high:.1f}]' if row else None


def scores_csv(data: DataFrame) -> str:
    """Return the frame as CSV: all digits, empty cells for nothing, and nothing that a spreadsheet obeys."""
    counts = (
        'rank_low',
        'rank_high',
        'unjudged',
        'truncated',
        'unanswered',
        'unusual',
        'copies',
        'output_tokens',
    )
    whole = [name in counts for name in COLUMNS]
    rows = (
        [
            cell if isinstance(cell, str) else None if math.isnan(cell) else int(cell) if as_int else cell
            for cell, as_int in zip(row, whole, strict=True)
        ]
        for row in data.itertuples(index=False, name=None)
    )
    return csv_text([list(COLUMNS), *rows])


def write_tables(
    boards: Sequence[Board],
    data: DataFrame,
    tables: Sequence[Section],
    folder: Path,
    left_out: Sequence[str] = (),
) -> list[Path]:
    """Write `leaderboard.md` with all tables, `tables/*.tex` one each, and `scores.csv`, the whole frame."""
    parts, files = ['# G-Pass@k\n'], {SCORES_FILE: scores_csv(data)}
    names, name = set[str](), ''
    for heading, about, table, main in tables:
        text = '\n\n'.join(filter(None, [markdown_line(about), markdown(table)]))
        parts.append(f'{"##" if main else "###"} {markdown_line(heading)}\n\n' + text + '\n')
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
    return [folder / name for name in sorted(files)]


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


def results_table(results: Sequence[Result], *, every_metric: bool = False) -> Table:
    """Return a row a run, in the order given: the columns of the published tables, or every metric."""
    metrics = _metric_columns(results, every_metric)
    table = Table('Results', ['model', 'dataset', 'n', *map(str, metrics), 'unjudged'])
    for result in results:
        scores, health = result.scores(), result.health
        shown = (scores.get(metric.name) for metric in metrics)
        table.rows.append([result.run.model, result.run.dataset, result.n, *shown, health.unjudged])
    return table


def breakdown_table(results: Sequence[Result], *, every_metric: bool = False) -> Table:
    """Return a row a run and contest × language."""
    metrics = _metric_columns(results, every_metric)
    table = Table('Results by contest and language', ['model', 'dataset', 'group', *map(str, metrics)])
    for result in results:
        scores = result.scores()
        for group in dict.fromkeys(result.counts.group):
            shown = (scores.get(f'{group}/{metric}') for metric in metrics)
            table.rows.append([result.run.model, result.run.dataset, group, *shown])
    return table


def summary_table(results: Sequence[Result], level: float = 0.95) -> str:
    """Return a Markdown table a data set, a row a run: the published metrics, below each its interval.

    What all rows share stands in the heading, the settings in which models differ below their names.
    """
    names = dict(zip(map(id, results), run_names(results), strict=True))
    texts, remarks = [], []
    for dataset, members in groupby(
        sorted(results, key=lambda one: one.run.dataset), lambda one: one.run.dataset
    ):
        own = list(members)
        metrics = _metric_columns(own, every_metric=False)
        sizes = ', '.join(map(str, sorted({one.n for one in own})))
        unjudged = sum(one.health.unjudged for one in own)
        table = Table(dataset, ['model', *map(str, metrics)])
        for result in own:
            scores, mark, intervals = result.scores(), result.health.mark, []
            for metric in metrics:
                if metric.name not in scores:
                    intervals.append('')
                    continue
                top = float(value_table(metric, metric.k).max())
                low, high = mean_interval(result.values(metric), result.counts.problem, top).at(level)
                intervals.append(f'{100 * low:.1f}–{100 * high:.1f}')
            name = names[id(result)]  # its settings stand below it: a line fits a terminal of 120 columns
            model = result.model if name.startswith(result.model) else name
            below = ', '.join(filter(None, [name.removeprefix(model).strip(), mark]))
            table.rows.append([model, *(scores.get(one.name) for one in metrics)])
            table.rows.append([below, *intervals])
            remarks += [f'{names[id(result)]}: {line}' for line in result.health.copies_warnings()]
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
