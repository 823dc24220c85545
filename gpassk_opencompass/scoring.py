"""Samples and a judge in, one result out. Every host (OpenCompass, Lighteval, a file, …) goes through here.

responses ─▶ final answers ─▶ unique pairs ─▶ judge ─▶ verdicts ─▶ counts c of n ─▶ G-Pass@k
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from platform import python_version
from typing import TYPE_CHECKING, Any

from . import __version__
from .benchmarks import language_of
from .errors import IncompleteError, InputError
from .health import CUT_OFF, NOT_DRAWN, Health, health_of, state_of
from .judges import HEDGED, TAIL_LENGTH, Judge, Judgement, Pair, Verdict, build_judge
from .metrics import DEFAULT_THRESHOLDS, Metric, metrics_of
from .record import CompletedScores, Names, QuestionCounts, Result, data_of, means
from .samples import MISSING, Counts, Run, Samples
from .text import whole_characters

if TYPE_CHECKING:  # all rules of answers: who scores counts needs none
    from .answers import FinalAnswer

USUAL_KS = (4, 8, 16)  # where nobody says another k, as far as the questions have as many samples
MOST_LEFT_OUT = 0.1  # share of questions whose reference cannot be read above which there is no result
_SHOWN = 3  # examples in a message
_TAIL_TOKENS = re.compile(r'(?:\s*(?:<\|[A-Za-z0-9_ ]{1,40}\|>|</s>|<eos>|<end_of_turn>))+\s*$')
_TAGS = re.compile(r'<answer>(.*?)</answer>\s*$', re.DOTALL | re.IGNORECASE)


def score(
    samples: Samples,
    judge: Judge | Mapping[str, Any],
    *,
    n: int | None = None,
    k: int | Sequence[int] | None = None,
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    unjudged_tolerance: float = 0.01,
    answers: str | None = '',
    versions: Mapping[str, str] | None = None,
    names: Names | None = None,
    warn: bool = True,
) -> Result:
    """Judge all samples and compute G-Pass@k; the result has its samples, each with answer and verdict.

    A question without a reference that the judge can read is not counted, and named in `left_out`.

    Args:
        samples: of Q questions, in any order.
        judge: judges each distinct (question, reference, answer) once; or the identity of who gave the
            verdicts that the samples have.
        n: samples a question, of which each must have the replicas 0 … n − 1; None: those that there are, and
            a question counts in the metrics of each k up to its own number.
        k: one k or several, at most n; None: 4, 8 and 16, as far as there are as many samples.
        unjudged_tolerance: the largest share of samples that may stay unjudged.
        answers: '': final answers by the usual rules; a pattern: see `answer_pattern`; None: nobody looks at
            the responses, where verdicts are there.
        versions: of the host's packages.
        warn: log what a reader should know of the samples, which the result says too.

    Raises InputError where samples contradict each other, or settings cannot be met; IncompleteError where
    samples are missing, or more than tolerated stayed unjudged.
    """
    samples.check()
    if n is not None:
        _refuse_missing(samples, n)
    _ks(k, thresholds, max(Counter(samples['uid']).values()))  # before a judge is asked
    final: list[FinalAnswer | None] = []
    if isinstance(judge, Mapping):
        identity, statistics = dict(judge), {}
        samples = _with_reasons(samples)
        if answers is not None and 'response' in samples:
            samples, final, _ = _with_answers(samples, answers, given=True)
    else:
        samples, final, tails = _with_answers(samples, answers or '')
        samples = _with_verdicts(samples, final, tails, judge)
        identity, statistics = dict(judge.identity()), dict(judge.statistics())
    left_out = _left_out(samples)
    counted, dropped = samples, {uid for uids in left_out.values() for uid in uids}
    if dropped:
        rows = [row for row, uid in enumerate(samples['uid']) if uid not in dropped]
        counted, final = samples.select(rows), [final[row] for row in rows] if final else []
    _refuse_unjudged(counted, unjudged_tolerance)
    questions, (health, cut) = counted.by_question(), health_of(counted, final)
    columns = map(counted.each, ('question', 'reference'))
    texts = ([column[rows[0]] or '' for rows in questions.values()] for column in columns)
    result = _result(
        counted.counts(),
        k,
        thresholds,
        run=names or Names(),
        data=data_of(list(questions), *texts),
        health=health,
        judge=identity | ({'statistics': statistics} if statistics else {}),
        left_out=left_out,
        versions=versions or {},
    )
    result.completed = _completed(counted, cut, result)
    if warn and (told := health.remarks('copies', 'undecided')):
        from loguru import logger  # it brings asyncio

        for text in told:
            logger.warning(text)
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
    judge: Mapping[str, Any] | None,
    names: Names,
    *,
    k: Sequence[int] = (),
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    answers: str | None = '',
) -> Result:
    """Score what files tell of one run, as much of it as was judged: `Result.bounds` say what is open.

    Keys that are bare numbers (a line, an index) get the data set before them. Of a run that is a result
    itself, all stays that does not follow from k, τ and the judge.

    Args:
        judge: the config of one that judges the responses anew; None: the verdicts that are there count.
        k: none: those that the run was made for, or the usual ones.
    """
    old: Result | None = run.record
    identity = {name: value for name, value in run.judge.items() if old or name != 'statistics'}
    samples = run.samples
    counts: Any = run.counts  # where there are no samples
    most = max(Counter(samples['uid']).values() if samples is not None else counts.n.tolist(), default=0)
    settings: dict[str, Any] = {'k': list(k) or [one for one in run.ks if one <= most] or None}
    settings |= {'thresholds': thresholds, 'names': names}
    silent = samples is None or 'response' not in samples
    if judge and silent:
        raise InputError('there are no responses to judge; leave out --judge, or give a file that has them')
    if answers and silent:
        raise InputError('--answer-pattern needs responses; there are none')

    def distinct(keys: Sequence[Any]) -> Sequence[Any]:
        if old or not any(one and one.isdecimal() for one in keys):
            return keys
        return [f'{names.dataset}/{one}' if one and one.isdecimal() else one for one in keys]

    if samples is not None:
        problem = distinct(samples['problem']) if 'problem' in samples else None
        samples = samples.replace(uid=distinct(samples['uid']), problem=problem)
        settings |= {'unjudged_tolerance': 1.0, 'answers': answers, 'warn': False}
        with closing(build_judge(judge)) if judge else nullcontext() as built:
            result = score(samples, built or identity or {'name': 'labels'}, **settings)
    else:
        counts = replace(counts, uid=distinct(counts.uid), problem=distinct(counts.problem))
        result = score_counts(counts, identity or {'name': 'counts'}, **settings)
    remarks = run.remarks
    if old:
        computed = _remarks(old.table, old.ks, old.left_out)
        remarks = tuple(remark for remark in remarks if remark not in computed)
        result.limited = dict(old.limited)
        result.provenance = {name: value for name, value in old.provenance.items() if name != 'created'}
        result.versions = {**old.versions, **result.versions}
        if judge is None and (old.counts.uid, old.n) == (result.counts.uid, result.n):
            result.data = old.data
            result.health = old.health if samples is None else result.health
            result.sign()
    result.remarks = [*remarks, *result.remarks]
    return result


def _ks(k: int | Sequence[int] | None, thresholds: Sequence[float], most: int) -> list[int]:
    """Return the k in order; refuse those that n = `most` samples do not allow, and what is no τ."""
    given = [k] if isinstance(k, int) else sorted(set(k or ()))
    ks = given or [one for one in USUAL_KS if one <= most] or [most]
    if wrong := [one for one in ks if isinstance(one, bool) or not 1 <= one <= most]:
        raise InputError(f'k = {wrong[0]}: expected whole numbers from 1 to n = {most}')
    metrics_of(ks, thresholds)
    return ks


def _result(
    counts: Counts, k: int | Sequence[int] | None, thresholds: Sequence[float], **parts: Any
) -> Result:
    """Return the signed result of counts, with all of its parts that do not follow from them."""
    most = int(counts.n.max())
    ks = _ks(k, thresholds, most)
    result = Result(
        n=most,
        ks=ks,
        thresholds=[float(one) for one in thresholds],
        counts=QuestionCounts(
            uid=list(counts.uid),
            problem=list(counts.problem),
            group=whole_characters(list(counts.group)),
            c=counts.c.tolist(),
            unjudged=counts.unjudged.tolist(),
            undecided=None if counts.undecided is None else counts.undecided.tolist(),
            n=counts.n.tolist() if counts.n.min() < most else None,
        ),
        remarks=_remarks(counts, ks, parts.get('left_out', {})),
        versions={'gpassk_opencompass': __version__, 'python': python_version(), **parts.pop('versions', {})},
        **parts,
    )
    result.sign()
    return result


def _remarks(counts: Counts, ks: Sequence[int], left_out: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each reason for which questions are not counted, and one where n differs."""
    every = len(counts) + sum(map(len, left_out.values()))
    told = [
        f'{len(uids)} of {every} questions are not counted ({reason}): '
        + ', '.join(map(repr, uids[:_SHOWN]))
        + (', …' if len(uids) > _SHOWN else '')
        for reason, uids in left_out.items()
    ]
    if (least := int(counts.n.min())) < (most := int(counts.n.max())):
        lacking = [(one, int((counts.n < one).sum())) for one in ks if one > least]
        short = '; '.join(f'k = {one} leaves out {count} of {len(counts)}' for one, count in lacking)
        told.append(
            f'questions have from {least} to {most} samples: each counts in the metrics of k up to its own '
            f'number{f" ({short})" if short else ""}'
        )
    return told


