r"""How many values an answer states, and whether two of them are the same number.

An answer of several values (`4, 5`, `4 \text{ or } 5`, `4或5`) is right only where as many are asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from .normal import ascii_latex, join_thousands, normal_form

_LONGEST_FORM = 200  # characters of a closed form
_FORM_TOKEN = re.compile(
    r'\s*([0-9]+(?:\.[0-9]+)?|\\(?:d|t|c)?frac|\\(?:sqrt|pi|cdot|times|div)(?![a-zA-Z])|[-+*/^(){}\[\]]|\S)'
)
_TIMES = {r'\cdot', r'\times', '*'}
_OVER = {r'\div', '/'}
_FRACTIONS = {r'\frac', r'\dfrac', r'\tfrac', r'\cfrac'}
_CLOSERS = {'(': ')', '{': '}', '[': ']'}


def evaluated(text: str) -> float | None:
    r"""Return the value of `text`, None where it is more than numbers, roots, powers, fractions and π.

    >>> evaluated(r'\frac{\sqrt{66}}{6}') == evaluated('2x'), round(evaluated(r'2\sqrt[3]{8} - 1') or 0, 6)
    (False, 3.0)
    """
    if len(text) > _LONGEST_FORM:
        return None
    reader = _Reader(_FORM_TOKEN.findall(text))
    try:
        value = reader.sum()
    except (ValueError, IndexError, ArithmeticError):
        return None
    return value if not reader.tokens and math.isfinite(value) else None


class _Reader:
    """Reads tokens from the front by the usual precedence; ValueError where they are no closed form."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens[::-1]

    def sum(self) -> float:
        value = self._signed()
        while self._next() in {'+', '-'}:
            value += self._signed()
        return value

    def _next(self) -> str:
        return self.tokens[-1] if self.tokens else ''

    def _signed(self) -> float:
        sign = 1.0
        while self._next() in {'+', '-'}:
            sign = -sign if self.tokens.pop() == '-' else sign
        return sign * self._product()

    def _product(self) -> float:
        value = self._power()
        while (token := self._next()) and token not in {'+', '-', ')', '}', ']'}:
            if token in _OVER:
                self.tokens.pop()
                value /= self._power()
            else:
                if token in _TIMES:
                    self.tokens.pop()
                value *= self._power()
        return value

    def _power(self) -> float:
        base = self._atom()
        if self._next() != '^':
            return base
        self.tokens.pop()
        return math.pow(base, self._signed_atom())

    def _signed_atom(self) -> float:
        if self._next() == '-':
            self.tokens.pop()
            return -self._atom()
        return self._atom()

    def _atom(self) -> float:
        token = self.tokens.pop()
        if token[0].isdigit() and token.isascii():
            return float(token)
        if token in {r'\pi', 'π'}:
            return math.pi
        if token in _CLOSERS:
            value = self.sum()
            if self.tokens.pop() != _CLOSERS[token]:
                raise ValueError(token)
            return value
        if token == r'\sqrt':
            degree = self._atom() if self._next() == '[' else 2.0
            return math.pow(self._atom(), 1 / degree)
        if token in _FRACTIONS:
            above = self._atom()
            return above / self._atom()
        raise ValueError(token)


_LONGEST = 1000  # characters of an answer that are searched for several values

_WRAPPER = re.compile(r'\\(?:text(?:bf|it|rm|normal)?|math(?:rm|bf)|mbox)\s*\{([^{}]*)\}')
_DELIMITER = re.compile(r'(?<!\\)\$|\\[()\[\]!]|\\(?:left|right|displaystyle)(?![a-zA-Z])|\*\*|`')
_BLANK = re.compile(r'\\[,;: ]|~|\s+')
_GAP = re.compile(r'\\q?quad(?![a-zA-Z])')
_DOUBT = r'(?:\s*(?:也?(?:可能|许)是?|maybe|possibly|perhaps|even|also)(?![a-zA-Z]))?'
_TOKEN = re.compile(
    r'\\[{}]|\\[a-zA-Z]+|[(\[{（【]|[)\]}）】]'
    r'|(?P<apart>,(?![0-9])|(?<![0-9]),|[;，、；]|(?<![a-zA-Z\\])(?:and|or|versus|vs\.?)(?![a-zA-Z])|&|以及|和|或者?是?|与|及)'
    + _DOUBT,
    re.IGNORECASE,
)
_CLOSING = frozenset({')', ']', '}', '）', '】', r'\}'})
_OPENING = frozenset({'(', '[', '{', '（', '【', r'\{'})

