"""Is a judge right? Its verdicts beside labels, and a score corrected by the labels of drawn questions.

A score is no mean of verdicts: G-Pass@k of a question depends on how many of its answers are right. So whole
questions are drawn and every different answer to them is labelled; that corrects the metric of each of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from hashlib import sha256
from math import sqrt
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from scipy.special import betaincinv, ndtri, stdtrit

from .answers import final_answer, normal_form
from .benchmarks import language_of
from .errors import InputError
from .json_rows import json_rows
from .judges import HEDGED, Judge, Pair, problems
from .metrics import Metric, value_table
from .record import Result, digest_of, values
from .statistics import difference
from .text import json_text

FEWEST = 10  # effective pairs below which an agreement has no interval: it would say next to nothing

Hits = NDArray[np.bool_]


class Share(NamedTuple):
    """A share from 0 to 1 with its 95 % interval; None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Agreement(NamedTuple):
    """Verdicts beside labels; all shares are of the pairs that are judged."""

    pairs: int
    questions: int
    unjudged: int
    both_correct: int
    false_positives: int
    """The verdict is correct, the label incorrect."""
    false_negatives: int
    both_incorrect: int
    effective: float
    """Independent pairs that would tell as much about the agreement."""
    agreement: Share
    false_positive_rate: Share
    """Of the pairs that the labels reject, those that the judge accepts."""
    false_negative_rate: Share
    """Of the pairs that the labels accept, those that the judge rejects."""
    kappa: float | None
    """Cohen's 1 − observed / expected disagreement; None where verdicts and labels are all of one kind."""


def measure(
    verdicts: Sequence[bool | None],
    labels: Sequence[bool],
    questions: Sequence[Hashable] | None = None,
    answers: Sequence[Hashable] | None = None,
    *,
    exact: bool = False,
) -> Agreement:
    """Compare verdicts with labels.

    Args:
        verdicts: True for correct, False for incorrect, None for unjudged.
        labels: as many, True for correct.
        questions: what each pair asks; pairs of one question are not taken for independent.
        answers: what is answered; equal answers to one question are copies of one pair. Without questions or
            answers all of them are different.
        exact: Clopper and Pearson's intervals in the place of Wilson's: for small shares, and never refused.

    >>> found = measure([True, True, False, None], [True, False, False, True])
    >>> found.agreement.value, found.false_negative_rate.value, found.unjudged
    (0.6666666666666666, 0.0, 1)
    """
    every = range(len(verdicts))
    questions, answers = (every if column is None else column for column in (questions, answers))

    def numbered(contents: Iterable[Hashable]) -> NDArray[np.int64]:
        numbers: dict[Hashable, int] = {}
        return np.array([numbers.setdefault(one, len(numbers)) for one in contents], np.int64)

    judged = [place for place, verdict in enumerate(verdicts) if verdict is not None]
    said, true = (np.array([column[place] for place in judged], bool) for column in (verdicts, labels))
    clusters = numbered(questions[place] for place in judged)
    copies = numbered((questions[place], answers[place]) for place in judged)
    cells = said & true, said & ~true, ~said & true, ~said & ~true
    both, false, missed, neither = (int(np.sum(cell)) for cell in cells)

    def share(wanted: Hits, of: Hits) -> Share:
        if not of.any():
            return Share(None)
        value, trials = float(np.mean(wanted[of])), effective_pairs(wanted[of], clusters[of], copies[of])
        hits, square = value * trials, float(ndtri(0.975)) ** 2
        if exact:
            low = betaincinv(hits, trials - hits + 1, 0.025) if hits else 0.0
            high = betaincinv(hits + 1, trials - hits, 0.975) if hits < trials else 1.0
        elif trials < FEWEST:
            return Share(value)
        else:
            centre = (hits + square / 2) / (trials + square)
            half = sqrt(square * (hits * (1 - value) + square / 4)) / (trials + square)
            # What rounding leaves beside 0 and 1 is no part of the interval.
            low, high = 0.0 if value == 0 else centre - half, 1.0 if value == 1 else centre + half
        return Share(value, float(low), float(high))

    right = said == true
    # With one rounding: where κ is 0, it is exactly 0.
    expected = (both + false) * (false + neither) + (both + missed) * (missed + neither)
    return Agreement(
        len(verdicts),
        len(set(questions)),
        len(verdicts) - len(judged),
        *(both, false, missed, neither),
        effective_pairs(right, clusters, copies),
        *(share(right, np.ones_like(right)), share(said, ~true), share(~said, true)),
        2 * (both * neither - false * missed) / expected if expected else None,
    )


