"""When two expressions, equations, inequalities or sets of numbers say the same, and by which rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from .expressions import Expression, Number, Sum, Symbol, negative
from .numeric import as_fraction, equal, numerator, ratio, rational
from .regions import Region, region_of
from .values import Domain, Formula, Listed, Named, Pair, Relation, Set, Union, Value

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
