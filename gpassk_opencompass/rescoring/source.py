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
from ..record import answer_warnings, self_test_notes, undecided_notes
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
    texts,
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
    rows = JsonRows(path)
    items = iter(rows)
    first = next(items, None)
    if first is None:
        raise InputError(f'{path} is empty; expected a row a question: responses, labels or counts')
    if 'gpassk' in first[1]:
        return _result(path, first[1], naming, selection)
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


def _result(path: str, record: Row, naming: Naming, selection: Selection) -> Source:
    if naming.kind is not None:
        raise InputError(
            f'{path} is the result of an evaluation, which holds no {naming.kind}; leave out --as'
        )
    try:
        block, details = record['gpassk'], record.get('details', {})
        questions = list(_of_record(path, block, details, selection))
        judge = {key: value for key, value in block['judge'].items() if key != 'statistics'}
        if not all(type(k) is int and k > 0 for k in block['k']):
            raise InputError(f'{path} is damaged: k = {block["k"]!r:.60}; expected whole numbers from 1')
        remarks = [*answer_warnings(block), *undecided_notes(block), *self_test_notes(block)]
        return Source(
            RESULT,
            iter(questions),
            judge,
            tuple(block['k']),
            _run(Path(path), block),
            remarks=remarks,
            undecided=_undecided(block) if selection.first is None else None,
        )
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f'{path} is no result of an evaluation: {error!r} in its "gpassk" or "details"'
        ) from error


def _undecided(block: Mapping[str, Any]) -> dict[str, int] | None:
    counts = block['counts']
    if 'undecided' not in counts:
        return None
    found = dict(zip(counts['uid'], counts['undecided'], strict=True))
    most = dict(zip(counts['uid'], (block['n'] - c for c in counts['c']), strict=True))
    if wrong := [
        uid for uid, count in found.items() if type(count) is not int or not 0 <= count <= most[uid]
    ]:
        raise InputError(f'damaged: counts.undecided of {wrong[0]!s:.60} is {found[wrong[0]]!r:.60}')
    return found


def _run(path: Path, block: Mapping[str, Any]) -> dict[str, str]:
    """As the record says it, or the folders of OpenCompass: `results/<model>/<dataset>.json`."""
    said = block.get('run', {})
    if path.parent.parent.name == 'results':
        said = {'model': path.parent.name, 'dataset': path.stem} | said
    return {name: str(said[name]) for name in ('model', 'dataset') if name in said}


def _of_record(
    path: str, block: Mapping[str, Any], details: Mapping[str, Any], selection: Selection
) -> Iterator[Question]:
    counts, n = block['counts'], block['n']
    columns = [counts[name] for name in ('uid', 'problem', 'group', 'c')]
    unjudged = counts.get('unjudged') or [0] * len(columns[0])
    for number, (uid, problem, group, c, open_) in enumerate(zip(*columns, unjudged, strict=True)):
        try:
            asked = _about(number, uid, problem, group)
            if selection.takes(asked):
                row = {'n': n, 'c': c, 'unjudged': open_}
                known = counted(asked, row, {name: name for name in row})
                yield selection.cut(_with_verdicts(known, details, number))
        except InputError as error:
            raise InputError(f'{path}, question {number + 1} ({uid!s:.60}): {error}') from error


def _about(number: int, uid: object, problem: object, group: object) -> About:
    for name, value in (('uid', uid), ('problem', problem or ''), ('group', group)):
        if not isinstance(value, str):
            raise InputError(f'damaged: counts.{name} is {value!r:.60}; expected a text')
    split, _, language = str(group).rpartition('_')
    return About(number + 1, str(uid), None if problem is None else str(problem), split, language)


def _with_verdicts(known: Counted, details: Mapping[str, Any], number: int) -> Question:
    if not details.get('verdicts'):
        return known
    verdicts = details['verdicts'][number]
    if (len(verdicts), verdicts.count('1'), verdicts.count('?')) != known[1:]:
        raise InputError(
            f'damaged: verdicts {verdicts!r:.80}, but n, c, unjudged = {known[1:]}; evaluate again'
        )
    answers = None
    if details.get('answers'):
        answers = texts('details.answers', details['answers'][number])
        if len(answers) != len(verdicts):
            raise InputError(f'damaged: {len(answers)} details.answers to {len(verdicts)} verdicts')
    question, reference = (
        text(f'details.{name}', details[name][number]) if details.get(name) else ''
        for name in ('question', 'reference')
    )
    return Sampled(known.about, verdicts, answers, question, reference)
