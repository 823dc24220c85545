"""Samples one at a time, as programs log them, put together to questions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import count, pairwise
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, overload

from ..errors import InputError
from ..replicas import Look, Replicas
from ..results.health import CUT_OFF, NOT_DRAWN, Generation
from .source import About, Reading, Responded, Sampled


class Sample(NamedTuple):
    """One response to one question, as a file tells it; what it does not tell is left as it is here.

    uid: of the question.
    response: None where the file has no text: then the verdict alone is known, or `generation.state` says why
        the model gave none.
    verdict: '1', '0' or '?', as `Notes.verdict` makes it; '' where the file says nothing of this sample.
    replica: which of the question's samples it is, in any numbering; without it the order of the file counts.
    answer: the final answer that the program took out of the response.
    problem: see `About`.
    row: where it stands in its file, from 1: a line, a row, an entry.
    """

    uid: str
    question: str = ''
    reference: str = ''
    response: str | None = None
    verdict: str = ''
    replica: int | None = None
    answer: str | None = None
    generation: Generation = Generation()
    split: str = ''
    language: str = ''
    problem: str | None = None
    path: Path | None = None
    row: int = 0

    @property
    def place(self) -> str:
        """Return where it stands, for messages."""
        return f'{self.path}:{self.row}' if self.path else f'row {self.row}'


new_sample: Callable[[tuple[Any, ...]], Sample] = partial(tuple.__new__, Sample)
"""Makes a sample of all its fields, in a third of the time: files have millions."""


def as_text(value: object) -> str:
    """Return a text as it is, '' where there is nothing, and anything else as JSON.

    >>> [as_text(value) for value in ('4', None, 4, {'target': 4})]
    ['4', '', '4', '{"target": 4}']
    """
    if isinstance(value, str):
        return value
    return '' if value is None else json.dumps(value, ensure_ascii=False)


def number_in(value: Any) -> Any:
    """Return the number that a text is, and anything else as it is.

    >>> [number_in(value) for value in ('0.5', 'C', True)]
    [0.5, 'C', True]
    """
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


_WORDS = {
    **dict.fromkeys(('correct', 'c', 'true', 'yes', 'pass', '1', '1.0'), '1'),
    **dict.fromkeys(('incorrect', 'i', 'n', 'false', 'no', 'fail', '0', '0.0'), '0'),
    **dict.fromkeys(('unjudged', '', 'nan', 'none', 'null', '?'), '?'),
}
"""Verdicts in words, in small letters; 'n' is inspect's "no answer"."""

PARTIAL = (
    '{count} verdicts are partial credit, below {least}, and count as incorrect: --correct-from says from '
    'where on a number is correct'
)
ABOVE = (
    '{count} verdicts are numbers above 1 and count as correct: are they rewards? --correct-from says from '
    'where on a number is correct'
)
BELOW = '{count} verdicts are numbers below 0 and count as incorrect: are they rewards?'
NO_NUMBER = '{count} verdicts are NaN or infinite: nobody judged those samples, and they are unjudged'
NO_VERDICT = '{count} samples have no verdict, others of the same questions have one: they are unjudged'
_OF_VERDICTS = (PARTIAL, ABOVE, BELOW, NO_NUMBER, NO_VERDICT)
CUT = '{count} of {samples} responses were cut off at the limit of tokens'
NO_RESPONSE = '{count} samples have no response and are unjudged: {states}'


