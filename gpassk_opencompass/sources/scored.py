"""A run of a source scored: its questions chosen, judged where they are responses, counted and summed up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..answers import final_answer
from ..errors import InputError
from ..judges.protocol import Judge, Judgement, Verdict
from ..judges.self_test import self_test_block
from ..replicas import describe_replicas
from ..responses import Response, read_responses
from ..results.health import Generation, Health, count_not_drawn, cut_off, remarks_of, totals_of
from ..results.record import SYMBOLS, Measures, undecided_reasons
from ..results.samples import SampleColumns
from ..scoring import Samples, answer_counts, judge_rows
from ..votes import Ballot
from .ballots import ballot_of
from .selection import Selection
from .source import Counted, Responded, Run, Sampled
from .summary import Line, Settings, check_sizes, summarise
from .tally import Counts, Tally, Unjudged
from .written import result_record

LANGUAGE = 'en'
"""The language in which a judge is asked, for a question whose row names none."""

USUAL_KS = (4, 8, 16)
"""The k of a run that was made for none, as far as its questions have as many samples."""


@dataclass(frozen=True)
class Choices:
    """What of a run is scored, and how.

    Args:
        kind: as what, see `Run.kinds`; None: as the only thing that it is.
        selection: the questions and samples that count.
        settings: the metrics; without ks, those that the run was made for, or the usual ones.
        unjudged: what becomes of samples that nobody judged.
        keep: keep the questions, for a record.
    """

    kind: str | None
    selection: Selection
    settings: Settings
    unjudged: Unjudged
    keep: bool


@dataclass(frozen=True)
class Scored:
    """A scored run."""

    run: Run
    kind: str
    counts: Counts
    ballots: list[Ballot]
    """The answers to each question; [] where no metric needs them."""
    kept: list[Counted | Sampled]
    settings: Settings
    lines: list[Line]
    judged: Judged | None
    """What became of each response."""

    @property
    def judge(self) -> Mapping[str, Any]:
        """Return the identity of who judged; {} where the files do not say."""
        return self.judged.judge.identity() if self.judged else self.run.judge

    def record(
        self, names: Mapping[str, str], labelled_by: str | None, folder: Path
    ) -> tuple[dict[str, Any], SampleColumns | None]:
        """Return the result record, and the columns of its sample file as far as samples are known.

        Args:
            names: of the model and the data set.
            labelled_by: who judged, where somebody says so.
            folder: of the result.
        """
        [n] = {kind.n for kind in self.counts.kinds}
        return result_record(
            self.kept,
            Measures(n, self.settings.ks, self.settings.thresholds),
            {'name': labelled_by} if labelled_by else self.judge or {'name': self.kind},
            {**names, **({'settings': dict(self.run.settings)} if self.run.settings else {})},
            self.judged,
            self.run.record,
            self._known_samples(folder),
        )

    def _known_samples(self, folder: Path) -> SampleColumns | None:
        if self.judged:
            return seen_from(folder, self.judged.places)
        return self.run.samples_for(folder) if self.run.samples_for else None

    def remarks(self, record: Mapping[str, Any] | None) -> Sequence[str]:
        """Return what a reader should know before quoting a score; `record` saves trying references twice."""
        if self.judged:
            return self.judged.remarks(record and record['gpassk'])
        known = self.run.record
        if known is None or self.counts.samples == known['gpassk']['n'] * len(
            known['gpassk']['counts']['uid']
        ):
            return self.run.remarks
        return [f'of all samples of the result, not of this part: {remark}' for remark in self.run.remarks]


def score_run(run: Run, kind: str, choices: Choices, judge: Callable[[], Judge]) -> Scored:
    """Score a run.

    Args:
        kind: `run.kind(choices.kind)`.
        judge: makes the judge of responses, once it is known that what it will say can be scored.

    Raises:
        InputError: the files are damaged, or do not hold what is chosen.
    """
    judged = _judged(run, choices, judge) if kind == 'responses' else None
    tally = Tally()
    ballots: list[Ballot] = []
    kept: list[Counted | Sampled] = []
    answers = bool(choices.settings.majorities) or 'agreement' in choices.settings.also
    for question in judged.questions if judged else _labelled(run, choices.selection):
        tally.add(question)
        if answers:
            ballots.append(ballot_of(question, choices.unjudged))
        if choices.keep:
            kept.append(question)
    counts = tally.counts(choices.unjudged)
    if judged is None:
        choices.selection.check(len(counts))
    settings = _settings(choices.settings, run.ks, counts)
    lines = summarise(counts, ballots, settings)
    return Scored(run, kind, counts, ballots, kept, settings, lines, judged)


def _settings(chosen: Settings, known: Sequence[int], counts: Counts) -> Settings:
    least = chosen.size or min(counts.sizes)
    ks = chosen.ks or [k for k in known or USUAL_KS if k <= least] or [max(least, 1)]
    return replace(chosen, ks=tuple(ks))


def _labelled(run: Run, selection: Selection) -> Iterator[Counted | Sampled]:
    for question in selection.of(run):
        yield with_own_verdicts(question) if isinstance(question, Responded) else question


def _judged(run: Run, choices: Choices, make_judge: Callable[[], Judge]) -> Judged:
    tally = Tally()
    asked = []
    for question in choices.selection.of(run):
        if not isinstance(question, Responded):
            kind = type(question).__name__
            raise InputError(f'{question.about.uid!r:.60} is a {kind} question in a run of responses')
        asked.append(question)
        tally.add(question)
    choices.selection.check(len(asked))
    unjudged = tally.counts()
    check_sizes(unjudged, _settings(choices.settings, run.ks, unjudged))
    return judged_by(make_judge(), asked)


@dataclass(frozen=True)
class Judged:
    """Questions with a verdict a sample, and what a record needs besides; columns have an entry a sample."""

    questions: list[Sampled]
    judge: Judge
    judgements: list[Judgement]
    responses: list[Response]
    texts: Sequence[str]
    """Of the responses, as they are."""
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
    def looks(self) -> list[bool]:
        """Return whether the text of each response looks cut off."""
        return [response.answer.cut_off for response in self.responses]

    def remarks(self, block: Mapping[str, Any] | None = None) -> list[str]:
        """Return what a reader should know of responses and judge before quoting a score.

        Args:
            block: `gpassk` of the record that was made of them, so that references are not tried twice.
        """
        generations = self.generations
        known = {**self.counts(), **cut_off(generations, self.looks)[1], **totals_of(generations)}
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
            **self_test_block(
                self.judge,
                [one.about.uid for one in self.questions],
                [one.question for one in self.questions],
                [one.reference for one in self.questions],
            ),
        }
        return [f'health: {health.line}', *remarks_of(told)]

    def _replicas(self) -> dict[str, Any]:
        """Return whether the responses to a question look like samples, where each has as many."""
        sizes = {len(one.verdicts) for one in self.questions}
        if len(sizes) != 1:
            return {}
        rows = np.arange(len(self.texts)).reshape(len(self.questions), -1)
        return {'replicas': describe_replicas(self.texts, rows)}


def judged_by(judge: Judge, asked: Sequence[Responded]) -> Judged:
    """Return the questions with the judge's verdicts; each different final answer is judged once."""
    samples = samples_of(asked)
    responses = read_responses(samples.response, samples.generation)
    judgements = judge_rows(samples, responses, judge)
    symbols = iter(SYMBOLS[judgement.verdict] for judgement in judgements)
    given = iter(response.answer.text for response in responses)
    questions = []
    for one in asked:
        verdicts = ''.join(next(symbols) for _ in one.responses)
        texts = tuple(next(given) for _ in one.responses)
        questions.append(Sampled(one.about, verdicts, texts, one.question, one.reference))
    places = [place for one in asked for place in one.places]
    known = places if len(places) == len(responses) else []
    return Judged(questions, judge, judgements, responses, samples.response, known)


def seen_from(folder: Path, places: Sequence[tuple[Path, int]]) -> dict[str, list[Any]]:
    """Return the columns `file` and `row` of responses, for a sample file in a folder."""
    names = {path: os.path.relpath(path, folder) for path in {path for path, _ in places}}
    return {'file': [names[path] for path, _ in places], 'row': [row for _, row in places]}


def with_own_verdicts(question: Responded) -> Sampled:
    """Return a question with the verdicts that came with its responses, and their final answers.

    Raises:
        InputError: there are not as many verdicts as responses.
    """
    verdicts = question.verdicts or '?' * len(question.responses)
    if len(verdicts) != len(question.responses):
        uid, count = question.about.uid, len(question.responses)
        raise InputError(f'{uid!r:.60} has {len(verdicts)} verdicts and {count} responses')
    answers = question.answers or tuple(final_answer(response).text for response in question.responses)
    return Sampled(question.about, verdicts, answers, question.question, question.reference)


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
