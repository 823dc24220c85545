"""When two typed values are equal: exactly, by a lenient rule, or not.

A value of one type equals one of another only where a rule says so. Each lenient rule has an id
(`expression_equality.RULES`) and holds only if it is among those allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, NamedTuple

from .formula import words
from .numeric import (
    DEGREE,
    INFINITY,
    Call,
    Expression,
    Number,
    Product,
    Sum,
    Symbol,
    as_fraction,
    equal,
    linear,
    negative,
    number,
    numerator,
    quotient,
    ratio,
    rational,
    replaced,
    symbols,
    value_of,
)
from .values import (
    DEGREES,
    RADIANS,
    Chain,
    Conditioned,
    Domain,
    Formula,
    Labelled,
    Listed,
    Matrix,
    Named,
    Pair,
    Phrase,
    Piecewise,
    Quantity,
    Ratio,
    Relation,
    Set,
    Time,
    Tuple,
    Union,
    Value,
)

RULES: Mapping[str, str] = {
    'asked': 'what the question asks for as the name of the value: m + n = 75, 75',
    'bound-names': 'a function of a variable with another name: f(z) = z, f(x) = x',
    'brackets': 'round and square brackets of what can be no interval: (3, -1), [3, -1]',
    'chain': 'the last member of a chain that holds: 2^{10} = 1024, 1024',
    'condition-missing': 'the range of an index on one side only: 2n-1 (n ∈ N*), 2n-1',
    'half-day': 'a.m. or p.m. on one side only: 4:30 p.m., 4:30',
    'label': 'fewer words before a quantity: 每瓶墨水10元, 墨水10元',
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


class Comparison(NamedTuple):
    """Whether two values are equal, and by which rules."""

    equal: bool
    rules: frozenset[str] = frozenset()
    """The lenient rules that were needed (see `rules.RULES`)."""


YES, NO = Comparison(True), Comparison(False)


def by_rule(rule: str, comparison: Comparison = YES) -> Comparison:
    """Return `comparison` with `rule` among those that it needed; a difference stays one."""
    return Comparison(True, comparison.rules | {rule}) if comparison.equal else NO


def all_of(comparisons: Iterable[Comparison]) -> Comparison:
    """Return what holds if all of `comparisons` do. Stops at the first difference."""
    rules: frozenset[str] = frozenset()
    for comparison in comparisons:
        if not comparison.equal:
            return NO
        rules |= comparison.rules
    return Comparison(True, rules)


def best_of(comparisons: Iterable[Comparison]) -> Comparison:
    """Return the first that is equal, else NO."""
    return next((comparison for comparison in comparisons if comparison.equal), NO)


_LONG = 10
_LEAST_ROUNDED = 3
"""Digits of a reference that an exact value is held against: 5/12 may be a mistake for 0.42."""
_FLOAT = 4e-15


def compare_expressions(
    reference: Expression, answer: Expression, rules: frozenset[str], least: int = _LEAST_ROUNDED
) -> Comparison:
    """Return how two expressions compare under the lenient `rules` that are allowed.

    Values at points decide, see `numeric`; what cannot be computed anywhere is not equal.
    """
    if isinstance(reference, Number) and isinstance(answer, Number):
        return YES if reference.value == answer.value else _decimal(reference, answer, rules, least)
    return YES if equal(reference, answer) else _decimal(reference, answer, rules, least)


def _decimal(reference: Expression, answer: Expression, rules: frozenset[str], least: int) -> Comparison:
    """Whether one is a decimal of the other: of many digits, or with the few that the reference gives."""
    by_reference, by_answer = _is_decimal(reference), _is_decimal(answer)
    if by_reference and by_answer:  # a long one was not rounded: it is as good as the exact value
        ours, theirs = _digits(reference), _digits(answer)
        by_reference, by_answer = (ours < theirs, ours > theirs) if theirs >= _LONG else (True, True)
    if by_reference == by_answer:
        return NO
    decimal, exact = (reference, answer) if by_reference else (answer, reference)
    if not isinstance(decimal, Number) or decimal.digits is None or not _rounds_to(exact, decimal):
        return NO
    if _is_long(decimal):
        rule = 'long-decimal'
    elif by_reference and _may_be_rounded(decimal, exact, 2 if _is_long(answer) else least):
        rule = 'rounded'
    else:
        return NO
    return by_rule(rule) if rule in rules else NO


def _may_be_rounded(decimal: Number, exact: Expression, least: int) -> bool:
    """Whether a decimal has the digits of a rounded one, and its exact value more of them than it shows."""
    shown = len(str(abs(decimal.value.numerator * 10 ** (decimal.digits or 0) // decimal.value.denominator)))
    value = rational(exact)
    below = 1 if value is None else value.denominator
    for prime in (2, 5):
        while below % prime == 0 and value is not None:
            below //= prime
    ends = value is not None and below == 1 and not _is_decimal(exact)
    return shown >= least and (decimal.digits or 0) >= 1 and not ends


def _is_decimal(expression: Expression) -> bool:
    return isinstance(expression, Number) and expression.digits is not None


def _is_long(expression: Expression) -> bool:
    return _digits(expression) >= _LONG


def _digits(expression: Expression) -> int:
    """Return the number of digits after the decimal point."""
    return (expression.digits or 0) if isinstance(expression, Number) else 0


def _rounds_to(exact: Expression, decimal: Number) -> bool:
    """Whether `exact` rounded, or a long one cut, to the digits of `decimal` is `decimal`."""
    value = as_fraction(exact)
    if value is None:
        return False
    digits = decimal.digits or 0
    unit = Fraction(1, 10**digits)
    slack = abs(value) * Fraction(_FLOAT)
    apart = abs(value - decimal.value)
    if apart <= unit / 2 + slack:
        return True
    return digits >= _LONG and apart < unit + slack and abs(decimal.value) < abs(value)


Compare = Callable[[Expression, Expression], Comparison]

_REGIONS = (Pair, Relation, Union, Domain, Set, Listed, Named)
_TURNED = {'<': '>', '>': '<', r'\le': r'\ge', r'\ge': r'\le', '=': '=', r'\ne': r'\ne'}


def same_region(reference: Value, answer: Value, compare: Compare) -> Comparison:
    """Return whether two values are the same set of real numbers, of the same variable if both name one."""
    ours, theirs = (
        region_of(value)
        if isinstance(value, _REGIONS) or (value == Formula(Symbol('R')) and not radius)
        else None
        for value, radius in ((reference, True), (answer, False))
    )
    if ours is None or theirs is None or len(ours.pieces) != len(theirs.pieces):
        return NO
    if ours.variable and theirs.variable and ours.variable != theirs.variable:
        return NO
    return _pieces(ours, theirs, compare)


def _pieces(ours: Region, theirs: Region, compare: Compare) -> Comparison:
    found: list[Comparison] = []
    for one, other in zip(ours.pieces, theirs.pieces, strict=True):
        if (one.low_closed, one.high_closed) != (other.low_closed, other.high_closed):
            return NO
        found += [compare(one.low, other.low), compare(one.high, other.high)]
    return all_of(found)


def same_relation(reference: Relation, answer: Relation, compare: Compare) -> Comparison:
    """Return whether two equations or inequalities say the same."""
    turned = Relation(answer.sides[::-1], tuple(_TURNED[sign] for sign in answer.signs[::-1]))
    chains = [_chain(reference, other, compare) for other in (answer, turned)]
    return best_of(
        [
            *chains,
            same_equation(reference, answer),
            _inequalities(reference, answer),
            same_region(reference, answer, compare),
        ]
    )


def _chain(reference: Relation, answer: Relation, compare: Compare) -> Comparison:
    if reference.signs != answer.signs:
        return NO
    return all_of(compare(*sides) for sides in zip(reference.sides, answer.sides, strict=True))


def same_equation(reference: Value, answer: Value) -> Comparison:
    """Return whether both are equations and one is a multiple of the other."""
    differences = [_difference(value) for value in (reference, answer)]
    if any(difference is None for difference in differences):
        return NO
    ours, theirs = (numerator(difference) for difference in differences if difference)
    return YES if ratio(ours, theirs) is not None else NO


def _inequalities(reference: Relation, answer: Relation) -> Comparison:
    """Compare inequalities: `2x + 4y < 6` with `x + 2y < 3`, or with `-x - 2y > -3`."""
    if len(reference.signs) != 1 or len(answer.signs) != 1 or '=' in (*reference.signs, *answer.signs):
        return NO
    ours, theirs = (Sum((value.sides[0], negative(value.sides[1]))) for value in (reference, answer))
    factor = ratio(ours, theirs)
    if factor is None:
        return NO
    sign = answer.signs[0] if factor > 0 else _TURNED[answer.signs[0]]
    return YES if sign == reference.signs[0] else NO


def _difference(value: Value) -> Expression | None:
    """Return left minus right of an equation."""
    if isinstance(value, Relation) and value.signs == ('=',):
        return Sum((value.sides[0], negative(value.sides[1])))
    if isinstance(value, Named) and value.left is not None and isinstance(value.value, Formula):
        return Sum((value.left, negative(value.value.expression)))
    return None


_TURNED = {'<': '>', '>': '<', r'\le': r'\ge', r'\ge': r'\le', r'\ne': r'\ne', '=': '='}
_MINUS_INFINITY = negative(INFINITY)


class Piece(NamedTuple):
    """An interval, or a point: its ends, and whether they belong to it."""

    low: Expression
    high: Expression
    low_closed: bool
    high_closed: bool


class Region(NamedTuple):
    """Intervals from left to right, and the variable they are of ('' where none is named)."""

    pieces: tuple[Piece, ...]
    variable: str = ''


EVERYTHING = Piece(_MINUS_INFINITY, INFINITY, False, False)


def region_of(value: Value) -> Region | None:
    r"""Return the set of real numbers that `value` describes, or None if it is none that can be read.

    >>> from .read import read
    >>> region_of(read('x > 1')[0]) == region_of(read(r'x \in (1, +\infty)')[0])
    True
    """
    pieces: list[Piece] | None
    if isinstance(value, Named):
        inner = region_of(value.value)
        return inner._replace(variable=value.name) if inner and not inner.variable else None
    if isinstance(value, Relation):
        return _of_relation(value)
    if isinstance(value, Listed):
        return _of_list(value)
    if isinstance(value, Union):
        pieces = _collected([region_of(part) for part in value.parts])
    elif isinstance(value, Set):
        pieces = _points(value.items)
    else:
        pieces = _of_interval(value)
    return Region(_ordered(pieces)) if pieces is not None else None


def _of_interval(value: Value) -> list[Piece] | None:
    if isinstance(value, Pair):
        low, high = _end(value.low), _end(value.high)
        return [Piece(low, high, value.left_closed, value.right_closed)] if low and high else None
    if value in {Domain('R'), Formula(Symbol('R'))}:
        return [EVERYTHING]
    if value == Domain('R+'):
        return [Piece(number(0), INFINITY, False, False)]
    return None


def _end(value: Value) -> Expression | None:
    if isinstance(value, Quantity):
        return value.amount
    return value.expression if isinstance(value, Formula) and not value.percent else None


def _points(items: tuple[Value, ...]) -> list[Piece] | None:
    ends = [_end(item) for item in items]
    return [Piece(end, end, True, True) for end in ends if end] if all(ends) else None


def _collected(regions: list[Region | None]) -> list[Piece] | None:
    if any(region is None for region in regions):
        return None
    return [piece for region in regions if region for piece in region.pieces]


def _of_list(value: Listed) -> Region | None:
    """Read inequalities of one variable: taken together, or, where that is everything, at once."""
    if not all(isinstance(item, Relation | Named | Union) for item in value.items):
        return None  # (1, 2), (3, 4) are points
    related = any(isinstance(item, Relation | Union) for item in value.items)
    regions = [region_of(item) or (_point_named(item) if related else None) for item in value.items]
    pieces = _collected(regions)
    variables = {region.variable for region in regions if region}
    if pieces is None or len(variables) != 1:
        return None
    variable = variables.pop()
    if value.joined_by == 'and':
        common = reduce(_in_both, [list(region.pieces) for region in regions if region])
        return Region(_ordered(common), variable) if common else None
    if value.joined_by == ',' and len(pieces) == len(regions) and _ordered(pieces) == (EVERYTHING,):
        together = _intersection(pieces)
        return Region((together,), variable) if together else None
    return Region(_ordered(pieces), variable)


def _point_named(item: Value) -> Region | None:
    """Return `x = 1` beside `x > 2` as a point."""
    end = _end(item.value) if isinstance(item, Named) else None
    return Region((Piece(end, end, True, True),), item.name) if end and isinstance(item, Named) else None


def _of_relation(relation: Relation) -> Region | None:
    sides, signs = relation.sides, relation.signs
    if len(sides) == 3:
        first = _of_relation(Relation(sides[:2], signs[:1]))
        second = _of_relation(Relation(sides[1:], signs[1:]))
        if not first or not second or first.variable != second.variable or r'\ne' in signs:
            return None
        common = _intersection([*first.pieces, *second.pieces])
        return Region((common,), first.variable) if common else None
    if len(sides) != 2 or '=' in signs:
        return None
    return _half_line(sides[0], signs[0], sides[1]) or _half_line(sides[1], _TURNED[signs[0]], sides[0])


def _half_line(left: Expression, sign: str, right: Expression) -> Region | None:
    """Read `c·x < b`, with a variable, or anything that stands for one, on the left alone."""
    if next(symbols(left), None) is None or next(symbols(right), None) is not None:
        return None
    name, factor = linear(left)
    if factor < 0:
        sign = _TURNED[sign]
    end = right if factor == 1 else quotient(right, Number(factor))
    below = Piece(_MINUS_INFINITY, end, False, sign in {r'\le'})
    above = Piece(end, INFINITY, sign in {r'\ge'}, False)
    pieces = {'<': [below], r'\le': [below], '>': [above], r'\ge': [above], r'\ne': [below, above]}[sign]
    return Region(tuple(pieces), name)


def _place(end: Expression) -> float:
    if end == INFINITY:
        return math.inf
    if isinstance(end, Symbol) or end == _MINUS_INFINITY:
        return -math.inf if end == _MINUS_INFINITY else math.nan
    value = value_of(end)
    return math.nan if value is None else float(value)


def _ordered(pieces: list[Piece] | None) -> tuple[Piece, ...]:
    """Sort from left to right and join those that meet; where an end is no number, leave all as it is."""
    if not pieces or any(math.isnan(_place(end)) for piece in pieces for end in piece[:2]):
        return tuple(pieces or ())
    joined: list[Piece] = []
    for piece in sorted(pieces, key=lambda one: (_place(one.low), not one.low_closed, _place(one.high))):
        last = joined[-1] if joined else None
        if last and _meet(last, piece):
            if (_place(piece.high), piece.high_closed) > (_place(last.high), last.high_closed):
                joined[-1] = last._replace(high=piece.high, high_closed=piece.high_closed)
        else:
            joined.append(piece)
    return tuple(joined)


def _meet(left: Piece, right: Piece) -> bool:
    end, start = _place(left.high), _place(right.low)
    return start < end or (start == end and (left.high_closed or right.low_closed))


def _intersection(pieces: list[Piece]) -> Piece | None:
    if any(math.isnan(_place(end)) for piece in pieces for end in piece[:2]):
        return _of_symbols(pieces)
    low = max(pieces, key=lambda piece: (_place(piece.low), not piece.low_closed))
    high = min(pieces, key=lambda piece: (_place(piece.high), piece.high_closed))
    if _place(low.low) > _place(high.high):
        return None
    return Piece(low.low, high.high, low.low_closed, high.high_closed)


def _in_both(ones: list[Piece], others: list[Piece]) -> list[Piece]:
    found = [_intersection([one, other]) for one in ones for other in others]
    return [piece for piece in found if piece and not _is_empty(piece)]


def _is_empty(piece: Piece) -> bool:
    return _place(piece.low) == _place(piece.high) and not (piece.low_closed and piece.high_closed)


def _of_symbols(pieces: list[Piece]) -> Piece | None:
    """Read `a < x < b`: one end from each."""
    lows = [piece for piece in pieces if piece.low != _MINUS_INFINITY]
    highs = [piece for piece in pieces if piece.high != INFINITY]
    if len(lows) != 1 or len(highs) != 1:
        return None
    return Piece(lows[0].low, highs[0].high, lows[0].low_closed, highs[0].high_closed)


_MOST_ITEMS = 50  # of a list that is searched for what it says twice in two spellings
_NEGATING = words(
    'not no non less more than least most never without except 不 非 无 没 没有 至少 至多 超过 少于 多于'
)


class Equality:
    """Compares values with the lenient rules that are allowed.

    Args:
        rules: that are allowed.
        asks_percent: whether the question asks for a percentage; None: there is no question.

    >>> from .read import read
    >>> Equality().compare(read('5')[0], read('5 cm')[0]).rules
    frozenset({'unit-missing'})
    >>> Equality(frozenset()).compare(read('5')[0], read('5 cm')[0]).equal
    False
    """

    def __init__(
        self, rules: frozenset[str] = ALL_RULES, asks_percent: bool | None = None, asks_rounded: bool = False
    ) -> None:
        self._rules, self._asks_percent, self._asks_rounded = rules, asks_percent, asks_rounded
        self._holders: tuple[tuple[type, Callable[[Any, Any], Comparison]], ...] = (
            (Conditioned, self._conditioned),
            (Labelled, self._labelled),
            (Named, self._named),
            (Listed, self._lists),
        )
        self._same_type: dict[type, Callable[[Any, Any], Comparison]] = {
            Formula: self._formulas,
            Quantity: self._quantities,
            Set: lambda ours, theirs: self._inside._unordered(ours.items, theirs.items),
            Pair: self._pairs,
            Tuple: lambda ours, theirs: self._inside._ordered(ours.items, theirs.items),
            Matrix: self._matrices,
            Piecewise: self._piecewise,
            Ratio: self._ratios,
            Relation: lambda ours, theirs: same_relation(ours, theirs, self.expressions),
            Union: self._regions,
            Time: self._times,
        }

    @cached_property
    def _inside(self) -> Equality:
        """Return how to compare what stands in brackets: {1, 2} is not {{1}, 2}."""
        return Equality(self._rules - {'list-as-set'}, self._asks_percent, self._asks_rounded)

    def compare(self, reference: Value, answer: Value) -> Comparison:
        """Return how `answer` compares with `reference`; only the rule `rounded` tells one from the other."""
        if reference == answer:
            return YES
        if Chain in {type(reference), type(answer)}:
            last = [value.value if isinstance(value, Chain) else value for value in (reference, answer)]
            return self._by('chain', self.compare(*last))
        types = {type(reference), type(answer)}
        for holder, compare in self._holders:
            if holder in types:
                return compare(reference, answer)
        if len(types) == 1:
            return self._same_type.get(types.pop(), lambda *_: NO)(reference, answer)
        return self._mixed(reference, answer)

    def _by(self, rule: str, comparison: Comparison) -> Comparison:
        """Return the comparison if the rule is allowed."""
        return by_rule(rule, comparison) if rule in self._rules else NO

    # Values that hold another one

    def _conditioned(self, reference: Value, answer: Value) -> Comparison:
        if isinstance(reference, Conditioned) and isinstance(answer, Conditioned):
            same = self.compare(reference.value, answer.value)
            return same if reference.condition == answer.condition else NO
        inner = [value.value if isinstance(value, Conditioned) else value for value in (reference, answer)]
        return self._by('condition-missing', self.compare(*inner))

    def _labelled(self, reference: Value, answer: Value) -> Comparison:
        if not isinstance(reference, Labelled) or not isinstance(answer, Labelled):
            return NO
        same = self.compare(reference.value, answer.value)
        if reference.words == answer.words:
            return same
        ours, theirs = (
            ''.join(value.words) if _is_chinese(value.words) else value.words for value in (reference, answer)
        )
        if ({*ours} ^ {*theirs}) & _NEGATING or not (_in_order(ours, theirs) or _in_order(theirs, ours)):
            return NO
        return self._by('label', same)

    def _named(self, reference: Value, answer: Value) -> Comparison:
        if isinstance(reference, Named) and isinstance(answer, Named):
            if _same_name(reference, answer):
                return self.compare(reference.value, answer.value)
            if renamed := _renamed(answer, reference):
                return self._by('bound-names', self.compare(reference.value, renamed))
            return same_equation(reference, answer)
        named, other = (reference, answer) if isinstance(reference, Named) else (answer, reference)
        assert isinstance(named, Named)  # one of them is
        if isinstance(other, Relation):
            return best_of([same_equation(reference, answer), self._regions(reference, answer)])
        if isinstance(other, Listed):
            return self._lists(reference, answer)
        inner = [value.value if isinstance(value, Named) else value for value in (reference, answer)]
        unnamed = self._by('name-missing', self.compare(*inner))
        return best_of([unnamed, self._regions(reference, answer)])

    # Formulas and quantities

    def _formulas(self, reference: Formula, answer: Formula) -> Comparison:
        if reference.percent == answer.percent:
            return self.expressions(reference.expression, answer.expression)
        parts = [_without_percent(value) for value in (reference, answer)]
        if (same := self.expressions(*parts)).equal:
            return same
        # Only where the question asks for a percentage; where there is none, the reference tells it.
        asked = self._asks_percent or (self._asks_percent is None and reference.percent)
        same = self.expressions(reference.expression, answer.expression)
        return self._by('percent-sign', same) if asked else NO

    def expressions(self, reference: Expression, answer: Expression) -> Comparison:
        """Return how two expressions compare; see `compare_expressions`."""
        return compare_expressions(reference, answer, self._rules, 2 if self._asks_rounded else 3)

    def _quantities(self, reference: Quantity, answer: Quantity) -> Comparison:
        if reference.unit.dimension != answer.unit.dimension:
            if reference.product is not None and answer.product is not None:
                return self.expressions(reference.product, answer.product)
            return NO
        return self.expressions(_in_basic_units(reference), _in_basic_units(answer))

    def _quantity_and_formula(self, quantity: Quantity, formula: Formula, flipped: bool) -> Comparison:
        def compare(one: Expression, other: Expression) -> Comparison:
            return self.expressions(other, one) if flipped else self.expressions(one, other)

        if formula.percent:
            return NO
        if quantity.product is not None and next(symbols(formula.expression), None) is not None:
            return compare(quantity.product, formula.expression)
        angle = quantity.unit.dimension == DEGREES.dimension
        if angle and (same := compare(_in_basic_units(quantity), formula.expression)).equal:
            return same
        if quantity.unit == RADIANS:
            return NO
        return self._by('unit-missing', compare(quantity.amount, formula.expression))

    # Several values

    def _ordered(self, reference: Sequence[Value], answer: Sequence[Value]) -> Comparison:
        if len(reference) != len(answer):
            return NO
        return all_of(self.compare(ours, theirs) for ours, theirs in zip(reference, answer, strict=True))

    def _unordered(self, reference: Sequence[Value], answer: Sequence[Value]) -> Comparison:
        """Compare whether each of one is one of the other, repetitions left out."""
        reference, answer = self._distinct(reference), self._distinct(answer)
        if len(reference) != len(answer):
            return NO
        left = [value for value in answer if value not in reference]
        found: list[Comparison] = []
        for ours in [value for value in reference if value not in answer]:
            matches = [(self.compare(ours, theirs), place) for place, theirs in enumerate(left)]
            matches = [(same, place) for same, place in matches if same.equal]
            if not matches:
                return NO
            same, place = min(matches, key=lambda match: len(match[0].rules))
            found.append(same)
            del left[place]
        return all_of(found)

    def _distinct(self, items: Sequence[Value]) -> list[Value]:
        items = list(dict.fromkeys(items))
        if len(items) > _MOST_ITEMS:
            return items
        kept: list[Value] = []
        exact = Equality(frozenset())
        for item in items:
            if not any(exact.compare(other, item).equal for other in kept):
                kept.append(item)
        return kept

    def _lists(self, reference: Value, answer: Value) -> Comparison:
        """Compare bare lists, or a bare list with anything else."""
        ours, theirs = _items(reference), _items(answer)
        other = next((value for value in (reference, answer) if not isinstance(value, Listed)), None)
        if _contradict(reference, answer):
            found = []
        elif isinstance(other, Named) and isinstance(other.value, Set):
            found = [self._members(other, ours if other is answer else theirs)]
        elif other is None or isinstance(other, Named):
            found = [self._named_or_not(ours, theirs), self._other_order(reference, answer)]
        elif isinstance(other, Pair | Tuple):
            found = [self._by('list-as-tuple', self._named_or_not(ours, theirs))]
        elif isinstance(other, Set):
            found = [self._by('list-as-set', self._named_or_not(ours, theirs, ordered=False))]
        else:
            found = []
        return best_of([*found, self._said_twice(reference, answer), self._regions(reference, answer)])

    def _members(self, named: Named, items: Sequence[Value]) -> Comparison:
        """Compare `a = 1, -2` with `a ∈ {-2, 1}`."""
        if not isinstance(named.value, Set) or not _are_named(items):
            return NO
        one_name = {_plain(item.name) for item in items if isinstance(item, Named)} == {_plain(named.name)}
        values = [item.value for item in items if isinstance(item, Named)]
        return self._inside._unordered(values, named.value.items) if one_name else NO

    def _said_twice(self, reference: Value, answer: Value) -> Comparison:
        """Compare a list that says one thing in several ways with that one thing."""
        single: list[Value] = []
        for value in (reference, answer):
            distinct = self._distinct(value.items) if isinstance(value, Listed) else [value]
            if len(distinct) > 1 or isinstance(distinct[0], Listed):
                return NO
            single += distinct
        return self.compare(*single)

    def _other_order(self, reference: Value, answer: Value) -> Comparison:
        ours, theirs = _items(reference), _items(answer)
        same = self._named_or_not(ours, theirs, ordered=False)
        either = any(isinstance(value, Listed) and value.joined_by == 'or' for value in (reference, answer))
        if either or (_are_named(ours) and _are_named(theirs)):
            return same
        return self._by('list-order', same)

    def _named_or_not(
        self, ours: Sequence[Value], theirs: Sequence[Value], *, ordered: bool = True
    ) -> Comparison:
        """Compare item by item; in another order only with no name, one name, or all names given."""
        if ordered:
            return self._ordered(ours, theirs)
        names = {_plain(item.name) for item in (*ours, *theirs) if isinstance(item, Named)}
        if len(names) > 1 and not (_are_named(ours) and _are_named(theirs)):
            return NO
        return self._unordered(ours, theirs)

    def _pairs(self, reference: Pair, answer: Pair) -> Comparison:
        same = self._inside._ordered((reference.low, reference.high), (answer.low, answer.high))
        brackets = [(pair.left_closed, pair.right_closed) for pair in (reference, answer)]
        if brackets[0] == brackets[1] or not same.equal:
            return same
        if any(left != right for left, right in brackets) or _may_be_interval(reference):
            return NO
        return self._by('brackets', same)

    def _matrices(self, reference: Matrix, answer: Matrix) -> Comparison:
        if [len(row) for row in reference.rows] != [len(row) for row in answer.rows]:
            return NO
        rows = zip(reference.rows, answer.rows, strict=True)
        return all_of(self.expressions(*cells) for pair in rows for cells in zip(*pair, strict=True))

    def _piecewise(self, reference: Piecewise, answer: Piecewise) -> Comparison:
        if len(reference.branches) != len(answer.branches):
            return NO
        return all_of(
            best_of(self._ordered(ours, theirs) for theirs in answer.branches) for ours in reference.branches
        )

    def _ratios(self, reference: Ratio, answer: Ratio) -> Comparison:
        if len(reference.terms) != len(answer.terms):
            return NO
        first, other = reference.terms[0], answer.terms[0]
        rest = zip(reference.terms[1:], answer.terms[1:], strict=True)
        return all_of(
            self.expressions(Product((first, theirs)), Product((ours, other))) for ours, theirs in rest
        )

    # Sets of numbers, equations, inequalities

    def _regions(self, reference: Value, answer: Value) -> Comparison:
        return same_region(reference, answer, self.expressions)

    # Everything else

    def _mixed(self, reference: Value, answer: Value) -> Comparison:
        """Compare values of two types; each case stands here in one order alone."""
        for one, other, flipped in ((reference, answer, False), (answer, reference, True)):
            if isinstance(one, Quantity) and isinstance(other, Formula):
                return self._quantity_and_formula(one, other, flipped)
            if isinstance(one, Ratio) and isinstance(other, Formula) and len(one.terms) == 2:
                value = quotient(*one.terms)
                return self._by('ratio-as-fraction', self.expressions(value, other.expression))
            if isinstance(one, Ratio) and isinstance(other, Time):
                clocks = [
                    tuple(number(part) for part in (hour, other.minute))
                    for hour in {other.hour, other.hour % 12 + (12 if other.half == 'pm' else 0)}
                ]
                return self._by('half-day', YES if one.terms in clocks else NO)
            if one == Phrase('nothing') and other == Set(()):
                return YES
            if isinstance(one, Set) and isinstance(other, Formula | Quantity) and len(one.items) == 1:
                return self._by('list-as-set', self.compare(one.items[0], other))
        return self._regions(reference, answer)

    def _times(self, reference: Time, answer: Time) -> Comparison:
        if (reference.hour % 12, reference.minute) != (answer.hour % 12, answer.minute):
            return NO
        if bool(reference.half) is bool(answer.half):
            return NO  # they would have been the same
        halved, other = (reference, answer) if reference.half else (answer, reference)
        if other.hour > 12:  # 17:00 leaves nothing open
            return YES if halved.half == 'pm' else NO
        return self._by('half-day', YES)


def _items(value: Value) -> tuple[Value, ...]:
    """Return what a list, set or point holds; `(x, y) = (1, 2)` holds two names with their values."""
    if isinstance(value, Pair):
        return value.low, value.high
    if isinstance(value, Named):
        names, items = value.name.strip('()').split(','), _items(value.value)
        if len(names) == len(items) > 1:
            return tuple(Named(name, item, Symbol(name)) for name, item in zip(names, items, strict=True))
    return value.items if isinstance(value, Listed | Set | Tuple) else (value,)


def _contradict(*lists: Value) -> bool:
    """Whether one says `and`, the other `or`, of what is not just the values of one unknown."""
    if {value.joined_by for value in lists if isinstance(value, Listed)} != {'and', 'or'}:
        return False
    items = [item for value in lists for item in _items(value)]
    names = {item.name for item in items if isinstance(item, Named)}
    return len(names) > 1 or any(
        isinstance(item, Relation) or (isinstance(item, Formula) and isinstance(item.expression, Symbol))
        for item in items
    )


def _are_named(items: Sequence[Value]) -> bool:
    return all(isinstance(item, Named) for item in items)


def _same_name(one: Named, other: Named) -> bool:
    for plain, head in ((one.left, other.left), (other.left, one.left)):
        if isinstance(plain, Symbol) and isinstance(head, Call) and plain.name == head.name:
            return all(isinstance(argument, Symbol) for argument in head.arguments)  # y(x) and y
    if one.left is not None and other.left is not None:
        return one.left == other.left
    return _plain(one.name) == _plain(other.name)


def _renamed(answer: Named, reference: Named) -> Value | None:
    """Return the value of f(z) = z with the variables of f(x) = x; None where the functions are others."""
    ours, theirs = reference.left, answer.left
    if not (isinstance(ours, Call) and isinstance(theirs, Call) and isinstance(answer.value, Formula)):
        return None
    names = [one.name if isinstance(one, Symbol) else '' for one in (*ours.arguments, *theirs.arguments)]
    if ours.name != theirs.name or len(ours.arguments) != len(theirs.arguments) or '' in names:
        return None
    mine, free = names[len(ours.arguments) :], {*symbols(answer.value.expression)}
    if free & {*names[: len(ours.arguments)]} - {*mine}:  # in f(t) = 2x + 1, x is another one
        return None
    renaming = dict(zip(names[len(ours.arguments) :], names, strict=False))
    return Formula(replaced(answer.value.expression, renaming), answer.value.percent)


def _plain(name: str) -> str:
    return (
        name.replace('{', '').replace('}', '').replace('\\', '').replace('angle', '').replace('triangle', '')
    )


def _without_percent(value: Formula) -> Expression:
    if not value.percent:
        return value.expression
    if isinstance(value.expression, Number) and value.expression.digits is not None:
        return Number(value.expression.value / 100, value.expression.digits + 2)
    return Product((value.expression, number(Fraction(1, 100))))


def _in_basic_units(quantity: Quantity) -> Expression:
    if quantity.unit == DEGREES:
        return Product((quantity.amount, DEGREE))
    if quantity.unit == RADIANS or quantity.unit.factor == 1:
        return quantity.amount
    return Product((quantity.amount, number(quantity.unit.factor)))


def _may_be_interval(pair: Pair) -> bool:
    """Whether the first end is below the second, or nobody can tell."""
    if not isinstance(pair.low, Formula) or not isinstance(pair.high, Formula):
        return False
    low, high = value_of(pair.low.expression), value_of(pair.high.expression)
    return low is None or high is None or low < high


def _in_order(fewer: Sequence[str], more: Sequence[str]) -> bool:
    """Whether `more` is `fewer` with something between: 甲比乙多 is not 乙比甲多."""
    left = iter(more)
    return all(word in left for word in fewer)


def _is_chinese(words: Sequence[str]) -> bool:
    return all(not word.isascii() for word in words)
