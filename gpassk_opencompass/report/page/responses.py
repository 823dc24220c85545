"""Answers and verdicts of every run, packed so that hundreds of runs fit into one file."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...results.result import Result
from .formulas import Formulas

BUDGET = 24 * 2**20
"""Characters that all packed answers may take on the page."""

LONGEST = 400
"""Characters of an answer that are shown."""

STEPS = (None, 16, 8, 4, 2, 1)
"""Different answers a question: all of them, or the largest of these that keeps within the budget."""

Answer = tuple[str, str, str]
"""Text, verdict (1, 0 or ?) and who judged, or why nobody did."""


class Responses(NamedTuple):
    """A chunk a run, None where its result holds no answers; `shown` is the step that was taken."""

    chunks: list[str | None]
    shown: int | None


def pack_responses(results: Sequence[Result], formulas: Formulas) -> Responses:
    """The different answers of each question with how often each was given.

    Where all of them together exceed `BUDGET`, only the most frequent ones of each question stay, as many
    as fit, and no answers at all where not even one a question fits.
    """
    for shown in STEPS:
        chunks: list[str | None] = []
        room = BUDGET
        for result in results:
            chunk = _pack_result(result, shown)
            chunks.append(chunk)
            room -= len(chunk or '')
            if room < 0:
                break
        else:
            _add_formulas(results, formulas)
            return Responses(chunks, shown)
    return Responses([None] * len(results), 0)


def pack(content: object) -> str:
    """JSON, deflated, in base 64; the page inflates it with the browser's own DecompressionStream."""
    text = json.dumps(content, separators=(',', ':'))
    return base64.b64encode(zlib.compress(text.encode('ascii'))).decode('ascii')


def distinct_answers(result: Result) -> list[Counter[Answer]] | None:
    """How often each question got each answer, shortened to `LONGEST`; None where the result does not say."""
    details = result.record.get('details')
    columns = _columns(details, result) if isinstance(details, Mapping) else None
    if columns is None:
        return None
    answers, verdicts, judges = columns
    return [
        Counter(zip(map(_shortened, texts), map(str, given), who, strict=True))
        for texts, given, who in zip(answers, verdicts, judges, strict=True)
    ]


def _pack_result(result: Result, shown: int | None) -> str | None:
    questions = distinct_answers(result)
    if questions is None:
        return None
    return pack([[[*answer, times] for answer, times in counted.most_common(shown)] for counted in questions])


def _columns(details: Mapping[str, Any], result: Result) -> tuple[Any, Any, Any] | None:
    """Answers, verdicts and who gave them, n of each a question; None where they are missing or damaged."""
    answers, verdicts, letters = (details.get(name) for name in ('answers', 'verdicts', 'judged_by'))
    shape = [result.n] * len(result.uids)
    if _lengths(answers) != shape or _lengths(verdicts) != shape:
        return None
    names = details.get('judges')
    if _lengths(letters) != shape or not isinstance(names, Mapping):
        return answers, verdicts, [[''] * result.n] * len(result.uids)
    return answers, verdicts, [[str(names.get(str(letter), '')) for letter in row] for row in letters or []]


def _lengths(column: object) -> list[int] | None:
    if not isinstance(column, list) or not all(isinstance(row, list | str) for row in column):
        return None
    return [len(row) for row in column]


def _shortened(text: object) -> str:
    whole = str(text)
    return whole if len(whole) <= LONGEST else f'{whole[:LONGEST]}… ({len(whole)} characters)'


def _add_formulas(results: Sequence[Result], formulas: Formulas) -> None:
    for text in _texts(results):
        if formulas.full:
            return
        formulas.add(text)


def _texts(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        for counted in distinct_answers(result) or []:
            for text, _, _ in counted:
                yield text
