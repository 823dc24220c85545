"""Responses and references in, one result record out. Every host (OpenCompass, a file, …) goes through here.

responses ─▶ final answers ─▶ unique pairs ─▶ judge ─▶ verdicts ─▶ counts c of n ─▶ G-Pass@k
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from loguru import logger
from numpy.typing import NDArray

from .answers import FinalAnswer, hedges, normal_form
from .errors import IncompleteError, InputError
from .judges.protocol import HEDGED, Judge, Judgement, Pair, Verdict
from .metrics import DEFAULT_THRESHOLDS
from .replicas import describe_looks
from .responses import Response, read_response
from .results.health import NOT_DRAWN, NOT_TOLD, Generation, undecided_notes
from .results.record import Measures, Questions, unjudged_reasons, versions_with, write_record
from .results.samples import SampleColumns, sample_columns

NO_RESPONSE = 'not drawn'
"""Origin of the judgement on a sample without a response of the model; the reason is its state."""

_MEND_JUDGE = (
    'Mend the judge, or the references that it names, and run the evaluation again (OpenCompass: with -r). '
)
_DRAW_ANEW = (
    'To draw anew those without a response, move their predictions away, with the .seal beside them, and run '
    'the same command with -r. '
)

_OPTIONAL = ('generation', 'seed', 'file', 'row')
"""Columns of samples that may be empty."""


@dataclass(frozen=True)
class Samples:
    """Hold n responses to each of Q questions, column by column: n × Q rows in any order.

    `uid` names a question, `replica` (0 … n − 1) one of its n responses; `problem` is shared by the
    translations of one problem; `split` and `language` name the group of the breakdown. `response` has texts,
    or what `responses.read_response` made of them where nobody keeps the texts. What nobody knows is left
    empty: `generation` is what the engine said of each text, `seed` what it was drawn with, `file` and `row`
    where its text is.
    """

    uid: Sequence[str]
    replica: Sequence[int]
    question: Sequence[str]
    reference: Sequence[str]
    response: Sequence[str | Response]
    split: Sequence[str]
    language: Sequence[str]
    problem: Sequence[str]
    generation: Sequence[Generation] = ()
    seed: Sequence[int | None] = ()
    file: Sequence[str | None] = ()
    row: Sequence[int | None] = ()

    def __post_init__(self) -> None:
        lengths = {field.name: len(getattr(self, field.name)) for field in fields(self)}
        for name in _OPTIONAL:
            if not lengths[name]:
                del lengths[name]
        if len(set(lengths.values())) != 1:
            raise InputError(f'all columns need one entry a row, got lengths {lengths}')

    def __len__(self) -> int:
        return len(self.uid)

    def read(self) -> list[Response]:
        """Return the responses, those that are texts taken apart."""
        told = self.generation or [NOT_TOLD] * len(self)
        return [
            one if isinstance(one, Response) else read_response(one, of_it)
            for one, of_it in zip(self.response, told, strict=True)
        ]


class Scored(NamedTuple):
    """What scoring gives."""

    record: dict[str, Any]
    """What `score` returns."""
    samples: SampleColumns
    """What is known of each sample, for the sample file beside the record."""


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
    return score_samples(
        samples,
        judge,
        n=n,
        k=k,
        thresholds=thresholds,
        unjudged_tolerance=unjudged_tolerance,
        versions=versions,
    ).record


def score_samples(
    samples: Samples,
    judge: Judge,
    *,
    n: int,
    k: int | Sequence[int],
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    unjudged_tolerance: float = 0.01,
    versions: Mapping[str, str] | None = None,
) -> Scored:
    """Return the record of `score`, and what is known of each sample; arguments and errors are its own."""
    measures = Measures(n, k, thresholds)
    questions = _questions_of(samples, n)
    responses = samples.read()
    judgements = judge_rows(samples, responses, judge)
    _refuse_unjudged(samples, judgements, unjudged_tolerance)
    texts = [response.answer.text for response in responses]
    counts = answer_counts(responses, judgements)
    scored = _scored(samples, questions, measures, responses, judgements, texts, judge, versions, counts)
    for note in undecided_notes(scored.record['gpassk']):
        logger.warning(f'{note}; `gpassk.bounds` has each score with all of them right')
    return scored


def score_judged(
    samples: Samples,
    judgements: Sequence[Judgement],
    answers: Sequence[str],
    judge: Judge,
    *,
    n: int,
    k: int | Sequence[int],
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    unjudged_tolerance: float = 0.01,
    versions: Mapping[str, str] | None = None,
) -> Scored:
    """Compute G-Pass@k of verdicts that somebody else gave.

    Args:
        judgements, answers: one a row of `samples`; `answers` are only shown.
        judge: who judged; asked for its identity and statistics alone.

    Raises:
        InputError, IncompleteError: as for `score`.
    """
    lengths = len(samples), len(judgements), len(answers)
    if len(set(lengths)) != 1:
        raise InputError(f'samples, judgements and answers need one entry a row, got lengths {lengths}')
    measures = Measures(n, k, thresholds)
    questions = _questions_of(samples, n)
    responses = samples.read()
    judgements = [judged_if_drawn(*one) for one in zip(responses, judgements, strict=True)]
    _refuse_unjudged(samples, judgements, unjudged_tolerance)
    return _scored(samples, questions, measures, responses, judgements, answers, judge, versions, {})


def _scored(
    samples: Samples,
    questions: Questions,
    measures: Measures,
    responses: Sequence[Response],
    judgements: Sequence[Judgement],
    answers: Sequence[str],
    judge: Judge,
    versions: Mapping[str, str] | None,
    counts: Mapping[str, int],
) -> Scored:
    """Make the record and the columns of samples that were judged; warn where they look like copies."""
    replicas = describe_looks([response.look for response in responses], questions.rows)
    for warning in replicas['warnings']:
        logger.warning(warning)
    generations = [response.generation for response in responses]
    record = write_record(
        questions,
        measures,
        judgements,
        answers,
        judge,
        generations,
        [response.answer.cut_off for response in responses] if counts else (),
        **counts,
        replicas=replicas,
        versions=versions_with(versions or {}),
    )
    told = {
        'response_characters': [response.look.length for response in responses],
        'reasoning_characters': [response.reasoning_characters for response in responses],
        **{name: getattr(samples, name) for name in ('seed', 'file', 'row')},
    }
    columns = sample_columns(questions.uid, questions.rows, judgements, answers, generations, told)
    return Scored(record, columns)


def answer_counts(responses: Sequence[Response], judgements: Sequence[Judgement]) -> dict[str, int]:
    """Count responses without a box, without an answer, and hedged; for the block `gpassk`."""
    answers = [response.answer for response in responses if response.drawn]
    return {
        'unboxed': sum(not answer.boxed for answer in answers),
        'unanswered': sum(not answer.text for answer in answers),
        'hedged': sum(judgement.origin == HEDGED.origin for judgement in judgements),
    }


def judge_rows(samples: Samples, responses: Sequence[Response], judge: Judge) -> list[Judgement]:
    """Return one judgement a row; each distinct (question, reference, answer) is judged once.

    Answers that are equal in normal form are one. The shortest spelling stands for all of them, so that
    the pair does not depend on which replica came first. Of an answer that states more values than its
    reference asks for no judge is asked, whichever it is: it is incorrect, with origin 'hedged'. Neither is
    one asked of a sample that was not drawn: it is unjudged, and its state is the reason.
    """
    # n samples of a question give few answers: each is looked at once.
    stated: dict[_Stated, _Stated] = {}
    rows = [_stated(samples, row, response, stated) for row, response in enumerate(responses)]
    pairs: dict[tuple[str, ...], Pair] = {}
    keys = {one: None if one is None else _pair_key(one) for one in dict.fromkeys(rows)}
    for one, key in keys.items():
        if one is None or key is None:
            continue
        text, known = one.answer.text, pairs.get(key)
        if known is None or (len(text), text) < (len(known.answer), known.answer):
            pairs[key] = Pair(one.question, one.reference, text, one.language, one.tail)
    logger.info(f'{len(samples)} responses, {len(pairs)} different answers to judge')
    judged = dict(zip(pairs, judge.judge(list(pairs.values())), strict=True))
    given = {one: HEDGED if key is None else judged[key] for one, key in keys.items()}
    return [judged_if_drawn(response, given[one]) for response, one in zip(responses, rows, strict=True)]


class _Stated(NamedTuple):
    """What a response states, and to which question."""

    question: str
    reference: str
    language: str
    answer: FinalAnswer
    tail: str


def _stated(samples: Samples, row: int, response: Response, known: dict[_Stated, _Stated]) -> _Stated | None:
    """Return what a response states, equal ones as one object; None of a sample that was not drawn."""
    if not response.drawn:
        return None
    question, reference, language = samples.question[row], samples.reference[row], samples.language[row]
    stated = _Stated(question, reference, language, response.answer, response.tail)
    return known.setdefault(stated, stated)


def judged_if_drawn(response: Response, judgement: Judgement) -> Judgement:
    """Return the judgement; of a sample without a response that it is unjudged, with its state as reason."""
    if response.drawn:
        return judgement
    return Judgement(Verdict.UNJUDGED, NO_RESPONSE, response.generation.state or '')


def _pair_key(stated: _Stated) -> tuple[str, ...] | None:
    """Return what makes two responses one pair; None where nothing has to be asked."""
    answer = stated.answer
    if hedges(answer, stated.reference):
        return None
    given = normal_form(answer.text) if answer.text else '\0' + stated.tail
    return stated.question, stated.reference, stated.language, given


def _questions_of(samples: Samples, n: int) -> Questions:
    """Return the questions in order of appearance; refuse samples that no record can be made of."""
    _check_responses(samples.response)
    uids, rows = _arrange(samples, n)
    _check_questions(samples, rows)
    first = rows[:, 0].tolist()
    return Questions(
        uid=uids,
        question=[samples.question[row] for row in first],
        reference=[samples.reference[row] for row in first],
        problem=[samples.problem[row] for row in first],
        group=[f'{samples.split[row]}_{samples.language[row]}' for row in first],
        rows=rows,
    )


def _check_responses(responses: Sequence[Any]) -> None:
    bad = [row for row, response in enumerate(responses) if not isinstance(response, (str, Response))]
    if bad:
        kind = type(responses[bad[0]]).__name__
        raise InputError(
            f'{len(bad)} of {len(responses)} responses are no text, the first in row {bad[0]} ({kind}). '
            'Each row needs exactly one string: check num_return_sequences and the postprocessors, '
            'and generate the missing rows again.'
        )


def _arrange(samples: Samples, n: int) -> tuple[list[str], NDArray[np.int64]]:
    """Return the uids in order of appearance, and the row of each replica of each question: (Q, n)."""
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
    """Refuse replicas of a uid that are not of one question with one reference."""
    for name in ('question', 'reference', 'split', 'language', 'problem'):
        column = getattr(samples, name)
        for question in rows.tolist():
            values = {column[row] for row in question}
            if len(values) > 1 or not all(isinstance(value, str) for value in values):
                raise InputError(
                    f'{name} of {samples.uid[question[0]]!r}: expected one text for all its replicas, got '
                    f'{sorted(map(repr, values))[:3]}'
                )


def _refuse_unjudged(samples: Samples, judgements: Sequence[Judgement], tolerance: float) -> None:
    reasons = unjudged_reasons(judgements)
    share = reasons.total() / len(judgements)
    if share > tolerance:
        open_rows = (row for row, said in enumerate(judgements) if said.verdict is Verdict.UNJUDGED)
        most = Counter((samples.uid[row], samples.reference[row]) for row in open_rows).most_common(3)
        where = ', '.join(f'{uid!r} ({count}; reference {text!r:.60})' for (uid, text), count in most)
        raise IncompleteError(
            f'{reasons.total()} of {len(judgements)} samples ({share:.1%}) stayed unjudged {dict(reasons)}, '
            f'more than the tolerated {tolerance:.1%}, most of them of {where}; no result was written. '
            + ('' if reasons.keys() <= NOT_DRAWN else _MEND_JUDGE)
            + ('' if reasons.keys().isdisjoint(NOT_DRAWN) else _DRAW_ANEW)
            + 'Or raise unjudged_tolerance.'
        )
