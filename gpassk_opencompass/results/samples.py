"""What is known of each sample, and the Parquet file beside a result that keeps it, one row a sample."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files import SAMPLES, digest, keep_mode
from ..judges.protocol import Judgement, Verdict
from ..unseen import with_whole_characters
from .health import Generation
from .record import SYMBOLS

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

LAYOUT = 1
"""Version of the columns of a sample file; raised when a reader would have to change."""

TOLD = (
    *('output_tokens', 'prompt_tokens', 'reply_key', 'response_characters', 'reasoning_characters'),
    *('reasoning_tokens', 'state', 'finish_reason'),
)
"""Columns that Lighteval's rows have too, an entry a sample; those of which nothing is known are left out."""

WORDS = {symbol: verdict.value for verdict, symbol in SYMBOLS.items()}
"""Symbol of a verdict in `details.verdicts` → the word for it in a sample file."""

_SYMBOL_OF = {word: symbol for symbol, word in WORDS.items()}

SampleColumns = Mapping[str, Sequence[Any]]
"""Name of `COLUMNS` → an entry a sample, question by question and of each replica 0 … n − 1; None where it is
not known. A column of which nothing is known is left out."""


class Column(NamedTuple):
    """A column of a sample file."""

    name: str
    kind: str
    """label (a text that repeats), text, int32, int64 or double."""
    about: str
    required: bool = False
    """Whether it has a value in every row."""


COLUMNS = (
    Column('uid', 'label', 'The question, as in `gpassk.counts`', True),
    Column('replica', 'int32', 'Which of its n samples, from 0', True),
    Column('seed', 'int64', 'What the sample was drawn with'),
    Column('answer', 'text', 'The final answer; empty where the response has none', True),
    Column('verdict', 'label', '`correct`, `incorrect` or `unjudged`', True),
    Column('decided_by', 'label', 'The check or the judge that gave the verdict'),
    Column('reason', 'label', 'Why the sample is unjudged or undecided; null for a real verdict'),
    Column('reply_key', 'text', "The `key` of the verdict store under which an LLM judge's reply lies"),
    Column('output_tokens', 'int64', 'Generated tokens, with those of the thinking'),
    Column('prompt_tokens', 'int64', 'Tokens of the prompt'),
    Column('finish_reason', 'label', 'Why the engine ended it: `stop`, `length` (cut off), or its own word'),
    Column('seconds', 'double', 'From request to reply of this sample alone'),
    Column('reasoning_tokens', 'int64', 'Tokens of the thinking alone'),
    Column('state', 'label', 'What kind of response it is, where it is no usual one; null otherwise'),
    Column('response_characters', 'int64', 'Length of the response'),
    Column('reasoning_characters', 'int64', 'Length of the thought in its text; null where there is none'),
    Column('file', 'label', 'The file with the response, as seen from the folder of the result'),
    Column(
        'row',
        'int64',
        'Where in that file: a line or number from 1, which may hold several responses; OpenCompass: its key',
    ),
)
"""The columns of a sample file, in their order."""


def sample_columns(
    uids: Sequence[str],
    rows: NDArray[np.int64],
    judgements: Sequence[Judgement],
    answers: Sequence[str],
    generations: Sequence[Generation] = (),
    told: Mapping[str, Sequence[Any]] | None = None,
) -> SampleColumns:
    """Return the columns of a run.

    Args:
        uids: of each of Q questions.
        rows: (Q, n), the row of each sample in the other arguments.
        judgements, answers: one a row.
        generations: one a row, or none at all.
        told: more of `COLUMNS`, one entry a row; an empty one is left out.
    """
    questions, n = rows.shape
    order = rows.ravel().tolist()
    columns: dict[str, Sequence[Any]] = {
        'answer': answers,
        'verdict': [one.verdict.value for one in judgements],
        'decided_by': [one.origin or None for one in judgements],
        'reason': [
            one.reason or (one.origin if one.verdict is Verdict.UNJUDGED else '') or None
            for one in judgements
        ],
        'reply_key': [one.reply_key or None for one in judgements],
        **dict(zip(Generation._fields, zip(*generations, strict=True), strict=False)),
        **(told or {}),
    }
    known = {name: column for name, column in columns.items() if any(one is not None for one in column)}
    return {
        'uid': [uid for uid in uids for _ in range(n)],
        'replica': list(range(n)) * questions,
        **{name: [column[row] for row in order] for name, column in known.items()},
    }


