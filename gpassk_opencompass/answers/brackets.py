r"""What stands in brackets: sets, points, intervals, matrices; and left of an equals sign: names."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .expressions import Call, Expression, Power, Product, Symbol, number, symbols
from .formulas import read_expression
from .tokens import Token, Tokens, Unread, closing, opens, split, trimmed, words, written
from .values import Listed, Matrix, Pair, Piecewise, Set, Text, Tuple, Value
from .words import FUNCTIONS

_LONGEST_NAME = 14
_COMPUTED = frozenset({'factorial', 'double factorial', 'binom', 'floor', 'ceiling'})


def ends_in_a_term(tokens: Tokens) -> bool:
    """Whether words end in what is no name: "the value 2x" = 5 says nothing of a value of 5."""
    words = [place for place, token in enumerate(tokens) if _is_word(token)]
    term = tokens[words[-1] + 1 :] if words else ()
    try:
        return bool(term) and not is_name(read_expression(term))
    except Unread:
        return False


def name_of(tokens: Tokens) -> str:
    """Return what stands there without blanks; raise Unread where it is too long for a name."""
    name = written(tokens).replace(' ', '')
    if len(tokens) > _LONGEST_NAME or not name:
        raise Unread(name)
    return name


def is_name(expression: Expression) -> bool:
    """Whether an equation with this on its left says what something is worth: x, f(2), |AB|, NO/BO."""
    if isinstance(expression, Symbol):
        return expression.name not in {'pi', 'e', 'oo'}
    if isinstance(expression, Call):
        if expression.name == 'abs':  # |AB| is a length, |x| = 5 says what x is
            return all(name[-1:].isupper() or ' ' in name for name in symbols(expression))
        return expression.name not in FUNCTIONS | _COMPUTED
    if isinstance(expression, Product):  # segments, angles, quotients of them
        return all(
            is_name(factor) and (not isinstance(factor, Symbol) or factor.name[0].isupper())
            for factor in expression.factors
        )
    if isinstance(expression, Power):
        return expression.exponent == number(-1) and is_name(expression.base)
    return False


def _is_word(token: Token) -> bool:
    if token.kind == 'letters':
        return len(token.text) > 1 and token.text not in FUNCTIONS
    return token.kind in {'words', 'chinese'}


class Inner(NamedTuple):
    """How to read what stands inside."""

    value: Callable[[Tokens], Value]
    """Any value, a list among them."""
    item: Callable[[Tokens], Value]
    """One value of a list."""


RELATIONS = frozenset({'=', '<', '>', r'\le', r'\ge', r'\ne'})
CONDITIONS = words('if for when where with 当 若 其中 时 as 为')
"""Words before a condition."""
_OTHERWISE = frozenset({'otherwise', '其他', '其它', 'else', 'elsewhere'})
_MATRICES = frozenset({'pmatrix', 'bmatrix', 'matrix', 'Bmatrix', 'smallmatrix', 'array'})
_SYSTEMS = frozenset(
    {'cases', 'dcases', 'rcases', 'aligned', 'align', 'align*', 'gathered', 'split', 'array'}
)
_COMMAS = frozenset({',', ';'})
_BRACKETS = {'(': ')', '[': ']', '{': '}', r'\{': r'\}', r'\langle': r'\rangle'}


def read_bracketed(tokens: Tokens, inner: Inner) -> Value | None:
    """Return the set, pair, tuple or matrix in the brackets that `tokens` are, None if they are none."""
    if not opens(tokens[0]) or closing(tokens, 0) != len(tokens) - 1 or tokens[0].text not in _BRACKETS:
        return None
    left, right, inside = tokens[0].text, tokens[-1].text, tokens[1:-1]
    if left == r'\{' or (left == '{' and _is_set(inside)):
        return _set(inside, inner)
    if left == '{':
        return inner.value(inside)
    if left + right == '[]' and (matrix := _rows_of_lists(inside)):
        return matrix
    return _point(left, inside, right, inner)


def _point(left: str, inside: Tokens, right: str, inner: Inner) -> Value | None:
    """Read an interval or a point; one value in brackets is that value."""
    parts, marks = split(inside, frozenset({',', ';'}))
    if not marks:
        alone = inside and (opens(inside[0]) or left == '[') and _BRACKETS[left] == right
        return inner.item(inside) if alone else None
    items = [inner.item(part) for part in parts]
    if len(items) == 2 and left in '([' and right in ')]':
        return Pair(items[0], items[1], left == '[', right == ']')
    if _BRACKETS[left] != right:
        raise Unread('brackets that do not match')
    return Tuple(tuple(items))


def _is_set(inside: Tokens) -> bool:
    """Whether braces without a backslash are those of a set: `{1, 3}`, `{x | x > 1}`."""
    if split(inside, frozenset(',;'))[1]:
        return True
    return bool(inside) and inside[0].kind == 'letters' and bool(split(inside, frozenset('|'))[1])


def _set(inside: Tokens, inner: Inner) -> Value:
    if not inside:
        return Set(())
    parts, marks = split(inside, frozenset({'|', ':'}))
    if marks and len(parts) >= 2 and 0 < len(parts[0]) <= 4 and parts[0][0].kind in {'letters', 'command'}:
        condition = inside[len(parts[0]) + 1 :]
        if {token.text for token in parts[0]}.isdisjoint(token.text for token in condition):
            raise Unread('a condition for something else')
        return inner.value(condition)
    value = inner.value(inside)
    items = value.items if isinstance(value, Listed) else (value,)
    flat = [part for item in items for part in (item.items if isinstance(item, Listed) else (item,))]
    return Set(tuple(flat))


def _rows_of_lists(inside: Tokens) -> Matrix | None:
    """Read `[1, 2; 3, 4]` and `[[1, 2], [3, 4]]`."""
    rows, semicolons = split(inside, frozenset(';'))
    if not semicolons:
        rows, _ = split(inside, frozenset(','))
        if len(rows) < 2 or not all(
            row and row[0].text + row[-1].text == '[]' and closing(row, 0) == len(row) - 1 for row in rows
        ):
            return None
        rows = [row[1:-1] for row in rows]
    cells = [split(row, frozenset(','))[0] for row in rows]
    if semicolons and not all(len(row) > 1 for row in cells):
        return None
    return _matrix(cells)


def _matrix(cells: list[list[list[Token]]]) -> Matrix:
    rows = tuple(tuple(read_expression(cell) for cell in row) for row in cells)
    if len({len(row) for row in rows}) != 1:
        raise Unread('rows of different lengths')
    return Matrix(rows)


def read_environment(tokens: Tokens, inner: Inner) -> Value | None:
    r"""Return the matrix, piecewise value or system of equations between `\begin` and `\end`, or None."""
    if len(tokens) > 2 and tokens[1].text == r'\begin' and opens(tokens[0]):
        matched = tokens[-1].text == _BRACKETS.get(tokens[0].text)
        tokens = tokens[1:-1] if matched else tokens[1:] if tokens[0].text == r'\{' else tokens
    if tokens[0].text != r'\begin' or closing(tokens, 0) != len(tokens) - 1:
        return None
    if tokens[0].kind not in _MATRICES | _SYSTEMS:
        raise Unread(tokens[0].kind)
    rows = [row for row in split(tokens[1:-1], frozenset({'\\\\'}))[0] if row]
    cells = [split(row, frozenset('&'))[0] for row in rows]
    if len(cells) > 1 and all(_goes_on(row) for row in cells[1:]):  # x &= 2·3 \\ &= 6
        return inner.item([token for row in cells for cell in row for token in cell])
    if tokens[0].kind in _MATRICES and not any(token.text in RELATIONS for token in tokens):
        return _matrix(cells)
    if all(len(row) == 1 for row in cells):
        if all(_has_condition(row[0]) for row in cells):
            return Piecewise(tuple(_branch(_at_last_comma(row[0]), inner) for row in cells))
        return Listed(tuple(inner.item(trimmed(row[0])) for row in cells), 'and')
    return Piecewise(tuple(_branch(row, inner) for row in cells))


def _goes_on(cells: list[list[Token]]) -> bool:
    return next((token.text == '=' for cell in cells for token in cell), False)


def _at_last_comma(row: list[Token]) -> list[list[Token]]:
    """Split a row without `&`, `2n, n \\ge 2`, into its value and its condition."""
    last = split(row, _COMMAS)[0][-1]
    return [row[: len(row) - len(last) - 1], last]


def _has_condition(row: list[Token]) -> bool:
    parts, commas = split(row, _COMMAS)
    return bool(commas) and any(
        token.text in RELATIONS | {r'\in'} or token.text in _OTHERWISE for token in parts[-1]
    )


def _branch(cells: list[list[Token]], inner: Inner) -> tuple[Value, Value]:
    if len(cells) != 2:
        raise Unread('a branch without its condition')
    condition = [token for token in trimmed(cells[1]) if token.text not in CONDITIONS]
    if [token.text for token in condition] and all(token.text in _OTHERWISE for token in condition):
        return inner.item(trimmed(cells[0])), Text(('otherwise',))
    return inner.item(trimmed(cells[0])), inner.value(condition)
