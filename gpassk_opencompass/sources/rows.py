"""Rows of JSON, a question a row: responses, labels or counts, under the names that programs give fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from math import isfinite
from typing import Any, NamedTuple

from ..arguments import LARGEST_N
from ..errors import InputError
from ..json_lines import Row
from .source import (
    About,
    Counted,
    Place,
    Question,
    Reading,
    Responded,
    Run,
    Sampled,
)

FIELDS = {
    'uid': ('uid', 'id', 'idx', 'question_id', 'task_id'),
    'problem': ('problem', 'problem_id', 'cluster'),
    'split': ('split', 'subset', 'category'),
    'language': ('language', 'lang'),
    'question': ('question', 'prompt', 'query'),
    'reference': ('answer', 'reference', 'gold', 'ground_truth', 'gt', 'target'),
    'responses': ('responses', 'response', 'samples', 'generations', 'outputs', 'completions'),
    'answers': ('answers', 'preds', 'pred'),
    'correct': ('correct', 'labels', 'verdicts', 'scores', 'score', 'is_correct'),
    'n': ('n', 'num_samples'),
    'c': ('c', 'num_correct', 'n_correct'),
    'unjudged': ('unjudged',),
}
"""What a row says → the names that it may have; `answers` are final answers, one a sample, beside labels."""

KINDS = {
    'responses': ('question', 'reference', 'responses'),
    'labels': ('correct',),
    'counts': ('n', 'c'),
}
"""Kind of a row → the fields that it needs; by the last of them it is known."""


class Rows:
    """The source of rows: a JSON object a question, of one kind in all of a file."""

    def recognises(self, place: Place) -> bool:
        """Whether a file begins with a JSON object."""
        return place.first is not None

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return the one run of a file."""
        if reading.group_by:
            raise InputError(
                f'--group-by {reading.group_by} goes with a table of a row a sample; in {place.name} a row '
                'is a question'
            )
        naming = Naming(reading.fields, reading.kind)
        rows = place.rows()
        first = next(rows, None)
        if first is None:
            raise InputError(f'{place.name} is empty; expected a row a question: responses, labels or counts')
        try:
            names = naming.of(first[1])
        except InputError as error:
            raise InputError(f'{place.row(first[0])}: {error}') from error
        questions = _questions(place, chain([first], rows), naming, reading)
        kinds: tuple[str, ...] = (str(naming.kind),)
        judge = {}
        if reading.kind is None and naming.kind == 'responses' and 'correct' in names:
            kinds = ('labels', 'responses')
            judge = {'name': f'field {names["correct"]}'}
        return [Run(kinds, questions, judge=judge, where=place.row)]


def _questions(
    place: Place, rows: Iterator[tuple[int, Row]], naming: Naming, reading: Reading
) -> Iterator[Question]:
    parsers: dict[str, Callable[[About, Row, Mapping[str, str]], Question]] = {
        'responses': _responded,
        'labels': _labelled,
        'counts': _counted,
    }
    parse = parsers[str(naming.kind)]
    of, takes = naming.of, reading.takes
    for number, row in rows:
        try:
            names = of(row)
            asked = _about(number, row, names)
            question = parse(asked, row, names) if takes(asked) else None
        except InputError as error:
            raise InputError(f'{place.row(number)}: {error}') from error
        if isinstance(question, Responded):
            question = question._replace(places=((place.path, number),) * len(question.responses))
        if question is not None:
            yield question


class Names(NamedTuple):
    """Which field of a row holds what."""

    found: Mapping[str, str]
    """A key of `FIELDS` → its name in the row."""
    twins: tuple[tuple[str, str, str], ...]
    """(key, name, other name) where a row has two names of one thing; allowed while both hold the same."""


