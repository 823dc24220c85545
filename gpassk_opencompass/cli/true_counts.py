"""What a model got right, from a file: for `gpassk judge-errors --counts`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..answers import normal_form
from ..arguments import LARGEST_N, as_whole
from ..errors import InputError
from ..results.result import Result
from ..sources.result_files import holds_result, read_result
from ..sources.source import Place


class Truth(NamedTuple):
    """Counts that are taken for true."""

    counts: dict[int, list[int]]
    """n → c of each question with n answers."""
    answers: list[list[str | None]]
    """The n answers to each question in normal form, None for an empty one; [] where the file has none."""
    correct: list[list[bool]]
    """Whether each is correct."""


def read_truth(path: str, n: int | None = None) -> Truth:
    """Read counts from a result file of an evaluation, or from rows with c and n.

    Args:
        path: a result file, a JSON list of rows, or JSON lines; a row is an object with `c` and `n`.
        n: the n of rows that have none.

    Raises:
        InputError: names the file and the row.
    """
    place = Place(path)
    if holds_result(place):
        return _of_result(read_result(place))
    counts: dict[int, list[int]] = {}
    for number, row in place.rows():
        if 'c' not in row:
            raise InputError(f'{place.row(number)}: expected {{"n": …, "c": …}}, got {str(row)[:80]}')
        size, c = _count(place.row(number), row, n)
        counts.setdefault(size, []).append(c)
    if not counts:
        raise InputError(f'{path} holds no counts; expected an object with c and n a question')
    return Truth(counts, [], [])


def _count(place: str, row: Mapping[str, Any], n: int | None) -> tuple[int, int]:
    size = row.get('n', n)
    if size is None:
        raise InputError(f'{place} has no n; add it, or give it for all rows with --n')
    try:
        size = as_whole('n', size, 1, LARGEST_N)
        return size, as_whole('c', row['c'], 0, size, meaning='n = ')
    except (TypeError, ValueError) as error:
        raise InputError(f'{place}: {error}') from error


def _of_result(result: Result) -> Truth:
    answers = result.answers if result.verdicts else ()
    return Truth(
        {result.n: result.counts.tolist()},
        [[normal_form(answer) or None for answer in row] for row in answers],
        [[verdict == '1' for verdict in row] for row in result.verdicts] if answers else [],
    )