@dataclass(frozen=True)
class SampleTable:
    """The samples of a run, question by question and of each replica 0 … n − 1.

    Args:
        n: samples a question.
        load: returns the column of a name, None where nothing is known of it.
    """

    n: int
    load: Callable[[str], Sequence[Any] | None]

    def column(self, name: str) -> Sequence[Any] | None:
        """Return an entry a sample; None where the column is not known."""
        return self.load(name)

    def by_question(self, name: str) -> list[Sequence[Any]] | None:
        """Return the n entries of each question; None where the column is not known."""
        column = self.load(name)
        if column is None:
            return None
        return [column[start : start + self.n] for start in range(0, len(column), self.n)]

    def verdicts(self) -> list[str]:
        """Return the verdicts on each question, '1', '0' or '?' a sample."""
        return [''.join(map(_SYMBOL_OF.__getitem__, one)) for one in self.by_question('verdict') or ()]

    def deciders(self) -> list[str]:
        """Return who decided each sample, or why nobody did; '' where it is not known."""
        origins, reasons = self.column('decided_by'), self.column('reason')
        size = len(self.column('verdict') or ())
        pairs = zip(origins or [None] * size, reasons or [None] * size, strict=True)
        return [reason or origin or '' for origin, reason in pairs]


def sample_file_of(result: Path) -> Path:
    """Return where the sample file of a result is: `x.samples.parquet` beside `x.json`.

    >>> sample_file_of(Path('run.gpassk.json')).name
    'run.gpassk.samples.parquet'
    """
    return result.with_name(result.name.removesuffix('.json') + SAMPLES)


def write_samples(result: Path, record: dict[str, Any], columns: SampleColumns) -> None:
    """Write the sample file of a result and name it in the record, as `gpassk.sample_file`.

    Where that fails, the scores are worth more: a warning says why, and the record names no file.

    Args:
        result: the JSON file, which may be written later.
    """
    with sample_file_beside(result, record, columns):
        pass


@contextmanager
def sample_file_beside(result: Path, record: dict[str, Any], columns: SampleColumns | None) -> Iterator[None]:
    """Name the sample file in the record, and have it take its place after the block has written the JSON.

    If the block fails, an earlier result keeps its own. See `write_samples`.

    Args:
        columns: None: there are no samples, and a sample file of an earlier result is removed.
    """
    path = sample_file_of(result.resolve())  # beside the file, not beside a link to it
    draft = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        if columns is not None:
            with _warned_of(path, record):
                record['gpassk']['sample_file'] = _drafted(path, draft, columns)
        yield
        with _warned_of(path, record):
            if 'sample_file' in record['gpassk']:
                draft.replace(path)
            elif os.path.isfile(path):
                path.unlink()
    finally:
        with suppress(OSError):  # it is in its place, or never was
            draft.unlink()


@contextmanager
def _warned_of(path: Path, record: dict[str, Any]) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever it is, hours of judging shall not be lost by it
        from loguru import logger  # it brings asyncio; hardly any file has a reason for a warning

        logger.warning(f'{path} was not written ({type(error).__name__}: {error}); the result has its scores')
        record['gpassk'].pop('sample_file', None)


def _drafted(path: Path, draft: Path, columns: SampleColumns) -> dict[str, Any]:
    content = to_parquet(columns)
    if os.path.isdir(path):
        raise IsADirectoryError(f'{path} is a folder')
    path.parent.mkdir(parents=True, exist_ok=True)
    draft.write_bytes(content)
    keep_mode(path, draft)
    return {'name': path.name, 'sha256': digest(content), 'rows': len(columns['uid'])}


def to_parquet(columns: SampleColumns) -> bytes:
    """Return the bytes of a sample file."""
    import pyarrow
    from pyarrow import parquet

    sink = pyarrow.BufferOutputStream()
    parquet.write_table(arrow_table(columns, arrow_schema()), sink, compression='zstd')
    return bytes(sink.getvalue())


