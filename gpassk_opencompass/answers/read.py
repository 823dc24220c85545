r"""An answer read as a typed value: everything in it, or it counts as text.

>>> read(r'[0, \frac{1}{2})')[0].right_closed, read('x = 5')[0].name, read('充要条件')
(False, 'x', (Phrase(meaning='necessary and sufficient'),))
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from .formula import (
    FUNCTIONS,
    Token,
    Tokens,
    Unread,
    closes,
    closing,
    opens,
    read_expression,
    split,
    tokens_of,
    trimmed,
    words,
    written,
)
from .normal import normal_form
from .numeric import (
    DEGREE,
    INFINITY,
    Call,
    Expression,
    Number,
    Power,
    Product,
    Symbol,
    equal,
    negative,
    number,
    rational,
    symbols,
    value_of,
)
from .values import (
    DEGREES,
    Chain,
    Conditioned,
    Domain,
    Formula,
    Labelled,
    Listed,
    Matrix,
    Named,
    Pair,
    Phrase,
    Piecewise,
    Quantity,
    Ratio,
    Relation,
    Set,
    Text,
    Tuple,
    Union,
    Value,
    meaning_of,
    read_amount,
    read_time,
)

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


_PLAIN_NUMBER = re.compile(r'[-+]?[0-9]{1,18}(?:\.[0-9]{1,18})?')
_HAS_WORDS = re.compile(
    r'(?<![\\A-Za-z])[A-Za-z]{2}|[\u4e00-\u9fff✓✔✗✘√×]|[0-9]:[0-9]|[0-9]{4}-|[0-9] ?[ap]\.m'
)
_ANSWERED_FIRST = re.compile(
    r'(yes|no|true|false|是的?|不是|否|对|错|正确|错误)[,.;:，。；：]\s*(?=\D)', re.IGNORECASE
)
_EVERY_REAL = re.compile(
    r'(?:(?:the set of )?(?:all|any|every)? ?real(?: ?numbers?|s)?|全体实数|任意实数|一切实数|实数集)'
    r'(?:\s*[xy])?'
    r'(?:\s*,?\s*except(?: for)?\s*(?:x\s*=\s*)?(?P<without>[-0-9{].*))?',
    re.I,
)
_TAKEN_BACK = re.compile(r'\b(?:but|or|maybe|however|and no)\b|但|或|可能', re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r'\$?\s*([-+]?[0-9]+),([0-9]+)\s*\$?\.?')
_JOINTS = {
    **dict.fromkeys((',', ';', '，', '；'), ','),
    **dict.fromkeys(('or', '或', '或者'), 'or'),
    **dict.fromkeys(('and', '和', '与', '及', '以及', '且', '并且', '&', 'And'), 'and'),
}
_ROUGH_RELATIONS = frozenset({r'\approx', '≈', r'\doteq'})
_MEMBER = frozenset({r'\in'})
_FOLLOWS = frozenset({r'\Rightarrow', r'\implies', r'\Longrightarrow', r'\therefore'})
_ARTICLES = frozenset({'the', 'a', 'an', 'The'})
_PAUSES = frozenset({',', '.', ';', ':', '!', '?'})
_NUMBERINGS = (('(', '1', ')'), ('', '①', ''), ('', 'a', '.'), ('(', 'a', ')'), ('', 'A', '.'))
_CLOSE_ENOUGH = 0.01
_LONGEST_NOUN = 2
_MOST_TERMS = 12  # of a ratio


def read(answer: str) -> tuple[Value, ...]:
    """Return the readings of `answer`: one, or two where `1,22` may be a decimal or a list.

    What cannot be read as anything else is `Text`.
    """
    plain = answer.strip() if answer.count('$') == 1 else answer.strip().strip('$')  # $5 is a price
    if _PLAIN_NUMBER.fullmatch(plain):
        _, point, decimals = plain.partition('.')
        return (Formula(Number(Fraction(plain), len(decimals) if point else None)),)
    bare = normal_form(answer) if _HAS_WORDS.search(answer) else ''
    if bare and (worded := _worded(bare)):
        return (worded,)
    tokens = trimmed(tokens_of(answer))
    readings = []
    try:
        value = _value(tokens)
        readings.append(Chain(value) if _is_chain(tokens, value) else value)
    except Unread:
        readings.append(Text(tuple(_words(tokens))))
    if comma := _DECIMAL_COMMA.fullmatch(answer.strip()):
        grouped = [value for value in readings if isinstance(value, Formula)]
        readings = [*grouped, *_with_comma(comma[1], comma[2])] or readings
    return tuple(readings)


def _is_chain(tokens: Tokens, value: Value) -> bool:
    """Whether a value was read from more than itself and its name."""
    if not isinstance(value, Named | Formula | Quantity):
        return False
    _, marks = split(tokens, _FOLLOWS | _ROUGH_RELATIONS | {'=', r'\equiv'})
    return len(marks) > isinstance(value, Named)


def _worded(bare: str) -> Value | None:
    first = _ANSWERED_FIRST.match(bare)
    first = None if first and _TAKEN_BACK.search(bare, first.end()) else first
    if every := _EVERY_REAL.fullmatch(bare):
        points = tokens_of(re.sub(r'(?<![a-z])and(?![a-z])', ',', every['without'] or ''))
        if not points:
            return Domain('R')
        inside = points if points[0].text == r'\{' else [Token('mark', r'\{'), *points, Token('mark', r'\}')]
        return _without_points(Domain('R'), _item(inside))
    meaning = meaning_of(first[1] if first else bare)
    return Phrase(meaning) if meaning else read_time(bare)


def _with_comma(whole: str, rest: str) -> list[Value]:
    """Read `1,22` as a decimal, and as a list of two."""
    decimal = Number(Fraction(int(whole + rest), 10 ** len(rest)), len(rest))
    decimal = replace(decimal, value=-abs(decimal.value)) if whole.startswith('-') else decimal
    items = Listed((Formula(number(int(whole))), Formula(number(int(rest)))))
    readings: list[Value] = [Formula(decimal)] if len(rest) != 3 or whole.strip('+-') == '0' else []
    return readings if len(rest) > 1 and rest[0] == '0' else [*readings, items]


def _value(tokens: Tokens) -> Value:
    if not tokens:
        raise Unread('nothing')
    steps, arrows = split(tokens, _FOLLOWS)
    if arrows:
        for step in steps[:-1]:
            if isinstance(_value(trimmed(step)), Formula) and not _is_computed(step):
                raise Unread('a step that says nothing')  # nor one that does not hold
        return _value(trimmed(steps[-1]))
    parts, joints = split(tokens, frozenset(_JOINTS))
    if joints:
        return _listed(parts, joints)
    return _item(tokens)


def _listed(parts: list[list[Token]], joints: list[str]) -> Value:
    kinds = {_JOINTS[joint] for joint in joints}
    filled = [trimmed(part) for part in parts if part]
    filled = [part for part in filled if part]
    if not filled:
        raise Unread('nothing')
    if len(filled) == 1:
        return _item(filled[0])
    items = [_item(part) for part in _without_numbers(filled)]
    if len(items) == 2 and _is_condition(items[1]) and _may_have_condition(items[0]):
        return Conditioned(items[0], _condition(filled[1]))
    flat: list[Value] = []
    for item in items:  # ± makes two of one
        flat += item.items if isinstance(item, Listed) else (item,)
    return Listed(_grouped(_shared_name(flat)), 'or' if 'or' in kinds else 'and' if 'and' in kinds else ',')


def _without_numbers(parts: list[list[Token]]) -> list[list[Token]]:
    """Return `(1) 3; (2) 5` as `(1) = 3; (2) = 5`; a list not numbered from its first item on as it is."""
    for before, first, after in _NUMBERINGS:
        heads = [
            [*before, str(place) if first == '1' else chr(ord(first) + place - 1), *after]
            for place in range(1, len(parts) + 1)
        ]
        if all(
            [token.text for token in part[: len(head)]] == head and len(part) > len(head)
            for part, head in zip(parts, heads, strict=True)
        ):
            return [
                [Token('words', f'({place})'), Token('mark', '='), *part[len(head) :]]
                for place, (part, head) in enumerate(zip(parts, heads, strict=True), 1)
            ]
    return parts


def _shared_name(items: list[Value]) -> tuple[Value, ...]:
    """Give all the name of the first: `a = 4, -8, -10`."""
    first = items[0]
    if not isinstance(first, Named) or any(isinstance(item, Named | Relation) for item in items[1:]):
        return tuple(items)
    return tuple([first, *(Named(first.name, item, first.left) for item in items[1:])])


def _grouped(items: tuple[Value, ...]) -> tuple[Value, ...]:
    """Read `p = 5, q = 2; p = 7, q = 2` as two lists of the same names."""
    names = [item.name if isinstance(item, Named) else '' for item in items]
    width = names.index(names[0], 1) if names[0] in names[1:] else 0
    if width < 2 or not names[0] or names != names[:width] * (len(names) // width):
        return items
    return tuple(Listed(items[start : start + width]) for start in range(0, len(items), width))


def _is_condition(value: Value) -> bool:
    if isinstance(value, Named):
        return isinstance(value.value, Domain)
    return isinstance(value, Relation) and '=' not in value.signs


def _condition(tokens: Tokens) -> str:
    return written([token for token in tokens if token.text not in CONDITIONS]).replace(' ', '')


def _may_have_condition(value: Value) -> bool:
    """Whether what follows a comma is a condition for this, no second value."""
    if not isinstance(value, Named) or value.left is None:
        return isinstance(value, Formula | Named)
    inner = value.value
    return isinstance(inner, Formula) and next(symbols(inner.expression), None) is not None


def _item(tokens: Tokens) -> Value:
    """Read one value: no comma, no "or"."""
    if not tokens:
        raise Unread('nothing')
    in_braces = tokens[0].text == r'\{' and closing(tokens, 0) == len(tokens) - 1
    if not in_braces and any(token.text in {r'\pm', r'\mp', '±'} for token in tokens):
        joined = 'and' if any(token.text == r'\ne' for token in tokens) else ','
        return Listed(tuple(_item(_signed(tokens, sign)) for sign in '+-'), joined)
    for reading in _READINGS:
        if (value := reading(tokens)) is not None:
            return value
    try:
        return read_amount(tokens)
    except Unread:
        if labelled := _labelled(tokens):
            return labelled
        if len(tokens) <= _LONGEST_NOUN and all(token.kind in {'words', 'chinese'} for token in tokens):
            return Text(tuple(_words(tokens)))
        raise


def _signed(tokens: Tokens, sign: str) -> Tokens:
    turned = {'+': '-', '-': '+'}[sign]
    signs = {r'\pm': sign, '±': sign, r'\mp': turned}
    return [
        token._replace(
            text=signs.get(token.text, token.text), kind='mark' if token.text in signs else token.kind
        )
        for token in tokens
    ]


def _union(tokens: Tokens) -> Value | None:
    whole, without = split(tokens, frozenset({r'\setminus', r'\backslash'}))
    if len(without) == 1:
        return _without_points(_item(whole[0]), _item(whole[1]))
    parts, marks = split(tokens, frozenset({r'\cup'}))
    return Union(tuple(_item(part) for part in parts)) if marks else None


def _without_points(whole: Value, points: Value) -> Value:
    r"""Read `\mathbb{R}\setminus\{0\}`."""
    items = points.items if isinstance(points, Set) else ()
    numbers = [(value_of(item.expression), item) for item in items if isinstance(item, Formula)]
    if whole != Domain('R') or not numbers or len(numbers) < len(items) or any(v is None for v, _ in numbers):
        raise Unread('a set without others than points')
    ends = [item for _, item in sorted(numbers, key=lambda one: one[0])]
    infinity = Formula(INFINITY)
    lows, highs = [Formula(negative(INFINITY)), *ends], [*ends, infinity]
    return Union(tuple(Pair(low, high, False, False) for low, high in zip(lows, highs, strict=True)))


def _related(tokens: Tokens) -> Value | None:
    """Read an equation, inequality, membership, or a value with its name."""
    parts, marks = split(tokens, RELATIONS | _MEMBER | _ROUGH_RELATIONS | {r'\equiv'})
    if not marks:
        return None
    if congruence := _congruence(parts, marks):
        return congruence
    if set(marks) == {r'\in'} and len(marks) == 1:
        return Named(written(parts[0]).replace(' ', ''), _value(parts[1]))
    if marks[-1] in _ROUGH_RELATIONS:
        return _rounded(parts, marks)
    if set(marks) == {'='}:
        return _equation(parts)
    if _MEMBER & set(marks) or _ROUGH_RELATIONS & set(marks):
        raise Unread('a mixed chain')
    return Relation(tuple(read_expression(part) for part in parts), tuple(marks))


def _congruence(parts: list[list[Token]], marks: list[str]) -> Value | None:
    r"""Read `x \equiv 2 \pmod 5`, which names 2, and `2^{10} \equiv 2 \pmod 7`, which is true."""
    if r'\equiv' not in marks:
        return None
    texts = [token.text for token in parts[-1]]
    place = next((at for at, text in enumerate(texts) if text in {r'\pmod', r'\bmod', 'mod'}), 0)
    if place and texts[place - 1] == '(' and texts[-1] == ')':
        last, modulus = parts[-1][: place - 1], parts[-1][place + 1 : -1]
    else:
        last, modulus = parts[-1][:place], parts[-1][place + 1 :]
    base = rational(read_expression(modulus))
    members = [read_expression(part) for part in [*parts[:-1], last]]
    values = [rational(member) for member in members]
    if base is None or base <= 0 or values[-1] is None:
        raise Unread('a congruence of what is no number')
    if None in values[1:] or (values[0] is None and not isinstance(members[0], Symbol)):
        raise Unread('a congruence of what is no number')
    if any((value - values[-1]) % base for value in values if value is not None):
        raise Unread('a congruence that does not hold')
    value = Formula(members[-1])
    return value if values[0] is not None else Named(f'{written(parts[0])} mod {base}', value)


def _rounded(parts: list[list[Token]], marks: list[str]) -> Value:
    """Read `√3/3 ≈ 0.577` as √3/3; `x ≈ 11` names 11."""
    before = [
        token
        for part, mark in zip(parts[:-1], [*marks[:-1], ''], strict=True)
        for token in [*part, *([Token('mark', mark)] if mark else [])]
    ]
    exact = _item(before)
    rough = _item(parts[-1])
    inner = exact.value if isinstance(exact, Named) else exact
    if not isinstance(inner, Formula) or not isinstance(rough, Formula):
        raise Unread('a rounded value of what is no number')
    if isinstance(inner.expression, Symbol) and len(parts) == 2:
        return Named(inner.expression.name, rough, inner.expression)
    values = value_of(inner.expression), value_of(rough.expression)
    if values[0] is None or values[1] is None or abs(values[0] - values[1]) > _CLOSE_ENOUGH * abs(values[0]):
        raise Unread('a rounded value that is none')
    return exact


def _equation(parts: list[list[Token]]) -> Value:
    """Read `x = 5`, `x = 1 + 1 = 2` and `1 + 1 = 2`: the last member counts, if what is computed is true."""
    left = parts[0]
    value = _value(parts[-1])
    for between in parts[1:-1]:
        said = _item(between)
        known = _letters_of(said) == _letters_of(value)
        if known and not _comes_to(said, value):
            raise Unread('a chain of equations that do not agree')
    if bound := _function_of(left):
        return Named(name_of(left), value, bound)
    return _named(left, value)


def _is_computed(step: Tokens) -> bool:
    return any(token.text in RELATIONS for token in step)


def _named(left: Tokens, value: Value) -> Value:
    """Read what a value is said of: a name, something computed, or the other side of an equation."""
    try:
        named = read_expression(left)
    except Unread:
        if (holds := _computed(left, value)) is not None:
            if not holds:
                raise Unread('an equation that does not hold') from None
            return value
        if ends_in_a_term(left):
            raise
        return Named(name_of(left), value)
    if not is_name(named) and next(symbols(named), None) is None:
        if not _comes_to(Formula(named), value):
            raise Unread('an equation that does not hold')
        return value
    if isinstance(value, Formula) and not is_name(named):
        return Relation((named, value.expression), ('=',))
    return Named(name_of(left), value, named)


def _letters_of(value: Value) -> frozenset[str]:
    """Return the variables of an amount: what they stand for is not known here."""
    amount = _amount_of(value)
    return frozenset(symbols(amount)) if amount is not None else frozenset()


def _computed(left: Tokens, value: Value) -> bool | None:
    """Whether the right of an equation is the amount on its left, 3 km; None where none stands there."""
    try:
        return _comes_to(read_amount(left), value)
    except Unread:
        return None


def _function_of(left: Tokens) -> Call | None:
    """Return the function on the left of `x(t) = 2t`, `f^{-1}(x) = x/2`."""
    if [token.text for token in left[1:6]] == ['^', '{', '-', '1', '}'] and left[0].kind == 'letters':
        inverse = _function_of([left[0], *left[6:]])
        return Call(inverse.name + '^-1', inverse.arguments) if inverse else None
    if len(left) < 4 or [left[1].text, left[-1].text] != ['(', ')'] or left[0].kind != 'letters':
        return None
    names = [token.text for token in left[2:-1] if token.text != ',']
    letters = len(left[0].text) == 1 and all(len(name) == 1 and name.isalpha() for name in names)
    return Call(left[0].text, tuple(map(Symbol, names))) if letters else None


def _comes_to(said: Value, value: Value) -> bool:
    """Whether one member of a chain is worth the next, or what that is rounded to."""
    left, right = _amount_of(said), _amount_of(value)
    if left is None or right is None:
        return said == value
    if equal(left, right):
        return True
    rounded = value.expression if isinstance(value, Formula) else None
    exact = value_of(left)
    if not isinstance(rounded, Number) or rounded.digits is None or exact is None:
        if not isinstance(value, Quantity):
            return False
        in_angles = Product((value.amount, DEGREE)) if value.unit == DEGREES else value.amount
        return equal(left, value.amount) or equal(left, in_angles)
    unit = 10.0 ** -(rounded.digits + (2 if isinstance(value, Formula) and value.percent else 0))
    return bool(abs(exact - value_of(right)) <= 0.5001 * unit)


def _amount_of(value: Value) -> Expression | None:
    """Return what a number is worth, a quantity in the basic unit of its kind."""
    if isinstance(value, Quantity):
        return Product((value.amount, number(value.unit.factor)))
    if not isinstance(value, Formula):
        return None
    return Product((value.expression, number(Fraction(1, 100)))) if value.percent else value.expression


def _ratio(tokens: Tokens) -> Value | None:
    parts, marks = split(tokens, frozenset({':'}))
    if not 0 < len(marks) < _MOST_TERMS or any(
        part and part[0].kind in {'words', 'chinese'} for part in parts
    ):
        return None
    try:
        return Ratio(tuple(read_expression(part) for part in parts))
    except Unread:
        return None


def _domain(tokens: Tokens) -> Value | None:
    texts = [token.text for token in tokens]
    if texts == [r'\emptyset']:
        return Set(())
    if not texts[0].startswith(r'\mathbb '):
        return None
    marks = ''.join(text for text in texts[1:] if text not in {'^', '_', '{', '}'})
    if marks not in {'', '+', '*', '-'}:
        return None
    return Domain(texts[0][-1] + marks)


def _conditioned(tokens: Tokens) -> Value | None:
    r"""Read a value with its condition: `2n - 1 (n \in \mathbb{N}^*)`."""
    if tokens[-1].text != ')' or len(tokens) < 5 or closes(tokens[0]):
        return None
    start = max(
        (
            place
            for place, token in enumerate(tokens)
            if token.text == '(' and closing(tokens, place) == len(tokens) - 1
        ),
        default=0,
    )
    inside = tokens[start + 1 : -1]
    if not start or not any(token.text in RELATIONS | _MEMBER for token in inside):
        return None
    return Conditioned(_item(tokens[:start]), _condition(inside))


def _labelled(tokens: Tokens) -> Value | None:
    """Read words, then a value."""
    place = 0
    while place < len(tokens) and tokens[place].kind in {'letters', 'words', 'chinese'}:
        place += 1
    words = _words(tokens[:place])
    rest = trimmed(list(tokens[place:]))
    if [word.lower() for word in words] == ['answer'] and rest and rest != tokens:
        return _item(rest)
    if not words or not rest or rest == tokens or all(len(word) == 1 and word.isascii() for word in words):
        return None
    value = read_amount(rest)
    return Labelled(tuple(words), value) if isinstance(value, Quantity | Formula) else None


def _words(tokens: Tokens) -> list[str]:
    """Return the words of a text: without articles, final punctuation, and case (but that of `AB`)."""
    words = []
    for place, token in enumerate(tokens):
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        if token.text in _PAUSES and (after is None or after.kind in {'letters', 'words', 'chinese'}):
            continue
        if token.kind in {'letters', 'words'} and (token.text if place else token.text.lower()) in _ARTICLES:
            continue
        words.append(token.text if token.text.isupper() else token.text.lower())
    return words


_INNER = Inner(_value, _item)
_READINGS: tuple[Callable[[Tokens], Value | None], ...] = (
    _conditioned,
    _union,
    partial(read_environment, inner=_INNER),
    _related,
    partial(read_bracketed, inner=_INNER),
    _domain,
    _ratio,
)