class Notes(Sequence[str]):
    """What a reader should know of how samples were taken; counted while they are read.

    Args:
        reading: says from where on a number is correct.

    >>> notes = Notes(Reading())
    >>> [notes.verdict(value) for value in (True, 'I', 0.5, float('nan'), None)]
    ['1', '0', '0', '?', '?']
    >>> len(notes)
    2
    """

    def __init__(self, reading: Reading) -> None:
        self._least = reading.correct_from
        self._counts: Counter[str] = Counter()
        self._states: Counter[str] = Counter()
        self._samples = 0
        self._replicas: dict[int, Replicas] = {}

    def verdict(self, value: Any) -> str:
        """Return '1', '0' or '?' for what a program says of a sample: a bool, a number, a word, None, NaN.

        Raises:
            InputError: it is nothing of these.
        """
        if value is None or isinstance(value, bool):
            return '?' if value is None else '01'[value]
        if isinstance(value, str) and value.strip().lower() in _WORDS:
            return _WORDS[value.strip().lower()]
        if isinstance(value, (int, float, Decimal)):
            return self._of_number(value)
        raise InputError(
            f'{value!r:.60} is no verdict: expected true or false, a number, "correct" or "incorrect", or '
            'null where nobody judged'
        )

    def _of_number(self, value: float | Decimal) -> str:
        if value != value or abs(value) == inf:  # noqa: PLR0124 (NaN; isfinite overflows at large integers)
            self.say(NO_NUMBER)
            return '?'
        if value > max(1.0, self._least):
            self.say(ABOVE)
        elif 0 < value < self._least:
            self.say(PARTIAL)
        elif value < 0:
            self.say(BELOW)
        return '01'[value >= self._least]

    def say(self, sentence: str) -> None:
        """Add a sentence once; `{count}` in it is how often it was said."""
        self._counts[sentence] += 1

    def took(self, samples: Sequence[Sample], texts: Sequence[Look | None]) -> None:
        """Count how the samples of a question ended, and which are copies of one another.

        Args:
            texts: of their responses; None where there is none.
        """
        self._samples += len(samples)
        ends = [sample.generation for sample in samples]
        for end in ends if ends.count(_USUAL) < len(ends) else ():
            if end.state in NOT_DRAWN:
                self._states[str(end.state)] += 1
            elif end.finish_reason == CUT_OFF:
                self.say(CUT)
        looks = [text for text in texts if text is not None]
        if len(looks) > 1:  # one response of several samples is no copy of itself
            self._replicas.setdefault(len(samples), Replicas(len(samples))).add(looks)

    def beside(self, own_verdicts: bool) -> list[str]:
        """Return what is not said where all responses were looked at: not how they ended, nor copies.

        Args:
            own_verdicts: whether the verdicts that came along count.
        """
        passed_over = {CUT} if own_verdicts else {CUT, *_OF_VERDICTS}
        return self._told({name: n for name, n in self._counts.items() if name not in passed_over})

    def _sentences(self) -> list[str]:
        states = self._states.total()
        told = self._told({**self._counts, **({NO_RESPONSE: states} if states else {})})
        return told + [warning for one in self._replicas.values() for warning in one.describe()['warnings']]

    def _told(self, counts: Mapping[str, int]) -> list[str]:
        states = ', '.join(f'{count} {state}' for state, count in self._states.items())
        known = {'least': f'{self._least:g}', 'samples': str(self._samples), 'states': states}
        return [filled(sentence, {**known, 'count': str(count)}) for sentence, count in counts.items()]

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._sentences()[index]

    def __len__(self) -> int:
        return len(self._sentences())


def filled(sentence: str, values: Mapping[str, str]) -> str:
    """Put values into a sentence, which may hold names with braces of their own, unlike one of `format`."""
    for name, value in values.items():
        sentence = sentence.replace(f'{{{name}}}', value)
    return sentence


def with_thought(thought: str, text: str) -> str:
    r"""Return a response with the thought that a program keeps apart from it, marked as models mark it.

    >>> with_thought('2 + 2', 'It is 4.')
    '2 + 2\n</think>\n\nIt is 4.'
    >>> with_thought('2 + 2', ''), with_thought('', '4')
    ('<think>2 + 2', '4')
    """
    if not thought:
        return text
    # On a line of its own: between two quotation marks the mark would be quoted, and end nothing.
    return f'{thought}\n</think>\n\n{text}' if text else f'<think>{thought}'


def questions_of(
    samples: Iterable[Sample],
    reading: Reading,
    notes: Notes,
    in_order: bool = False,
    size: int | None = None,
) -> Iterator[Responded | Sampled]:
    """Put samples together to questions, in the order of their first samples.

    Args:
        samples: in any order.
        reading: chooses questions, and says whether texts are looked at: without them, and with verdicts, of
            a sample little more than its verdict is kept.
        notes: what is seen on the way is added to it.
        in_order: the samples of a question come one after the other: each question is handed on, and
            forgotten, when the next one begins.
        size: how many samples a question has, where the files say so: it is handed on, and forgotten, with
            the last of them, however they are mixed.

    Raises:
        InputError: two samples of a question have one number, or different questions, references or groups;
            or only some of them a text.
    """
    numbers = count(1)
    begun: dict[str, _Begun] = {}
    for sample in samples:
        question = begun.get(sample.uid)
        if question is None:
            if in_order and begun:
                yield from _whole(next(numbers), begun.popitem()[1], reading, notes)
            question = begun[sample.uid] = _Begun(sample)
        elif _ALIKE(sample) != question.alike:
            _refuse_difference(question.samples[0], sample)
        question.add(sample, reading.texts or not sample.verdict)
        if len(question.samples) == size:
            yield from _whole(next(numbers), begun.pop(sample.uid), reading, notes)
    for uid in list(begun):
        yield from _whole(next(numbers), begun.pop(uid), reading, notes)


