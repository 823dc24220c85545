"""Responses with a verdict each: of a judge that is asked, or those that came with them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..answers import final_answer
from ..errors import InputError
from ..judges.protocol import Judge, Judgement, Pair, Verdict
from ..replicas import describe_looks
from ..responses import Response, read_responses
from ..results.health import Generation, Health, count_not_drawn, cut_off, remarks_of, totals_of
from ..results.record import SYMBOLS, undecided_reasons
from ..scoring import Samples, answer_counts, judge_rows, judged_if_drawn
from .source import Responded, Sampled

LANGUAGE = 'en'
"""The language in which a judge is asked, for a question whose row names none."""


@dataclass(frozen=True)
class Judged:
    """Questions with a verdict a sample, and what a record needs besides; columns have an entry a sample."""

    questions: list[Sampled]
    judge: Judge
    judgements: list[Judgement]
    responses: list[Response]
    places: Sequence[tuple[Path, int]]
    """See `Responded.places`; [] unless they are known of all."""

    def counts(self) -> dict[str, int]:
        """Count the responses without a box, without an answer, and hedged."""
        return answer_counts(self.responses, self.judgements)

    @property
    def generations(self) -> list[Generation]:
        """Return what is known of how each response came to its end."""
        return [response.generation for response in self.responses]

    @property
    def unfinished(self) -> list[bool]:
        """Return whether the text of each response looks cut off."""
        return [response.answer.cut_off for response in self.responses]

    def remarks(self, block: Mapping[str, Any] | None = None) -> list[str]:
        """Return what a reader should know of responses and judge before quoting a score.

        Args:
            block: `gpassk` of the record that was made of them, if there is one.
        """
        generations = self.generations
        known = {**self.counts(), **cut_off(generations, self.unfinished)[1], **totals_of(generations)}
        health = Health(
            samples=len(self.responses),
            truncated=known['truncated'],
            unanswered=known['unanswered'],
            unjudged=sum(judgement.verdict is Verdict.UNJUDGED for judgement in self.judgements),
            unusual=sum(known['states'].values()),
            copies=None,
            output_tokens=known.get('output_tokens'),
            not_drawn=count_not_drawn(known['states']),
        )
        reasons = undecided_reasons(self.judgements)
        told = block or {
            **known,
            **self._replicas(),
            'undecided': reasons.total(),
            'undecided_reasons': reasons,
            'samples': len(self.responses),
            'judge': self.judge.identity(),
        }
        return [f'health: {health.line}', *remarks_of(told)]

    def _replicas(self) -> dict[str, Any]:
        """Return whether the responses to a question look like samples, where each has as many."""
        sizes = {len(one.verdicts) for one in self.questions}
        if len(sizes) != 1:
            return {}
        rows = np.arange(len(self.responses)).reshape(len(self.questions), -1)
        return {'replicas': describe_looks([response.look for response in self.responses], rows)}


class Teller:
    """Who gave the verdicts that came with responses, as a judge that is not asked.

    Args:
        identity: see `Run.judge`.
    """

    def __init__(self, identity: Mapping[str, Any]) -> None:
        self._identity = dict(identity) or {'name': 'labels'}

    def identity(self) -> dict[str, Any]:
        """Return who it was."""
        return self._identity

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Leave all unjudged: its verdicts are there, and it cannot be asked for more."""
        return [Judgement(Verdict.UNJUDGED, 'labels', 'no verdict') for _ in pairs]

    def statistics(self) -> dict[str, int]:
        """Return nothing."""
        return {}

    def close(self) -> None:
        """Do nothing."""


