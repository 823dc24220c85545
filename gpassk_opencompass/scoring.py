"""Samples and a judge in, one result out. Every host (OpenCompass, Lighteval, a file, …) goes through here.

responses ─▶ final answers ─▶ unique pairs ─▶ judge ─▶ verdicts ─▶ counts c of n ─▶ G-Pass@k
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from .benchmarks import language_of
from .errors import IncompleteError, InputError
from .health import CUT_OFF, NOT_DRAWN, Health, cut_off_rows, health_of, state_of
from .judges.protocol import HEDGED, TAIL_LENGTH, Judge, Judgement, Pair, Verdict
from .metrics import DEFAULT_THRESHOLDS, Metric, metric_names
from .record import (
    CompletedScores,
    Names,
    QuestionCounts,
    Result,
    bounds,
    data_of,
    means,
    signature_of,
    versions_with,
)
from .samples import MISSING, Counts, Run, Samples
from .text import whole_characters

if TYPE_CHECKING:  # all rules of answers: who scores counts needs none
    from .answers import FinalAnswer, Parted

USUAL_KS = (4, 8, 16)
"""The k where nobody says another, as far as the questions have as many samples."""

MOST_LEFT_OUT = 0.1
"""Share of questions whose reference cannot be read above which there is no result."""

_SHOWN = 3
_TAIL_TOKENS = re.compile(r'(?:\s*(?:<\|[A-Za-z0-9_ ]{1,40}\|>|</s>|<eos>|<end_of_turn>))+\s*$')
_TAGS = re.compile(r'<answer>(.*?)</answer>\s*$', re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class AnswerRule:
    """How the final answer is taken out of a response, where the usual rules do not find it."""

    pattern: str = ''
    """Of the answer, with a group for it; its last match counts."""

    def __post_init__(self) -> None:
        try:
            groups = re.compile(self.pattern).groups
        except re.error as error:
            raise InputError(
                f'--answer-pattern {self.pattern!r} is no regular expression: {error}'
            ) from error
        if groups > 1:
            raise InputError(f'--answer-pattern {self.pattern!r}: expected at most one group')

    def answer(self, parted: Parted) -> FinalAnswer:
        """Return the final answer of a response."""
        from .answers import FinalAnswer, answer_of

        if not self.pattern:
            return answer_of(parted)
        found = [match[match.re.groups] for match in re.finditer(self.pattern, parted.said, re.MULTILINE)]
        text = found[-1] or '' if found else ''
        return FinalAnswer(text.strip(), boxed=False, cut_off=parted.open)


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
    warn: bool = True,
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
        warn: log what a reader should know of the samples, which the result says too.

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
        (samples, said), identity = _given(samples, answers), dict(judge)
    else:
        samples, said = judge_samples(samples, judge, answers or USUAL)
        identity = dict(judge.identity())
    left_out = _left_out(samples)
    counted = samples
    if dropped := {uid for uids in left_out.values() for uid in uids}:
        rows = [row for row, uid in enumerate(samples['uid']) if uid not in dropped]
        counted, said = samples.select(rows), [said[row] for row in rows] if said else said
    _refuse_unjudged(counted, unjudged_tolerance)
    first = [each[0] for each in counted.by_question().values()]
    texts = [[counted.each(name)[row] or '' for row in first] for name in ('question', 'reference')]
    counts = counted.counts()
    result = _result(
        counts,
        k,
        thresholds,
        run=names or Names(),
        data=data_of(counts.uid, texts[0], texts[1]),
        health=health_of(counted, said),
        judge=identity,
        left_out=left_out,
        remarks=left_out_remarks(left_out, len(first)),
        versions=versions_with(versions or {}),
    )
    if (cut := cut_off_rows(counted, said)) and any(cut):
        result.completed = _completed(counted, cut, result.ks, thresholds)
    if not isinstance(judge, Mapping) and (statistics := dict(judge.statistics())):
        result.judge = {**identity, 'statistics': statistics}
    for text in [*result.health.copies_warnings(), *result.health.undecided_notes()] if warn else ():
        log(text, 'WARNING')
    return result.with_samples(samples)


def score_counts(
    counts: Counts,
    judge: Mapping[str, Any],
    *,
    k: int | Sequence[int] | None = None,
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    names: Names | None = None,
) -> Result:
    """Compute G-Pass@k where only counts are known; arguments and errors as of `score`."""
    undecided = 0 if counts.undecided is None else int(counts.undecided.sum())
    health = Health(samples=int(counts.n.sum()), unjudged=int(counts.unjudged.sum()), undecided=undecided)
    data = data_of(counts.uid, [''] * len(counts), [''] * len(counts))
    return _result(counts, k, thresholds, judge=dict(judge), run=names or Names(), health=health, data=data)


def score_run(
    run: Run,
    judge: Judge | None,
    names: Names,
    *,
    k: Sequence[int] = (),
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    answers: AnswerRule | None = USUAL,
) -> Result:
    """Score what files tell of one run, as much of it as was judged: `Result.bounds` say what is open.

    Keys that are bare numbers (a line, an index) get the data set before them, as they are in every file. Of
    a run that is a result itself, what was known of it stays, and of the samples where they are the same.

    Args:
        judge: judges the responses anew; None: the verdicts that are there count.
        k: none: those that the run was made for, or the usual ones.
    """
    old, samples, counts = run.record, run.samples, run.counts
    ks = list(k) or [one for one in run.ks if one <= run.n] or None
    identity = {name: value for name, value in run.judge.items() if name != 'statistics'}
    settings: dict[str, Any] = {'k': ks, 'thresholds': thresholds, 'names': names}

    def distinct(keys: Sequence[Any]) -> Sequence[Any]:
        if old or not any(one and one.isdecimal() for one in keys):
            return keys
        return [f'{names.dataset}/{one}' if one and one.isdecimal() else one for one in keys]

    if samples is not None:
        samples = samples.replace(
            uid=distinct(samples['uid']), problem=distinct(samples.get('problem') or ()) or None
        )
        settings |= {'unjudged_tolerance': 1.0, 'answers': answers, 'warn': False}
        result = score(samples, judge or identity or {'name': 'labels'}, **settings)
    elif counts is not None:
        uid = distinct(counts.uid)
        problem = uid if counts.problem is counts.uid else distinct(counts.problem)
        counts = replace(counts, uid=uid, problem=problem)
        result = score_counts(counts, identity or {'name': 'counts'}, **settings)
    else:
        raise InputError(f'{names.model} on {names.dataset} has neither samples nor counts')
    remarks = run.remarks
    if old:
        computed = {*unequal_remarks(old.table, old.ks), *left_out_remarks(old.left_out, len(old.table))}
        remarks = tuple(remark for remark in remarks if remark not in computed)
        result.limited = dict(old.limited)
        result.provenance = {name: value for name, value in old.provenance.items() if name != 'created'}
        result.versions = {**old.versions, **result.versions}
        if judge is None and (old.counts.uid, old.n) == (result.counts.uid, result.n):
            result.data = old.data
            result.health = old.health if samples is None else result.health
            result.signature = signature_of(result.n, result.ks, result.thresholds, identity, old.data)
            result.judge |= {name: one for name, one in old.judge.items() if name == 'statistics'}
    result.remarks = [*remarks, *result.remarks]
    return result


def _result(
    counts: Counts, k: int | Sequence[int] | None, thresholds: Sequence[float], **parts: Any
) -> Result:
    """Return the result of counts, with all of its parts that do not follow from them."""
    most = int(counts.n.max())
    given = [k] if isinstance(k, int) else sorted(set(k or ()))
    ks = given or [one for one in USUAL_KS if one <= most] or [most]
    if wrong := [one for one in ks if isinstance(one, bool) or not 1 <= one <= most]:
        raise InputError(f'k = {wrong[0]}: expected whole numbers from 1 to n = {most}')
    metric_names(ks, thresholds)  # refuses what is no τ
    remarks = [*parts.pop('remarks', []), *unequal_remarks(counts, ks)]
    whole = {group: whole_characters(group) for group in set(counts.group)}
    return Result(
        n=most,
        ks=ks,
        thresholds=[float(one) for one in thresholds],
        counts=QuestionCounts(
            uid=list(counts.uid),
            problem=list(counts.problem),
            group=[whole[group] for group in counts.group],
            c=counts.c.tolist(),
            unjudged=counts.unjudged.tolist(),
            undecided=None if counts.undecided is None else counts.undecided.tolist(),
            n=counts.n.tolist() if counts.n.min() < most else None,
        ),
        bounds=bounds(counts, ks, thresholds),
        signature=signature_of(most, ks, thresholds, parts['judge'], parts['data']),
        remarks=remarks,
        **{'versions': versions_with({}), **parts},
    )


def unequal_remarks(counts: Counts, ks: Sequence[int]) -> list[str]:
    """Return what to say of questions with different numbers of samples; [] where all have as many."""
    most, least = int(counts.n.max()), int(counts.n.min())
    if least == most:
        return []
    lacking = [(one, int((counts.n < one).sum())) for one in ks if one > least]
    short = '; '.join(f'k = {one} leaves out {count} of {len(counts)}' for one, count in lacking)
    told = (
        f'questions have from {least} to {most} samples: each counts in the metrics of k up to its own number'
    )
    return [f'{told} ({short})' if short else told]


def _completed(
    samples: Samples, cut: Sequence[bool], ks: Sequence[int], thresholds: Sequence[float]
) -> CompletedScores:
    rows = enumerate(zip(cut, samples.each('state'), strict=True))
    whole = [row for row, (one, state) in rows if not one and state not in NOT_DRAWN]
    if not whole:
        return CompletedScores(samples=0, scores={}, questions={})
    counts = samples.select(whole).counts()
    found = {Metric.parse(key): 100.0 * mean for key, mean in means(counts, ks, thresholds).items()}
    return CompletedScores(
        samples=len(whole),
        scores={one.name: found[one] for one in sorted(found)},
        questions={one.name: int((counts.n >= one.k).sum()) for one in sorted(found)},
    )


# References and answers


def reference_of(text: str | None) -> str:
    r"""Return the reference answer in a text as data sets ship it; '' where there is none.

    >>> [reference_of(text) for text in ('So 3 + 5.\n#### 8', "['7']", '<answer>7</answer>', '7 <|im_end|>')]
    ['8', '7', '7', '7']
    >>> reference_of('nan')
    ''
    """
    text = _TAIL_TOKENS.sub('', text or '')
    if (tagged := _TAGS.search(text)) is not None:
        text = tagged[1]
    before, mark, behind = text.rpartition('####')
    if mark and behind.strip() and '\n' not in behind.strip() and (not before or before[-1].isspace()):
        text = behind
    if re.fullmatch(r"""\s*\[\s*(['"]).*\1\s*\]\s*""", text, re.DOTALL):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            values = ast.literal_eval(text.strip())
            text = values[0] if len(values) == 1 and isinstance(values[0], str) else text
    return text.strip() if text.strip().lower() not in MISSING else ''


def judge_samples(
    samples: Samples, judge: Judge, rule: AnswerRule = USUAL
) -> tuple[Samples, list[FinalAnswer | None]]:
    """Judge responses; each distinct (question, reference, answer) once.

    Answers that are equal in normal form are one; the shortest spelling stands for all of them, whichever
    replica came first. No judge is asked of an answer that states more values than its reference asks for: it
    is incorrect, judged by 'hedged'; nor of a sample that was not drawn: it is unjudged, for its state.

    Returns:
        The samples with answers, verdicts and states; and the final answer of each, None where none was
        drawn.
    """
    from .answers import hedges, normal_form

    stated, states = _stated(samples, rule)
    pairs: dict[tuple[str, ...], Pair] = {}
    keys: dict[_Stated, tuple[str, ...]] = {}
    known: dict[_Stated, Judgement] = {}
    for one in dict.fromkeys(filter(None, stated)):
        text = one.answer.text
        if not one.reference:
            known[one] = Judgement(Verdict.UNJUDGED, 'empty', 'no reference')
        elif hedges(one.answer, one.reference):
            known[one] = HEDGED
        else:
            spelling = normal_form(text) if text else '\0' + one.tail
            keys[one] = key = (one.question, one.reference, one.language, spelling)
            pair = Pair(one.question, one.reference, text, one.language, one.tail)
            pairs[key] = min(pairs.get(key, pair), pair, key=lambda pair: (len(pair.answer), pair.answer))
    log(f'{len(samples)} responses, {len(pairs)} different answers to judge')
    judged = dict(zip(pairs, judge.judge(list(pairs.values())), strict=True))
    known |= {one: judged[key] for one, key in keys.items()}
    judgements = [
        known[one] if one else Judgement(Verdict.UNJUDGED, 'not drawn', state or '')
        for one, state in zip(stated, states, strict=True)
    ]
    unclear = ['' if one.verdict is not Verdict.UNJUDGED else one.origin for one in judgements]
    told = samples.replace(
        answer=[one.answer.text if one else '' for one in stated],
        verdict=[one.verdict.value for one in judgements],
        judged_by=[one.origin or None for one in judgements],
        why=[one.reason or origin or None for one, origin in zip(judgements, unclear, strict=True)],
        reply_key=_unless_empty([one.reply_key or None for one in judgements]),
        state=_unless_empty(states),
    )
    return told, [one.answer if one else None for one in stated]


def _unless_empty(column: list[Any]) -> list[Any] | None:
    return column if any(one is not None for one in column) else None


class _Stated(NamedTuple):
    """What a response states, and to which question."""

    question: str
    reference: str
    language: str
    answer: FinalAnswer
    tail: str


def _stated(samples: Samples, rule: AnswerRule) -> tuple[list[_Stated | None], list[str | None]]:
    """Return what each response states, None where none was drawn, and the state of each."""
    from .answers import FinalAnswer, part

    columns = ('response', 'state', 'thought', 'finish_reason', 'question', 'reference', 'language')
    rows = zip(*map(samples.each, columns), strict=True)
    read = {text: reference_of(text) for text in set(samples.each('reference'))}
    known: dict[_Stated, _Stated] = {}
    stated: list[_Stated | None] = []
    states: list[str | None] = []
    for response, state, thought, finish_reason, question, reference, language in rows:
        if state in NOT_DRAWN:
            stated.append(None)
            states.append(state)
            continue
        parted = part(response or '')
        answer = rule.answer(parted)
        if finish_reason == CUT_OFF and answer.text == parted.said.strip() and not rule.pattern:
            answer = FinalAnswer('', boxed=False, cut_off=True)  # a value alone, whose rest is missing
        states.append(state or state_of(response or '', parted.said, thought, finish_reason))
        tail = '' if answer.text else parted.said[-TAIL_LENGTH:]
        one = _Stated(question or '', read[reference], language or language_of(question or ''), answer, tail)
        stated.append(known.setdefault(one, one))  # equal ones as one object
    return stated, states


def _given(samples: Samples, rule: AnswerRule | None) -> tuple[Samples, list[FinalAnswer | None]]:
    """Return samples whose verdicts somebody else gave, and the final answers of their responses.

    Where the file tells final answers, those count; without a rule nobody looks at the responses.
    """
    from .answers import part

    verdicts, states, why = samples.each('verdict'), samples.each('state'), list(samples.each('why'))
    told = [
        'unjudged' if state in NOT_DRAWN else one or 'unjudged'
        for one, state in zip(verdicts, states, strict=True)
    ]
    for row, one in enumerate(told):
        if one == 'unjudged' and not why[row]:
            why[row] = states[row] if states[row] in NOT_DRAWN else 'no verdict'
    samples = samples.replace(verdict=told, why=_unless_empty(why))
    if rule is None or 'response' not in samples:
        return samples, []
    parted = {text: part(text or '') for text in set(samples['response'])}
    found = {text: rule.answer(one) for text, one in parted.items()}
    columns = (samples.each(name) for name in ('response', 'answer', 'thought', 'finish_reason', 'state'))
    said: list[FinalAnswer | None] = []
    answers, states = [], []
    for text, answer, thought, reason, state in zip(*columns, strict=True):
        drawn = state not in NOT_DRAWN
        shown = (found[text].text if drawn else '') if answer is None else answer
        said.append(found[text]._replace(text=shown) if drawn else None)
        answers.append(shown)
        states.append(state or state_of(text or '', parted[text].said, thought, reason))
    return samples.replace(answer=answers, state=_unless_empty(states)), said


def log(text: str, level: str = 'INFO') -> None:
    """Log a line for the caller."""
    from loguru import logger  # it brings asyncio; who scores counts logs nothing

    logger.opt(depth=1).log(level, text)


# What is refused


def _refuse_missing(samples: Samples, n: int) -> None:
    """Raise unless each question has the replicas 0 … n − 1."""
    for row, (uid, replica) in enumerate(zip(samples['uid'], samples['replica'], strict=True)):
        if not 0 <= replica < n:
            raise InputError(
                f'{samples.place(row)}: replica {replica} of {uid!r}; expected 0 … n − 1 = {n - 1}'
            )
    questions = len(set(samples['uid']))
    if missing := questions * n - len(samples):
        raise IncompleteError(
            f'{missing} of {questions * n} samples are missing ({questions} questions × n = {n}); '
            'run the inference again to complete them'
        )


def _left_out(samples: Samples) -> dict[str, list[str]]:
    """Return the questions of which no judge can read the reference, by the reason; refuse too many."""
    columns = (samples.each(name) for name in ('uid', 'verdict', 'why', 'judged_by', 'reference'))
    found: dict[str, dict[str, str | None]] = {}
    for uid, verdict, why, judged_by, reference in zip(*columns, strict=True):
        unread = verdict == 'unjudged' and why != judged_by and 'reference' in why
        if unread and not any(uid in one for one in found.values()):
            found.setdefault(why, {})[uid] = reference
    questions, count = len(set(samples['uid'])), sum(map(len, found.values()))
    if count > MOST_LEFT_OUT * questions:
        shown = [f'{uid!r} ({text!r:.60})' for one in found.values() for uid, text in one.items()]
        raise IncompleteError(
            f'{count} of {questions} questions have no reference that the judge can read '
            f'({", ".join(found)}), more than {MOST_LEFT_OUT:.0%}: {", ".join(shown[:_SHOWN])}; no result. '
            'Give them references, or say where they are: --field reference=…'
        )
    return {why: list(one) for why, one in found.items()}


def left_out_remarks(left_out: Mapping[str, Sequence[str]], counted: int) -> list[str]:
    """Return a sentence for each reason for which questions are not counted."""
    return [
        f'{len(uids)} of {counted + sum(map(len, left_out.values()))} questions are not counted ({reason}): '
        + ', '.join(map(repr, uids[:_SHOWN]))
        + (', …' if len(uids) > _SHOWN else '')
        for reason, uids in left_out.items()
    ]


def _refuse_unjudged(samples: Samples, tolerance: float) -> None:
    uids, why, size = samples['uid'], samples.each('why'), len(samples)
    rows = [row for row, one in enumerate(samples['verdict']) if one == 'unjudged']
    if len(rows) <= tolerance * size:
        return
    reasons, reference = Counter(why[row] or 'no verdict' for row in rows), samples.each('reference')
    most = Counter((uids[row], reference[row]) for row in rows).most_common(_SHOWN)
    where = ', '.join(f'{uid!r} ({count}; reference {text!r:.60})' for (uid, text), count in most)
    advice = ''
    if not reasons.keys() <= NOT_DRAWN:
        advice += (
            'Mend the judge, or the references that it names, and evaluate again (OpenCompass: with -r). '
        )
    if not reasons.keys().isdisjoint(NOT_DRAWN):
        advice += (
            'To draw anew those without a response, move their predictions away, and run '
            'the same command with -r. '
        )
    raise IncompleteError(
        f'{len(rows)} of {size} samples ({len(rows) / size:.1%}) stayed unjudged {dict(reasons)}, '
        f'more than the tolerated {tolerance:.1%}, most of them of {where}; no result was written. '
        f'{advice}Or raise unjudged_tolerance.'
    )


def without_answers(result: Result) -> list[str]:
    """Return what to show where many responses have no final answer: three of them, and what to do.

    >>> from gpassk_opencompass import FunctionJudge
    >>> samples = Samples({'uid': ['a'], 'replica': [0], 'reference': ['4'], 'response': ['I say: 4']})
    >>> without_answers(score(samples, FunctionJudge(lambda pair: False), k=1))[0]
    '1 of 1 responses have no final answer. The first end:'
    """
    health, samples = result.health, result.samples()
    if not health.unanswered or health.unanswered <= 0.1 * health.samples or samples is None:
        return []
    answers, responses = samples.each('answer'), samples.each('response')
    shown = [text for answer, text in zip(answers, responses, strict=True) if not answer and text][:_SHOWN]
    return [
        f'{health.unanswered} of {health.samples} responses have no final answer. The first end:',
        *(f'  … {text.strip()[-200:]!r}' for text in shown),
        "If their answers stand elsewhere: --answer-pattern 'REGEX' (its last match, or the group in it)",
    ]
