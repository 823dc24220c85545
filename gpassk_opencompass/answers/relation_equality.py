"""When two equations, inequalities or sets of real numbers say the same."""

from __future__ import annotations

from collections.abc import Callable

from .comparison import NO, YES, Comparison, all_of, best_of
from .exact import TooLarge, exact_form, is_zero, proportional
from .expressions import Expression, Sum, Symbol, negative
from .regions import Region, region_of
from .values import Domain, Formula, Listed, Named, Pair, Relation, Set, Union, Value

Compare = Callable[[Expression, Expression], Comparison]

_REGIONS = (Pair, Relation, Union, Domain, Set, Listed, Named)
_TURNED = {'<': '>', '>': '<', r'\le': r'\ge', r'\ge': r'\le', '=': '=', r'\ne': r'\ne'}


def same_region(reference: Value, answer: Value, compare: Compare) -> Comparison:
    """Return whether two values are the same set of real numbers, of the same variable if both name one."""
    ours, theirs = (
        region_of(value) if isinstance(value, _REGIONS) or value == Formula(Symbol('R')) else None
        for value in (reference, answer)
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
    try:
        ours, theirs = (exact_form(difference) for difference in differences if difference)
    except TooLarge:
        return NO
    return YES if not is_zero(ours) and proportional(ours, theirs) else NO


def _inequalities(reference: Relation, answer: Relation) -> Comparison:
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


def _difference(value: Value) -> Expression | None:
    """Left minus right of an equation."""
    if isinstance(value, Relation) and value.signs == ('=',):
        return Sum((value.sides[0], negative(value.sides[1])))
    if isinstance(value, Named) and value.left is not None and isinstance(value.value, Formula):
        return Sum((value.left, negative(value.value.expression)))
    return None
