"""A judge compared with labels, or two judges with each other, by the verdicts that they left in stores."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

from ..adapter import questions_of
from ..answers import answer_of, hedges, part
from ..collect import holds_record
from ..errors import InputError
from ..json_rows import json_rows
from ..judges.protocol import HEDGED, TAIL_LENGTH, Judge, Judgement, Pair, Verdict
from ..judges.verdicts import Line, StoredVerdicts, find_stores
from ..record import Result, read
from .rates import Content, Row, content, grouped

FIELDS = {
    'question': ('question', 'problem', 'prompt'),
    'reference': ('reference', 'gold', 'ground_truth', 'reference_answer', 'gold_answer'),
    'answer': ('answer', 'pred', 'prediction', 'candidate', 'model_answer'),
    'label': ('label', 'correct', 'is_correct'),
    'language': ('language', 'lang'),
    'source': ('source', 'dataset'),
}
"""What a line says → the names that it may have. Question, language and source may be missing; what has
another name is ignored."""

_NEEDED = ('reference', 'answer', 'label')
_MEANING = {Verdict.CORRECT: True, Verdict.INCORRECT: False, Verdict.UNJUDGED: None}
_LABELS = {'correct': True, 'incorrect': False, 'true': True, 'false': False, 'yes': True, 'no': False}


class LabelledPair(NamedTuple):
    """A pair and what somebody said of it."""

    pair: Pair
    label: bool
    source: str
    line: int
    """Its line in the file, from 1."""
    name: str
    """Its `id`, or ''."""
    hedged: bool = False
    """Whether a whole response states more answers than are asked for, so that no judge is asked."""


def read_labelled(path: str | os.PathLike[str], *, responses: bool = False) -> list[LabelledPair]:
    """Read a file of JSON lines, a pair a line.

    Args:
        path: each line an object; see `FIELDS` for the names; or the result file of a run, whose verdicts
            then stand where labels would. A label is true or false, 1 or 0, or 'correct' or 'incorrect'.
            Numbers are taken as they are written, null as empty text.
        responses: the answers are whole responses, to be judged by their final answers as in a run.

    Raises:
        InputError: names the file and the line.
    """
    if holds_record(Path(path)):
        return _of_result(read(Path(path)))
    pairs = [_labelled(f'{path}:{line}', line, row, responses) for line, row in json_rows(Path(path))]
    if not pairs:
        raise InputError(f'{path} holds no pairs; expected a JSON object a line')
    return pairs


def _of_result(result: Result) -> list[LabelledPair]:
    """Return the samples of a run, with the verdicts of its judge as labels; without unjudged ones."""
    questions = questions_of(result)
    if questions is None:
        raise InputError(f'{result.path} holds counts and no answers with verdicts; expected those of a run')
    pairs = []
    for number, (uid, asked) in enumerate(zip(result.counts.uid, questions, strict=True), 1):
        for answer, verdict in zip(asked.answers, asked.verdicts, strict=True):
            if verdict != '?':
                pair = Pair(asked.question, asked.reference, answer, asked.language)
                pairs.append(LabelledPair(pair, verdict == '1', result.run.dataset, number, uid))
    return pairs


def _labelled(place: str, line: int, row: Mapping[str, Any], responses: bool) -> LabelledPair:
    values = {name: _field(place, name, row) for name in FIELDS}
    label = label_of(place, values.pop('label'))
    question, reference, answer, language, source = (
        _text(place, name, value) for name, value in values.items()
    )
    tail, hedged = '', False
    if responses:
        response = part(answer)
        found = answer_of(response)
        answer, hedged = found.text, hedges(found, reference)
        tail = '' if answer else response.said[-TAIL_LENGTH:]
    pair = Pair(question, reference, answer, language or 'en', tail)
    return LabelledPair(pair, label, source, line, str(row.get('id', '')), hedged)


def _field(place: str, name: str, row: Mapping[str, Any]) -> Any:
    given = [spelling for spelling in FIELDS[name] if spelling in row]
    if len(given) > 1:
        raise InputError(f'{place} has {" and ".join(given)}, both names of the {name}; keep one of them')
    if not given and name in _NEEDED:
        raise InputError(
            f'{place} has no {name}: expected one of {", ".join(FIELDS[name])}; it has {", ".join(row)}'
        )
    return row[given[0]] if given else None


def label_of(place: str, value: Any) -> bool:
    """Return what a label says.

    Args:
        place: where it stands, for the message.
        value: true or false, 1 or 0, or a word in any case: correct, incorrect, true, false, yes, no.

    Raises:
        InputError: it is none of these.
    """
    if isinstance(value, str) and value.strip().lower() in _LABELS:
        return _LABELS[value.strip().lower()]
    if isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    raise InputError(f'{place}: the label is {value!r}; expected true or false, "correct" or "incorrect"')


def _text(place: str, name: str, value: Any) -> str:
    if value is None:
        return ''
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InputError(f'{place}: the {name} is {value!r} ({type(value).__name__}); expected a text')
    return str(value)


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

    >>> from gpassk_opencompass.judges.protocol import FunctionJudge
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


class Said(NamedTuple):
    """What one judge said in one place, by content."""

    name: str
    """The judge's model; where that does not tell two judges apart, with more behind it."""
    verdicts: Mapping[Content, Line]


