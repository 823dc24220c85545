"""Samples of MathArena: `outputs/<competition>/<model>/<problem>.json.zst`, and its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import mapping, parse_json
from ..results.health import Generation
from ..results.parquet_files import opened_parquet
from .samples import Notes, Sample, questions_of, with_thought
from .source import Place, Question, Reading, Run

OUTPUTS = 'outputs'

_ZSTD = b'\x28\xb5\x2f\xfd'
_BEGIN = re.compile(rb'\s*\{\s*"idx"\s*:\s*-?\d+\s*,\s*"problem"\s*:')
_NAMES = (b'"gold_answer"', b'"pass_at_1"')
_HEAD = 1 << 16
_STEM = re.compile(r'(\d+)\.json(\.zst)?')

_LISTS = ('messages', 'correct', 'answers')
_TABLE = frozenset({'problem_idx', 'idx_answer', 'answer', 'correct'})
"""The columns of a table that cannot be missing."""
_MODELS = ('model_config', 'model_name')
_COLUMNS = (
    *('problem_idx', 'idx_answer', 'problem', 'answer', 'gold_answer', 'parsed_answer', 'correct'),
    *('input_tokens', 'output_tokens'),
)
_ROWS = 256
"""Rows of a table that are read at a time."""

JUDGE = 'MathArena'

UNGRADED = '{count} samples are not yet graded: they are unjudged'
WARNED = (
    "{count} samples have a warning of MathArena's grader: an answer it could hardly read, or a number of "
    'tokens that looks like a limit'
)
BY_HAND = '{count} verdicts were set by hand'


class MathArena:
    """The source of MathArena's folders of a competition and a model, their files, and its tables."""

    def recognises(self, place: Place) -> bool:
        """Whether a folder holds files of problems; or a file is one, or a table of samples."""
        if place.path.is_dir():
            first = next(iter(_problems(place.path)), None)
            return first is not None and _is_problem(Place(first))
        if place.schema is not None:
            return _is_table(place.schema.names)
        return _is_problem(place) or (place.first is not None and _is_table(place.first))

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return the run of a folder or a file; of a table a run a model."""
        return self.read_all([place], reading)

    def read_all(self, places: Sequence[Place], reading: Reading) -> list[Run]:
        """Return a run a folder of problems, also of files given one by one, and the runs of tables."""
        folders: dict[Path, list[Path]] = {}
        runs: list[Run] = []
        for place in places:
            if place.path.is_dir():
                folders.setdefault(place.path, []).extend(_problems(place.path))
            elif _is_problem(place):
                folders.setdefault(place.path.parent, []).append(place.path)
            else:
                runs += _of_table(place, reading)
        return [_of_problems(folder, paths, reading) for folder, paths in folders.items()] + runs


def _is_problem(place: Place) -> bool:
    if place.head.startswith(_ZSTD):
        try:
            head = _unpacked(place.path, _HEAD)
        except InputError:
            return False
        return _BEGIN.match(head) is not None and all(name in head for name in _NAMES)
    if not _BEGIN.match(place.head) or place.first is None:
        return False
    return {'gold_answer', *_LISTS} <= set(place.first)


def _is_table(names: Sequence[str] | Mapping[str, Any]) -> bool:
    return set(names) >= _TABLE and any(name in names for name in _MODELS)


def _problems(folder: Path) -> list[Path]:
    """Return the files of problems in a folder, in the order of their numbers."""
    numbers = {}
    try:
        entries = list(folder.iterdir())
    except OSError:
        return []
    for path in entries:
        if (found := _STEM.fullmatch(path.name)) and path.is_file():
            numbers[path] = int(found[1])
    return sorted(numbers, key=lambda path: (numbers[path], path.name))


def _unpacked(path: Path, size: int | None = None) -> bytes:
    """Return the content of a packed file, or its first bytes."""
    import pyarrow  # type: ignore[import-untyped]

    try:
        with pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), 'zstd') as file:
            return bytes(file.read(size) if size else file.read())
    except (OSError, ValueError, MemoryError, pyarrow.ArrowException) as error:
        raise InputError(f'{path} is damaged, or still being written: {error}') from error


def _names_of(folder: Path) -> tuple[str, str]:
    """Return model and competition, which are the names of the folders below `outputs`.

    >>> _names_of(Path('outputs/aime/aime_2025/openai/o3-mini--high'))
    ('openai/o3-mini--high', 'aime/aime_2025')
    """
    parts = folder.absolute().parts
    if OUTPUTS not in parts:
        return folder.absolute().name, ''
    inner = parts[len(parts) - parts[::-1].index(OUTPUTS) :]
    size = min(2, len(inner) - 1) if len(inner) > 1 else len(inner)
    cut = len(inner) - size
    return '/'.join(inner[cut:]), '/'.join(inner[:cut])


def _of_problems(folder: Path, paths: Sequence[Path], reading: Reading) -> Run:
    if not paths:
        raise InputError(f'{folder} holds no files of problems, <number>.json.zst')
    model, competition = _names_of(folder)
    notes = Notes(reading)
    return Run(
        _kinds(_content(paths[0]).get('gold_answer')),
        _questions_of_problems(paths, reading, notes),
        model,
        competition,
        judge={'name': JUDGE},
        remarks=notes,
        written_by='MathArena',
    )


def _kinds(gold: object) -> tuple[str, ...]:
    """Return what can be scored: without a final answer, as in contests of proofs, nothing is judged anew."""
    return ('labels',) if gold in (None, '') else ('labels', 'responses')


def _questions_of_problems(paths: Sequence[Path], reading: Reading, notes: Notes) -> Iterator[Question]:
    samples = (sample for path in paths for sample in _samples(path, notes))
    yield from questions_of(samples, reading, notes, in_order=True)


def _content(path: Path) -> Mapping[str, Any]:
    with path.open('rb') as file:
        packed = file.read(4) == _ZSTD
    try:
        content = parse_json(_unpacked(path) if packed else path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f'{path} is damaged, or still being written: {error}') from error
    if not isinstance(content, dict):
        raise InputError(f'{path}: expected an object with gold_answer, messages and correct')
    return content


def _samples(path: Path, notes: Notes) -> Iterator[Sample]:
    content = _content(path)
    columns: dict[str, Any] = {name: content.get(name) for name in _LISTS}
    sizes = {name: len(column) if isinstance(column, list) else None for name, column in columns.items()}
    if None in sizes.values() or len(set(sizes.values())) != 1 or not sizes['messages']:
        raise InputError(
            f'{path}: expected lists of one length, an entry a sample, under {", ".join(_LISTS)}; got '
            + ', '.join(f'{name}: {size}' for name, size in sizes.items())
        )
    found = _STEM.fullmatch(path.name)
    uid = found[1] if found else str(content.get('idx'))
    costs, warnings, hands = (
        _padded(content.get(name), len(columns['messages']))
        for name in ('detailed_costs', 'warnings', 'manual_overwrite')
    )
    for replica, messages in enumerate(columns['messages']):
        where = f'{path}, sample {replica}'
        if warnings[replica]:
            notes.say(WARNED)
        if hands[replica]:
            notes.say(BY_HAND)
        response = _response(messages, where)
        yield Sample(
            uid,
            _text(content.get('problem')),
            _text(content.get('gold_answer')),
            response,
            _verdict(columns['correct'][replica], where, notes) if response is not None else '?',
            replica,
            _answer(columns['answers'][replica]),
            _generation(mapping(costs[replica]), response),
            path=path,
            row=replica,
        )


def _padded(value: object, size: int) -> list[Any]:
    known = value if isinstance(value, list) else []
    return (known + [None] * size)[:size]


def _response(messages: object, where: str) -> str | None:
    """Return what the model said last, after its last thought; None where a conversation broke off."""
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        raise InputError(f'{where}: messages is {messages!r:.60}; expected a list of objects')
    thought, said = '', None
    for message in messages:
        content = message.get('content')
        text = content if isinstance(content, str) else ''
        if message.get('role') != 'assistant':
            thought, said = '', None
        elif message.get('type') in ('cot', 'thinking', 'reasoning'):
            thought, said = text, None
        elif message.get('type', 'response') == 'response':
            said = text
        else:
            said = None
    return None if said is None and not thought else with_thought(thought, said or '')


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


def _of_table(place: Place, reading: Reading) -> Iterator[Run]:
    """Yield a run a model; the file is read once for their names, and once more for each."""
    names: dict[str, object] = {}
    for number, row in _rows(place, [*_MODELS, 'gold_answer']):
        name = _model(row)
        if not isinstance(name, str):
            raise InputError(f'{place.name}, row {number}: the model is {name!r:.40}; expected its name')
        names.setdefault(name, row.get('gold_answer'))
    if not names:
        raise InputError(f'{place.name} has no rows; expected a sample a row')
    for name, gold in names.items():
        notes = Notes(reading)
        yield Run(
            _kinds(gold),
            _questions_of_table(place, name, reading, notes),
            name,
            judge={'name': JUDGE},
            remarks=notes,
            written_by='MathArena',
        )


def _model(row: Mapping[str, Any]) -> Any:
    return next((row[name] for name in _MODELS if name in row), None)


def _questions_of_table(place: Place, model: str, reading: Reading, notes: Notes) -> Iterator[Question]:
    yield from questions_of(_samples_of_table(place, model, notes), reading, notes)


def _samples_of_table(place: Place, model: str, notes: Notes) -> Iterator[Sample]:
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
    import pyarrow
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
