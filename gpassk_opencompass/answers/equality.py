"""When two typed values are equal: exactly, by a lenient rule, or not.

A value of one type equals one of another only where a rule says so. Each lenient rule has an id
(`expression_equality.RULES`) and holds only if it is among those allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from .expression_equality import (
    ALL_RULES,
    NO,
    YES,
    Comparison,
    all_of,
    best_of,
    by_rule,
    compare_expressions,
    same_equation,
    same_region,
    same_relation,
)
from .expressions import (
    DEGREE,
    Call,
    Expression,
    Number,
    Product,
    Symbol,
    number,
    quotient,
    replaced,
    symbols,
)
from .numeric import value_of
from .tokens import words
from .values import (
    DEGREES,
    RADIANS,
    Chain,
    Conditioned,
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

_MOST_ITEMS = 50  # of a list that is searched for what it says twice in two spellings
_NEGATING = words(
    'not no non less more than least most never without except 不 非 无 没 没有 至少 至多 超过 少于 多于'
)


class Equality:
    """Compares values with the lenient rules that are allowed.

    >>> from .parse import read
    Args:
        rules: that are allowed.
        asks_percent: whether the question asks for a percentage; None: there is no question.

    >>> Equality().compare(read('5')[0], read('5 cm')[0]).rules
    frozenset({'unit-missing'})
    >>> Equality(frozenset()).compare(read('5')[0], read('5 cm')[0]).equal
    False
    """

    def __init__(self, rules: frozenset[str] = ALL_RULES, asks_percent: bool | None = None, asks_rounded: bool = False) -> None:
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
        if isinstance(reference, Chain):  # what it comes to is the reference
            return self.compare(reference.value, answer)
        if isinstance(answer, Chain):
            return self._by('chain', self.compare(reference, answer.value))
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
