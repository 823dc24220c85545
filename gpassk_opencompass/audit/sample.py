"""The sample of an audit: the answers of a run, which of them are drawn, and the file of their labels."""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..agreement.comparisons import label_of
from ..answers import normal_form
from ..arguments import as_whole
from ..errors import InputError
from ..files import mapping
from ..json_lines import JsonRows
from ..judges.protocol import Pair
from ..metrics import Metric, metric_table
from ..results.groups import parted_group
from ..results.record import digest_of
from ..results.result import Result
from ..unseen import json_text

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Labels = Mapping[str, bool]
"""Name of an answer → whether it is correct."""

CERTAIN = 'empty'
"""The type of responses without an answer: they are incorrect by definition, and nobody is asked."""

UNKNOWN = 'any'
"""The type of all verdicts of a result that does not say which check decided."""

MOST_PAIRS = 1_000_000

_FIELDS = {'id', 'question', 'reference', 'answer', 'label', 'language', 'draw'}
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
    """The verdicts of one result.

    `unaccepted` and `unrejected` are samples of each question that may be wrong or right though nobody can be
    asked: accepted without a final answer; and unjudged, or rejected by a judge that saw the end of a
    response.
    """

    n: int
    table: Mapping[str, Floats]
    """Metric → its value at c = 0 … n, from 0 to 1."""
    correct: Integers
    """c of each question, shape (Q,)."""
    unaccepted: Integers
    unrejected: Integers
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

    def reported(self) -> dict[str, float]:
        """Return each metric as the result has it, from 0 to 1."""
        return {name: float(values[self.correct].mean()) for name, values in self.table.items()}


def read_run(result: Result) -> Run:
    """Return the verdicts of a result.

    Raises:
        InputError: it does not say what was answered.
    """
    if not (result.questions and result.references and result.answers and result.verdicts):
        raise InputError(
            f'{result.path} does not say what was answered: an audit needs `details` with answers and '
            'verdicts, as an evaluation or gpassk score writes them of responses, or of labels with answers'
        )
    answers: list[Answer] = []
    unaccepted, unrejected = np.zeros_like(result.counts), np.zeros_like(result.counts)
    for number, types in enumerate(_types(result)):
        for (normal, verdict, kind), texts in _alike(result, number, types).items():
            if verdict == '?' or not normal:
                doubted = unaccepted if verdict == '1' else unrejected
                doubted[number] += 0 if kind == CERTAIN else len(texts)
            else:
                answers.append(_answer(result, number, normal, Kind(verdict == '1', kind), texts))
    digest = digest_of([result.uids, result.record['details']])[:12]
    return Run(result.n, _table(result), result.counts, unaccepted, unrejected, answers, digest)


def _types(result: Result) -> Iterator[list[str]]:
    """Yield for each question what decided on its samples: `quantity` of `quantity (unit-missing)`."""
    details = result.record['details']
    if not details.get('judged_by'):
        yield from [[UNKNOWN] * result.n] * len(result.counts)
        return
    names = {letter: name.partition(' (')[0] for letter, name in details['judges'].items()}
    yield from ([names[letter] for letter in letters] for letters in details['judged_by'])


def _alike(result: Result, number: int, types: Sequence[str]) -> dict[tuple[str, str, str], list[str]]:
    """Return (normal form, verdict, type) → the spellings of all samples of a question with them."""
    found: dict[tuple[str, str, str], list[str]] = {}
    samples = zip(result.answers[number], result.verdicts[number], types, strict=True)
    for text, verdict, kind in samples:
        found.setdefault((normal_form(text), verdict, kind), []).append(text)
    return found


def _answer(result: Result, number: int, normal: str, kind: Kind, texts: Sequence[str]) -> Answer:
    _, language = parted_group(result.groups[number])
    question, reference = result.questions[number], result.references[number]
    shortest = min(texts, key=lambda text: (len(text), text))
    pair = Pair(question, reference, shortest, language or 'en')
    told = (result.uids[number], question, reference, normal, '1' if kind.accepted else '0', kind.type)
    name = hashlib.sha256('\0'.join(told).encode('utf-8', 'surrogatepass')).hexdigest()[:12]
    return Answer(number, pair, kind, len(texts), name)


def _table(result: Result) -> dict[str, Floats]:
    n, thresholds = result.n, result.block['thresholds'] or (0.5, 0.75, 1.0)
    metrics = dict(metric_table(n, result.block['k'], thresholds)) if n > 1 else {}
    metrics.pop(Metric.mg_pass_at(1).name, None)
    return {'accuracy': np.arange(n + 1) / n, **metrics}


@dataclass(frozen=True)
class Plan:
    """How a sample was drawn; with the run it gives the same sample again."""

    run: str
    """`Run.digest`."""
    seed: int
    pairs: int
    trusted: tuple[str, ...] = ()
    """Types whose verdicts are taken for right."""

    def as_json(self) -> dict[str, Any]:
        """Return the `draw` of a line of the file."""
        return {'run': self.run, 'seed': self.seed, 'pairs': self.pairs, 'trust': list(self.trusted)}


