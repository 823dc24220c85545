r"""An answer read as a typed value: every token of it is accounted for, or it counts as text.

>>> read(r'[0, \frac{1}{2})')[0].right_closed, read('x = 5')[0].name, read('充要条件')
(False, 'x', (Words(kind='phrase', words=('necessary and sufficient',)),))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction

from .formula import (
    BRACKETS,
    CLOSING,
    FUNCTIONS,
    OPENING,
    Token,
    Tokens,
    Unread,
    closing,
    read_expression,
    split,
    texts,
    tokens_of,
    trimmed,
    written,
)
from .normal import normal_form
from .numeric import (
    DEGREE,
    INFINITY,
    Call,
    Expression,
    Number,
    Symbol,
    added,
    equal,
    is_constant,
    negative,
    number,
    rational,
    symbols,
    times,
    value_of,
)
from .values import (
    DEGREES,
    MULTIPLIERS,
    REALS,
    Chain,
    Formula,
    Named,
    Pair,
    Quantity,
    Relation,
    Several,
    Value,
    Words,
    chinese_number,
    english_number,
    meaning_of,
    unit_of,
)

# Amounts: numbers, expressions, quantities

_PERCENT = frozenset({'%', 'percent', 'percentage', 'pct'})
_CURRENCIES = frozenset({'dollars', '¥', '€', '£'})
_NUMERAL = re.compile(
    '负?[零一二三四五六七八九〇两十百千万亿]+(?:分之[零一二三四五六七八九〇两十百千万亿]+|点[零一二三四五六七八九〇]+)?|一?半'
)


def read_amount(tokens: Tokens) -> Formula | Quantity:
    r"""Return the number, expression or quantity that `tokens` are; raise Unread where they are none.

    >>> read_amount(tokens_of('28 percent'))
    Formula(expression=Number(value=Fraction(28, 1), digits=None), percent=True)
    >>> read_amount(tokens_of('五千米')).amount
    Number(value=Fraction(5000, 1), digits=None)
    """
    tokens = _in_figures(tokens)
    if tokens and tokens[-1].text in _PERCENT:
        return Formula(read_expression(tokens[:-1]), percent=True)
    if quantity := _quantity(tokens):
        return quantity
    try:
        return Formula(_scaled(tokens))
    except Unread:
        if compound := _compound(tokens):
            return compound
        raise


def _figures(value: Fraction) -> list[Token]:
    figures = str(abs(value)) if value.denominator == 1 else f'({abs(value)})'
    return tokens_of(f'-{figures}' if value < 0 else figures)


def _in_figures(tokens: Tokens) -> list[Token]:
    """Write numerals as figures, `根号` as a root, a multiplier apart from its unit, a currency last."""
    figures: list[Token] = []
    for token in tokens:
        if token.kind == 'chinese':
            figures += _chinese_in_figures(token, bool(figures) and figures[-1].kind == 'number')
        else:
            figures.append(token)
    if len(figures) > 1 and figures[0].text.lower() in {'minus', 'negative'} and figures[1].kind == 'number':
        figures[0] = Token('mark', '-')
    words: list[str] = []
    numeral: tuple[int, Fraction] | None = None
    for place, token in enumerate(figures):
        if token.kind in {'letters', 'words'}:
            words.append(token.text.lower())
            value = english_number(words)
            numeral = numeral if value is None else (place + 1, value)
        elif token.text != '-' or not words:
            break
    if numeral:
        figures = [*_figures(numeral[1]), *figures[numeral[0] :]]
    start = int(bool(figures) and figures[0].text == '-')  # -$5 million is -5 million dollars
    price = figures[start : start + 3]
    if len(price) > 1 and price[0].text in _CURRENCIES and price[1].kind == 'number':
        end = start + 2 + (len(price) > 2 and price[2].text in MULTIPLIERS)
        figures = [*figures[:start], *figures[start + 1 : end], price[0], *figures[end:]]
    return figures


def _chinese_in_figures(token: Token, after_number: bool) -> list[Token]:
    text = token.text
    if text in {'根号', '根号下', '负根号'}:
        sign = [Token('mark', '-')] if text.startswith('负') else []
        return [*sign, Token('command', r'\sqrt', token.spaced)]
    if text == '负':
        return [Token('mark', '-', token.spaced)]
    if after_number:
        width = max((len(word) for word in MULTIPLIERS if text.startswith(word)), default=0)
        if not width or _is_unit(token):  # 4000千克 are 4000 kilograms, not 4,000,000 grams
            return [token]
        parts = [text[:width], text[width:]]
        return [Token('chinese', part, token.spaced) for part in parts if part]
    match = _NUMERAL.match(text)
    value = chinese_number(match[0]) if match else None
    if match is None or value is None:
        return [token]
    rest = text[match.end() :]
    return [*_figures(value), *([Token('chinese', rest)] if rest else [])]


def _scaled(tokens: Tokens) -> Expression:
    """Read `5 million` or `5万`: an expression times what the word after it says."""
    if len(tokens) > 1 and (scale := MULTIPLIERS.get(tokens[-1].text)):
        return times(read_expression(tokens[:-1]), number(scale))
    return read_expression(tokens)


def _is_unit(token: Token) -> bool:
    """Return whether a token alone is a unit of the table, or a counter."""
    unit = unit_of([token.text])
    return unit is not None and (token.text.lower(), 1) not in unit.dimension


def _quantity(tokens: Tokens) -> Quantity | None:  # noqa: C901
    """Read an amount and its unit; the amount is as short as it can be."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.text in OPENING) - (token.text in CLOSING)
        if not place or depth or (token.text in MULTIPLIERS and token.text.isascii()):
            continue
        alone = token.kind == 'letters' and not token.spaced  # `3m` is three times m
        if r'\circ' in texts(tokens[place : place + (3 if token.text == '^' else 1)]):
            if any(before.text.lstrip('\\') in FUNCTIONS for before in tokens[:place]):
                continue
        elif alone:
            if len(token.text) == 1 or not _is_unit(token):
                continue
        elif token.kind not in {'letters', 'words', 'chinese'} and token.text not in {'¥', '€', '£', '¢'}:
            continue
        unit = unit_of(texts(tokens[place:]))
        if unit is None:
            continue
        if unit == DEGREES and any(one.text == r'\circ' for one in tokens[:place]):
            return None  # 90° - 45° is a sum of angles
        try:
            amount = _scaled(tokens[:place])
        except Unread:
            continue
        if token.kind != 'letters' or len(token.text) > 1:
            return Quantity(amount, unit)
        try:  # `3 m` may be three times m; `3x m` is that always
            product = read_expression(tokens)
        except Unread:
            return Quantity(amount, unit)
        return Quantity(amount, unit, product) if is_constant(amount) else None
    return None


