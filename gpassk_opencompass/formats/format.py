"""What a format is, and what its functions share: rows of files, and values in what programs log."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import listed, mapping, read_json
from ..json_rows import Row, first_object, json_rows, open_text
from ..samples import COLUMNS, MISSING
from ..text import read_csv_cell

OF_QUESTION = (
    *('uid', 'problem', 'group', 'split', 'language', 'question', 'reference'),
    *('run', 'model', 'dataset', 'n', 'c', 'unjudged'),
)
"""What a row may tell of its question and its run."""

OF_SAMPLE = (
    *(one.name for one in COLUMNS if one.name not in (*OF_QUESTION, 'verdict', 'file', 'row')),
    'correct',
)
"""What it may tell of a sample; `correct` is the verdict as it is told."""

_SETTINGS = {
    **dict.fromkeys(('max_gen_toks', 'max_tokens', 'max_new_tokens', 'max_out_len'), 'max_out_len'),
    **dict.fromkeys(('seed', 'random_seed'), 'random_seed'),
    **{name: name for name in ('temperature', 'top_p', 'top_k', 'min_p', 'reasoning_effort')},
    **{f'{name}_penalty': f'{name}_penalty' for name in ('repetition', 'presence', 'frequency')},
}
"""Name of a setting of the sampling, as programs call it → as it is called here."""

_TOKENS = {
    'prompt_tokens': ('input_tokens', 'prompt_tokens'),
    'output_tokens': ('output_tokens', 'completion_tokens'),
    'reasoning_tokens': ('reasoning_tokens',),
}
"""Numbers of tokens → what programs call them."""


# ---- values ----------------------------------------------------------------------------------------------


def at(row: Any, path: str) -> Any:
    """Return what stands under a dotted path; None where anything on the way is missing.

    >>> at({'a': {'b': [{'c': 7}]}}, 'a.b.0.c'), at({'a.b': 1}, 'a.b'), at({}, 'a.b')
    (7, 1, None)
    """
    if isinstance(row, dict) and path in row:
        return row[path]
    for step in path.split('.'):
        try:
            row = row[int(step)] if isinstance(row, list) else row[step]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return row


def has(row: Mapping[str, Any] | None, *paths: str) -> bool:
    """Whether a row has something under each of some dotted paths, be it null."""
    ends = ((path, *path.rpartition('.')) for path in paths)
    return all(
        path in (row or {}) or end in mapping(at(row, way) if way else row) for path, way, _, end in ends
    )


def paths(text: str) -> dict[str, str]:
    """Return column → path of 'column=path column …', where a column alone has its own name for a path."""
    return {name: path or name for name, _, path in (one.partition('=') for one in text.split())}


def number_in(value: Any) -> Any:
    """Return the number that a value is, whole ones as int; None where there is nothing, else the value."""
    if isinstance(value, str):
        try:
            value = float(value) if any(mark in value for mark in '.eE') else int(value)
        except ValueError:
            return None if value.strip().lower() in MISSING else value
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    return value


def parts_of(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return the thought and the text of a message, whose content is a text or a list of parts."""
    if not isinstance(content := message.get('content'), list):
        thought = message.get('reasoning_content') or message.get('reasoning')
        return thought if isinstance(thought, str) else '', content if isinstance(content, str) else ''
    texts: dict[str, list[str]] = {'reasoning': [], 'text': []}
    for part in map(mapping, content):
        if (kind := part.get('type', 'text')) in texts:
            told = part.get('summary' if part.get('redacted') else kind)
            texts[kind] += [told] if told and isinstance(told, str) else []
    return '\n'.join(texts['reasoning']), '\n'.join(texts['text'])


def asked_in(messages: Any) -> str:
    """Return what the user asked, in a text or in messages."""
    if isinstance(messages, str):
        return messages
    users = [one for one in map(mapping, listed(messages)) if one.get('role') == 'user']
    return '\n\n'.join(filter(None, (parts_of(one)[1] for one in users or map(mapping, listed(messages)))))


def tokens_of(*usages: Any) -> Row:
    """Return the tokens of prompt, output and thought that some replies report, added up."""
    told: Row = {}
    for name, theirs in _TOKENS.items():
        counts = [[number_in(one.get(key)) for one in map(mapping, usages)] for key in theirs]
        numbers = ([one for one in some if type(one) is int] for some in counts)
        told[name] = next((sum(some) for some in numbers if some), None)
    return told


def sampling(*told: Any) -> Row:
    """Return the settings of the sampling in some dictionaries, of which the last that tells one counts."""
    found: Row = {}
    for one in map(mapping, told):
        for name, value in one.items():
            number = type(value) in (int, float) and math.isfinite(value)
            if name in _SETTINGS and (number or (name == 'reasoning_effort' and value)):
                found[_SETTINGS[name]] = value
        if one.get('do_sample') is False:
            found['temperature'] = 0.0
    return found


# ---- files -----------------------------------------------------------------------------------------------


def rows_of(*paths: Path) -> Iterator[Row]:
    """Yield the rows of files of JSON, CSV, TSV or Parquet, also with .gz; InputError: a file cannot be read.

    '_row' is the number of a row, '_file' its file; a row that cannot be read is {'_bad': why, …}.
    """
    for path in paths:
        read = {'parquet': _parquet_rows, 'csv': _csv_rows}.get(_kind(path))
        for number, row in read(path) if read else json_rows(path, strict=False):
            row['_row'], row['_file'] = number, path
            yield row


def first_row(path: Path) -> Row | None:
    """Return the first row of a file, of a large JSON object how it begins; None where there is none."""
    kind = _kind(path)
    if kind in ('zip', 'json'):
        return first_object(path) if kind == 'json' else None
    rows = _parquet_rows(path, 1) if kind == 'parquet' else _csv_rows(path)
    return next((row for _, row in rows if '_bad' not in row), None)


