"""That a result record is whole, so that nothing that is made of it can fail later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..record import DOUBTS, SCHEMA

MOST_SAMPLES = 1_000_000
"""A question; more are a damaged n, whose tables would fill the memory."""

DEEPEST = 60
"""Levels of JSON in each other; a record has 6. What can just be read may be too deep to be written."""

_NAMED = ('uid', 'problem', 'group')


def check_block(path: Path, block: Mapping[str, Any]) -> None:
    """That the parts of `gpassk` on which everything rests are there and fit together.

    Raises:
        InputError: the schema is another one, or a part is missing or damaged.
    """
    if block.get('schema') != SCHEMA:
        raise InputError(f'{path} has schema {block.get("schema")!r}; this version reads {SCHEMA}')
    n, counts = block.get('n', 0), block.get('counts')
    if not _whole(n, 1, MOST_SAMPLES) or not isinstance(counts, dict):
        raise _damaged(path, f'n = {n!r}; expected a whole number from 1 to {MOST_SAMPLES}, and counts')
    ks = block.get('k')
    if not isinstance(ks, list) or not all(_whole(k, 1, n) for k in ks):
        raise _damaged(path, f'k = {ks!r}; expected whole numbers from 1 to n = {n}')
    _check_columns(path, counts)
    if not all(_whole(c, 0, n) for c in counts['c']):
        raise _damaged(path, f'expected counts 0 <= c <= n = {n}')
    _check_doubts(path, block, n)


def check_depth(path: Path, record: object) -> None:
    """That the record is not nested beyond `DEEPEST`.

    Raises:
        InputError: it is.
    """
    level: list[Any] = [record]
    for _ in range(DEEPEST):
        parts = (whole.values() if isinstance(whole, dict) else whole for whole in level)
        level = [part for whole in parts for part in whole if isinstance(part, (dict, list))]
        if not level:
            return
    raise _damaged(path, f'nested more than {DEEPEST} levels deep')


def _check_columns(path: Path, counts: Mapping[str, Any]) -> None:
    columns = [counts.get(name) for name in (*_NAMED, 'c')]
    lists = [column for column in columns if isinstance(column, list)]
    if len(lists) != len(columns) or len({len(column) for column in lists}) != 1 or not lists[0]:
        raise _damaged(path, 'counts need uid, problem, group and c, one entry a question')
    for name in _NAMED:
        if wrong := [text for text in counts[name] if not _is_text(text)]:
            raise _damaged(path, f'counts.{name} has {wrong[0]!r}; expected texts')
    if len(set(counts['uid'])) < len(counts['uid']):
        raise _damaged(path, 'counts.uid names a question twice')


def _check_doubts(path: Path, block: Mapping[str, Any], n: int) -> None:
    """Each optional: a list of one entry a question, and its sum; no sample is in two of them."""
    room: Sequence[int] = [n - c for c in block['counts']['c']]
    for name in DOUBTS:
        parts = block['counts'].get(name, [0] * len(room))
        fit = isinstance(parts, list) and len(parts) == len(room)
        if not fit or not all(_whole(part, 0, most) for part, most in zip(parts, room, strict=True)):
            raise _damaged(path, f'counts.{name}; expected 0 <= {name} <= n - c, one entry a question')
        room = [most - part for part, most in zip(parts, room, strict=True)]
        told = block.get(name, sum(parts))
        if not _whole(told, 0, n * len(room)):
            raise _damaged(path, f'{name} = {told!r}; expected a whole number of samples')
        if name in block['counts'] and told != sum(parts):
            raise _damaged(path, f'{name} = {told}, but those of the questions are {sum(parts)} in all')


def _damaged(path: Path, what: str) -> InputError:
    return InputError(f'{path} is damaged: {what}')


def _whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_text(value: object) -> bool:
    """A half of a surrogate pair cannot be written to any file."""
    return isinstance(value, str) and not any('\ud800' <= character <= '\udfff' for character in value)
