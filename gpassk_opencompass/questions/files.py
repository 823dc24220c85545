"""Lists of questions as they lie on disk or on the hub: objects, each with where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import DatasetDict, load_dataset
from datasets.exceptions import DatasetNotFoundError

from ..errors import InputError
from ..files import parse_json

HUB_NAME = re.compile(r'[\w.-]+/[\w.-]+')

Lines = list[tuple[str, Mapping[str, Any]]]
"""(where, object): the first part is for messages."""

HUB_ERRORS = (DatasetNotFoundError, ValueError, OSError)


def read_lines(file: Path) -> Lines:
    """The objects of a JSON Lines file; blank lines and a byte order mark do no harm.

    Raises:
        InputError: the file is missing, empty or cannot be read, or a line is no object, with its number.
    """
    if not file.is_file():
        there = ', '.join(sorted(other.name for other in file.parent.glob('*.jsonl'))) or 'no .jsonl file'
        raise InputError(f'{file} does not exist; its folder holds {there}')
    try:
        lines = list(_objects(file))
    except OSError as error:
        raise InputError(f'cannot read {file}: {error.strerror}') from error
    if not lines:
        raise InputError(f'{file} is empty: expected one question a line, as JSON')
    return lines


def _objects(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with file.open('rb') as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f'{file}, line {number}'
            try:
                row = parse_json(line.decode('utf-8-sig'))
            except ValueError as error:
                raise InputError(f'{where}: no JSON ({error}); expected an object') from None
            if not isinstance(row, dict):
                raise InputError(
                    f'{where}: expected an object with question and answer, got {type(row).__name__}'
                )
            yield where, row


def is_hub_copy(folder: Path) -> bool:
    """Whether a folder has the card of a data set on the hub: a README that begins with its metadata."""
    card = folder / 'README.md'
    return card.is_file() and card.read_bytes()[:3] == b'---'


def read_hub(path: str, subset: str | None, alternative: str) -> Lines:
    """The rows of a data set on the hub, or in a folder laid out as there: its split test, or its only one.

    Raises:
        InputError: it cannot be loaded, with `alternative`, what to do without the hub.
    """
    part = f'subset {subset!r} of ' if subset else ''
    try:
        splits = load_dataset(path, subset)
    except HUB_ERRORS as error:
        raise InputError(
            f'cannot load {part}{path!r}: {error}\n'
            'What is no file or folder here is taken for a hub name. If the data set is gated, ask for '
            'access on its hub page, then run `hf auth login` or set HF_TOKEN. Without a network, '
            f'{alternative}'
        ) from error
    return rows_of(splits, f'{path}, {subset}' if subset else path)


def rows_of(splits: Any, where: str) -> Lines:
    """The rows of the split test, or of the only split; a data set without splits is one."""
    if isinstance(splits, DatasetDict):
        name = 'test' if 'test' in splits or len(splits) != 1 else next(iter(splits))
        if name not in splits:
            raise InputError(f'{where} has no split test, only {", ".join(splits)}')
        splits = splits[name]
    if not len(splits):
        raise InputError(f'{where} is empty: expected one question a row')
    return [(f'{where}, row {number}', row) for number, row in enumerate(splits)]


def text_of(row: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    """The first of these fields that the row has.

    Raises:
        InputError: it has none, or the field is no text or blank.
    """
    name = next((name for name in names if name in row), names[0])
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f'{where}: {name!r} must be a text that is not empty, got {value!r:.80}')
    return value
