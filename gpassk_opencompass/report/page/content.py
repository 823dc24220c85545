"""What the page is given: counts for its sums, and what only Python computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ...errors import InputError
from ...files import mapping
from ...metrics import ACCURACY, Metric
from ...results.health import copies_warnings, undecided_notes
from ...results.result import Result
from ...uncertainty import Interval
from ...uncertainty.intervals import (
    FEWEST_EFFECTIVE,
    FEWEST_IN_ALL,
    FEWEST_PROBLEMS,
    LEAST_ERROR,
    quantile,
)
from ...version import __version__
from ..leaderboard import Board, Entry
from ..published import Published
from .formulas import Formulas
from .responses import pack, pack_responses


def page_content(boards: Sequence[Board], published: Published | None = None) -> dict[str, Any]:
    """Return everything on the page, JSON-able. Counts are whole, answers go in within a budget.

    Returns:
        `boards` (a published benchmark is one too, without counts and so without intervals), the limits
        below which an interval is refused, and `chunks`: packed texts that the page opens when somebody
        asks for them.

    Raises:
        InputError: nothing to show.
    """
    if not boards and not published:
        raise InputError('there is nothing to show: 0 tables; give at least one complete result')
    formulas = Formulas()
    texts = [_texts(board.entries[0].result) for board in boards]
    for columns in texts:
        formulas.add(*columns['question'], *columns['reference'])
    responses = pack_responses([entry.result for board in boards for entry in board.entries], formulas)
    numbers = iter(range(len(responses.chunks)))
    contents = [_board(board, [next(numbers) for _ in board.entries]) for board in boards]
    return {
        'version': __version__,
        'limits': {
            'problems': FEWEST_PROBLEMS,
            'effective': FEWEST_EFFECTIVE,
            'inAll': FEWEST_IN_ALL,
            'error': LEAST_ERROR,
        },
        'answersShown': responses.shown,
        'boards': contents + _published_boards(published),
        'chunks': {
            'responses': responses.chunks,
            'texts': [pack(columns) for columns in texts],
            'formulas': pack(formulas.trees),
        },
    }


def _board(board: Board, numbers: Sequence[int]) -> dict[str, Any]:
    result = board.entries[0].result
    groups, problems = list(dict.fromkeys(result.groups)), list(dict.fromkeys(result.problems))
    return {
        'title': board.title,
        'reason': '. '.join([*([board.reason] if board.reason else []), *board.notes]),
        'k': board.k,
        'level': board.level,
        'quantiles': _quantiles(result, board.level),
        'judge': board.judge,
        'uids': result.uids,
        'groups': groups,
        'group': _positions(result.groups, groups),
        'problem': _positions(result.problems, problems),
        'entries': [
            _entry(board, entry, ranks, number)
            for entry, ranks, number in zip(board.entries, board.ranks.tolist(), numbers, strict=True)
        ],
    }


def _entry(board: Board, entry: Entry, ranks: Sequence[int], number: int) -> dict[str, Any]:
    result, block = entry.result, entry.result.block
    order = result.rows_of(board.entries[0].result.uids)
    return {
        'name': entry.name,
        'n': result.n,
        'c': result.counts[order].tolist(),
        'unjudged': result.unjudged_of_each[order].tolist() if result.unjudged_of_each.any() else [],
        'reasons': _reasons(block.get('unjudged_reasons')),
        'greedy': _greedy(board, entry),
        'greedyNote': entry.greedy_note,
        'ranks': list(ranks),
        'rerun': {
            str(metric): _limits(entry.rerun(metric))
            for metric in (ACCURACY, Metric.pass_at(board.k), *board.metrics)
        },
        'signature': result.signature,
        'inDoubt': result.in_doubt[order].tolist() if result.in_doubt.any() else [],
        'health': result.health.mark,
        'ended': result.health.line,
        'engine': result.engine,
        'warnings': [
            *copies_warnings(block),
            *entry.remarks,
            *(f'{note}.' for note in undecided_notes(block)),
        ],
        'responses': number,
        'order': order if order != list(range(len(order))) else None,
    }


def _reasons(told: object) -> dict[str, int]:
    """Return why samples are unjudged, and how many each; as far as the result tells it."""
    return {reason: count for reason, count in mapping(told).items() if isinstance(count, int)}


def _limits(interval: Interval) -> list[float] | None:
    return None if interval.refused else [interval.low, interval.high]


def _greedy(board: Board, entry: Entry) -> list[int] | None:
    if entry.greedy is None:
        return None
    order = entry.greedy.rows_of(board.entries[0].result.uids)
    counts: list[int] = entry.greedy.counts[order].tolist()
    return counts


def _positions(values: Iterable[str], among: Sequence[str]) -> list[int]:
    place = {value: position for position, value in enumerate(among)}
    return [place[value] for value in values]


def _texts(result: Result) -> dict[str, list[str]]:
    """Return question and reference of each question, as far as the result tells them."""
    nothing = [''] * len(result.uids)
    columns = {'question': result.questions, 'reference': result.references}
    return {name: list(column) or nothing for name, column in columns.items()}


def _quantiles(result: Result, level: float) -> dict[int, float]:
    """Return Student's t for each number of problems that the table or one of its groups has."""
    pairs = set(zip(result.groups, result.problems, strict=True))
    sizes = {*Counter(group for group, _ in pairs).values(), len(set(result.problems))}
    return {size: quantile(level, size - 1) for size in sizes if size > 1}


def _published_boards(published: Published | None) -> list[dict[str, Any]]:
    """Return published aggregates: a benchmark a table, values in percent, None where there is none."""
    if published is None:
        return []
    return [
        {
            'title': f'Published: {benchmark}',
            'published': list(map(str, published.metrics)),
            'entries': [
                {
                    'name': model,
                    'values': [
                        published.values.get((model, benchmark, metric)) for metric in published.metrics
                    ],
                }
                for model in published.models
            ],
        }
        for benchmark in published.benchmarks
    ]
