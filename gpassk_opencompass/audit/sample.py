"""The sample of an audit: the answers of a run, which of them are drawn, and the file of their labels."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ..adapter import Question, questions_of
from ..agreement.comparisons import label_of
from ..answers import normal_form
from ..arguments import as_whole
from ..errors import InputError
from ..json_rows import json_rows
from ..judges.protocol import Pair
from ..record import Result, digest_of
from ..unseen import json_text

Labels = Mapping[str, bool]
"""Name of an answer → whether it is correct."""

UNKNOWN = 'any'
"""The type of all verdicts of a result that does not say which check decided."""

MOST_PAIRS = 1_000_000

_FIELDS = {'id', 'question', 'reference', 'answer', 'label', 'language', 'run'}
"""What `gpassk audit` writes into a line; further fields are notes of whoever filled in the labels."""


class Kind(NamedTuple):
    """What the answers have in common that one sample is drawn from."""

    accepted: bool
    type: str
    """The check that decided, without the lenient rules in brackets."""


class Answer(NamedTuple):
    """One different answer to a question, of equal normal form in all of its samples, and its verdict."""

    question: int
    """The place of the question in the result, from 0."""
    pair: Pair
    kind: Kind
    samples: int
    name: str
    """12 hexadecimal digits, equal in every run that has this answer to this question with this verdict."""


@dataclass(frozen=True)
class Run:
    """The verdicts of one result on which somebody can be asked."""

    questions: int
    n: int
    answers: Sequence[Answer]
    digest: str
    """12 hexadecimal digits, equal where questions, answers and verdicts are."""

    @cached_property
    def kinds(self) -> dict[Kind, list[Answer]]:
        """Return the answers by kind: accepted ones first, then by type."""
        kinds: dict[Kind, list[Answer]] = {}
        for answer in self.answers:
            kinds.setdefault(answer.kind, []).append(answer)
        return dict(sorted(kinds.items(), key=lambda item: (not item[0].accepted, item[0].type)))


def read_run(result: Result) -> Run:
    """Return the verdicts of a result.

    Raises:
        InputError: it does not say what was answered.
    """
    questions = questions_of(result)
    if questions is None:
        raise InputError(
            f'{result.path} does not say what was answered: an audit needs the samples beside it, with '
            'answers and verdicts, as of an evaluation, or gpassk score of responses or labels with answers'
        )
    answers: list[Answer] = []
    for number, asked in enumerate(questions):
        types = [decider.partition(' (')[0] or UNKNOWN for decider in asked.deciders]
        alike: dict[tuple[str, str, str], list[str]] = {}
        for text, verdict, kind in zip(asked.answers, asked.verdicts, types, strict=True):
            alike.setdefault((normal_form(text), verdict, kind), []).append(text)
        answers += [
            _answer(result.counts.uid[number], number, asked, normal, Kind(verdict == '1', kind), texts)
            for (normal, verdict, kind), texts in alike.items()
            if normal and verdict != '?'
        ]
    return Run(len(questions), result.n, answers, digest_of([result.counts.uid, questions])[:12])


def _answer(uid: str, number: int, asked: Question, normal: str, kind: Kind, texts: Sequence[str]) -> Answer:
    question, reference = asked.question, asked.reference
    shortest = min(texts, key=lambda text: (len(text), text))
    pair = Pair(question, reference, shortest, asked.language)
    told = (uid, question, reference, normal, '1' if kind.accepted else '0', kind.type)
    name = sha256('\0'.join(told).encode('utf-8', 'surrogatepass')).hexdigest()[:12]
    return Answer(number, pair, kind, len(texts), name)


def draw(run: Run, pairs: int, seed: int = 0, trusted: Collection[str] = ()) -> dict[Kind, list[Answer]]:
    """Draw answers of each kind, without replacement, in the order in which they are to be asked.

    The number of each kind is `allocate`'s. Which they are, a hash of the seed and the answer decides: the
    same everywhere, and with more pairs the same ones and more.

    Args:
        run: whose answers.
        pairs: of all kinds together; all there are, where there are fewer.
        seed: of the hash.
        trusted: types whose verdicts are taken for right and not drawn.

    Returns:
        An entry a kind that is not trusted, as ordered in `run.kinds`.

    Raises:
        InputError: fewer pairs than kinds, or a trusted type that the run has not.
    """
    check_trusted(run, trusted)
    as_whole('--pairs', pairs, 1, MOST_PAIRS)
    kinds = {kind: answers for kind, answers in run.kinds.items() if kind.type not in trusted}
    if not kinds:
        raise InputError(
            'there is no verdict to ask about: all types are trusted, or no response has an answer'
        )
    if pairs < len(kinds):
        raise InputError(f'--pairs {pairs}: there are {len(kinds)} kinds of verdicts; give one each at least')
    numbers = allocate([[answer.samples for answer in answers] for answers in kinds.values()], pairs)
    return {
        kind: sorted(answers, key=lambda one: sha256(f'{seed}\0{one.name}'.encode()).digest())[:number]
        for (kind, answers), number in zip(kinds.items(), numbers, strict=True)
    }


def check_trusted(run: Run, trusted: Collection[str]) -> None:
    """Raise InputError for a type of which the run has no verdict."""
    known = sorted({kind.type for kind in run.kinds})
    if unknown := [name for name in trusted if name not in known]:
        raise InputError(f'--trust {unknown[0]}: no verdict is of that type; there are {", ".join(known)}')


def in_turn(drawn: Mapping[Kind, Sequence[Answer]]) -> list[Answer]:
    """Return all drawn answers, the kinds mixed, so that the first half of them is half of each kind.

    Within a kind the order stays.
    """
    places = (
        ((place + 0.5) / len(answers), number, answer)
        for number, answers in enumerate(drawn.values())
        for place, answer in enumerate(answers)
    )
    return [answer for _, _, answer in sorted(places, key=lambda item: item[:2])]


def allocate(samples: Sequence[Collection[int]], pairs: int) -> list[int]:
    """Return how many to draw of each stratum: at least 1 each, then as the size times the spread has it.

    Neyman's allocation, where an error is as likely everywhere and then costs as many samples as the answer
    has: in proportion to N·√(mean of samples²). Whole numbers by Wright's rule: one after the other, to the
    stratum with the largest N·√(…)/√(n(n + 1)).

    Args:
        samples: of each stratum, how many samples each of its answers stands for; none is empty.
        pairs: at least one a stratum.

    Sources: Neyman 1934, J. R. Stat. Soc. 97, 558; Wright 2012, Am. Stat. 66, 217.

    >>> allocate([[4, 4, 4, 4], [1, 1, 1, 1], [9]], 6)
    [4, 1, 1]
    """
    weights = [math.sqrt(len(one) * sum(size * size for size in one)) for one in samples]
    numbers = [1] * len(samples)
    queue = [(-weight / math.sqrt(2), place) for place, weight in enumerate(weights)]
    heapq.heapify(queue)
    left = pairs - len(samples)
    while left > 0 and queue:
        _, place = heapq.heappop(queue)
        if numbers[place] < len(samples[place]):
            numbers[place] += 1
            left -= 1
            n = numbers[place]
            heapq.heappush(queue, (-weights[place] / math.sqrt(n * (n + 1)), place))
    return numbers


class Sheet(NamedTuple):
    """A drawn sample and what was said of it."""

    run: str
    """`Run.digest`."""
    drawn: Mapping[Kind, Sequence[Answer]]
    labels: Labels
    notes: Mapping[str, Mapping[str, Any]]
    """Name of an answer → fields of its line that somebody added."""

    @property
    def unlabelled(self) -> list[Answer]:
        """Return what is still to be asked, in the order of the file."""
        return [answer for answer in in_turn(self.drawn) if answer.name not in self.labels]

    def text(self) -> str:
        """Return the file: a line an answer, kinds mixed, so that its first half is half of each kind.

        What the judge said is not in it: who knows it agrees too often.
        """
        return ''.join(json_text(self._line(answer)) + '\n' for answer in in_turn(self.drawn))

    def _line(self, answer: Answer) -> dict[str, Any]:
        pair = answer.pair
        return {
            'id': answer.name,
            'question': pair.question,
            'reference': pair.reference,
            'answer': pair.answer,
            'label': self.labels.get(answer.name),
            'language': pair.language,
            'run': self.run,
            **self.notes.get(answer.name, {}),
        }


def read_sheet(path: Path, run: Run) -> Sheet:
    """Return the sample of a file and its labels.

    Further fields are kept as notes; what was asked and answered is taken from the run. A label is null or ''
    where there is none.

    Raises:
        InputError: the file is none of `gpassk audit`, of another run, or damaged; names the line.
    """
    known = {answer.name: answer for answer in run.answers}
    drawn: dict[str, Answer] = {}
    labels: dict[str, bool] = {}
    notes: dict[str, dict[str, Any]] = {}
    for number, row in json_rows(path):
        place, name = f'{path}:{number}', row.get('id')
        if row.get('run') != run.digest:
            raise InputError(
                f'{place}: drawn from run {row.get("run")!s:.20}, this one is {run.digest}: other answers or '
                'other verdicts. Give the result that it was drawn from, or draw anew with --write; labels '
                'of other pairs are compared with gpassk judge-agreement'
            )
        if not isinstance(name, str) or name not in known:
            raise InputError(
                f'{place}: id {name!r:.40} is not of this run; leave the lines as they were written'
            )
        drawn[name] = known[name]
        notes.setdefault(name, {}).update((key, row[key]) for key in row if key not in _FIELDS)
        if row.get('label') not in (None, ''):
            label = label_of(place, row['label'])
            if labels.setdefault(name, label) is not label:
                raise InputError(f'{place}: {name} stands there twice, with both labels; keep one line')
    if not drawn:
        raise InputError(f'{path} is empty; gpassk audit RUN --write FILE draws a sample anew')
    kinds = {kind: [one for one in drawn.values() if one.kind == kind] for kind in run.kinds}
    return Sheet(run.digest, {kind: answers for kind, answers in kinds.items() if answers}, labels, notes)
