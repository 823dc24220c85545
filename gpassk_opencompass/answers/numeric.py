"""Expressions in numbers: equal are those that agree to 60 digits at each of nine points where both are real.

The points of a symbol follow from its name, so that a verdict never changes. Sizes are bounded: whatever an
answer says, its value is there within milliseconds, or it has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from random import Random
from typing import Any


class Expression:
    """A number, a symbol, or a function of expressions, made by Python's operators."""

    arguments: tuple[Expression, ...] = ()

    def __add__(self, other: Expression) -> Expression:
        return Call('+', (self, other))

    def __mul__(self, other: Expression) -> Expression:
        return Call('*', (self, other))

    def __pow__(self, other: Expression) -> Expression:
        return Call('^', (self, other))

    def __neg__(self) -> Expression:
        return Number(-self.value, self.digits) if isinstance(self, Number) else MINUS_ONE * self

    def __truediv__(self, other: Expression) -> Expression:
        match self, other:
            case Number(one, None), Number(two, None) if two:
                return Number(Fraction(one, two))
        return self * other**MINUS_ONE

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The names of its symbols, of constants too."""
        own = {self.name} if isinstance(self, Symbol) else ()
        return frozenset(own).union(*(part.symbols for part in self.arguments))

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names of its symbols; pi, e, i and infinity are none."""
        return self.symbols - _CONSTANTS

    @cached_property
    def bars(self) -> frozenset[str]:
        """The variables that stand in absolute values."""
        own = self.variables if getattr(self, 'name', '') == 'abs' else ()
        return frozenset(own).union(*(part.bars for part in self.arguments))


@dataclass(frozen=True)
class Number(Expression):
    """An exact number; `digits` are those after the decimal point as written, None for no decimal."""

    value: Fraction | int
    digits: int | None = None


@dataclass(frozen=True)
class Symbol(Expression):
    """A variable or constant, by its name as written: `x`, `S_max`, `pi`, `e`, `i`, `oo`."""

    name: str


@dataclass(frozen=True)
class Call(Expression):
    """A function of its arguments: `+`, `*`, `^`, `sin`, `f`; differences, quotients, roots are of these."""

    name: str
    arguments: tuple[Expression, ...]


_CONSTANTS = frozenset({'pi', 'e', 'i', 'oo'})
INFINITY, MINUS_ONE = Symbol('oo'), Number(-1)
DEGREE = Symbol('pi') * Number(Fraction(1, 180))


def joined(name: str, parts: Sequence[Expression]) -> Expression:
    """Return the sum (`+`) or the product (`*`) of parts; of one, that one."""
    return parts[0] if len(parts) == 1 else Call(name, tuple(parts))


def renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Return an expression with other names for its symbols."""
    match expression:
        case Symbol(name):
            return Symbol(names.get(name, name))
        case Call(name, arguments):
            return Call(name, tuple(renamed(argument, names) for argument in arguments))
    return expression


# Comparison

# Of a symbol at each point; some are negative, as |x| is not x.
_RANGES = ((0.05, 0.95), (0.2, 2), (-3, -0.2), (-0.9, 3), (0.2, 2), (1, 4), (2, 9), (8, 30), (-9, -1))
_LEAST_POINTS = 3
_WHOLE = frozenset('nkmjl')  # names of whole numbers
_LARGEST_EXPONENT = 10**7  # binary digits of a power
_LARGEST_RATIONAL = 200_000  # binary digits of an exact number
_LARGEST_COUNTED = 5000  # things of an exact factorial or binomial
_LARGE = 10**20  # beyond which two values are taken from one another, as 50! + 1 is not 50!


def equal(one: Expression, other: Expression) -> bool:
    """Return whether two expressions agree at all points, and at enough of them.

    >>> x = Symbol('x')
    >>> equal(x + x, Number(2) * x), equal(x, Call('abs', (x,)))
    (True, False)
    """
    if one == other:
        return True
    exact = rational(one), rational(other)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] == exact[1]
    agreed = 0
    for place, left, right in _values_along(one, other):
        if not _are_close(left, right):
            return False
        apart = one + -other
        if abs(left) > _LARGE and _at(apart, place, 'i' in apart.symbols) != 0:
            return False  # the digits behind the first 60 differ
        agreed += 1
    return agreed >= (_LEAST_POINTS if one.variables or other.variables else 1)


def ratio(one: Expression, other: Expression) -> float | None:
    """Return the number c ≠ 0 with `one` = c · `other`; None where there is none, or no variable in them."""
    if not (one.variables or other.variables):
        return None
    values = [(left, right) for _, left, right in _values_along(one, other) if left or right]
    if len(values) < _LEAST_POINTS or not all(left and right for left, right in values):
        return None
    ratios = [left / right for left, right in values]
    return float(ratios[0]) if all(_are_close(ratios[0], other) for other in ratios) else None


def value_of(expression: Expression, place: int = 0) -> Any:
    """Return the value of an expression at a point, an `mpf` of 60 digits; None if it is not real."""
    return None if 'i' in expression.symbols else _at(expression, place)


def rational(expression: Expression) -> Fraction | int | None:
    """Return the exact value of what is made of whole numbers by +, ×, and whole powers; else None."""
    if isinstance(expression, Number):
        return expression.value
    if expression.symbols:
        return None
    exact: list[Any] = [*map(rational, expression.arguments)]
    if any(part is None for part in exact):
        return None
    value: Fraction | int
    match getattr(expression, 'name', ''), exact:
        case '+', [_, *_]:
            value = sum(exact)
        case '*', [_, *_]:
            value = math.prod(exact)
        case '^', [base, exponent] if exponent.denominator == 1 and (base or exponent > 0):
            if _bits(base) * abs(exponent) > _LARGEST_RATIONAL:
                return None
            value = Fraction(base) ** exponent.numerator
        case 'factorial' | 'binom' as name, _:
            if any(part.denominator > 1 or not 0 <= part <= _LARGEST_COUNTED for part in exact):
                return None
            counts = [part.numerator for part in exact]
            return math.comb(*counts) if name == 'binom' else math.factorial(*counts)
        case _:
            return None
    return value if _bits(value) <= _LARGEST_RATIONAL else None


def _bits(value: Fraction | int) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _are_close(left: Any, right: Any) -> bool:
    return bool(abs(left - right) <= 1e-45 * max(abs(left), abs(right)))


def _values_along(one: Expression, other: Expression) -> Iterator[tuple[int, Any, Any]]:
    """Yield the points (one where there is no variable) at which both have a value, and these values."""
    complexes, bars = 'i' in one.symbols | other.symbols, (one.bars, other.bars)
    # Where one alone has bars, `other` must have a value where `one` does: ln x is not ln|x|. Nor is ln|x|
    # ln x, but several variables in bars, as in 2 ln|x| + ln|y|, are those of an exercise: positive.
    strict, alike = bool(bars[0]) is not bool(bars[1]), len(bars[0] | bars[1]) == 1
    for place in range(len(_RANGES) if one.variables or other.variables else 1):
        left, right = _at(one, place, complexes), _at(other, place, complexes)
        if left is not None and right is not None:
            yield place, left, right
        elif strict and (left is not None or (right is not None and alike)):
            yield place, 0, 1


@lru_cache(maxsize=1)
def _contexts() -> list[Any]:
    """Return mpmath with 60, 100 and 400 digits: more only where digits cancel."""
    import mpmath  # a program that never compares expressions starts without it

    contexts = [mpmath.mp.clone() for _ in range(3)]
    for context, digits in zip(contexts, (60, 100, 400), strict=True):
        context.dps = digits
    return contexts


@lru_cache(maxsize=8192)  # a reference is compared with many answers
def _at(expression: Expression, place: int, complexes: bool = False) -> Any:
    """Return the value at a point, of which 45 digits are right; None where it has none."""
    before: Any = None
    try:
        for mp in _contexts():  # digits that change have cancelled; what goes on falling is 0
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
def _coordinate(mp: Any, name: str, place: int) -> Any:
    """Return what a symbol is worth at a point: digits that no short expression has by chance."""
    chance, whole = Random(f'{name} {place}'), name.partition('_')[0] in _WHOLE
    return mp.mpf(chance.randint(2, 9) if whole else f'{chance.uniform(*_RANGES[place]):.15f}')


def _value(expression: Expression, mp: Any, place: int, complexes: bool) -> Any:
    """Return the value in a context at a point; not a number if none is real (complex) and small enough."""
    match expression:
        case Number(value):
            above = mp.mpf(value.numerator)
            return above if value.denominator == 1 else above / value.denominator
        case Symbol('pi' | 'e' | 'i' | 'oo' as name):
            return +{'pi': mp.pi, 'e': mp.e, 'i': mp.j if complexes else mp.nan, 'oo': mp.inf}[name]
        case Symbol(name):
            return _coordinate(mp, name, place)
    name = getattr(expression, 'name', '')
    values = [_value(each, mp, place, complexes) for each in expression.arguments]
    match name:
        case '^':
            return _power(mp, values[0], values[1], expression.arguments[1], complexes)
        case '+':
            return mp.fsum(values)
        case '*':
            return mp.fprod(values)
    if name not in _FUNCTIONS:  # f(x), which nobody defined: any smooth function, the same on both sides
        chance = Random(f'function {name} {len(values)}')
        terms = [chance.uniform(1, 2) * value + chance.uniform(0.1, 0.5) * value**2 for value in values]
        return mp.fsum([chance.uniform(1, 2), *terms])
    bounded = all((name == 'abs' or not mp.im(x)) and abs(x) <= _BOUNDED.get(name, mp.inf) for x in values)
    value = _FUNCTIONS[name](mp, *values) if bounded else mp.nan
    return mp.nan if mp.im(value) else value


def _power(mp: Any, base: Any, exponent: Any, written: Expression, complexes: bool) -> Any:
    if base == 0:
        return mp.mpf(0) if mp.re(exponent) > 0 else mp.nan
    share = rational(written)
    if isinstance(share, int) and abs(share) <= 64:
        return base**share
    if abs(exponent) > 64 and abs(exponent) * (abs(mp.mag(base)) + 1) > _LARGEST_EXPONENT:
        return mp.nan
    if mp.isint(exponent):
        return base ** int(mp.re(exponent))
    if complexes or base > 0:
        return mp.power(base, exponent)
    if share is None or share.denominator % 2 == 0:
        return mp.nan
    sign = -1 if share.numerator % 2 else 1  # of a negative base: 1/3 keeps the sign, 2/3 does not
    return sign * mp.power(-base, exponent)


_OF_MPMATH = {name: name for name in 'sin cos tan cot sec csc sinh cosh tanh floor'.split()}
_OF_MPMATH |= {'arcsin': 'asin', 'arccos': 'acos', 'arctan': 'atan', 'ln': 'log', 'ceiling': 'ceil'}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: lambda mp, x, as_=as_: getattr(mp, as_)(x) for name, as_ in _OF_MPMATH.items()},
    'gcd': lambda mp, *xs: mp.mpf(math.gcd(*map(int, xs))) if all(map(mp.isint, xs)) else mp.nan,
    'lcm': lambda mp, *xs: mp.mpf(math.lcm(*map(int, xs))) if all(map(mp.isint, xs)) else mp.nan,
    'abs': lambda mp, x: abs(x),
    'factorial': lambda mp, x: mp.factorial(x) if x >= 0 else mp.nan,
    'double factorial': lambda mp, x: mp.fac2(int(x)) if mp.isint(x) else mp.nan,
    'binom': lambda mp, above, below: mp.binomial(above, below),
    'max': lambda mp, *values: max(values),
    'min': lambda mp, *values: min(values),
}
_BOUNDED = {  # the largest argument; beyond it they take long, or no precision here has their digits
    **dict.fromkeys(('sin', 'cos', 'tan', 'cot', 'sec', 'csc'), 10**20),
    **dict.fromkeys(('sinh', 'cosh', 'tanh'), 10**6),
    **dict.fromkeys(('factorial', 'double factorial'), 10**5),
    **dict.fromkeys(('floor', 'ceiling', 'gcd', 'lcm'), 10**50),
    'binom': 20_000,
}
