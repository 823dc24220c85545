"""Amounts: a number or expression with its unit, percent sign or multiplier, in figures or in words."""

from __future__ import annotations

import re
from fractions import Fraction

from .expressions import Expression, Product, Sum, number, symbols
from .formulas import read_expression
from .tokens import Token, Tokens, Unread, closes, opens
from .values import DEGREES, BaseNumber, Formula, Quantity, Unit, read_unit
from .words import FUNCTIONS, MULTIPLIERS, chinese_number, english_number

_WORDS = frozenset({'letters', 'words', 'chinese'})
_PERCENT = frozenset({'%', 'percent', 'percentage', 'pct'})
_CHINESE_NUMERAL = re.compile(
    '负?[零一二三四五六七八九〇两十百千万亿]+(?:分之[零一二三四五六七八九〇两十百千万亿]+|点[零一二三四五六七八九〇]+)?|一?半'
)
_ROOTS = {'根号': r'\sqrt', '根号下': r'\sqrt', '负根号': r'-\sqrt'}
_NEGATIVE = '负'
_CURRENCIES = frozenset({'dollars', '¥', '€', '£'})
_MINUS = frozenset({'minus', 'negative'})
_SCALES = frozenset(word for word in MULTIPLIERS if word.isascii())


def read_amount(tokens: Tokens) -> Formula | Quantity | BaseNumber:
    r"""Return the number, expression or quantity that `tokens` are.

    >>> from .tokens import tokens_of
    >>> read_amount(tokens_of('28 percent'))
    Formula(expression=Number(value=Fraction(28, 1), digits=None), percent=True)
    >>> read_amount(tokens_of('五千米')).amount
    Number(value=Fraction(5000, 1), digits=None)

    Raises:
        Unread: they are nothing of that.
    """
    tokens = _currency_last(_in_figures(tokens))
    if based := _in_base(tokens):
        return based
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


def _in_figures(tokens: Tokens) -> list[Token]:
    """Write numerals as figures, `根号` as a root, a multiplier and the unit behind it apart."""
    figures: list[Token] = []
    for token in tokens:
        if token.kind == 'chinese':
            figures += _chinese_in_figures(token, after_number=bool(figures) and figures[-1].kind == 'number')
        else:
            figures.append(token)
    return _english_in_figures(figures)


def _currency_last(tokens: list[Token]) -> list[Token]:
    """Read `-$5 million` as `-5 million dollars`."""
    start = 1 if tokens and tokens[0].text == '-' else 0
    if len(tokens) < start + 2 or tokens[start].text not in _CURRENCIES or tokens[start + 1].kind != 'number':
        return tokens
    end = start + 3 if tokens[start + 2 : start + 3] and tokens[start + 2].text in MULTIPLIERS else start + 2
    return [*tokens[:start], *tokens[start + 1 : end], tokens[start], *tokens[end:]]


def _chinese_in_figures(token: Token, *, after_number: bool) -> list[Token]:
    text = token.text
    if text in _ROOTS:
        sign = [Token('mark', '-')] if text.startswith(_NEGATIVE) else []
        return [*sign, Token('command', r'\sqrt', token.spaced)]
    if text == _NEGATIVE:
        return [Token('mark', '-', token.spaced)]
    if after_number:
        if _is_known(token):  # 4000千克 are 4000 kilograms, not 4,000,000 grams
            return [token]
        width = max((len(word) for word in MULTIPLIERS if text.startswith(word)), default=0)
        parts = [text[:width], text[width:]]
        return [Token('chinese', part, token.spaced) for part in parts if part]
    match = _CHINESE_NUMERAL.match(text)
    value = chinese_number(match[0]) if match else None
    if match is None or value is None:
        return [token]
    rest = text[match.end() :]
    figures = [Token('mark', '-')] if value < 0 else []
    figures += _fraction(abs(value))
    return [*figures, Token('chinese', rest)] if rest else figures


def _fraction(value: Fraction) -> list[Token]:
    above = Token('number', str(value.numerator))
    if value.denominator == 1:
        return [above]
    below = Token('number', str(value.denominator))
    return [Token('mark', '('), above, Token('mark', '/'), below, Token('mark', ')')]