def arrow_table(columns: SampleColumns, schema: pyarrow.Schema) -> pyarrow.Table:
    """Return columns as a table; those of the schema that are left out are null."""
    import pyarrow

    rows = len(columns['uid'])
    arrays = [
        pyarrow.nulls(rows, field.type) if field.name not in columns else _array(columns[field.name], field)
        for field in schema
    ]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def arrow_schema(
    columns: Sequence[Column] = COLUMNS, metadata: Mapping[str, str] | None = None
) -> pyarrow.Schema:
    """Return the schema of a sample file, or of other columns with metadata of their own.

    The metadata say the version of the layout, and of each column what it is.
    """
    import pyarrow

    types = {
        'label': pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
        'text': pyarrow.string(),
        'int32': pyarrow.int32(),
        'int64': pyarrow.int64(),
        'double': pyarrow.float64(),
    }
    fields = [
        pyarrow.field(one.name, types[one.kind], not one.required, {'about': one.about}) for one in columns
    ]
    return pyarrow.schema(fields, metadata or {'gpassk.samples': str(LAYOUT)})


def read_samples(path: Path, n: int) -> SampleTable:
    """Read a sample file; each column is read when it is asked for.

    Raises:
        InputError: it cannot be read, in one line.
    """
    import pyarrow
    from pyarrow import parquet

    damaged = (OSError, ValueError, pyarrow.ArrowException)
    try:
        schema = parquet.read_schema(path)
        layout = (schema.metadata or {}).get(b'gpassk.samples', b'').decode()
    except damaged as error:
        raise InputError(f'{path} cannot be read: {error}') from error
    if layout != str(LAYOUT):
        raise InputError(f'{path} has layout {layout!r:.20}; this version reads {LAYOUT}')

    def load(name: str) -> list[Any] | None:
        if name not in schema.names:  # the file is not as it was written
            return None
        try:
            column = parquet.ParquetFile(path).read(columns=[name]).column(name).combine_chunks()
        except damaged as error:
            warn_once(f'{path} cannot be read: {error}')
            return None
        return None if column.null_count == len(column) else _values(column)

    return SampleTable(n, load)


def sound_sample_file(result: Path, block: Mapping[str, Any]) -> Path | None:
    """Return the sample file that a result names; None if it names none.

    None with a warning of one line if the file is missing, damaged or of another result.
    """
    told = block.get('sample_file')
    if not told:
        return None
    path = result.with_name(told['name'])
    try:
        why = '' if digest(path.read_bytes()) == told['sha256'] else 'is damaged, or of another result'
    except FileNotFoundError:
        why = 'is missing'
    except OSError as error:
        why = f'cannot be read ({error.strerror})'
    if not why:
        return path
    warn_once(
        f'{path} {why}: tokens, finish reasons, seeds and times of single samples cannot be shown; the '
        'scores are in the JSON beside it'
    )
    return None


@lru_cache(maxsize=4096)
def warn_once(text: str) -> None:
    """Warn, but only once a process: a command may read a result twice."""
    from loguru import logger

    logger.warning(text)


def _values(column: pyarrow.Array) -> list[Any]:
    """Return the values of a column, None where it is null; `to_pylist` takes ten times as long."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        words = np.array([*column.dictionary.to_pylist(), None], dtype=object)
        return list(words[column.indices.fill_null(len(words) - 1).to_numpy()])
    if column.null_count == 0 or pyarrow.types.is_string(column.type):
        return list(column.to_numpy(zero_copy_only=False).tolist())
    values = column.fill_null(0).to_numpy().astype(object)
    values[column.is_null().to_numpy(zero_copy_only=False)] = None
    return list(values)


def _array(values: Sequence[Any], field: pyarrow.Field) -> pyarrow.Array:
    import pyarrow

    plain = pyarrow.string() if pyarrow.types.is_dictionary(field.type) else field.type
    try:
        array = pyarrow.array(values, plain)
    except UnicodeEncodeError:  # a half of a character
        array = pyarrow.array(with_whole_characters(list(values)), plain)
    return array.dictionary_encode() if plain != field.type else array