def _compound(tokens: Tokens) -> Quantity | None:
    """Read `3小时5分`, `5 feet 3 inches`: amounts of one dimension, the larger unit first."""
    units = {'', 'letters', 'words', 'chinese'}
    kinds = ['', *(token.kind for token in tokens)]
    starts = [place for place, kind in enumerate(kinds[1:]) if kind == 'number' and kinds[place] in units]
    if len(starts) < 2 or starts[0] != 0:
        return None
    ends = [*starts[1:], len(tokens)]
    parts = [part for start, end in zip(starts, ends, strict=True) if (part := _quantity(tokens[start:end]))]
    factors = [part.unit.factor for part in parts]
    one_dimension = len({part.unit.dimension for part in parts}) == 1
    if len(parts) < len(starts) or not one_dimension or factors != sorted(set(factors), reverse=True):
        return None
    last = parts[-1].unit
    total = added(*(times(part.amount, number(part.unit.factor / last.factor)) for part in parts))
    return Quantity(total, last)


# Values

RELATIONS = frozenset({'=', '<', '>', r'\le', r'\ge', r'\ne'})
_FOLLOWS = frozenset({r'\Rightarrow', r'\therefore'})
_JOINTS = {
    **dict.fromkeys((',', ';', '，', '；'), ','),
    **dict.fromkeys(('or', '或', '或者'), 'or'),
    **dict.fromkeys(('and', '和', '与', '及', '以及', '且', '并且', '&', 'And'), 'and'),
}
_PLAIN_NUMBER = re.compile(r'[-+]?[0-9]{1,18}(?:\.[0-9]{1,18})?')
_HAS_WORDS = re.compile(r'(?<![\\A-Za-z])[A-Za-z]{2}|[\u4e00-\u9fff✓✔✗✘√×]|[0-9]:[0-9]|[0-9] ?[ap]\.m')
_REASONED = re.compile(
    r'(yes|no|true|false|是的?|不是|否|对|错|正确|错误)[,.;:，。；：]\s*(?=\D)'
    r'(?!.*(?:\b(?:but|or|maybe|however|and no)\b|但|或|可能))',
    re.IGNORECASE | re.DOTALL,
)
_EVERY_REAL = re.compile(
    r'(?:(?:the set of )?(?:all|any|every)? ?real(?: ?numbers?|s)?|全体实数|任意实数|一切实数|实数集)'
    r'(?:\s*[xy])?(?:\s*,?\s*except(?: for)?\s*(?:x\s*=\s*)?(?P<without>[-0-9{].*))?',
    re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r'\$?\s*([-+]?[0-9]+),([0-9]+)\s*\$?\.?')
