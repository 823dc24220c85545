"""verl: the samples of a training or validation step, which it dumps as `<step>.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from ..json_lines import Row
from .samples import Notes, Sample, as_text, number_in, questions_of
from .source import Place, Reading, Run

_FIELDS = ('input', 'output', 'score', 'step')
"""The fields of every row, the first two texts."""

_NO_ANSWER = '[INVALID]'
"""What verl's reward functions write as `pred` where they find no answer."""

_BY_SCORE = '{count} samples have no acc: their score says whether they are correct'
_SEVERAL_GTS = '{count} inputs have several ground truths: each of them is a question of its own'
_REPEATED = '{count} questions are there several times under other uids, and each time is a question'
_EARLIER = (
    '{count} earlier turns of rollouts with several outputs are not counted: the last one is the sample'
)

_PLAIN = (
    'uids that begin with {name} look like those of rollouts, and are of different questions: input and '
    'ground truth tell these apart'
)


class Verl:
    """The source of verl's dumps: `trainer.rollout_data_dir` and `trainer.validation_data_dir`.

    A file is a run, of the model as it was at that step; its questions are told apart by input and ground
    truth, or by `uid` where a row has verl's `<uid>_<rollout>_<output>`.
    """

    def recognises(self, place: Place) -> bool:
        """Whether a file begins with a row that has input, output, score and step."""
        return _is_dumped(place.first)

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return the run of one step; its model is called `step <number>`, its data set like the folder."""
        first = place.first
        if not _is_dumped(first):
            rows = place.rows()
            there = ', '.join(list(next(rows, (0, Row()))[1])[:10]) or 'nothing'
            raise InputError(
                f'{place.name} is no dump of verl: expected rows with {", ".join(_FIELDS)}, the first two '
                f'texts; there is {there}'
            )
        assert first is not None
        notes = Notes(reading)
        judged = 'acc' if 'acc' in first else 'score'
        return [
            Run(
                ('labels', 'responses') if first.get('gts') is not None else ('labels',),
                questions_of(_samples(place, notes), reading, notes),
                f'step {first["step"]}',
                place.path.absolute().parent.name,
                {'name': f'verl {judged}'},
                where=lambda number: f'{place.name}, question {number}',
                remarks=notes,
                written_by='verl',
            )
        ]

    def read_all(self, places: Sequence[Place], reading: Reading) -> list[Run]:
        """Return the runs of several steps, those of a folder by the numbers of their steps."""
        runs: dict[Path, list[tuple[float, Run]]] = {}
        for place in places:
            [run] = self.read(place, reading)
            step = place.first['step'] if place.first else 0
            runs.setdefault(place.path.parent, []).append((step, run))
        by_step = (sorted(of_folder, key=lambda one: one[0]) for of_folder in runs.values())
        return [run for _, run in chain.from_iterable(by_step)]


def _is_dumped(row: Row | None) -> bool:
    return (
        row is not None
        and all(name in row for name in _FIELDS)
        and all(isinstance(row[name], str) for name in _FIELDS[:2])
        and type(row['step']) is int
    )


class _Rollout(NamedTuple):
    """What the `uid` of a row tells: of a question, which of its rollouts, which of its outputs."""

    question: str
    number: int
    output: int


def _rollout(row: Row) -> _Rollout | None:
    """Return what a uid tells, as `<uid>_<rollout>_<output>`; None where it is none like this."""
    uid = row.get('uid')
    parts = uid.rsplit('_', 2) if isinstance(uid, str) else []
    if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None
    return _Rollout(parts[0], int(parts[1]), int(parts[2]))


def _is_later_turn(row: Row, before: Row, asked: str) -> bool:
    """Whether a row goes on with the rollout of the one before it, which began with what was asked.

    A uid of another kind may end in two numbers too, as `aime_2024_0`; then the questions differ.
    """
    rollout, earlier = _rollout(row), _rollout(before)
    follows = rollout and earlier and rollout[:2] == earlier[:2] and rollout.output > earlier.output
    return bool(follows) and row.get('gts') == before.get('gts') and str(row.get('input')).startswith(asked)


def _samples(place: Place, notes: Notes) -> Iterator[Sample]:
    """Return the samples of a file, of a rollout with several outputs the last one alone.

    Raises:
        InputError: a row is damaged.
    """
    of_file = _File(place, notes)
    held: Sample | None = None
    before, asked = Row(), ''
    for number, row in place.rows():
        if held and _is_later_turn(row, before, asked):
            notes.say(_EARLIER)
        else:
            if held:
                yield held
            asked = row.get('input', '')
        held, before = of_file.sample(number, row, asked, before), row
    if held:
        yield held


class _File:
    """Makes samples of the rows of a file."""

    def __init__(self, place: Place, notes: Notes) -> None:
        self._place = place
        self._notes = notes
        first = place.first or {}
        self._step = first.get('step')
        self._by_acc = 'acc' in first
        self._uids: dict[str, dict[str, str]] = {}
        """Input → ground truth → uid."""
        self._of_question: dict[str, str] = {}
        """The first part of verl's uid → uid."""
        self._first: dict[str, tuple[str, str]] = {}
        """The first part of verl's uid → the first input and ground truth under it."""
        self._plain: set[str] = set()
        """What looked like such a first part."""
        self._taken: set[str] = set()

    def sample(self, number: int, row: Row, asked: object, before: Row) -> Sample:
        """Return the sample of a row.

        Args:
            asked: the input of the first output of its rollout.
            before: the row before it.

        Raises:
            InputError: the row is damaged, or of another step than the first one.
        """
        response, reference = row.get('output'), as_text(row.get('gts'))
        try:
            if not isinstance(asked, str) or not isinstance(response, str):
                raise InputError(f'input is {asked!r:.60} and output is {response!r:.60}; expected two texts')
            if row.get('step') != self._step:
                raise InputError(
                    f'it is of step {row.get("step")!r:.20}, the first row of step {self._step}: at each '
                    'step the model is another one, give a file a step'
                )
            rollout = self._rollout(row, asked, reference, before)
            return Sample(
                self._uid(asked, reference, rollout),
                asked,
                reference,
                response,
                self._verdict(row),
                rollout.number if rollout else None,
                _answer(row.get('pred')),
                path=self._place.path,
                row=number,
            )
        except InputError as error:
            raise InputError(f'{self._place.row(number)}: {error}') from error

    def _rollout(self, row: Row, asked: str, reference: str, before: Row) -> _Rollout | None:
        """Return what the uid tells; None where it is another kind of uid, that only ends in two numbers."""
        rollout = _rollout(row)
        if rollout is None or rollout.question in self._plain:
            return None
        first, known = self._first.setdefault(rollout.question, (asked, reference))
        if reference != known or not (asked.startswith(first) or first.startswith(asked)):
            self._plain.add(rollout.question)
            self._notes.say(_PLAIN.format(name=repr(rollout.question).replace('{', '{{').replace('}', '}}')))
            return None
        again = row['uid'] == before.get('uid') and row['output'] != before.get('output')
        return None if again else rollout

    def _uid(self, asked: str, reference: str, rollout: _Rollout | None) -> str:
        """Return a uid that the question has in the files of every step."""
        if rollout and rollout.question in self._of_question:
            return self._of_question[rollout.question]
        by_reference = self._uids.setdefault(asked, {})
        uid = by_reference.get(reference, '')
        if not uid:
            if len(by_reference) == 1:
                self._notes.say(_SEVERAL_GTS)
            key = json.dumps([asked, reference]).encode()
            uid = by_reference[reference] = sha256(key).hexdigest()[:16]
        if rollout:
            if uid in self._taken:
                self._notes.say(_REPEATED)
                uid = f'{uid}-{len(self._of_question)}'
            self._taken.add(uid)
            self._of_question[rollout.question] = uid
        return uid

    def _verdict(self, row: Row) -> str:
        """Return what acc says, or the score where there is none."""
        told = row.get('acc')
        if told is None:
            if self._by_acc:
                self._notes.say(_BY_SCORE)
            told = row.get('score')
        return self._notes.verdict(number_in(told))


def _answer(told: object) -> str | None:
    return None if told is None else '' if told == _NO_ANSWER else as_text(told)
