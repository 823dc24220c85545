"""What the page is given: counts for its sums, and what only Python computes; `Content` of content.ts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ...adapter import counted_samples
from ...errors import InputError
from ...health import WORDS, Health
from ...metrics import ACCURACY, Metric
from ...record import Result
from ...text import escape as escaped
from ...uncertainty import Interval, rerun_interval
from ...uncertainty.comparison import ADDED_PROBLEMS
from ...uncertainty.intervals import (
    FEWEST_EFFECTIVE,
    FEWEST_IN_ALL,
    FEWEST_PROBLEMS,
    LEAST_ERROR,
    quantile,
)
from ...version import __version__
from ..frame import Board, Entry, limits_line, rows_of, why_no_average
from .answers import cut_off_of_each, pack, pack_answers


class Responses(NamedTuple):
    """Where the responses of an entry lie: a folder beside the page, or why there is none."""

    folder: str | None
    lost: str = ''


NO_RESPONSES = Responses(None, 'the report was made without --responses')


def page_content(
    boards: Sequence[Board],
    responses: Mapping[Path, Responses] | None = None,
) -> dict[str, Any]:
    """Return everything on the page, JSON-able. Counts are whole, answers go in within a budget.

    Args:
        boards: a benchmark each.
        responses: path of a result → where its responses lie; answers of these are not packed into the page.

    Raises:
        InputError: nothing to show.
    """
    if not boards:
        raise InputError('there is nothing to show: 0 tables; give at least one complete result')
    runs, responses = _Runs(), responses or {}
    results = [entry.result for board in boards for entry in board.entries]
    where = [responses.get(result.path, NO_RESPONSES) for result in results]
    packed = pack_answers([result for result, one in zip(results, where, strict=True) if not one.folder])
    chunks, cuts, numbered = iter(packed.chunks), iter(packed.cut_off), zip(count(), where)
    told = [
        _board(board, [_entry(board, entry, runs, *next(numbered), cuts) for entry in board.entries])
        for board in boards
    ]
    return {
        'version': __version__,
        'limits': {
            'problems': FEWEST_PROBLEMS,
            'effective': FEWEST_EFFECTIVE,
            'inAll': FEWEST_IN_ALL,
            'error': LEAST_ERROR,
            'added': ADDED_PROBLEMS,
        },
        'answersShown': packed.shown,
        'noAverage': why_no_average(boards) if len(boards) > 1 else '',
        'runs': runs.told,
        'boards': told,
        'chunks': {
            'samples': [None if one.folder else next(chunks) for one in where],
            'texts': [pack(_texts(board.entries[0].result)) for board in boards],
        },
    }


class _Runs:
    """Models with their settings, each once, in the order in which they are asked for."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self._places: dict[tuple[str, str], int] = {}

    def place(self, entry: Entry) -> int:
        """Return the place of the run of an entry; two of one name and host are one on several boards."""
        key = (entry.result.run.host, entry.name)
        if key not in self._places:
            self._places[key] = len(self.told)
            self.told.append(_run(entry))
        return self._places[key]


def _run(entry: Entry) -> dict[str, Any]:
    result = entry.result
    settings: dict[str, Any] = {
        **result.sampling,
    }
    names = {'name': entry.name, 'model': result.model, 'host': result.run.host}
    return {**_seen(names), 'settings': _seen(settings)}


def _seen(told: Any) -> Any:
    """Return what is told with escapes for characters that steer a text or cannot be seen.

    For names and remarks: in answers and responses the page shows such characters itself.
    """
    if isinstance(told, str):
        return escaped(told)
    if isinstance(told, Mapping):
        return {escaped(str(name)): _seen(one) for name, one in told.items()}
    return [_seen(one) for one in told] if isinstance(told, (list, tuple)) else told


