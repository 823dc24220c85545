"""Expressions at points: what they are worth there, and how far that number can be trusted.

Two expressions that differ at one point are different; that they agree at all of them is no proof. The points
of a symbol follow from its name, so that a verdict never changes. Everything is real where the expressions
are: a point at which a root or logarithm leaves the real numbers says nothing and is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

from .exact import rational_value
from .expressions import IMAGINARY, Call, Expression, Number, Power, Product, Sum, Symbol, children, symbols

_EPSILON = 2.0**-52
_CLOSE = 1e-9
_TRUST = 1e-7  # an error above this share of the value says that digits cancelled
_LEAST_POINTS = 3
_RANGES = (
    (0.2, 2.0),
    (0.2, 2.0),
    (1.0, 4.0),
    (2.0, 9.0),
    (8.0, 30.0),
    (0.05, 0.95),
    (-3.0, 3.0),
    (-9.0, 9.0),
)
_WHOLE = ((1, 6), (3, 12))


class _Near(NamedTuple):
    """A number and a bound of its error."""

    value: complex
    error: float


class _Nowhere(ArithmeticError):
    """Raised where an expression has no value, none that is real, or none that fits a float."""


def agree(one: Expression, other: Expression) -> bool | None:
    """Return False if the values differ somewhere, True if they agree at all points, None if nobody can tell.

    >>> x = Symbol('x')
    >>> agree(x, Symbol('X')), agree(Sum((x, x)), Product((Number(2), x)))
    (False, True)
    """
    names = sorted({*symbols(one), *symbols(other)})
    uses_i = _uses_i(one) or _uses_i(other)
    agreed = 0
    for point in _points(names):
        try:
            left = _value(one, point, uses_i)
            right = _value(other, point, uses_i)
        except (_Nowhere, OverflowError, ZeroDivisionError, ValueError):
            continue
        apart = abs(left.value - right.value)
        size = max(abs(left.value), abs(right.value))
        if not size < math.inf:
            continue
        if apart > (left.error + right.error) * 8 + _CLOSE * size:
            return False
        if (left.error + right.error) <= _TRUST * size or size == 0:
            agreed += 1
    return True if agreed >= (_LEAST_POINTS if names else 1) else None


def value_of(expression: Expression) -> float | None:
    """Return the value of `expression` if it is a real number that a float can hold, else None."""
    if next(symbols(expression), None) is not None or _uses_i(expression):
        return None
    try:
        near = _value(expression, {}, False)
    except (_Nowhere, OverflowError, ZeroDivisionError, ValueError):
        return None
    return near.value.real if near.error <= _TRUST * max(abs(near.value), 1e-3) else None


def _uses_i(expression: Expression) -> bool:
    return expression == IMAGINARY or any(_uses_i(child) for child in children(expression))


def _points(names: Sequence[str]) -> Iterator[Mapping[str, complex]]:
    if not names:
        yield {}
        return
    for place in range(len(_RANGES) + len(_WHOLE)):
        yield {name: _coordinate(name, place) for name in names}


@lru_cache(maxsize=4096)
def _coordinate(name: str, place: int) -> float:
    if place < len(_RANGES):
        return Random(f'{name} {place}').uniform(*_RANGES[place])
    place -= len(_RANGES)
    return float(Random(f'{name} whole {place}').randint(*_WHOLE[place]))


def _value(expression: Expression, point: Mapping[str, complex], complexes: bool) -> _Near:
    if isinstance(expression, Number):
        value = expression.value.numerator / expression.value.denominator
        return _Near(value, abs(value) * _EPSILON)
    if isinstance(expression, Symbol):
        constant = _CONSTANTS.get(expression.name) or point.get(expression.name)
        if constant is None:
            raise _Nowhere
        return _Near(constant, abs(constant) * _EPSILON)
    if isinstance(expression, Sum):
        terms = [_value(term, point, complexes) for term in expression.terms]
        total = sum(term.value for term in terms)
        size = max(abs(term.value) for term in terms)
        return _Near(total, sum(term.error for term in terms) + size * _EPSILON * len(terms))
    if isinstance(expression, Product):
        near = _Near(1.0, 0.0)
        for factor in expression.factors:
            near = _times(near, _value(factor, point, complexes))
        return near
    if isinstance(expression, Power):
        base = _value(expression.base, point, complexes)
        return _raised(base, expression.exponent, _value(expression.exponent, point, complexes), complexes)
    return _applied(expression, [_value(argument, point, complexes) for argument in expression.arguments])


def _times(one: _Near, other: _Near) -> _Near:
    value = one.value * other.value
    error = abs(one.value) * other.error + abs(other.value) * one.error + one.error * other.error
    return _Near(value, error + abs(value) * _EPSILON)


def _raised(base: _Near, written: Expression, exponent: _Near, complexes: bool) -> _Near:
    if base.value == 0 or (base.error > abs(base.value) * _TRUST and base.value != 0):
        if exponent.value.real > 0 and base.value == 0:
            return _Near(0.0, 0.0)
        raise _Nowhere
    if not complexes and base.value.real < 0 and exponent.value != round(exponent.value.real):
        odd = _odd_root(written)
        if odd is None:
            raise _Nowhere
        positive = _raised(_Near(-base.value, base.error), written, exponent, complexes)
        return _Near(positive.value * odd, positive.error)
    value = base.value**exponent.value
    share = abs(exponent.value) * base.error / abs(base.value)
    share += abs(math.log(abs(base.value))) * exponent.error
    return _Near(value, abs(value) * (share + 4 * _EPSILON))


def _odd_root(exponent: Expression) -> int | None:
    """Return the sign of a negative number to this power, if that is real: 1/3 keeps it, 2/3 does not."""
    value = rational_value(exponent)
    if value is None or value.denominator % 2 == 0:
        return None
    return -1 if value.numerator % 2 else 1


def _applied(call: Call, arguments: Sequence[_Near]) -> _Near:
    if call.name in _SEVERAL:
        if any(argument.value.imag for argument in arguments):
            raise _Nowhere
        value = _SEVERAL[call.name](*(argument.value.real for argument in arguments))
        return _Near(value, sum(argument.error for argument in arguments) + abs(value) * 1e-12)
    if call.name not in _FUNCTIONS or len(arguments) != 1:
        return _unknown(call.name, arguments)
    [argument] = arguments
    if argument.value.imag and call.name != 'abs':
        raise _Nowhere
    if call.name == 'abs':
        return _Near(abs(argument.value), argument.error)
    function = _FUNCTIONS[call.name]
    value = function(argument.value.real)
    beside = function(argument.value.real + argument.error)
    return _Near(value, 2 * abs(beside - value) + abs(value) * 4 * _EPSILON)


def _unknown(name: str, arguments: Sequence[_Near]) -> _Near:
    """Return the value of f(x), which nobody defined: of any smooth function, the same on both sides."""
    seed = Random(f'function {name} {len(arguments)}')
    total = _Near(seed.uniform(1, 2), 0.0)
    for argument in arguments:
        slope, bend = seed.uniform(1, 2), seed.uniform(0.1, 0.5)
        value = slope * argument.value + bend * argument.value**2
        error = (slope + 2 * bend * abs(argument.value)) * argument.error + abs(value) * 4 * _EPSILON
        total = _Near(total.value + value, total.error + error)
    return total


def _factorial(value: float) -> float:
    return math.gamma(value + 1)


def _double_factorial(value: float) -> float:
    if not 0 <= value <= 300 or value != round(value):
        raise _Nowhere
    return float(math.prod(range(int(value), 0, -2)))


def _binomial(above: float, below: float) -> float:
    if above > below > 0:
        return math.exp(math.lgamma(above + 1) - math.lgamma(below + 1) - math.lgamma(above - below + 1))
    return math.gamma(above + 1) / math.gamma(below + 1) / math.gamma(above - below + 1)


def _whole(function: Callable[[int, int], int]) -> Callable[..., float]:
    def applied(*values: float) -> float:
        if any(value != round(value) for value in values):
            raise _Nowhere
        result = int(values[0])
        for value in values[1:]:
            result = function(result, int(value))
        return float(result)

    return applied


_CONSTANTS: Mapping[str, complex] = {'pi': math.pi, 'e': math.e, 'i': 1j}
_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    'sin': math.sin, 'cos': math.cos, 'tan': math.tan, 'sinh': math.sinh, 'cosh': math.cosh,
    'tanh': math.tanh,
    'cot': lambda x: 1 / math.tan(x), 'sec': lambda x: 1 / math.cos(x), 'csc': lambda x: 1 / math.sin(x),
    'arcsin': math.asin, 'arccos': math.acos, 'arctan': math.atan, 'ln': math.log, 'floor': math.floor,
    'ceiling': math.ceil, 'factorial': _factorial, 'double factorial': _double_factorial, 'abs': abs,
}  # fmt: skip
_SEVERAL: Mapping[str, Callable[..., float]] = {
    'max': lambda *values: max(values), 'min': lambda *values: min(values), 'binom': _binomial,
    'gcd': _whole(math.gcd), 'lcm': _whole(math.lcm),
}  # fmt: skip
