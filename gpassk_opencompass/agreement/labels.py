"""A judge against labels: a row a source and language, a row for all, and where the two differ."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from ..answers import final_answer, normal_form
from ..judges.protocol import HEDGED, Judge, Judgement, Pair, Verdict
from .labelled import LabelledPair
from .rates import Agreement, measure

TOTAL = 'all'

_MEANING = {Verdict.CORRECT: True, Verdict.INCORRECT: False, Verdict.UNJUDGED: None}


class Row(NamedTuple):
    """One line of the table."""

    group: tuple[str, ...]
    """What its pairs have in common."""
    found: Agreement


class Comparison(NamedTuple):
    """What became of all pairs."""

    rows: list[Row]
    """The groups in the order in which they appear, then all pairs together."""
    disagreements: list[dict[str, Any]]
    """JSON-able; unjudged pairs too, with verdict 'unjudged' and a reason."""


def against_labels(labelled: Sequence[LabelledPair], judge: Judge) -> Comparison:
    """Have labelled pairs judged and compare the verdicts with the labels.

    The groups are (source, language). Intervals take the pairs of one question (without one: of one
    reference) for related, and answers of one normal form for copies. Errors are those of the judge.

    >>> from gpassk_opencompass.judges.function import FunctionJudge
    >>> pairs = [LabelledPair(Pair('?', '1', answer), answer == '1', 'mine', 1, '') for answer in '12']
    >>> against_labels(pairs, FunctionJudge(lambda pair: True)).rows[-1].found.false_positives
    1
    """
    asked = iter(judge.judge([one.pair for one in labelled if not one.hedged]))
    judgements = [HEDGED if one.hedged else next(asked) for one in labelled]
    verdicts = [_MEANING[judgement.verdict] for judgement in judgements]
    labels = [one.label for one in labelled]
    contents = [content(one.pair) for one in labelled]
    groups = [(one.source, one.pair.language) for one in labelled]
    rows = grouped(groups, verdicts, labels, contents)
    differing = [
        _described(one, judgement)
        for one, judgement, verdict in zip(labelled, judgements, verdicts, strict=True)
        if verdict is not one.label
    ]
    return Comparison(rows, differing)


class Content(NamedTuple):
    """What makes two pairs one question, and two answers copies of one another."""

    question: Hashable
    answer: str


def content(pair: Pair) -> Content:
    """Of a pair; the spelling of its answer and what a response says before its final answer do not count."""
    asked = (pair.language, pair.question, '' if pair.question.strip() else pair.reference)
    given = pair.answer.strip() or pair.tail.strip()
    given = final_answer(given).text or given
    return Content(asked, f'{pair.reference}\0{normal_form(given) or given}')


def grouped(
    groups: Sequence[tuple[str, ...]],
    verdicts: Sequence[bool | None],
    labels: Sequence[bool],
    contents: Sequence[Content],
) -> list[Row]:
    """A row a group in order of appearance and, where there are several, one of all."""
    kinds = list(dict.fromkeys(groups))
    places = {kind: [place for place, group in enumerate(groups) if group == kind] for kind in kinds}
    if len(kinds) != 1:
        places[(TOTAL,) * (len(kinds[0]) if kinds else 1)] = list(range(len(groups)))
    return [
        Row(
            kind,
            measure(
                [verdicts[place] for place in chosen],
                [labels[place] for place in chosen],
                [contents[place].question for place in chosen],
                [contents[place].answer for place in chosen],
            ),
        )
        for kind, chosen in places.items()
    ]


def _described(one: LabelledPair, judgement: Judgement) -> dict[str, Any]:
    pair = one.pair
    return {
        'line': one.line,
        'id': one.name,
        'source': one.source,
        'language': pair.language,
        'question': pair.question,
        'reference': pair.reference,
        'answer': pair.answer,
        **({'tail': pair.tail} if pair.tail else {}),
        'label': 'correct' if one.label else 'incorrect',
        'verdict': judgement.verdict.value,
        'origin': judgement.origin,
        'reason': judgement.reason,
    }
