"""Verdicts as records of a file that other programs read."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TextIO

from ..errors import InputError
from ..judges.store import Line
from ..unseen import json_text
from .files import opened, utf8_output

FORMATS = ('jsonl', 'csv')
_FIELDS = ('question', 'reference', 'answer', 'language', 'source', 'label', 'judge', 'reply', 'time', 'key')


def export(
    lines: Iterable[Line], output: Path | None, form: str | None, source: str | None, stores: Sequence[Path]
) -> int:
    """Write one record a verdict.

    Args:
        lines: the verdicts.
        output: a file, which is replaced when all is written; None: standard output.
        form: 'jsonl' or 'csv'; None: by the ending of `output`, else 'jsonl'.
        source: of each record; None: the model of its judge.
        stores: folders that `output` must not be in.

    Returns:
        How many there were.

    Raises:
        InputError: `output` cannot be written, lies in a store, or has an ending that says nothing.
    """
    form = form or _form_of(output)
    if output is not None and output.resolve().parent in {store.resolve() for store in stores}:
        raise InputError(f'{output} would lie in the store that is read; choose another folder')
    with nullcontext(utf8_output()) if output is None else opened(output) as file:
        return _write(file, form, (_record(line, source) for line in lines))


def _form_of(output: Path | None) -> str:
    if output is None or output.suffix in ('.jsonl', ''):
        return 'jsonl'
    if output.suffix != '.csv':
        raise InputError(
            f'{output}: the ending is neither .jsonl nor .csv; add --format jsonl or --format csv'
        )
    return 'csv'


def _write(file: TextIO, form: str, records: Iterable[Mapping[str, Any]]) -> int:
    if form == 'csv':
        table = csv.writer(file, lineterminator='\n')
        table.writerow(_FIELDS)
        rows = (table.writerow([_cell(record[name]) for name in _FIELDS]) for record in records)
    else:
        rows = (file.write(f'{json_text(record)}\n') for record in records)
    return sum(1 for _ in rows)


def _record(line: Line, source: str | None) -> dict[str, Any]:
    about = line.about
    judge = about.get('judge')
    model = judge.get('model', '') if isinstance(judge, dict) else ''
    own = {
        'source': model if source is None else source,
        'label': line.verdict.value,
        'judge': judge,
        'key': line.key,
    }
    return {name: own[name] if name in own else about.get(name, '') for name in _FIELDS}


def _cell(value: Any) -> str:
    from ..tables import csv_cell

    return str(csv_cell(value if isinstance(value, str) else json_text(value)))
