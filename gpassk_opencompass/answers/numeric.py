"""Expressions in numbers: 60 digits at nine points, in place of algebra.

Two expressions are equal when they agree at each point where both have a value; that they differ at one is
enough to call them different. The points of a symbol follow from its name, so that a verdict never changes.
Everything is real where the expressions are: a point at which a root or a logarithm leaves the real numbers
is passed over. Sizes are bounded: whatever an answer says, its value is there within milliseconds, or it has
none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

import mpmath


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number; `digits` are those after the decimal point as written, None for no decimal."""

    value: Fraction
    digits: int | None = None


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable or constant, by its name as written: `x`, `S_max`, `pi`, `e`, `i`."""

    name: str


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of its terms."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """The product of its factors."""

    factors: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Power:
    """`base` to the power of `exponent`; roots and quotients are powers, too."""

    base: Expression
    exponent: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A function of its arguments: `sin`, `ln`, `abs`, `binom`, or one whose name the question gave."""

    name: str
    arguments: tuple[Expression, ...]


Expression = Number | Symbol | Sum | Product | Power | Call

ONE, MINUS_ONE, HALF = Number(Fraction(1)), Number(Fraction(-1)), Number(Fraction(1, 2))
PI, IMAGINARY, INFINITY = Symbol('pi'), Symbol('i'), Symbol('oo')
CONSTANTS = frozenset({'pi', 'e', 'i', 'oo'})
DEGREE = Product((PI, Number(Fraction(1, 180))))


def number(value: int | Fraction) -> Number:
    """Return `value` as an expression."""
    return Number(Fraction(value))


def negative(value: Expression) -> Expression:
    """Return -`value`."""
    if isinstance(value, Number):
        return Number(-value.value, value.digits)
    return Product((MINUS_ONE, value))


def quotient(above: Expression, below: Expression) -> Expression:
    """Return `above` / `below`; of two whole numbers, as one number."""
    if isinstance(above, Number) and isinstance(below, Number):
        whole = above.digits is below.digits is None
        if whole and below.value:
            return Number(above.value / below.value)
    return Product((above, Power(below, MINUS_ONE)))


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions that `expression` is made of."""
    if isinstance(expression, Sum):
        return expression.terms
    if isinstance(expression, Product):
        return expression.factors
    if isinstance(expression, Power):
        return expression.base, expression.exponent
    return expression.arguments if isinstance(expression, Call) else ()


def symbols(expression: Expression) -> Iterator[str]:
    """Yield the names of the variables in `expression`, the constants pi, e, i and infinity left out."""
    if isinstance(expression, Symbol):
        if expression.name not in CONSTANTS:
            yield expression.name
    else:
        for child in children(expression):
            yield from symbols(child)


def replaced(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Return an expression with other names for its symbols."""
    if isinstance(expression, Symbol):
        return Symbol(names.get(expression.name, expression.name))
    inner = tuple(replaced(child, names) for child in children(expression))
    if isinstance(expression, Power):
        return Power(*inner)
    if isinstance(expression, Call):
        return Call(expression.name, inner)
    return expression if isinstance(expression, Number) else type(expression)(inner)


def deeper(expression: Expression, most: int) -> bool:
    """Return whether `expression` is nested deeper than `most`: what walks through it would not come back.

    >>> deeper(Power(Symbol('x'), HALF), 1), deeper(Power(Symbol('x'), HALF), 2)
    (True, False)
    """
    level: list[Expression] = [expression]
    for _ in range(most):
        level = [child for parent in level for child in children(parent)]
        if not level:
            return False
    return True


DIGITS = (60, 100, 400)
"""That are computed; more only where digits cancel."""

_RANGES = ((0.05, 0.95), (0.2, 2), (0.2, 2), (1, 4), (2, 9), (8, 30), (-3, -0.2), (-9, -1), (-0.9, 3))
"""Of a symbol at each point; some are negative, as |x| is not x."""
_POINTS = len(_RANGES)
_LEAST_POINTS = 3
_WHOLE = frozenset({'n', 'k', 'm', 'j', 'l'})
"""Names of whole numbers."""
_LARGEST_EXPONENT = 10**7
"""Binary digits of a power; and the size of an argument of sin, of a factorial."""
_LARGEST_RATIONAL = 200_000
"""Binary digits of an exact number."""
_LARGEST_COUNTED = 5000
"""Of what n things an exact factorial or binomial is."""
_LARGE = 10**20
"""Beyond which two values are taken from one another, as 50! + 1 is not 50!."""
_CONTEXTS = {digits: mpmath.mp.clone() for digits in DIGITS}
for _digits, _context in _CONTEXTS.items():
    _context.dps = _digits