_LEAD = re.compile(
    r'^\s*(?:(?:either|both|maybe|possibly|perhaps|approximately|about|约|也?可能是?|是|为|即)(?![a-zA-Z])\s*|'
    r'(?:\\[a-zA-Z]+|[a-zA-Z])(?:_\{?\w{1,4}\}?|\([^()=]{1,40}\))?\s*=\s*)+',
    re.IGNORECASE,
)
_OPTION = re.compile(r'\(?[A-H]\)?')
_ALL_LETTERS = re.compile(r'[A-H]{1,8}')
_LETTER_SEPARATOR = re.compile(r'[\s,，、;；&.。()]|和|与|或|and|or')
_MAY_LIST = re.compile(
    r'[,;&、，；和或与及±∓]|以及|\\pm|\\mp|quad|(?:and|or|vs|versus)(?![a-zA-Z])', re.IGNORECASE
)
_RELATION = re.compile(
    r'[<>≤≥≠∈:|]|\\(?:leq?|geq?|leqslant|geqslant|neq?|in|notin|mid|to|dots|ldots|cdots)(?![a-zA-Z])|\.\.\.'
)
_WORD = re.compile(r'(?<![\\a-zA-Z])[a-zA-Z]{2,}|[\u4e00-\u9fff]+')
_MEASURED = re.compile(
    r'(?P<number>[-+]?(?:[0-9][0-9.,/]*|\\d?frac\{[^{}]*\}\{[^{}]*\}))\s*(?P<unit>(?:[a-zA-Z]{2,}|[\u4e00-\u9fff]+)(?:\s[a-zA-Z]+){0,2})\.?'
)
_SOLID = re.compile(r'[0-9]|\\(?:pi|infty|emptyset|sqrt|theta|alpha|beta)(?![a-zA-Z])|^[-+]?[a-zA-Z]$')
_PLUS_MINUS = re.compile(r'\\pm(?![a-zA-Z])|\\mp(?![a-zA-Z])|±|∓')
_TUPLE = re.compile(r'(?:\\\{|[(\[{]).*[,;].*(?:\\\}|[)\]}])', re.DOTALL)

_ANY_SEPARATOR = re.compile(
    r'[,;，、；&\n]|\\\\|\\cup|\\pm|\\mp|±|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z])|[和或与及]|(?<=[0-9])\s+(?=[-+]?[0-9])'
    r'|(?<=[0-9]\))\s*(?=\([0-9])|[\u2460-\u2473]|=',
    re.IGNORECASE,
)
_IN_BRACES = re.compile(r'\\\{(.*)\\\}', re.DOTALL)
_UNION = re.compile(r'\\cup(?![a-zA-Z])|∪')
_OPTIONS = re.compile(r'(?:\\text\{|\$)?[A-H]{2,8}\}?\$?')
_THOUSANDS = re.compile(r'[-+$\\]*[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?\$?')

_LIST = re.compile(r'[-+]?[0-9]+(?:,[-+]?[0-9]+){2,}')  # `1,2` may be a decimal

_NUMBER = re.compile(
    r'(?P<sign>[-+]?)(?:(?P<whole>[0-9]+)\s+)?(?:\\frac\{(?P<above>[0-9]+)\}\{(?P<below>[0-9]+)\}|(?P<over>[0-9]+)/(?P<under>[0-9]+))'
    r'|(?P<plain>[-+]?(?:[0-9]+(?:\.(?P<digits>[0-9]*))?|\.(?P<more>[0-9]+)))'
)
_NUMBER_UNIT = re.compile(
    r'\\?%|\^\s?(?:\\circ|\{\\circ\}|°)|\\circ|°|\\?\$|(?<![\\a-zA-Z])[a-zA-Z]{2,}(?:\s[a-zA-Z]+){0,3}\.?$|[\u4e00-\u9fff]{1,6}$'
)
_LONGEST_NUMBER = 60
_COMPARED = 20  # values that are held against one another
_ROUNDING = 1e-9
_LEAST_DIGITS = 2  # behind the point, below which a number is no rounded one


class _Number(NamedTuple):
    value: Fraction | float
    digits: int | None
    """Behind its decimal point, if it has one: it may be rounded."""
    percent: bool


def asks_for(reference: str, values: list[str]) -> int:
    """Return the most values that `reference` may be read as, by its separators.

    Args:
        reference: as it stands in the data set.
        values: those of the answer: where all of them are pairs or intervals, such are counted.
    """
    return _most(reference, bool(values) and all(_TUPLE.fullmatch(value.strip()) for value in values))