def begins_with(path: Path, pattern: re.Pattern[bytes]) -> bool:
    """Whether a file that can be read begins as a pattern says."""
    try:
        with path.open('rb') as file:
            return pattern.match(file.read(4096)) is not None
    except OSError:
        return False


def object_beside(path: Path) -> Mapping[str, Any]:
    """Return the object in a file of JSON that tells more of samples; {} where there is none."""
    try:
        return mapping(read_json(path))
    except (OSError, ValueError):
        return {}


def _kind(path: Path) -> str:
    """Return 'parquet', 'zip', 'json' or 'csv', by name and by how a file begins."""
    name = path.name.lower().removesuffix('.gz')
    try:
        with gzip.open(path) if path.name.lower().endswith('.gz') else path.open('rb') as file:
            head = file.read(256)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f'cannot read {path}: {getattr(error, "strerror", None) or error}') from error
    if name.endswith('.parquet') or head[:4] in (b'PAR1', b'PK\x03\x04'):
        return 'zip' if head[:2] == b'PK' else 'parquet'
    if b'\0' in head[:4]:
        raise InputError(f'cannot read {path}: it begins as UTF-16 or binary data do; expected text in UTF-8')
    begun = head.removeprefix(b'\xef\xbb\xbf').lstrip()[:1]
    json = name.endswith(('.json', '.jsonl')) or (begun in b'{[' and not name.endswith(('.csv', '.tsv')))
    return 'json' if json else 'csv'


def _parquet_rows(path: Path, size: int = 256) -> Iterator[tuple[int, Row]]:
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    try:
        packed = path.name.lower().endswith('.gz')
        with parquet.ParquetFile(io.BytesIO(gzip.decompress(path.read_bytes())) if packed else path) as file:
            _check_distinct(path, file.schema_arrow.names)
            yield from enumerate((row for batch in file.iter_batches(size) for row in batch.to_pylist()), 1)
    except (OSError, EOFError, zlib.error, MemoryError, pyarrow.ArrowException) as error:
        raise InputError(f'cannot read {path}: {error}') from error


def _csv_rows(path: Path) -> Iterator[tuple[int, Row]]:
    csv.field_size_limit(2**30)
    usual = '\t' if path.name.lower().removesuffix('.gz').endswith('.tsv') else ','
    try:
        with open_text(path, newline='') as file:
            line = file.readline()
            delimiter = next((one for one in (usual, ';', '\t', ',') if one in line), usual)
            header = next(csv.reader([line], delimiter=delimiter), [])
            _check_distinct(path, header)
            # In a CSV of ours an apostrophe stands before what begins as a formula does.
            ours = header[:2] == ['model', 'dataset'] and {*header[2:]} <= {one.name for one in COLUMNS}
            read = read_csv_cell if ours else str
            for number, cells in enumerate(csv.reader(file, delimiter=delimiter, strict=True), 1):
                if len(cells) == len(header):
                    yield number, dict(zip(header, map(read, cells), strict=True))
                elif cells:
                    bad = f'has {len(cells)} cells and the header {len(header)}; is the file still being '
                    yield number, {'_bad': f'{bad}written, or a text with commas without quotes?'}
    except csv.Error as error:
        raise InputError(f'{path} cannot be read as a table: {error}') from error


def _check_distinct(path: Path, columns: Sequence[str]) -> None:
    if len(set(columns)) < len(columns):
        raise InputError(f'{path}: two columns have one name: {", ".join(columns)}')


# ---- formats ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What somebody asks of the reader; one that changes nothing is an error."""

    fields: Mapping[str, str] = field(default_factory=dict)  # --field NAME=YOURS: name → its path in a row
    correct_from: float | None = None  # the least number that is a verdict of correct; None: 1
    drop_bad: bool = False  # leave out rows that cannot be read
    kind: str | None = None  # responses, labels or counts, by which a run is scored; None: what there is


NO_OPTIONS = Options()


@dataclass(frozen=True)
class Format:
    """How one program writes its samples.

    A function of a row raises ValueError('what; what is allowed') where the row is wrong; the reader says
    where it stands. What is wrong with a whole file is an InputError.
    """

    # Whether a file or folder is of this format, by its name, its first row (None of a folder or an empty
    # file), and what lies beside it; no whole file is read.
    recognises: Callable[[Path, Row | None], bool]
    # One of `OF_QUESTION` or `OF_SAMPLE` → its dotted path in a row.
    fields: Mapping[str, str] = field(default_factory=dict)
    # Of each sample of a row what `fields` does not say, by the same names; '_said' is a list of remarks,
    # where `{count}` is how many say it.
    expand: Callable[[Row], Iterable[Row]] = lambda row: ({},)
    # What `Run` has besides, by the first row of a run.
    about: Callable[[Row], Mapping[str, Any]] = lambda row: {}
    # What the files of one run have in common.
    run_of: Callable[[Path], Hashable] = Path
    # Of a folder that it recognises: the files of each run; None: it recognises files alone.
    files: Callable[[Path], list[list[Path]]] | None = None
    # Of the files of a run, with '_file' and '_row'; {'_bad': why}: one that cannot be read, {'_skipped':
    # sentence}: one that does not count.
    rows: Callable[[Sequence[Path]], Iterator[Row]] = lambda files: rows_of(*files)
    # The format of one run, by its first row.
    specialise: Callable[[Row, Options], Format | None] = lambda first, options: None
    # Names that --field may give besides the usual ones, which `specialise` uses.
    options: frozenset[str] = frozenset()
