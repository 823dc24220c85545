"""Tables with a row a sample: CSV, TSV, JSON lines, Parquet."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan
from typing import IO, Any

from ..errors import InputError
from ..json_lines import JsonRows
from ..results.health import Generation
from ..results.parquet_files import opened_parquet
from ..tables import read_csv_cell
from .rows import FIELDS as ROW_FIELDS
from .samples import Notes, Sample, new_sample, questions_of
from .source import Place, Reading, Responded, Run, Sampled

FIELDS = {
    'uid': ('uid', 'id', 'idx', 'question_id', 'task_id', 'doc_id', 'problem_idx', 'problem_id'),
    'question': ('question', 'prompt', 'query', 'input', 'problem'),
    'problem': ('problem', 'problem_id', 'cluster'),
    'reference': ('reference', 'gold', 'ground_truth', 'gt', 'target', 'expected_answer', 'answer'),
    'response': ('response', 'output', 'completion', 'generation', 'text'),
    'correct': ('correct', 'is_correct', 'verdict', 'label', 'acc', 'accuracy', 'score'),
    'answer': ('answer', 'final_answer', 'pred', 'prediction', 'extracted_answer', 'parsed_answer'),
    'replica': ('replica', 'sample', 'sample_index', 'repeat', 'epoch'),
    'split': ('split', 'subset', 'category'),
    'language': ('language', 'lang'),
    'model': ('model', 'model_name'),
    'dataset': ('dataset', 'benchmark', 'task'),
    'finish_reason': ('finish_reason', 'stop_reason'),
    'output_tokens': ('output_tokens', 'completion_tokens'),
    'prompt_tokens': ('prompt_tokens', 'input_tokens'),
    'reasoning_tokens': ('reasoning_tokens',),
    'seconds': ('seconds', 'latency'),
    'state': ('state',),
}
"""What a column holds → the names that it may have; of two keys the first takes a name that both know."""

_OF_EXPORT = frozenset({'signature', 'decided_by', 'reply_key', 'response_characters'})
"""Columns by which a table of `gpassk export` is known: its CSV has an apostrophe before what begins as a
formula does."""

_PARQUET = b'PAR1'
_LONGEST_CELL = 2**30
_BATCH = 4096
_JUDGED, _TO_JUDGE = 'correct', ('question', 'reference', 'response')
_UNTOLD = Generation()
_ALL = '', '', None
_TOLD = ('finish_reason', 'output_tokens', 'prompt_tokens', 'reasoning_tokens', 'seconds', 'state')

_WEAK = ('label', 'score')
_LATE = frozenset(name for names in FIELDS.values() for name in names)
_COUNTS = ('c', 'num_correct', 'n_correct')
_OF_QUESTIONS = frozenset(name for key in ('responses', 'correct', 'answers') for name in ROW_FIELDS[key])

Cells = Mapping[str, Any]
"""Column → value of a row; of a CSV file all are texts, '' where there is none."""


class SampleTable:
    """The source of tables with a row a sample; what a column holds, its name says."""

    def recognises(self, place: Place) -> bool:
        """Whether a file has a row a sample: what tells its question, and a verdict or a response.

        A column called label or score alone, as data of any kind has, is no verdict; `read` takes it for one.
        """
        try:
            columns, row = _first(place)
            names = _names(columns, Reading())
        except InputError:
            return False
        if _is_of_questions(row):
            return False
        scalars = {key for key, name in names.items() if not isinstance(row[name], (list, dict))}
        judged = _JUDGED in scalars and names[_JUDGED].strip().lower() not in _WEAK
        return bool({'uid', 'question'} & scalars and (judged or scalars.issuperset(_TO_JUDGE)))

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return a run for each model and data set that the table names, or the only one."""
        columns, _ = _first(place)
        names = _names(columns, reading)
        _check(place, columns, names)
        of_run = [key for key in ('model', 'dataset') if key in names]
        keys = [names[key] for key in of_run]
        found = (
            dict.fromkeys(tuple(map(_text, map(row.get, keys))) for _, row in _rows(place, keys, again=True))
            if keys
            else [()]
        )
        return [_run(place, names, dict(zip(of_run, values, strict=True)), reading) for values in found]


def _is_of_questions(row: Cells) -> bool:
    """Whether a row is a question with all of its samples, or with their counts."""
    if any(name in row for name in _COUNTS):
        return True
    if any(isinstance(row.get(name), list) for name in _OF_QUESTIONS):
        return True
    labels = (row.get(name) for name in ROW_FIELDS['correct'])
    return any(isinstance(one, str) and len(one) > 1 and not one.strip('01?') for one in labels)


