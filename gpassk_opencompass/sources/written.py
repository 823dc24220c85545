"""Scored questions as a result record, in the layout of the evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files import mapping
from ..replicas import describe_replicas
from ..results.record import Measures, Questions, counts_record, versions_with, write_record
from .source import Counted, Sampled

if TYPE_CHECKING:
    from .scored import Judged

_OF_SAMPLES = (
    *('unjudged_reasons', 'undecided_reasons', 'origins', 'hedged', 'unboxed', 'unanswered'),
    *('truncated', 'truncated_by', 'finish_reasons', 'prompt_tokens', 'output_tokens', 'seconds'),
    *('replicas', 'self_test', 'judge'),
)
"""Entries of `gpassk` that hold for the same samples with the same verdicts, whatever k and τ."""

_A_SAMPLE = ('judged_by', 'judges', 'finish_reasons', 'finishes', 'output_tokens')
"""Columns of the details of which the same is true, each with what explains its letters."""


def result_record(
    questions: Sequence[Counted | Sampled],
    measures: Measures,
    judge: Mapping[str, Any],
    run: Mapping[str, Any],
    judged: Judged | None = None,
    undecided: Mapping[str, int] | None = None,
    read: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the record that an evaluation of these questions would have written, so far as is known.

    Args:
        questions: each with `measures.n` samples.
        measures: n, k and τ.
        judge: the identity of who judged.
        run: what the model and the data set are called: `gpassk.run`.
        judged: of responses: what became of each; then the record lacks nothing.
        undecided: how many samples of each uid the judge gave up on, if that is known.
        read: the record from which the questions were read. Where they are all of its questions with all of
            their samples, what it says of the samples stands in the new one, too.
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
    if len(sampled) == len(questions):
        record['details']['verdicts'] = [question.verdicts for question in sampled]
        if all(question.answers is not None for question in sampled):
            record['details']['answers'] = [list(question.answers or ()) for question in sampled]
    if read is not None:
        _carry_over(read, record)
    return record


def _carry_over(read: Mapping[str, Any], record: dict[str, Any]) -> None:
    """Add what the record that was read says of its samples, if those of the new one are the same."""
    old, new = read['gpassk'], record['gpassk']
    if (old['n'], old['counts']['uid']) != (new['n'], new['counts']['uid']):
        return
    new |= {name: old[name] for name in _OF_SAMPLES if name in old}
    if old['data']['sha256'] == new['data']['sha256']:
        new['data'] = old['data']
    if 'provenance' in old:  # without its moment: the new record is younger than the samples
        new['provenance'] = {name: value for name, value in old['provenance'].items() if name != 'created'}
    details = mapping(read.get('details'))
    record['details'] |= {name: details[name] for name in _A_SAMPLE if name in details}


def _of_judged(
    judged: Judged, columns: Questions, measures: Measures, more: Mapping[str, Any]
) -> dict[str, Any]:
    answers = judged.answers
    return write_record(
        columns,
        measures,
        judged.judgements,
        [answer.text for answer in answers],
        judged.judge,
        judged.generations,
        **judged.counts(),
        replicas=describe_replicas(judged.responses, columns.rows),
        **more,
    )


def _columns(questions: Sequence[Counted | Sampled], n: int, dataset: str) -> Questions:
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
    """Return a name that is another one in another data set: a bare number (a line, an index) is in each."""
    return f'{dataset}/{name}' if name.isdecimal() and dataset else name


def _counts(question: Counted | Sampled) -> tuple[int, int]:
    if isinstance(question, Sampled):
        return question.verdicts.count('1'), question.verdicts.count('?')
    return question.c, question.unjudged
