"""Mathematical expressions as trees. Symbols keep their case; numbers are exact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction


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
