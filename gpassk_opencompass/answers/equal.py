r"""Whether an answer says what its reference says: options of a choice, typed values, a last sentence.

A value of one type equals one of another only where a rule says so. Each lenient rule has an id in `RULES`
and holds only if it is among those allowed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import product
from typing import NamedTuple

from .formula import Unread
from .normal import normal_form
from .numeric import (
    DEGREE,
    INFINITY,
    Call,
    Expression,
    Number,
    Symbol,
    added,
    as_fraction,
    equal,
    is_constant,
    negative,
    number,
    power,
    quotient,
    ratio,
    rational,
    renamed,
    symbols,
    times,
    value_of,
)
from .read import read
from .statements import (
    SMALL_LETTER,
    SMALL_LETTERS,
    UNWRAPPED,
    chosen_in,
    is_option_text,
    letters_of,
    options_of,
    stated_in,
)
from .values import (
    DEGREES,
    RADIANS,
    REALS,
    Chain,
    Formula,
    Named,
    Pair,
    Quantity,
    Relation,
    Several,
    Value,
    Words,
)

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

ALL_RULES = frozenset(RULES)


class Answered(NamedTuple):
    """What comparing an answer with its reference came to."""

    equal: bool
    kind: str
    """The type that decided: 'number', 'set', 'choice', …; 'unread' where a side could not be read."""
    rules: frozenset[str] = frozenset()
    """The lenient rules that were needed."""


def compare_answers(
    reference: str, answer: str, *, question: str = '', rules: frozenset[str] = ALL_RULES
) -> Answered:
    r"""Return whether `answer` says what `reference` says.

    Args:
        reference, answer: final answers, LaTeX or plain, English or Chinese.
        question: of which the options of a choice count, the expressions that it asks for, and whether it
            asks for a percentage; '' where it is not known.
        rules: the lenient rules that are allowed, see `RULES`.

    >>> compare_answers(r'\frac{1}{2}', '0.5').equal, compare_answers('5 cm', '5').rules
    (True, frozenset({'unit-missing'}))
    >>> compare_answers('B', 'blue', question='(A) red (B) blue')[:2]
    (True, 'choice')
    >>> compare_answers('75', 'm + n = 75', question='Find $m + n$.').equal
    True
    """
    asks_percent = bool(_PERCENTAGE.search(question)) if question else None
    equality = _Equality(rules, asks_percent, bool(_ROUNDING.search(question)))
    if SMALL_LETTERS.search(question):
        reference, answer = (
            SMALL_LETTER.sub(lambda one: one[1] + one[2].upper(), text) for text in (reference, answer)
        )
    if (choice := equality.choice(reference, answer, options_of(question))) is not None:
        return choice
    answered = equality.texts(reference, answer)
    bare, our_remark = _without_remark(reference)
    said, remark = _without_remark(answer)
    readings = [('asked', reference, _of_asked(answer, question)), ('remark', reference, said)]
    if remark == our_remark or not _RESTRICTS.search(f'{remark} {our_remark}') or not remark:
        readings.append(('remark', bare, said))
    for rule, ours, theirs in readings:
        if not answered.equal and rule in rules and (ours, theirs) != (reference, answer):
            answered = equality.texts(ours, theirs)
            answered = answered._replace(rules=answered.rules | {rule} if answered.equal else frozenset())
    return answered


def is_read(text: str) -> bool:
    """Return whether a text is read as a value, or as the letter of an option."""
    return letters_of(text) is not None or not _is_text(_read(text)[0])


@lru_cache(maxsize=4096)  # every sample of a question is compared with one reference, many say the same
def _read(text: str) -> tuple[Value, ...]:
    try:
        return read(text)
    except (Unread, RecursionError, ValueError):  # of more brackets or digits than Python can take
        return (Words('text', (text,)),)


def _is_text(value: Value) -> bool:
    return isinstance(value, Words) and value.kind == 'text'


# What a question asks for, and remarks

_PERCENTAGE = re.compile(r'(?<![0-9])(?<![0-9][ -])(?:percent|\\?%|百分)', re.IGNORECASE)
_ROUNDING = re.compile(
    r'\bround|\bnearest|decimal place|significant (?:digit|figure)|近似|保留|精确到|四舍五入', re.IGNORECASE
)
_ASKS = re.compile(
    r'(?i:find|compute|determine|evaluate|calculate|what\sis|the\svalue\sof|what\sare)|求|计算'
)
_SENTENCE = re.compile(r'[.?!。？！](?:\s|$)')
_MATH_IN = re.compile(r'\$([^$]{1,200})\$|\\\((.{1,200}?)\\\)')
_SPACE = re.compile(r'(?:\\[ ,;:]|\\q?quad(?![a-zA-Z])|~|\s)+')
_INDEX = r'[nkm](?![a-zA-Z])\s*(?:\\in\s*\\mathbb\s*\{?[NZ]\}?[_^]?\{?[+*]?\}?|\\geq?\s*[01](?![0-9]))'
_REMARK = re.compile(
    r'[\s,;，(（]*(?:(?:(?:is|are|being)\s)?(?:the\s)?(?:only|unique)\s(?:real\s|possible\s)?(?:solution|answer|root|value)s?'
    r'|(?:is|are)\sthe\s(?:final\s)?(?:answer|solution)s?'
    r'|only|(?:where\s)?[nkm]\sis\sa\s(?:positive\s|natural\s)?(?:integer|number)'
    r'|(?:holds?\s)?(?:(?:for|where|with)\s(?:all|every|any|each)|\\forall)(?:\s(?:real\s(?:numbers?)?|reals?|numbers?)(?![a-z]))?'
    r'(?:\s*\$?\s*[a-zA-Z](?![a-zA-Z])\s*(?:\\in\s*\\mathbb\s*\{?R\}?)?\$?)?'
    r'|(?:for|where|with)\s(?:all|every|any|each)(?:\s(?:natural|positive))?(?:\s(?:numbers?|integers?))?'
    rf'\s*\$?\s*(?:[nkm](?![a-zA-Z])|{_INDEX})\s*\$?'
    rf'|(?:where\s|for\s)?\$?{_INDEX}\s*\$?)[\s)）.]*\Z'
)
_RESTRICTS = re.compile(r'\\mathbb|\\ge')


def _without_remark(answer: str) -> tuple[str, str]:
    """Return an answer without a remark behind it that restricts nothing, and that remark without blanks."""
    plain = _SPACE.sub(' ', UNWRAPPED.sub(r' \1 ', answer).replace('∈', r'\in '))
    found = _REMARK.search(plain)
    if not found or not found.start():
        return answer, ''
    return plain[: found.start()], re.sub(r'[\s,;，()（）.${}]', '', found[0])


def _of_asked(answer: str, question: str) -> str:
    """Return what an answer says of an expression that the question asks for by itself, or is worth."""
    name, equals, value = answer.partition('=')
    if not equals or not (asked := _asked(question)):
        return answer
    if normal_form(name) in asked:
        return value
    match _read(name)[0]:
        case Formula(one) if not is_constant(one):
            others = (_read(text)[0] for text in asked)
            if any(isinstance(other, Formula) and equal(one, other.expression) for other in others):
                return value
    return answer


@lru_cache(maxsize=4096)
def _asked(question: str) -> frozenset[str]:
    """Return the expressions behind a verb that asks, up to the end of its sentence, in normal form."""
    sentences = [_SENTENCE.split(question[verb.end() :], maxsplit=1)[0] for verb in _ASKS.finditer(question)]
    return frozenset(normal_form(one or other) for said in sentences for one, other in _MATH_IN.findall(said))


_WORDS = re.compile('[^\\W\\d_]{2,}[ ,،]|[\u4e00-\u9fff]{3}')


class Comparison(NamedTuple):
    """Whether two values are equal, and by which lenient rules."""

    equal: bool
    rules: frozenset[str] = frozenset()


YES, NO = Comparison(True), Comparison(False)


def _all_of(comparisons: Iterable[Comparison]) -> Comparison:
    """Return what holds if all do; stops at the first difference."""
    rules: frozenset[str] = frozenset()
    for comparison in comparisons:
        if not comparison.equal:
            return NO
        rules |= comparison.rules
    return Comparison(True, rules)


def _best_of(comparisons: Iterable[Comparison]) -> Comparison:
    return next((comparison for comparison in comparisons if comparison.equal), NO)


_LONG = 10  # digits of a decimal that was not rounded
_MOST_ITEMS = 50  # of a list that is searched for what it says twice in two spellings
_TURNED = {'<': '>', '>': '<', r'\le': r'\ge', r'\ge': r'\le', r'\ne': r'\ne', '=': '='}


@dataclass(frozen=True)
class _Equality:
    """Compares values with the lenient rules that are allowed."""

    rules: frozenset[str]
    asks_percent: bool | None = None
    """Whether the question asks for a percentage; None: there is no question."""
    asks_rounded: bool = False
    """Whether it says to round."""

    @cached_property
    def _inside(self) -> _Equality:
        """Return how to compare what stands in brackets: {1, 2} is not {{1}, 2}."""
        return replace(self, rules=self.rules - {'list-as-set'})

    def _by(self, rule: str, comparison: Comparison = YES) -> Comparison:
        """Return the comparison with a rule that it needed, if that is allowed."""
        allowed = comparison.equal and rule in self.rules
        return Comparison(True, comparison.rules | {rule}) if allowed else NO

    def texts(self, reference: str, answer: str) -> Answered:
        """Compare two answers that are no choice."""
        expected, given = _read(reference), _read(answer)
        compared = _best_of(self.values(ours, theirs) for ours in expected for theirs in given)
        first = expected[0].value if isinstance(expected[0], Chain) else expected[0]
        if not compared.equal and 'stated' in self.rules and _WORDS.search(answer):
            counts = isinstance(first, Formula) and isinstance(first.expression, Number)
            stated = [one for text in stated_in(answer, counts) for one in _read(text) if not _is_text(one)]
            best = _best_of(self.values(ours, one) for ours in expected for one in stated)
            compared = self._by('stated', best)
        kind = first.kind if isinstance(first, Several | Words) else type(first).__name__.lower()
        if isinstance(first, Formula):
            kind = 'number' if is_constant(first.expression) else 'expression'
        if not compared.equal and (_is_text(expected[0]) or _is_text(given[0])):
            kind = 'unread'
        return Answered(compared.equal, kind, compared.rules)

    def choice(self, reference: str, answer: str, options: Mapping[str, str]) -> Answered | None:
        """Compare where the reference or the answer is a letter of a choice; return None where neither is."""
        expected, given = letters_of(reference), letters_of(answer)
        chosen = chosen_in(reference, options) if expected is None and (options or given) else None
        if chosen and is_option_text(chosen, options):
            expected = frozenset(chosen[0])
        if expected and given:
            return Answered(expected == given, 'choice')
        if expected is None and given and len(given) == 1:
            [letter] = given
            if chosen:
                return Answered(chosen[0] == letter, 'choice')
            known = letter in options
            return self.texts(reference, options[letter])._replace(kind='choice') if known else None
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
        compared = {name: self.texts(text, answer) for name, text in options.items()}
        alone = [name for name, one in compared.items() if one.equal] == [letter]
        return Answered(alone, 'choice', compared[letter].rules if alone else frozenset())

    def values(self, reference: Value, answer: Value) -> Comparison:  # noqa: C901
        """Return how two values compare; `rounded` and `percent-sign` tell the reference from the answer."""
        if reference == answer:
            return YES
        match reference, answer:
            case (Chain(), _) | (_, Chain()):
                last = [one.value if isinstance(one, Chain) else one for one in (reference, answer)]
                return self._by('chain', self.values(*last))
            case Named(), Named() if _same_name(reference, answer):
                return self.values(reference.value, answer.value)
            case Named(), Named() if (same := _renamed(answer, reference)) is not None:
                return self._by('bound-names', self.values(reference.value, same))
            case (Named(), Named() | Relation()) | (Relation(), Named()):
                return _best_of([_same_equation(reference, answer), self._regions(reference, answer)])
            case (Several('list'), _) | (_, Several('list')):
                return self._lists(reference, answer)
            case (Named(), _) | (_, Named()):
                inner = [one.value if isinstance(one, Named) else one for one in (reference, answer)]
                unnamed = self._by('name-missing', self.values(*inner))
                return _best_of([unnamed, self._regions(reference, answer)])
            case Formula(), Formula():
                return self._formulas(reference, answer)
            case Quantity(), Quantity():
                measures = reference.unit.dimension == answer.unit.dimension
                return self.expressions(*map(_in_basic_units, (reference, answer))) if measures else NO
            case Pair(), Pair():
                closed = [(pair.left_closed, pair.right_closed) for pair in (reference, answer)]
                if closed[0] != closed[1]:
                    return NO
                return self._inside.ordered((reference.low, reference.high), (answer.low, answer.high))
            case Relation(), Relation():
                return self._relations(reference, answer)
            case Several('tuple' | 'matrix' as kind, ours), Several(other, theirs) if kind == other:
                return self._inside.ordered(ours, theirs)
            case Several('set' | 'piecewise' as kind, ours), Several(other, theirs) if kind == other:
                return self._inside.unordered(ours, theirs)
            case Several('ratio', ours), Several('ratio', theirs):
                return self._ratios(ours, theirs)
        return _best_of([self._mixed(reference, answer), self._mixed(answer, reference, True)])

    def _mixed(self, one: Value, other: Value, flipped: bool = False) -> Comparison:
        """Compare values of two types, of which the second is the reference if they are `flipped`."""
        turn = -1 if flipped else 1
        match one, other:
            case Quantity(amount, unit, product), Formula(expression, percent=False):
                if product is not None and not is_constant(expression):
                    return self.expressions(*(product, expression)[::turn])
                if unit.dimension == DEGREES.dimension:
                    same = self.expressions(*(_in_basic_units(one), expression)[::turn])
                    if same.equal or unit == RADIANS:
                        return same
                return self._by('unit-missing', self.expressions(*(amount, expression)[::turn]))
            case Words('phrase', ('nothing',)), Several('set', ()):
                return YES
            case Several('ratio', items), Words('time', (hour, minute, half)):
                hours = {int(hour), int(hour) + 12 * (half == 'pm')}
                clocks = [(Formula(number(each)), Formula(number(int(minute)))) for each in hours]
                return self._by('half-day') if items in clocks else NO
            case Several('ratio', (Formula(above), Formula(below))), Formula(expression):
                same = self.expressions(*(quotient(above, below), expression)[::turn])
                return self._by('ratio-as-fraction', same)
            case Several('set', (single,)), Formula() | Quantity():
                return self._by('list-as-set', self.values(*(single, other)[::turn]))
        return NO if flipped else self._regions(one, other)

    def expressions(self, reference: Expression, answer: Expression) -> Comparison:
        """Compare two expressions, of which one may be a decimal of the other: long, or rounded."""
        if equal(reference, answer):
            return YES
        ours, theirs = (one.digits if isinstance(one, Number) else None for one in (reference, answer))
        by_reference = ours is not None
        if ours is not None and theirs is not None:
            # A long one was not rounded: it is as good as the exact value.
            if theirs < _LONG or ours == theirs:
                return NO
            by_reference = ours < theirs
        decimal, exact = (reference, answer) if by_reference else (answer, reference)
        if not isinstance(decimal, Number) or decimal.digits is None or (value := as_fraction(exact)) is None:
            return NO
        unit, slack = Fraction(1, 10**decimal.digits), abs(value) * Fraction(4e-15)
        apart, is_long = abs(value - decimal.value), decimal.digits >= _LONG
        cut = is_long and apart < unit + slack and abs(decimal.value) < abs(value)
        if apart > unit / 2 + slack and not cut:
            return NO
        if is_long:
            return self._by('long-decimal')
        # A decimal of few digits may be a mistake, and so may one of a value that could be said in full.
        least = 2 if self.asks_rounded or (theirs or 0) >= _LONG else 3
        shown = len(str(abs(int(decimal.value / unit))))
        ends = theirs is None and rational(exact) is not None and 10**2000 % value.denominator == 0
        return self._by('rounded') if by_reference and decimal.digits and shown >= least and not ends else NO

    def _formulas(self, reference: Formula, answer: Formula) -> Comparison:
        whole = self.expressions(reference.expression, answer.expression)
        if reference.percent == answer.percent:
            return whole
        same = self.expressions(_without_percent(reference), _without_percent(answer))
        # The sign may be missing only where the question, or without one the reference, is of percentages.
        asked = self.asks_percent or (self.asks_percent is None and reference.percent)
        return self._by('percent-sign', whole) if not same.equal and asked else same

    # Several values

    def ordered(self, reference: Sequence[Value], answer: Sequence[Value]) -> Comparison:
        """Compare each with the one in its place."""
        return _all_of(map(self.values, reference, answer)) if len(reference) == len(answer) else NO

    def unordered(self, reference: Sequence[Value], answer: Sequence[Value]) -> Comparison:
        """Compare whether each of one is one of the other, repetitions left out."""
        reference, answer = _distinct(reference), _distinct(answer)
        if len(reference) != len(answer):
            return NO
        left = [value for value in answer if value not in reference]
        same: list[Comparison] = []
        for ours in [value for value in reference if value not in answer]:
            compared = [(self.values(ours, theirs), place) for place, theirs in enumerate(left)]
            compared = [one for one in compared if one[0].equal]
            if not compared:
                return NO
            best, place = min(compared, key=lambda one: len(one[0].rules))
            same.append(best)
            del left[place]
        return _all_of(same)

    def _ratios(self, reference: Sequence[Value], answer: Sequence[Value]) -> Comparison:
        pair = (reference, answer)
        ours, theirs = ([one.expression for one in terms if isinstance(one, Formula)] for terms in pair)
        if len(ours) != len(theirs) or any(rational(term) == 0 for term in (*ours, *theirs)):
            return self.ordered(reference, answer)
        return _all_of(
            self.expressions(times(ours[0], other), times(one, theirs[0]))
            for one, other in zip(ours[1:], theirs[1:], strict=True)
        )

    def _lists(self, reference: Value, answer: Value) -> Comparison:
        """Compare bare lists, or a bare list with anything else."""
        lists = [one for one in (reference, answer) if isinstance(one, Several) and one.kind == 'list']
        ours, theirs = _items(reference), _items(answer)
        same: list[Comparison] = []
        if not _contradict(lists):
            names = {_plain(item.name) for item in (*ours, *theirs) if isinstance(item, Named)}
            named = all(isinstance(item, Named) for item in (*ours, *theirs))
            in_order, any_order = self.ordered(ours, theirs), NO
            if len(names) < 2 or named:
                any_order = self.unordered(ours, theirs)
            match next((one for one in (reference, answer) if one not in lists), None):
                case Named(name, Several('set', members)):  # a = 1, -2 is a ∈ {-2, 1}
                    items = [item.value for item in lists[0].items if isinstance(item, Named)]
                    if names == {_plain(name)} and len(items) == len(lists[0].items):
                        same = [self._inside.unordered(items, members)]
                case None | Named():
                    free = named or any(one.joined_by == 'or' for one in lists)
                    same = [in_order, any_order if free else self._by('list-order', any_order)]
                case Pair() | Several('tuple'):
                    same = [self._by('list-as-tuple', in_order)]
                case Several('set'):
                    same = [self._by('list-as-set', any_order)]
        single = [
            _distinct(one.items) if one in lists and isinstance(one, Several) else [one]
            for one in (reference, answer)
        ]
        if all(len(items) == 1 and items[0] not in lists for items in single):
            same.append(self.values(single[0][0], single[1][0]))  # one thing said in several ways
        return _best_of([*same, self._regions(reference, answer)])

    # Equations, inequalities, sets of numbers

    def _relations(self, reference: Relation, answer: Relation) -> Comparison:
        turned = Relation(answer.sides[::-1], tuple(_TURNED[sign] for sign in answer.signs[::-1]))
        others = [other for other in (answer, turned) if reference.signs == other.signs]
        same = [_all_of(map(self.expressions, reference.sides, other.sides)) for other in others]
        if len(reference.signs) == len(answer.signs) == 1 and '=' not in (*reference.signs, *answer.signs):
            # 2x + 4y < 6 is x + 2y < 3, and -x - 2y > -3
            factor = ratio(*(added(one.sides[0], negative(one.sides[1])) for one in (reference, answer)))
            sign = answer.signs[0] if factor and factor > 0 else _TURNED[answer.signs[0]]
            same.append(YES if factor is not None and sign == reference.signs[0] else NO)
        return _best_of([*same, _same_equation(reference, answer), self._regions(reference, answer)])

    def _regions(self, reference: Value, answer: Value) -> Comparison:
        """Compare two values as sets of real numbers, of the same variable if both name one."""
        # R alone is all real numbers as an answer, a radius as a reference
        ours, theirs = _region_of(reference), _region_of(REALS if answer == Formula(Symbol('R')) else answer)
        if ours is None or theirs is None or len(ours.pieces) != len(theirs.pieces):
            return NO
        if ours.variable and theirs.variable and ours.variable != theirs.variable:
            return NO
        same: list[Comparison] = []
        for one, other in zip(ours.pieces, theirs.pieces, strict=True):
            if (one.low_closed, one.high_closed) != (other.low_closed, other.high_closed):
                return NO
            same += [self.expressions(one.low, other.low), self.expressions(one.high, other.high)]
        return _all_of(same)


_EXACT = _Equality(frozenset())


def _distinct(items: Sequence[Value]) -> list[Value]:
    distinct: list[Value] = []
    for item in dict.fromkeys(items):
        if len(items) > _MOST_ITEMS or not any(_EXACT.values(other, item).equal for other in distinct):
            distinct.append(item)
    return distinct


def _items(value: Value) -> tuple[Value, ...]:
    """Return what a list, set or point holds; `(x, y) = (1, 2)` holds two names with their values."""
    match value:
        case Pair():
            return value.low, value.high
        case Several('list' | 'set' | 'tuple', items):
            return items
        case Named(name):
            names, items = name.strip('()').split(','), _items(value.value)
            if len(names) == len(items) > 1:
                return tuple(Named(one, item, Symbol(one)) for one, item in zip(names, items, strict=True))
    return (value,)


def _contradict(lists: Sequence[Several]) -> bool:
    """Return whether one says `and`, the other `or`, of what is not just the values of one unknown."""
    names, loose = set(), False
    for item in (item for one in lists for item in one.items):
        match item:
            case Named(name):
                names.add(name)
            case Relation() | Formula(Symbol()):
                loose = True
    return {one.joined_by for one in lists} == {'and', 'or'} and (len(names) > 1 or loose)


def _plain(name: str) -> str:
    return re.sub(r'[{}\\]|angle|triangle', '', name)


def _same_name(one: Named, other: Named) -> bool:
    for plain, head in ((one.left, other.left), (other.left, one.left)):
        if isinstance(plain, Symbol) and isinstance(head, Call) and plain.name == head.name:
            return all(isinstance(argument, Symbol) for argument in head.arguments)  # y(x) and y
    if one.left is not None and other.left is not None:
        return one.left == other.left
    return _plain(one.name) == _plain(other.name)


def _renamed(answer: Named, reference: Named) -> Value | None:
    """Return the value of f(z) = z with the variables of f(x) = x; None where the functions are others."""
    ours, theirs, value = reference.left, answer.left, answer.value
    if not (isinstance(ours, Call) and isinstance(theirs, Call) and isinstance(value, Formula)):
        return None
    mine, others = (
        [one.name for one in left.arguments if isinstance(one, Symbol)] for left in (ours, theirs)
    )
    if (ours.name, len(ours.arguments), len(mine)) != (theirs.name, len(others), len(theirs.arguments)):
        return None
    if {*symbols(value.expression)} & ({*mine} - {*others}):  # in f(t) = 2x + 1, x is another one
        return None
    return Formula(renamed(value.expression, dict(zip(others, mine, strict=True))), value.percent)


def _without_percent(value: Formula) -> Expression:
    match value:
        case Formula(Number(amount, int() as digits), percent=True):
            return Number(amount / 100, digits + 2)
        case Formula(expression, percent=True):
            return times(expression, number(Fraction(1, 100)))
    return value.expression


def _in_basic_units(quantity: Quantity) -> Expression:
    if quantity.unit == DEGREES:
        return times(quantity.amount, DEGREE)
    factor = 1 if quantity.unit == RADIANS else quantity.unit.factor
    return quantity.amount if factor == 1 else times(quantity.amount, number(factor))


def _same_equation(reference: Value, answer: Value) -> Comparison:
    """Return whether both are equations and one is a multiple of the other."""
    differences: list[Expression] = []
    for value in (reference, answer):
        match value:
            case Relation((left, right), ('=',)) | Named(
                _, Formula(right), Call() | Symbol() | Number() as left
            ):
                below: dict[Expression, None] = {}
                for side in (left, right):
                    terms = side.arguments if isinstance(side, Call) and side.name == '+' else (side,)
                    below |= dict.fromkeys(divisor for term in terms for divisor in _divisors(term))
                differences.append(times(added(left, negative(right)), *below))
    return YES if len(differences) == 2 and ratio(*differences) is not None else NO


def _divisors(term: Expression) -> Iterator[Expression]:
    """Yield what with a variable a term is divided by."""
    match term:
        case Call('*', factors):
            for factor in factors:
                yield from _divisors(factor)
        case Call('^', (base, exponent)) if not is_constant(base) and (rational(exponent) or 0) < 0:
            yield power(base, negative(exponent))


class _Piece(NamedTuple):
    """An interval, or a point: its ends, and whether they belong to it."""

    low: Expression
    high: Expression
    low_closed: bool
    high_closed: bool


class _Region(NamedTuple):
    """Intervals from left to right, and the variable they are of ('' where none is named)."""

    pieces: Sequence[_Piece]
    variable: str = ''


_MINUS_INFINITY = negative(INFINITY)
_EVERYTHING = _Piece(_MINUS_INFINITY, INFINITY, False, False)


def _region_of(value: Value) -> _Region | None:
    """Return the set of real numbers that `value` describes, or None if it is none that can be read."""
    match value:
        case Named(name, inner):
            region = _region_of(inner)
            return _Region(region.pieces, name) if region and not region.variable else None
        case Relation(sides, signs):
            return _region_of_relation(sides, signs)
        case Several('list', items, joined_by):
            return _region_of_list(items, joined_by)
        case Several('union', items):
            regions = [region for part in items if (region := _region_of(part))]
            pieces = [piece for region in regions for piece in region.pieces]
            return _Region(_ordered(pieces)) if len(regions) == len(items) else None
        case Several('set', items):
            points = [_Piece(end, end, True, True) for item in items if (end := _end(item))]
            return _Region(_ordered(points)) if len(points) == len(items) else None
        case Pair(left, right) if (low := _end(left)) and (high := _end(right)):
            return _Region([_Piece(low, high, value.left_closed, value.right_closed)])
        case Words('domain', ('R',)):
            return _Region([_EVERYTHING])
        case Words('domain', ('R+',)):
            return _Region([_Piece(number(0), INFINITY, False, False)])
    return None


def _end(value: Value) -> Expression | None:
    if isinstance(value, Quantity):
        return value.amount
    return value.expression if isinstance(value, Formula) and not value.percent else None


def _region_of_relation(sides: Sequence[Expression], signs: Sequence[str]) -> _Region | None:
    """Read `c·x < b` and `a < x < b`, with a variable, or anything that stands for one, on one side alone."""
    if len(sides) == 3:
        first, second = (_region_of_relation(sides[at : at + 2], signs[at : at + 1]) for at in (0, 1))
        if not first or not second or first.variable != second.variable or r'\ne' in signs:
            return None
        common = _in_both(first.pieces, second.pieces)
        return _Region(common, first.variable) if common else None
    if len(sides) != 2 or '=' in signs:
        return None
    for left, sign, right in ((sides[0], signs[0], sides[1]), (sides[1], _TURNED[signs[0]], sides[0])):
        if is_constant(left) or not is_constant(right):
            continue
        factors = left.arguments if isinstance(left, Call) and left.name == '*' else (left,)
        variables = [one for one in factors if rational(one) is None]
        name, factor = repr(left), Fraction(1)
        if len(variables) == 1 and isinstance(variables[0], Symbol):
            name = variables[0].name
            factor = math.prod(filter(None, map(rational, factors)), start=Fraction(1))
        end = right if factor == 1 else quotient(right, Number(factor))
        turned = _TURNED[sign] if factor < 0 else sign
        below = _Piece(_MINUS_INFINITY, end, False, turned == r'\le')
        above = _Piece(end, INFINITY, turned == r'\ge', False)
        one_side = {'<': [below], r'\le': [below], '>': [above], r'\ge': [above]}
        return _Region(one_side.get(turned, [below, above]), name)
    return None


def _region_of_list(items: Sequence[Value], joined_by: str) -> _Region | None:
    """Read inequalities of one variable: taken together, or, where that is everything, at once."""
    regions: list[_Region] = []
    named = all(isinstance(item, Named) for item in items)
    for item in items:
        match item:
            case Relation() | Named() | Several('union') if region := _region_of(item):
                regions.append(region)
            case Named(name, Formula() | Quantity() as point) if not named and (end := _end(point)):
                regions.append(_Region([_Piece(end, end, True, True)], name))  # x = 1 beside x > 2
            case _:
                return None  # (1, 2), (3, 4) are points
    pieces = [piece for region in regions for piece in region.pieces]
    if len({region.variable for region in regions}) != 1:
        return None
    everything = len(pieces) == len(regions) and _ordered(pieces) == [_EVERYTHING]
    if joined_by == 'and' or (joined_by == ',' and everything):
        pieces = reduce(_in_both, [list(region.pieces) for region in regions])
        if not pieces:
            return None
    return _Region(_ordered(pieces), regions[0].variable)


def _place(end: Expression) -> float:
    if end in (INFINITY, _MINUS_INFINITY):
        return math.inf if end == INFINITY else -math.inf
    value = value_of(end)
    return math.nan if value is None else float(value)


def _ordered(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Sort from left to right and join those that meet; where an end is no number, leave all as it is."""
    if any(math.isnan(_place(end)) for piece in pieces for end in piece[:2]):
        return list(pieces)
    joined: list[_Piece] = []
    for piece in sorted(pieces, key=lambda one: (_place(one.low), not one.low_closed, _place(one.high))):
        last = joined[-1] if joined else piece
        start, end = _place(piece.low), _place(last.high)
        if not joined or start > end or (start == end and not (last.high_closed or piece.low_closed)):
            joined.append(piece)
        elif (_place(piece.high), piece.high_closed) > (end, last.high_closed):
            joined[-1] = last._replace(high=piece.high, high_closed=piece.high_closed)
    return joined


def _in_both(ones: Sequence[_Piece], others: Sequence[_Piece]) -> list[_Piece]:
    common: list[_Piece] = []
    for pair in product(ones, others):
        lows = [piece for piece in pair if piece.low != _MINUS_INFINITY]
        highs = [piece for piece in pair if piece.high != INFINITY]
        known = not any(math.isnan(_place(end)) for piece in pair for end in piece[:2])
        if known:
            lows = [max(pair, key=lambda piece: (_place(piece.low), not piece.low_closed))]
            highs = [min(pair, key=lambda piece: (_place(piece.high), piece.high_closed))]
        if len(lows) == len(highs) == 1:  # a < x < b: one end from each
            piece = _Piece(lows[0].low, highs[0].high, lows[0].low_closed, highs[0].high_closed)
            apart = _place(piece.high) - _place(piece.low)
            if not known or apart > 0 or (apart == 0 and piece.low_closed and piece.high_closed):
                common.append(piece)
    return common
