"""Whether an answer says what its reference says: read, typed, compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from .choices import chosen_in, letters_of
from .comparison import best_of, by_rule
from .equality import Equality
from .expressions import Expression, Number, symbols
from .parse import read
from .rules import ALL_RULES
from .statements import concluded_number, stated_formula
from .tokens import Unread
from .values import Formula, Text, Value

_WORDS = re.compile('[^\\W\\d_]{2,}[ ,،]|[\u4e00-\u9fff]{3}')
_UNREAD = 'unread'
_NO_OPTIONS: Mapping[str, str] = {}


class Answered(NamedTuple):
    """What comparing an answer with its reference came to."""

    equal: bool | None
    """None: still to be proven, for each pair of expressions in `open`."""
    kind: str
    """The type that decided: 'number', 'set', 'choice', …; 'unread' where a side could not be read."""
    rules: frozenset[str] = frozenset()
    open: tuple[tuple[Expression, Expression], ...] = ()


def compare_answers(
    reference: str,
    answer: str,
    *,
    options: Mapping[str, str] = _NO_OPTIONS,
    rules: frozenset[str] = ALL_RULES,
) -> Answered:
    r"""Return whether `answer` says what `reference` says.

    Args:
        reference, answer: final answers, LaTeX or plain, English or Chinese.
        options: those of a choice, letter by letter (`options_of` the question).
        rules: the lenient rules that are allowed, see `rules.RULES`.

    >>> compare_answers(r'\frac{1}{2}', '0.5').equal, compare_answers('5 cm', '5').rules
    (True, frozenset({'unit-missing'}))
    >>> compare_answers('B', 'blue', options={'A': 'red', 'B': 'blue'})[:2]
    (True, 'choice')
    """
    if (choice := _choice(reference, answer, options, rules)) is not None:
        return choice
    return _compare_values(reference, answer, rules)


def _compare_values(reference: str, answer: str, rules: frozenset[str]) -> Answered:
    equality = _equality(rules)
    expected, given = _read(reference), _read(answer)
    compared = best_of(equality.compare(ours, theirs) for ours in expected for theirs in given)
    if compared.equal is False and 'stated' in rules and _WORDS.search(answer):
        stated = best_of(
            equality.compare(ours, theirs) for ours in expected for theirs in _stated(ours, answer)
        )
        compared = by_rule('stated', stated)
    kind = _kind(expected[0])
    if compared.equal is False and isinstance(expected[0], Text) | isinstance(given[0], Text):
        kind = _UNREAD
    return Answered(compared.equal, kind, compared.rules, compared.open)


@lru_cache(maxsize=8)
def _equality(rules: frozenset[str]) -> Equality:
    return Equality(rules)


@lru_cache(maxsize=4096)  # every sample of a question is compared with one reference, many say the same
def _read(text: str) -> tuple[Value, ...]:
    try:
        return read(text)
    except (Unread, RecursionError, ValueError):  # of more brackets or digits than Python can take
        return (Text((text,)),)


def _stated(reference: Value, answer: str) -> Iterator[Value]:
    """What the last sentence of the answer says that something is."""
    said = [stated_formula(answer)]
    if isinstance(reference, Formula) and isinstance(reference.expression, Number):
        said.append(concluded_number(answer))
    for text in filter(None, said):
        for value in _read(text):
            if not isinstance(value, Text):
                yield value


def _kind(value: Value) -> str:
    if isinstance(value, Formula):
        return 'number' if next(symbols(value.expression), None) is None else 'expression'
    return type(value).__name__.lower()


def _choice(
    reference: str, answer: str, options: Mapping[str, str], rules: frozenset[str]
) -> Answered | None:
    """The verdict where the reference or the answer is a letter of a choice; None where neither is."""
    expected, given = letters_of(reference), letters_of(answer)
    if expected and given:
        return Answered(expected == given, 'choice')
    if expected:
        return _letter_against_text(expected, answer, options, rules)
    if given and len(given) == 1:
        [letter] = given
        chosen = chosen_in(reference)
        if chosen:
            return Answered(chosen[0] == letter, 'choice')
        if letter in options:
            return _as_choice(_compare_values(reference, options[letter], rules))
    return None


def _letter_against_text(
    expected: frozenset[str], answer: str, options: Mapping[str, str], rules: frozenset[str]
) -> Answered | None:
    if len(expected) != 1:
        return None
    [letter] = expected
    chosen = chosen_in(answer)
    if chosen:
        return Answered(chosen[0] == letter, 'choice')
    if letter not in options:
        return None
    found = {name: _compare_values(text, answer, rules) for name, text in options.items()}
    equal = [name for name, compared in found.items() if compared.equal is not False]
    return _as_choice(found[letter]) if equal == [letter] else Answered(False, 'choice')


def _as_choice(compared: Answered) -> Answered:
    return compared._replace(kind='choice')