@lru_cache(maxsize=4096)
def _most(reference: str, tuples: bool) -> int:
    if _OPTIONS.fullmatch(reference.strip()):
        return len(reference.strip())
    if _THOUSANDS.fullmatch(reference.strip()):
        return 1
    if tuples:
        listed = _IN_BRACES.fullmatch(reference.strip().strip('$'))
        return len(_split(_UNION.sub(',', _plain(listed[1] if listed else reference))))
    separators = _ANY_SEPARATOR.findall(join_thousands(reference))
    equals = separators.count('=')
    return 1 + len(separators) - min(equals, 1)


def values_of(answer: str) -> list[str]:
    r"""Return the values that `answer` lists, each once; the whole of it where it is no list of values.

    A list in brackets is one value, and so are `2 hours and 5 minutes` and what holds words or conditions.

    >>> values_of(r'x = 4 \text{ or } x = 5'), values_of('(4, 5)'), values_of('5, which is odd')
    (['4', '5'], ['(4, 5)'], ['5, which is odd'])
    """
    if len(answer) > _LONGEST or not _MAY_LIST.search(answer):
        return [answer]
    return list(_values(answer))


@lru_cache(maxsize=4096)  # n samples of a question give few answers
def _values(answer: str) -> Sequence[str]:
    parts = [_LEAD.sub('', part).strip(' .。:：') for part in _split(_plain(answer))]
    parts = [part for part in parts if part]
    if len(parts) > 1 and (not all(map(_is_value, parts)) or _is_one_measure(parts)):
        return [answer]
    if len(parts) == 2 and len(list(filter(is_option, parts))) == 1:
        return [answer]
    if any(_PLUS_MINUS.search(part) for part in parts) and not any(map(_TUPLE.fullmatch, parts)):
        parts = [_PLUS_MINUS.sub(sign, part) for part in parts for sign in '+-']
    return distinct(parts) if len(parts) > 1 else [answer]


def distinct(answers: list[str]) -> list[str]:
    """Return `answers` without repetitions; of two spellings of one value the last counts."""
    if len(answers) < 2:
        return answers
    kept: dict[str, str] = {}
    names: dict[str, str] = {}
    numbers: list[tuple[_Number, str]] = []
    for answer in answers:
        name, form, number = _name(answer), normal_form(_LEAD.sub('', answer)), _number(answer)
        if number is not None:
            same = next(((seen, known) for seen, known in numbers[-_COMPARED:] if _same(seen, number)), None)
            form = same[1] if same else form
            numbers.append((number, form))
            if same and form in kept and number.digits is not None and same[0].digits is None:
                continue  # an exact value stands for what it is rounded to
        if name and names.setdefault(form, name) != name:
            form = f'{name}{form}'  # x = 2 and y = 2
        kept[form] = answer
    return list(kept.values())


def _name(answer: str) -> str:
    lead = _LEAD.match(answer)
    return normal_form(lead[0]) if lead and '=' in lead[0] else ''


def covering(answers: list[str]) -> list[str]:
    r"""Return the last of `answers` that lists all the values of the others, alone; else all of them.

    >>> covering(['3', '4', '3, 4']), covering(['BC', 'B', 'C']), covering(['3', '4'])
    (['3, 4'], ['BC'], ['3', '4'])
    """
    if not 1 < len(answers) <= _COMPARED:
        return answers
    listed = [_listed(answer) for answer in answers]
    every = len(distinct([value for values in listed for value in values]))
    whole = [answer for answer, values in zip(answers, listed, strict=True) if len(distinct(values)) == every]
    return whole[-1:] or answers


def letter_first(answers: list[str]) -> list[str]:
    """Return `answers` with the letter of an option before all else, if there is just one."""
    letters = [answer for answer in answers if is_option(answer)]
    return letters + [answer for answer in answers if answer not in letters] if len(letters) == 1 else answers


def is_option(answer: str) -> bool:
    """Return whether `answer` is the letter of an option."""
    return bool(_OPTION.fullmatch(_plain(answer).strip(' .')))


def alike(one: str, other: str) -> bool:
    r"""Return whether two answers are one in another spelling: `5`, `x = 5`, `5 \text{ cm}`; `0.5`, `50\%`.

    It knows plain numbers and spelling, no mathematics.
    """
    if _letters(one) or _letters(other):
        return _letters(one) == _letters(other)
    return any(len(distinct([left, right])) == 1 for left in _sides(one) for right in _sides(other))


