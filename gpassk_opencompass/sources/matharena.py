"""Samples of MathArena: the tables that it uploads, a row a sample, as Parquet or lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import InputError
from ..results.health import Generation
from ..results.parquet_files import opened_parquet
from .samples import Notes, Sample, questions_of
from .source import Place, Reading, Run

_TABLE = frozenset({'problem_idx', 'idx_answer', 'answer', 'correct'})
"""The columns of a table that cannot be missing."""
_MODELS = ('model_config', 'model_name')
_COLUMNS = (
    *('problem_idx', 'idx_answer', 'problem', 'answer', 'gold_answer', 'parsed_answer', 'correct'),
    *('input_tokens', 'output_tokens'),
)
_ROWS = 256
"""Rows of a table that are read at a time."""

UNGRADED = '{count} samples are not yet graded: they are unjudged'


class MathArena:
    """The source of MathArena's tables."""

    def recognises(self, place: Place) -> bool:
        """Whether a file is a table of samples, by its columns."""
        names = place.first if place.schema is None else place.schema.names
        return names is not None and _is_table(names)

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return a run a model; the file is read once for their names, and once more for each."""
        names: dict[str, object] = {}
        for number, row in _rows(place, [*_MODELS, 'gold_answer']):
            name = _model(row)
            if not isinstance(name, str):
                raise InputError(f'{place.name}, row {number}: the model is {name!r:.40}; expected its name')
            names.setdefault(name, row.get('gold_answer'))
        if not names:
            raise InputError(f'{place.name} has no rows; expected a sample a row')
        return [_run(place, name, gold, reading) for name, gold in names.items()]


def _is_table(names: Sequence[str] | Mapping[str, Any]) -> bool:
    return set(names) >= _TABLE and any(name in names for name in _MODELS)


def _run(place: Place, name: str, gold: object, reading: Reading) -> Run:
    notes = Notes(reading)
    return Run(
        # Without a final answer, as in contests of proofs, nothing can be judged anew.
        ('labels',) if gold in (None, '') else ('labels', 'responses'),
        questions_of(_samples(place, name, notes), reading, notes),
        name,
        judge={'name': 'MathArena'},
        remarks=notes,
        written_by='MathArena',
    )


def _verdict(value: Any, where: str, notes: Notes) -> str:
    if isinstance(value, str) and value.startswith('TODO'):
        notes.say(UNGRADED)
        return '?'
    try:
        return notes.verdict(value)
    except InputError as error:
        raise InputError(f'{where}: {error}') from error


def _generation(cost: Mapping[str, Any], response: str | None) -> Generation:
    told = {
        'prompt_tokens': cost.get('input_tokens'),
        'output_tokens': cost.get('output_tokens'),
        'seconds': cost.get('time'),
        'state': 'failed' if response is None else None if response.strip() else 'empty',
    }
    return Generation.from_json(told)


def _answer(value: object) -> str:
    """Return a final answer; MathArena writes 'None' where it found none."""
    return '' if value in (None, 'None') else _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else '' if value is None else str(value)


def _model(row: Mapping[str, Any]) -> Any:
    return next((row[name] for name in _MODELS if name in row), None)


def _samples(place: Place, model: str, notes: Notes) -> Iterator[Sample]:
    for number, row in _rows(place, [*_MODELS, *_COLUMNS], model):
        where = f'{place.name}, row {number}'
        replica, response = row.get('idx_answer'), row.get('answer')
        if isinstance(replica, bool) or not isinstance(replica, int):
            raise InputError(f'{where}: idx_answer is {replica!r:.40}; expected the number of the sample')
        text = response if isinstance(response, str) else None
        yield Sample(
            _text(row.get('problem_idx')),
            _text(row.get('problem')),
            _text(row.get('gold_answer')),
            text,
            _verdict(row.get('correct'), where, notes) if text is not None else '?',
            replica,
            _answer(row.get('parsed_answer')),
            _generation(row, text),
            path=place.path,
            row=number,
        )


def _rows(
    place: Place, columns: Sequence[str], model: str | None = None
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows of a table with their numbers, from 1; those of one model."""
    if place.schema is not None:
        yield from _of_parquet(place, columns, model)
        return
    for number, row in Place(place.path).rows():
        if model is None or _model(row) == model:
            yield number, row


def _of_parquet(
    place: Place, columns: Sequence[str], model: str | None
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import compute

    names = [name for name in columns if name in place.schema.names]
    key = next(name for name in _MODELS if name in place.schema.names)
    number = 0
    with opened_parquet(place.path) as file:
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if model is None or _may_hold(file.metadata.row_group(group), key, model):
                for start, batch in _batches(file, group, names):
                    places = range(batch.num_rows)
                    if model is not None:
                        places = compute.indices_nonzero(compute.equal(batch[key], model)).to_pylist()
                    told = batch.take(pyarrow.array(places, pyarrow.int64())).to_pylist()
                    yield from ((number + start + at + 1, row) for at, row in zip(places, told, strict=True))
            number += rows


def _batches(file: Any, group: int, names: Sequence[str]) -> Iterator[tuple[int, Any]]:
    start = 0
    for batch in file.iter_batches(_ROWS, row_groups=[group], columns=names):
        yield start, batch
        start += batch.num_rows


def _may_hold(group: Any, key: str, model: str) -> bool:
    """Whether a row group may have rows of a model, by the least and the greatest name in it."""
    for at in range(group.num_columns):
        column = group.column(at)
        known = column.statistics if column.path_in_schema == key else None
        if known is not None and known.has_min_max:
            return bool(known.min <= model <= known.max)
    return True
