"""Two judges against each other, by the verdicts that they left in stores."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from ..errors import InputError
from ..judges.protocol import Pair, Verdict
from ..judges.store import Line
from ..judges.stored import StoredVerdicts, find_stores
from .labels import Content, Row, content, grouped


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
    `labels.against_labels`.

    Args:
        places: stores or work directories, see `judges.stored.find_stores`.
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
    """Names that tell all judges apart: the model, then its other settings, then the place."""
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