def _names(columns: Sequence[str], reading: Reading) -> dict[str, str]:
    """Return which column holds what: a key of `FIELDS` → its name, whose case and blanks do not count."""
    if unknown := sorted(set(reading.fields) - set(FIELDS)):
        raise InputError(f'{unknown[0]!r} is no field of a table; expected one of {", ".join(FIELDS)}')
    found = dict(reading.fields)
    if reading.group_by:
        found['uid'] = reading.group_by
    if absent := [name for name in found.values() if name not in columns]:
        raise InputError(f'there is no column {absent[0]!r}; there is {", ".join(columns)}')
    called = {name.strip().lower(): name for name in columns}
    for key, spellings in FIELDS.items():
        free = [called[name] for name in spellings if name in called and called[name] not in found.values()]
        if key not in found and free:
            found[key] = free[0]
    if 'uid' not in found and 'question' in found:
        found['uid'] = found['question']
    of_samples = _JUDGED in found and not {'response', 'answer'} & found.keys()
    if (
        of_samples
        and found.get('reference', '').strip().lower() == 'answer'
        and 'reference' not in reading.fields
    ):
        found['answer'] = found.pop('reference')  # beside verdicts alone it is what was judged
    return found


def _check(place: Place, columns: Sequence[str], names: Mapping[str, str]) -> None:
    there = f'{place.name} has the columns {", ".join(columns)}'
    if 'uid' not in names or names['uid'] not in columns:
        raise InputError(f'{there}; say which tells the questions apart: --group-by NAME')
    if _JUDGED not in names and not set(_TO_JUDGE) <= set(names):
        lacking = [key for key in _TO_JUDGE if key not in names]
        raise InputError(
            f'{there}; expected verdicts ({", ".join(FIELDS[_JUDGED])}), or question, reference and '
            f'response; there is no {lacking[0]}: --field {lacking[0]}=NAME says which it is'
        )


def _run(place: Place, names: Mapping[str, str], of_run: Mapping[str, str], reading: Reading) -> Run:
    judged = _JUDGED in names
    kinds = ['labels'] * judged + ['responses'] * (set(_TO_JUDGE) <= set(names))
    notes = Notes(reading)
    return Run(
        tuple(kinds),
        _noted(questions_of(_samples(place, names, of_run, notes), reading, notes), names, notes),
        of_run.get('model', ''),
        of_run.get('dataset', ''),
        {'name': f'column {names[_JUDGED]}'} if judged else {},
        where=place.row,
        remarks=notes,
        written_by='a table with a row a sample',
    )


def _noted(
    questions: Iterator[Responded | Sampled], names: Mapping[str, str], notes: Notes
) -> Iterator[Responded | Sampled]:
    """Say so where each of several rows is a question of its own."""
    most = total = 0
    for question in questions:
        total += 1
        samples = question.responses if isinstance(question, Responded) else question.verdicts
        most = max(most, len(samples))
        yield question
    if most == 1 < total:
        notes.say(
            f'each row is a question of its own by {names["uid"]}; if several are samples of one, --group-by '
            'names the column that tells the questions apart'
        )


def _samples(
    place: Place, names: Mapping[str, str], of_run: Mapping[str, str], notes: Notes
) -> Iterator[Sample]:
    columns: tuple[str, ...] = ()
    sample = _reader(place, names, notes)
    for number, row in _rows(place, list(dict.fromkeys(names.values())), again=bool(of_run)):
        columns = columns or tuple(row)
        if tuple(row) != columns and (late := _LATE.intersection(row.keys() - set(columns))):
            raise InputError(
                f'{_where(place, number)} has {sorted(late)[0]!r}, which the first row does not have; write '
                'it in all rows, null where it is not known'
            )
        if of_run and any(_text(row.get(names[key])) != value for key, value in of_run.items()):
            continue
        try:
            yield sample(number, row)
        except InputError as error:
            raise InputError(f'{_where(place, number)}: {error}') from error


def _reader(place: Place, names: Mapping[str, str], notes: Notes) -> Callable[[int, Cells], Sample]:
    """Return what makes a sample of a row and its number; which columns there are is looked up once."""
    uid, question, reference, response, correct, answer, replica, split, language, problem = map(
        names.get, ('uid', *_TO_JUDGE, _JUDGED, 'answer', 'replica', 'split', 'language', 'problem')
    )
    told = {key: names[key] for key in _TOLD if key in names}
    grouped = any((split, language, problem))
    path = place.path

    def sample(number: int, row: Mapping[Any, Any]) -> Sample:
        cell = row.get  # None of a column that is not there
        key = _text(cell(uid))
        if not key:
            raise InputError('nothing tells the question of this row: its key is empty')
        asked, expected, said, final = _text(cell(question)), _text(cell(reference)), cell(response), None
        said = None if said is None else _text(said)
        verdict = _symbol(cell(correct), notes) if correct else ''
        place_of = _replica(cell(replica)) if replica else None
        if (found := cell(answer)) is not None:
            final = _text(found)
        end = Generation.from_json({of: _value(cell(name)) for of, name in told.items()}) if told else _UNTOLD
        group = (_text(cell(split)), _text(cell(language)), _text(cell(problem)) or None) if grouped else _ALL
        return new_sample((key, asked, expected, said, verdict, place_of, final, end, *group, path, number))

    return sample


