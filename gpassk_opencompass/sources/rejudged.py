"""Old runs judged anew: the new record, the old scores beside it, and what was wrong with them.

The old result is that of OpenCompass's own evaluator; the config, the responses and the judge's replies tell
what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..answers import final_answer, normal_form
from ..errors import InputError
from ..files import read_json
from ..judges.llm.asking import read_verdict
from ..judges.protocol import Judge, Verdict
from ..metrics import DEFAULT_THRESHOLDS
from ..questions.wording import language_of
from ..replicas import describe_replicas
from ..results.read import read
from ..results.record import SYMBOLS
from ..scoring import Scored, score_samples
from ..sweep.computed import fixed_seeds
from .judged import samples_of, seen_from
from .opencompass import EVALUATOR_CLASS, OldRun, read_questions
from .opencompass_questions import Questions, questions_in

COPIES = 'NOT INDEPENDENT'
"""Begins what speaks against n samples being n samples; no judge can mend that."""

_AVERAGE = re.compile(r' \(\d+ runs average\)$')


@dataclass(frozen=True)
class OldScores:
    """The old result; empty where there is none."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    """Metric → percent, of all questions; with the published names."""
    groups: Mapping[str, float] = field(default_factory=dict)
    """`<part>/<metric>` → percent, of parts of the questions."""
    verdicts: tuple[tuple[int, ...], ...] | None = None
    """1 or 0 for each of the n samples of each question; None where the file does not hold them."""
    problem: str = ''
    """Why there are none."""


class Reply(NamedTuple):
    """A reply of the old judge, as the built-in evaluator kept it."""

    prompt: str
    text: str
    accepted: bool
    """Whether the built-in evaluator took it for a yes."""


@dataclass(frozen=True)
class Read:
    """An old run as it was read."""

    run: OldRun
    questions: Questions
    old: OldScores
    findings: list[str]
    data: str | None
    """Where the questions come from; None: from the prompts."""

    @property
    def n(self) -> int:
        """Return the samples a question."""
        return len(self.questions.rows[0].responses)


class Change(NamedTuple):
    """One metric; percent, None where there was no such score."""

    metric: str
    old: float | None
    new: float


class Flips(NamedTuple):
    """Samples whose verdict is another one now."""

    now_right: int
    now_wrong: int


def read_run(run: OldRun, data: str | None = None) -> Read:
    """Read a run; nothing is judged.

    Args:
        data: a folder or hub name of LiveMathBench's questions; None: the questions in the prompts.

    Raises:
        IncompleteError: predictions are missing.
        InputError: a file is damaged, or the questions cannot be told.
    """
    questions = questions_in(run, read_questions(run), data)
    old = _old_scores(run, len(questions.rows[0].responses), len(questions.rows))
    return Read(run, questions, old, _findings(run, questions, old), data)


def rejudged(
    read: Read,
    judge: Judge,
    folder: Path,
    ks: Sequence[int] = (),
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    unjudged_tolerance: float = 0.01,
) -> Scored:
    """Return what `GPassKEvaluator` would have written of these responses.

    Beside the usual entries, `gpassk.rejudged` holds where the responses came from, the old scores, and what
    was found wrong with them. One seed for all samples is told in `gpassk.replicas.warnings`, too.

    Args:
        folder: of the result, from which the sample file names the files of the responses.
        ks, thresholds: of G-Pass@k; without k those of the old config.
        unjudged_tolerance: the largest share of samples that may stay unjudged.

    Raises:
        InputError: k > n.
        IncompleteError: more samples than tolerated stayed unjudged.
    """
    run = read.run
    places = [place for one in read.questions.rows for place in one.places]
    samples = replace(samples_of(read.questions.rows), **seen_from(folder, places))
    scored = score_samples(
        samples,
        judge,
        n=read.n,
        k=list(ks) or run.ks,
        thresholds=thresholds,
        unjudged_tolerance=unjudged_tolerance,
    )
    block = scored.record['gpassk']
    block['replicas']['warnings'][:0] = _seed_warnings(run, read.n)
    block['rejudged'] = {
        'predictions': [str(part) for part in run.parts],
        'created': datetime.now(timezone.utc).isoformat(timespec='microseconds'),
        'questions': read.data or 'prompts',
        'old': dict(read.old.metrics),
        'findings': read.findings,
    }
    return scored


def changes(read: Read, record: Mapping[str, Any]) -> list[Change]:
    """Return each metric of all questions, before and after."""
    names = [name for name in record if '/' not in name and name not in {'details', 'gpassk'}]
    return [Change(name, read.old.metrics.get(name), record[name]) for name in names]


def flips(read: Read, record: Mapping[str, Any]) -> Flips | None:
    """Count the verdicts that are other ones now; None where the old ones are not known."""
    if read.old.verdicts is None:
        return None
    pairs = [
        (old, new)
        for before, after in zip(read.old.verdicts, record['details']['verdicts'], strict=True)
        for old, new in zip(before, after, strict=True)
    ]
    right, wrong = SYMBOLS[Verdict.CORRECT], SYMBOLS[Verdict.INCORRECT]
    return Flips(pairs.count((0, right)), pairs.count((1, wrong)))


def _old_scores(run: OldRun, n: int, questions: int) -> OldScores:
    """Return the old result; without verdicts, where they are not n for each of so many questions."""
    record = _read(run.result)
    if record is None:
        there = 'cannot be read' if run.result.exists() else 'was never written: the evaluation did not end'
        return OldScores(problem=f'results/{run.model}/{run.dataset}.json {there}')
    if 'gpassk' in record:
        return _of_this_package(run.result)
    return OldScores(_numbers(record, ''), _numbers(record, '/'), _verdicts(record, n, questions))


def _of_this_package(path: Path) -> OldScores:
    try:
        record = read(path).record
    except InputError as error:
        return OldScores(problem=str(error))
    return OldScores(_numbers(record, ''), problem='the old result is of this package already')


def _old_replies(run: OldRun) -> dict[int, Reply]:
    """Return the place of a question → the judge's reply; {} without an LLM judge."""
    return {
        int(place): Reply(
            str(entry.get('prompt', '')),
            str(entry.get('response') or ''),
            entry.get('postprocess_response') == 1,
        )
        for place, entry in (_read(run.replies) or {}).items()
        if len(place) < 10 and place.isdecimal() and isinstance(entry, dict)
    }