class Naming:
    """Finds the fields of rows; rows with the same names are looked at once.

    Args:
        given: a key of `FIELDS` → its name in this file, where that is not in the table, or to choose one.
        kind: one of `KINDS`, or None: that of the first row.
    """

    def __init__(self, given: Mapping[str, str], kind: str | None) -> None:
        self.given = given
        self.kind = kind
        self._why = 'the rows before it hold' if kind is None else 'it was to hold'
        self._shapes: dict[tuple[str, ...], Names] = {}
        if unknown := sorted(set(self.given) - set(FIELDS)):
            raise InputError(f'{unknown[0]!r} is no field; expected one of {", ".join(FIELDS)}')

    def of(self, row: Mapping[str, Any]) -> Mapping[str, str]:
        """Return which field of this row holds what: a key of `FIELDS` → its name.

        Raises:
            InputError: the row is of another kind, lacks what its kind needs, or says one thing twice.
        """
        shape = tuple(row)
        names = self._shapes.get(shape)
        if names is None:
            names = self._shapes[shape] = self._look(row)
        for key, name, other in names.twins:
            if row[name] != row[other]:
                raise InputError(
                    f'it has {name} and {other}, both names of the {key}, and they differ; '
                    f'say which one counts: --field {key}={name}'
                )
        return names.found

    def _look(self, row: Mapping[str, Any]) -> Names:
        found, twins = {}, []
        for key, spellings in FIELDS.items():
            wanted = (self.given[key],) if key in self.given else spellings
            taken = {name for other, name in self.given.items() if other != key}
            names = [name for name in wanted if name in row and name not in taken]
            if names:
                found[key] = names[0]
                twins += [(key, names[0], other) for other in names[1:]]
        self.kind = self.kind or _kind_of(found, row)
        self._check(found, row)
        used = (*KINDS[self.kind], 'uid', 'problem', 'split', 'language', 'answers', 'unjudged')
        return Names(found, tuple(twin for twin in twins if twin[0] in used))

    def _check(self, found: Mapping[str, str], row: Mapping[str, Any]) -> None:
        wanted = str(self.kind)
        missing = [key for key in KINDS[wanted] if key not in found]
        if not missing:
            return
        others = [kind for kind in _kinds_of(found) if kind != wanted]
        if KINDS[wanted][-1] in missing and others:
            raise InputError(
                f'it holds {others[0]}, where {self._why} {wanted}; a file holds one kind of row'
            )
        expected = [self.given.get(missing[0]), *FIELDS[missing[0]]]
        raise InputError(
            f'there is no {missing[0]}: expected one of {", ".join(filter(None, expected))} '
            f'(or give its name: --field {missing[0]}=…); there is {_shown_names(row)}'
        )


def _kinds_of(found: Mapping[str, str]) -> list[str]:
    return [kind for kind, needed in KINDS.items() if needed[-1] in found]


def _kind_of(found: Mapping[str, str], row: Mapping[str, Any]) -> str:
    kinds = _kinds_of(found)
    if not kinds:
        expected = ', or '.join(f'{kind} ({", ".join(needed)})' for kind, needed in KINDS.items())
        raise InputError(f'it is of no known kind: expected {expected}; there is {_shown_names(row)}')
    if kinds == ['responses', 'labels']:
        return 'responses'
    if len(kinds) > 1:
        held = ' and '.join(f'{kind} ({found[KINDS[kind][-1]]})' for kind in kinds)
        raise InputError(f'it holds {held}; say which to score: --as {" or --as ".join(kinds)}')
    return kinds[0]


def _shown_names(row: Mapping[str, Any]) -> str:
    names = [str(name)[:40] for name in list(row)[:20]]
    return ', '.join(names) + (', …' if len(row) > len(names) else '') if names else 'no field at all'


_SYMBOLS: dict[Any, str] = {
    True: '1',
    False: '0',
    None: '?',
    'correct': '1',
    'incorrect': '0',
    'unjudged': '?',
}
"""What a label may be (1 and 1.0 are True, 0 and 0.0 are False) → its symbol in a result record."""


def _about(number: int, row: Mapping[str, Any], names: Mapping[str, str]) -> About:
    """Return which question a row is; one without uid is called by its number."""
    found: list[str | None] = []
    for key in ('uid', 'problem', 'split', 'language'):
        value = row[names[key]] if key in names else None
        found.append(value if type(value) is str else _name(names.get(key, key), value))
    uid, problem, split, language = found
    return About(number, str(number) if uid is None else uid, problem, split or '', language or '')


