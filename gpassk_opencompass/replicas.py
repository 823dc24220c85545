"""Do the n responses to a question look like n independent samples?

An engine that gives every request one seed returns n copies of one response. G-Pass@k of copies says
nothing about stability, so copies are looked for in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LONG_RESPONSE = 200
"""Characters from which on two independent samples seldom are equal word for word."""

IDENTICAL_QUESTIONS = 0.9
"""Share of questions with n times one text from which on a warning is due. Short answers may agree by
themselves: at a low temperature, for half of the questions of an easy set."""

TOLERATED_REPEATS = 0.5
"""Share of long responses that repeat another one from which on a warning is due. Independent samples of easy
questions do repeat: one in ten of 800 real responses with 8 samples a question."""


class Look(NamedTuple):
    """What of a text tells whether it is a copy of another one."""

    key: int
    """Equal for equal texts; of a million pairs of other ones, equal for one in 18 million million."""
    length: int
    """In characters."""
    blank: bool

    @classmethod
    def of(cls, text: str) -> Look:
        """Look at a text."""
        # Not cls(…), which takes three times as long: there may be millions.
        return tuple.__new__(cls, (hash(text), len(text), not text or text.isspace()))


class Replicas:
    """Counts copies among the n responses of each question, a question at a time.

    Args:
        n: samples a question.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._questions = self._distinct = self._identical = self._repeats = self._long = 0

    def add(self, texts: Sequence[Look]) -> None:
        """Add the n responses to a question."""
        distinct = len({key for key, _, _ in texts})
        long = [key for key, length, _ in texts if length >= LONG_RESPONSE]
        self._questions += 1
        self._distinct += distinct
        self._identical += distinct == 1 and not texts[0].blank
        self._long += len(long)
        self._repeats += len(long) - len(set(long))

    def describe(self) -> dict[str, Any]:
        """Describe the copies among the responses to all questions that were added.

        Returns:
            `distinct`: the mean number of different responses a question; `identical_questions`: questions
            whose n responses are all one text, which is not blank; `long_repeats`: responses of at least 200
            characters that repeat another replica's word for word; `warnings`: sentences for people.
        """
        return {
            'distinct': self._distinct / self._questions,
            'identical_questions': self._identical,
            'long_repeats': self._repeats,
            'warnings': _warnings(self._questions, self._n, self._identical, self._repeats, self._long),
        }


def describe_looks(looks: Sequence[Look], rows: NDArray[np.int64]) -> dict[str, Any]:
    """Describe the copies among the n responses of each question, see `Replicas.describe`.

    Args:
        looks: of n × Q responses.
        rows: (Q, n), the row of each replica of each question.
    """
    replicas = Replicas(rows.shape[1])
    for question in rows.tolist():
        replicas.add([looks[row] for row in question])
    return replicas.describe()


def _warnings(questions: int, n: int, identical: int, long_repeats: int, long_responses: int) -> list[str]:
    if n == 1:
        return []
    if identical >= IDENTICAL_QUESTIONS * questions:
        return [
            f'all n = {n} responses are one text for {identical} of {questions} questions: the samples are '
            'copies (one fixed seed, or greedy decoding) and G-Pass@k says little about stability'
        ]
    if long_repeats and long_repeats >= TOLERATED_REPEATS * long_responses:
        return [
            f'{long_repeats} of {long_responses} long responses repeat another replica of the same question '
            'word for word: the samples look like copies; check the seeds of the engine'
        ]
    return []