_USUAL = Generation()
_SHARED = 'reference', 'question', 'split', 'language', 'problem'
"""What all samples of a question have in common; of several differences the first is told."""

_ALIKE = itemgetter(*map(Sample._fields.index, _SHARED))


class _Begun:
    """The samples of a question that were seen, and of each response what tells whether it is a copy."""

    __slots__ = ('alike', 'asked', 'group', 'looks', 'samples')

    def __init__(self, first: Sample) -> None:
        self.alike = _ALIKE(first)
        self.asked, self.group = first[:3], first[8:11]
        self.samples: list[Sample] = []
        self.looks: list[Look | None] = []
        """None where there is no response."""

    def add(self, sample: Sample, texts: bool) -> None:
        """Add a sample; without its texts where nobody looks at them."""
        response = sample.response
        self.looks.append(None if response is None else Look.of(response))
        if not texts:
            told = sample.generation
            if told is not _USUAL:
                rare = told.state or told.finish_reason == CUT_OFF
                told = Generation(told.finish_reason, state=told.state) if rare else _USUAL
            # Texts of the first one for all, so that those of the others are forgotten.
            known = None, sample.verdict, sample.replica, None, told
            sample = new_sample((*self.asked, *known, *self.group, sample.path, sample.row))
        self.samples.append(sample)


def _refuse_difference(first: Sample, other: Sample) -> None:
    for name in _SHARED:
        one, two = getattr(first, name), getattr(other, name)
        if one != two:
            raise InputError(
                f'{other.place}: the samples of {first.uid!r:.60} have different {name}s, {one!r:.60} and '
                f'{two!r:.60} ({first.place}): are these two questions under one key?'
            )


def _whole(number: int, seen: _Begun, reading: Reading, notes: Notes) -> Iterator[Responded | Sampled]:
    first = seen.samples[0]
    about = About(number, first.uid, first.problem, first.split, first.language)
    if not reading.takes(about):
        return
    samples, looks = _in_order(seen)
    notes.took(samples, looks)
    verdicts = _verdicts(samples, notes)
    if verdicts and not reading.texts:
        yield Sampled(about, verdicts, None, first.question, first.reference)
    else:
        yield _with_texts(about, samples, verdicts)


def _in_order(seen: _Begun) -> tuple[Sequence[Sample], Sequence[Look | None]]:
    """Sort by number, where all have one; refuse one number twice."""
    if any(sample.replica is None for sample in seen.samples):
        return seen.samples, seen.looks
    both = sorted(zip(seen.samples, seen.looks, strict=True), key=lambda one: one[0].replica or 0)
    samples, looks = zip(*both, strict=True)
    for one, other in pairwise(samples):
        if one.replica == other.replica:
            raise InputError(
                f'{other.place}: sample {other.replica} of {other.uid!r:.60} is there twice, first at '
                f'{one.place}: were the logs of two runs put together?'
            )
    return samples, looks


def _verdicts(samples: Sequence[Sample], notes: Notes) -> str:
    """Return a symbol a sample, '?' where there is no response; '' where nobody judged any."""
    told = [sample.verdict for sample in samples]
    if not any(told):
        return ''
    if all(told) and [sample.generation for sample in samples].count(_USUAL) == len(told):
        return ''.join(told)
    symbols = ''
    for sample in samples:
        drawn = sample.generation.state not in NOT_DRAWN
        if drawn and not sample.verdict:
            notes.say(NO_VERDICT)
        symbols += (drawn and sample.verdict) or '?'
    return symbols


def _with_texts(about: About, samples: Sequence[Sample], verdicts: str) -> Responded | Sampled:
    first = samples[0]
    texts = [sample.response for sample in samples]
    drawn = [sample for sample in samples if sample.generation.state not in NOT_DRAWN]
    without = [sample for sample in drawn if sample.response is None]
    known = [sample.answer for sample in samples]
    answers = () if any(one is None for one in known) else tuple(one or '' for one in known)
    if drawn and len(without) == len(drawn) and verdicts:
        return Sampled(about, verdicts, answers or None, first.question, first.reference)
    if without:
        raise InputError(
            f'{without[0].place}: {len(without)} of the {len(samples)} samples of {about.uid!r:.60} have no '
            'response, and nothing says why: sample them again, or leave their question out'
        )
    places = tuple((sample.path, sample.row) for sample in samples if sample.path)
    return Responded(
        about,
        first.question,
        first.reference,
        tuple(text or '' for text in texts),
        tuple(sample.generation for sample in samples),
        verdicts,
        places if len(places) == len(samples) else (),
        answers,
    )
