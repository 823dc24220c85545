"""Responses of another program, judged as in a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..answers import FinalAnswer, final_answer
from ..judges.protocol import Judge, Judgement, Verdict
from ..judges.self_test import self_test_block
from ..results.health import Health, remarks_of
from ..results.record import SYMBOLS, undecided_reasons
from ..scoring import Samples, answer_counts, judge_rows
from .rows import About, Counted, Sampled
from .tally import Counts, Tally

LANGUAGE = 'en'
"""Of a question whose row names none: the language in which a judge is asked."""


@dataclass(frozen=True)
class Judged:
    """Questions with a verdict a sample, and what a record needs besides; rows are samples, by question."""

    questions: list[Sampled]
    judge: Judge
    judgements: list[Judgement]
    answers: list[FinalAnswer]
    responses: list[str]

    def counts(self) -> dict[str, int]:
        """Count the responses without a box, without an answer, cut off, and hedged."""
        return answer_counts(self.answers, self.judgements)

    @property
    def remarks(self) -> list[str]:
        """What a reader should know of responses and judge before quoting a score."""
        reasons = undecided_reasons(self.judgements)
        block: dict[str, Any] = {
            'undecided': reasons.total(),
            'undecided_reasons': reasons,
            'samples': len(self.responses),
        }
        counts = self.counts()
        unjudged = sum(judgement.verdict is Verdict.UNJUDGED for judgement in self.judgements)
        health = Health(len(self.responses), counts['truncated'], counts['unanswered'], unjudged, None, None)
        tried = self_test_block(
            self.judge,
            [one.about.uid for one in self.questions],
            [one.question for one in self.questions],
            [one.reference for one in self.questions],
        )
        block |= {**tried, **counts, 'judge': self.judge.identity()}
        return [f'health: {health.line}', *remarks_of(block)]


@dataclass
class Responses:
    """Responses, gathered question by question."""

    abouts: list[About] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    responses: list[tuple[str, ...]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.abouts)

    def add(self, about: About, question: str, reference: str, responses: tuple[str, ...]) -> None:
        """One more question with all of its responses."""
        self.abouts.append(about)
        self.questions.append(question)
        self.references.append(reference)
        self.responses.append(responses)

    def counts(self) -> Counts:
        """Return the counts as if every sample were incorrect: how many there are is known before a verdict.

        Raises:
            InputError: two rows have one uid.
        """
        tally = Tally()
        for about, responses in zip(self.abouts, self.responses, strict=True):
            tally.add(Counted(about, len(responses), 0, 0))
        return tally.counts()

    def judged_by(self, judge: Judge) -> Judged:
        """Judge each different final answer to a question once."""
        samples = self._samples()
        answers = [final_answer(response) for response in samples.response]
        judgements = judge_rows(samples, answers, judge)
        symbols = iter(SYMBOLS[judgement.verdict] for judgement in judgements)
        given = iter(answer.text for answer in answers)
        questions = []
        for about, question, reference, responses in self._all():
            verdicts = ''.join(next(symbols) for _ in responses)
            texts = tuple(next(given) for _ in responses)
            questions.append(Sampled(about, verdicts, texts, question, reference))
        return Judged(questions, judge, judgements, answers, list(samples.response))

    def _samples(self) -> Samples:
        return Samples(
            uid=self._each([about.uid for about in self.abouts]),
            replica=[place for responses in self.responses for place in range(len(responses))],
            question=self._each(self.questions),
            reference=self._each(self.references),
            response=[response for responses in self.responses for response in responses],
            split=self._each([about.split for about in self.abouts]),
            language=self._each([about.language or LANGUAGE for about in self.abouts]),
            problem=self._each([about.problem or about.uid for about in self.abouts]),
        )

    def _each(self, column: Sequence[str]) -> list[str]:
        """The entry of each question once a sample."""
        return [value for value, responses in zip(column, self.responses, strict=True) for _ in responses]

    def _all(self) -> list[tuple[About, str, str, tuple[str, ...]]]:
        return list(zip(self.abouts, self.questions, self.references, self.responses, strict=True))
