"""Responses and references in, one result record out. Every host (OpenCompass, a file, …) goes through here.

responses ─▶ final answers ─▶ unique pairs ─▶ judge ─▶ verdicts ─▶ counts c of n ─▶ G-Pass@k
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from loguru import logger
from numpy.typing import NDArray

from .answers import FinalAnswer, final_answer, normal_form
from .errors import IncompleteError, InputError
from .judges.protocol import Judge, Judgement, Pair, Verdict
from .metrics import DEFAULT_THRESHOLDS, metric_means, metric_table, mg_pass_name
from .replicas import describe_replicas
from .version import __version__

SCHEMA = 1
"""Version of the record's layout; raised when a reader would have to change."""

TAIL_LENGTH = 2000
"""Characters of a response without a final answer that a judge gets to see."""

Measure = Callable[[NDArray[np.int64]], dict[str, float]]

_SYMBOLS = {Verdict.CORRECT: '1', Verdict.INCORRECT: '0', Verdict.UNJUDGED: '?'}


@dataclass(frozen=True)
class Samples:
    """n responses to each of Q questions, column by column: n × Q rows in any order.

    `uid` names a question, `replica` (0 … n − 1) one of its n responses; `problem` is shared by the
    translations of one problem; `split` and `language` name the group of the breakdown.
    """

    uid: Sequence[str]
    replica: Sequence[int]
    question: Sequence[str]
    reference: Sequence[str]
    response: Sequence[str]
    split: Sequence[str]
    language: Sequence[str]
    problem: Sequence[str]

    def __post_init__(self) -> None:
        lengths = {field.name: len(getattr(self, field.name)) for field in fields(self)}
        if len(set(lengths.values())) != 1:
            raise InputError(f'all columns need one entry a row, got lengths {lengths}')

    def __len__(self) -> int:
        return len(self.uid)


