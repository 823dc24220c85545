"""What a source is: how the files of one program are recognised, and read as runs of questions.

A source of another package is a class that an entry point of the group `gpassk_opencompass.sources` names;
docs/extending.md has an example.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from loguru import logger

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
        if self.split and self.language:
            return f'{self.split}_{self.language}'
        return self.split or self.language or 'all'


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


Question = Counted | Sampled | Responded


@dataclass
class Selection:
    """Chooses questions, and the first samples of each.

    Args:
        splits, languages: those that count; empty: all.
        uids: the questions that count; None: all.
        first: samples of each question that count, the first ones; None: all.
    """

    splits: Collection[str] = ()
    languages: Collection[str] = ()
    uids: Collection[str] | None = None
    first: int | None = None
    _seen: dict[str, set[str]] = field(default_factory=lambda: {'split': set(), 'language': set()})
    _found: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._everything = not self.splits and not self.languages and self.uids is None

    def takes(self, about: About) -> bool:
        """Whether a question counts."""
        if self._everything:
            return True
        self._seen['split'].add(about.split)
        self._seen['language'].add(about.language)
        if self.uids is not None:
            if about.uid not in self.uids:
                return False
            self._found.add(about.uid)
        return (not self.splits or about.split in self.splits) and (
            not self.languages or about.language in self.languages
        )

    def of(self, run: Run) -> Iterator[Question]:
        """Return the chosen questions of a run, one after the other, each with its first samples alone.

        Raises:
            InputError: a question has fewer samples, or its samples have no order.
        """
        if self._everything and self.first is None:
            return iter(run.questions)
        return (self._cut(run, question) for question in run.questions if self.takes(question.about))

    def check(self, questions: int) -> None:
        """Raise InputError unless a run held what was asked for; then begin anew, for the next run.

        Args:
            questions: how many were chosen.
        """
        seen, found = {name: set(values) for name, values in self._seen.items()}, set(self._found)
        for values in (*self._seen.values(), self._found):
            values.clear()
        for name, wanted in (('split', self.splits), ('language', self.languages)):
            if absent := sorted(set(wanted) - seen[name]):
                there = ', '.join(map(repr, sorted(seen[name])[:20])) or 'none'
                raise InputError(f'no question is of {name} {absent[0]!r}; the file has {there}')
        if absent := sorted(set(self.uids or ()) - found):
            raise InputError(f'{len(absent)} of {len(self.uids or ())} uids are not there: {absent[0]!r}, …')
        if not questions:
            raise InputError(
                'no question is left; the split and the language asked for do not occur together'
            )

    def _cut(self, run: Run, question: Question) -> Question:
        if self.first is None:
            return question
        try:
            return _first_samples(question, self.first)
        except InputError as error:
            if run.where is None:
                raise
            raise InputError(f'{run.where(question.about.number)}: {error}') from error


def _first_samples(question: Question, first: int) -> Question:
    if isinstance(question, Counted):
        raise InputError(
            f'counts have no order, so there are no first {first}; '
            f'--n {first} takes the mean over all subsets of {first}'
        )
    samples = question.responses if isinstance(question, Responded) else question.verdicts
    if len(samples) < first:
        raise InputError(f'{len(samples)} samples, fewer than --first {first}')
    if isinstance(question, Responded):
        return question._replace(
            responses=question.responses[:first],
            generations=question.generations[:first],
            verdicts=question.verdicts[:first],
            places=question.places[:first],
        )
    answers = None if question.answers is None else question.answers[:first]
    return question._replace(verdicts=question.verdicts[:first], answers=answers)


class Place:
    """A file or folder that somebody gave. A file is opened once, however many sources look at it.

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
    """

    kind: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    takes: Callable[[About], bool] = lambda about: True


@dataclass(frozen=True)
class Run:
    """One model on one benchmark, as files tell it.

    Args:
        kinds: as what its questions can be scored: 'responses' (`Responded`), 'labels' (`Sampled`, or
            `Responded` with verdicts), 'counts' (`Counted`); or 'result' alone, of a whole result file.
        questions: all of them, iterated once; read while they are asked for, so that a file need not fit into
            memory. Errors are InputErrors that name the file and the line.
        model, dataset: what the files call them; '' where they do not.
        judge: the identity of who gave the verdicts; {} where the files do not say.
        ks: the k of G-Pass@k that the run was made for.
        settings: of the sampling, JSON-able: temperature, engine, …; {} where they are not known.
        where: tells where the question with a number (`About.number`) stands, for messages.
        record: the result record that was read, so that what it says of the samples is kept.
        samples_for: gives the columns of its samples for a result in a folder.
        remarks: sentences that a reader should know before quoting a score.
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

    @property
    def name(self) -> str:
        """Return `<model>/<data set>`, as far as they are known."""
        return '/'.join(filter(None, (self.model, self.dataset)))

    def kind(self, wanted: str | None) -> str:
        """Return the kind that is wanted, or, where none is, the only one.

        Raises:
            InputError: it holds something else, or several kinds.
        """
        if wanted is None and len(self.kinds) == 1:
            return self.kinds[0]
        if wanted in self.kinds:
            return str(wanted)
        held = ' and '.join(self.kinds)
        if wanted is None:
            raise InputError(f'it holds {held}; say which to score: --as {" or --as ".join(self.kinds)}')
        raise InputError(f'it holds {held}, and no {wanted}; leave out --as {wanted}')


