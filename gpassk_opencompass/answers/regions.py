"""Sets of real numbers as intervals: what inequalities, memberships, unions and intervals come to."""

from __future__ import annotations

import math
from functools import reduce
from typing import NamedTuple

from .expressions import INFINITY, Expression, Number, Symbol, negative, number, quotient, symbols
from .numeric import linear, value_of
from .values import Domain, Formula, Listed, Named, Pair, Quantity, Relation, Set, Union, Value

_TURNED = {'<': '>', '>': '<', r'\le': r'\ge', r'\ge': r'\le', r'\ne': r'\ne', '=': '='}
_MINUS_INFINITY = negative(INFINITY)


class Piece(NamedTuple):
    """An interval, or a point: its ends, and whether they belong to it."""

    low: Expression
    high: Expression
    low_closed: bool
    high_closed: bool


class Region(NamedTuple):
    """Intervals from left to right, and the variable they are of ('' where none is named)."""

    pieces: tuple[Piece, ...]
    variable: str = ''


EVERYTHING = Piece(_MINUS_INFINITY, INFINITY, False, False)


def region_of(value: Value) -> Region | None:
    r"""Return the set of real numbers that `value` describes, or None if it is none that can be read.

    >>> from .parse import read
    >>> region_of(read('x > 1')[0]) == region_of(read(r'x \in (1, +\infty)')[0])
    True
    """
    pieces: list[Piece] | None
    if isinstance(value, Named):
        inner = region_of(value.value)
        return inner._replace(variable=value.name) if inner and not inner.variable else None
    if isinstance(value, Relation):
        return _of_relation(value)
    if isinstance(value, Listed):
        return _of_list(value)
    if isinstance(value, Union):
        pieces = _collected([region_of(part) for part in value.parts])
    elif isinstance(value, Set):
        pieces = _points(value.items)
    else:
        pieces = _of_interval(value)
    return Region(_ordered(pieces)) if pieces is not None else None


def _of_interval(value: Value) -> list[Piece] | None:
    if isinstance(value, Pair):
        low, high = _end(value.low), _end(value.high)
        return [Piece(low, high, value.left_closed, value.right_closed)] if low and high else None
    if value in {Domain('R'), Formula(Symbol('R'))}:
        return [EVERYTHING]
    if value == Domain('R+'):
        return [Piece(number(0), INFINITY, False, False)]
    return None


def _end(value: Value) -> Expression | None:
    if isinstance(value, Quantity):
        return value.amount
    return value.expression if isinstance(value, Formula) and not value.percent else None


def _points(items: tuple[Value, ...]) -> list[Piece] | None:
    ends = [_end(item) for item in items]
    return [Piece(end, end, True, True) for end in ends if end] if all(ends) else None


def _collected(regions: list[Region | None]) -> list[Piece] | None:
    if any(region is None for region in regions):
        return None
    return [piece for region in regions if region for piece in region.pieces]


def _of_list(value: Listed) -> Region | None:
    """Read inequalities of one variable: taken together, or, where that is everything, at once."""
    if not all(isinstance(item, Relation | Named | Union) for item in value.items):
        return None  # (1, 2), (3, 4) are points
    related = any(isinstance(item, Relation | Union) for item in value.items)
    regions = [region_of(item) or (_point_named(item) if related else None) for item in value.items]
    pieces = _collected(regions)
    variables = {region.variable for region in regions if region}
    if pieces is None or len(variables) != 1:
        return None
    variable = variables.pop()
    if value.joined_by == 'and':
        common = reduce(_in_both, [list(region.pieces) for region in regions if region])
        return Region(_ordered(common), variable) if common else None
    if value.joined_by == ',' and len(pieces) == len(regions) and _ordered(pieces) == (EVERYTHING,):
        together = _intersection(pieces)
        return Region((together,), variable) if together else None
    return Region(_ordered(pieces), variable)


def _point_named(item: Value) -> Region | None:
    """Return `x = 1` beside `x > 2` as a point."""
    end = _end(item.value) if isinstance(item, Named) else None
    return Region((Piece(end, end, True, True),), item.name) if end and isinstance(item, Named) else None


