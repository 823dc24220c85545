"""The different answers of a finished run, each with its verdict: what an audit draws from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..answers import normal_form
from ..errors import InputError
from ..files import mapping
from ..judges.protocol import Pair
from ..metrics import Metric, metric_table
from ..results.record import digest_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CERTAIN = 'empty'
"""The type of responses without an answer: they are incorrect by definition, and nobody is asked."""

UNKNOWN = 'any'
"""The type of all verdicts of a result that does not say which check decided."""

_COLUMNS = ('question', 'reference', 'answers', 'verdicts')


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
    """The same in every run with this answer to this question and this verdict of this kind: 12 hexadecimal
    digits."""


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
    """The same for the same questions, answers and verdicts: 12 hexadecimal digits."""

    @cached_property
    def kinds(self) -> dict[Kind, list[Answer]]:
        """The answers by kind: accepted ones first, then by type."""
        kinds: dict[Kind, list[Answer]] = {}
        for answer in self.answers:
            kinds.setdefault(answer.kind, []).append(answer)
        return dict(sorted(kinds.items(), key=lambda item: (not item[0].accepted, item[0].type)))

    def reported(self) -> dict[str, float]:
        """Return each metric as the result has it, from 0 to 1."""
        return {name: float(values[self.correct].mean()) for name, values in self.table.items()}


def read_run(place: str, record: Mapping[str, Any]) -> Run:
    """Return the verdicts of a result.

    Args:
        place: what the result is called, for messages.
        record: the whole record, `gpassk` already checked.

    Raises:
        InputError: it does not say what was answered, or is damaged.
    """
    block, details = record['gpassk'], record.get('details')
    if not isinstance(details, Mapping) or not details.get('answers') or not details.get('verdicts'):
        raise InputError(
            f'{place} does not say what was answered: an audit needs `details` with answers and verdicts, '
            'as an evaluation or gpassk score writes them of responses, or of labels with answers'
        )
    n, counts = block['n'], block['counts']
    correct = np.array(counts['c'], dtype=np.int64)
    rows = _checked(place, details, n, counts)
    answers: list[Answer] = []
    unaccepted, unrejected = np.zeros_like(correct), np.zeros_like(correct)
    for number, row in enumerate(rows):
        for (normal, verdict, kind), texts in row.samples().items():
            if verdict == '?' or not normal:
                doubted = unaccepted if verdict == '1' else unrejected
                doubted[number] += 0 if kind == CERTAIN else len(texts)
                continue
            pair = Pair(
                row.question, row.reference, min(texts, key=lambda text: (len(text), text)), row.language
            )
            name = _name(row.uid, row.question, row.reference, normal, verdict, kind)
            answers.append(Answer(number, pair, Kind(verdict == '1', kind), len(texts), name))
    return Run(
        n,
        _table(place, block),
        correct,
        unaccepted,
        unrejected,
        answers,
        digest_of([counts['uid'], details])[:12],
    )


class _Row(NamedTuple):
    uid: str
    question: str
    reference: str
    language: str
    answers: Sequence[str]
    verdicts: str
    types: Sequence[str]

    def samples(self) -> dict[tuple[str, str, str], list[str]]:
        """Return (normal form, verdict, type) → the spellings of all samples with them."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for text, verdict, kind in zip(self.answers, self.verdicts, self.types, strict=True):
            found.setdefault((normal_form(text), verdict, kind), []).append(text)
        return found


def _checked(place: str, details: Mapping[str, Any], n: int, counts: Mapping[str, Any]) -> list[_Row]:
    """Return the rows of `details`, each with n answers and the verdicts that were counted."""
    size = len(counts['c'])
    columns = [counts['uid'], counts['group'], *(details.get(name) for name in _COLUMNS)]
    judges = mapping(details.get('judges'))
    columns.append(details.get('judged_by') or [None] * size)
    if not all(isinstance(column, list) and len(column) == size for column in columns):
        raise InputError(f'{place} is damaged: details need {", ".join(_COLUMNS)}, one entry a question')
    rows = []
    for c, entry in zip(counts['c'], zip(*columns, strict=True), strict=True):
        uid, group, question, reference, answers, verdicts, letters = entry
        if not (_texts([question, reference, verdicts]) and _texts(answers) and _counted(verdicts, n, c)):
            raise _unlike(place, uid, f'verdicts of n = {n} samples of which {c} are correct')
        if len(answers) != n or not (letters is None or (isinstance(letters, str) and len(letters) == n)):
            raise _unlike(place, uid, f'{n} answers and as many letters of judged_by')
        types = [UNKNOWN] * n if letters is None else [_type(judges, letter) for letter in letters]
        rows.append(_Row(uid, question, reference, _language(group), answers, verdicts, types))
    return rows


def _texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(text, str) for text in values)


def _counted(verdicts: str, n: int, c: int) -> bool:
    return len(verdicts) == n and verdicts.count('1') == c and set(verdicts) <= set('01?')


def _unlike(place: str, uid: str, expected: str) -> InputError:
    return InputError(f'{place} is damaged: the details of {uid:.60} are not {expected}; evaluate again')


def _language(group: str) -> str:
    split, _, language = group.rpartition('_')
    return language if split else 'en'


def _type(judges: Mapping[str, Any], letter: str) -> str:
    """Return what decided, without its lenient rules: `quantity` of `quantity (unit-missing)`."""
    return str(judges.get(letter, UNKNOWN)).partition(' (')[0]


def _name(*texts: str) -> str:
    return hashlib.sha256('\0'.join(texts).encode('utf-8', 'surrogatepass')).hexdigest()[:12]


def _table(place: str, block: Mapping[str, Any]) -> dict[str, Floats]:
    n, ks, thresholds = block['n'], block['k'], block.get('thresholds') or [0.5, 0.75, 1.0]
    try:
        metrics = dict(metric_table(n, ks, thresholds)) if n > 1 else {}
    except TypeError as error:
        raise InputError(f'{place} is damaged: thresholds = {thresholds!r:.60}: {error}') from error
    metrics.pop(Metric.mg_pass_at(1).name, None)
    return {'accuracy': np.arange(n + 1) / n, **metrics}