class _Nowhere(ArithmeticError):
    """Raised where an expression has no value, none that is real, or none that can be computed."""


def equal(one: Expression, other: Expression) -> bool:
    """Return whether two expressions agree at all points, and at enough of them.

    >>> x = Symbol('x')
    >>> equal(Sum((x, x)), Product((Number(Fraction(2)), x))), equal(x, Call('abs', (x,)))
    (True, False)
    """
    if one == other:
        return True
    exact = rational(one), rational(other)
    if None not in exact:
        return exact[0] == exact[1]
    names = tuple(sorted({*symbols(one), *symbols(other)}))
    complexes = _uses_i(one) or _uses_i(other)
    agreed = 0
    for place in range(_POINTS if names else 1):
        left, right = _at(one, names, place, complexes), _at(other, names, place, complexes)
        if left is None or right is None:
            continue
        if not _close(left, right):
            return False
        if abs(left) > _LARGE:  # the digits behind its first 60 may differ
            apart = _at(Sum((one, Product((Number(Fraction(-1)), other)))), names, place, complexes)
            if apart is None or apart != 0:
                return False
        agreed += 1
    return agreed >= (_LEAST_POINTS if names else 1)


def ratio(one: Expression, other: Expression) -> float | None:
    """Return the number c ≠ 0 with `one` = c · `other`; None where there is none, or no variable in them."""
    names = tuple(sorted({*symbols(one), *symbols(other)}))
    found: list[Any] = []
    for place in range(_POINTS if names else 0):
        left, right = _at(one, names, place, False), _at(other, names, place, False)
        if left is None or right is None or (left == 0 and right == 0):
            continue
        if left == 0 or right == 0:
            return None
        found.append(left / right)
    enough = len(found) >= _LEAST_POINTS
    return float(found[0]) if enough and all(_close(found[0], each) for each in found) else None


def value_of(expression: Expression) -> Any:
    """Return the value of an expression without variables, an `mpf` of 60 digits; None if it is not real."""
    if next(symbols(expression), None) is not None or _uses_i(expression):
        return None
    return _at(expression, (), 0, False)


def rational(expression: Expression) -> Fraction | None:
    """Return the exact value of what is made of whole numbers by +, ×, and whole powers; else None."""
    try:
        return _rational(expression)
    except (_Nowhere, ZeroDivisionError):
        return None


def as_fraction(expression: Expression) -> Fraction | None:
    """Return `rational`, or the 60 digits of another real number as a fraction; None of huge ones."""
    if (exact := rational(expression)) is not None:
        return exact
    value = value_of(expression)
    if value is None or not value or abs(mpmath.mag(value)) > 4000:
        return None
    sign, mantissa, exponent, _ = value._mpf_
    found: Fraction = (-1 if sign else 1) * int(mantissa) * Fraction(2) ** exponent
    return found


def _rational(expression: Expression) -> Fraction | None:
    if isinstance(expression, Number):
        return expression.value
    if isinstance(expression, Call) and expression.name in {'factorial', 'binom'}:
        return _counted(expression)
    parts = [_rational(child) for child in children(expression)]
    if not parts or None in parts:
        return None
    exact = [part for part in parts if part is not None]
    if isinstance(expression, Sum):
        value = sum(exact, Fraction(0))
    elif isinstance(expression, Product):
        value = math.prod(exact, start=Fraction(1))
    elif isinstance(expression, Power) and exact[1].denominator == 1:
        if _bits(exact[0]) * abs(exact[1]) > _LARGEST_RATIONAL:
            raise _Nowhere
        value = exact[0] ** exact[1].numerator
    else:
        return None
    if _bits(value) > _LARGEST_RATIONAL:
        raise _Nowhere
    return value


