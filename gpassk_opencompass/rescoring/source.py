"""A file of responses, labels, counts or a result, as checked questions one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..json_lines import JsonRows, Row
from ..judges.protocol import Judge
from ..results.health import remarks_of
from ..results.read import is_named_as_result, read
from ..results.result import Result
from .fields import RESULT, Naming
from .judged import Judged, Responses
from .rows import (
    About,
    Counted,
    Question,
    Sampled,
    about,
    counted,
    labelled,
    refuse_contradictions,
    responses,
    text,
)
from .selection import Selection
from .tally import Counts

Items = Iterator[tuple[int, Row]]


@dataclass(frozen=True)
class Source:
    """What a file holds."""

    kind: str
    """responses, labels, counts or result."""
    questions: Iterator[Question]
    """Read as they are asked for, except for responses, which are judged together."""
    judge: Mapping[str, Any] = field(default_factory=dict)
    """The identity of who judged; {} where the file does not say."""
    ks: tuple[int, ...] = ()
    """The k of a result file."""
    run: Mapping[str, str] = field(default_factory=dict)
    """What a result file calls its model and its data set."""
    judged: Judged | None = None
    """Of responses: what became of each."""
    remarks: Sequence[str] = ()
    """Sentences on verdicts that the judge could not give."""
    undecided: Mapping[str, int] | None = None
    """Samples of each uid that the judge gave up on; None where it is not known, as of a part of them."""


def open_source(
    path: str, naming: Naming, selection: Selection, judge: Callable[[Counts], Judge] | None = None
) -> Source:
    """Look at the first row of a file, and offer all of them.

    Args:
        path: see `JsonRows`; rows as `FIELDS` says, or the result file of an evaluation.
        naming: finds the fields of the rows, and holds their kind.
        selection: the questions and samples that count; others are neither checked nor judged.
        judge: makes the judge of responses; it is given their counts while none is correct, and may refuse
            what could not be scored before anything is judged.

    Raises:
        InputError: here and while reading; names the file and the row.
    """
    if Path(path).is_dir():
        raise InputError(f'{path} is a folder; name one file (gpassk report reads whole folders of results)')
    if is_named_as_result(Path(path)):
        return _result(path, naming, selection)
    rows = JsonRows(path)
    items = iter(rows)
    first = next(items, None)
    if first is None:
        raise InputError(f'{path} is empty; expected a row a question: responses, labels or counts')
    if 'gpassk' in first[1]:
        return _result(path, naming, selection)
    with _placed(rows, first[0]):
        naming.of(first[1])
    kind = str(naming.kind)
    items = chain([first], items)
    if kind != 'responses':
        return Source(kind, _questions(rows, items, naming, selection))
    if judge is None:
        raise InputError(f'{path} holds responses, which need a judge')
    found = _responses(rows, items, naming, selection)
    judged = found.judged_by(judge(found.counts()))
    return Source(
        kind, iter(judged.questions), judged.judge.identity(), judged=judged, remarks=judged.remarks
    )


def _responses(rows: JsonRows, items: Items, naming: Naming, selection: Selection) -> Responses:
    found = Responses()
    for number, row in items:
        with _placed(rows, number):
            _add(found, number, row, naming.of(row), selection)
    selection.check(len(found))
    return found


@contextmanager
def _placed(rows: JsonRows, number: int) -> Iterator[None]:
    """Says in which row an error is."""
    try:
        yield
    except InputError as error:
        raise InputError(f'{rows.place(number)}: {error}') from error


def _questions(rows: JsonRows, items: Items, naming: Naming, selection: Selection) -> Iterator[Question]:
    parse: Callable[..., Question] = counted if naming.kind == 'counts' else labelled
    number, of, takes, cut = 0, naming.of, selection.takes, selection.cut
    for number, row in items:
        try:
            names = of(row)
            asked = about(number, row, names)
            question = cut(parse(asked, row, names)) if takes(asked) else None
        except InputError as error:  # as `_placed`, which would cost nearly what reading a row does
            raise InputError(f'{rows.place(number)}: {error}') from error
        if question is not None:
            yield question


def _add(found: Responses, number: int, row: Row, names: Mapping[str, str], selection: Selection) -> None:
    asked = about(number, row, names)
    if not selection.takes(asked):
        return
    question, reference = (text(names[key], row[names[key]]) for key in ('question', 'reference'))
    name = names['responses']
    given = responses(name, row[name])
    if not given:
        raise InputError(f'{name} is empty; expected the responses to the question')
    refuse_contradictions(row, names, name, {'n': len(given)})
    found.add(asked, question, reference, selection.head(given))


def _result(path: str, naming: Naming, selection: Selection) -> Source:
    if naming.kind is not None:
        raise InputError(
            f'{path} is the result of an evaluation, which holds no {naming.kind}; leave out --as'
        )
    result = read(Path(path))
    block = result.block
    undecided = block['counts'].get('undecided') if selection.first is None else None
    return Source(
        RESULT,
        iter(list(_of_result(result, selection))),
        result.judge,
        tuple(block['k']),
        {'model': result.model_abbr, 'dataset': result.dataset_abbr},
        remarks=[f'health: {result.health.line}', *remarks_of(block)],
        undecided=None if undecided is None else dict(zip(result.uids, undecided, strict=True)),
    )


def _of_result(result: Result, selection: Selection) -> Iterator[Question]:
    columns = zip(result.uids, result.problems, result.groups, strict=True)
    for row, (uid, problem, group) in enumerate(columns):
        split, _, language = group.rpartition('_')
        asked = About(row + 1, uid, problem, split, language)
        if selection.takes(asked):
            yield selection.cut(_question_of(result, row, asked))


def _question_of(result: Result, row: int, asked: About) -> Question:
    if not result.verdicts:
        return Counted(asked, result.n, int(result.counts[row]), int(result.unjudged_of_each[row]))
    answers = tuple(result.answers[row]) if result.answers else None
    texts = (column[row] if column else '' for column in (result.questions, result.references))
    return Sampled(asked, result.verdicts[row], answers, *texts)