class Duel(NamedTuple):
    """Two judges on the pairs that both judged."""

    first: str
    """Its verdicts stand where labels would."""
    second: str
    only_first: int
    only_second: int
    rows: list[Row]
    """A row a language, then all; none where the two share no pair."""
    disagreements: list[dict[str, Any]]


def between_stores(places: Sequence[str | os.PathLike[str]], judges: Sequence[str] = ()) -> list[Duel]:
    """Compare judges pair by pair: those of one store with each other, those of several across stores.

    Pairs are the same where question, reference, language and the answer's normal form are. Precision and
    recall are those of the second judge, the first one's verdicts taken for the truth. Intervals are those of
    `against_labels`.

    Args:
        places: stores or work directories, see `judges.verdicts.find_stores`.
        judges: only judges whose names contain one of these texts.

    Raises:
        InputError: a place without a store, no two judges to compare, or a judge chosen that is not there.
    """
    found = [_judges_at(place) for place in places]
    by_place = _chosen(_named(list(map(str, places)), found), judges)
    if len(by_place) == 1:
        matches = list(combinations(by_place[0], 2))
    else:
        matches = [match for two in combinations(by_place, 2) for match in product(*two)]
    if not matches:
        names = [said.name for place in by_place for said in place]
        raise InputError(
            f'there are no two judges to compare, only {", ".join(names) or "none"}; give a second store, or '
            'one with the verdicts of several judges'
        )
    return [_duel(*match) for match in matches]


def _judges_at(place: str | os.PathLike[str]) -> dict[str, dict[Content, Line]]:
    """Judge (as JSON, sorted) → content → line; the first verdict on a content counts."""
    judges: dict[str, dict[Content, Line]] = {}
    for line in StoredVerdicts(find_stores([place])):
        texts = [line.about.get(name) for name in ('question', 'reference', 'answer', 'language')]
        if all(isinstance(text, str) for text in texts):
            judge = json.dumps(line.about.get('judge', {}), sort_keys=True)
            judges.setdefault(judge, {}).setdefault(content(Pair(*map(str, texts))), line)
    return dict(sorted(judges.items()))


def _named(places: Sequence[str], found: Sequence[Mapping[str, dict[Content, Line]]]) -> list[list[Said]]:
    """Return the judges under names that tell all apart: the model, then its settings, then the place."""
    names = [[_model(judge) for judge in judges] for judges in found]
    settings = {(_model(judge), judge) for judges in found for judge in judges}
    ambiguous = {model for model, _ in settings if sum(other == model for other, _ in settings) > 1}
    for row, judges in zip(names, found, strict=True):
        for column, judge in enumerate(judges):
            if row[column] in ambiguous:
                row[column] += '#' + hashlib.sha256(judge.encode()).hexdigest()[:6]
    every = [name for row in names for name in row]
    return [
        [
            Said(f'{name} in {place}' if every.count(name) > 1 else name, verdicts)
            for name, verdicts in zip(row, judges.values(), strict=True)
        ]
        for place, row, judges in zip(places, names, found, strict=True)
    ]


def _model(judge: str) -> str:
    about = json.loads(judge)
    return str(about.get('model') or 'unnamed') if isinstance(about, dict) else str(about)


def _chosen(by_place: list[list[Said]], judges: Sequence[str]) -> list[list[Said]]:
    every = [said.name for place in by_place for said in place]
    for wanted in judges:
        if not any(wanted in name for name in every):
            raise InputError(f'no judge {wanted!r} in these stores; they hold {", ".join(every)}')
    return [
        [said for said in place if not judges or any(wanted in said.name for wanted in judges)]
        for place in by_place
    ]


def _duel(first: Said, second: Said) -> Duel:
    shared = [key for key in first.verdicts if key in second.verdicts]
    labels = [first.verdicts[key].verdict is Verdict.CORRECT for key in shared]
    verdicts = [second.verdicts[key].verdict is Verdict.CORRECT for key in shared]
    languages = [(str(first.verdicts[key].about['language']),) for key in shared]
    return Duel(
        first.name,
        second.name,
        len(first.verdicts) - len(shared),
        len(second.verdicts) - len(shared),
        grouped(languages, verdicts, labels, shared) if shared else [],
        list(_differing(first, second, shared)),
    )


def _differing(first: Said, second: Said, shared: Sequence[Content]) -> Iterator[dict[str, Any]]:
    for key in shared:
        one, other = first.verdicts[key], second.verdicts[key]
        if one.verdict is not other.verdict:
            texts = {name: one.about[name] for name in ('language', 'question', 'reference', 'answer')}
            sides = {'first': (first, one), 'second': (second, other)}
            yield {
                **texts,
                **{
                    side: {
                        'judge': said.name,
                        'verdict': line.verdict.value,
                        'reply': line.about.get('reply', ''),
                    }
                    for side, (said, line) in sides.items()
                },
            }
