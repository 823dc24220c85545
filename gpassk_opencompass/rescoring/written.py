"""Rescored questions as a result record, in the layout of the evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np

from ..replicas import describe_replicas
from ..results.record import Measures, Questions, counts_record, versions_with, write_record
from ..results.samples import WORDS, SampleColumns, sample_columns
from .judged import Judged
from .rows import Question, Sampled


def result_record(
    questions: Sequence[Question],
    measures: Measures,
    judge: Mapping[str, Any],
    run: Mapping[str, str],
    judged: Judged | None = None,
    undecided: Mapping[str, int] | None = None,
) -> tuple[dict[str, Any], SampleColumns | None]:
    """Return the record that an evaluation of these questions would have written, so far as is known.

    With it come the columns of its sample file, None where answers or verdicts are not known.

    Args:
        questions: each with `measures.n` samples.
        measures: n, k and τ.
        judge: the identity of who judged.
        run: what the model and the data set are called: `gpassk.run`.
        judged: of responses: what became of each; then the record lacks nothing.
        undecided: how many samples of each uid the judge gave up on, if that is known.
    """
    columns = _columns(questions, measures.n, run.get('dataset', ''))
    created = datetime.now(timezone.utc).isoformat(timespec='microseconds')
    more: dict[str, Any] = {
        'run': {**run, 'host': 'file', 'created': created},
        'versions': versions_with({}),
    }
    if judged is not None:
        return _of_judged(judged, columns, measures, more)
    counts = np.array([_counts(question) for question in questions])
    gave_up = None if undecided is None else np.array([undecided[one.about.uid] for one in questions])
    record = counts_record(columns, measures, counts[:, 0], counts[:, 1], judge, gave_up, **more)
    sampled = [question for question in questions if isinstance(question, Sampled)]
    if len(sampled) < len(questions):
        return record, None
    record['details']['verdicts'] = [question.verdicts for question in sampled]
    if any(question.answers is None for question in sampled):
        return record, None
    record['details']['answers'] = [list(question.answers or ()) for question in sampled]
    return record, {
        'uid': [uid for uid in columns.uid for _ in range(measures.n)],
        'replica': list(range(measures.n)) * len(sampled),
        'answer': [answer for question in sampled for answer in question.answers or ()],
        'verdict': [WORDS[symbol] for question in sampled for symbol in question.verdicts],
    }


def _of_judged(
    judged: Judged, columns: Questions, measures: Measures, more: Mapping[str, Any]
) -> tuple[dict[str, Any], SampleColumns]:
    answers = [answer.text for answer in judged.answers]
    record = write_record(
        columns,
        measures,
        judged.judgements,
        answers,
        judged.judge,
        **judged.counts(),
        replicas=describe_replicas(judged.responses, columns.rows),
        **more,
    )
    lengths = {'response_characters': [len(response) for response in judged.responses]}
    return record, sample_columns(columns.uid, columns.rows, judged.judgements, answers, told=lengths)


def _columns(questions: Sequence[Question], n: int, dataset: str) -> Questions:
    abouts = [question.about for question in questions]
    sampled = [question if isinstance(question, Sampled) else None for question in questions]
    return Questions(
        uid=[_distinct(about.uid, dataset) for about in abouts],
        question=[question.question if question else '' for question in sampled],
        reference=[question.reference if question else '' for question in sampled],
        problem=[
            _distinct(about.uid if about.problem is None else about.problem, dataset) for about in abouts
        ],
        group=[about.group for about in abouts],
        rows=np.arange(len(abouts) * n).reshape(len(abouts), n),
    )


def _distinct(name: str, dataset: str) -> str:
    """A bare number (a line, an index) names a question of this data set alone, not the one of another."""
    return f'{dataset}/{name}' if name.isdecimal() and dataset else name


def _counts(question: Question) -> tuple[int, int]:
    if isinstance(question, Sampled):
        return question.verdicts.count('1'), question.verdicts.count('?')
    return question.c, question.unjudged