def _english_in_figures(tokens: list[Token]) -> list[Token]:
    """Read `twenty-five apples` as `25 apples`, `minus two` and `minus 2` as `-2`."""
    if len(tokens) > 1 and tokens[0].text.lower() in _MINUS and tokens[1].kind == 'number':
        return [Token('mark', '-'), *tokens[1:]]
    words: list[str] = []
    best: tuple[int, Fraction] | None = None
    for place, token in enumerate(tokens):
        if token.text == '-' and words:
            continue
        if token.kind not in {'letters', 'words'}:
            break
        words.append(token.text.lower())
        value = english_number(words)
        if value is not None:
            best = place + 1, value
    if best is None:
        return tokens
    width, value = best
    sign = [Token('mark', '-')] if value < 0 else []
    return [*sign, *_fraction(abs(value)), *tokens[width:]]


def _in_base(tokens: Tokens) -> BaseNumber | None:
    """Read `25_8`, `25_{8}`, `(25)_8`, `25_{(8)}`."""
    texts = [token.text for token in tokens if token.text not in '(){}']
    numbers = [
        token.kind == 'number' and token.text.isdigit() for token in tokens if token.text not in '(){}'
    ]
    if len(texts) != 3 or texts[1] != '_' or not (numbers[0] and numbers[2]) or tokens[0].text == '{':
        return None
    base = int(texts[2]) if len(texts[2]) < 3 else 0
    return BaseNumber(texts[0].lstrip('0') or '0', base) if 2 <= base <= 36 else None


def _scaled(tokens: Tokens) -> Expression:
    """Read `5 million` or `5万`: an expression times what the word after it says."""
    if len(tokens) > 1 and (scale := MULTIPLIERS.get(tokens[-1].text)):
        return Product((read_expression(tokens[:-1]), number(scale)))
    return read_expression(tokens)


def _quantity(tokens: Tokens) -> Quantity | None:
    """Read an amount and its unit; the amount is as short as it can be."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += opens(token) - closes(token)
        if not place or depth or not _may_be_unit(tokens, place):
            continue
        try:
            unit = read_unit(tokens[place:])
            if unit == DEGREES and any(one.text == r'\circ' for one in tokens[:place]):
                return None  # 90° - 45° is a sum of angles
            amount = _scaled(tokens[:place])
        except Unread:
            continue
        return _with_product(tokens, place, amount, unit)
    return None


def _may_be_unit(tokens: Tokens, place: int) -> bool:
    token = tokens[place]
    if token.text in _SCALES:
        return False
    if token.text == r'\circ' or (
        token.text == '^' and r'\circ' in [after.text for after in tokens[place:][1:3]]
    ):
        return not any(before.text.lstrip('\\') in FUNCTIONS for before in tokens[:place])
    if token.kind == 'letters' and not token.spaced:
        return len(token.text) > 1 and _is_known(token)
    return token.kind in _WORDS or token.text in {'¥', '€', '£', '¢'}


def _is_known(token: Token) -> bool:
    try:
        unit = read_unit([token])
    except Unread:
        return False
    return (token.text.lower(), 1) not in unit.dimension


def _with_product(tokens: Tokens, place: int, amount: Expression, unit: Unit) -> Quantity | None:
    """Note that `3 m` may be three times m; `3x m` is that always."""
    if tokens[place].kind != 'letters' or len(tokens[place].text) > 1:
        return Quantity(amount, unit)
    try:
        product: Expression | None = read_expression(tokens)
    except Unread:
        product = None
    if product is not None and next(symbols(amount), None) is not None:
        return None
    return Quantity(amount, unit, product)


def _compound(tokens: Tokens) -> Quantity | None:
    """Read `3小时5分`, `5 feet 3 inches`: amounts of one dimension, the larger unit first."""
    starts = [
        place
        for place, token in enumerate(tokens)
        if token.kind == 'number' and (place == 0 or tokens[place - 1].kind in _WORDS)
    ]
    if len(starts) < 2 or starts[0] != 0:
        return None
    parts = [
        _quantity(tokens[start:end]) for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True)
    ]
    if any(part is None for part in parts):
        return None
    quantities = [part for part in parts if part is not None]
    factors = [part.unit.factor for part in quantities]
    if len({part.unit.dimension for part in quantities}) > 1 or factors != sorted(set(factors), reverse=True):
        return None
    last = quantities[-1].unit
    terms = tuple(Product((part.amount, number(part.unit.factor / last.factor))) for part in quantities)
    return Quantity(Sum(terms), last)
