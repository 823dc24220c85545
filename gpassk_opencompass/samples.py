"""Samples: one row a response, its columns, and the Parquet file that holds them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .text import whole_characters

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

LAYOUT = '2'  # version of the columns; raised when a reader of the file would have to change
MISSING = frozenset({'', 'null', 'nan', 'none', 'n/a', '<na>'})  # what programs write where nothing is
GROUP_BYTES = 8 << 20  # text in a row group of a file, about: what is read to show one question

Integers = NDArray[np.int64]


class Column(NamedTuple):
    """A column of samples; its kind is label (a text that repeats), text, int64 or double."""

    name: str
    kind: str
    about: str


COLUMNS = (
    Column('run', 'label', '<model>/<data set>, where a file has samples of several'),
    Column('uid', 'label', 'The question; required'),
    Column('problem', 'label', 'What translations of one problem share; null: a problem of its own'),
    Column('group', 'label', '{split}_{language} of the question, one of them, or all'),
    Column('language', 'label', 'Of the question'),
    Column('replica', 'int64', 'Which of the samples of its question, from 0; required'),
    Column('seed', 'int64', 'What the sample was drawn with'),
    Column('fingerprint', 'text', 'Changes with all that the sample was drawn from'),
    Column('question', 'label', 'Its text'),
    Column('reference', 'label', 'The reference answer; null where the question has none'),
    Column('response', 'text', 'What the model said; null where there is none'),
    Column('thought', 'text', 'A thought that was told apart from the response'),
    Column('answer', 'text', 'The final answer; empty where the response has none'),
    Column('verdict', 'label', 'correct, incorrect or unjudged'),
    Column('judged_by', 'label', 'The check or the judge that gave the verdict'),
    Column('why', 'label', 'Why it is unjudged, or incorrect only because the judge gave up'),
    Column('reply_key', 'text', 'The key of a verdict store under which the reply of an LLM judge lies'),
    Column('finish_reason', 'label', "Why the engine ended it: stop, length (cut off), or the engine's word"),
    Column('prompt_tokens', 'int64', 'Tokens of the prompt'),
    Column('output_tokens', 'int64', 'Generated tokens, with those of the thought'),
    Column('reasoning_tokens', 'int64', 'Tokens of the thought alone'),
    Column('seconds', 'double', 'From request to reply'),
    Column('state', 'label', 'What kind of response it is, where it is no usual one'),
    Column('file', 'label', 'Where it was read'),
    Column('row', 'int64', 'The row or line of that file, from 1'),
)
_KINDS = {column.name: column.kind for column in COLUMNS}
_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {  # what values of a kind are called, and may be
    **dict.fromkeys(('label', 'text'), ('a text', (str,))),
    'int64': ('a whole number', (int, np.integer)),
    'double': ('a number', (int, float, np.number)),
}


def parted_group(group: str) -> tuple[str, str]:
    """Return split and language of a group, '' where it has none.

    >>> [parted_group(group) for group in ('test_set_en', 'level_5', 'cn', 'all')]
    [('test_set', 'en'), ('level_5', ''), ('', 'cn'), ('', '')]
    """
    if group == 'all':
        return '', ''
    split, _, language = group.rpartition('_')
    return (split, language) if re.fullmatch('[a-z]{2,3}(-[A-Za-z]+)?', language) else (group, '')


@dataclass(frozen=True)
class Counts:
    """How many samples of each of Q questions are correct: all that the metrics need."""

    uid: Sequence[str]
    problem: Sequence[str]
    group: Sequence[str]
    n: Integers
    c: Integers
    unjudged: Integers
    undecided: Integers | None = None  # incorrect because the judge gave up; None: not known

    def __len__(self) -> int:
        return len(self.uid)

    @property
    def doubt(self) -> Integers:
        """Return how many samples of each question are unjudged, or undecided as far as that is known."""
        return self.unjudged if self.undecided is None else self.unjudged + self.undecided

    def select(self, rows: Sequence[int] | NDArray[Any]) -> Counts:
        """Return the counts of some questions, by their rows or a mask."""
        where = np.arange(len(self))[np.asarray(rows)]
        uid, problem, group = ([one[row] for row in where] for one in (self.uid, self.problem, self.group))
        undecided = None if self.undecided is None else self.undecided[where]
        return Counts(uid, problem, group, self.n[where], self.c[where], self.unjudged[where], undecided)


class Samples:
    """Hold samples column by column: an entry a row, rows in any order; `uid` and `replica` are required.

    A column of `COLUMNS` that is left out is not known of any sample; None in a column, not of that one.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any] | None]) -> None:
        self._columns = {name: column for name, column in columns.items() if column is not None}
        if unknown := sorted(self._columns.keys() - _KINDS.keys()):
            raise InputError(f'samples have no column {unknown[0]!r}; expected {", ".join(_KINDS)}')
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1 or not {'uid', 'replica'} <= lengths.keys():
            raise InputError(f'samples need uid, replica, and an entry a row in each column, got {lengths}')

    def __len__(self) -> int:
        return len(self._columns['uid'])

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> Sequence[Any]:
        if name not in self._columns:
            raise InputError(f'the samples have no column {name}; they have {", ".join(self._columns)}')
        return self._columns[name]

    @property
    def names(self) -> list[str]:
        """Return the columns that are known."""
        return [name for name in _KINDS if name in self._columns]

    def each(self, name: str) -> Sequence[Any]:
        """Return a column, of None where it is not known."""
        return self._columns[name] if name in self._columns else [None] * len(self)

    def replace(self, **columns: Sequence[Any] | None) -> Samples:
        """Return the samples with other columns; None takes one out."""
        return Samples({**self._columns, **columns})

    def select(self, rows: Sequence[int]) -> Samples:
        """Return some of the samples, in this order."""
        return Samples({name: [column[row] for row in rows] for name, column in self._columns.items()})

    def by_question(self) -> dict[str, list[int]]:
        """Return the rows of each question by its uid, in order of appearance, replicas ascending."""
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for row, uid in enumerate(self._columns['uid']):
            rows[uid].append(row)
        for of_question in rows.values():
            of_question.sort(key=self._columns['replica'].__getitem__)
        return dict(rows)

    def check(self) -> None:
        """Refuse samples that cannot be scored: an InputError lists all wrong values, else contradictions."""
        if not len(self):
            raise InputError('there is nothing to score: 0 samples')
        if problems := list(self._wrong_values()) or list(self._contradictions()):
            more = [f'… and {len(problems) - 20} more'] if len(problems) > 20 else []
            raise InputError('\n'.join([*problems[:20], *more]))

    def _wrong_values(self) -> Iterator[str]:
        verdicts = ('correct', 'incorrect', 'unjudged')
        for name, column in self._columns.items():
            expected, types = _TYPES[_KINDS[name]]
            types += () if name in ('uid', 'replica') else (type(None),)
            wrong = {one for one in set(map(type, column)) if not issubclass(one, types) or one is bool}
            others = set() if name != 'verdict' or wrong else {*column} - {*verdicts, None}
            expected = 'correct, incorrect or unjudged' if others else expected
            for row, value in enumerate(column) if wrong or others else ():
                if type(value) in wrong or value in others:
                    yield f'{self.place(row)}: {name} is {value!r:.60}; expected {expected}'

    def _contradictions(self) -> Iterator[str]:
        """Yield samples that are there twice, and what samples of one question say differently."""
        names = [name for name in ('question', 'reference', 'group', 'language', 'problem') if name in self]
        shared = list(zip(*(self._columns[name] for name in names), strict=True)) or [()] * len(self)
        places: dict[tuple[str, int], int] = {}
        first: dict[str, int] = {}
        for row, (uid, replica) in enumerate(zip(self['uid'], self['replica'], strict=True)):
            if (before := places.setdefault((uid, replica), row)) != row:
                twice = f'sample {replica} of {uid!r:.60} is there twice, first at {self.place(before)}'
                yield f'{self.place(row)}: {twice}: were the logs of two runs put together?'
            if shared[row] != shared[before := first.setdefault(uid, row)]:
                pairs = zip(names, shared[before], shared[row], strict=True)
                name, one, two = next(each for each in pairs if each[1] != each[2])
                differ = f'different {name}s, {one!r:.60} and {two!r:.60} ({self.place(before)})'
                what = 'are these two questions under one key?'
                yield f'{self.place(row)}: the samples of {uid!r:.60} have {differ}: {what}'

    def place(self, row: int) -> str:
        """Return where a sample was read, for messages: `file:row`."""
        told = [self._columns[name][row] for name in ('file', 'row') if name in self._columns]
        return ':'.join(map(str, told)) if told and told[0] is not None else f'row {row + 1}'

    def counts(self) -> Counts:
        """Return the counts of each question; a sample without a verdict is unjudged."""
        questions = self.by_question()
        verdict, why, problem, group = (self.each(name) for name in ('verdict', 'why', 'problem', 'group'))
        numbers = []  # n, c, incorrect, undecided of each question
        for rows in questions.values():
            told = [verdict[row] for row in rows]
            undecided = sum(bool(why[row]) and verdict[row] == 'incorrect' for row in rows)
            numbers.append((len(rows), told.count('correct'), told.count('incorrect'), undecided))
        n, c, incorrect, undecided = np.array(numbers, dtype=np.int64).reshape(-1, 4).T
        problems = [problem[rows[0]] or uid for uid, rows in questions.items()]
        groups = [group[rows[0]] or 'all' for rows in questions.values()]
        return Counts(list(questions), problems, groups, n, c, n - c - incorrect, undecided)

    def write(self, path: Path) -> None:
        """Write a Parquet file: question by question, in row groups of whole questions."""
        import pyarrow
        from pyarrow import parquet

        text, whole, number = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
        label = pyarrow.dictionary(pyarrow.int32(), text)
        types = {'label': label, 'text': text, 'int64': whole, 'double': number}
        fields = [pyarrow.field(one.name, types[one.kind], metadata={'about': one.about}) for one in COLUMNS]
        groups: list[list[int]] = [[]]
        texts, size = [self[name] for name in ('response', 'thought') if name in self], 0
        for rows in self.by_question().values():
            if size > GROUP_BYTES:
                groups.append([])
                size = 0
            groups[-1] += rows
            size += sum(64 + sum(len(column[row] or '') for column in texts) for row in rows)
        schema = pyarrow.schema(fields, {'gpassk.samples': LAYOUT})
        with parquet.ParquetWriter(path, schema, compression='zstd') as writer:
            for rows in groups:
                part, arrays = self.select(rows), []
                for one in schema:
                    values = part.each(one.name)
                    try:
                        arrays.append(pyarrow.array(values, one.type))
                    except UnicodeEncodeError:  # a half of a character
                        arrays.append(pyarrow.array(whole_characters(list(values)), one.type))
                writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

    @classmethod
    def read(
        cls, path: Path, columns: Sequence[str] | None = None, rows: tuple[int, int] | None = None
    ) -> Samples:
        """Read a file that `write` wrote; an InputError says why it cannot be read.

        `columns` are those wanted beside uid and replica; `rows` the first and the last one plus one: only
        their row groups are read.
        """
        import pyarrow
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(path) as file:
                layout = (file.schema_arrow.metadata or {}).get(b'gpassk.samples', b'none').decode()
                if layout != LAYOUT:
                    raise ValueError(f'its layout of samples is {layout:.20}; this version reads {LAYOUT}')
                wanted = None if columns is None else list(dict.fromkeys(['uid', 'replica', *columns]))
                start, stop = rows or (0, file.metadata.num_rows)
                sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
                begins = [0, *accumulate(sizes)]
                groups = [one for one in range(len(sizes)) if begins[one] < stop and begins[one + 1] > start]
                table = file.read_row_groups(groups, columns=wanted)
                table = table.slice(start - begins[groups[0]] if groups else 0, stop - start)
            return cls({name: _values(table.column(name)) for name in table.column_names if name in _KINDS})
        except (OSError, ValueError, KeyError, pyarrow.ArrowException) as error:
            raise InputError(f'{path} cannot be read as samples: {error}') from error