def _completed(samples: Samples, cut: Sequence[bool] | None, result: Result) -> CompletedScores | None:
    """Return the scores over the samples that were not cut off; None where none was, or nobody knows."""
    if not cut or not any(cut):
        return None
    rows = enumerate(zip(cut, samples.each('state'), strict=True))
    whole = [row for row, (one, state) in rows if not one and state not in NOT_DRAWN]
    if not whole:
        return CompletedScores(samples=0, scores={}, questions={})
    counts = samples.select(whole).counts()
    found = means(counts, result.ks, result.thresholds)
    metrics = sorted(map(Metric.parse, found))
    return CompletedScores(
        samples=len(whole),
        scores={str(one): 100.0 * found[str(one)] for one in metrics},
        questions={str(one): int((counts.n >= one.k).sum()) for one in metrics},
    )


# References, answers and verdicts


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


def answer_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of final answers: the last match in a response counts, or the group in it."""
    try:
        found = re.compile(text, re.MULTILINE)
    except re.error as error:
        raise InputError(f'--answer-pattern {text!r} is no regular expression: {error}') from error
    if found.groups > 1:
        raise InputError(f'--answer-pattern {text!r}: expected at most one group')
    return found


def _with_answers(
    samples: Samples, pattern: str, given: bool = False
) -> tuple[Samples, list[FinalAnswer | None], list[str]]:
    """Return the samples with answers and states, the final answer of each, and the end where there is none.

    None is the final answer of a sample that was not drawn. With `given`, answers that the samples have count
    before those in the responses, unless a pattern says where they are.
    """
    from .answers import FinalAnswer, answer_of, part

    matches = answer_pattern(pattern)
    final: list[FinalAnswer | None] = []
    tails, states, any_match = [], [], False
    columns = ('response', 'finish_reason', 'state', 'thought')
    known = samples.each('answer') if given and not pattern else [None] * len(samples)
    for told, text, reason, state, thought in zip(known, *map(samples.each, columns), strict=True):
        answer, tail = None, ''
        if state not in NOT_DRAWN:
            parted = part(text or '')
            answer, said = answer_of(parted), parted.said
            if pattern:
                found = [match[matches.groups] or '' for match in matches.finditer(said)]
                answer = FinalAnswer(found[-1].strip() if found else '', boxed=False, cut_off=parted.open)
                any_match |= bool(found)
            elif reason == CUT_OFF and answer.text == said.strip() and not given:
                answer = FinalAnswer('', boxed=False, cut_off=True)  # the rest of a value alone is missing
            answer = answer if told is None else answer._replace(text=told)
            tail = '' if answer.text else said[-TAIL_LENGTH:]
            state = state or state_of(text or '', said, thought, reason)  # noqa: PLW2901
        final.append(answer)
        tails.append(tail)
        states.append(state)
    texts = [one.text if one else told or '' for one, told in zip(final, known, strict=True)]
    if pattern and not any_match:
        raise InputError(f'--answer-pattern {pattern!r} is found in no response; mend it, or leave it out')
    return samples.replace(answer=texts, state=_unless_empty(states)), final, tails


def _with_verdicts(
    samples: Samples, final: Sequence[FinalAnswer | None], tails: Sequence[str], judge: Judge
) -> Samples:
    """Return the samples as a judge says; each distinct (question, reference, answer) is asked once.

    Answers that are equal in normal form are one; the shortest spelling stands for all of them, whichever
    replica came first. No judge is asked of an answer that states more values than its reference asks for: it
    is incorrect, judged by 'hedged'; nor of a sample that was not drawn: it is unjudged, for its state.
    """
    from loguru import logger

    from .answers import hedges, normal_form

    unjudged = Verdict.UNJUDGED
    references = {text: reference_of(text) for text in set(samples.each('reference'))}
    pairs: dict[tuple[str, ...], Pair] = {}
    known: dict[Any, Judgement | tuple[str, ...]] = {}  # what a response states → its judgement, or its pair
    of_samples: list[Judgement | tuple[str, ...]] = []
    columns = map(samples.each, ('state', 'question', 'reference', 'language'))
    for answer, tail, state, *told in zip(final, tails, *columns, strict=True):
        if answer is None:
            of_samples.append(Judgement(unjudged, 'not drawn', state))
            continue
        stated = (*told, answer, tail)
        if stated not in known:
            question, reference = told[0] or '', references[told[1]]
            language = told[2] or language_of(question)
            if not reference:
                known[stated] = Judgement(unjudged, 'empty', 'no reference')
            elif hedges(answer, reference):
                known[stated] = HEDGED
            else:
                spelling = normal_form(answer.text) if answer.text else '\0' + tail
                known[stated] = key = (question, reference, language, spelling)
                pair = Pair(question, reference, answer.text, language, tail)
                pairs[key] = min(pairs.get(key, pair), pair, key=lambda one: (len(one.answer), one.answer))
        of_samples.append(known[stated])
    logger.info(f'{len(samples)} responses, {len(pairs)} different answers to judge')
    said = dict(zip(pairs, judge.judge(list(pairs.values())), strict=True))
    judgements = [one if isinstance(one, Judgement) else said[one] for one in of_samples]
    return samples.replace(
        verdict=[one.verdict.value for one in judgements],
        judged_by=[one.origin or None for one in judgements],
        why=[one.reason or (one.origin if one.verdict is unjudged else '') or None for one in judgements],
        reply_key=_unless_empty([one.reply_key or None for one in judgements]),
    )


def _with_reasons(samples: Samples) -> Samples:
    """Return samples that somebody else judged: what was not drawn, or has no verdict, is unjudged."""
    verdicts, why = [], []
    for verdict, state, reason in zip(*map(samples.each, ('verdict', 'state', 'why')), strict=True):
        lost = state if state in NOT_DRAWN else None
        verdicts.append('unjudged' if lost else verdict or 'unjudged')
        why.append(reason or (lost or 'no verdict' if verdicts[-1] == 'unjudged' else None))
    return samples.replace(verdict=verdicts, why=_unless_empty(why))


def _unless_empty(column: list[Any]) -> list[Any] | None:
    return column if any(one is not None for one in column) else None


# What is refused


def _refuse_missing(samples: Samples, n: int) -> None:
    """Raise unless each question has the replicas 0 … n − 1."""
    for row, replica in enumerate(samples['replica']):
        if not 0 <= replica < n:
            uid = samples['uid'][row]
            raise InputError(f'{samples.place(row)}: replica {replica} of {uid!r}; expected 0 … {n - 1}')
    questions = len(set(samples['uid']))
    if missing := questions * n - len(samples):
        raise IncompleteError(
            f'{missing} of {questions * n} samples are missing ({questions} questions × n = {n}); '
            'run the inference again to complete them'
        )


def _left_out(samples: Samples) -> dict[str, list[str]]:
    """Return the questions of which no judge can read the reference, by the reason; refuse too many."""
    columns = map(samples.each, ('uid', 'verdict', 'why', 'judged_by', 'reference'))
    found: dict[str, tuple[str, str | None]] = {}
    for uid, verdict, why, judged_by, reference in zip(*columns, strict=True):
        if verdict == 'unjudged' and why != judged_by and 'reference' in why:
            found.setdefault(uid, (why, reference))
    reasons = {why: [uid for uid, one in found.items() if one[0] == why] for why, _ in found.values()}
    if len(found) > MOST_LEFT_OUT * (questions := len(set(samples['uid']))):
        shown = ', '.join(f'{uid!r} ({text!r:.60})' for uid, (_, text) in list(found.items())[:_SHOWN])
        raise IncompleteError(
            f'{len(found)} of {questions} questions have no reference that the judge can read '
            f'({", ".join(reasons)}), more than {MOST_LEFT_OUT:.0%}: {shown}; no result. '
            'Give them references, or say where they are: --field reference=…'
        )
    return reasons


def _refuse_unjudged(samples: Samples, tolerance: float) -> None:
    rows = [row for row, one in enumerate(samples['verdict']) if one == 'unjudged']
    if len(rows) <= tolerance * len(samples):
        return
    uids, why, reference = (samples.each(name) for name in ('uid', 'why', 'reference'))
    reasons, share = Counter(why[row] for row in rows), len(rows) / len(samples)
    most = Counter((uids[row], reference[row]) for row in rows).most_common(_SHOWN)
    where = ', '.join(f'{uid!r} ({count}; reference {text!r:.60})' for (uid, text), count in most)
    mend = 'Mend the judge, or the references that it names, and evaluate again (OpenCompass: with -r). '
    draw = 'To draw anew those without a response, move their predictions away, and run with -r. '
    advice = mend * (not reasons.keys() <= NOT_DRAWN) + draw * (not reasons.keys().isdisjoint(NOT_DRAWN))
    raise IncompleteError(
        f'{len(rows)} of {len(samples)} samples ({share:.1%}) stayed unjudged {dict(reasons)}, more than the '
        f'tolerated {tolerance:.1%}, most of them of {where}; no result was written. '
        f'{advice}Or raise unjudged_tolerance.'
    )
