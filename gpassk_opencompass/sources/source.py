"""What a source is: how the files of one program are recognised, and read as runs of questions.

A source of another package is a class that an entry point of the group `gpassk_opencompass.sources` names;
docs/extending.md has an example.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..errors import InputError
from ..json_lines import JsonRows, Row
from ..registry import Registry
from ..results.health import Generation
from ..results.samples import SampleColumns


class About(NamedTuple):
    """Names a question."""

    number: int
    """Where it stands in its file, from 1: a line, a row, an entry."""
    uid: str
    problem: str | None
    """What translations of one problem share; None: it is a problem of its own."""
    split: str
    language: str

    @property
    def group(self) -> str:
        """Return `{split}_{language}`, one of them where the other is missing, or 'all'."""
        both = f'{self.split}_{self.language}' if self.split and self.language else ''
        return both or self.split or self.language or 'all'


class Counted(NamedTuple):
    """A question of which only counts are known."""

    about: About
    n: int
    c: int
    unjudged: int


class Sampled(NamedTuple):
    """A question with a verdict a sample."""

    about: About
    verdicts: str
    """'1', '0' or '?' a sample, in the order of the samples."""
    answers: tuple[str, ...] | None
    """The final answer of each, '' where there is none; None where they are not known."""
    question: str = ''
    reference: str = ''


class Responded(NamedTuple):
    """A question with whole responses, which are judged; or counted by the verdicts that came with them."""

    about: About
    question: str
    reference: str
    responses: tuple[str, ...]
    generations: tuple[Generation, ...] = ()
    """What the engine told of each response; () where nothing is known."""
    verdicts: str = ''
    """As in `Sampled`; '' where nobody judged."""
    places: tuple[tuple[Path, int], ...] = ()
    """File and row of each response, see `row` of `COLUMNS`; () where they are not known."""
    answers: tuple[str, ...] = ()
    """The final answers that somebody else took out of the responses, shown beside their verdicts; () where
    they are not known."""


Question = Counted | Sampled | Responded


_HEAD = 4096


class Place:
    """A file or folder that somebody gave. A file is read once, however many sources look at how it begins.

    Args:
        path: see `JsonRows` for what a file of rows may be.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = str(path)
        self.path = Path(path)
        self._rows = JsonRows(path)
        self._items = iter(self._rows)
        self._error: InputError | None = None

    @cached_property
    def head(self) -> bytes:
        """Return the first bytes of a file, 4,096 at most; b'' of a folder, a pipe, what cannot be read."""
        try:
            if not self.path.is_file():  # what is taken out of a pipe is gone
                return b''
            with self.path.open('rb') as file:
                return file.read(_HEAD)
        except OSError:
            return b''

    @cached_property
    def first(self) -> Row | None:
        """Return the first JSON object of a file; None where there is none, as of a folder."""
        return self._first[1] if self._first else None

    @cached_property
    def only(self) -> Row | None:
        """Return the JSON object of a file that holds just one, else None."""
        if self.first is None:
            return None
        for second in self._items:
            self._items = chain([second], self._items)
            return None
        return self.first

    @cached_property
    def schema(self) -> Any:
        """Return the `pyarrow.Schema` of a Parquet file; None of any other, and of a damaged one."""
        if not self.head.startswith(b'PAR1'):
            return None
        import pyarrow  # type: ignore[import-untyped]
        from pyarrow import parquet

        try:
            return parquet.read_schema(self.path)
        except (OSError, ValueError, MemoryError, pyarrow.ArrowException):
            return None

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Return the JSON objects of a file with their numbers, from 1; to be asked for once.

        Raises:
            InputError: while iterating; names the file and the line.
        """
        first = self._first
        if self._error:
            raise self._error
        return chain([first], self._items) if first else iter(())

    def row(self, number: int) -> str:
        """Return where a row stands, for messages: `file:line`."""
        return self._rows.place(number)

    @cached_property
    def _first(self) -> tuple[int, Row] | None:
        try:
            return next(self._items, None)
        except InputError as error:
            self._error = error
            return None


@dataclass(frozen=True)
class Reading:
    """What is asked of a source.

    Args:
        kind: 'responses', 'labels' or 'counts': what the questions are to hold; None: what there is.
        fields: what gpassk calls a field → what the file calls it.
        takes: whether a question counts; a source may pass over others, and need not.
        texts: whether anybody looks at responses that come with verdicts; a source may leave them out
            otherwise, and so read a file that does not fit into memory.
        correct_from: the least number that is a verdict of correct.
        group_by: of tables: the column that tells the questions apart.
        needs_questions: whether a judge reads the questions.
    """

    kind: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    takes: Callable[[About], bool] = lambda about: True
    texts: bool = True
    correct_from: float = 1.0
    group_by: str | None = None
    needs_questions: bool = False


@dataclass(frozen=True)
class Run:
    """One model on one benchmark, as files tell it.

    Args:
        kinds: as what its questions can be scored: 'responses' (`Responded`), 'labels' (`Sampled`, or
            `Responded` with verdicts), 'counts' (`Counted`); or 'result' alone, of a whole result file. The
            first is scored where nobody says which.
        questions: all of them, iterated once; read while they are asked for, so that a file need not fit into
            memory. Errors are InputErrors that name the file and the line.
        model, dataset: what the files call them; '' where they do not.
        judge: the identity of who gave the verdicts; {} where the files do not say.
        ks: the k of G-Pass@k that the run was made for.
        settings: of the sampling, JSON-able: temperature, engine, …; {} where they are not known.
        where: tells where the question with a number (`About.number`) stands, for messages.
        record: the result record that was read, so that what it says of the samples is kept.
        samples_for: gives the columns of its samples for a result in a folder.
        remarks: sentences that a reader should know before quoting a score; they may come to be while the
            questions are read.
        written_by: the program that wrote the files, with its version where they tell it.
    """

    kinds: tuple[str, ...]
    questions: Iterator[Question]
    model: str = ''
    dataset: str = ''
    judge: Mapping[str, Any] = field(default_factory=dict)
    ks: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    where: Callable[[int], str] | None = None
    record: Mapping[str, Any] | None = None
    samples_for: Callable[[Path], SampleColumns | None] | None = None
    remarks: Sequence[str] = ()
    written_by: str = ''

    @property
    def name(self) -> str:
        """Return `<model>/<data set>`, as far as they are known."""
        return '/'.join(filter(None, (self.model, self.dataset)))

    def kind(self, wanted: str | None) -> str:
        """Return the kind that is wanted, or, where none is, the first.

        Raises:
            InputError: it does not hold what is wanted.
        """
        if wanted is None:
            return self.kinds[0]
        if wanted not in self.kinds:
            raise InputError(f'it holds {" and ".join(self.kinds)}, and no {wanted}; leave out --as {wanted}')
        return wanted


class Source(Protocol):
    """Reads the files of one program."""

    def recognises(self, place: Place) -> bool:
        """Whether these are files of that program, by their names or by what the first of them begins with.

        It is asked of every file and folder that is given without `--source`, and should not read much.
        """

    def read(self, place: Place, reading: Reading) -> Sequence[Run]:
        """Return the runs of a file or folder; their questions are read when they are iterated.

        A source whose runs lie in several files may also have `read_all(places, reading)`, which gets all of
        them that somebody gave.

        Raises:
            InputError: the files are damaged, or do not hold what is asked for.
        """


ROWS, TABLE = 'rows', 'table'
"""The sources of files that no source of a program recognises."""

SOURCES: Registry[Callable[[], Source]] = Registry(
    'gpassk_opencompass.sources',
    'source',
    {
        ROWS: 'gpassk_opencompass.sources.rows:Rows',
        TABLE: 'gpassk_opencompass.sources.table:SampleTable',
        'result': 'gpassk_opencompass.sources.result_files:ResultFile',
        'lm-eval': 'gpassk_opencompass.sources.lm_eval:LmEval',
        'lighteval': 'gpassk_opencompass.sources.lighteval_details:LightevalDetails',
        'opencompass': 'gpassk_opencompass.sources.opencompass_runs:OpenCompass',
        'nemo-skills': 'gpassk_opencompass.sources.nemo_skills:NemoSkills',
        'verl': 'gpassk_opencompass.sources.verl:Verl',
        'matharena': 'gpassk_opencompass.sources.matharena:MathArena',
        'inspect': 'gpassk_opencompass.sources.inspect_logs:InspectLog',
        'evalscope': 'gpassk_opencompass.sources.evalscope:EvalScope',
    },
    lambda _, found: callable(found),
    'a class of a source',
)
"""Name of a source → a class of it, built without arguments."""