def _values(column: pyarrow.ChunkedArray) -> list[Any] | None:
    """Return the values of a column, equal labels as one object; None where nothing is known."""
    if len(column) and column.null_count == len(column):
        return None
    values: list[Any] = []
    for chunk in column.chunks:
        if hasattr(chunk, 'dictionary'):
            words = np.array([*chunk.dictionary.to_pylist(), None], dtype=object)
            values += list(words[chunk.indices.fill_null(len(words) - 1).to_numpy()])
        else:
            values += chunk.to_pylist()
    return values


@dataclass(frozen=True)
class Run:
    """One model on one benchmark, as files tell it; empty is what they do not tell."""

    samples: Samples | None
    counts: Counts | None = None  # in place of samples, where only they are known
    model: str = ''
    dataset: str = ''
    path: str = ''  # or hub name of the model, where they tell it beside its name
    written_by: str = ''  # the program, with its version
    judge: Mapping[str, Any] = field(default_factory=dict)  # the identity of who gave the verdicts
    ks: tuple[int, ...] = ()  # of G-Pass@k, that the run was made for
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the sampling: temperature, max_out_len, …
    created: str = ''  # ISO 8601
    remarks: tuple[str, ...] = ()  # what a reader should know before quoting a score
    files: tuple[Path, ...] = ()  # that it was read from
    record: Any = None  # the `record.Result` that it was read from, where it is one

    @property
    def name(self) -> str:
        """Return `<model>/<data set>`, as far as they are known."""
        return '/'.join(filter(None, (self.model, self.dataset)))