def _symbol(told: object, notes: Notes) -> str:
    if told is True or told is False:
        return '1' if told else '0'
    return notes.verdict(_value(told))


def _text(value: object) -> str:
    """Return a cell as text: '' where there is nothing, a whole number without a point."""
    if type(value) is str:
        return value
    if value is None or (isinstance(value, float) and isnan(value)):
        return ''
    if isinstance(value, (list, dict, bytes)):
        raise InputError(f'a cell holds a {type(value).__name__}, {value!r:.60}; expected a text or a number')
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _value(cell: object) -> object:
    """Return the number that a text is; None for an empty one, anything else as it is."""
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() else cell
    if type(cell) is not str:
        return cell
    try:
        number = float(cell)
    except ValueError:
        return cell or None
    return int(number) if number.is_integer() else number


def _replica(cell: object) -> int | None:
    value = None if isinstance(cell, float) and isnan(cell) else _value(cell)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InputError(
        f'{value!r:.40} is no number of a sample; expected 0, 1, 2, … or 1, 2, 3, … in a column called '
        f'{", ".join(FIELDS["replica"])}: rename it if it holds something else'
    )


def _first(place: Place) -> tuple[list[str], Cells]:
    """Return the columns of a table and its first row.

    Raises:
        InputError: it is none, or has no row.
    """
    if place.first is not None:
        return list(place.first), place.first
    rows = _of_parquet(place, None, 1) if place.head[:4] == _PARQUET else _rows(place, None)
    for _, row in rows:
        return list(row), row
    raise InputError(f'{place.name} is empty; expected a table with a row a sample')


def _where(place: Place, number: int) -> str:
    return f'{place.name}, row {number}'


def _rows(place: Place, columns: Sequence[str] | None, again: bool = False) -> Iterator[tuple[int, Cells]]:
    """Return the rows of a table with their numbers: of lines in JSON, else from 1 after the header.

    Args:
        columns: those that are read, of a format that allows it; None: all.
        again: open the file anew, as all of it is read several times.

    Raises:
        InputError: it cannot be read.
    """
    if place.head[:4] == _PARQUET:
        return _of_parquet(place, columns)
    ending = place.path.name.lower().removesuffix('.gz')
    if ending.endswith(('.csv', '.tsv')):
        return _of_csv(place, '\t' if ending.endswith('.tsv') else ',')
    return iter(JsonRows(place.path)) if again else place.rows()


def _of_parquet(
    place: Place, columns: Sequence[str] | None, at_once: int = _BATCH
) -> Iterator[tuple[int, Cells]]:
    with opened_parquet(place.path) as file:
        _check_distinct(place, file.schema_arrow.names)
        batches = file.iter_batches(at_once, columns=columns)
        yield from enumerate((row for batch in batches for row in batch.to_pylist()), 1)


def _of_csv(place: Place, delimiter: str) -> Iterator[tuple[int, Cells]]:
    csv.field_size_limit(_LONGEST_CELL)
    try:
        with _opened(place) as file:
            line = file.readline()
            delimiter = next((one for one in (delimiter, ';', '\t', ',') if one in line), delimiter)
            header = next(csv.reader([line], delimiter=delimiter), [])
            _check_distinct(place, header)
            rows = csv.reader(file, delimiter=delimiter, strict=True)
            quoted = _OF_EXPORT.issubset(header)
            for number, row in enumerate(rows, 1):
                if row and len(row) != len(header):
                    raise InputError(
                        f'{_where(place, number)} has {len(row)} cells and the header {len(header)}; is the '
                        'file still being written, or a text with commas without quotes?'
                    )
                if row:
                    yield number, dict(zip(header, map(_read_cell, row) if quoted else row, strict=True))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f'{place.name} cannot be read as a table: {error}') from error


def _read_cell(cell: str) -> str:
    return read_csv_cell(cell) if cell[:1] == "'" else cell


def _check_distinct(place: Place, columns: Sequence[str]) -> None:
    if len(set(columns)) < len(columns):
        raise InputError(f'{place.name}: two columns have one name: {", ".join(columns)}')


def _opened(place: Place) -> IO[str]:
    if place.path.suffix.lower() == '.gz':
        return gzip.open(place.path, 'rt', encoding='utf-8-sig', newline='')
    return place.path.open(encoding='utf-8-sig', newline='')