def _counted(expression: Call) -> Fraction | None:
    """Return a factorial or binomial of whole numbers that are not large."""
    whole = [_rational(argument) for argument in expression.arguments]
    numbers = [part.numerator for part in whole if part is not None and part.denominator == 1 and part >= 0]
    if len(numbers) < len(whole) or max(numbers) > _LARGEST_COUNTED:
        return None
    return Fraction(math.comb(*numbers) if len(numbers) == 2 else math.factorial(numbers[0]))


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _close(left: Any, right: Any) -> bool:
    return bool(abs(left - right) <= mpmath.mpf(10) ** -45 * max(abs(left), abs(right)))


def _uses_i(expression: Expression) -> bool:
    return expression == IMAGINARY or any(map(_uses_i, children(expression)))


@lru_cache(maxsize=8192)  # a reference is compared with many answers
def _at(expression: Expression, names: tuple[str, ...], place: int, complexes: bool) -> Any:
    """Return the value at a point, of which 45 digits are right; None where it has none.

    Digits that change with the precision have cancelled; what goes on falling with it is 0.
    """
    before: Any = None
    try:
        for digits in DIGITS:
            context = _CONTEXTS[digits]
            point = {name: _coordinate(name, place, digits) for name in names}
            value = _Reader(context, point, complexes).value(expression)
            if not context.isfinite(value):
                return None
            if before is not None and _close(before, value):
                return _CONTEXTS[DIGITS[0]].convert(value)
            before = value
    except (_Nowhere, ArithmeticError, ValueError, TypeError, MemoryError):
        return None
    return mpmath.mpf(0) if abs(before) < mpmath.mpf(10) ** -(DIGITS[-1] // 2) else None


@lru_cache(maxsize=4096)
def _coordinate(name: str, place: int, digits: int) -> Any:
    """Return what a symbol is worth at a point: digits that no short expression has by chance."""
    chance = Random(f'{name} {place}')
    if name in _WHOLE or name.partition('_')[0] in _WHOLE:
        return _CONTEXTS[digits].mpf(chance.randint(2, 9))
    return _CONTEXTS[digits].mpf(f'{chance.uniform(*_RANGES[place]):.15f}')


class _Reader:
    """Computes expressions at one point in one precision.

    Args:
        context: of mpmath.
        point: name of a symbol → its value.
        complexes: whether i is one of the numbers.
    """

    def __init__(self, context: Any, point: Mapping[str, Any], complexes: bool) -> None:
        self._mp, self._point, self._complexes = context, point, complexes

    def value(self, expression: Expression) -> Any:
        mp = self._mp
        if isinstance(expression, Number):
            return mp.mpf(expression.value.numerator) / expression.value.denominator
        if isinstance(expression, Symbol):
            return self._symbol(expression.name)
        if isinstance(expression, Sum):
            return mp.fsum(map(self.value, expression.terms))
        if isinstance(expression, Product):
            return mp.fprod(map(self.value, expression.factors))
        if isinstance(expression, Power):
            return self._power(self.value(expression.base), expression.exponent)
        return self._call(expression.name, list(map(self.value, expression.arguments)))

    def _symbol(self, name: str) -> Any:
        if name in self._point:
            return self._point[name]
        constants = {'pi': self._mp.pi, 'e': self._mp.e, 'i': self._mp.j}
        if name not in constants:
            raise _Nowhere
        return +constants[name]

    def _power(self, base: Any, written: Expression) -> Any:
        mp, exponent = self._mp, self.value(written)
        if base == 0:
            if not mp.re(exponent) > 0:
                raise _Nowhere
            return mp.mpf(0)
        if abs(exponent) > 64 and abs(exponent) * (abs(mp.mag(base)) + 1) > _LARGEST_EXPONENT:
            raise _Nowhere
        if mp.isint(exponent):
            return base ** int(mp.re(exponent))
        if not self._complexes and base < 0:
            share = rational(written)
            if share is None or share.denominator % 2 == 0:
                raise _Nowhere
            sign = -1 if share.numerator % 2 else 1  # 1/3 keeps the sign, 2/3 does not
            return sign * mp.power(-base, exponent)
        return mp.power(base, exponent)

    def _call(self, name: str, values: Sequence[Any]) -> Any:
        mp = self._mp
        if name not in _FUNCTIONS:
            return self._unknown(name, values)
        if name != 'abs' and any(mp.im(value) for value in values):
            raise _Nowhere
        if name in _BOUNDED and any(abs(value) > _BOUNDED[name] for value in values):
            raise _Nowhere
        if name == 'ln' and values[0] <= 0:
            raise _Nowhere
        if name in {'arcsin', 'arccos'} and abs(values[0]) > 1:
            raise _Nowhere
        value = _FUNCTIONS[name](mp, *values)
        if mp.im(value):
            raise _Nowhere
        return value

    def _unknown(self, name: str, values: Sequence[Any]) -> Any:
        """Return the value of f(x), which nobody defined: of any smooth function, the same on both sides."""
        chance = Random(f'function {name} {len(values)}')
        total = self._mp.mpf(chance.uniform(1, 2))
        for value in values:
            total += chance.uniform(1, 2) * value + chance.uniform(0.1, 0.5) * value**2
        return total


def _whole(mp: Any, value: Any) -> int:
    if not mp.isint(value):
        raise _Nowhere
    return int(value)


def _binomial(mp: Any, above: Any, below: Any) -> Any:
    if mp.isint(above) and mp.isint(below) and 0 <= below <= above:
        return mp.mpf(math.comb(int(above), int(below)))
    return mp.binomial(above, below)


def _factorial(mp: Any, value: Any) -> Any:
    if value < 0:
        raise _Nowhere
    return mp.factorial(value)


_FUNCTIONS: Mapping[str, Any] = {
    **{
        name: lambda mp, x, name=name: getattr(mp, name)(x)
        for name in ('sin', 'cos', 'tan', 'cot', 'sec', 'csc', 'sinh', 'cosh', 'tanh', 'floor')
    },
    'arcsin': lambda mp, x: mp.asin(x),
    'arccos': lambda mp, x: mp.acos(x),
    'arctan': lambda mp, x: mp.atan(x),
    'ln': lambda mp, x: mp.log(x),
    'ceiling': lambda mp, x: mp.ceil(x),
    'abs': lambda mp, x: abs(x),
    'factorial': _factorial,
    'double factorial': lambda mp, x: mp.fac2(_whole(mp, x)),
    'binom': _binomial,
    'max': lambda mp, *values: max(values),
    'min': lambda mp, *values: min(values),
    'gcd': lambda mp, *values: mp.mpf(math.gcd(*(_whole(mp, value) for value in values))),
    'lcm': lambda mp, *values: mp.mpf(math.lcm(*(_whole(mp, value) for value in values))),
}
_TURNS = ('sin', 'cos', 'tan', 'cot', 'sec', 'csc')
_BOUNDED = {
    **dict.fromkeys(_TURNS, 10**20),
    **dict.fromkeys(('sinh', 'cosh', 'tanh'), 10**6),
    **dict.fromkeys(('factorial', 'double factorial'), 10**5),
    'binom': 20_000,
    'floor': 10**50,
    'ceiling': 10**50,
    'gcd': 10**50,
    'lcm': 10**50,
}
"""The largest argument of functions that would take long, or whose digits no precision here has."""


def linear(expression: Expression) -> tuple[str, Fraction]:
    """Return what an expression is a multiple of, as a name, and the rational factor before it.

    >>> linear(Product((Number(Fraction(2)), Symbol('x'))))
    ('x', Fraction(2, 1))
    """
    factors = expression.factors if isinstance(expression, Product) else (expression,)
    numbers = [rational(factor) for factor in factors]
    rest = [factor for factor, number in zip(factors, numbers, strict=True) if number is None]
    if len(rest) == 1 and isinstance(rest[0], Symbol) and rest[0] != INFINITY:
        return rest[0].name, math.prod(
            (number for number in numbers if number is not None), start=Fraction(1)
        )
    return repr(expression), Fraction(1)


def numerator(expression: Expression) -> Expression:
    """Return what is left of a sum that is multiplied by all that its terms are divided by."""
    terms = expression.terms if isinstance(expression, Sum) else (expression,)
    below = {factor: None for term in terms for factor in _divisors(term)}
    return Sum(tuple(Product((term, *below)) for term in terms)) if below else expression


def _divisors(term: Expression) -> Iterator[Expression]:
    for factor in term.factors if isinstance(term, Product) else (term,):
        if isinstance(factor, Product):
            yield from _divisors(factor)
        elif isinstance(factor, Power) and next(symbols(factor.base), None) is not None:
            exponent = rational(factor.exponent)
            if exponent is not None and exponent < 0:
                yield Power(factor.base, Number(-exponent))