_NUMBERINGS = (('(', '1', ')'), ('(', 'a', ')'), ('', 'a', '.'), ('', 'A', '.'))
_CONDITIONS = frozenset('if for when where with 当 若 其中 时 as 为'.split())
_OTHERWISE = frozenset({'otherwise', '其他', '其它', 'else', 'elsewhere'})
_MATRICES = frozenset({'pmatrix', 'bmatrix', 'matrix', 'Bmatrix', 'smallmatrix', 'array'})
_SYSTEMS = frozenset(
    {'cases', 'dcases', 'rcases', 'aligned', 'align', 'align*', 'gathered', 'split', 'array'}
)


def read(answer: str) -> tuple[Value, ...]:
    """Return the readings of `answer`: one, or two where `1,22` may be a decimal or a list.

    What cannot be read as anything else is text.
    """
    plain = answer.strip() if answer.count('$') == 1 else answer.strip().strip('$')  # $5 is a price
    if _PLAIN_NUMBER.fullmatch(plain):
        _, point, decimals = plain.partition('.')
        return (Formula(Number(Fraction(plain), len(decimals) if point else None)),)
    if _HAS_WORDS.search(answer) and (worded := _worded(normal_form(answer))):
        return (worded,)
    tokens = trimmed(tokens_of(answer))
    readings: list[Value] = []
    try:
        value = _value(tokens)
        _, marks = split(tokens, _FOLLOWS | {'=', r'\equiv', r'\approx'})
        chained = isinstance(value, Named | Formula | Quantity) and len(marks) > isinstance(value, Named)
        readings.append(Chain(value) if chained else value)
        if marks[-1:] == [r'\approx']:  # 2/3 ≈ 0.67 says both
            last = _item(split(tokens, _JOINTS.keys() | {r'\approx'})[0][-1])
            if last != value and _comes_to(value, last):
                readings.append(Chain(last))
    except Unread:
        readings.append(_text(tokens))
    if comma := _DECIMAL_COMMA.fullmatch(answer.strip()):
        whole, rest = comma.groups()
        readings = [value for value in readings if isinstance(value, Formula)] or []
        if len(rest) != 3 or whole.strip('+-') == '0':
            readings.append(Formula(Number(Fraction(f'{whole}.{rest}'), len(rest))))
        if (len(rest) == 1 or rest[0] != '0') and whole not in {'-0', '+0'}:
            readings.append(Several('list', (Formula(number(int(whole))), Formula(number(int(rest))))))
    return tuple(readings)


