"""When two typed values are equal: exactly, by a lenient rule, or not.

A value of one type equals one of another only where a rule says so. Each lenient rule has an id
(`rules.RULES`) and holds only if it is among those allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from .comparison import NO, YES, Comparison, all_of, best_of, by_rule
from .exact import TooLarge, exact_form, is_zero, proportional
from .expression_equality import compare_expressions
from .expressions import DEGREE, Expression, Product, Sum, Symbol, negative, number, quotient, symbols
from .points import value_of
from .regions import Region, region_of
from .rules import ALL_RULES
from .tokens import words
from .units import DEGREES, RADIANS
from .values import (
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
)  # fmt: skip

_REGIONS = (Pair, Relation, Union, Domain, Set, Listed, Named)
_NEGATING = words(
    'not no non less more than least most never without except 不 非 无 没 没有 至少 至多 超过 少于 多于'
)
_TURNED = {'<': '>', '>': '<', r'\le': r'\ge', r'\ge': r'\le', '=': '=', r'\ne': r'\ne'}


class Equality:
    """Compares values with the lenient rules that are allowed.

    >>> from .parse import read
    >>> Equality().compare(read('5')[0], read('5 cm')[0]).rules
    frozenset({'unit-missing'})
    >>> Equality(frozenset()).compare(read('5')[0], read('5 cm')[0]).equal
    False
    """

    def __init__(self, rules: frozenset[str] = ALL_RULES) -> None:
        self._rules = rules

    def compare(self, reference: Value, answer: Value) -> Comparison:
        """Return how `answer` compares with `reference`; only the rule `rounded` tells one from the other."""
        if reference == answer:
            return YES
        for wrapped, compare in self._WRAPPED:
            if isinstance(reference, wrapped) or isinstance(answer, wrapped):
                return compare(self, reference, answer)
        if type(reference) is type(answer):
            return self._SAME_TYPE.get(type(reference), _different)(self, reference, answer)
        return self._mixed(reference, answer)

    def _by(self, rule: str, compare: Callable[[], Comparison]) -> Comparison:
        """What `compare` finds, if the rule is allowed."""
        return by_rule(rule, compare()) if rule in self._rules else NO

    # Values that hold another one

    def _conditioned(self, reference: Value, answer: Value) -> Comparison:
        if isinstance(reference, Conditioned) and isinstance(answer, Conditioned):
            same = self.compare(reference.value, answer.value)
            return same if reference.condition == answer.condition else NO
        inner = [value.value if isinstance(value, Conditioned) else value for value in (reference, answer)]
        return self._by('condition-missing', lambda: self.compare(*inner))

    def _labelled(self, reference: Value, answer: Value) -> Comparison:
        if not isinstance(reference, Labelled) or not isinstance(answer, Labelled):
            return NO
        same = self.compare(reference.value, answer.value)
        if reference.words == answer.words:
            return same
        ours, theirs = (
            {*''.join(value.words)} if _is_chinese(value.words) else {*value.words}
            for value in (reference, answer)
        )
        if (ours ^ theirs) & _NEGATING or not (ours <= theirs or theirs <= ours):
            return NO
        return self._by('label', lambda: same)

    def _named(self, reference: Value, answer: Value) -> Comparison:
        if isinstance(reference, Named) and isinstance(answer, Named):
            if _same_name(reference, answer):
                return self.compare(reference.value, answer.value)
            return self._equations(reference, answer)
        named, other = (reference, answer) if isinstance(reference, Named) else (answer, reference)
        assert isinstance(named, Named)  # one of them is
        if isinstance(other, Relation):
            return best_of([self._equations(reference, answer), self._regions(reference, answer)])
        if isinstance(other, Listed):
            return self._lists(reference, answer)
        inner = [value.value if isinstance(value, Named) else value for value in (reference, answer)]
        unnamed = self._by('name-missing', lambda: self.compare(*inner))
        return best_of([unnamed, self._regions(reference, answer)])

    # Formulas and quantities

    def _formulas(self, reference: Formula, answer: Formula) -> Comparison:
        if reference.percent == answer.percent:
            return self.expressions(reference.expression, answer.expression)
        parts = [_without_percent(value) for value in (reference, answer)]
        if (same := self.expressions(*parts)).equal is not False:
            return same
        return self._by('percent-sign', lambda: self.expressions(reference.expression, answer.expression))

    def expressions(self, reference: Expression, answer: Expression) -> Comparison:
        """Return how two expressions compare; see `compare_expressions`."""
        return compare_expressions(reference, answer, self._rules)

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
        if angle and (same := compare(_in_basic_units(quantity), formula.expression)).equal is not False:
            return same
        if quantity.unit == RADIANS:
            return NO
        return self._by('unit-missing', lambda: compare(quantity.amount, formula.expression))

    # Several values

    def _ordered(self, reference: Sequence[Value], answer: Sequence[Value]) -> Comparison:
        if len(reference) != len(answer):
            return NO
        return all_of(self.compare(ours, theirs) for ours, theirs in zip(reference, answer, strict=True))

    def _unordered(self, reference: Sequence[Value], answer: Sequence[Value]) -> Comparison:
        """Each of one is one of the other, repetitions left out."""
        reference, answer = self._distinct(reference), self._distinct(answer)
        if len(reference) != len(answer):
            return NO
        left = list(answer)
        found: list[Comparison] = []
        for ours in reference:
            matches = [(self.compare(ours, theirs), place) for place, theirs in enumerate(left)]
            matches = [(same, place) for same, place in matches if same.equal is not False]
            if not matches:
                return NO
            same, place = min(matches, key=lambda match: (match[0].equal is None, len(match[0].rules)))
            found.append(same)
            del left[place]
        return all_of(found)

    def _distinct(self, items: Sequence[Value]) -> list[Value]:
        kept: list[Value] = []
        for item in items:
            exact = Equality(frozenset())
            if not any(exact.compare(other, item).equal is not False for other in kept):
                kept.append(item)
        return kept

    def _sets(self, reference: Set, answer: Set) -> Comparison:
        return self._unordered(reference.items, answer.items)

    def _lists(self, reference: Value, answer: Value) -> Comparison:
        """Bare lists, and a bare list beside anything else."""
        ours, theirs = _items(reference), _items(answer)
        other = next((value for value in (reference, answer) if not isinstance(value, Listed)), None)
        if other is None or isinstance(other, Named):
            found = [self._named_or_not(ours, theirs), self._other_order(reference, answer)]
        elif isinstance(other, Pair | Tuple):
            found = [self._by('list-as-tuple', lambda: self._named_or_not(ours, theirs))]
        elif isinstance(other, Set):
            found = [self._by('list-as-set', lambda: self._named_or_not(ours, theirs, ordered=False))]
        else:
            found = []
        return best_of([*found, self._said_twice(reference, answer), self._regions(reference, answer)])

    def _said_twice(self, reference: Value, answer: Value) -> Comparison:
        """A list that says one thing in several ways, beside that one thing."""
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
        return self._by('list-order', lambda: same)

    def _named_or_not(
        self, ours: Sequence[Value], theirs: Sequence[Value], *, ordered: bool = True
    ) -> Comparison:
        """Item by item; in another order only if no name, or the same name, or all names are given."""
        if ordered:
            return self._ordered(ours, theirs)
        names = {_plain(item.name) for item in (*ours, *theirs) if isinstance(item, Named)}
        if len(names) > 1 and not (_are_named(ours) and _are_named(theirs)):
            return NO
        return self._unordered(ours, theirs)

    def _pairs(self, reference: Pair, answer: Pair) -> Comparison:
        same = self._ordered((reference.low, reference.high), (answer.low, answer.high))
        brackets = [(pair.left_closed, pair.right_closed) for pair in (reference, answer)]
        if brackets[0] == brackets[1] or same.equal is False:
            return same
        if any(left != right for left, right in brackets) or _may_be_interval(reference):
            return NO
        return self._by('brackets', lambda: same)

    def _tuples(self, reference: Tuple, answer: Tuple) -> Comparison:
        return self._ordered(reference.items, answer.items)

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
        ours, theirs = (
            region_of(value) if isinstance(value, _REGIONS) or value == Formula(Symbol('R')) else None
            for value in (reference, answer)
        )
        if ours is None or theirs is None or len(ours.pieces) != len(theirs.pieces):
            return NO
        if ours.variable and theirs.variable and ours.variable != theirs.variable:
            return NO
        return self._pieces(ours, theirs)

    def _pieces(self, ours: Region, theirs: Region) -> Comparison:
        found: list[Comparison] = []
        for one, other in zip(ours.pieces, theirs.pieces, strict=True):
            if (one.low_closed, one.high_closed) != (other.low_closed, other.high_closed):
                return NO
            found += [self.expressions(one.low, other.low), self.expressions(one.high, other.high)]
        return all_of(found)

    def _relations(self, reference: Relation, answer: Relation) -> Comparison:
        turned = Relation(answer.sides[::-1], tuple(_TURNED[sign] for sign in answer.signs[::-1]))
        chains = [self._chain(reference, other) for other in (answer, turned)]
        return best_of(
            [
                *chains,
                self._equations(reference, answer),
                self._inequalities(reference, answer),
                self._regions(reference, answer),
            ]
        )

    def _chain(self, reference: Relation, answer: Relation) -> Comparison:
        if reference.signs != answer.signs:
            return NO
        return all_of(self.expressions(*sides) for sides in zip(reference.sides, answer.sides, strict=True))

    def _equations(self, reference: Value, answer: Value) -> Comparison:
        """Equations of which one is a multiple of the other."""
        differences = [_difference(value) for value in (reference, answer)]
        if any(difference is None for difference in differences):
            return NO
        try:
            ours, theirs = (exact_form(difference) for difference in differences if difference)
        except TooLarge:
            return NO
        return YES if not is_zero(ours) and proportional(ours, theirs) else NO

    def _inequalities(self, reference: Relation, answer: Relation) -> Comparison:
        """`2x + 4y < 6` and `x + 2y < 3`, `-x - 2y > -3`."""
        if len(reference.signs) != 1 or len(answer.signs) != 1 or '=' in (*reference.signs, *answer.signs):
            return NO
        ours, theirs = (Sum((value.sides[0], negative(value.sides[1]))) for value in (reference, answer))
        try:
            one, other = exact_form(ours), exact_form(theirs)
        except TooLarge:
            return NO
        if one[1] != other[1] or not proportional(one, other):
            return NO
        monomial = next(iter(one[0]))
        positive = one[0][monomial] / other[0][monomial] > 0
        sign = answer.signs[0] if positive else _TURNED[answer.signs[0]]
        return YES if sign == reference.signs[0] else NO

    # Everything else

    def _mixed(self, reference: Value, answer: Value) -> Comparison:
        """Values of two types; each case stands here in one order alone."""
        for one, other, flipped in ((reference, answer, False), (answer, reference, True)):
            if isinstance(one, Quantity) and isinstance(other, Formula):
                return self._quantity_and_formula(one, other, flipped)
            if isinstance(one, Ratio) and isinstance(other, Formula) and len(one.terms) == 2:
                value = quotient(*one.terms)
                return self._by(
                    'ratio-as-fraction',
                    lambda value=value, other=other: self.expressions(value, other.expression),
                )  # type: ignore[misc]
            if isinstance(one, Ratio) and isinstance(other, Time):
                clock = tuple(number(part) for part in (other.hour, other.minute))
                return self._by('half-day', lambda one=one, clock=clock: YES if one.terms == clock else NO)  # type: ignore[misc]
            if one == Phrase('nothing') and other == Set(()):
                return YES
            if isinstance(one, Set) and isinstance(other, Formula | Quantity) and len(one.items) == 1:
                return self._by('list-as-set', lambda one=one, other=other: self.compare(one.items[0], other))  # type: ignore[misc]
        return self._regions(reference, answer)

    def _times(self, reference: Time, answer: Time) -> Comparison:
        if (reference.hour % 12, reference.minute) != (answer.hour % 12, answer.minute):
            return NO
        if reference.half and answer.half:
            return NO  # they would have been the same
        return self._by('half-day', lambda: YES)

    _WRAPPED: tuple[tuple[type, Callable[..., Comparison]], ...] = (
        (Conditioned, _conditioned),
        (Labelled, _labelled),
        (Named, _named),
        (Listed, _lists),
    )
    _SAME_TYPE: dict[type, Callable[..., Comparison]] = {
        Formula: _formulas,
        Quantity: _quantities,
        Set: _sets,
        Pair: _pairs,
        Tuple: _tuples,
        Matrix: _matrices,
        Piecewise: _piecewise,
        Ratio: _ratios,
        Relation: _relations,
        Union: _regions,
        Time: _times,
    }


def _different(*_: Any) -> Comparison:
    return NO


def _items(value: Value) -> tuple[Value, ...]:
    """What a list, set or point holds; `(x, y) = (1, 2)` holds two names with their values."""
    if isinstance(value, Pair):
        return value.low, value.high
    if isinstance(value, Named):
        names, items = value.name.strip('()').split(','), _items(value.value)
        if len(names) == len(items) > 1:
            return tuple(Named(name, item, Symbol(name)) for name, item in zip(names, items, strict=True))
    return value.items if isinstance(value, Listed | Set | Tuple) else (value,)


def _are_named(items: Sequence[Value]) -> bool:
    return all(isinstance(item, Named) for item in items)


def _same_name(one: Named, other: Named) -> bool:
    if one.left is not None and other.left is not None:
        return one.left == other.left
    return _plain(one.name) == _plain(other.name)


def _plain(name: str) -> str:
    return (
        name.replace('{', '').replace('}', '').replace('\\', '').replace('angle', '').replace('triangle', '')
    )


def _without_percent(value: Formula) -> Expression:
    return Product((value.expression, number(Fraction(1, 100)))) if value.percent else value.expression


def _in_basic_units(quantity: Quantity) -> Expression:
    if quantity.unit == DEGREES:
        return Product((quantity.amount, DEGREE))
    if quantity.unit == RADIANS or quantity.unit.factor == 1:
        return quantity.amount
    return Product((quantity.amount, number(quantity.unit.factor)))


def _difference(value: Value) -> Expression | None:
    """Left minus right of an equation."""
    if isinstance(value, Relation) and value.signs == ('=',):
        return Sum((value.sides[0], negative(value.sides[1])))
    if isinstance(value, Named) and value.left is not None and isinstance(value.value, Formula):
        return Sum((value.left, negative(value.value.expression)))
    return None


def _may_be_interval(pair: Pair) -> bool:
    """Whether the first end is below the second, or nobody can tell."""
    if not isinstance(pair.low, Formula) or not isinstance(pair.high, Formula):
        return False
    low, high = value_of(pair.low.expression), value_of(pair.high.expression)
    return low is None or high is None or low < high


def _is_chinese(words: Sequence[str]) -> bool:
    return all(not word.isascii() for word in words)
