"""Whether two spellings are of one value, decided by numbers with many digits alone.

It shares the reader with the rule judge and nothing of how the judge compares, so that it can say of what the
judge takes for equal that it is. It says yes only to what it has computed: where a value cannot be, no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

import mpmath

from ..answers.expressions import Expression, Number, Power, Product, Sum, Symbol, negative, symbols
from ..answers.parse import read
from ..answers.tokens import Unread
from ..answers.values import (
    Conditioned,
    Formula,
    Listed,
    Matrix,
    Named,
    Pair,
    Quantity,
    Relation,
    Set,
    Tuple,
    Value,
)

_DIGITS = 60
_SAME = mpmath.mpf(10) ** -40
_MOST_DIGITS = 4000
_LARGEST_EXPONENT = 10**6
_SCALES = (7, 1, 11, -1)  # fractions and whole numbers, also below zero
_LEAST = 2
_TURNED = {'<': '>', '>': '<', r'\le': r'\ge', r'\ge': r'\le'}
_Point = Mapping[str, Any]


def same_value(one: str, other: str) -> bool:
    r"""Return whether two answers are one value in two spellings; lists and sets have no order.

    Readings that are the same to the last token are none: then something that tells them apart was not read.

    >>> same_value('C_5^2', 'C_5^3'), same_value('2x > 0', '3x > 0'), same_value('1', '2')
    (True, True, False)
    """
    try:
        ours, theirs = read(one)[0], read(other)[0]
    except (Unread, RecursionError):
        return False
    with mpmath.workdps(_DIGITS):
        return ours != theirs and _same(ours, theirs)


def _same(one: Value, other: Value) -> bool:
    if type(one) is not type(other):
        return _are_listed(one, other) and _unordered(_items(one), _items(other))
    if isinstance(one, Listed | Set):
        return _unordered(_items(one), _items(other))
    compare = _COMPARED.get(type(one))
    return one == other if compare is None else compare(one, other)


def _are_listed(*values: Value) -> bool:
    """Whether one of them is a list: one that says a value twice is that value."""
    return any(isinstance(value, Listed) for value in values)


def _items(value: Value) -> Sequence[Value]:
    return value.items if isinstance(value, Listed | Set) else (value,)


def _unordered(ours: Sequence[Value], theirs: Sequence[Value]) -> bool:
    return all(any(_same(one, other) for other in theirs) for one in ours) and all(
        any(_same(one, other) for one in ours) for other in theirs
    )


def _ordered(ours: Sequence[Value], theirs: Sequence[Value]) -> bool:
    return len(ours) == len(theirs) and all(map(_same, ours, theirs))


def _numbers(one: Expression, other: Expression) -> bool:
    """Whether two expressions have one value at all points that can be computed, at two or more of them."""
    if one == other:
        return True
    found = [_apart(one, other, point) for point in _points(one, other)]
    known = [apart for apart in found if apart is not None]
    return len(known) >= min(_LEAST, len(found)) and all(apart < _SAME for apart in known)


def _apart(one: Expression, other: Expression, point: _Point) -> Any:
    """Return how far apart two values are; None where one cannot be computed to the last digit."""
    values = _values((one, other), point)
    if values is None:
        return None
    size = max(map(abs, values))
    if size < 1:
        return abs(values[0] - values[1]) / (size or 1)
    if (more := int(mpmath.log10(size)) + 1) > _MOST_DIGITS:
        return None
    with mpmath.workdps(_DIGITS + more):
        values = _values((one, other), point)
        return None if values is None else abs(values[0] - values[1])


def _values(expressions: Sequence[Expression], point: _Point) -> list[Any] | None:
    try:
        values = [_value(expression, point) for expression in expressions]
    except (ArithmeticError, LookupError, TypeError, ValueError, NotImplementedError):
        return None
    return values if all(mpmath.isfinite(value) for value in values) else None


def _points(*expressions: Expression) -> Iterator[_Point]:
    names = sorted({name for expression in expressions for name in symbols(expression)})
    for place in range(len(_SCALES) if names else 1):
        chance, scale = Random(f'{place}'), _SCALES[place]
        yield {name: mpmath.mpf(chance.randint(2, 40)) / scale for name in names}


def _value(expression: Expression, point: _Point) -> Any:
    if isinstance(expression, Number):
        return mpmath.mpf(expression.value.numerator) / expression.value.denominator
    if isinstance(expression, Symbol):
        constant = _CONSTANTS.get(expression.name)
        return point[expression.name] if constant is None else +constant
    if isinstance(expression, Sum):
        return mpmath.fsum(_value(term, point) for term in expression.terms)
    if isinstance(expression, Product):
        return mpmath.fprod(_value(factor, point) for factor in expression.factors)
    if isinstance(expression, Power):
        return _raised(_value(expression.base, point), _value(expression.exponent, point))
    return _FUNCTIONS[expression.name](*(_value(argument, point) for argument in expression.arguments))


def _raised(base: Any, exponent: Any) -> Any:
    if abs(exponent) > _LARGEST_EXPONENT:
        raise OverflowError  # it would take all memory
    return mpmath.power(base, exponent)


def _relations(one: Relation, other: Relation) -> bool:
    """Compare side by side, perhaps times -1, or, of one sign, left minus right up to a factor."""
    if any(one.signs == signs and all(map(_numbers, one.sides, sides)) for sides, signs in _forms(other)):
        return True
    if len(one.signs) != 1 or len(other.signs) != 1:
        return False
    share = _share(one, other)
    if not share:
        return False
    [sign], [given] = one.signs, other.signs
    return bool(sign == (given if share > 0 else _TURNED.get(given, given)))


def _forms(relation: Relation) -> Iterator[tuple[Sequence[Expression], Sequence[str]]]:
    """Return A chain as written and times -1, each also turned round."""
    turned = tuple(_TURNED.get(sign, sign) for sign in relation.signs)
    negated = tuple(map(negative, relation.sides))
    yield relation.sides, relation.signs
    yield relation.sides[::-1], turned[::-1]
    yield negated, turned
    yield negated[::-1], relation.signs[::-1]


def _share(one: Relation, other: Relation) -> Any:
    """Return the number that makes left minus right of the other that of the one; None if none does."""
    shares = []
    for point in _points(*one.sides, *other.sides):
        values = _values((*one.sides, *other.sides), point)
        if values is not None and abs(values[2] - values[3]) > _SAME:
            shares.append((values[0] - values[1]) / (values[2] - values[3]))
    if len(shares) < _LEAST or any(mpmath.im(share) for share in shares):
        return None
    return shares[0] if all(abs(share - shares[0]) < _SAME for share in shares) else None


def _pairs(one: Pair, other: Pair) -> bool:
    brackets = (one.left_closed, one.right_closed) == (other.left_closed, other.right_closed)
    return brackets and _ordered((one.low, one.high), (other.low, other.high))


def _matrices(one: Matrix, other: Matrix) -> bool:
    if [len(row) for row in one.rows] != [len(row) for row in other.rows]:
        return False
    rows = zip(one.rows, other.rows, strict=True)
    return all(_numbers(*cells) for pair in rows for cells in zip(*pair, strict=True))


_COMPARED: Mapping[type, Callable[[Any, Any], bool]] = {
    Formula: lambda one, other: one.percent == other.percent and _numbers(one.expression, other.expression),
    Quantity: lambda one, other: one.unit == other.unit and _numbers(one.amount, other.amount),
    Named: lambda one, other: one.name == other.name and _same(one.value, other.value),
    Conditioned: lambda one, other: one.condition == other.condition and _same(one.value, other.value),
    Relation: _relations,
    Pair: _pairs,
    Tuple: lambda one, other: _ordered(one.items, other.items),
    Matrix: _matrices,
}
_CONSTANTS = {'pi': mpmath.pi, 'e': mpmath.e, 'i': mpmath.mpc(0, 1)}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    'ln': mpmath.log, 'abs': abs, 'binom': mpmath.binomial, 'factorial': mpmath.factorial,
    'floor': mpmath.floor, 'ceiling': mpmath.ceil, 'arcsin': mpmath.asin, 'arccos': mpmath.acos,
    'arctan': mpmath.atan, 'max': max, 'min': min,
    **{name: getattr(mpmath, name) for name in ('sin', 'cos', 'tan', 'cot', 'sec', 'csc', 'sinh', 'cosh',
    'tanh')},
}  # fmt: skip
