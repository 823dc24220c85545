"""One row, checked: counts, or a verdict a sample. Errors do not say which row; who reads the file does."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from ..arguments import LARGEST_N
from ..errors import InputError

_SYMBOLS: dict[Any, str] = {
    True: '1',
    False: '0',
    None: '?',
    'correct': '1',
    'incorrect': '0',
    'unjudged': '?',
}
"""What a label may be (1 and 1.0 are True, 0 and 0.0 are False) → its symbol in a result record."""


_UNKNOWN: dict[str, str | None] = dict.fromkeys(('uid', 'problem', 'split', 'language'))


class About(NamedTuple):
    """Which question a row is of."""

    number: int
    """Its line."""
    uid: str
    problem: str | None
    split: str
    language: str

    @property
    def group(self) -> str:
        """`{split}_{language}`, or what there is of it."""
        if self.split and self.language:
            return f'{self.split}_{self.language}'
        return self.split or self.language or 'all'


class Counted(NamedTuple):
    """A question of which only counts are known."""

    about: About
    n: int
    c: int
    unjudged: int


class Sampled(NamedTuple):
    """A question with a verdict a sample."""

    about: About
    verdicts: str
    """'1', '0' or '?' a sample, in the order of the samples."""
    answers: tuple[str, ...] | None
    """The final answer of each, '' where there is none; None where they are not known."""
    question: str = ''
    reference: str = ''


Question = Counted | Sampled


def about(number: int, row: Mapping[str, Any], names: Mapping[str, str]) -> About:
    """Of any row; a row without uid is called by its line.

    Raises:
        InputError: a field is neither a text nor a whole number.
    """
    found = dict(_UNKNOWN)
    for key in _UNKNOWN:
        if key in names:
            value = row[names[key]]
            found[key] = value if type(value) is str else _name(names[key], value)
    uid = found['uid']
    return About(
        number,
        str(number) if uid is None else uid,
        found['problem'],
        found['split'] or '',
        found['language'] or '',
    )


def counted(about: About, row: Mapping[str, Any], names: Mapping[str, str]) -> Counted:
    """A row of counts.

    Raises:
        InputError: no whole numbers with 0 ≤ c, 0 ≤ unjudged and c + unjudged ≤ n.
    """
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


def labelled(about: About, row: Mapping[str, Any], names: Mapping[str, str]) -> Sampled:
    """A row of labels, perhaps with answers.

    Raises:
        InputError: a label is none, there is no label, another number of answers, or counts say otherwise.
    """
    verdicts = _verdicts(names['correct'], row[names['correct']])
    held = {'n': len(verdicts), 'c': verdicts.count('1'), 'unjudged': verdicts.count('?')}
    refuse_contradictions(row, names, names['correct'], held)
    answers = None
    if 'answers' in names:
        answers = texts(names['answers'], row[names['answers']])
        if len(answers) != len(verdicts):
            raise InputError(
                f'{len(verdicts)} labels and {len(answers)} {names["answers"]}; expected one of each a sample'
            )
    return Sampled(about, verdicts, answers)


def refuse_contradictions(
    row: Mapping[str, Any], names: Mapping[str, str], samples: str, held: Mapping[str, int]
) -> None:
    """Raise InputError where a row says another n, c or unjudged than its samples give.

    Args:
        row, names: the row, and which field holds what.
        samples: the field that holds the samples.
        held: `FIELDS` key → what the samples give.
    """
    for key, count in held.items():
        told = row[names[key]] if key in names else None
        if isinstance(told, (int, float)) and not isinstance(told, bool) and told != count:
            raise InputError(
                f'{names[key]} = {told}, but {samples} gives {key} = {count}; are samples missing? Mend '
                f'the row, or take out {names[key]}'
            )


def texts(name: str, value: object) -> tuple[str, ...]:
    """Return a list of final answers: texts, numbers as they are written, '' for null (no answer).

    Raises:
        InputError: it is something else.
    """
    return tuple('' if one is None else _text(name, one) for one in _listed(name, value))


def responses(name: str, value: object) -> tuple[str, ...]:
    """Return the responses to a question: texts, and numbers as they are written.

    Raises:
        InputError: it is something else, or a response is null: a sample that failed is no wrong answer.
    """
    found = _listed(name, value)
    if missing := [place for place, one in enumerate(found, 1) if one is None]:
        raise InputError(
            f'{len(missing)} of {len(found)} {name} are null, the first is number {missing[0]}: sample '
            'again what failed, or give "" where the model said nothing'
        )
    return tuple(_text(name, one) for one in found)


def _listed(name: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(
            f'{name} is a {type(value).__name__}; a row holds a question with the list of all its samples'
        )
    return value


def text(name: str, value: object) -> str:
    """A question or a reference answer: a text or a number.

    Raises:
        InputError: it is something else.
    """
    if value is None:
        raise InputError(f'{name} is null; expected a text')
    return _text(name, value)


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
