"""The tables of a report: of each benchmark, of all benchmarks side by side, and their files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

from ..distributions import student_quantile
from ..errors import InputError
from ..files import write_file
from ..health import WORDS
from ..sweep.names import ModelName
from ..tables import Cell, Column, Table, markdown_line, one_line
from ..unseen import json_text
from .leaderboard import Board, Entry
from .published import as_published
from .scores import ALL, Score, Scored, Scores, measures_of, scores_csv
from .several_hosts import judges_differ

SCORES_FILE = 'scores.csv'

HOW_TO_READ = (
    '[low, high] is the {level:g} % interval for new questions of the same kind, clustered by problem. '
    'A rank 2–5 says that, with all ranks of the table right at once at {level:g} %, the run is nowhere '
    'before 2nd and nowhere behind 5th by mG-Pass@{k}. Unjudged samples count as incorrect.'
)

AVERAGE = 'average'

_MISSING = 'no average: a benchmark is missing'


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
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text.encode('utf-8', 'backslashreplace'))
    return [folder / name for name in files]


def leaderboard_table(board: Board, rows: Sequence[Scores]) -> Table:
    """Return a row a run, best first: Greedy, G-Pass@k at three thresholds, and mG-Pass@k, with intervals.

    Where responses of a run were cut off or empty beyond `health.LIMITS`, a last column says so;
    where its samples look like copies, a note does.
    """
    columns = measures_of(board)
    marked = any(entry.result.health.mark for entry in board.entries)
    rank = Column(
        'rank', 'right', limits=lambda best, worst: f'{best}–{worst}' if best < worst else f'{best}'
    )
    about: list[Column | str] = [rank, 'n', 'unjudged', *(['health'] * marked)]
    table = _runs_table(board.title, [*map(str, columns), *about])
    for entry, scores in zip(board.entries, rows, strict=True):
        ranked = scores[ALL, board.ranked_by]
        table.add(
            _named(entry),
            *(score_cell(scores.get((ALL, column))) for column in columns),
            _ranks(ranked.best_rank, ranked.worst_rank),
            entry.result.n,
            entry.result.health.unjudged,
            *([entry.result.health.mark or 'ok'] * marked),
        )
    return table


def health_table(board: Board) -> Table:
    """Return a row a run: how its samples came to their end, and what they cost."""
    columns = [Column(word, 'right', '{:.1f} %') for word in WORDS.values()]
    tokens = [Column(name, 'right', '{:,.0f}'.format) for name in ('output tokens a response', 'in all')]
    table = _runs_table(f'{board.title}: how the responses ended', [*columns, *tokens])
    for entry in board.entries:
        health = entry.result.health
        shares = [health.share(what) for what in WORDS]
        percents = [None if share is None else 100 * share for share in shares]
        table.add(_named(entry), *percents, health.tokens_a_response, health.output_tokens)
    return table


def group_tables(board: Board, rows: Sequence[Scores]) -> Iterator[Table]:
    """Return for each metric of the leaderboard a table of runs × (contest and language)."""
    if len(board.groups) < 2:
        return
    for metric in measures_of(board):
        table = _runs_table(f'{board.title}: {metric} by contest and language', board.groups)
        for entry, scores in zip(board.entries, rows, strict=True):
            cells = [score_cell(scores.get((group, metric))) for group in board.groups]
            if any(cells):
                table.add(_named(entry), *cells)
        if table.rows:
            yield table


def overview_table(scored: Scored, average: bool) -> Table | None:
    """Return mG-Pass@k of each run on each benchmark; None with fewer than two.

    Args:
        scored: boards with the scores of their entries.
        average: add a column with the mean over the benchmarks for runs that have all of them.
    """
    if len(scored) < 2:
        return None
    boards = [board for board, _ in scored]
    titles = [f'{board.title}: {board.ranked_by}' for board in boards]
    found: dict[str, dict[str, Score]] = {}
    noted: dict[str, list[str]] = {}
    for title, (board, rows) in zip(titles, scored, strict=True):
        for entry, scores in zip(board.entries, rows, strict=True):
            found.setdefault(entry.run, {}).setdefault(title, scores[ALL, board.ranked_by])
            noted.setdefault(entry.run, []).extend(filter(None, [entry.copies]))
    why_not = why_no_average(boards) if average else ''
    averaged = average and not why_not
    table = _runs_table('All benchmarks', [*titles, *([AVERAGE] * averaged)])
    for run, of_run in found.items():
        scores_of_run = [of_run.get(title) for title in titles]
        name = Cell(run, note='; '.join(dict.fromkeys(noted[run])))
        table.add(name, *map(_of_benchmark, scores_of_run), *([_average(scores_of_run)] * averaged))
    if why_not:
        table.note(f'no average: {why_not}')
    return table


def _of_benchmark(score: Score | None) -> Cell | None:
    """Return a score with a note of what holds here alone: how it was made smaller."""
    cell = score_cell(score)
    if score is None or cell is None:
        return None
    return cell._replace(note='; '.join(filter(None, [cell.note, score.limited])))


def _average(scores: Sequence[Score | None]) -> Cell:
    """Return the mean over benchmarks, with a note on those that are not whole."""
    cell = score_cell(mean_score(scores))
    if cell is None:
        return Cell(None, note=_MISSING)
    known = [score for score in scores if score is not None]
    smaller = [f'{one.benchmark} ({one.limited})' for one in known if one.limited]
    notes = [f'of runs that were made smaller on {", ".join(smaller)}'] if smaller else []
    return cell._replace(note='; '.join(notes))


def why_no_average(boards: Sequence[Board]) -> str:
    """Return why no average over these boards means anything; '' if one does."""
    if parted := sorted({board.benchmark for board in boards if board.part}):
        return f'{parted[0]} has results that must not stand together (other questions or another judge)'
    if judges_differ([entry.result for board in boards for entry in board.entries]):
        return 'the benchmarks were judged by different judges'
    if len({board.k for board in boards}) > 1:
        return f'the benchmarks have different k ({", ".join(str(board.k) for board in boards)}); give one k'
    problems = [(board.title, set(board.entries[0].result.counts.problem)) for board in boards]
    for (first, ours), (second, theirs) in combinations(problems, 2):
        if shared := ours & theirs:
            return f'{first} and {second} share {len(shared)} problems, which would count twice'
    return ''


def mean_score(scores: Sequence[Score | None]) -> Score | None:
    """Return the unweighted mean over benchmarks with an interval from their errors; None if one is missing.

    Benchmarks are independent samples of questions, so the squared errors add up; the interval is Student's
    with Satterthwaite's degrees of freedom. Without an interval for each of them there is none for the mean.
    """
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return None
    value = math.fsum(score.value for score in known) / len(known)
    parts = [(score.error or 0.0) ** 2 / len(known) ** 2 for score in known]
    if any(score.low is None for score in known):
        return known[0]._replace(value=value, low=None, high=None, refused='none on one of the benchmarks')
    error, half = math.sqrt(sum(parts)), 0.0
    if error:
        squares = sum(part**2 / (score.problems - 1) for part, score in zip(parts, known, strict=True))
        half = student_quantile((1 + known[0].level) / 2, sum(parts) ** 2 / squares) * error
    low, high = max(value - half, 0.0), min(value + half, 100.0)
    return known[0]._replace(value=value, low=low, high=high, error=error, refused='')


def score_cell(score: Score | None) -> Cell | None:
    """Return a score with its interval, or why there is none, and its own note."""
    if score is None:
        return None
    if score.low is None or score.high is None:
        return Cell(score.value, refused=score.refused, note=score.note)
    return Cell(score.value, (score.low, score.high), note=score.note)


def how_to_read(board: Board) -> str:
    """Return what stands below a leaderboard: of what its intervals and ranks are."""
    return HOW_TO_READ.format(level=100 * board.level, k=board.k)


def heading(board: Board) -> str:
    """Return what all rows of the board share."""
    alone = board.questions == board.problems
    problems = '' if alone else f' of {board.problems} source problems'
    why = [f'This table stands {board.reason}.'] if board.reason else []
    told = [*why, *board.notes]
    return ' '.join([f'{board.questions} questions{problems}, judge: {board.judge}.', *told])


def signatures(boards: Iterable[Board]) -> Iterator[str]:
    """Return a line a run, greedy runs too."""
    for board in boards:
        runs = (
            (run, f' ({entry.mark})' if entry.mark else '')
            for entry in board.entries
            for run in (entry.result, entry.greedy)
            if run is not None
        )
        yield from dict.fromkeys(
            f'{board.title}: {run.run.model}{mark}: {run.signature}' for run, mark in runs
        )


def remarks(board: Board) -> list[str]:
    """Return a line for each thing that has to be known of a run before its scores are quoted."""
    return [f'{entry.name}: {remark}' for entry in board.entries for remark in entry.remarks]


def _named(entry: Entry) -> Cell:
    """Return the name of a run, with a note where its samples look like copies."""
    return Cell(entry.name, note=entry.copies)


def _runs_table(title: str, columns: Sequence[Column | str]) -> Table:
    model = Column('model', 'left', parts=name_parts)
    return Table(title, [model, *(Column(one, 'right') if isinstance(one, str) else one for one in columns)])


def name_parts(name: str) -> list[str]:
    """Return what stands below each other where a run's name does not fit: model, settings, marks.

    >>> name_parts('Qwen2.5-7B_t0.3_k50_l8192 (copies)')
    ['Qwen2.5-7B', '_t0.3_k50_l8192', '(copies)']
    """
    run, blank, marks = name.partition(' (')
    try:
        model = len(ModelName.parse(run).model)
    except InputError:
        model = len(run)
    return [part for part in (run[:model], run[model:], f'({marks}' if blank else '') if part]


def _ranks(best: int | None, worst: int | None) -> Cell | None:
    return None if best is None or worst is None else Cell('', (best, worst))


def _markdown(scored: Scored, notes: Sequence[str], average: bool) -> str:
    parts = ['# G-Pass@k\n']
    for board, rows in scored:
        read = how_to_read(board)
        table = leaderboard_table(board, rows)
        title, about = markdown_line(board.title), markdown_line(heading(board))
        parts.append(f'## {title}\n\n{about}\n\n{table.to_markdown()}\n\n{read}\n')
        if lines := remarks(board):
            parts.append(''.join(f'- {markdown_line(line)}\n' for line in lines))
        parts += [
            f'### {markdown_line(table.title)}\n\n{table.to_markdown()}\n'
            for table in (health_table(board), *group_tables(board, rows))
        ]
    overview = overview_table(scored, average)
    if overview:
        parts.append(f'## {overview.title}\n\n{overview.to_markdown()}\n')
    parts.append(_list('Signatures', signatures(board for board, _ in scored)))
    if notes:
        parts.append(_list('Left out', notes))
    return '\n'.join(parts)


def _list(title: str, lines: Iterable[str]) -> str:
    return f'## {title}\n\n' + ''.join(f'- {markdown_line(line)}\n' for line in lines)


def _latex(scored: Scored, average: bool) -> Iterator[tuple[str, str]]:
    for (board, rows), name in zip(scored, file_names([board for board, _ in scored]), strict=True):
        yield f'tables/{name}.tex', leaderboard_table(board, rows).to_latex()
        by_group = [table.to_latex(titled=True) for table in group_tables(board, rows)]
        if by_group:
            yield f'tables/{name}.groups.tex', '\n'.join(by_group)
    overview = overview_table(scored, average)
    if overview:
        yield 'tables/overview.tex', overview.to_latex()


def file_names(boards: Iterable[Board]) -> list[str]:
    """Return a name a board, different ones for different boards also where capitals do not count."""
    names: list[str] = []
    for board in boards:
        # A character takes up to three bytes here, and a file name has 255.
        name = re.sub(r'[^\w.+-]+', '-', board.title)[:75].strip('-.') or 'table'
        names.append(free_name(name, {*names, 'overview'}))
    return names


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name, with a number behind it where it is taken; capitals do not count.

    >>> free_name('AIME', ['aime', 'AIME-2'])
    'AIME-3'
    """
    others = {other.lower() for other in taken}
    number, free = 2, name
    while free.lower() in others:
        number, free = number + 1, f'{name}-{number}'
    return free
