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
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from .choices import (
    UNWRAPPED,
    chosen_in,
    in_capitals,
    is_option_text,
    letters_of,
    options_of,
    stated_in,
)
from .formula import Unread
from .normal import normal_form
from .numeric import (
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
    quotient,
    ratio,
    rational,
    renamed,
    symbols,
    times,
    value_of,
)
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
    equality = Equality(rules, asks_percent, bool(_ROUNDING.search(question)))
    reference, answer = (in_capitals(text, question) for text in (reference, answer))
    if (choice := equality.choice(reference, answer, options_of(question))) is not None:
        return choice
    answered = equality.texts(reference, answer)
    if answered.equal:
        return answered
    bare, our_remark = _without_remark(reference)
    said, remark = _without_remark(answer)
    readings = [('asked', reference, _of_asked(answer, question)), ('remark', reference, said)]
    if remark == our_remark or not _RESTRICTS.search(f'{remark} {our_remark}') or not remark:
        readings.append(('remark', bare, said))
    for rule, ours, theirs in readings:
        if rule in rules and (ours, theirs) != (reference, answer):
            answered = equality.texts(ours, theirs)
            if answered.equal:
                return answered._replace(rules=answered.rules | {rule})
    return answered


def is_read(text: str) -> bool:
    """Return whether a text is read as a value, or as the letter of an option."""
    return letters_of(text) is not None or not _is_text(read_answer(text)[0].value)


@lru_cache(maxsize=4096)  # every sample of a question is compared with one reference, many say the same
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
    match read_answer(name)[0].value:
        case Amount(one) if not is_constant(one):
            others = (read_answer(text)[0].value for text in asked)
            if any(isinstance(other, Amount) and equal(one, other.expression) for other in others):
                return value
    return answer


@lru_cache(maxsize=4096)
def _asked(question: str) -> frozenset[str]:
    """Return the expressions behind a verb that asks, up to the end of its sentence, in normal form."""
    sentences = [_SENTENCE.split(question[verb.end() :], maxsplit=1)[0] for verb in _ASKS.finditer(question)]
    return frozenset(normal_form(one or other) for said in sentences for one, other in _MATH_IN.findall(said))