def _read(path: Path) -> dict[str, Any] | None:
    try:
        record = read_json(path)
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def _numbers(record: Mapping[str, Any], mark: str) -> dict[str, float]:
    """Return the numbers of a result whose names hold '/', as `mark` says; with '' those of all questions."""
    return {
        _AVERAGE.sub('', name): float(value)
        for name, value in record.items()
        if isinstance(value, (int, float)) and -1e9 < value < 1e9 and ('/' in name) == bool(mark)
    }


def _verdicts(record: Mapping[str, Any], n: int, questions: int) -> tuple[tuple[int, ...], ...] | None:
    details = record.get('details')
    entries = details if isinstance(details, list) else []
    found = [_labels(entry, n) for entry in entries]
    known = tuple(labels for labels in found if labels is not None)
    return known if len(known) == len(found) == questions else None


def _labels(entry: object, n: int) -> tuple[int, ...] | None:
    labels = entry.get('correct') if isinstance(entry, dict) else None
    if not isinstance(labels, list) or len(labels) != n or any(label not in (0, 1) for label in labels):
        return None
    return tuple(map(int, labels))


def _findings(run: OldRun, questions: Questions, old: OldScores) -> list[str]:
    """Return sentences for people, the gravest first; nothing is judged for them."""
    replies = _old_replies(run)
    responses = [question.responses for question in questions.rows]
    return [
        *_of_samples(run, responses),
        *_of_verdicts(run, responses, old, replies),
        *_of_replies(questions, replies),
        *_of_result(run, old),
        *_of_questions(questions),
    ]


def _seed_warnings(run: OldRun, n: int) -> list[str]:
    """Return a sentence if the config gives all samples of a question one seed."""
    seeds = ', '.join(f'{name} = {value!r:.40}' for name, value in fixed_seeds(run.model_config).items())
    if n == 1 or not seeds:
        return []
    return [
        f'the config gives all n = {n} samples of a question one fixed seed ({seeds}); an engine that '
        'seeds each request by it draws n copies, of which no judge makes n samples: sample again'
    ]


