"""Lists of questions as they lie on disk or on the hub: objects, each with where it stands."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError, MissingExtraError
from ..files import digest, parse_json

Lines = list[tuple[str, Mapping[str, Any]]]
"""(where, object): the first part is for messages."""

_COMMIT = re.compile(r'^hf://datasets/[^@]+@([0-9a-f]{40})/')
"""How `datasets` names a file of the hub in what it notes of a download."""


class Listing(NamedTuple):
    """A list of questions, and what it was read from."""

    lines: Lines
    source: str
    """`<file name>@sha256:<of its bytes>`, `<hub name>@<commit>`, or `<name>@sha256:<of the rows>`."""


HUB_ERRORS = (ValueError, OSError)
"""What `datasets` raises for what it cannot load; its own errors are among them."""


def read_lines(file: Path) -> Listing:
    """Read the objects of a JSON Lines file; blank lines and a byte order mark do no harm.

    Raises:
        InputError: the file is missing, empty or cannot be read, or a line is no object, with its number.
    """
    if not file.is_file():
        there = ', '.join(sorted(other.name for other in file.parent.glob('*.jsonl'))) or 'no .jsonl file'
        raise InputError(f'{file} does not exist; its folder holds {there}')
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f'cannot read {file}: {error.strerror}') from error
    lines = list(_objects(file, content))
    if not lines:
        raise InputError(f'{file} is empty: expected one question a line, as JSON')
    return Listing(lines, f'{file.name}@sha256:{digest(content)}')


def _objects(file: Path, content: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(io.BytesIO(content), start=1):
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


def read_hub(path: str, subset: str | None, alternative: str, revision: str | None = None) -> Listing:
    """Read a data set of the hub, or a folder laid out as there: its split test, or its only one.

    Args:
        alternative: what to do without the hub, for the message.
        revision: a commit, branch or tag of the hub; None: what its main branch is now.

    Raises:
        InputError: it cannot be loaded.
        MissingExtraError: `datasets` is not installed.
    """
    try:
        from datasets import load_dataset  # slow to import, and not needed for files
    except ModuleNotFoundError as error:
        raise MissingExtraError('datasets', 'opencompass') from error
    part = f'subset {subset!r} of ' if subset else ''
    try:
        splits = load_dataset(path, subset, revision=revision)
    except HUB_ERRORS as error:
        raise InputError(
            f'cannot load {part}{path!r}{f" at revision {revision!r}" if revision else ""}: {error}\n'
            'What is no file or folder here is taken for a hub name. If the data set is gated, ask for '
            'access on its hub page, then run `hf auth login` or set HF_TOKEN. Without a network, '
            f'{alternative}'
        ) from error
    return rows_of(splits, path, subset)


def rows_of(splits: Any, path: str, subset: str | None) -> Listing:
    """Take the rows of the split test, or of the only split; a data set without splits is one.

    Args:
        splits: what `datasets.load_dataset` returned.
        path, subset: its name, for messages and as the source.
    """
    from datasets import DatasetDict

    where = f'{path}, {subset}' if subset else path
    if isinstance(splits, DatasetDict):
        name = 'test' if 'test' in splits or len(splits) != 1 else next(iter(splits))
        if name not in splits:
            raise InputError(f'{where} has no split test, only {", ".join(splits)}')
        splits = splits[name]
    if not len(splits):
        raise InputError(f'{where} is empty: expected one question a row')
    lines = [(f'{where}, row {number}', row) for number, row in enumerate(splits)]
    name = Path(path).name if Path(path).exists() else path
    return Listing(lines, f'{name}@{_commit_of(splits) or _digest_of(lines)}{f":{subset}" if subset else ""}')


def _commit_of(rows: Any) -> str:
    """Find the commit of the hub that rows were downloaded from; '' for those from elsewhere."""
    files = getattr(getattr(rows, 'info', None), 'download_checksums', None) or {}
    return next((found[1] for found in map(_COMMIT.match, files) if found), '')


def _digest_of(lines: Lines) -> str:
    rows = [row for _, row in lines]
    return f'sha256:{digest(json.dumps(rows, sort_keys=True, default=str).encode())}'


def text_of(row: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    """Return the first of these fields that the row has.

    Raises:
        InputError: it has none, or the field is no text, blank or holds half a character.
    """
    name = next((name for name in names if name in row), names[0])
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f'{where}: {name!r} must be a text that is not empty, got {value!r:.80}')
    if half := re.search('[\ud800-\udfff]', value):
        raise InputError(
            f'{where}: {name!r} holds {half[0]!r}, one half of a character (a surrogate), which no file and '
            'no model takes; write the whole character'
        )
    return value
