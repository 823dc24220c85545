r"""Whether an answer says what its reference says: options of a choice, typed values, a last sentence.

A value of one type equals one of another only where a rule says so. Each lenient rule has an id in `RULES`
and holds only if it is among those allowed.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from .choices import UNWRAPPED, chosen_in, in_capitals, letters_of, options_of, stated_in
from .formula import Unread
from .normal import normal_form
from .numeric import INFINITY, Call, Expression, Number, Symbol, equal, ratio, rational, renamed, value_of
from .read import Reading, read
from .values import DEGREES, PAIRS, PERCENT, RADIANS, REALS, Amount, Named, Relation, Several, Value, Words

RULES: Mapping[str, str] = {
    'asked': 'what the question asks for as the name of the value: m + n = 75, 75',
    'bound-names': 'a function of a variable with another name: f(z) = z, f(x) = x',
    'chain': 'the last member of a chain that holds: 2^{10} = 1024, 1024',
    'half-day': 'a.m. or p.m. on one side only: 4:30 p.m., 16:30',
    'list-as-set': 'values without brackets, and the same in braces: 2, 5 and {2, 5}',
    'list-as-tuple': 'values without brackets, and the same in an order: 2, 5 and (2, 5)',
    'list-order': 'values without brackets in another order: 2, 5 and 5, 2',
    'long-decimal': 'a decimal of ten digits or more for an exact value: 1.5707963268, π/2',
    'name-missing': 'the name of a value on one side only: x = 5, 5',
    'percent-sign': 'the percent sign on one side only: 28 %, 28',
    'ratio-as-fraction': 'a ratio as a quotient: 1:2, 1/2',
    'remark': 'words behind a value that restrict nothing: 2n for all n, 2n',
    'rounded': 'an exact value without end for the decimal of the reference, of three digits: 2/3 for 0.667',
    'stated': 'the value in a sentence that says or concludes it: "the area is $5$", 5',
    'unit-missing': 'the unit, or what is counted, on one side only: 5 cm, 5',
}
"""Each lenient rule by its id, with an example."""


class Answered(NamedTuple):
    """What comparing an answer with its reference came to."""

    equal: bool
    kind: str
    """The type that decided: 'number', 'set', 'choice', …; 'unread' where a side could not be read."""
    rules: frozenset[str] = frozenset()
    """The lenient rules that were needed."""


def compare_answers(
    reference: str, answer: str, *, question: str = '', rules: frozenset[str] = frozenset(RULES)
) -> Answered:
    r"""Return whether `answer` says what `reference` says: final answers, LaTeX or plain, English or Chinese.

    Args:
        question: its options, the expressions that it asks for, and whether it asks for a percentage or says
            to round count; '' where it is not known.
        rules: the lenient rules that are allowed, of `RULES`.

    >>> compare_answers(r'\frac{1}{2}', '0.5').equal, compare_answers('5 cm', '5').rules
    (True, frozenset({'unit-missing'}))
    >>> compare_answers('B', 'blue', question='(A) red (B) blue')[:2]
    (True, 'choice')
    """
    asks_percent = bool(_PERCENTAGE.search(question)) if question else None
    reference, answer = (in_capitals(text, question) for text in (reference, answer))
    if _names_another(answer, question):
        rules -= {'name-missing'}
    equality = Equality(rules, asks_percent, bool(_ROUNDING.search(question)))
    if (choice := equality.choice(reference, answer, options_of(question))) is not None:
        return choice
    answered = equality.texts(reference, answer)
    if answered.equal:
        return answered
    (bare, ours), (said, theirs) = _without_remark(reference), _without_remark(answer)
    restricts = theirs not in {'', ours} and re.search(r'\\mathbb|\\ge', theirs + ours)
    for rule, one, other in (
        ('asked', reference, _wanted(answer, question)),
        ('remark', reference, said),
        ('remark', reference if restricts else bare, said),
    ):
        if not answered.equal and rule in rules and (one, other) != (reference, answer):
            answered = equality.texts(one, other, rule)
    return answered


def is_read(text: str) -> bool:
    """Return whether a text is read as a value, or as the letter of an option."""
    return letters_of(text) is not None or not _is_text(read_answer(text)[0].value)


@lru_cache(maxsize=8192)  # every sample of a question is compared with one reference, many say the same
def read_answer(text: str) -> tuple[Reading, ...]:
    """Return the readings of a text, whatever it is."""
    try:
        return read(text)
    except (Unread, RecursionError, ValueError):  # of more brackets or digits than Python can take
        return (Reading(Words('text', (text,))),)


def _is_text(value: Value) -> bool:
    return isinstance(value, Words) and value.kind == 'text'


# What a question asks for, and remarks

_PERCENTAGE = re.compile(r'(?<![0-9])(?<![0-9][ -])(?:percent|\\?%|百分)', re.IGNORECASE)
_ROUNDING = re.compile(
    r'\bround|\bnearest|decimal place|significant (?:digit|figure)|近似|保留|精确到|四舍五入', re.IGNORECASE
)
_ASKS = re.compile(r'(?i:find|compute|determine|evaluate|calculate|what\s(?:is|are)|the\svalue\sof)|求|计算')
_UNKNOWN = re.compile(  # all that the question asks for
    r'(?:(?i:\b(?:find|determine|compute|evaluate|calculate|solve\sfor|value\sof|what\sis))\s+(?i:the\svalue\sof\s+)?|求\s*)'
    r'(?:\$([^$]{1,60})\$|\\\(([^$]{1,60})\\\)|(?![a-zA-Z]{2})(\S{1,30}?))\s*(?:的值\s*)?(?:[.?。]\s*)?\Z'
)
_SENTENCE = re.compile(r'[.?!。？！](?:\s|$)')
_MATH_IN = re.compile(r'\$([^$]{1,200})\$|\\\((.{1,200}?)\\\)')
_SPACE = re.compile(r'(?:\\[ ,;:]|\\q?quad(?![a-zA-Z])|~|\s)+')
_INDEX = r'[nkm](?![a-zA-Z])\s*(?:\\in\s*\\mathbb\s*\{?[NZ]\}?[_^]?\{?[+*]?\}?|\\geq?\s*[01](?![0-9]))'
_REMARK = re.compile(
    r'[\s,;，(（]*(?:(?:(?:is|are|being)\s)?(?:the\s)?(?:only|unique)\s(?:real\s|possible\s)?(?:solution|answer|root|value)s?'
    r'|(?:is|are)\sthe\s(?:final\s)?(?:answer|solution)s?'
    r'|(?:where\s)?[a-zA-Z]\sis\s(?:an?|any)\s(?:arbitrary\s)?(?:real\s)?constant'
    r'|only|(?:where\s)?[nkm]\sis\sa\s(?:positive\s|natural\s)?(?:integer|number)'
    r'|(?:holds?\s)?(?:(?:for|where|with)\s(?:all|every|any|each)|\\forall)(?:\s(?:real\s(?:numbers?)?|reals?|numbers?|constants?)(?![a-z]))?'
    r'(?:\s*\$?\s*[a-zA-Z](?![a-zA-Z])\s*(?:\\in\s*\\mathbb\s*\{?R\}?)?\$?)?'
    r'|(?:for|where|with)\s(?:all|every|any|each)(?:\s(?:natural|positive))?(?:\s(?:numbers?|integers?))?'
    rf'\s*\$?\s*(?:[nkm](?![a-zA-Z])|{_INDEX})\s*\$?'
    rf'|(?:where\s|for\s)?\$?{_INDEX}\s*\$?)[\s)）.]*\Z'
)


def _without_remark(answer: str) -> tuple[str, str]:
    """Return an answer without a remark behind it that restricts nothing, and that remark without blanks."""
    plain = _SPACE.sub(' ', UNWRAPPED.sub(r' \1 ', answer).replace('∈', r'\in '))
    remark = _REMARK.search(plain)
    if not remark or not remark.start():
        return answer, ''
    return plain[: remark.start()], re.sub(r'[\s,;，()（）.${}]', '', remark[0])


def _names_another(answer: str, question: str) -> bool:
    """Return whether an answer names another unknown than the question asks for: x = 3 is no y, and no √x."""
    asked = _UNKNOWN.search(question) if '=' in answer else None
    if asked is None:
        return False
    wanted = asked[asked.lastindex or 0]
    match [read_answer(text)[0].value for text in (answer.partition('=')[0], wanted)]:
        case [Amount(Symbol(name)), Amount(Symbol(other))]:
            return name != other and len(name) == len(other) == 1
        case [Amount(Symbol(name)), Amount(expression)]:  # the P of P(A) is no factor
            return name in expression.variables and not re.fullmatch(r'\(\w\)', wanted.removeprefix(name))
        case [Amount(Call(name) as one), Amount(Call(other) as two)]:
            return name == other and not equal(one, two)
    return False


def _wanted(answer: str, question: str) -> str:
    """Return what an answer says of an expression that the question asks for by itself, or is worth."""
    name, equals, value = answer.partition('=')
    expressions = _asks_for(question) if equals else ()
    if normal_form(name) in expressions:
        return value
    values = [read_answer(text)[0].value for text in (name, *expressions)] if expressions else [None]
    one, *others = [value.expression if isinstance(value, Amount) else None for value in values]
    return value if one and one.variables and any(other and equal(one, other) for other in others) else answer


@lru_cache(maxsize=4096)
def _asks_for(question: str) -> frozenset[str]:
    """Return the expressions behind a verb that asks, up to the end of its sentence, in normal form."""
    sentences = [_SENTENCE.split(question[verb.end() :], maxsplit=1)[0] for verb in _ASKS.finditer(question)]
    return frozenset(normal_form(one or other) for said in sentences for one, other in _MATH_IN.findall(said))


# Values

Rules = frozenset[str] | None
"""The lenient rules by which two values are equal; None where they differ."""
_EXACTLY: Rules = frozenset()
_WORDS = re.compile('[^\\W\\d_]{2,}[ ,，:：]|[\u4e00-\u9fff]{3}')
_MARKS = re.compile(r'[{}\\]|angle|triangle')  # of a name
_LONG = 10  # digits of a decimal that was not rounded
_MOST_ITEMS = 50  # of a list that is searched for what it says twice in two spellings


def _all_of(compared: Iterable[Rules]) -> Rules:
    """Return the rules by which all are equal; stops at the first difference."""
    rules: frozenset[str] = frozenset()
    for one in compared:
        if one is None:
            return None
        rules |= one
    return rules


def _first_of(compared: Iterable[Rules]) -> Rules:
    return next((one for one in compared if one is not None), None)


@dataclass(frozen=True)
class Equality:
    """Compares values, the first one that of the reference, with the lenient rules that are allowed."""

    rules: frozenset[str] = frozenset()
    asks_percent: bool | None = None
    """Whether the question asks for a percentage; None: there is no question."""
    asks_rounded: bool = False
    """Whether it says to round."""

    def _by(self, rule: str, compared: Rules = _EXACTLY) -> Rules:
        """Return what was compared with a rule that it needed, if that is allowed."""
        return None if compared is None or not {rule} <= self.rules | {''} else compared | ({rule} - {''})

    def texts(self, reference: str, answer: str, rule: str = '') -> Answered:
        """Compare two answers that are no choice, read so by a rule."""
        expected, given = read_answer(reference), read_answer(answer)
        compared = _first_of(
            self._by(ours.rule, self._by(theirs.rule, self.values(ours.value, theirs.value)))
            for ours, theirs in product(expected, given)
        )
        first = expected[0].value
        kind = first.kind if isinstance(first, Several | Words) else type(first).__name__.lower()
        counts = False
        if isinstance(first, Amount):
            kind = 'expression' if first.expression.variables else 'number'
            kind = kind if first.unit in {None, PERCENT} else 'quantity'
            counts = kind == 'number' and isinstance(first.expression, Number)
        if compared is None and _WORDS.search(answer):
            stated = [one for text in stated_in(answer, counts) for one in read_answer(text)]
            pairs = product(expected, [one for one in stated if not _is_text(one.value)])
            compared = self._by(
                'stated', _first_of(self.values(ours.value, one.value) for ours, one in pairs)
            )
        if compared is None and (_is_text(first) or _is_text(given[0].value)):
            kind = 'unread'
        kind = 'pair' if kind in PAIRS else kind
        return Answered(False, kind) if compared is None else Answered(True, kind, compared | ({rule} - {''}))

    def choice(self, reference: str, answer: str, options: Mapping[str, str]) -> Answered | None:
        """Compare where the reference or the answer is a letter of a choice; return None where neither is."""
        expected, given = letters_of(reference), letters_of(answer)
        chosen = chosen_in(reference, options) if expected is None and (options or given) else None
        if chosen and chosen[2]:
            expected = frozenset(chosen[0])
        if expected and given:
            return Answered(expected == given, 'choice')
        if expected is None and given and len(given) == 1:
            [letter] = given
            if chosen:
                return Answered(chosen[0] == letter, 'choice')
            known = letter in options
            return self.texts(reference, options[letter])._replace(kind='choice') if known else None
        if expected is None and options and (theirs := chosen_in(answer, options)) and theirs[2]:
            return self.texts(reference, theirs[1])  # 5, and (B) 5
        if not expected or len(expected) != 1:
            return None
        [letter] = expected
        if theirs := chosen_in(answer, options):
            right, said = theirs[0] == letter, theirs[1]
            if right and said and letter in options and not self.texts(options[letter], said).equal:
                right = not any(self.texts(other, said).equal for other in options.values())
            return Answered(right, 'choice')
        if letter not in options:
            return None
        same = {name: one for name, text in options.items() if (one := self.texts(text, answer)).equal}
        alone = [*same] == [letter]
        return Answered(alone, 'choice', same[letter].rules if alone else frozenset())

    def values(self, reference: Value, answer: Value) -> Rules:  # noqa: C901
        """Compare any two values."""
        if reference == answer:
            return _EXACTLY
        match reference, answer:
            case Named(), Named() if _same_name(reference, answer):
                return self.values(reference.value, answer.value)
            case Named(), Named() if (same := _renamed(answer, reference)) is not None:
                return self._by('bound-names', self.values(reference.value, same))
            case Named() | Relation(), Named() | Relation():
                return self._relations(reference, answer)
            case (Several('list'), _) | (_, Several('list')):
                return self._lists(reference, answer)
            case (Named(value=ours), theirs) | (ours, Named(value=theirs)):
                unnamed = self._by('name-missing', self.values(ours, theirs))
                return self._regions(reference, answer) if unnamed is None else unnamed
            case Amount(), Amount():
                return self._amounts(reference, answer)
            case Several('ratio', ours), Several('ratio', theirs):
                mine, others = (
                    [one.expression for one in terms if isinstance(one, Amount)] for terms in (ours, theirs)
                )
                if len(ours) == len(theirs) and not any(rational(term) == 0 for term in (*mine, *others)):
                    pairs = zip(mine, others, strict=True)
                    return _all_of(self.expressions(mine[0] * two, one * others[0]) for one, two in pairs)
                return self.ordered(ours, theirs)
            case Several(kind, ours), Several(other, theirs) if kind == other != 'union':
                inside = replace(self, rules=self.rules - {'list-as-set'})  # {1, 2} is not {{1}, 2}
                compare = inside.unordered if kind in {'set', 'piecewise'} else inside.ordered
                return compare(ours, theirs)
        mixed = self._mixed(reference, answer, 1)
        mixed = self._mixed(answer, reference, -1) if mixed is None else mixed
        return self._regions(reference, answer) if mixed is None else mixed

    def _mixed(self, one: Value, other: Value, turn: int) -> Rules:
        """Compare values of two types; the second is the reference if they were turned round (-1)."""
        match one, other:
            case Words('phrase', ('nothing',)), Several('set', ()):
                return _EXACTLY
            case Words('time', words), Several('ratio', items):
                clock = tuple(Amount(Number(int(word))) for word in words)
                return self._by('half-day') if items in (clock, (*clock, Amount(Number(0)))) else None
            case Several('ratio', (Amount(above), Amount(below))), Amount(expression, None):
                return self._by('ratio-as-fraction', self.expressions(*(above / below, expression)[::turn]))
            case Several('set', (single,)), Amount() | Several('()' | 'tuple'):
                return self._by('list-as-set', self.values(*(single, other)[::turn]))
        return None

    def expressions(self, reference: Expression, answer: Expression) -> Rules:
        """Compare two expressions, of which one may be a decimal of the other: long, or rounded."""
        if equal(reference, answer):
            return _EXACTLY
        ours, theirs = (one.digits if isinstance(one, Number) else None for one in (reference, answer))
        by_reference = ours is not None
        if ours is not None and theirs is not None:
            # A long one was not rounded: it is as good as the exact value.
            if theirs < _LONG or ours == theirs:
                return None
            by_reference = ours < theirs
        decimal, exact = (reference, answer) if by_reference else (answer, reference)
        value = None if exact.variables else value_of(exact)
        if value is None or not isinstance(decimal, Number) or not decimal.digits:
            return None
        unit, slack, shown = 10.0**-decimal.digits, abs(value) * 4e-15, value_of(decimal)
        apart, is_long = abs(value - shown), decimal.digits >= _LONG
        cut = is_long and apart < unit + slack and abs(shown) < abs(value)
        if apart > unit / 2 + slack and not cut:
            return None
        if is_long:
            return self._by('long-decimal')
        # A decimal of few digits may be a mistake, and so may one of a value that could be said in full.
        least = 2 if self.asks_rounded or (theirs or 0) >= _LONG else 3
        figures = len(str(abs(int(decimal.value * 10**decimal.digits))))
        fraction = rational(exact) if theirs is None else None
        ends = fraction is not None and (_has_decimals(exact) or 10**2000 % fraction.denominator == 0)
        return self._by('rounded') if by_reference and figures >= least and not ends else None

    def _amounts(self, reference: Amount, answer: Amount) -> Rules:
        """Compare numbers and quantities: 50 % and 90° are numbers too, `3 m` may be three times m."""
        ours, theirs = reference.unit, answer.unit
        as_written = None
        if ours is None or theirs is None:
            as_written = self.expressions(reference.expression, answer.expression)
        if ours == theirs is None:
            return as_written
        if reference.product and theirs is None and answer.expression.variables:
            return self.expressions(reference.product, answer.expression)
        if answer.product and ours is None and reference.expression.variables:
            return self.expressions(reference.expression, answer.product)
        numbers = {None, PERCENT.dimension, DEGREES.dimension}
        dimensions = {unit and unit.dimension for unit in (ours, theirs)}
        if dimensions <= numbers or len(dimensions) == 1:
            same = self.expressions(reference.worth, answer.worth)
            if same is not None:
                return same
        if (ours and theirs) or RADIANS in (ours, theirs):
            return None
        if PERCENT not in (ours, theirs):
            return self._by('unit-missing', as_written)
        # The sign may be missing only where the question, or without one the reference, is of percentages.
        wanted = self.asks_percent or (self.asks_percent is None and ours == PERCENT)
        return self._by('percent-sign', as_written) if wanted else None

    def ordered(self, reference: Sequence[Value], answer: Sequence[Value]) -> Rules:
        """Compare each with the one in its place."""
        return _all_of(map(self.values, reference, answer)) if len(reference) == len(answer) else None

    def unordered(self, reference: Sequence[Value], answer: Sequence[Value]) -> Rules:
        """Compare whether each of one is one of the other, repetitions left out."""
        reference, answer = distinct(reference), distinct(answer)
        if len(reference) != len(answer):
            return None
        left, rules = [value for value in answer if value not in reference], frozenset[str]()
        for ours in [value for value in reference if value not in answer]:
            same = [(one, theirs) for theirs in left if (one := self.values(ours, theirs)) is not None]
            if not same:
                return None
            best, theirs = min(same, key=lambda one: len(one[0]))
            left.remove(theirs)
            rules |= best
        return rules

    def _lists(self, reference: Value, answer: Value) -> Rules:
        """Compare bare lists, or a bare list with anything else."""
        sides = (reference, answer)
        lists = [one for one in sides if isinstance(one, Several) and one.kind == 'list']
        other = next((one for one in sides if one not in lists), None)
        ours, theirs = _items(reference), _items(answer)
        same: list[Rules] = []
        names = {_MARKS.sub('', item.name) for item in (*ours, *theirs) if isinstance(item, Named)}
        bare = [getattr(item, 'expression', item) for item in (*ours, *theirs)]
        loose = len(names) > 1 or any(isinstance(one, Relation | Symbol) for one in bare)
        # One says `and`, the other `or`: they may be just the values of one unknown.
        if not loose or {one.joined_by for one in lists} != {'and', 'or'}:
            named = all(isinstance(item, Named) for item in (*ours, *theirs))
            in_order = self.ordered(ours, theirs)
            any_order = self.unordered(ours, theirs) if len(names) < 2 or named else None
            match other:
                case None | Named():
                    free = named or any(one.joined_by == 'or' for one in lists)
                    same = [in_order, any_order if free else self._by('list-order', any_order)]
                case Several(kind) if kind in PAIRS or kind == 'tuple':
                    same = [self._by('list-as-tuple', in_order)]
                case Several('set'):
                    same = [self._by('list-as-set', any_order)]
        singles = [distinct(one.items) if one in lists else [one] for one in sides]
        if all(len(items) == 1 and items[0] not in lists for items in singles):
            same.append(self.values(singles[0][0], singles[1][0]))  # one thing said in several ways
        best = _first_of(same)
        return best if best is not None else self._regions(reference, answer)

    def _relations(self, reference: Value, answer: Value) -> Rules:
        """Compare equations and inequalities: the same sides, a multiple, or the same set of numbers."""
        if isinstance(reference, Relation) and isinstance(answer, Relation):
            turned = Relation(answer.sides[::-1], tuple(_TURNED[sign] for sign in answer.signs[::-1]))
            for other in (answer, turned):
                same = _all_of(map(self.expressions, reference.sides, other.sides))
                if reference.signs == other.signs and same is not None:
                    return same
        if (ours := _difference(reference)) and (theirs := _difference(answer)):
            factor = ratio(ours[0], theirs[0])  # 2x + 4y < 6 is x + 2y < 3, and -x - 2y > -3
            if factor and ours[1] == (theirs[1] if factor > 0 else _TURNED[theirs[1]]):
                return _EXACTLY
        return self._regions(reference, answer)

    def _regions(self, reference: Value, answer: Value) -> Rules:
        """Compare two values as sets of real numbers, of the same variable if both name one."""
        # R alone is all real numbers as an answer, a radius as a reference
        ours = _region_of(reference)
        theirs = _region_of(REALS if answer == Amount(Symbol('R')) else answer) if ours else None
        if not ours or not theirs or (ours[0] and theirs[0] and ours[0] != theirs[0]):
            return None
        ends, rules = dict.fromkeys(_ends(ours[1])), frozenset[str]()
        meant = {end: end for end in ends}
        for end in _ends(theirs[1]):
            for expected in ends:
                if end not in meant and (same := self.expressions(expected, end)) is not None:
                    meant[end] = expected
                    rules |= same
            if meant.setdefault(end, end) not in ends and end.variables:
                return None
        for point in range(3 if any(end.variables for end in meant) else 1):
            places = _places(meant, point)
            line = range(2 * len(places) + 1 if places else 0)
            inside = [[_contains(region, places, place) for place in line] for _, region in (ours, theirs)]
            if inside[0] != inside[1] or not any(inside[0]):
                return None
        return rules


LENIENT = Equality(frozenset(RULES) - {'stated', 'list-as-set', 'list-as-tuple'}, True, True)
"""Whether two values of one response may be one: by more rules than an answer and its reference."""


def distinct(items: Sequence[Value], equality: Equality = Equality()) -> list[Value]:
    """Return values without what says the same as one before."""
    kept: list[Value] = []
    for item in dict.fromkeys(items):
        if len(items) > _MOST_ITEMS or all(equality.values(other, item) is None for other in kept):
            kept.append(item)
    return kept


def _items(value: Value) -> tuple[Value, ...]:
    """Return what a list, set or point holds; `(x, y) = (1, 2)` holds two names with their values."""
    match value:
        case Several(kind, items) if kind in {'list', 'set', 'tuple'} | PAIRS:
            return items
        case Named(name, Several('set', items)):  # a ∈ {-2, 1} is a = 1, -2
            return tuple(Named(name, item) for item in items)
        case Named(name):
            names, items = name.strip('()').split(','), _items(value.value)
            if len(names) == len(items) > 1:
                return tuple(Named(one, item, Symbol(one)) for one, item in zip(names, items, strict=True))
    return (value,)


def _same_name(one: Named, other: Named) -> bool:
    for plain, head in ((one.left, other.left), (other.left, one.left)):
        if isinstance(plain, Symbol) and isinstance(head, Call) and plain.name == head.name:
            return all(isinstance(argument, Symbol) for argument in head.arguments)  # y(x) and y
    same = one.left is not None and one.left == other.left
    return same or _MARKS.sub('', one.name) == _MARKS.sub('', other.name)


def _renamed(answer: Named, reference: Named) -> Value | None:
    """Return the value of f(z) = z with the variables of f(x) = x; None where the functions are others."""
    match reference.left, answer.left, answer.value:
        case Call(name, ours), Call(other, theirs), Amount(expression) as value if name == other:
            mine, others = ([one.name for one in side if isinstance(one, Symbol)] for side in (ours, theirs))
            strange = expression.variables & ({*mine} - {*others})  # in f(t) = 2x + 1, x is another one
            if len(ours) == len(mine) == len(others) == len(theirs) and not strange:
                return replace(value, expression=renamed(expression, dict(zip(others, mine, strict=True))))
    return None


def _has_decimals(expression: Expression) -> bool:
    return getattr(expression, 'digits', None) is not None or any(map(_has_decimals, expression.arguments))


def _difference(value: Value) -> tuple[Expression, str] | None:
    """Return the difference of the two sides of a relation, and its sign."""
    match value:
        case Relation((left, right), (sign,)):
            return left + -right, sign
        case Named(_, Amount(right, None), Expression() as left):
            return left + -right, '='
    return None


# Sets of real numbers: a sign and the end that it compares with, or regions of which all (`and`) or one hold

_SIGNS: Mapping[str, Any] = {
    '<': operator.lt, '>': operator.gt, r'\le': operator.le, r'\ge': operator.ge, r'\ne': operator.ne,
    '=': operator.eq,
}  # fmt: skip
_TURNED = {'<': '>', '>': '<', r'\le': r'\ge', r'\ge': r'\le', r'\ne': r'\ne', '=': '='}
_Region = tuple[str, Any]
_Of = tuple[str | Expression, _Region]  # what it is of: a variable, '' if none is named, or an expression
_REAL: list[_Region] = [('>', -INFINITY), ('<', INFINITY)]


def _ends(region: _Region) -> list[Expression]:
    return [region[1]] if region[0] in _SIGNS else [end for part in region[1] for end in _ends(part)]


def _contains(region: _Region, places: Mapping[Expression, int], place: int) -> bool:
    sign, parts = region
    if sign in _SIGNS:
        return bool(_SIGNS[sign](place, places[parts]))
    return (all if sign == 'and' else any)(_contains(part, places, place) for part in parts)


def _places(ends: Mapping[Expression, Expression], point: int) -> dict[Expression, int]:
    """Return the places of ends on a line of which each second one is an end; {} if one has no value."""
    infinite = {INFINITY: math.inf, -INFINITY: -math.inf}
    values: dict[Expression, Any] = {
        end: infinite[meant] if meant in infinite else value_of(meant, point) for end, meant in ends.items()
    }
    if None in values.values():
        return {}
    order = sorted({*values.values()})
    return {end: 2 * order.index(value) + 1 for end, value in values.items()}


def _region_of(value: Value) -> _Of | None:
    """Return the variable ('' if none is named) and the real numbers that a value says it is one of."""
    match value:
        case Named(name, inner):
            region = _region_of(inner)
            return (name, region[1]) if region and not region[0] else None
        case Relation(sides, signs) if len(signs) == 1 or r'\ne' not in signs:
            halves = [_half_line(*three) for three in zip(sides, signs, sides[1:], strict=False)]
            if halves[0] and len({half and half[0] for half in halves}) == 1:
                return halves[0][0], ('and', [half[1] for half in halves if half])
        case Several('list', items, joined_by):
            return _region_of_list(items, joined_by)
        case Several('union' | 'set' as kind, (_, *_) as items):
            members = [_region_of(Several('[]', (item, item)) if kind == 'set' else item) for item in items]
            if all(members):
                return '', ('or', [one[1] for one in members if one])
        case Several(kind, (Amount(low, ours), Amount(high, theirs))) if kind in PAIRS:
            above, below = r'\ge' if kind[0] == '[' else '>', r'\le' if kind[1] == ']' else '<'
            return None if PERCENT in (ours, theirs) else ('', ('and', [(above, low), (below, high)]))
        case Words('domain', ('R' | 'R+' as domain,)):
            return '', ('and', _REAL if domain == 'R' else [*_REAL, ('>', Number(0))])
    return None


def _half_line(one: Expression, sign: str, other: Expression) -> _Of | None:
    """Read `c·x < b`, with a variable, or anything that stands for one, on one side alone."""
    if sign == '=' or bool(one.variables) is bool(other.variables):
        return None
    left, order, right = (one, sign, other) if one.variables else (other, _TURNED[sign], one)
    factors = left.arguments if isinstance(left, Call) and left.name == '*' else (left,)
    numbers = [number for number in map(rational, factors) if number is not None]
    [name, *rest] = [one.name if isinstance(one, Symbol) else '' for one in factors if rational(one) is None]
    if rest or not name:
        return left, ('and', [(order, right), *_REAL])
    factor = math.prod(numbers, start=Fraction(1))
    end = right if factor == 1 else right / Number(factor)
    return name, ('and', [(_TURNED[order] if factor < 0 else order, end), *_REAL])


def _region_of_list(items: Sequence[Value], joined_by: str) -> _Of | None:
    """Read inequalities of one variable: taken together, or, where that is everything, at once."""
    parts: list[_Of] = []
    named = all(isinstance(item, Named) for item in items)
    for item in items:
        match item:
            case Relation() | Named() | Several('union') if region := _region_of(item):
                parts.append(region)
            case Named(name, Amount(point)) if not named:
                parts.append((name, ('=', point)))  # x = 1 beside x > 2
            case _:
                return None  # (1, 2), (3, 4) are points
    if len({name for name, _ in parts}) != 1:
        return None
    regions = [region for _, region in parts]
    if joined_by == ',':
        places = _places({end: end for region in regions for end in _ends(region)}, 0)
        line = range(2, 2 * len({*places.values()}))
        if places and all(_contains(('or', regions), places, place) for place in line):
            joined_by = 'and'
    return parts[0][0], ('and' if joined_by == 'and' else 'or', regions)