class Gathered:
    """Questions with their responses taken apart; of the texts no more is kept than a judge is shown."""

    def __init__(self) -> None:
        self.questions: list[Responded] = []
        """Without the texts."""
        self.responses: list[Response] = []

    def add(self, question: Responded) -> None:
        """Add a question."""
        self.responses += read_responses(question.responses, question.generations)
        self.questions.append(question._replace(responses=('',) * len(question.responses)))

    def judged(self, judge: Judge, judgements: list[Judgement]) -> Judged:
        """Return all of them with a judgement a response."""
        symbols = iter(SYMBOLS[judgement.verdict] for judgement in judgements)
        given = iter(response.answer.text for response in self.responses)
        questions = []
        for one in self.questions:
            verdicts = ''.join(next(symbols) for _ in one.responses)
            texts = tuple(next(given) for _ in one.responses)
            questions.append(Sampled(one.about, verdicts, texts, one.question, one.reference))
        places = [place for one in self.questions for place in one.places]
        known = places if len(places) == len(self.responses) else []
        return Judged(questions, judge, judgements, self.responses, known)


def judged_by(judge: Judge, asked: Gathered) -> Judged:
    """Return the questions with the judge's verdicts; each different final answer is judged once."""
    return asked.judged(judge, judge_rows(samples_of(asked.questions), asked.responses, judge))


def told_with(teller: Mapping[str, Any], asked: Gathered) -> Judged:
    """Return the questions with the verdicts and answers that came with their responses.

    Args:
        teller: who gave the verdicts, see `Run.judge`.
    """
    judge = Teller(teller)
    name = str(judge.identity().get('name', 'labels'))
    verdicts = {
        '1': Judgement(Verdict.CORRECT, name),
        '0': Judgement(Verdict.INCORRECT, name),
        '?': Judgement(Verdict.UNJUDGED, name, 'no verdict'),
    }
    symbols = ''.join(map(_own_verdicts, asked.questions))
    judgements = [
        judged_if_drawn(response, verdicts[symbol])
        for response, symbol in zip(asked.responses, symbols, strict=True)
    ]
    known = [text for one in asked.questions for text in one.answers or [None] * len(one.responses)]
    asked.responses = [
        response if text is None else response._replace(answer=response.answer._replace(text=text))
        for response, text in zip(asked.responses, known, strict=True)
    ]
    return asked.judged(judge, judgements)


def seen_from(folder: Path, places: Sequence[tuple[Path, int]]) -> dict[str, list[Any]]:
    """Return the columns `file` and `row` of responses, for a sample file in a folder."""
    names = {path: os.path.relpath(path, folder) for path in {path for path, _ in places}}
    return {'file': [names[path] for path, _ in places], 'row': [row for _, row in places]}


def with_own_verdicts(question: Responded) -> Sampled:
    """Return a question with the verdicts that came with its responses, and their final answers.

    Raises:
        InputError: there are not as many verdicts as responses.
    """
    verdicts = _own_verdicts(question)
    answers = question.answers or tuple(final_answer(response).text for response in question.responses)
    return Sampled(question.about, verdicts, answers, question.question, question.reference)


def _own_verdicts(question: Responded) -> str:
    verdicts = question.verdicts or '?' * len(question.responses)
    if len(verdicts) != len(question.responses):
        uid, count = question.about.uid, len(question.responses)
        raise InputError(f'{uid!r:.60} has {len(verdicts)} verdicts and {count} responses')
    return verdicts


def samples_of(asked: Sequence[Responded]) -> Samples:
    """Return the samples of the questions, column by column."""
    rows = [one for one in asked for _ in one.responses]
    return Samples(
        uid=[one.about.uid for one in rows],
        replica=[place for one in asked for place in range(len(one.responses))],
        question=[one.question for one in rows],
        reference=[one.reference for one in rows],
        response=[response for one in asked for response in one.responses],
        split=[one.about.split for one in rows],
        language=[one.about.language or LANGUAGE for one in rows],
        problem=[one.about.problem or one.about.uid for one in rows],
        generation=_generations(asked) if any(one.generations for one in asked) else (),
    )


def _generations(asked: Sequence[Responded]) -> list[Generation]:
    return [told for one in asked for told in one.generations or [Generation()] * len(one.responses)]