def _counted(about: About, row: Mapping[str, Any], names: Mapping[str, str]) -> Counted:
    n, c = row[names['n']], row[names['c']]
    unjudged = row[names['unjudged']] if 'unjudged' in names else 0
    whole = type(n) is int and type(c) is int and type(unjudged) is int
    if whole and 0 <= c <= n - unjudged <= n and 1 <= n <= LARGEST_N:
        return Counted(about, n, c, unjudged)
    shown = f'n = {n!r:.40}, c = {c!r:.40}' + (f', unjudged = {unjudged!r:.40}' if unjudged else '')
    raise InputError(
        f'{shown}; expected whole numbers, 1 <= n <= {LARGEST_N} and 0 <= c <= n'
        + (' - unjudged' if unjudged else '')
    )


def _labelled(about: About, row: Mapping[str, Any], names: Mapping[str, str]) -> Sampled:
    verdicts = _verdicts(names['correct'], row[names['correct']])
    held = {'n': len(verdicts), 'c': verdicts.count('1'), 'unjudged': verdicts.count('?')}
    _refuse_contradictions(row, names, names['correct'], held)
    answers = None
    if 'answers' in names:
        given = _listed(names['answers'], row[names['answers']])
        answers = tuple('' if one is None else _text(names['answers'], one) for one in given)
        if len(answers) != len(verdicts):
            raise InputError(
                f'{len(verdicts)} labels and {len(answers)} {names["answers"]}; expected one of each a sample'
            )
    return Sampled(about, verdicts, answers)


def _responded(about: About, row: Mapping[str, Any], names: Mapping[str, str]) -> Responded:
    for key in ('question', 'reference'):
        if row[names[key]] is None:
            raise InputError(f'{names[key]} is null; expected a text')
    question, reference = (_text(names[key], row[names[key]]) for key in ('question', 'reference'))
    name = names['responses']
    given = _listed(name, row[name])
    if missing := [place for place, one in enumerate(given, 1) if one is None]:
        raise InputError(
            f'{len(missing)} of {len(given)} {name} are null, the first is number {missing[0]}: sample '
            'again what failed, or give "" where the model said nothing'
        )
    responses = tuple(_text(name, one) for one in given)
    if not responses:
        raise InputError(f'{name} is empty; expected the responses to the question')
    _refuse_contradictions(row, names, name, {'n': len(responses)})
    verdicts = _verdicts(names['correct'], row[names['correct']]) if 'correct' in names else ''
    if verdicts and len(verdicts) != len(responses):
        raise InputError(
            f'{len(responses)} {name} and {len(verdicts)} {names["correct"]}; expected one of each a sample'
        )
    return Responded(about, question, reference, responses, verdicts=verdicts)


def _refuse_contradictions(
    row: Mapping[str, Any], names: Mapping[str, str], samples: str, held: Mapping[str, int]
) -> None:
    """Raise InputError where a row says another n, c or unjudged than its field `samples` gives."""
    for key, count in held.items():
        told = row[names[key]] if key in names else None
        if isinstance(told, (int, float)) and not isinstance(told, bool) and told != count:
            raise InputError(
                f'{names[key]} = {told}, but {samples} gives {key} = {count}; are samples missing? Mend '
                f'the row, or take out {names[key]}'
            )


def _listed(name: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(
            f'{name} is a {type(value).__name__}; a row holds a question with the list of all its samples'
        )
    return value


def _text(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InputError(f'{name} holds a {type(value).__name__}; expected texts')
    if isinstance(value, float) and not isfinite(value):
        raise InputError(f'{name} holds {value}, which programs write where nothing is; expected texts')
    return str(value)


def _verdicts(name: str, value: object) -> str:
    if isinstance(value, str) and value and not value.strip('01?'):
        return value
    if not isinstance(value, list):
        raise InputError(f'{name} is {value!r:.60}; expected a label a sample, [true, false, …], or "10?1"')
    if not value:
        raise InputError(f'{name} is empty; expected a label a sample')
    try:
        return ''.join([_SYMBOLS[label] for label in value])
    except (KeyError, TypeError):
        bad = next(label for label in value if not _is_label(label))
        raise InputError(
            f'{name} holds {bad!r:.60}; a label is true or false, 1 or 0, "correct" or '
            '"incorrect", or null where nobody judged'
        ) from None


def _is_label(value: object) -> bool:
    return value is None or (isinstance(value, (bool, int, float, str)) and value in _SYMBOLS)


def _name(name: str, value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f'{name} is {value!r:.60}; expected a text or a whole number')
    return str(value)