def repeats(stated: str, answer: str) -> bool:
    """Return whether each value of `stated` is one of `answer`, in whatever spelling."""
    if alike(stated, answer):
        return True
    ours, theirs = _listed(stated), _listed(answer)
    return len(theirs) > 1 and all(any(alike(value, other) for other in theirs) for value in ours[:_COMPARED])


def is_plain_number(answer: str) -> bool:
    """Return whether `answer` is a whole number, a decimal or a fraction, perhaps with a unit."""
    return _number(answer) is not None


def _listed(answer: str) -> list[str]:
    return list(_letters(answer)) or values_of(answer)


def _letters(answer: str) -> str:
    """Return the letters of options that `answer` consists of, in their order; '' if it is anything else."""
    text = _LETTER_SEPARATOR.sub('', _plain(answer))
    return ''.join(sorted(text)) if _ALL_LETTERS.fullmatch(text) else ''


def _sides(answer: str) -> list[str]:
    return [answer, *re.split(r'=|\\approx|≈', answer)[-3:]]


def _plain(answer: str) -> str:
    text = _WRAPPER.sub(r' \1 ', join_thousands(answer).replace(r'\$', ''))
    text = _BLANK.sub(' ', _GAP.sub(' ; ', _DELIMITER.sub(' ', text))).strip()
    return text.replace(',', ', ') if _LIST.fullmatch(text) and not _THOUSANDS.fullmatch(text) else text


def _split(text: str) -> list[str]:
    """Split at the separators that stand in no brackets."""
    parts, start, depth = [], 0, 0
    for token in _TOKEN.finditer(text):
        if token[0] in _OPENING:
            depth += 1
        elif token[0] in _CLOSING:
            depth = max(0, depth - 1)
        elif token['apart'] and not depth:
            parts.append(text[start : token.start()])
            start = token.end()
    return [part for part in [*parts, text[start:]] if part.strip()]


def _is_value(part: str) -> bool:
    if _OPTION.fullmatch(part) or _MEASURED.fullmatch(part):
        return True
    if _RELATION.search(part) or '=' in part or _WORD.search(part):
        return False
    return bool(_SOLID.search(part))


def _is_one_measure(parts: list[str]) -> bool:
    """Whether each part has a unit of its own, as in 2 hours and 5 minutes."""
    units = [measured['unit'] for part in parts if (measured := _MEASURED.fullmatch(part))]
    return len(units) == len(parts) == len(set(units))


def _number(answer: str) -> _Number | None:
    text = answer.strip()
    if len(text) > _LONGEST_NUMBER:
        return None
    text = _LEAD.sub('', ascii_latex(_plain(text))).replace(r'\dfrac', r'\frac').replace(r'\tfrac', r'\frac')
    text = re.sub(r'\\frac\s?([0-9])\s?([0-9])', r'\\frac{\1}{\2}', text)
    percent = '%' in text
    text = _NUMBER_UNIT.sub('', text.strip(' .')).strip(' .')
    if _THOUSANDS.fullmatch(text):
        text = text.replace(',', '')
    if not (found := _NUMBER.fullmatch(text)):
        value = evaluated(text)
        return None if value is None else _Number(value, None, percent)
    if found['plain']:
        digits = found['digits'] or found['more']
        return _Number(Fraction(found['plain'].rstrip('.')), len(digits) if digits else None, percent)
    below = int(found['below'] or found['under'])
    if not below:
        return None
    fraction = int(found['whole'] or 0) + Fraction(int(found['above'] or found['over']), below)
    return _Number(-fraction if found['sign'] == '-' else fraction, None, percent)


def _same(one: _Number, other: _Number) -> bool:
    """Whether two are equal, a percentage and its number, or a decimal and what it rounds."""
    if one.value == other.value or _close(one.value, other.value):
        return True
    if one.percent != other.percent and (one.value * 100 == other.value or one.value == other.value * 100):
        return True
    if one.digits == other.digits:
        return False
    digits = min(number.digits for number in (one, other) if number.digits is not None)
    return digits >= _LEAST_DIGITS and abs(float(one.value) - float(other.value)) < 10**-digits


def _close(one: Fraction | float, other: Fraction | float) -> bool:
    """Whether one of them is a root or a multiple of π, and the other the same."""
    inexact = isinstance(one, float) or isinstance(other, float)
    return inexact and math.isclose(one, other, rel_tol=_ROUNDING)