def _worded(bare: str) -> Value | None:
    """Read all real numbers, a time of day, or a phrase, also with its reason behind it."""
    if every := _EVERY_REAL.fullmatch(bare):
        points = tokens_of(re.sub(r'(?<![a-z])and(?![a-z])', ',', every['without'] or ''))
        if not points:
            return REALS
        braced = points[0].text == r'\{'
        left, right = tokens_of(r'\{\}')
        return _without_points(REALS, _item(points if braced else [left, *points, right]))
    time = _TIME.fullmatch(bare)
    if time and (half := time['before'] or time['after']):
        late = half.lower() in {'p', '下午', '晚上'}
        hour = str(int(time['hour']) % 12)
        return Words('time', (hour, str(int(time['minute'] or 0)), 'pm' if late else 'am'))
    if time and (time['clock'] or time['mark'] in {'点', '时'}):  # a ratio, as 4:30 is read
        return Several('ratio', tuple(Formula(number(int(time[part] or 0))) for part in ('hour', 'minute')))
    reasoned = _REASONED.match(bare)
    meaning = meaning_of(reasoned[1] if reasoned else bare)
    return Words('phrase', (meaning,)) if meaning else None


_TIME = re.compile(
    r'(?P<before>上午|下午|凌晨|晚上|早上)?(?P<hour>[0-9]{1,2})'
    r"(?:(?P<mark>[点时:])(?:(?P<minute>[0-5][0-9])分?|整|钟)?)?(?P<clock> ?o'?clock)?"
    r'(?: ?(?P<after>[ap])\.?m\.?)?',
    re.IGNORECASE,
)


def _text(tokens: Tokens) -> Words:
    """Return the words of a text: without articles, final punctuation, and case (but that of `AB`)."""
    words = []
    for place, token in enumerate(tokens):
        after = tokens[place + 1].kind if place + 1 < len(tokens) else ''
        ends = after in {'', 'letters', 'words', 'chinese'}
        article = (token.text if place else token.text.lower()) in _ARTICLES and after in {'letters', 'words'}
        if not article and not (ends and token.text in {',', '.', ';', ':', '!', '?'}):
            words.append(token.text if token.text.isupper() else token.text.lower())
    return Words('text', tuple(words))


_ARTICLES = frozenset({'the', 'a', 'an', 'The'})