# Values

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
class Equality:
    """Compares values with the lenient rules that are allowed."""

    rules: frozenset[str]
    asks_percent: bool | None = None
    """Whether the question asks for a percentage; None: there is no question."""
    asks_rounded: bool = False
    """Whether it says to round."""

    @cached_property
    def _inside(self) -> Equality:
        """Return how to compare what stands in brackets: {1, 2} is not {{1}, 2}."""
        return replace(self, rules=self.rules - {'list-as-set'})

    def _by(self, rule: str, comparison: Comparison = YES) -> Comparison:
        """Return the comparison with a rule that it needed, if that is allowed."""
        allowed = comparison.equal and (not rule or rule in self.rules)
        return Comparison(True, comparison.rules | ({rule} - {''})) if allowed else NO

    def texts(self, reference: str, answer: str) -> Answered:
        """Compare two answers that are no choice."""
        expected, given = read_answer(reference), read_answer(answer)
        compared = _best_of(
            self._by(ours.rule or theirs.rule, self.values(ours.value, theirs.value))
            for ours in expected
            for theirs in given
        )
        first = expected[0].value
        unmeasured = isinstance(first, Amount) and first.unit in {None, PERCENT}
        if not compared.equal and 'stated' in self.rules and _WORDS.search(answer):
            counts = unmeasured and isinstance(getattr(first, 'expression', None), Number)
            stated = [one.value for text in stated_in(answer, counts) for one in read_answer(text)]
            stated = [one for one in stated if not _is_text(one)]
            best = _best_of(self.values(ours.value, one) for ours in expected for one in stated)
            compared = self._by('stated', best)
        kind = first.kind if isinstance(first, Several | Words) else type(first).__name__.lower()
        if isinstance(first, Amount):
            constant = is_constant(first.expression)
            kind = 'quantity' if not unmeasured else 'number' if constant else 'expression'
        if not compared.equal and (_is_text(first) or _is_text(given[0].value)):
            kind = 'unread'
        return Answered(compared.equal, 'pair' if kind in PAIRS else kind, compared.rules)

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
            case Named(), Named() if _same_name(reference, answer):
                return self.values(reference.value, answer.value)
            case Named(), Named() if (same := _renamed(answer, reference)) is not None:
                return self._by('bound-names', self.values(reference.value, same))
            case Named() | Relation(), Named() | Relation():
                return self._relations(reference, answer)
            case (Several('list'), _) | (_, Several('list')):
                return self._lists(reference, answer)
            case (Named(), _) | (_, Named()):
                inner = [one.value if isinstance(one, Named) else one for one in (reference, answer)]
                unnamed = self._by('name-missing', self.values(*inner))
                return _best_of([unnamed, self._regions(reference, answer)])
            case Amount(), Amount():
                return self._amounts(reference, answer)
            case Several('ratio', ours), Several('ratio', theirs):
                return self._ratios(ours, theirs)
            case Several('set' | 'piecewise' as kind, ours), Several(other, theirs) if kind == other:
                return self._inside.unordered(ours, theirs)
            case Several(kind, ours), Several(other, theirs) if kind == other != 'union':
                return self._inside.ordered(ours, theirs)
        return _best_of([self._mixed(reference, answer), self._mixed(answer, reference, -1)])

    def _mixed(self, one: Value, other: Value, turn: int = 1) -> Comparison:
        """Compare values of two types; the second is the reference if they were turned round (-1)."""
        match one, other:
            case Words('phrase', ('nothing',)), Several('set', ()):
                return YES
            case Words('time', words), Several('ratio', items):
                clock = tuple(Amount(number(int(word))) for word in words)
                return self._by('half-day') if items in (clock, (*clock, Amount(number(0)))) else NO
            case Several('ratio', (Amount(above), Amount(below))), Amount(expression, None):
                same = self.expressions(*(quotient(above, below), expression)[::turn])
                return self._by('ratio-as-fraction', same)
            case Several('set', (single,)), Amount():
                return self._by('list-as-set', self.values(*(single, other)[::turn]))
        return self._regions(one, other) if turn > 0 else NO

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

    def _amounts(self, reference: Amount, answer: Amount) -> Comparison:
        """Compare numbers and quantities: 50 % and 90° are numbers too, `3 m` may be three times m."""
        ours, theirs = reference.unit, answer.unit
        as_written = (
            self.expressions(reference.expression, answer.expression) if None in (ours, theirs) else NO
        )
        if ours == theirs is None:
            return as_written
        numbers = [
            unit is None or unit == PERCENT or unit.dimension == DEGREES.dimension for unit in (ours, theirs)
        ]
        same_kind = ours and theirs and ours.dimension == theirs.dimension
        for product, other in ((reference.product, answer), (answer.product, reference)):
            if product is not None and other.unit is None and not is_constant(other.expression):
                sides = (product, other.expression) if other is answer else (other.expression, product)
                return self.expressions(*sides)
        same = self.expressions(reference.worth, answer.worth) if same_kind or all(numbers) else NO
        if same.equal or (ours and theirs) or RADIANS in (ours, theirs):
            return same
        if PERCENT not in (ours, theirs):
            return self._by('unit-missing', as_written)
        # The sign may be missing only where the question, or without one the reference, is of percentages.
        asked = self.asks_percent or (self.asks_percent is None and ours == PERCENT)
        return self._by('percent-sign', as_written) if asked else NO

    # Several values

    def ordered(self, reference: Sequence[Value], answer: Sequence[Value]) -> Comparison:
        """Compare each with the one in its place."""
        return _all_of(map(self.values, reference, answer)) if len(reference) == len(answer) else NO

    def unordered(self, reference: Sequence[Value], answer: Sequence[Value]) -> Comparison:
        """Compare whether each of one is one of the other, repetitions left out."""
        reference, answer = distinct(reference), distinct(answer)
        if len(reference) != len(answer):
            return NO
        left = [value for value in answer if value not in reference]
        same = [YES]
        for ours in [value for value in reference if value not in answer]:
            compared = [(one, theirs) for theirs in left if (one := self.values(ours, theirs)).equal]
            if not compared:
                return NO
            best, theirs = min(compared, key=lambda one: len(one[0].rules))
            same.append(best)
            left.remove(theirs)
        return _all_of(same)

    def _ratios(self, reference: Sequence[Value], answer: Sequence[Value]) -> Comparison:
        ours, theirs = (
            [one.expression for one in terms if isinstance(one, Amount)] for terms in (reference, answer)
        )
        if len(ours) != len(theirs) or any(rational(term) == 0 for term in (*ours, *theirs)):
            return self.ordered(reference, answer)
        return _all_of(
            self.expressions(times(ours[0], other), times(one, theirs[0]))
            for one, other in zip(ours[1:], theirs[1:], strict=True)
        )

    def _lists(self, reference: Value, answer: Value) -> Comparison:
        """Compare bare lists, or a bare list with anything else."""
        lists = [one for one in (reference, answer) if isinstance(one, Several) and one.kind == 'list']
        other = next((one for one in (reference, answer) if one not in lists), None)
        ours, theirs = _items(reference), _items(answer)
        same: list[Comparison] = []
        if not _contradict(lists):
            names = {_plain(item.name) for item in (*ours, *theirs) if isinstance(item, Named)}
            named = all(isinstance(item, Named) for item in (*ours, *theirs))
            in_order, any_order = self.ordered(ours, theirs), NO
            if len(names) < 2 or named:
                any_order = self.unordered(ours, theirs)
            match other:
                case None | Named():
                    free = named or any(one.joined_by == 'or' for one in lists)
                    same = [in_order, any_order if free else self._by('list-order', any_order)]
                case Several(kind) if kind in PAIRS or kind == 'tuple':
                    same = [self._by('list-as-tuple', in_order)]
                case Several('set'):
                    same = [self._by('list-as-set', any_order)]
        single = [
            distinct(one.items) if one in lists and isinstance(one, Several) else [one]
            for one in (reference, answer)
        ]
        if all(len(items) == 1 and items[0] not in lists for items in single):
            same.append(self.values(single[0][0], single[1][0]))  # one thing said in several ways
        return _best_of([*same, self._regions(reference, answer)])

    # Equations, inequalities, sets of numbers

    def _relations(self, reference: Value, answer: Value) -> Comparison:
        """Compare equations and inequalities: the same sides, a multiple, or the same set of numbers."""
        same: list[Comparison] = []
        if isinstance(reference, Relation) and isinstance(answer, Relation):
            turned = Relation(answer.sides[::-1], tuple(_TURNED[sign] for sign in answer.signs[::-1]))
            others = [other for other in (answer, turned) if reference.signs == other.signs]
            same += [_all_of(map(self.expressions, reference.sides, other.sides)) for other in others]
        if (ours := _difference(reference)) and (theirs := _difference(answer)):
            factor = ratio(ours[0], theirs[0])  # 2x + 4y < 6 is x + 2y < 3, and -x - 2y > -3
            sign = theirs[1] if factor and factor > 0 else _TURNED[theirs[1]]
            same.append(YES if factor is not None and sign == ours[1] else NO)
        return _best_of([*same, self._regions(reference, answer)])

    def _regions(self, reference: Value, answer: Value) -> Comparison:
        """Compare two values as sets of real numbers, of the same variable if both name one."""
        # R alone is all real numbers as an answer, a radius as a reference
        regions = [_region_of(one) for one in (reference, REALS if answer == Amount(Symbol('R')) else answer)]
        if None in regions:
            return NO
        (variable, ours), (other, theirs) = (region for region in regions if region)
        if variable and other and variable != other:
            return NO
        ends, same = dict.fromkeys(_ends(ours)), [YES]
        meant = {end: end for end in ends}
        for end in _ends(theirs):
            for expected in ends:
                if end not in meant and (compared := self.expressions(expected, end)).equal:
                    meant[end] = expected
                    same.append(compared)
            if meant.setdefault(end, end) not in ends and not is_constant(end):
                return NO
        for point in range(1 if all(map(is_constant, meant)) else 3):
            if not (places := _places(meant, point)):
                return NO
            inside = [
                [_contains(region, places, place) for region in (ours, theirs)]
                for place in range(2 * len(places) + 1)
            ]
            if any(mine != others for mine, others in inside) or not any(map(any, inside)):
                return NO
        return _all_of(same)


