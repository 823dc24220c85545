"""Scored questions as a result record, in the layout of the evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..files import mapping
from ..replicas import describe_looks
from ..results.record import Measures, Questions, counts_record, versions_with, write_record
from ..results.samples import WORDS, SampleColumns, sample_columns
from .source import Counted, Sampled

if TYPE_CHECKING:
    from .judged import Judged

_OF_SAMPLES = (
    *('unjudged_reasons', 'undecided_reasons', 'origins', 'hedged', 'unboxed', 'unanswered'),
    *('truncated', 'truncated_by', 'truncated_known', 'states', 'finish_reasons'),
    *('prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds'),
    *('replicas', 'judge'),
)
"""Entries of `gpassk` that hold for the same samples with the same verdicts, whatever k and τ."""

_A_SAMPLE = ('judged_by', 'judges')
"""Columns of the details of which the same is true, each with what explains its letters."""


def result_record(
    questions: Sequence[Counted | Sampled],
    measures: Measures,
    judge: Mapping[str, Any],
    run: Mapping[str, Any],
    judged: Judged | None = None,
    read: Mapping[str, Any] | None = None,
    known: SampleColumns | None = None,
) -> tuple[dict[str, Any], SampleColumns | None]:
    """Return the record that an evaluation of these questions would have written, so far as is known.

    With it come the columns of its sample file, None where answers or verdicts are not known.

    Args:
        questions: each with `measures.n` samples.
        measures: n, k and τ.
        judge: the identity of who judged.
        run: what the model and the data set are called: `gpassk.run`.
        judged: of responses: what became of each; then the record lacks nothing.
        read: the record from which the questions were read. Where they are all of its questions with all of
            their samples, what it says of the samples stands in the new one, too.
        known: more columns of the samples: of those of `read`, or of the responses.
    """
    columns = _columns(questions, measures.n, run.get('dataset', ''))
    created = datetime.now(timezone.utc).isoformat(timespec='microseconds')
    more: dict[str, Any] = {
        'run': {**run, 'host': 'file', 'created': created},
        'versions': versions_with({}),
    }
    if judged is not None:
        return _of_judged(judged, columns, measures, known or {}, more)
    counts = np.array([_counts(question) for question in questions])
    undecided = _undecided(questions, measures.n, read['gpassk']) if read else None
    record = counts_record(columns, measures, counts[:, 0], counts[:, 1], judge, undecided, **more)
    sampled = [question for question in questions if isinstance(question, Sampled)]
    samples: dict[str, Any] | None = None
    if len(sampled) == len(questions):
        record['details']['verdicts'] = [question.verdicts for question in sampled]
        if all(question.answers is not None for question in sampled):
            record['details']['answers'] = [list(question.answers or ()) for question in sampled]
            samples = {
                'uid': [uid for uid in columns.uid for _ in range(measures.n)],
                'replica': list(range(measures.n)) * len(sampled),
                'answer': [answer for question in sampled for answer in question.answers or ()],
                'verdict': [WORDS[symbol] for question in sampled for symbol in question.verdicts],
            }
    if read is not None and (limited := read['gpassk'].get('limited')):
        record['gpassk']['limited'] = limited  # whatever of it is scored
    if read is not None and _of_same_samples(read, record):
        _carry_over(read, record)
        samples = samples and {**(known or {}), **samples}
    return record, samples


def _of_same_samples(read: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    old, new = read['gpassk'], record['gpassk']
    return bool((old['n'], old['counts']['uid']) == (new['n'], new['counts']['uid']))


def _undecided(
    questions: Sequence[Counted | Sampled], n: int, read: Mapping[str, Any]
) -> NDArray[np.int64] | None:
    """Return how many samples of each question the judge gave up on; None where it is not known of all n."""
    counts = read['counts']
    if n != read['n'] or 'undecided' not in counts:
        return None
    known = dict(zip(counts['uid'], counts['undecided'], strict=True))
    return np.array([known[one.about.uid] for one in questions])


def _carry_over(read: Mapping[str, Any], record: dict[str, Any]) -> None:
    """Add what the record that was read says of its samples, which are those of the new one."""
    old, new = read['gpassk'], record['gpassk']
    new |= {name: old[name] for name in _OF_SAMPLES if name in old}
    if old['data']['sha256'] == new['data']['sha256']:
        new['data'] = old['data']
    if 'provenance' in old:  # without its moment: the new record is younger than the samples
        new['provenance'] = {name: value for name, value in old['provenance'].items() if name != 'created'}
    details = mapping(read.get('details'))
    record['details'] |= {name: details[name] for name in _A_SAMPLE if name in details}
    if 'completed' in details and all(old[name] == new[name] for name in ('k', 'thresholds')):
        record['details']['completed'] = details['completed']


def _of_judged(
    judged: Judged,
    columns: Questions,
    measures: Measures,
    known: SampleColumns,
    more: Mapping[str, Any],
) -> tuple[dict[str, Any], SampleColumns]:
    answers = [response.answer.text for response in judged.responses]
    generations = judged.generations
    record = write_record(
        columns,
        measures,
        judged.judgements,
        answers,
        judged.judge,
        generations,
        judged.unfinished,
        **judged.counts(),
        replicas=describe_looks([response.look for response in judged.responses], columns.rows),
        **more,
    )
    told: SampleColumns = {
        'response_characters': [response.look.length for response in judged.responses],
        'reasoning_characters': [response.reasoning_characters for response in judged.responses],
        **known,
    }
    return record, sample_columns(columns.uid, columns.rows, judged.judgements, answers, generations, told)


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
