"""Answers and verdicts of every run, packed so that hundreds of runs fit into one file."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
    """Return the different answers of each question with how often each was given.

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
    """Return JSON, deflated, in base 64; the page inflates it with the browser's DecompressionStream."""
    text = json.dumps(content, separators=(',', ':'))
    return base64.b64encode(zlib.compress(text.encode('ascii'))).decode('ascii')


def distinct_answers(result: Result) -> list[Counter[Answer]] | None:
    """Count how often each question got each answer, shortened to `LONGEST`; None if that is not known."""
    samples = result.samples
    if samples is None:
        return None
    answers, n = samples.column('answer') or (), samples.n
    verdicts = ''.join(samples.verdicts())
    given = list(zip(map(_shortened, answers), verdicts, samples.deciders(), strict=True))
    return [Counter(given[start : start + n]) for start in range(0, len(given), n)]


def _pack_result(result: Result, shown: int | None) -> str | None:
    questions = distinct_answers(result)
    if questions is None:
        return None
    return pack([[[*answer, times] for answer, times in counted.most_common(shown)] for counted in questions])


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f'{text[:LONGEST]}… ({len(text)} characters)'


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