EXACT = Equality(frozenset())
LENIENT = Equality(frozenset(RULES) - {'stated', 'list-as-set', 'list-as-tuple'}, True, True)
"""Whether two values of one response may be one: by more rules than an answer and its reference."""


def distinct(items: Sequence[Value], equality: Equality = EXACT) -> list[Value]:
    """Return values without what says the same as one before."""
    kept: list[Value] = []
    for item in dict.fromkeys(items):
        if len(items) > _MOST_ITEMS or not any(equality.values(other, item).equal for other in kept):
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


def _contradict(lists: Sequence[Several]) -> bool:
    """Return whether one says `and`, the other `or`, of what is not just the values of one unknown."""
    items = [item for one in lists for item in one.items]
    names = {item.name if isinstance(item, Named) else '' for item in items} - {''}
    loose = any(
        isinstance(one, Relation) or isinstance(getattr(one, 'expression', 0), Symbol) for one in items
    )
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
    if not (isinstance(ours, Call) and isinstance(theirs, Call) and isinstance(value, Amount)):
        return None
    mine, others = (
        [one.name for one in left.arguments if isinstance(one, Symbol)] for left in (ours, theirs)
    )
    if (ours.name, len(ours.arguments), len(mine)) != (theirs.name, len(others), len(theirs.arguments)):
        return None
    if {*symbols(value.expression)} & ({*mine} - {*others}):  # in f(t) = 2x + 1, x is another one
        return None
    return replace(value, expression=renamed(value.expression, dict(zip(others, mine, strict=True))))