class Source(Protocol):
    """Reads the files of one program."""

    def recognises(self, place: Place) -> bool:
        """Whether these are files of that program, by their names or by what the first of them begins with.

        It is asked of every file and folder that is given without `--source`, and should not read much.
        """

    def read(self, place: Place, reading: Reading) -> Sequence[Run]:
        """Return the runs of a file or folder; their questions are read when they are iterated.

        Raises:
            InputError: the files are damaged, or do not hold what is asked for.
        """


ROWS = 'rows'
"""The source of files that no other one recognises."""

SOURCES: Registry[Callable[[], Source]] = Registry(
    'gpassk_opencompass.sources',
    'source',
    {
        ROWS: 'gpassk_opencompass.sources.rows:Rows',
        'result': 'gpassk_opencompass.sources.result_files:ResultFile',
        'lighteval': 'gpassk_opencompass.sources.result_files:LightevalDetails',
        'opencompass': 'gpassk_opencompass.sources.opencompass_questions:OldPredictions',
    },
    lambda _, found: callable(found),
    'a class of a source',
)
"""Name of a source → a class of it, built without arguments."""


def read_runs(path: str | os.PathLike[str], reading: Reading, source: str | None = None) -> Sequence[Run]:
    """Return the runs of a file or folder.

    Args:
        path: what somebody gave.
        reading: what is asked of it.
        source: one of `SOURCES`; None: the one that recognises it.

    Raises:
        InputError: no source recognises it, or several; or it cannot be read.
    """
    place = Place(path)
    return SOURCES[source or detected(place)]().read(place, reading)


def detected(place: Place) -> str:
    """Return the name of the source that recognises a place.

    Raises:
        InputError: several do, or it is a folder and none does.
    """
    from ..results.read import is_named_as_result  # pydantic: who only asks for the names needs none

    found = []
    for name, source in SOURCES.each():
        if isinstance(source, InputError):
            logger.warning(f'passed over: {source}')
        elif name != ROWS and source().recognises(place):
            found.append(name)
    if len(found) > 1:
        raise InputError(
            f'{place.name} looks like files of {" and of ".join(found)}; say which: --source {found[0]}'
        )
    if found:
        return found[0]
    if place.path.is_dir():
        raise InputError(
            f'{place.name} is a folder; name one file (gpassk report reads whole folders of results)'
        )
    return 'result' if is_named_as_result(place.path) else ROWS
