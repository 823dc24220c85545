"""Expressions in numbers: 60 digits at nine points, in place of algebra.

Two expressions are equal when they agree at each point where both have a value; that they differ at one is
enough to call them different. The points of a symbol follow from its name, so that a verdict never changes.
Everything is real where the expressions are: a point at which a root or a logarithm leaves the real numbers
is passed over. Sizes are bounded: whatever an answer says, its value is there within milliseconds, or it has
none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number; `digits` are those after the decimal point as written, None for no decimal."""

    value: Fraction
    digits: int | None = None
    arguments: ClassVar[tuple[Expression, ...]] = ()


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable or constant, by its name as written: `x`, `S_max`, `pi`, `e`, `i`, `oo`."""

    name: str
    arguments: ClassVar[tuple[Expression, ...]] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A function of its arguments: `+`, `*`, `^`, `sin`, `binom`, or one whose name the question gave.

    A difference is a sum, a quotient a product, a root a power.
    """

    name: str
    arguments: tuple[Expression, ...]


Expression = Number | Symbol | Call

PI, INFINITY = Symbol('pi'), Symbol('oo')
_CONSTANTS = frozenset({'pi', 'e', 'i', 'oo'})


def number(value: int | Fraction) -> Number:
    return Number(Fraction(value))


ONE, MINUS_ONE, HALF = number(1), number(-1), number(Fraction(1, 2))


def added(*terms: Expression) -> Expression:
    return terms[0] if len(terms) == 1 else Call('+', terms)


def times(*factors: Expression) -> Expression:
    return factors[0] if len(factors) == 1 else Call('*', factors)


def power(base: Expression, exponent: Expression) -> Expression:
    return Call('^', (base, exponent))


def negative(value: Expression) -> Expression:
    return Number(-value.value, value.digits) if isinstance(value, Number) else times(MINUS_ONE, value)


def quotient(above: Expression, below: Expression) -> Expression:
    """Return `above` / `below`; of two whole numbers, as one number."""
    match above, below:
        case Number(one, None), Number(other, None) if other:
            return Number(one / other)
    return times(above, power(below, MINUS_ONE))


DEGREE = times(PI, number(Fraction(1, 180)))


def symbols(expression: Expression) -> Iterator[str]:
    """Yield the names of the variables in `expression`: pi, e, i and infinity are none."""
    if isinstance(expression, Symbol) and expression.name not in _CONSTANTS:
        yield expression.name
    for argument in expression.arguments:
        yield from symbols(argument)


def is_constant(expression: Expression) -> bool:
    return next(symbols(expression), None) is None


def renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Return an expression with other names for its symbols."""
    if isinstance(expression, Symbol):
        return Symbol(names.get(expression.name, expression.name))
    if isinstance(expression, Number):
        return expression
    return Call(expression.name, tuple(renamed(argument, names) for argument in expression.arguments))


def is_deeper(expression: Expression, most: int) -> bool:
    """Return whether `expression` is nested deeper than `most`: what walks through it would not come back."""
    level: list[Expression] = [expression]
    for _ in range(most):
        level = [child for parent in level for child in parent.arguments]
    return bool(level)


# Comparison

_RANGES = ((0.05, 0.95), (0.2, 2), (-3, -0.2), (-0.9, 3), (0.2, 2), (1, 4), (2, 9), (8, 30), (-9, -1))
"""Of a symbol at each point; some are negative, as |x| is not x."""
_LEAST_POINTS = 3
_WHOLE = frozenset('nkmjl')
"""Names of whole numbers."""
_LARGEST_EXPONENT = 10**7  # binary digits of a power
_LARGEST_RATIONAL = 200_000  # binary digits of an exact number
_LARGEST_COUNTED = 5000  # things of an exact factorial or binomial
_LARGE = 10**20
"""Beyond which two values are taken from one another, as 50! + 1 is not 50!."""


class _Nowhere(ArithmeticError):
    """Raised where an expression has no value, none that is real, or none that can be computed."""


def equal(one: Expression, other: Expression) -> bool:
    """Return whether two expressions agree at all points, and at enough of them.

    >>> x = Symbol('x')
    >>> equal(added(x, x), times(number(2), x)), equal(x, Call('abs', (x,)))
    (True, False)
    """
    if one == other:
        return True
    exact = rational(one), rational(other)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] == exact[1]
    names, complexes = _names(one, other), _is_complex(one) or _is_complex(other)
    agreed = 0
    for place in range(len(_RANGES) if names else 1):
        left, right = _at(one, place, complexes), _at(other, place, complexes)
        if left is None or right is None:
            continue
        if not _are_close(left, right):
            return False
        if abs(left) > _LARGE and _at(added(one, negative(other)), place, complexes) != 0:
            return False  # the digits behind the first 60 differ
        agreed += 1
    return agreed >= (_LEAST_POINTS if names else 1)


def ratio(one: Expression, other: Expression) -> float | None:
    """Return the number c ≠ 0 with `one` = c · `other`; None where there is none, or no variable in them."""
    ratios: list[Any] = []
    for place in range(len(_RANGES) if _names(one, other) else 0):
        left, right = _at(one, place), _at(other, place)
        if left is None or right is None or (left == 0 and right == 0):
            continue
        if left == 0 or right == 0:
            return None
        ratios.append(left / right)
        if not _are_close(ratios[0], ratios[-1]):
            return None
    return float(ratios[0]) if len(ratios) >= _LEAST_POINTS else None


def value_of(expression: Expression, place: int = 0) -> Any:
    """Return the value of an expression at a point, an `mpf` of 60 digits; None if it is not real."""
    return None if _is_complex(expression) else _at(expression, place)


def rational(expression: Expression) -> Fraction | None:
    """Return the exact value of what is made of whole numbers by +, ×, and whole powers; else None."""
    try:
        return _rational(expression)
    except (_Nowhere, ZeroDivisionError):
        return None


def as_fraction(expression: Expression) -> Fraction | None:
    """Return `rational`, or the 60 digits of another real constant as a fraction; None of huge ones."""
    if (exact := rational(expression)) is not None:
        return exact
    value = value_of(expression) if is_constant(expression) else None
    if value is None or not value or abs(_contexts()[0].mag(value)) > 4000:
        return None
    sign, mantissa, exponent, _ = value._mpf_
    magnitude: Fraction = int(mantissa) * Fraction(2) ** int(exponent)
    return -magnitude if sign else magnitude


def _rational(expression: Expression) -> Fraction | None:  # noqa: C901
    if isinstance(expression, Number):
        return expression.value
    exact = []
    for argument in expression.arguments:
        if (part := _rational(argument)) is None:
            return None
        exact.append(part)
    match expression.name:
        case '+' if exact:
            value = sum(exact, Fraction(0))
        case '*' if exact:
            value = math.prod(exact, start=Fraction(1))
        case '^' if exact[1].denominator == 1:
            if _bits(exact[0]) * abs(exact[1]) > _LARGEST_RATIONAL:
                raise _Nowhere
            value = exact[0] ** exact[1].numerator
        case 'factorial' | 'binom' as name:
            if any(part.denominator > 1 or not 0 <= part <= _LARGEST_COUNTED for part in exact):
                return None
            counted: Callable[..., int] = math.comb if name == 'binom' else math.factorial
            return Fraction(counted(*(part.numerator for part in exact)))
        case _:
            return None
    if _bits(value) > _LARGEST_RATIONAL:
        raise _Nowhere
    return value


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _are_close(left: Any, right: Any) -> bool:
    return bool(abs(left - right) <= 1e-45 * max(abs(left), abs(right)))


@lru_cache(maxsize=8192)
def _names(*expressions: Expression) -> frozenset[str]:
    return frozenset(name for expression in expressions for name in symbols(expression))


@lru_cache(maxsize=8192)
def _is_complex(expression: Expression) -> bool:
    return expression == Symbol('i') or any(map(_is_complex, expression.arguments))


# Values at a point


@lru_cache(maxsize=1)
def _contexts() -> tuple[Any, ...]:
    """Return mpmath with 60, 100 and 400 digits: more only where digits cancel."""
    import mpmath  # a program that never compares expressions starts without it

    contexts = [mpmath.mp.clone() for _ in range(3)]
    for context, digits in zip(contexts, (60, 100, 400), strict=True):
        context.dps = digits
    return tuple(contexts)


@lru_cache(maxsize=8192)  # a reference is compared with many answers
def _at(expression: Expression, place: int, complexes: bool = False) -> Any:
    """Return the value at a point, of which 45 digits are right; None where it has none.

    Digits that change with the precision have cancelled; what goes on falling with it is 0.
    """
    before: Any = None
    try:
        for mp in _contexts():
            value = _value(expression, mp, place, complexes)
            if not mp.isfinite(value):
                return None
            if before is not None and _are_close(before, value):
                return _contexts()[0].convert(value)
            before = value
    except (ArithmeticError, LookupError, ValueError, TypeError, MemoryError):
        return None
    return mp.mpf(0) if abs(before) < mp.mpf(10) ** -200 else None


@lru_cache(maxsize=4096)
def _coordinate(name: str, place: int) -> str:
    """Return what a symbol is worth at a point: digits that no short expression has by chance."""
    chance = Random(f'{name} {place}')
    if name.partition('_')[0] in _WHOLE:
        return str(chance.randint(2, 9))
    return f'{chance.uniform(*_RANGES[place]):.15f}'


def _value(expression: Expression, mp: Any, place: int, complexes: bool) -> Any:
    """Return the value in the context `mp` at a point; complex only if i is one."""
    if isinstance(expression, Number):
        return mp.mpf(expression.value.numerator) / expression.value.denominator
    name = expression.name
    if isinstance(expression, Symbol):
        constants = {'pi': mp.pi, 'e': mp.e, 'i': mp.j if complexes else mp.nan, 'oo': mp.inf}
        return +constants[name] if name in constants else mp.mpf(_coordinate(name, place))
    values = [_value(each, mp, place, complexes) for each in expression.arguments]
    if name == '^':
        return _power(mp, values[0], values[1], expression.arguments[1], complexes)
    if name == '+':
        return mp.fsum(values)
    if name == '*':
        return mp.fprod(values)
    if name not in _FUNCTIONS:  # f(x), which nobody defined: any smooth function, the same on both sides
        chance = Random(f'function {name} {len(values)}')
        total = mp.mpf(chance.uniform(1, 2))
        for value in values:
            total += chance.uniform(1, 2) * value + chance.uniform(0.1, 0.5) * value**2
        return total
    if any((name != 'abs' and mp.im(value)) or abs(value) > _BOUNDED.get(name, mp.inf) for value in values):
        raise _Nowhere
    value = _FUNCTIONS[name](mp, *values)
    if mp.im(value):
        raise _Nowhere
    return value


def _power(mp: Any, base: Any, exponent: Any, written: Expression, complexes: bool) -> Any:
    if base == 0:
        if not mp.re(exponent) > 0:
            raise _Nowhere
        return mp.mpf(0)
    if abs(exponent) > 64 and abs(exponent) * (abs(mp.mag(base)) + 1) > _LARGEST_EXPONENT:
        raise _Nowhere
    if mp.isint(exponent):
        return base ** int(mp.re(exponent))
    if complexes or base > 0:
        return mp.power(base, exponent)
    share = rational(written)
    if share is None or share.denominator % 2 == 0:
        raise _Nowhere
    sign = -1 if share.numerator % 2 else 1  # of a negative base: 1/3 keeps the sign, 2/3 does not
    return sign * mp.power(-base, exponent)


def _of_whole(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda mp, *values: mp.mpf(function(*map(int, values))) if all(map(mp.isint, values)) else mp.nan


_OF_MPMATH = {name: name for name in 'sin cos tan cot sec csc sinh cosh tanh floor'.split()}
_OF_MPMATH |= {'arcsin': 'asin', 'arccos': 'acos', 'arctan': 'atan', 'ln': 'log', 'ceiling': 'ceil'}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: lambda mp, x, as_=as_: getattr(mp, as_)(x) for name, as_ in _OF_MPMATH.items()},
    'abs': lambda mp, x: abs(x),
    'factorial': lambda mp, x: mp.factorial(x) if x >= 0 else mp.nan,
    'double factorial': lambda mp, x: mp.fac2(int(x)) if mp.isint(x) else mp.nan,
    'binom': lambda mp, above, below: mp.binomial(above, below),
    'max': lambda mp, *values: max(values),
    'min': lambda mp, *values: min(values),
    'gcd': _of_whole(math.gcd),
    'lcm': _of_whole(math.lcm),
}
_BOUNDED = {
    **dict.fromkeys(('sin', 'cos', 'tan', 'cot', 'sec', 'csc'), 10**20),
    **dict.fromkeys(('sinh', 'cosh', 'tanh'), 10**6),
    **dict.fromkeys(('factorial', 'double factorial'), 10**5),
    **dict.fromkeys(('floor', 'ceiling', 'gcd', 'lcm'), 10**50),
    'binom': 20_000,
}
"""The largest argument of functions that would take long, or whose digits no precision here has."""
