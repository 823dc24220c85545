"""Do the n responses to a question look like n independent samples?

An engine that gives every request one seed returns n copies of one response. G-Pass@k of copies says
nothing about stability, so copies are looked for in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def describe_replicas(responses: Sequence[str], rows: NDArray[np.int64]) -> dict[str, Any]:
    """Count copies among the n responses of each question.

    Args:
        responses: n × Q texts.
        rows: (Q, n), the row of each replica of each question.

    Returns:
        `distinct`: the mean number of different responses a question; `identical_questions`: questions
        whose n responses are all one text, which is not blank; `long_repeats`: responses of at least 200
        characters that repeat another replica's word for word; `warnings`: sentences for people.
    """
    questions, n = rows.shape
    distinct = [len({responses[row] for row in question}) for question in rows]
    long_responses = long_repeats = 0
    for question in rows:
        texts = [responses[row] for row in question if len(responses[row]) >= LONG_RESPONSE]
        long_responses += len(texts)
        long_repeats += len(texts) - len(set(texts))
    alike = [question for question, count in zip(rows, distinct, strict=True) if count == 1]
    identical = sum(bool(responses[question[0]].strip()) for question in alike)
    return {
        'distinct': float(np.mean(distinct)),
        'identical_questions': identical,
        'long_repeats': long_repeats,
        'warnings': _warnings(questions, n, identical, long_repeats, long_responses),
    }


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
