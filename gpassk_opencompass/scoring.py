"""Samples and a judge in, one result out. Every host (OpenCompass, Lighteval, a file, …) goes through here.

responses ─▶ final answers ─▶ unique pairs ─▶ judge ─▶ verdicts ─▶ counts c of n ─▶ G-Pass@k
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from loguru import logger

from .answers import FinalAnswer, Parted, answer_of, hedges, normal_form, part
from .errors import IncompleteError, InputError
from .health import HEDGED, NOT_DRAWN, cut_off_rows, health_of, state_of
from .judges.protocol import TAIL_LENGTH, Judge, Judgement, Pair, Verdict
from .metrics import DEFAULT_THRESHOLDS, metric_names
from .questions.wording import language_of
from .record import Asked, Completed, Names, Result, data_of, means, signature_of, versions_with
from .samples import Counts, Samples

USUAL_KS = (4, 8, 16)
"""The k where nobody says another, as far as the questions have as many samples."""

NO_REFERENCE = 'no reference'
"""Why a sample is unjudged whose question has no reference answer."""

MOST_LEFT_OUT = 0.1
"""Share of questions whose reference cannot be read above which there is no result."""

_SHOWN = 3
_NO_RESPONSE = 'not drawn'
_TAIL_TOKENS = re.compile(r'(?:\s*(?:<\|[A-Za-z0-9_ ]{1,40}\|>|</s>|<eos>|<end_of_turn>))+\s*$')
_TAGS = re.compile(r'<answer>(.*?)</answer>\s*$', re.DOTALL | re.IGNORECASE)
_MISSING = frozenset(['', 'nan', 'none', 'null', 'n/a', '<na>'])


@dataclass(frozen=True)
class AnswerRule:
    """How the final answer is taken out of a response, where the usual rules do not find it.

    Args:
        pattern: of the answer, with a group for it; its last match counts.
        whole: the response is the answer.
    """

    pattern: str = ''
    whole: bool = False

    def __post_init__(self) -> None:
        try:
            groups = re.compile(self.pattern).groups
        except re.error as error:
            raise InputError(
                f'--answer-pattern {self.pattern!r} is no regular expression: {error}'
            ) from error
        if self.pattern and (self.whole or groups > 1):
            raise InputError(
                f'--answer-pattern {self.pattern!r}: expected at most one group, and no --answer-is-response'
            )

    def answer(self, parted: Parted) -> FinalAnswer:
        """Return the final answer of a response."""
        if self.whole:
            said = parted.said.strip()
            return FinalAnswer(said, boxed=False, cut_off=False)
        if self.pattern:
            found = list(re.finditer(self.pattern, parted.said, re.MULTILINE))
            text = (found[-1][1] if found[-1].re.groups else found[-1][0]).strip() if found else ''
            return FinalAnswer(text, boxed=False, cut_off=False)
        return answer_of(parted)


USUAL = AnswerRule()


def score(
    samples: Samples,
    judge: Judge | Mapping[str, Any],
    *,
    n: int | None = None,
    k: int | Sequence[int] | None = None,
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    unjudged_tolerance: float = 0.01,
    answers: AnswerRule | None = USUAL,
    versions: Mapping[str, str] | None = None,
    names: Names | None = None,
) -> Result:
    """Judge all samples and compute G-Pass@k.

    Args:
        samples: of Q questions, in any order.
        judge: judges each distinct (question, reference, answer) once; or the identity of who gave the
            verdicts that the samples have.
        n: samples a question, of which each must have the replicas 0 … n − 1; None: those that there are, and
            a question counts in the metrics of each k up to its own number.
        k: one k or several, at most n; None: 4, 8 and 16, as far as there are as many samples.
        thresholds: the τ of G-Pass@k_τ, each in [0, 1].
        unjudged_tolerance: the largest share of samples that may stay unjudged.
        answers: how the final answer is taken out of a response; None: not at all, where verdicts are there.
        versions: of the host's packages, kept in the result.
        names: what the run is called.

    Returns:
        The result, with its samples: each with answer and verdict. A question without a reference that the
        judge can read is not counted, and named in `left_out`.

    Raises:
        InputError: samples that contradict each other, or settings that cannot be met.
        IncompleteError: samples are missing, or more than tolerated stayed unjudged.
    """
    samples.check()
    if n is not None:
        _refuse_missing(samples, n)
    if isinstance(judge, Mapping):
        samples, said, identity = _given(samples, answers), [], dict(judge)
    else:
        samples, said = judge_samples(samples, judge, answers or USUAL)
        identity = dict(judge.identity())
    left_out = _left_out(samples) if said else {}
    _refuse_unjudged(samples, left_out, unjudged_tolerance)
    result = _result(samples, said, left_out, k, thresholds, identity, names, versions)
    if not isinstance(judge, Mapping) and (statistics := dict(judge.statistics())):
        result.judge['statistics'] = statistics
    for text in [*result.health.copies_warnings(), *result.health.undecided_notes()]:
        logger.warning(text)
    return result.with_samples(samples)


def score_counts(
    counts: Counts,
    judge: Mapping[str, Any],
    *,
    k: Sequence[int] | None = None,
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    names: Names | None = None,
) -> Result:
    """Compute G-Pass@k where only counts are known; arguments and errors as of `score`."""
    from .health import Health

    size = int(counts.n.sum())
    health = Health(samples=size, unjudged=int(counts.unjudged.sum()))
    texts = [''] * len(counts)
    return _measured(counts, health, (texts, texts), k, thresholds, dict(judge), names, {})


def _result(
    samples: Samples,
    said: Sequence[FinalAnswer | None],
    left_out: Mapping[str, Sequence[str]],
    k: int | Sequence[int] | None,
    thresholds: Sequence[float],
    identity: dict[str, Any],
    names: Names | None,
    versions: Mapping[str, str] | None,
) -> Result:
    """Return the result of judged samples, without the questions that are left out."""
    dropped = {uid for uids in left_out.values() for uid in uids}
    rows = [row for row, uid in enumerate(samples['uid']) if uid not in dropped]
    counted = samples.select(rows) if dropped else samples
    health = health_of(counted, [said[row] for row in rows] if said else ())
    first = [rows[0] for rows in counted.by_question().values()]
    question, reference = counted.each('question'), counted.each('reference')
    texts = [question[row] or '' for row in first], [reference[row] or '' for row in first]
    result = _measured(counted.counts(), health, texts, k, thresholds, identity, names, versions or {})
    result.left_out = {reason: list(uids) for reason, uids in left_out.items()}
    if left_out:
        result.remarks = [*result.remarks, *left_out_remarks(left_out, len(first))]
    cut = cut_off_rows(counted, [said[row] for row in rows] if said else ())
    if cut and any(cut):
        result.completed = _completed(counted, cut, result.ks, thresholds)
    return result


def _measured(
    counts: Counts,
    health: Any,
    texts: tuple[Sequence[str], Sequence[str]],
    k: int | Sequence[int] | None,
    thresholds: Sequence[float],
    identity: dict[str, Any],
    names: Names | None,
    versions: Mapping[str, str],
) -> Result:
    """Return the result of counts."""
    most = int(counts.n.max())
    ks = _ks(k, most)
    metric_names(ks, thresholds)  # refuses what is no τ
    low = means(counts, ks, thresholds)
    high = means(_all_right(counts), ks, thresholds)
    data = data_of(counts.uid, *texts)
    sizes = sorted(set(counts.n.tolist()))
    undecided = None if counts.undecided is None else counts.undecided.tolist()
    return Result(
        run=names or Names(),
        n=most,
        ks=ks,
        thresholds=[float(one) for one in thresholds],
        counts=Asked(
            uid=list(counts.uid),
            problem=list(counts.problem),
            group=list(counts.group),
            c=counts.c.tolist(),
            unjudged=counts.unjudged.tolist(),
            undecided=undecided,
            n=counts.n.tolist() if len(sizes) > 1 else None,
        ),
        data=data,
        bounds={key: [100.0 * low[key], 100.0 * high[key]] for key in low},
        health=health,
        judge=identity,
        versions=versions_with(versions),
        signature=signature_of(most, ks, thresholds, identity, data),
        remarks=_of_unequal(counts, ks) if len(sizes) > 1 else [],
    )


def _ks(k: int | Sequence[int] | None, most: int) -> list[int]:
    given = [k] if isinstance(k, int) else sorted(set(k or ()))
    ks = given or [one for one in USUAL_KS if one <= most] or [most]
    if wrong := [one for one in ks if isinstance(one, bool) or not 1 <= one <= most]:
        raise InputError(f'k = {wrong[0]}: expected whole numbers from 1 to n = {most}')
    return ks


def _all_right(counts: Counts) -> Counts:
    """Return the counts with all samples in doubt correct."""
    doubt = counts.unjudged if counts.undecided is None else counts.unjudged + counts.undecided
    return Counts(counts.uid, counts.problem, counts.group, counts.n, counts.c + doubt, 0 * doubt)


def _of_unequal(counts: Counts, ks: Sequence[int]) -> list[str]:
    """Return what to say of questions with different numbers of samples."""
    low, high = int(counts.n.min()), int(counts.n.max())
    short = {k: int((counts.n < k).sum()) for k in ks}
    lacking = [f'k = {k} leaves out {count} of {len(counts)}' for k, count in short.items() if count]
    told = (
        f'questions have from {low} to {high} samples: each counts in the metrics of k up to its own number'
    )
    return [f'{told} ({"; ".join(lacking)})' if lacking else told]


def _completed(
    samples: Samples, cut: Sequence[bool], ks: Sequence[int], thresholds: Sequence[float]
) -> Completed:
    """Return the scores over samples that were drawn and not cut off, and the questions that these are of."""
    states = samples.each('state')
    whole = [row for row, one in enumerate(cut) if not one and states[row] not in NOT_DRAWN]
    if not whole:
        return Completed(samples=0, scores={}, questions={})
    counts = samples.select(whole).counts()
    own = [k for k in ks if k <= counts.n.max()]
    found = means(counts, own or [1], thresholds)
    sizes = {key: int(''.join(re.findall(r'@(\d+)', key)) or 1) for key in found}
    return Completed(
        samples=len(whole),
        scores={key: 100.0 * value for key, value in sorted(found.items())},
        questions={key: int((counts.n >= size).sum()) for key, size in sorted(sizes.items())},
    )


# References and answers


def reference_of(text: str | None) -> str:
    r"""Return the reference answer in a text as data sets ship it; '' where there is none.

    >>> [reference_of(text) for text in ('So 3 + 5.\n#### 8', "['7']", '<answer>7</answer>', '7 <|im_end|>')]
    ['8', '7', '7', '7']
    >>> reference_of('nan')
    ''
    """
    if text is None or text.strip().lower() in _MISSING:
        return ''
    text = _TAIL_TOKENS.sub('', text)
    if (tagged := _TAGS.search(text)) is not None:
        text = tagged[1]
    before, mark, behind = text.rpartition('####')
    if mark and behind.strip() and '\n' not in behind.strip() and (not before or before[-1].isspace()):
        text = behind
    listed = re.fullmatch(r"""\s*\[\s*(['"]).*\1\s*\]\s*""", text, re.DOTALL)
    if listed:
        try:
            values = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            values = []
        if len(values) == 1 and isinstance(values[0], str):
            text = values[0]
    return text.strip() if text.strip().lower() not in _MISSING else ''


class _Stated(NamedTuple):
    """What a response states, and to which question."""

    question: str
    reference: str
    language: str
    answer: FinalAnswer
    tail: str


def judge_samples(
    samples: Samples, judge: Judge, rule: AnswerRule = USUAL
) -> tuple[Samples, list[FinalAnswer | None]]:
    """Judge responses; each distinct (question, reference, answer) once.

    Answers that are equal in normal form are one. The shortest spelling stands for all of them, so that the
    pair does not depend on which replica came first. Of an answer that states more values than its reference
    asks for
    no judge is asked, whichever it is: it is incorrect, judged by 'hedged'. Neither is one asked of a sample
        that
    was not drawn: it is unjudged, and its state is the reason.

    Returns:
        The samples with answers, verdicts and states; and the final answer of each, None where none was
        drawn.
    """
    stated, states = _stated(samples, rule)
    pairs: dict[tuple[str, ...], Pair] = {}
    keys: dict[_Stated, tuple[str, ...] | None] = {}
    for one in dict.fromkeys(filter(None, stated)):
        text = one.answer.text
        asks = bool(one.reference) and not hedges(one.answer, one.reference)
        given = normal_form(text) if text else '\0' + one.tail
        keys[one] = key = (one.question, one.reference, one.language, given) if asks else None
        if key is not None and ((known := pairs.get(key)) is None or _shorter(text, known.answer)):
            pairs[key] = Pair(one.question, one.reference, text, one.language, one.tail)
    logger.info(f'{len(samples)} responses, {len(pairs)} different answers to judge')
    judged = dict(zip(pairs, judge.judge(list(pairs.values())), strict=True))
    hedged, missing = Judgement(Verdict.INCORRECT, HEDGED), Judgement(Verdict.UNJUDGED, 'empty', NO_REFERENCE)
    judgements = [
        Judgement(Verdict.UNJUDGED, _NO_RESPONSE, state or '')
        if one is None
        else judged[key]
        if (key := keys[one])
        else hedged
        if one.reference
        else missing
        for one, state in zip(stated, states, strict=True)
    ]
    told = samples.replace(
        answer=[one.answer.text if one else '' for one in stated],
        verdict=[one.verdict.value for one in judgements],
        judged_by=[one.origin or None for one in judgements],
        why=[
            one.reason or (one.origin if one.verdict is Verdict.UNJUDGED else '') or None
            for one in judgements
        ],
        reply_key=_unless_empty([one.reply_key or None for one in judgements]),
        state=_unless_empty(states),
    )
    return told, [one.answer if one else None for one in stated]


def _shorter(text: str, other: str) -> bool:
    return (len(text), text) < (len(other), other)


def _unless_empty(column: list[Any]) -> list[Any] | None:
    return column if any(one is not None for one in column) else None


def _stated(samples: Samples, rule: AnswerRule) -> tuple[list[_Stated | None], list[str | None]]:
    """Return what each response states, equal ones as one object, and its state; None where none was
    drawn."""
    question, reference, language = (samples.each(name) for name in ('question', 'reference', 'language'))
    response, thought = samples.each('response'), samples.each('thought')
    reasons, states = samples.each('finish_reason'), list(samples.each('state'))
    read: dict[str | None, str] = {}
    known: dict[_Stated, _Stated] = {}
    stated: list[_Stated | None] = []
    for row, text in enumerate(response):
        if states[row] in NOT_DRAWN:
            stated.append(None)
            continue
        if not isinstance(text, (str, type(None))):
            raise InputError(
                f'{samples.place(row)}: the response is a {type(text).__name__}; expected one text a row: '
                'check num_return_sequences and the postprocessors, and generate the missing rows again'
            )
        said = text or ''
        parted = part(said)
        answer = rule.answer(parted)
        states[row] = states[row] or state_of(said, parted.said, thought[row], reasons[row])
        if reference[row] not in read:
            read[reference[row]] = reference_of(reference[row])
        asked = question[row] or ''
        one = _Stated(
            asked,
            read[reference[row]],
            language[row] or language_of(asked),
            answer,
            '' if answer.text else parted.said[-TAIL_LENGTH:],
        )
        stated.append(known.setdefault(one, one))
    return stated, states


def _given(samples: Samples, rule: AnswerRule | None) -> Samples:
    """Return samples whose verdicts somebody else gave, with final answers to show where there are none."""
    verdicts, states = samples.each('verdict'), samples.each('state')
    told = [
        'unjudged' if state in NOT_DRAWN else one or 'unjudged'
        for one, state in zip(verdicts, states, strict=True)
    ]
    why = list(samples.each('why'))
    for row, one in enumerate(told):
        if one == 'unjudged' and not why[row]:
            why[row] = states[row] if states[row] in NOT_DRAWN else 'no verdict'
    samples = samples.replace(verdict=told, why=_unless_empty(why))
    if rule and 'answer' not in samples and 'response' in samples:
        found = {text: rule.answer(part(text or '')).text for text in set(samples['response'])}
        samples = samples.replace(answer=[found[text] for text in samples['response']])
    return samples


# What is refused


def _refuse_missing(samples: Samples, n: int) -> None:
    """Raise unless each question has the replicas 0 … n − 1."""
    replicas = samples['replica']
    row = next((row for row, one in enumerate(replicas) if not 0 <= one < n), None)
    if row is not None:
        raise InputError(
            f'replica {replicas[row]} of {samples["uid"][row]!r} in row {row}: n = {n} allows 0 … {n - 1}'
        )
    questions = len(set(samples['uid']))
    if missing := questions * n - len(samples):
        raise IncompleteError(
            f'{missing} of {questions * n} samples are missing ({questions} questions × n = {n}); '
            'run the inference again to complete them'
        )


def _left_out(samples: Samples) -> dict[str, list[str]]:
    """Return the questions of which no judge can read the reference, by the reason.

    Raises:
        IncompleteError: they are more than `MOST_LEFT_OUT`.
    """
    why, verdict = samples.each('why'), samples['verdict']
    found: dict[str, list[str]] = {}
    questions = samples.by_question()
    for uid, rows in questions.items():
        reasons = {why[row] or '' for row in rows if why[row] not in NOT_DRAWN}
        unread = {reason for reason in reasons if 'reference' in reason}
        if unread and unread == reasons and all(verdict[row] == 'unjudged' for row in rows):
            found.setdefault(min(unread), []).append(uid)
    count = sum(map(len, found.values()))
    if count > MOST_LEFT_OUT * len(questions):
        reference = samples.each('reference')
        shown = [f'{uid!r} ({reference[questions[uid][0]]!r:.60})' for each in found.values() for uid in each]
        raise IncompleteError(
            f'{count} of {len(questions)} questions have no reference that the judge can read '
            f'({", ".join(found)}), more than {MOST_LEFT_OUT:.0%}: {", ".join(shown[:_SHOWN])}; no result. '
            'Give them references, or say where they are: --field reference=…'
        )
    return found


def left_out_remarks(left_out: Mapping[str, Sequence[str]], counted: int) -> list[str]:
    """Return a sentence for each reason for which questions are not counted."""
    return [
        f'{len(uids)} of {counted + sum(map(len, left_out.values()))} questions are not counted ({reason}): '
        + ', '.join(map(repr, uids[:_SHOWN]))
        + (', …' if len(uids) > _SHOWN else '')
        for reason, uids in left_out.items()
    ]


def _refuse_unjudged(samples: Samples, left_out: Mapping[str, Sequence[str]], tolerance: float) -> None:
    dropped = {uid for uids in left_out.values() for uid in uids}
    uids, why, verdict = samples['uid'], samples.each('why'), samples['verdict']
    rows = [row for row, one in enumerate(verdict) if one == 'unjudged' and uids[row] not in dropped]
    size = sum(uid not in dropped for uid in uids) if dropped else len(samples)
    if len(rows) <= tolerance * size:
        return
    reasons = Counter(why[row] or 'no verdict' for row in rows)
    reference = samples.each('reference')
    most = Counter((uids[row], reference[row]) for row in rows).most_common(_SHOWN)
    where = ', '.join(f'{uid!r} ({count}; reference {text!r:.60})' for (uid, text), count in most)
    advice = [
        'Mend the judge, or the references that it names, and evaluate again (OpenCompass: with -r).'
        if not reasons.keys() <= NOT_DRAWN
        else '',
        'To draw anew those without a response, move their predictions away, with the .seal beside them, and '
        'run the same command with -r.'
        if not reasons.keys().isdisjoint(NOT_DRAWN)
        else '',
        'Or raise unjudged_tolerance.',
    ]
    raise IncompleteError(
        f'{len(rows)} of {size} samples ({len(rows) / size:.1%}) stayed unjudged {dict(reasons)}, '
        f'more than the tolerated {tolerance:.1%}, most of them of {where}; no result was written. '
        + ' '.join(filter(None, advice))
    )


def without_answers(result: Result) -> list[str]:
    """Return what to show where many responses have no final answer: three of them, and what to do.

    >>> from gpassk_opencompass.samples import Samples
    >>> columns = {'uid': ['a', 'b'], 'replica': [0, 0], 'reference': ['4', '5'], 'response': ['I say: 4',
    '5?']}
    >>> from gpassk_opencompass import FunctionJudge
    >>> result = score(Samples(columns), FunctionJudge(lambda pair: False), k=1)
    >>> without_answers(result)[0]
    '2 of 2 responses have no final answer. Three of them end:'
    """
    health, samples = result.health, result.samples()
    if not health.unanswered or health.unanswered <= 0.1 * health.samples or samples is None:
        return []
    answers, responses = samples.each('answer'), samples.each('response')
    shown = [text for answer, text in zip(answers, responses, strict=True) if not answer and text][:_SHOWN]
    return [
        f'{health.unanswered} of {health.samples} responses have no final answer. Three of them end:',
        *(f'  … {text.strip()[-200:]!r}' for text in shown),
        "If their answers stand elsewhere: --answer-pattern 'REGEX' (its last match, or the group in it), "
        'or --answer-is-response',
    ]