def _board(board: Board, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    result = board.entries[0].result
    counts = result.counts
    groups, problems = list(dict.fromkeys(counts.group)), list(dict.fromkeys(counts.problem))
    return {
        'title': escaped(board.title),
        'benchmark': escaped(board.benchmark),
        'reason': escaped('. '.join([*([board.reason] if board.reason else []), *board.notes])),
        'k': board.k,
        'level': board.level,
        'quantiles': _quantiles(result, board.level),
        'judge': escaped(board.judge),
        'data': result.data.sha256,
        'uids': counts.uid,
        'groups': _seen(groups),
        'group': _positions(counts.group, groups),
        'problem': _positions(counts.problem, problems),
        'entries': entries,
        'better': [''.join('01'[apart] for apart in row) for row in board.pairs.better.tolist()],
    }


def _entry(
    board: Board, entry: Entry, runs: _Runs, number: int, responses: Responses, cuts: Iterator[list[int]]
) -> dict[str, Any]:
    result, health, counts = entry.result, entry.result.health, entry.result.table
    doubt = counts.unjudged if counts.undecided is None else counts.unjudged + counts.undecided
    order = rows_of(result, board.entries[0].result.counts.uid)
    cut = cut_off_of_each(result) if responses.folder else next(cuts)
    ranks = board.ranks[board.entries.index(entry)].tolist()
    return {
        'run': runs.place(entry),
        'name': escaped(entry.name),
        'n': result.n,
        'c': counts.c[order].tolist(),
        'unjudged': counts.unjudged[order].tolist() if counts.unjudged.any() else [],
        'cut': [cut[row] for row in order] if cut else [],
        'inDoubt': doubt[order].tolist() if doubt.any() else [],
        'reasons': _seen(health.unjudged_reasons),
        'greedy': _greedy(board, entry),
        'greedyNote': escaped(entry.greedy_note),
        'ranks': ranks,
        'rerun': {
            str(metric): _limits(rerun_interval(result.table.c, result.n, metric, board.level))
            for metric in (ACCURACY, Metric.pass_at(board.k), *board.metrics)
        },
        'signature': result.signature,
        'badges': list(_badges(entry)),
        'health': health.mark,
        'ended': escaped(health.line),
        'tokens': health.output_tokens,
        'engine': escaped(result.engine),
        'warnings': [
            escaped(line)
            for line in (
                *health.copies_warnings(),
                *entry.remarks,
                *(f'{note}.' for note in health.undecided_notes()),
            )
        ],
        'chunk': number,
        'order': order if order != list(range(len(order))) else None,
        'shards': responses.folder,
        'shardsLost': escaped(responses.lost),
    }


def _badges(entry: Entry) -> Iterator[dict[str, str]]:
    """Return what a reader has to see beside a score, each as a word or two."""
    health: Health = entry.result.health
    for what, kind in (('truncated', 'cut off'), ('unanswered', 'unanswered'), ('unusual', 'unusual')):
        if (share := health.share(what)) and share >= _SHOWN:
            yield {'kind': kind, 'text': f'{100 * share:.1f} % {WORDS[what]}'}
    if health.unjudged:
        yield {'kind': 'unjudged', 'text': f'{health.unjudged} unjudged'}
    if health.copies_warnings():
        yield {'kind': 'copies', 'text': 'copies'}
    if limits := limits_line(entry.result):
        yield {'kind': 'limited', 'text': limits}


_SHOWN = 0.001
"""Share of samples below which nothing is said of them beside the score."""


def _limits(interval: Interval) -> list[float] | None:
    return None if interval.refused else [interval.low, interval.high]


def _greedy(board: Board, entry: Entry) -> list[int] | None:
    if entry.greedy is None:
        return None
    order = rows_of(entry.greedy, board.entries[0].result.counts.uid)
    counts: list[int] = entry.greedy.table.c[order].tolist()
    return counts


def _positions(values: Iterable[str], among: Sequence[str]) -> list[int]:
    place = {value: position for position, value in enumerate(among)}
    return [place[value] for value in values]


def _texts(result: Result) -> dict[str, list[str]]:
    """Return question and reference of each question, as far as the result tells them."""
    samples = counted_samples(result, 'question', 'reference')
    first = [rows[0] for rows in samples.by_question().values()] if samples else []
    nothing = [''] * len(result.table)
    return {
        name: [column[row] or '' for row in first] if (column := samples and samples.get(name)) else nothing
        for name in ('question', 'reference')
    }


def _quantiles(result: Result, level: float) -> dict[int, float]:
    """Return Student's t for each number of problems that the table or one of its groups has."""
    problems = result.counts.problem
    pairs = set(zip(result.counts.group, problems, strict=True))
    sizes = {*Counter(group for group, _ in pairs).values(), len(set(problems))}
    return {size: quantile(level, size - 1) for size in sizes if size > 1}
