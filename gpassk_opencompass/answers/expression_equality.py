"""When two expressions are equal: exactly, as a decimal of one another, or perhaps."""

from __future__ import annotations

from fractions import Fraction

from .comparison import NO, YES, Comparison, by_rule
from .exact import TooLarge, exact_form, rational_value, same_form
from .expressions import Expression, Number
from .points import agree, value_of

_LONG = 10
_LEAST_ROUNDED = (
    3  # digits of a reference that an exact value is held against: 5/12 may be a mistake for 0.42
)
_LEAST_CUT = 2  # the same for a long decimal, which only an exact value that was computed has
_FLOAT = 4e-15


def compare_expressions(reference: Expression, answer: Expression, rules: frozenset[str]) -> Comparison:
    """Return how two expressions compare under the lenient `rules` that are allowed.

    Values at points tell different ones apart; exact forms prove equality. What agrees everywhere without
    such a proof is left open; what cannot be computed anywhere is not equal.
    """
    if isinstance(reference, Number) and isinstance(answer, Number):
        return YES if reference.value == answer.value else _decimal(reference, answer, rules)
    at_points = agree(reference, answer)
    if at_points is False:
        return _decimal(reference, answer, rules)
    try:
        if same_form(exact_form(reference), exact_form(answer)):
            return YES
    except TooLarge:
        pass
    decimal = _decimal(reference, answer, rules)
    if decimal.equal or at_points is None or _are_rational(reference, answer):
        return decimal
    return Comparison(None, open=((reference, answer),))


def _are_rational(reference: Expression, answer: Expression) -> bool:
    return rational_value(reference) is not None and rational_value(answer) is not None


def _decimal(reference: Expression, answer: Expression, rules: frozenset[str]) -> Comparison:
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
    least = _LEAST_CUT if _is_long(answer) else _LEAST_ROUNDED
    if _is_long(decimal):
        rule = 'long-decimal'
    elif by_reference and decimal.digits >= least and abs(decimal.value) * 10**decimal.digits >= 10:
        rule = 'rounded'
    else:
        return NO
    return by_rule(rule) if rule in rules else NO


def _is_decimal(expression: Expression) -> bool:
    return isinstance(expression, Number) and expression.digits is not None


def _is_long(expression: Expression) -> bool:
    return _digits(expression) >= _LONG


def _digits(expression: Expression) -> int:
    """After the decimal point."""
    return (expression.digits or 0) if isinstance(expression, Number) else 0


def _rounds_to(exact: Expression, decimal: Number) -> bool:
    """Whether `exact` rounded, or a long one cut, to the digits of `decimal` is `decimal`."""
    value = rational_value(exact)
    if value is None:
        near = value_of(exact)
        if near is None:
            return False
        value = Fraction(near)
    digits = decimal.digits or 0
    unit = Fraction(1, 10**digits)
    slack = abs(value) * Fraction(_FLOAT)
    apart = abs(value - decimal.value)
    if apart <= unit / 2 + slack:
        return True
    return digits >= _LONG and apart < unit + slack and abs(decimal.value) < abs(value)
