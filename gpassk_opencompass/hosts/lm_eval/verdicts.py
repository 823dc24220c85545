"""The n responses to each question of a task judged, and what lm-evaluation-harness is told of a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from math import nan
from typing import Any, NamedTuple

import numpy as np
from loguru import logger

from ...errors import GPassKError
from ...judges.build import build_judge
from ...judges.protocol import Judgement, Verdict
from ...lighteval_settings import Settings
from ...replicas import describe_replicas
from ...responses import read_responses
from ...results.record import SYMBOLS, Measures, unjudged_reasons
from ...scoring import Samples, judge_rows


class Asked(NamedTuple):
    """A question and the n responses to it."""

    uid: str
    question: str
    reference: str
    language: str
    responses: Sequence[str]


class Answers(list[str]):
    """The final answers of the n responses to a question: what the harness logs as filtered responses.

    verdicts: '1', '0' or '?' (unjudged) an answer.
    distinct: how many of the responses are different texts.
    counts: whether the run may have a score; not with more unjudged answers than tolerated.
    """

    def __init__(self, answers: Iterable[str], verdicts: str, distinct: int, counts: bool) -> None:
        super().__init__(answers)
        self.verdicts, self.distinct, self.counts = verdicts, distinct, counts


class Judged(NamedTuple):
    """What became of all questions of a task."""

    answers: list[Answers]
    judge: Mapping[str, Any]
    """Who judged."""


def judge_all(asked: Sequence[Asked], settings: Settings) -> Judged:
    """Judge all responses at once, each different answer to a question one time.

    A judge that fails takes no responses with it: the harness writes them after this. They are unjudged then,
    the scores are NaN, and a warning says how to judge them anew.
    """
    n = settings.n
    texts = [text for one in asked for text in one.responses]
    responses = read_responses(texts)
    samples = Samples(
        replica=list(range(n)) * len(asked),
        response=texts,
        **{name: [getattr(one, name) for one in asked for _ in range(n)] for name in _COLUMNS},
        split=[''] * len(texts),
        problem=[''] * len(texts),
    )
    with closing(build_judge(dict(settings.judge))) as judge:
        identity = judge.identity()
        try:
            judgements = judge_rows(samples, responses, judge)
        except GPassKError as error:
            logger.error(f'the judge failed: {error}')
            judgements = [Judgement(Verdict.UNJUDGED, 'judge failed')] * len(texts)
    counts = _may_count(judgements, settings.unjudged_tolerance)
    for warning in describe_replicas(texts, np.arange(len(texts)).reshape(-1, n))['warnings']:
        logger.warning(warning)
    answers = []
    for at in range(0, len(texts), n):
        own = slice(at, at + n)
        answers.append(
            Answers(
                [response.answer.text for response in responses[own]],
                ''.join(SYMBOLS[judgement.verdict] for judgement in judgements[own]),
                len(set(texts[own])),
                counts,
            )
        )
    return Judged(answers, identity)


_NO_SCORES = (
    'and more than the tolerated {:.1%}, so there are no scores. With --log_samples the responses are kept; '
    'judge them anew: gpassk score samples_….jsonl --as responses'
)

_COLUMNS = ('uid', 'question', 'reference', 'language')


def _may_count(judgements: Sequence[Judgement], tolerance: float) -> bool:
    """Whether few enough are unjudged; what they are is said."""
    reasons: Counter[str] = unjudged_reasons(judgements)
    if not reasons:
        return True
    share = reasons.total() / len(judgements)
    within = share <= tolerance
    becomes = 'and count as incorrect' if within else _NO_SCORES.format(tolerance)
    told = f'{reasons.total()} of {len(judgements)} samples ({share:.1%}) stayed unjudged {dict(reasons)}'
    logger.warning(f'{told} {becomes}')
    return within


def values_of(answers: Answers, measures: Measures) -> dict[str, Any]:
    """Return what the harness is told of one question: a metric → its value, of which it takes the mean.

    `correct` is the list of verdicts (true, false, null where unjudged), so that the log holds them all;
    `unjudged` counts those without one, and `distinct_share` is the share of different responses.
    """
    verdicts = answers.verdicts
    metrics = measures.means(np.array([verdicts.count('1')]))
    return {
        **{name: value if answers.counts else nan for name, value in metrics.items()},
        'correct': [_SAID[symbol] for symbol in verdicts],
        'unjudged': verdicts.count('?'),
        'distinct_share': answers.distinct / len(verdicts),
    }


_SAID = {'1': True, '0': False, '?': None}


def correct_of(questions: Sequence[Sequence[bool | None]]) -> int:
    """Count the correct samples of all questions."""
    return sum(verdict is True for verdicts in questions for verdict in verdicts)


AGGREGATIONS: Mapping[str, Callable[[Any], int] | str] = {'correct': correct_of, 'unjudged': sum}
"""Metric → how its values become one, where that is no mean."""
