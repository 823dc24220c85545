"""An answer read as a typed value: every token of it is accounted for, or it counts as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from . import values as of
from .formula import (
    BRACKETS,
    CLOSING,
    FUNCTIONS,
    OPENING,
    Token,
    Tokens,
    Unread,
    closing,
    expression_of,
    split,
    tokens_of,
    trimmed,
)
from .normal import normal_form
from .numeric import INFINITY, Call, Expression, Number, Symbol, equal, rational, value_of
from .values import DEGREES, PERCENT, REALS, Amount, Named, Relation, Several, Value, Words

_PERCENT = frozenset({'%', 'percent', 'percentage', 'pct'})
_CURRENCIES = frozenset({'dollars', '¥', '€', '£', '¢'})
_SIGNS = _CURRENCIES - {'dollars'}
_MINUS, _ROOT = ('mark', '-'), ('command', r'\sqrt')
_ROOTS = {'根号': [_ROOT], '根号下': [_ROOT], '负根号': [_MINUS, _ROOT], '负': [_MINUS]}
_NUMERAL = re.compile(
    '负?[零一二三四五六七八九〇两十百千万亿]+(?:分之[零一二三四五六七八九〇两十百千万亿]+)?|一?半'
)


def read_amount(tokens: Tokens) -> Amount:
    """Return the number, expression or quantity that `tokens` are; raise Unread where they are none."""
    tokens, depth = _in_figures(tokens), 0
    if tokens and tokens[-1] in _PERCENT:
        return Amount(expression_of(tokens[:-1]), PERCENT)
    for place, token in enumerate(tokens):  # an amount and its unit; the amount is as short as it can be
        depth += (token in OPENING) - (token in CLOSING)
        unit = of.unit_of(tokens[place:]) if place and not depth and _may_be_unit(tokens, place) else None
        if unit == DEGREES and r'\circ' in tokens[:place]:
            break  # 90° - 45° is a sum of angles
        if unit and (amount := _expression(tokens[:place])):
            # `3 m` may be three times m; `3x m` is that always
            product = _expression(tokens) if token.kind == 'letters' and len(token) == 1 else None
            if product and amount.variables:
                break
            return Amount(amount, unit, product)
    return Amount(expression_of(tokens))


def _expression(tokens: Tokens) -> Expression | None:
    with suppress(Unread):
        return expression_of(tokens)
    return None


def _in_figures(tokens: Tokens) -> list[Token]:
    """Write numerals as figures, `根号` as a root, a currency last, `5 million` and `5万` as products."""
    figures: list[Token] = []
    words = [token.lower() for token in tokens[:4] if token != '-']
    for count in (3, 2, 1) if words and words[0].isalpha() else ():
        if (value := of.english_number(words[:count])) is not None:
            figures, tokens = tokens_of(f'({value})'), tokens[count + ('-' in tokens[1:2]) :]
            break
    for token in tokens:
        if token.kind != 'chinese':
            figures.append(token)
        elif token in _ROOTS:
            figures += [Token(kind, name, token.spaced) for kind, name in _ROOTS[token]]
        elif figures and figures[-1].kind == 'number':  # 4000千克 are 4000 kilograms, not 4,000,000 grams
            width = max((len(word) for word in of.MULTIPLIERS if token.startswith(word)), default=0)
            parts = [token] if _is_unit(token) else [token[:width], token[width:]]
            figures += [Token('chinese', part, token.spaced) for part in parts if part]
        else:
            numeral = _NUMERAL.match(token)
            value = of.chinese_number(numeral[0]) if numeral else None
            rest = token[numeral.end() :] if numeral and value is not None else token
            figures += [] if value is None else tokens_of(f'({value})')
            figures += [Token('chinese', rest)] if rest else []
    start = int(len(figures) > 1 and figures[0].lower() in {'-', 'minus', 'negative'})
    if start and figures[1].kind == 'number':
        figures[0] = Token('mark', '-')
    price = figures[start : start + 3]  # -$5 million is -5 million dollars
    if len(price) > 1 and price[0] in _CURRENCIES and price[1].kind == 'number':
        end = start + 2 + (price[-1] in of.MULTIPLIERS)
        figures = [*figures[:start], *figures[start + 1 : end], price[0], *figures[end:]]
    products: list[Token] = []
    for token in figures:
        scale = of.MULTIPLIERS.get(token) if products else None
        products += [Token('mark', '*'), Token('number', f'{scale}')] if scale else [token]
    return products


def _is_unit(token: Token) -> bool:
    """Return whether a token alone is a unit of the table, or a counter."""
    unit = of.unit_of([token])
    return unit is not None and (token.lower(), 1) not in unit.dimension


def _may_be_unit(tokens: Tokens, place: int) -> bool:
    """Return whether a unit can begin here: `3m` is three times m."""
    token = tokens[place]
    if r'\circ' in tokens[place : place + (3 if token == '^' else 1)]:
        return not any(before.lstrip('\\') in FUNCTIONS for before in tokens[:place])
    if token.kind == 'letters' and not token.spaced:
        return len(token) > 1 and _is_unit(token)
    return token.kind in {'letters', 'words', 'chinese'} or token in _SIGNS


class Reading(NamedTuple):
    """What an answer may say, and the lenient rule by which it says so."""

    value: Value
    rule: str = ''


RELATIONS = frozenset({'=', '<', '>', r'\le', r'\ge', r'\ne'})
_RELATING = RELATIONS | {r'\in', r'\approx', r'\equiv'}
_FOLLOWS = frozenset({r'\Rightarrow', r'\therefore'})
_CHAINING = _FOLLOWS | {'=', r'\equiv', r'\approx'}
_JOINTS = {
    **dict.fromkeys((',', ';', '，', '；'), ','),
    **dict.fromkeys(('or', 'Or', '或', '或者'), 'or'),
    **dict.fromkeys(('and', '和', '与', '及', '以及', '且', '并且', '&', 'And'), 'and'),
}
_PLAIN_NUMBER = re.compile(r'[-+]?[0-9]{1,18}(?:\.[0-9]{1,18})?')
_HAS_WORDS = re.compile(r'(?<![\\A-Za-z])[A-Za-z]{2}|[\u4e00-\u9fff✓✔✗✘√×]|[0-9]:[0-9]|[0-9] ?[ap]\.m')
_REASONED = re.compile(
    r'(yes|no|true|false|是的?|不是|否|对|错|正确|错误)[,.;:，。；：]\s*(?=\D)'
    r'(?!.*(?:\b(?:but|or|maybe|however|and no)\b|但|或|可能)|(?:yes|no|true|false|是|否|对|错)[.。]?\Z)',
    re.IGNORECASE | re.DOTALL,
)
_EVERY_REAL = re.compile(
    r'(?:(?:the set of )?(?:all|any|every)? ?real(?: ?numbers?|s)?|全体实数|任意实数|一切实数|实数集)'
    r'(?:\s*[xy])?(?:\s*,?\s*except(?: for)?\s*(?:x\s*=\s*)?(?P<without>[-0-9{].*))?',
    re.IGNORECASE,
)
_TIME = re.compile(
    r'(?P<half>上午|下午|晚上|早上)?(?P<hour>[0-9]{1,2})'
    r'(?:[点时:](?:(?P<minute>[0-5][0-9])分?)?)?(?: ?(?P<after>[ap])\.?m\.?)?',
    re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r'\$?\s*([-+]?[0-9]+),([0-9]+)\s*\$?\.?')
_GROUP = re.compile('[-+]?[1-9][0-9]{0,2}')
_NUMBERINGS = (('(', '1', ')'), ('(', 'a', ')'), ('', 'a', '.'), ('', 'A', '.'))
_CONDITIONS = frozenset('if for when where with 当 若 其中 时 as 为'.split())
_OTHERWISE = frozenset({'otherwise', '其他', '其它', 'else', 'elsewhere'})
_MATRICES = frozenset('pmatrix bmatrix matrix Bmatrix smallmatrix array'.split())
_SYSTEMS = frozenset('cases dcases rcases aligned align align* gathered split array'.split())


def read(answer: str) -> tuple[Reading, ...]:
    """Return the readings of `answer`: two where `1,22` may be a list too; what is no value is text."""
    plain = answer.strip() if answer.count('$') == 1 else answer.strip().strip('$')  # $5 is a price
    if _PLAIN_NUMBER.fullmatch(plain):
        return (Reading(_decimal(plain)),)
    if _HAS_WORDS.search(answer) and (worded := _worded(normal_form(answer))):
        return (Reading(worded),)
    if comma := _DECIMAL_COMMA.fullmatch(answer.strip()):
        whole, rest = comma.groups()
        values: list[Value] = []
        if len(rest) != 3 or _GROUP.fullmatch(whole) or whole.strip('+-') == '0':
            values.append(
                _decimal(whole + ('' if len(rest) == 3 and _GROUP.fullmatch(whole) else '.') + rest)
            )
        if (len(rest) == 1 or rest[0] != '0') and whole not in {'-0', '+0'}:
            values.append(Several('list', (_decimal(whole), _decimal(rest))))
        return tuple(map(Reading, values))
    tokens = trimmed(tokens_of(answer))
    try:
        value = _value(tokens)
    except Unread:
        return (Reading(_text(tokens)),)
    _, marks = split(tokens, _CHAINING)
    chained = isinstance(value, Named | Amount) and len(marks) > isinstance(value, Named)
    readings = [Reading(value, 'chain' if chained else '')]
    if marks[-1:] == [r'\approx']:  # 2/3 ≈ 0.67 says both
        with suppress(Unread):
            last = _item(split(tokens, _JOINTS.keys() | {r'\approx'})[0][-1])
            if last != value and _comes_to(value, last):
                readings.append(Reading(last, 'chain'))
    return tuple(readings)


def _decimal(text: str) -> Amount:
    _, point, decimals = text.partition('.')
    return Amount(Number(Fraction(text), len(decimals) if point else None))


def _worded(bare: str) -> Value | None:
    """Read all real numbers, a time of day, or a phrase, also with its reason behind it."""
    if every := _EVERY_REAL.fullmatch(bare):
        points = tokens_of(re.sub(r'(?<![a-z])and(?![a-z])', ',', every['without'] or '').strip('\\{}'))
        return _without_points(_set(points)) if points else REALS
    time = _TIME.fullmatch(bare)
    if time and (half := time['half'] or time['after']):
        late = 12 * (half.lower() in {'p', '下午', '晚上'})
        return Words('time', (str(int(time['hour']) % 12 + late), str(int(time['minute'] or 0))))
    reasoned = _REASONED.match(bare)
    meaning = of.meaning_of(reasoned[1] if reasoned else bare)
    return Words('phrase', (meaning,)) if meaning else None


def _text(tokens: Tokens) -> Words:
    """Return the words of a text: without articles, final punctuation, and case (but that of `AB`)."""
    tokens = tokens[1:] if tokens[:1] == ['A'] and tokens[1:] and tokens[1].kind != 'mark' else tokens
    words = [str(token) for token in tokens if token not in {'the', 'a', 'an', 'The', 'An', ','}]
    return Words('text', tuple(word if word.isupper() else word.lower() for word in words))


def _value(tokens: Tokens) -> Value:
    """Read any value, a list or the last step of several among them."""
    *steps, last = split(tokens, _FOLLOWS)[0]
    for step in steps:
        if isinstance(_value(trimmed(step)), Amount) and RELATIONS.isdisjoint(step):
            raise Unread('a step that says nothing')  # nor does one that does not hold
    if steps:
        return _value(trimmed(last))
    parts, joints = split(tokens, _JOINTS)
    filled = [bare for part in parts if part and (bare := trimmed(part))]
    if not joints or len(filled) < 2:
        return _item(filled[0] if joints and filled else tokens)
    items = [member for item in _numbered(filled) for member in _members(_item(item))]  # ± makes two of one
    first, kinds = items[0], {_JOINTS[joint] for joint in joints}
    joined = next((kind for kind in ('or', 'and') if kind in kinds), ',')
    if isinstance(first, Named) and not any(isinstance(item, Named | Relation) for item in items[1:]):
        items = [first, *(Named(first.name, item, first.left) for item in items[1:])]  # a = 4, -8, -10
    if isinstance(first, Relation) and first.signs == (r'\ne',):  # x ≠ 1, 2
        rest = [item.expression for item in items[1:] if isinstance(item, Amount) and not item.unit]
        if len(rest) == len(items) - 1:
            items, joined = [first, *(Relation((first.sides[0], one), first.signs) for one in rest)], 'and'
    names = [item.name if isinstance(item, Named) else '' for item in items]
    width = names.index(names[0], 1) if names[0] in names[1:] else 0
    if width > 1 and names[0] and names == names[:width] * (len(names) // width):
        starts = range(0, len(items), width)  # p = 5, q = 2; p = 7, q = 2
        items = [Several('list', tuple(items[start : start + width])) for start in starts]
    return Several('list', tuple(items), joined)


def _numbered(parts: list[list[Token]]) -> list[list[Token]]:
    """Return `(1) 3; (2) 5` as `(1) = 3; (2) = 5`; a list not numbered from its first item on as it is."""
    for before, first, after in _NUMBERINGS:
        heads = [[one for one in (before, chr(ord(first) + at), after) if one] for at in range(len(parts))]
        bare = [
            part[len(head) :] if part[: len(head)] == head else []
            for part, head in zip(parts, heads, strict=True)
        ]
        if all(bare):
            return [[Token('words', f'({at})'), Token('mark', '='), *one] for at, one in enumerate(bare, 1)]
    return parts


def _item(tokens: Tokens) -> Value:
    """Read one value: no comma, no "or"."""
    if not tokens:
        raise Unread('nothing')
    in_braces = tokens[0] == r'\{' and closing(tokens) == len(tokens) - 1
    if not in_braces and not {r'\pm', r'\mp'}.isdisjoint(tokens):
        plus, minus = Token('mark', '+'), Token('mark', '-')
        signs = {r'\pm': (plus, minus), r'\mp': (minus, plus)}
        both = [[signs.get(token, (token, token))[turn] for token in tokens] for turn in (0, 1)]
        return Several('list', tuple(map(_item, both)), 'and' if r'\ne' in tokens else ',')
    for reading in _READINGS:
        if (value := reading(tokens)) is not None:
            return value
    try:
        return read_amount(tokens)
    except Unread:
        if tokens[0].lower() == 'answer' and (rest := trimmed(tokens[1:])):
            return _item(rest)
        if len(tokens) <= 2 and all(token.kind in {'words', 'chinese'} for token in tokens):
            return _text(tokens)
        raise


def _union(tokens: Tokens) -> Value | None:
    whole, without = split(tokens, {r'\setminus'})
    if len(without) == 1 and _item(whole[0]) == REALS:
        return _without_points(_item(whole[1]))
    parts, marks = split(tokens, {r'\cup'})
    return Several('union', tuple(map(_item, parts))) if marks else None


def _without_points(points: Value) -> Value:
    r"""Read `\mathbb{R}\setminus\{0\}`."""
    items = points.items if isinstance(points, Several) and points.kind == 'set' else ()
    values: dict[Amount, Any] = {
        one: None if _variables(one) else value_of(one.expression) for one in items if isinstance(one, Amount)
    }
    if not items or len(values) < len(items) or None in values.values():
        raise Unread('a set without others than points')
    ends = [Amount(-INFINITY), *sorted(values, key=values.__getitem__), Amount(INFINITY)]
    return Several('union', tuple(Several('()', pair) for pair in pairwise(ends)))


def _environment(tokens: Tokens) -> Value | None:
    r"""Read the matrix, piecewise value or system of equations between `\begin` and `\end`."""
    if tokens[1:2] == [r'\begin'] and tokens[0] in OPENING:
        matched = tokens[-1] == BRACKETS.get(tokens[0])
        tokens = tokens[1:-1] if matched else tokens[1:] if tokens[0] == r'\{' else tokens
    if tokens[0] != r'\begin' or closing(tokens) != len(tokens) - 1:
        return None
    kind = tokens[0].kind
    if kind not in _MATRICES | _SYSTEMS:
        raise Unread(kind)
    cells = [split(row, '&')[0] for row in split(tokens[1:-1], {'\\\\'})[0] if row]
    if {next((token for cell in row for token in cell), '') for row in cells[1:]} == {'='}:
        return _item([token for row in cells for cell in row for token in cell])  # x &= 2·3 \\ &= 6
    if kind in _MATRICES and RELATIONS.isdisjoint(tokens):
        return _matrix(cells)
    if all(len(row) == 1 for row in cells):
        parts = [split(row[0], ',;')[0] for row in cells]
        condition = RELATIONS | _OTHERWISE | {r'\in'}
        if not all(len(part) > 1 and not condition.isdisjoint(part[-1]) for part in parts):
            return Several('list', tuple(_item(trimmed(row[0])) for row in cells), 'and')
        cells = [[row[0][: -len(part[-1]) - 1], part[-1]] for row, part in zip(cells, parts, strict=True)]
    if any(len(row) != 2 for row in cells):
        raise Unread('a branch without its condition')
    branches: list[Value] = []
    for row in cells:
        holds = [token for token in trimmed(row[1]) if token not in _CONDITIONS]
        otherwise = holds and _OTHERWISE.issuperset(holds)
        said = Words('text', ('otherwise',)) if otherwise else _value(holds)
        branches.append(Several('tuple', (_item(trimmed(row[0])), said)))
    return Several('piecewise', tuple(branches))


def _matrix(cells: Sequence[Sequence[Tokens]]) -> Several:
    if len({len(row) for row in cells}) != 1:
        raise Unread('rows of different lengths')
    rows = [Several('tuple', tuple(Amount(expression_of(cell)) for cell in row)) for row in cells]
    return Several('matrix', tuple(rows))


def _bracketed(tokens: Tokens) -> Value | None:
    """Read the set, pair, tuple or matrix in the brackets that `tokens` are."""
    left, right, inside = tokens[0], tokens[-1], tokens[1:-1]
    if left not in BRACKETS or left[1:2] == 'l' or closing(tokens) != len(tokens) - 1:
        return None
    parts, marks = split(inside, ',;')
    if left in {'{', r'\{'}:  # {1, 3} and {x | x > 1} need no backslash
        a_set = marks or (inside and inside[0].kind == 'letters' and split(inside, '|')[1])
        return _set(inside) if left == r'\{' or a_set else _value(inside)
    if left + right == '[]':
        cells = [split(row, ',')[0] for row in split(inside, ';')[0]]
        if ';' in marks and all(len(row) > 1 for row in cells):  # [1, 2; 3, 4]
            return _matrix(cells)
        rows = all(part[:1] + part[-1:] == ['[', ']'] and closing(part) == len(part) - 1 for part in parts)
        if {*marks} == {','} and rows:
            return _matrix([split(part[1:-1], ',')[0] for part in parts])  # [[1, 2], [3, 4]]
    if not marks:  # one value in brackets is that value
        alone = inside and (inside[0] in OPENING or left == '[') and BRACKETS[left] == right
        return _item(inside) if alone else None
    items = tuple(map(_item, parts))
    if len(items) == 2 and left in '([' and right in ')]':
        return Several(left + right, items)
    if BRACKETS[left] != right:
        raise Unread('brackets that do not match')
    return Several('tuple', items)


def _set(inside: Tokens) -> Value:
    if not inside:
        return Several('set', ())
    parts, marks = split(inside, '|:')
    if marks and 0 < len(parts[0]) <= 4 and parts[0][0].kind in {'letters', 'command'}:
        condition = inside[len(parts[0]) + 1 :]
        if {*parts[0]}.isdisjoint(condition):
            raise Unread('a condition for something else')
        return _value(condition)
    return Several('set', tuple(_members(_value(inside))))


def _members(value: Value) -> Iterator[Value]:
    if isinstance(value, Several) and value.kind == 'list':
        for item in value.items:
            yield from _members(item)
    else:
        yield value


def _ratio_or_domain(tokens: Tokens) -> Value | None:
    if tokens == [r'\emptyset']:
        return Several('set', ())
    mark = ''.join(tokens[1:]).strip('^_{}')
    if tokens[0].startswith(r'\mathbb ') and mark in {'', '+', '*', '-'}:
        return Words('domain', (tokens[0][-1] + mark,))
    parts, marks = split(tokens, ':')
    if not 0 < len(marks) < 12 or any(part and part[0].kind in {'words', 'chinese'} for part in parts):
        return None
    with suppress(Unread):
        return Several('ratio', tuple(Amount(expression_of(part)) for part in parts))
    return None


def _related(tokens: Tokens) -> Value | None:  # noqa: C901
    """Read an equation, inequality, membership, or a value with its name."""
    parts, marks = split(tokens, _RELATING)
    if not marks:
        return None
    if marks == [r'\in']:
        return Named(''.join(parts[0]), _value(parts[1]))
    if marks[-1] == r'\approx':  # √3/3 ≈ 0.577 is √3/3; x ≈ 11 names 11
        exact, rough = _item(tokens[: -len(parts[-1]) - 1]), _item(parts[-1])
        inner = exact.value if isinstance(exact, Named) else exact
        if not (isinstance(inner, Amount) and isinstance(rough, Amount)):
            raise Unread('a rounded value of what is no number')
        if isinstance(inner.expression, Symbol) and _is_name(inner.expression) and len(parts) == 2:
            return Named(inner.expression.name, rough, inner.expression)
        values = [value_of(one) for one in (inner.worth, rough.worth) if not one.variables]
        known = None not in values and len(values) == 2
        if not known or (abs(values[0] - values[1]) > abs(values[0]) / 100 and not _comes_to(inner, rough)):
            raise Unread('a rounded value that is none')
        return exact
    if r'\equiv' in marks:  # x ≡ 2 (mod 5) names 2, and 2^{10} ≡ 2 (mod 7) is true
        last = parts[-1]
        place = next((at for at, one in enumerate(last) if one in {r'\pmod', r'\bmod', 'mod'}), 0)
        bracket = place > 0 and last[place - 1] == '(' and last[-1] == ')'
        modulus = rational(expression_of(last[place + 1 : -1 if bracket else None]))
        if not modulus or modulus < 0:
            raise Unread('a congruence without its modulus')
        return _equation([*parts[:-1], last[: place - bracket]], modulus)
    if {*marks} == {'='}:
        return _equation(parts)
    if not RELATIONS.issuperset(marks):
        raise Unread('a mixed chain')
    return Relation(tuple(map(expression_of, parts)), tuple(marks))


def _equation(parts: list[list[Token]], modulus: Fraction | int | None = None) -> Value:
    """Read `x = 5`, `x = 1 + 1 = 2` and `1 + 1 = 2`: the last member counts, if what is computed is true."""
    left, value = parts[0], _value(parts[-1])
    members = [*map(_item, parts[1:-1]), value]

    def holds(one: Value, *others: Value) -> bool:
        return all(_variables(one) != _variables(other) or _comes_to(one, other, modulus) for other in others)

    if not all(holds(one, other, value) for one, other in pairwise(members)):
        raise Unread('a chain of equations that do not agree')
    name = ''.join(left) + (f' mod {modulus}' if modulus else '')
    if bound := _function_of(left):
        return Named(name, value, bound)
    amount, named = None, _expression(left)
    with suppress(Unread):
        amount = read_amount(left)
    measured = isinstance(value, Amount) and value.unit and amount and amount.unit
    if named is not None and not measured and len(left) <= 14 and _is_name(named):
        return Named(name, value, named)
    computed = amount if named is None or measured else None if named.variables else Amount(named)
    if computed is not None:
        if not (_comes_to(computed, value, modulus) and holds(computed, members[0])):
            raise Unread('an equation that does not hold')
        return value
    words = [
        place
        for place, token in enumerate(left, 1)
        if token.kind in {'words', 'chinese'}
        or (token.kind == 'letters' and len(token) > 1 and token not in FUNCTIONS)
    ]
    term = _expression(left[words[-1] :]) if words else None  # "the value 2x" = 5 names nothing of value 5
    ends_in_a_term = term is not None and not _is_name(term)
    if modulus or (named is None and (ends_in_a_term or len(left) > 14 or not name)):
        raise Unread(name)
    if named is not None and isinstance(value, Amount) and value.unit is None:
        return Relation((named, value.expression), ('=',))
    return Named(name, value, named)


def _is_name(expression: Expression) -> bool:
    """Return whether an equation with this on its left says what something is worth: x, f(2), |AB|, NO/BO."""
    match expression:
        case Symbol(name):
            return name not in {'pi', 'e', 'oo'}
        case Call('^', (base, exponent)):
            return exponent == Number(-1) and _is_name(base)
        case Call('*', factors):  # segments, angles, quotients of them
            upper = all(not isinstance(one, Symbol) or one.name[0].isupper() for one in factors)
            return upper and all(map(_is_name, factors))
        case Call('abs'):  # |AB| is a length, |x| = 5 says what x is
            return all(name[-1:].isupper() or ' ' in name for name in expression.variables)
        case Call(name):
            return name not in FUNCTIONS | {'+', 'factorial', 'double factorial', 'binom', 'floor', 'ceiling'}
    return False


def _function_of(left: Tokens) -> Call | None:
    """Return the function on the left of `x(t) = 2t`, `f^{-1}(x) = x/2`."""
    if left[1:6] == ['^', '{', '-', '1', '}'] and left[0].kind == 'letters':
        inverse = _function_of([left[0], *left[6:]])
        return Call(inverse.name + '^-1', inverse.arguments) if inverse else None
    if len(left) < 4 or [left[1], left[-1]] != ['(', ')'] or left[0].kind != 'letters' or len(left[0]) > 1:
        return None
    names = [str(token) for token in left[2:-1] if token != ',']
    if not all(len(name) == 1 and name.isalpha() for name in names):
        return None
    return Call(str(left[0]), tuple(map(Symbol, names)))


def _variables(value: Value) -> frozenset[str]:
    return value.expression.variables if isinstance(value, Amount) else frozenset()


def _comes_to(said: Value, value: Value, modulus: Fraction | int | None = None) -> bool:
    """Return whether one member of a chain is worth the next, or what that is rounded to."""
    if not (isinstance(said, Amount) and isinstance(value, Amount)):
        return said == value
    left, right = said.worth, value.worth
    if modulus:
        exact = rational(left + -right)
        return exact is not None and exact % modulus == 0
    if equal(left, right):
        return True
    if value.unit and value.unit != PERCENT:  # 180 - 120 = 60°
        return equal(left, value.expression)
    exact = None if left.variables else value_of(left)
    if exact is None or not isinstance(right, Number) or right.digits is None:
        return False
    return bool(abs(exact - value_of(right)) <= 0.5001 * 10.0**-right.digits)


_READINGS: tuple[Callable[[Tokens], Value | None], ...]
_READINGS = (_union, _environment, _related, _bracketed, _ratio_or_domain)