def draw(run: Run, plan: Plan) -> dict[Kind, list[Answer]]:
    """Draw answers of each kind, without replacement, in the order in which they are to be asked.

    The number of each kind is `allocate`'s. Which they are, a hash of the seed and the answer decides: the
    same everywhere, and a plan with more pairs draws the same ones and more.

    Args:
        run: whose answers.
        plan: `pairs` of all kinds together; all there are, where there are fewer.

    Returns:
        An entry a kind that is not trusted, as ordered in `run.kinds`.

    Raises:
        InputError: fewer pairs than kinds, or a trusted type that the run has not.
    """
    kinds = {kind: answers for kind, answers in run.kinds.items() if kind.type not in plan.trusted}
    _check(run, plan, kinds)
    numbers = allocate([[answer.samples for answer in answers] for answers in kinds.values()], plan.pairs)
    return {
        kind: sorted(answers, key=lambda answer: _ticket(plan.seed, answer))[:number]
        for (kind, answers), number in zip(kinds.items(), numbers, strict=True)
    }


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


def _check(run: Run, plan: Plan, kinds: Mapping[Kind, object]) -> None:
    as_whole('--pairs', plan.pairs, 1, MOST_PAIRS)
    known = sorted({kind.type for kind in run.kinds})
    if unknown := [name for name in plan.trusted if name not in known]:
        raise InputError(f'--trust {unknown[0]}: no verdict is of that type; there are {", ".join(known)}')
    if not kinds:
        raise InputError(
            'there is no verdict to ask about: all types are trusted, or no response has an answer'
        )
    if plan.pairs < len(kinds):
        raise InputError(
            f'--pairs {plan.pairs}: there are {len(kinds)} kinds of verdicts; give one each at least'
        )


def _ticket(seed: int, answer: Answer) -> bytes:
    return hashlib.sha256(f'{seed}\0{answer.name}'.encode()).digest()


class Sheet(NamedTuple):
    """A drawn sample and what was said of it."""

    plan: Plan
    drawn: Mapping[Kind, Sequence[Answer]]
    labels: Labels
    notes: Mapping[str, Mapping[str, Any]] = {}
    """Name of an answer → fields of its line that somebody added."""

    @property
    def unlabelled(self) -> list[Answer]:
        """Return what is still to be asked, in the order of the file."""
        return [answer for answer in in_turn(self.drawn) if answer.name not in self.labels]

    def text(self) -> str:
        """Return the file: a line an answer, kinds mixed, so that its first half is half of each kind.

        What the judge said is not in it: who knows it agrees too often.
        """
        drawn = self.plan.as_json()
        return ''.join(json_text(self._line(answer, drawn)) + '\n' for answer in in_turn(self.drawn))

    def _line(self, answer: Answer, drawn: Mapping[str, Any]) -> dict[str, Any]:
        pair = answer.pair
        return {
            'id': answer.name,
            'question': pair.question,
            'reference': pair.reference,
            'answer': pair.answer,
            'label': self.labels.get(answer.name),
            'language': pair.language,
            'draw': drawn,
            **self.notes.get(answer.name, {}),
        }


def new_sheet(run: Run, plan: Plan) -> Sheet:
    """Return a sample without labels; errors are those of `draw`."""
    return Sheet(plan, draw(run, plan), {})


def read_sheet(path: Path, run: Run) -> Sheet:
    """Return the sample of a file and its labels.

    Lines may be missing or stand in another order, and further fields are kept as notes; what was asked and
    answered is taken from the run. A label is null or '' where there is none.

    Raises:
        InputError: the file is none of `gpassk audit`, of another run, or damaged; names the line.
    """
    rows = JsonRows(path)
    sheet: Sheet | None = None
    names: set[str] = set()
    labels: dict[str, bool] = {}
    notes: dict[str, dict[str, Any]] = {}
    for number, row in rows:
        place = rows.place(number)
        plan = _plan(place, row, run)
        if sheet is None:
            sheet = new_sheet(run, plan)
            names = {answer.name for answer in in_turn(sheet.drawn)}
        name = _drawn_name(place, row, plan, sheet, names)
        notes.setdefault(name, {}).update((key, row[key]) for key in row if key not in _FIELDS)
        if row.get('label') not in (None, ''):
            label = label_of(place, row['label'])
            if labels.setdefault(name, label) is not label:
                raise InputError(f'{place}: {name} stands there twice, with both labels; keep one line')
    if sheet is None:
        raise InputError(f'{path} is empty; gpassk audit RUN --write FILE draws a sample anew')
    return sheet._replace(labels=labels, notes=notes)


def _plan(place: str, row: Mapping[str, Any], run: Run) -> Plan:
    told = mapping(row.get('draw'))
    digest, seed, pairs, trusted = (told.get(name) for name in ('run', 'seed', 'pairs', 'trust'))
    sound = isinstance(digest, str) and type(seed) is int and type(pairs) is int and isinstance(trusted, list)
    if not sound or not all(isinstance(name, str) for name in trusted or ()):
        raise InputError(
            f'{place} has no "draw" with run, seed, pairs and trust, as gpassk audit RUN --write FILE writes '
            'it; labels of other pairs are compared with gpassk judge-agreement'
        )
    if digest != run.digest:
        raise InputError(
            f'{place}: drawn from run {digest:.20}, this one is {run.digest}: other answers or other '
            'verdicts. Give the result that it was drawn from, or draw anew with --write'
        )
    return Plan(str(digest), int(seed or 0), int(pairs or 0), tuple(trusted or ()))


def _drawn_name(place: str, row: Mapping[str, Any], plan: Plan, sheet: Sheet, names: set[str]) -> str:
    if plan != sheet.plan:
        raise InputError(f'{place}: its "draw" is not that of the line before; a file holds one sample')
    name = row.get('id')
    if not isinstance(name, str) or name not in names:
        raise InputError(
            f'{place}: id {name!r:.40} is not of the sample; leave the lines as they were written'
        )
    return name
