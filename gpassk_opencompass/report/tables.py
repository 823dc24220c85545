"""The tables of a report: Markdown, CSV, LaTeX, and JSON in the layout of the published leaderboard."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..results.health import answer_warnings
from ..unseen import json_text
from .layout import NOTHING, TextTable
from .leaderboard import Board
from .overview import overview_table
from .published import as_published
from .scores import ALL, GREEDY, Scored, Scores, scores_csv, scores_of
from .table import markdown_line, one_line
from .written import free_name, write_texts

SCORES_FILE = 'scores.csv'

HOW_TO_READ = (
    '[low, high] is the {level:g} % interval for new questions of the same kind, clustered by problem. '
    'A rank 2–5 says that, with all ranks of the table right at once at {level:g} %, the run is nowhere '
    'before 2nd and nowhere behind 5th by mG-Pass@{k}; a run that fails rarely and is a little better '
    'elsewhere can be ranked wrongly more often. Unjudged samples count as incorrect.'
)


def write_tables(
    boards: Sequence[Board], folder: Path, notes: Sequence[str] = (), average: bool = False
) -> list[Path]:
    """`write_scored` for boards whose scores are not there yet."""
    return write_scored([(board, scores_of(board)) for board in boards], folder, notes, average)


def write_scored(
    scored: Scored, folder: Path, notes: Sequence[str] = (), average: bool = False
) -> list[Path]:
    """Write all tables of the boards.

    `leaderboard.md` holds them all, `tables/*.tex` one each, `scores.csv` every number with all digits,
    `results.json` the layout of the published leaderboard, `signatures.txt` how each score came about.

    Args:
        scored: boards of `leaderboard.boards` with their `scores_of`.
        folder: is made.
        notes: lines for the end of `leaderboard.md`, e.g. what was passed over.
        average: add a column with the average over the benchmarks, where one may be taken.

    Returns:
        The paths written.
    """
    files = {
        'leaderboard.md': _markdown(scored, notes, average),
        SCORES_FILE: scores_csv(one for _, rows in scored for row in rows for one in row.values()),
        'results.json': json_text(as_published(scored), indent=4) + '\n',
        'signatures.txt': ''.join(f'{one_line(line)}\n' for line in signatures(board for board, _ in scored)),
        **dict(_latex(scored, average)),
    }
    return write_texts(folder, files)


def leaderboard_table(board: Board, rows: Sequence[Scores]) -> TextTable:
    """One row a run, best first: Greedy, G-Pass@k at three thresholds, mG-Pass@k, each with its interval.

    Where responses of a run were cut off or empty beyond `results.health.LIMITS`, a last column says so.
    """
    columns = [GREEDY, *board.metrics]
    marked = any(entry.result.health.mark for entry in board.entries)
    table = TextTable(board.title, ['model', *columns, 'rank', 'n', 'unjudged', *(['health'] * marked)])
    for entry, scores in zip(board.entries, rows, strict=True):
        ranked = scores[ALL, board.metrics[-1]]
        table.rows.append(
            [
                entry.name,
                *(table.score(scores.get((ALL, column))) for column in columns),
                _ranks(ranked.best_rank, ranked.worst_rank),
                str(entry.result.n),
                str(entry.result.unjudged),
                *([entry.result.health.mark or 'ok'] * marked),
            ]
        )
    return table


def health_table(board: Board) -> TextTable:
    """One row a run: how its samples came to their end, and what they cost."""
    cells = [entry.result.health.cells for entry in board.entries]
    table = TextTable(f'{board.title}: how the responses ended', ['model', *cells[0]])
    table.rows += [[entry.name, *row.values()] for entry, row in zip(board.entries, cells, strict=True)]
    return table


def group_tables(board: Board, rows: Sequence[Scores]) -> Iterator[TextTable]:
    """For each metric of the leaderboard a table of runs × (contest and language)."""
    if len(board.groups) < 2:
        return
    for metric in (GREEDY, *board.metrics):
        table = TextTable(f'{board.title}: {metric} by contest and language', ['model', *board.groups])
        for entry, scores in zip(board.entries, rows, strict=True):
            cells = [table.score(scores.get((group, metric))) for group in board.groups]
            if any(cell != NOTHING for cell in cells):
                table.rows.append([entry.name, *cells])
        if table.rows:
            yield table


def heading(board: Board) -> str:
    """What all rows of the board share, in one sentence."""
    alone = board.questions == board.problems
    problems = '' if alone else f' of {board.problems} source problems'
    why = [f'This table stands {board.reason}.'] if board.reason else []
    return ' '.join([f'{board.questions} questions{problems}, judge: {board.judge}.', *why, *board.notes])


def signatures(boards: Iterable[Board]) -> Iterator[str]:
    """One line a run, greedy runs too."""
    for board in boards:
        runs = (
            (run, f' ({entry.mark})' if entry.mark else '')
            for entry in board.entries
            for run in (entry.result, entry.greedy)
            if run is not None
        )
        yield from dict.fromkeys(
            f'{board.title}: {run.model_abbr}{mark}: {run.signature}' for run, mark in runs
        )


def _warnings(board: Board) -> list[str]:
    """What of the responses of each run has to be known."""
    return [
        f'{entry.name}: {warning}'
        for entry in board.entries
        for warning in answer_warnings(entry.result.block)
    ]


def _ranks(best: int | None, worst: int | None) -> str:
    return str(best) if best == worst else f'{best}–{worst}'


def _markdown(scored: Scored, notes: Sequence[str], average: bool) -> str:
    parts = ['# G-Pass@k\n']
    for board, rows in scored:
        read = HOW_TO_READ.format(level=100 * board.level, k=board.k)
        table = leaderboard_table(board, rows)
        title, about = markdown_line(board.title), markdown_line(heading(board))
        parts.append(f'## {title}\n\n{about}\n\n{table.to_markdown()}\n{read}\n')
        if warnings := _warnings(board):
            parts.append(''.join(f'- {markdown_line(line)}\n' for line in warnings))
        parts += [
            f'### {markdown_line(table.title)}\n\n{table.to_markdown()}'
            for table in (health_table(board), *group_tables(board, rows))
        ]
    overview = overview_table(scored, average)
    if overview:
        parts.append(f'## {overview.title}\n\n{overview.to_markdown()}')
    parts.append(_list('Signatures', signatures(board for board, _ in scored)))
    if notes:
        parts.append(_list('Left out', notes))
    return '\n'.join(parts)


def _list(title: str, lines: Iterable[str]) -> str:
    return f'## {title}\n\n' + ''.join(f'- {markdown_line(line)}\n' for line in lines)


def _latex(scored: Scored, average: bool) -> Iterator[tuple[str, str]]:
    for (board, rows), name in zip(scored, _file_names([board for board, _ in scored]), strict=True):
        yield f'tables/{name}.tex', leaderboard_table(board, rows).to_latex()
        by_group = [table.to_latex(titled=True) for table in group_tables(board, rows)]
        if by_group:
            yield f'tables/{name}.groups.tex', '\n'.join(by_group)
    overview = overview_table(scored, average)
    if overview:
        yield 'tables/overview.tex', overview.to_latex()


def _file_names(boards: Iterable[Board]) -> list[str]:
    """One a board, different ones for different boards also where capitals do not count."""
    names: list[str] = []
    for board in boards:
        # A character takes up to three bytes here, and a file name has 255.
        name = re.sub(r'[^\w.+-]+', '-', board.title)[:75].strip('-.') or 'table'
        names.append(free_name(name, {*names, 'overview', 'published'}))
    return names