def _value(tokens: Tokens) -> Value:
    """Read any value, a list or the last step of several among them."""
    steps, _ = split(tokens, _FOLLOWS)
    for step in steps[:-1]:
        if isinstance(_value(trimmed(step)), Formula) and RELATIONS.isdisjoint(texts(step)):
            raise Unread('a step that says nothing')  # nor does one that does not hold
    if len(steps) > 1:
        return _value(trimmed(steps[-1]))
    parts, joints = split(tokens, _JOINTS)
    filled = [bare for part in parts if part and (bare := trimmed(part))]
    if not joints or len(filled) < 2:
        return _item(filled[0] if joints and filled else tokens)
    items: list[Value] = []
    for item in map(_item, _numbered(filled)):  # ± makes two of one
        items += _members(item)
    first, kinds = items[0], {_JOINTS[joint] for joint in joints}
    joined = 'or' if 'or' in kinds else 'and' if 'and' in kinds else ','
    if isinstance(first, Named) and not any(isinstance(item, Named | Relation) for item in items[1:]):
        items = [first, *(Named(first.name, item, first.left) for item in items[1:])]  # a = 4, -8, -10
    names = [item.name if isinstance(item, Named) else '' for item in items]
    width = names.index(names[0], 1) if names[0] in names[1:] else 0
    if width > 1 and names[0] and names == names[:width] * (len(names) // width):
        starts = range(0, len(items), width)  # p = 5, q = 2; p = 7, q = 2
        items = [Several('list', tuple(items[start : start + width])) for start in starts]
    return Several('list', tuple(items), joined)


def _numbered(parts: list[list[Token]]) -> list[list[Token]]:
    """Return `(1) 3; (2) 5` as `(1) = 3; (2) = 5`; a list not numbered from its first item on as it is."""
    for before, first, after in _NUMBERINGS:
        numbers = [str(place + 1) if first == '1' else chr(ord(first) + place) for place in range(len(parts))]
        heads = [[text for text in (before, one, after) if text] for one in numbers]
        width = len(heads[0])
        if [texts(part[:width]) for part in parts] == heads and all(len(part) > width for part in parts):
            names = [[Token('words', f'({place})'), Token('mark', '=')] for place in range(1, len(parts) + 1)]
            return [[*name, *part[width:]] for name, part in zip(names, parts, strict=True)]
    return parts


def _item(tokens: Tokens) -> Value:
    """Read one value: no comma, no "or"."""
    if not tokens:
        raise Unread('nothing')
    in_braces = tokens[0].text == r'\{' and closing(tokens, 0) == len(tokens) - 1
    if not in_braces and any(token.text in {r'\pm', r'\mp'} for token in tokens):
        marks = Token('mark', '+'), Token('mark', '-')
        both = [dict(zip((r'\pm', r'\mp'), pair, strict=True)) for pair in (marks, marks[::-1])]
        signed = [[signs.get(token.text, token) for token in tokens] for signs in both]
        return Several('list', tuple(map(_item, signed)), 'and' if r'\ne' in texts(tokens) else ',')
    for reading in _READINGS:
        if (value := reading(tokens)) is not None:
            return value
    try:
        return read_amount(tokens)
    except Unread:
        if tokens[0].text.lower() == 'answer' and (rest := trimmed(tokens[1:])):
            return _item(rest)
        if len(tokens) <= 2 and all(token.kind in {'words', 'chinese'} for token in tokens):
            return _text(tokens)
        raise


def _union(tokens: Tokens) -> Value | None:
    whole, without = split(tokens, {r'\setminus'})
    if len(without) == 1:
        return _without_points(_item(whole[0]), _item(whole[1]))
    parts, marks = split(tokens, {r'\cup'})
    return Several('union', tuple(map(_item, parts))) if marks else None


def _without_points(whole: Value, points: Value) -> Value:
    r"""Read `\mathbb{R}\setminus\{0\}`."""
    items = points.items if isinstance(points, Several) and points.kind == 'set' else ()
    ends = [(value_of(item.expression), item) for item in items if isinstance(item, Formula)]
    if whole != REALS or not ends or len(ends) < len(items) or any(value is None for value, _ in ends):
        raise Unread('a set without others than points')
    between = [item for _, item in sorted(ends, key=lambda one: one[0])]
    lows, highs = [Formula(negative(INFINITY)), *between], [*between, Formula(INFINITY)]
    pairs = zip(lows, highs, strict=True)
    return Several('union', tuple(Pair(low, high, False, False) for low, high in pairs))


def _environment(tokens: Tokens) -> Value | None:
    r"""Read the matrix, piecewise value or system of equations between `\begin` and `\end`."""
    if len(tokens) > 2 and tokens[1].text == r'\begin' and tokens[0].text in OPENING:
        matched = tokens[-1].text == BRACKETS.get(tokens[0].text)
        tokens = tokens[1:-1] if matched else tokens[1:] if tokens[0].text == r'\{' else tokens
    if tokens[0].text != r'\begin' or closing(tokens, 0) != len(tokens) - 1:
        return None
    kind = tokens[0].kind
    if kind not in _MATRICES | _SYSTEMS:
        raise Unread(kind)
    rows = [row for row in split(tokens[1:-1], {'\\\\'})[0] if row]
    cells = [split(row, '&')[0] for row in rows]
    firsts = [next((token.text for cell in row for token in cell), '') for row in cells]
    if len(cells) > 1 and {*firsts[1:]} == {'='}:
        return _item([token for row in cells for cell in row for token in cell])  # x &= 2·3 \\ &= 6
    if kind in _MATRICES and RELATIONS.isdisjoint(texts(tokens)):
        return _matrix(cells)
    if all(len(row) == 1 for row in cells):
        parts = [split(row[0], ',;')[0] for row in cells]
        condition = RELATIONS | _OTHERWISE | {r'\in'}
        if not all(len(part) > 1 and not condition.isdisjoint(texts(part[-1])) for part in parts):
            return Several('list', tuple(_item(trimmed(row[0])) for row in cells), 'and')
        cells = [[row[0][: -len(part[-1]) - 1], part[-1]] for row, part in zip(cells, parts, strict=True)]
    branches: list[Value] = []
    for row in cells:
        if len(row) != 2:
            raise Unread('a branch without its condition')
        condition_tokens = [token for token in trimmed(row[1]) if token.text not in _CONDITIONS]
        otherwise = bool(condition_tokens) and _OTHERWISE.issuperset(texts(condition_tokens))
        holds = Words('text', ('otherwise',)) if otherwise else _value(condition_tokens)
        branches.append(Several('tuple', (_item(trimmed(row[0])), holds)))
    return Several('piecewise', tuple(branches))


def _matrix(cells: Sequence[Sequence[Tokens]]) -> Several:
    if len({len(row) for row in cells}) != 1:
        raise Unread('rows of different lengths')
    rows = [Several('tuple', tuple(Formula(read_expression(cell)) for cell in row)) for row in cells]
    return Several('matrix', tuple(rows))


def _bracketed(tokens: Tokens) -> Value | None:
    """Read the set, pair, tuple or matrix in the brackets that `tokens` are."""
    left, right, inside = tokens[0].text, tokens[-1].text, tokens[1:-1]
    if left not in BRACKETS or left[1:2] == 'l' or closing(tokens, 0) != len(tokens) - 1:
        return None
    a_set = split(inside, ',;')[1] or (inside and inside[0].kind == 'letters' and split(inside, '|')[1])
    if left in {'{', r'\{'}:  # {1, 3} and {x | x > 1} need no backslash
        return _set(inside) if left == r'\{' or a_set else _value(inside)
    rows, semicolons = split(inside, ';')
    parts, marks = split(inside, ',;')
    if left + right == '[]':
        cells = [split(row, ',')[0] for row in rows]
        if semicolons and all(len(row) > 1 for row in cells):  # [1, 2; 3, 4]
            return _matrix(cells)
        ends = {(part[0].text, part[-1].text, closing(part, 0) - len(part)) if part else () for part in parts}
        if marks and not semicolons and ends == {('[', ']', -1)}:  # [[1, 2], [3, 4]]
            return _matrix([split(part[1:-1], ',')[0] for part in parts])
    if not marks:  # one value in brackets is that value
        alone = inside and (inside[0].text in OPENING or left == '[') and BRACKETS[left] == right
        return _item(inside) if alone else None
    items = tuple(map(_item, parts))
    if len(items) == 2 and left in '([' and right in ')]':
        return Pair(*items, left == '[', right == ']')
    if BRACKETS[left] != right:
        raise Unread('brackets that do not match')
    return Several('tuple', items)


def _set(inside: Tokens) -> Value:
    if not inside:
        return Several('set', ())
    parts, marks = split(inside, '|:')
    if marks and 0 < len(parts[0]) <= 4 and parts[0][0].kind in {'letters', 'command'}:
        condition = inside[len(parts[0]) + 1 :]
        if {*texts(parts[0])}.isdisjoint(texts(condition)):
            raise Unread('a condition for something else')
        return _value(condition)
    return Several('set', tuple(_members(_value(inside))))


def _members(value: Value) -> Iterator[Value]:
    if isinstance(value, Several) and value.kind == 'list':
        for item in value.items:
            yield from _members(item)
    else:
        yield value


def _ratio(tokens: Tokens) -> Value | None:
    parts, marks = split(tokens, ':')
    if not 0 < len(marks) < 12 or any(part and part[0].kind in {'words', 'chinese'} for part in parts):
        return None
    try:
        return Several('ratio', tuple(Formula(read_expression(part)) for part in parts))
    except Unread:
        return None


def _domain(tokens: Tokens) -> Value | None:
    if texts(tokens) == [r'\emptyset']:
        return Several('set', ())
    mark = ''.join(text for text in texts(tokens[1:]) if text not in {'^', '_', '{', '}'})
    if not tokens[0].text.startswith(r'\mathbb ') or mark not in {'', '+', '*', '-'}:
        return None
    return Words('domain', (tokens[0].text[-1] + mark,))


# Equations and other relations


def _related(tokens: Tokens) -> Value | None:
    """Read an equation, inequality, membership, or a value with its name."""
    parts, marks = split(tokens, RELATIONS | {r'\in', r'\approx', r'\equiv'})
    if not marks:
        return None
    if r'\equiv' in marks:
        return _congruence(parts)
    if marks == [r'\in']:
        return Named(written(parts[0]), _value(parts[1]))
    if marks[-1] == r'\approx':  # √3/3 ≈ 0.577 is √3/3; x ≈ 11 names 11
        exact, rough = _item(tokens[: -len(parts[-1]) - 1]), _item(parts[-1])
        inner = exact.value if isinstance(exact, Named) else exact
        if not isinstance(inner, Formula) or not isinstance(rough, Formula):
            raise Unread('a rounded value of what is no number')
        if isinstance(inner.expression, Symbol) and len(parts) == 2:
            return Named(inner.expression.name, rough, inner.expression)
        values = value_of(inner.expression), value_of(rough.expression)
        if None in values or abs(values[0] - values[1]) > abs(values[0]) / 100:
            raise Unread('a rounded value that is none')
        return exact
    if {*marks} == {'='}:
        return _equation(parts)
    if not RELATIONS.issuperset(marks):
        raise Unread('a mixed chain')
    return Relation(tuple(map(read_expression, parts)), tuple(marks))


def _congruence(parts: list[list[Token]]) -> Value:
    r"""Read `x \equiv 2 \pmod 5`, which names 2, and `2^{10} \equiv 2 \pmod 7`, which is true."""
    *before, last = parts
    last_texts = texts(last)
    place = next((at for at, text in enumerate(last_texts) if text in {r'\pmod', r'\bmod', 'mod'}), 0)
    bracket = place > 0 and last_texts[place - 1] == '(' and last_texts[-1] == ')'
    modulus = rational(read_expression(last[place + 1 : -1 if bracket else None]))
    members = [read_expression(part) for part in [*before, last[: place - bracket]]]
    values = [rational(member) for member in members]
    named = values[0] is None and isinstance(members[0], Symbol)
    known = [value for value in values if value is not None]
    if not modulus or modulus < 0 or len(known) + named < len(values):
        raise Unread('a congruence of what is no number')
    if any((value - known[-1]) % modulus for value in known):
        raise Unread('a congruence that does not hold')
    value = Formula(members[-1])
    return Named(f'{written(parts[0])} mod {modulus}', value) if named else value


def _equation(parts: list[list[Token]]) -> Value:  # noqa: C901
    """Read `x = 5`, `x = 1 + 1 = 2` and `1 + 1 = 2`: the last member counts, if what is computed is true."""
    left, value = parts[0], _value(parts[-1])
    for between in parts[1:-1]:
        said = _item(between)
        if _variables(said) == _variables(value) and not _comes_to(said, value):
            raise Unread('a chain of equations that do not agree')
    name = written(left)
    if bound := _function_of(left):
        return Named(name, value, bound)
    amount = named = None
    with suppress(Unread):
        amount = read_amount(left)
    with suppress(Unread):
        named = read_expression(left)
    measured = isinstance(value, Quantity) and isinstance(amount, Quantity)
    if amount is not None and (named is None or measured):
        if not _comes_to(amount, value):
            raise Unread('an equation that does not hold')
        return value
    if named is None:
        if _ends_in_a_term(left) or len(left) > 14 or not name:
            raise Unread(name)
        return Named(name, value)
    if _is_name(named) and len(left) <= 14:
        return Named(name, value, named)
    if is_constant(named):
        if not _comes_to(Formula(named), value):
            raise Unread('an equation that does not hold')
        return value
    if isinstance(value, Formula):
        return Relation((named, value.expression), ('=',))
    return Named(name, value, named)


def _is_name(expression: Expression) -> bool:
    """Return whether an equation with this on its left says what something is worth: x, f(2), |AB|, NO/BO."""
    if isinstance(expression, Symbol):
        return expression.name not in {'pi', 'e', 'oo'}
    if isinstance(expression, Number) or expression.name == '+':
        return False
    if expression.name == '^':
        return expression.arguments[1] == number(-1) and _is_name(expression.arguments[0])
    if expression.name == '*':  # segments, angles, quotients of them
        upper = all(not isinstance(one, Symbol) or one.name[0].isupper() for one in expression.arguments)
        return upper and all(map(_is_name, expression.arguments))
    if expression.name == 'abs':  # |AB| is a length, |x| = 5 says what x is
        return all(name[-1:].isupper() or ' ' in name for name in symbols(expression))
    return expression.name not in FUNCTIONS | {'factorial', 'double factorial', 'binom', 'floor', 'ceiling'}


def _ends_in_a_term(tokens: Tokens) -> bool:
    """Return whether words end in what is no name: "the value 2x" = 5 says nothing of a value of 5."""
    words = []
    for place, token in enumerate(tokens):
        a_word = token.kind == 'letters' and len(token.text) > 1 and token.text not in FUNCTIONS
        if a_word or token.kind in {'words', 'chinese'}:
            words.append(place)
    try:
        return bool(words) and not _is_name(read_expression(tokens[words[-1] + 1 :]))
    except Unread:  # nothing, too
        return False


def _function_of(left: Tokens) -> Call | None:
    """Return the function on the left of `x(t) = 2t`, `f^{-1}(x) = x/2`."""
    if texts(left[1:6]) == ['^', '{', '-', '1', '}'] and left[0].kind == 'letters':
        inverse = _function_of([left[0], *left[6:]])
        return Call(inverse.name + '^-1', inverse.arguments) if inverse else None
    if len(left) < 4 or [left[1].text, left[-1].text] != ['(', ')'] or left[0].kind != 'letters':
        return None
    names = [token.text for token in left[2:-1] if token.text != ',']
    if len(left[0].text) > 1 or not all(len(name) == 1 and name.isalpha() for name in names):
        return None
    return Call(left[0].text, tuple(map(Symbol, names)))


def _worth(value: Value) -> Expression | None:
    """Return what a number is worth, a quantity in the basic unit of its kind."""
    if isinstance(value, Quantity):
        return times(value.amount, number(value.unit.factor))
    if not isinstance(value, Formula):
        return None
    return times(value.expression, number(Fraction(1, 100))) if value.percent else value.expression


def _variables(value: Value) -> frozenset[str]:
    worth = _worth(value)
    return frozenset(() if worth is None else symbols(worth))


def _comes_to(said: Value, value: Value) -> bool:
    """Return whether one member of a chain is worth the next, or what that is rounded to."""
    left, right = _worth(said), _worth(value)
    if left is None or right is None:
        return said == value
    if equal(left, right):
        return True
    if isinstance(value, Quantity):
        in_angles = value.unit == DEGREES and equal(left, times(value.amount, DEGREE))
        return in_angles or equal(left, value.amount)
    exact = value_of(left)
    if not isinstance(value, Formula) or not isinstance(value.expression, Number) or exact is None:
        return False
    if (digits := value.expression.digits) is None:
        return False
    return bool(abs(exact - value_of(right)) <= 0.5001 * 10.0 ** -(digits + 2 * value.percent))


_READINGS: tuple[Callable[[Tokens], Value | None], ...] = (
    _union, _environment, _related, _bracketed, _domain, _ratio,
)  # fmt: skip