def effective_pairs(hits: Hits, clusters: NDArray[np.int64], copies: NDArray[np.int64]) -> float:
    """Return how many independent trials would say as much: the number of trials over the design effect.

    Answers to one question (clusters) are related, and copies of an answer hit or miss together (Korn and
    Graubard 1998, Survey Methodology 24, 193). Where every trial hits, or none, a cluster is taken for one
    trial. Few clusters count for less, by the squared ratio of the t quantiles. In simulations with strongly
    related trials (15 to 140 clusters, share 0.7 to 0.97) Wilson's 95 % interval for this number covers 88 to
    94 % of the time, that for the plain number 45 to 70 %.

    Args:
        hits: an entry a trial.
        clusters, copies: the number of each trial's cluster, and of its content.
    """
    trials, sizes = len(hits), np.unique(clusters, return_counts=True)[1]
    if (groups := len(sizes)) < 2:
        return float(min(1, trials))
    share = float(np.mean(hits))
    alike = trials**2 / float(np.sum(np.unique(copies, return_counts=True)[1] ** 2.0))
    spread = trials**2 / float(np.sum(sizes**2.0))
    if 0 < share < 1:
        between = float(np.sum(np.bincount(clusters, hits - share) ** 2)) * groups / (groups - 1)
        spread = share * (1 - share) * trials**3 / (trials - 1) / between if between else np.inf
    shrink = (stdtrit(trials - 1, 0.975) / stdtrit(groups - 1, 0.975)) ** 2
    return float(min(alike, spread, trials) * shrink)


# Labelled pairs