def _of_samples(run: OldRun, responses: Sequence[Sequence[str]]) -> Iterator[str]:
    """Tell of one seed for all samples, greedy decoding, copies."""
    n = len(responses[0])
    if n == 1:
        return
    rows = np.arange(len(responses) * n).reshape(len(responses), n)
    told = describe_replicas([text for texts in responses for text in texts], rows)
    for warning in [*_seed_warnings(run, n), *told['warnings']]:
        yield f'{COPIES}: {warning}'
    if told['distinct'] < n:
        yield f'{told["distinct"]:.1f} of n = {n} responses to a question are different, on average'


def _of_verdicts(
    run: OldRun, responses: Sequence[Sequence[str]], old: OldScores, replies: Mapping[int, Reply]
) -> Iterator[str]:
    """Tell of the verdict on the first sample that was given to all n of them."""
    size, n = len(responses), len(responses[0])
    if n == 1 or not run.had_llm_judge or not old.metrics or old.problem:
        return
    if 0 < len(replies) < size * n:
        yield (
            f'WRONG SCORES: the old judge was asked {min(len(replies), size)} times for '
            f'{size * n} samples (tmp_judge.json): the verdict on the first sample of a question '
            'counted for all of them'
        )
        return
    different = sum(_answers_differ(texts) for texts in responses)
    if old.verdicts and different and all(len(set(verdicts)) == 1 for verdicts in old.verdicts):
        yield (
            f'WRONG SCORES: all n = {n} samples of a question have one old verdict, in all {size} '
            f'questions, {different} of which have different final answers: as where the verdict on the '
            'first sample counts for all of them'
        )


def _answers_differ(texts: Sequence[str]) -> bool:
    return len({normal_form(final_answer(text).text) for text in texts}) > 1


def _of_replies(questions: Questions, replies: Mapping[int, Reply]) -> Iterator[str]:
    """Tell of replies that were not understood, and of questions that were put in the wrong language."""
    if len(replies) > len(questions.rows):
        yield (
            f'tmp_judge.json holds {len(replies)} replies for {len(questions.rows)} questions: '
            'verdicts of another data set that was evaluated in the same process'
        )
    said = [(read_verdict(reply.text), reply.accepted) for reply in replies.values()]
    missed = said.count((Verdict.CORRECT, False))
    unread = sum(verdict is None for verdict, _ in said)
    if missed:
        yield f'{missed} replies of the old judge say yes, but not as \\boxed{{yes}}, and counted as no'
    if unread:
        yield f'{unread} replies of the old judge hold no verdict and counted as no'
    english = [place for place, row in enumerate(questions.rows) if row.about.language == 'en']
    asked = [replies[place].prompt for place in english if place in replies]
    chinese = sum(language_of(prompt[:20]) == 'cn' for prompt in asked)
    if chinese:
        yield f'{chinese} of {len(english)} English questions were put to the old judge in Chinese'


def _of_result(run: OldRun, old: OldScores) -> Iterator[str]:
    if old.problem:
        yield old.problem if old.metrics else f'no old scores to compare: {old.problem}'
    if not old.metrics and run.evaluator_class == EVALUATOR_CLASS and '_' not in run.dataset:
        yield f'the built-in evaluator raises an IndexError for abbr = {run.dataset!r}, which has no "_"'
    parts = {name.partition('/')[0] for name in old.groups}
    if len(parts) == 1:
        yield f'the old breakdown has one part, {parts.pop()!r}, which repeats the total'
    if run.postprocessors:
        yield (
            f'the old evaluation applied {", ".join(run.postprocessors)} to each response before judging it; '
            'here the final answer is looked for in the response as it is, behind </think> if that is there'
        )


def _of_questions(questions: Questions) -> Iterator[str]:
    if questions.whole_prompts:
        yield (
            f'the question cannot be cut out of {questions.whole_prompts} prompts: a judge that reads '
            'questions is shown the whole prompt; --questions DATA gives the questions themselves'
        )
    if not questions.named:
        yield (
            'contest, language and place of the questions are not known, so they are numbered: this result '
            'cannot be paired with those of new runs; --questions DATA names them'
        )