def _difference(value: Value) -> tuple[Expression, str] | None:
    """Return the difference of the two sides of a relation, and its sign."""
    match value:
        case Relation((left, right), (sign,)):
            return added(left, negative(right)), sign
        case Named(_, Amount(right, None), Call() | Symbol() | Number() as left):
            return added(left, negative(right)), '='
    return None


# Sets of real numbers


class _Piece(NamedTuple):
    """An interval, or a point: its ends, and whether they belong to it."""

    low: Expression
    high: Expression
    low_closed: bool = False
    high_closed: bool = False


class _Joined(NamedTuple):
    """Numbers that are in all of its parts ('and'), or in one of them ('or')."""

    by: str
    parts: Sequence[_Piece | _Joined]


_Region = _Piece | _Joined
_MINUS_INFINITY = negative(INFINITY)


def _ends(region: _Region) -> Iterator[Expression]:
    if isinstance(region, _Piece):
        yield from region[:2]
    else:
        for part in region.parts:
            yield from _ends(part)


def _places(ends: Mapping[Expression, Expression], point: int) -> dict[Expression, int]:
    """Return the places of ends on a line of which each second one is an end; {} if one has no value."""
    infinite = {INFINITY: math.inf, _MINUS_INFINITY: -math.inf}
    values: dict[Expression, Any] = {
        end: infinite[meant] if meant in infinite else value_of(meant, point) for end, meant in ends.items()
    }
    if None in values.values():
        return {}
    order = sorted({*values.values()})
    return {end: 2 * order.index(value) + 1 for end, value in values.items()}


def _contains(region: _Region, places: Mapping[Expression, int], place: int) -> bool:
    if isinstance(region, _Joined):
        return (all if region.by == 'and' else any)(_contains(part, places, place) for part in region.parts)
    low, high = places[region.low], places[region.high]
    above = low < place or (low == place and region.low_closed)
    return above and (place < high or (place == high and region.high_closed))