def _label(value: object) -> object:
    words = {'correct': True, 'incorrect': False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


def _named(names: str, default: Any = '') -> Any:
    return Field(default, validation_alias=AliasChoices(*names.split()))


Text = Annotated[str, BeforeValidator(lambda value: '' if value is None else value)]


class Labelled(BaseModel):
    """An answer and what somebody says of it, under any of the usual names; numbers are taken as written."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    reference: Text = _named('reference gold ground_truth reference_answer gold_answer', ...)
    answer: Text = _named('answer pred prediction candidate model_answer', ...)
    label: Annotated[bool, BeforeValidator(_label)] = _named('label correct is_correct', ...)
    question: Text = _named('question problem prompt')
    language: Text = _named('language lang')
    source: Text = _named('source dataset')
    id: Text = ''

    @classmethod
    def of(cls, place: str, row: Mapping[str, Any]) -> Labelled:
        """Return what a row says; its place stands before what is wrong with it."""
        try:
            return cls.model_validate(row)
        except ValidationError as error:
            raise InputError(f'{place}: {problems(error, cls)}; it has {", ".join(row)}') from None

    @property
    def pair(self) -> Pair:
        """Return what a judge is asked."""
        return Pair(self.question, self.reference, self.answer, self.language or 'en')


def read_labelled(path: Path) -> dict[int, Labelled]:
    """Return line → labelled pair of a file of JSON lines; errors name file and line."""
    found = {number: Labelled.of(f'{path}:{number}', row) for number, row in json_rows(path)}
    if not found:
        raise InputError(f'{path} holds no pairs; expected a JSON object a line')
    return found


def compare_with_labels(
    labelled: Mapping[int, Labelled], judge: Judge
) -> tuple[dict[tuple[str, str], Agreement], list[dict[str, Any]]]:
    """Have labelled pairs judged and compare the verdicts with the labels.

    Pairs of one question (without one: of one reference) are related, and answers of one normal form copies.

    Returns:
        What is measured by (source, language), where there are several ('all', 'all') last; and the pairs
        that differ or are unjudged, JSON-able.

    >>> from gpassk_opencompass import RuleJudge
    >>> pairs = {1: Labelled(reference='1', answer='1', label=False)}
    >>> compare_with_labels(pairs, RuleJudge())[0]['', 'en'].false_positives
    1
    """
    said = judge.judge([one.pair for one in labelled.values()])
    groups: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    differing = []
    for (line, one), judgement in zip(labelled.items(), said, strict=True):
        pair, verdict = one.pair, {'correct': True, 'incorrect': False}.get(judgement.verdict.value)
        given = final_answer(pair.answer).text or pair.answer.strip()
        question = pair.language, pair.question, '' if pair.question.strip() else pair.reference
        row = verdict, one.label, question, (pair.reference, normal_form(given) or given)
        groups.setdefault((one.source, pair.language), []).append(row)
        if verdict is not one.label:
            about = {'line': line, 'id': one.id, 'source': one.source, **pair._asdict()}
            about |= {'label': 'correct' if one.label else 'incorrect', 'verdict': judgement.verdict.value}
            differing.append({**about, 'origin': judgement.origin, 'reason': judgement.reason})
    if len(groups) > 1:
        groups['all', 'all'] = [row for rows in groups.values() for row in rows]
    return {group: measure(*zip(*rows, strict=True)) for group, rows in groups.items()}, differing


# The audit of a run


class Answer(NamedTuple):
    """A different answer to a question, of one normal form in all samples that gave it."""

    row: int
    """Of the question, in the result."""
    pair: Pair
    accepted: int
    """Samples with this answer that were judged correct, and incorrect."""
    rejected: int
    samples: int
    name: str
    """12 hexadecimal digits, equal in every run that has this answer to this question."""


class Correction(NamedTuple):
    """A score as it is reported, and as labels of all answers would give it; in percent."""

    metric: Metric
    reported: float
    corrected: float
    low: float
    high: float


class Audit:
    """The verdicts of a result on which somebody can be asked, question by question.

    Nobody is asked about a sample without an answer and one that states several: what was said of them stays.

    Raises:
        InputError: the result does not say what was answered.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        names = ('uid', 'replica', 'question', 'reference', 'language', 'answer', 'verdict', 'judged_by')
        samples = result.samples(names, (0, int(result.table.n.sum())))
        if samples is None or 'answer' not in samples:
            raise InputError(
                f'{result.path} does not say what was answered: an audit needs the samples beside it, with '
                'answers and verdicts, as of an evaluation or gpassk score'
            )
        texts = [samples.each(name) for name in ('question', 'reference', 'language')]
        answer, verdict, judged_by = (samples.each(name) for name in ('answer', 'verdict', 'judged_by'))
        self.answers: list[list[Answer]] = []
        self.settled = np.zeros(len(result.counts.uid), np.int64)
        """Correct samples of each question that nobody is asked about."""
        for row, (uid, places) in enumerate(samples.by_question().items()):
            question, reference, language = (text[places[0]] or '' for text in texts)
            alike: dict[str, list[int]] = {}
            for place in places:
                text = (answer[place] or '').strip()
                if text and judged_by[place] != HEDGED.origin:
                    alike.setdefault(normal_form(text) or text, []).append(place)
                else:
                    self.settled[row] += verdict[place] == 'correct'
            self.answers.append([])
            for form, same in alike.items():
                shortest = min((answer[place] for place in same), key=lambda text: (len(text), text))
                pair = Pair(question, reference, shortest, language or language_of(question))
                said = [verdict[place] for place in same]
                told = '\0'.join((uid, question, reference, form)).encode('utf-8', 'surrogatepass')
                counts = said.count('correct'), said.count('incorrect'), len(same)
                self.answers[-1].append(Answer(row, pair, *counts, sha256(told).hexdigest()[:12]))
        self.digest = digest_of([one.name for answers in self.answers for one in answers])[:12]

    def answers_of(self, rows: Iterable[int]) -> list[Answer]:
        """Return the different answers to these questions."""
        return [one for row in rows for one in self.answers[row]]

    def draw(self, questions: int, seed: int = 0) -> list[int]:
        """Return the rows of drawn questions in the order in which they are to be labelled.

        Each question is as likely as any other; those with all, some and no correct samples are drawn in
        proportion. A hash of the seed decides: the same everywhere, and with more questions the same ones and
        more.
        """

        def chance(*told: object) -> float:
            return int.from_bytes(sha256(repr((seed, *told)).encode()).digest()[:7], 'big') / 2**56

        counts = self.result.table
        strata: dict[int, list[int]] = {}
        for row, (c, n) in enumerate(zip(counts.c.tolist(), counts.n.tolist(), strict=True)):
            strata.setdefault((c > 0) + (c == n), []).append(row)
        order = []
        for stratum, rows in strata.items():
            rows.sort(key=lambda row: chance(counts.uid[row]))
            order += [((place + chance(stratum)) / len(rows), row) for place, row in enumerate(rows)]
        return [row for _, row in sorted(order)[:questions]]

    def text(self, drawn: Iterable[int], labels: Mapping[str, bool | None]) -> str:
        """Return the file of labels, a line an answer; not what was judged: who knows it agrees too often."""
        lines = []
        for one in self.answers_of(drawn):
            pair = one.pair
            about = {'question': pair.question, 'reference': pair.reference, 'answer': pair.answer}
            line = {'id': one.name, **about, 'label': labels.get(one.name), 'language': pair.language}
            lines.append(json_text({**line, 'run': self.digest}))
        return ''.join(f'{line}\n' for line in lines)

    def read(self, path: Path) -> tuple[list[int], dict[str, bool]]:
        """Return the drawn questions and the labels of a file that `text` made; '' and null are no label."""
        known = {one.name: one for one in self.answers_of(range(len(self.answers)))}
        drawn: dict[int, None] = {}
        labels: dict[str, bool] = {}
        for number, line in json_rows(path):
            place, one = f'{path}:{number}', known.get(str(line.get('id')))
            if line.get('run') != self.digest or one is None:
                raise InputError(
                    f'{place} is no answer of {self.result.path}: give the result that it was drawn from; '
                    'labels of other pairs are compared by gpassk judge agreement'
                )
            drawn[one.row] = None
            if line.get('label') in (None, ''):
                continue
            label = Labelled.of(place, line).label
            if labels.setdefault(one.name, label) is not label:
                raise InputError(f'{place}: {one.name} stands there twice, with both labels; keep one line')
        if not drawn:
            raise InputError(f'{path} is empty; remove it to draw questions anew')
        return list(drawn), labels

    def agreement(self, rows: Iterable[int], labels: Mapping[str, bool]) -> Agreement:
        """Return how the verdicts on different answers to these questions agree with their labels."""
        pairs = [
            (verdict, labels[one.name], one.row, one.name)
            for one in self.answers_of(rows)
            for verdict, count in ((True, one.accepted), (False, one.rejected))
            if count
        ]
        return measure(*(zip(*pairs, strict=True) if pairs else ((),) * 4), exact=True)

    def corrected(self, rows: Sequence[int], labels: Mapping[str, bool], metric: Metric) -> Correction:
        """Return a score corrected by the labels of drawn questions, for the answers of this run.

        To the score of all questions the mean of (by labels − by verdicts) over the drawn ones is added, with
        the interval of `statistics.difference`, which shrinks with the share of questions that are not drawn.
        It allows for whole questions that are judged wrongly and of which none was drawn, so it is wide.
        """
        counts, chosen = self.result.table, list(rows)
        agreed = [sum(one.samples for one in self.answers[row] if labels[one.name]) for row in chosen]
        by_label = values(counts.n[chosen], self.settled[chosen] + agreed, metric)
        by_verdict = values(counts.n[chosen], counts.c[chosen], metric)
        found = difference(by_label, by_verdict, [counts.problem[row] for row in chosen])
        score = float(np.mean(self.result.values(metric)))
        change, rest = float(found.estimate), sqrt(1 - len(chosen) / len(counts))
        low, high = (change + rest * (float(end) - change) for end in found.at())
        top = float(value_table(metric, int(counts.n.max())).max())
        ends = (min(max(score + one, 0.0), top) for one in (change, low, high))
        return Correction(metric, 100 * score, *(100 * one for one in ends))


def reported(metric: Metric, n: int, c: int, *, false_negative: float, false_positive: float = 0.0) -> float:
    """Return what is expected to be reported of a question with c of n answers correct.

    Each verdict errs for itself: a correct answer is called incorrect with probability `false_negative`, an
    incorrect one correct with `false_positive`. The number that is called correct is then
    C' ~ Bin(c, 1 − false_negative) + Bin(n − c, false_positive), and E[value(C')] is returned, exactly.

    Raises:
        InputError: a number is out of range.

    A model that is always right, and a judge that misses 1 %:

    >>> round(reported(Metric.parse('G-Pass@16_1.0'), 48, 48, false_negative=0.01), 4)
    0.8515
    """
    rates = (false_negative, false_positive)
    if not (0 <= c <= n and all(0 <= rate <= 1 for rate in rates)):
        raise InputError(f'c = {c} and shares {rates}: expected c from 0 to n = {n}, and shares from 0 to 1')
    chances = np.ones(1)
    for accepted in [1 - false_negative] * c + [false_positive] * (n - c):
        chances = np.convolve(chances, [1 - accepted, accepted])
    return float(chances @ value_table(metric, n))