def score(
    samples: Samples,
    judge: Judge,
    *,
    n: int,
    k: int | Sequence[int],
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    unjudged_tolerance: float = 0.01,
    versions: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Judge all samples and compute G-Pass@k.

    Args:
        samples: n × Q rows.
        judge: judges each distinct (question, reference, answer) once.
        n: samples a question; every uid must come with the replicas 0 … n − 1.
        k: one k or several, each 1 ≤ k ≤ n.
        thresholds: the τ of G-Pass@k_τ, each in [0, 1].
        unjudged_tolerance: the largest share of samples that may stay unjudged.
        versions: of the host's packages, kept in the record.

    Returns:
        A JSON-able record: percentages under the published keys (`accuracy`, `pass@k`, `G-Pass@k_τ`,
        `mG-Pass@k`), the same for each `{split}_{language}/`, `details` (a column each, a question an
        entry) and `gpassk` (counts, bounds, warnings, judge, versions, signature).

    Raises:
        InputError: a response that is no string, or settings that cannot be met.
        IncompleteError: rows are missing, or more samples than tolerated stayed unjudged.
    """
    ks = [k] if isinstance(k, int) else sorted(set(k))
    measure = partial(_percentages, metric_table(n, ks, thresholds), n)
    _check_responses(samples.response)
    uids, rows = _arrange(samples, n)
    _check_questions(samples, rows)
    answers = [final_answer(response) for response in samples.response]
    judgements = judge_rows(samples, answers, judge)
    reasons = Counter(j.reason or j.origin for j in judgements if j.verdict is Verdict.UNJUDGED)
    _refuse_unjudged(reasons, len(judgements), unjudged_tolerance)

    verdicts = np.array([_SYMBOLS[judgement.verdict] for judgement in judgements])[rows]
    correct, unjudged = (verdicts == '1').sum(1), (verdicts == '?').sum(1)
    first = rows[:, 0]
    groups = np.array([f'{samples.split[row]}_{samples.language[row]}' for row in first])
    replicas = describe_replicas(samples.response, rows)
    for warning in replicas['warnings']:
        logger.warning(warning)
    settings = {'n': n, 'k': ks, 'thresholds': [float(threshold) for threshold in thresholds]}
    data = {'questions': len(uids), 'sha256': _data_hash(samples, first)}
    return {
        **measure(correct),
        **_breakdown(measure, correct, groups),
        'details': {
            'uid': uids,
            'group': groups.tolist(),
            'reference': [samples.reference[row] for row in first],
            'answers': [[answers[row].text for row in question] for question in rows],
            'verdicts': [''.join(question) for question in verdicts],
            'c': correct.tolist(),
        },
        'gpassk': {
            'schema': SCHEMA,
            **settings,
            'samples': len(samples),
            'data': data,
            'counts': {
                'uid': uids,
                'problem': [samples.problem[row] for row in first],
                'group': groups.tolist(),
                'c': correct.tolist(),
                'unjudged': unjudged.tolist(),
            },
            'unjudged': reasons.total(),
            'unjudged_reasons': dict(reasons),
            **_tally(answers, judgements),
            'bounds': _bounds(measure, correct, unjudged),
            'replicas': replicas,
            'judge': {**judge.identity(), 'statistics': dict(judge.statistics())},
            'versions': {
                'gpassk_opencompass': __version__,
                'python': platform.python_version(),
                **(versions or {}),
            },
            'signature': _signature(settings, judge, data),
        },
    }


def judge_rows(samples: Samples, answers: Sequence[FinalAnswer], judge: Judge) -> list[Judgement]:
    """One judgement a row; each distinct (question, reference, answer) is judged once.

    Answers that are equal in normal form are one. The shortest spelling stands for all of them, so that
    the pair does not depend on which replica came first.
    """
    keys = [_pair_key(samples, row, answer) for row, answer in enumerate(answers)]
    pairs: dict[tuple[str, ...], Pair] = {}
    for row, (key, answer) in enumerate(zip(keys, answers, strict=True)):
        known = pairs.get(key)
        if known is None or (len(answer.text), answer.text) < (len(known.answer), known.answer):
            pairs[key] = Pair(
                samples.question[row],
                samples.reference[row],
                answer.text,
                samples.language[row],
                '' if answer.text else samples.response[row][-TAIL_LENGTH:],
            )
    logger.info(f'{len(samples)} responses, {len(pairs)} different answers to judge')
    judged = dict(zip(pairs, judge.judge(list(pairs.values())), strict=True))
    return [judged[key] for key in keys]


def _pair_key(samples: Samples, row: int, answer: FinalAnswer) -> tuple[str, ...]:
    given = normal_form(answer.text) if answer.text else '\0' + samples.response[row][-TAIL_LENGTH:]
    return samples.question[row], samples.reference[row], samples.language[row], given


def _check_responses(responses: Sequence[Any]) -> None:
    bad = [row for row, response in enumerate(responses) if not isinstance(response, str)]
    if bad:
        kind = type(responses[bad[0]]).__name__
        raise InputError(
            f'{len(bad)} of {len(responses)} responses are no text, the first in row {bad[0]} ({kind}). '
            'Each row needs exactly one string: check num_return_sequences and the postprocessors, '
            'and generate the missing rows again.'
        )


def _arrange(samples: Samples, n: int) -> tuple[list[str], NDArray[np.int64]]:
    """The uids in order of appearance and, question by question, the row of each replica: (Q, n)."""
    number = {uid: position for position, uid in enumerate(dict.fromkeys(samples.uid))}
    if not number:
        raise InputError('there is nothing to score: 0 rows')
    rows = np.full((len(number), n), -1, dtype=np.int64)
    for row, (uid, replica) in enumerate(zip(samples.uid, samples.replica, strict=True)):
        if not 0 <= replica < n:
            raise InputError(f'replica {replica} of {uid!r} in row {row}: n = {n} allows 0 … {n - 1}')
        if rows[number[uid], replica] >= 0:
            raise InputError(f'replica {replica} of {uid!r} occurs twice, second in row {row}')
        rows[number[uid], replica] = row
    if (missing := int((rows < 0).sum())) > 0:
        raise IncompleteError(
            f'{missing} of {rows.size} samples are missing ({len(number)} questions × n = {n}); '
            'run the inference again to complete them'
        )
    return list(number), rows


def _check_questions(samples: Samples, rows: NDArray[np.int64]) -> None:
    """All replicas of a uid must be of one question with one reference."""
    for name in ('question', 'reference', 'split', 'language', 'problem'):
        column = getattr(samples, name)
        for question in rows.tolist():
            values = {column[row] for row in question}
            if len(values) > 1 or not all(isinstance(value, str) for value in values):
                raise InputError(
                    f'{name} of {samples.uid[question[0]]!r}: expected one text for all its replicas, got '
                    f'{sorted(map(repr, values))[:3]}'
                )


def _refuse_unjudged(reasons: Counter[str], samples: int, tolerance: float) -> None:
    share = reasons.total() / samples
    if share > tolerance:
        raise IncompleteError(
            f'{reasons.total()} of {samples} samples ({share:.1%}) stayed unjudged {dict(reasons)}, '
            f'more than the tolerated {tolerance:.1%}; no result was written. Mend the judge and run the '
            'evaluation again (OpenCompass: with -r), or raise unjudged_tolerance.'
        )


def _percentages(
    table: Mapping[str, NDArray[np.float64]], n: int, correct: NDArray[np.int64]
) -> dict[str, float]:
    """Means over the questions, in percent. With n = 1 only the accuracy means anything.

    mG-Pass@1 is left out: its published sum is empty, and its 0 would read like a result.
    """
    means = {'accuracy': float(correct.mean()) / n, **(metric_means(table, correct) if n > 1 else {})}
    return {key: 100.0 * mean for key, mean in means.items() if key != mg_pass_name(1)}


def _breakdown(measure: Measure, correct: NDArray[np.int64], groups: NDArray[np.str_]) -> dict[str, float]:
    return {
        f'{group}/{key}': value
        for group in dict.fromkeys(groups.tolist())
        for key, value in measure(correct[groups == group]).items()
    }


def _bounds(
    measure: Measure, correct: NDArray[np.int64], unjudged: NDArray[np.int64]
) -> dict[str, list[float]]:
    """Each metric with all unjudged samples wrong and with all of them right."""
    low, high = measure(correct), measure(correct + unjudged)
    return {key: [low[key], high[key]] for key in low}


def _tally(answers: Sequence[FinalAnswer], judgements: Sequence[Judgement]) -> dict[str, Any]:
    return {
        'unboxed': sum(not answer.boxed for answer in answers),
        'unanswered': sum(not answer.text for answer in answers),
        'truncated': sum(answer.cut_off for answer in answers),
        'origins': dict(Counter(judgement.origin for judgement in judgements)),
    }


def _data_hash(samples: Samples, first: NDArray[np.int64]) -> str:
    """Of uids, questions and references: two runs with one hash were asked the same."""
    digest = hashlib.sha256()
    for row in first:
        for text in (samples.uid[row], samples.question[row], samples.reference[row]):
            data = text.encode('utf-8', 'surrogatepass')
            digest.update(len(data).to_bytes(8, 'big') + data)
    return digest.hexdigest()


def _signature(settings: Mapping[str, Any], judge: Judge, data: Mapping[str, Any]) -> str:
    """One line that says how a number came about; runs may be compared where it is the same."""
    identity = judge.identity()
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:12]
    parts = {
        'n': settings['n'],
        'k': '_'.join(map(str, settings['k'])),
        'tau': '_'.join(map(str, settings['thresholds'])),
        'judge': '-'.join(str(identity[part]) for part in ('name', 'model') if part in identity),
        'rules': digest,
        'questions': data['questions'],
        'data': data['sha256'][:12],
        'version': __version__,
    }
    return 'G-Pass@k|' + '|'.join(f'{key}:{value}' for key, value in parts.items())