def _region_of(value: Value) -> tuple[str, _Region] | None:
    """Return the variable and the set of real numbers that `value` describes, None if it is none."""
    match value:
        case Named(name, inner):
            region = _region_of(inner)
            return (name, region[1]) if region and not region[0] else None
        case Relation(sides, signs) if len(sides) == 3 and r'\ne' not in signs:
            halves = [_half_line(sides[at : at + 2], signs[at]) for at in (0, 1)]
            same = halves[0] and halves[1] and halves[0][0] == halves[1][0]
            return (
                (halves[0][0], _Joined('and', [half[1] for half in halves if half]))
                if same and halves[0]
                else None
            )
        case Relation(sides, (sign,)):
            return _half_line(sides, sign)
        case Several('list', items, joined_by):
            return _region_of_list(items, joined_by)
        case Several('union' | 'set' as kind, items):
            members = [_region_of(Several('[]', (item, item)) if kind == 'set' else item) for item in items]
            parts = [region for one in members if one for region in one[1:] if isinstance(region, _Region)]
            return ('', _Joined('or', parts)) if parts and len(parts) == len(items) else None
        case Several(kind, (Amount(low) as left, Amount(high) as right)) if kind in PAIRS:
            is_plain = PERCENT not in (left.unit, right.unit)
            return ('', _Piece(low, high, kind[0] == '[', kind[1] == ']')) if is_plain else None
        case Words('domain', ('R' | 'R+' as domain,)):
            return '', _Piece(number(0) if domain == 'R+' else _MINUS_INFINITY, INFINITY)
    return None


def _half_line(sides: Sequence[Expression], sign: str) -> tuple[str, _Region] | None:
    """Read `c·x < b`, with a variable, or anything that stands for one, on one side alone."""
    for left, order, right in ((sides[0], sign, sides[1]), (sides[1], _TURNED[sign], sides[0])):
        if is_constant(left) or not is_constant(right) or sign == '=':
            continue
        factors = left.arguments if isinstance(left, Call) and left.name == '*' else (left,)
        variables = [one for one in factors if rational(one) is None]
        name, factor = repr(left), Fraction(1)
        if len(variables) == 1 and isinstance(variables[0], Symbol):
            name = variables[0].name
            factor = math.prod(filter(None, map(rational, factors)), start=Fraction(1))
        end = right if factor == 1 else quotient(right, Number(factor))
        turned = _TURNED[order] if factor < 0 else order
        below = _Piece(_MINUS_INFINITY, end, False, turned == r'\le')
        above = _Piece(end, INFINITY, turned == r'\ge', False)
        sole = below if turned in {'<', r'\le'} else above
        return name, _Joined('or', [below, above]) if sign == r'\ne' else sole
    return None


def _region_of_list(items: Sequence[Value], joined_by: str) -> tuple[str, _Region] | None:
    """Read inequalities of one variable: taken together, or, where that is everything, at once."""
    regions: list[tuple[str, _Region]] = []
    named = all(isinstance(item, Named) for item in items)
    for item in items:
        match item:
            case Relation() | Named() | Several('union') if region := _region_of(item):
                regions.append(region)
            case Named(name, Amount() as point) if not named and (
                region := _region_of(Several('[]', (point, point)))
            ):
                regions.append((name, region[1]))  # x = 1 beside x > 2
            case _:
                return None  # (1, 2), (3, 4) are points
    parts = [region for _, region in regions]
    if len({variable for variable, _ in regions}) != 1:
        return None
    if joined_by == ',' and all(isinstance(part, _Piece) for part in parts):
        together = _Joined('or', parts)
        places = _places({end: end for end in _ends(together)}, 0)
        if places and all(
            _contains(together, places, place) for place in range(2, 2 * len({*places.values()}))
        ):
            joined_by = 'and'
    return regions[0][0], _Joined('and' if joined_by == 'and' else 'or', parts)