def _of_relation(relation: Relation) -> Region | None:
    sides, signs = relation.sides, relation.signs
    if len(sides) == 3:
        first = _of_relation(Relation(sides[:2], signs[:1]))
        second = _of_relation(Relation(sides[1:], signs[1:]))
        if not first or not second or first.variable != second.variable or r'\ne' in signs:
            return None
        common = _intersection([*first.pieces, *second.pieces])
        return Region((common,), first.variable) if common else None
    if len(sides) != 2 or '=' in signs:
        return None
    return _half_line(sides[0], signs[0], sides[1]) or _half_line(sides[1], _TURNED[signs[0]], sides[0])


def _half_line(left: Expression, sign: str, right: Expression) -> Region | None:
    """Read `c·x < b`, with a variable, or anything that stands for one, on the left alone."""
    if next(symbols(left), None) is None or next(symbols(right), None) is not None:
        return None
    name, factor = linear(left)
    if factor < 0:
        sign = _TURNED[sign]
    end = right if factor == 1 else quotient(right, Number(factor))
    below = Piece(_MINUS_INFINITY, end, False, sign in {r'\le'})
    above = Piece(end, INFINITY, sign in {r'\ge'}, False)
    pieces = {'<': [below], r'\le': [below], '>': [above], r'\ge': [above], r'\ne': [below, above]}[sign]
    return Region(tuple(pieces), name)


def _place(end: Expression) -> float:
    if end == INFINITY:
        return math.inf
    if isinstance(end, Symbol) or end == _MINUS_INFINITY:
        return -math.inf if end == _MINUS_INFINITY else math.nan
    value = value_of(end)
    return math.nan if value is None else float(value)


def _ordered(pieces: list[Piece] | None) -> tuple[Piece, ...]:
    """Sort from left to right and join those that meet; where an end is no number, leave all as it is."""
    if not pieces or any(math.isnan(_place(end)) for piece in pieces for end in piece[:2]):
        return tuple(pieces or ())
    joined: list[Piece] = []
    for piece in sorted(pieces, key=lambda one: (_place(one.low), not one.low_closed, _place(one.high))):
        last = joined[-1] if joined else None
        if last and _meet(last, piece):
            if (_place(piece.high), piece.high_closed) > (_place(last.high), last.high_closed):
                joined[-1] = last._replace(high=piece.high, high_closed=piece.high_closed)
        else:
            joined.append(piece)
    return tuple(joined)


def _meet(left: Piece, right: Piece) -> bool:
    end, start = _place(left.high), _place(right.low)
    return start < end or (start == end and (left.high_closed or right.low_closed))


def _intersection(pieces: list[Piece]) -> Piece | None:
    if any(math.isnan(_place(end)) for piece in pieces for end in piece[:2]):
        return _of_symbols(pieces)
    low = max(pieces, key=lambda piece: (_place(piece.low), not piece.low_closed))
    high = min(pieces, key=lambda piece: (_place(piece.high), piece.high_closed))
    if _place(low.low) > _place(high.high):
        return None
    return Piece(low.low, high.high, low.low_closed, high.high_closed)


def _in_both(ones: list[Piece], others: list[Piece]) -> list[Piece]:
    found = [_intersection([one, other]) for one in ones for other in others]
    return [piece for piece in found if piece and not _is_empty(piece)]


def _is_empty(piece: Piece) -> bool:
    return _place(piece.low) == _place(piece.high) and not (piece.low_closed and piece.high_closed)


def _of_symbols(pieces: list[Piece]) -> Piece | None:
    """Read `a < x < b`: one end from each."""
    lows = [piece for piece in pieces if piece.low != _MINUS_INFINITY]
    highs = [piece for piece in pieces if piece.high != INFINITY]
    if len(lows) != 1 or len(highs) != 1:
        return None
    return Piece(lows[0].low, highs[0].high, lows[0].low_closed, highs[0].high_closed)
