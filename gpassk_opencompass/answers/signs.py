r"""The sign and the relation that stand before a box: `x = -\boxed{5}` is -5, `x \ge \boxed{5}` is x ≥ 5."""

from __future__ import annotations

import re

_REACH = 80  # characters before the box that are looked at

_OPENING = (
    r'(?:\$\$?|\\[(\[,;:! ]|\\q?quad(?![a-zA-Z])|\\left(?![a-zA-Z])|\\displaystyle(?![a-zA-Z])|[{*~`\s])*$'
)
_ANY = re.compile(r'[-−–±∓<>≤≥≠]|\\(?:pm|mp|le|ge|lt|gt|ne|not)')
_SIGN = re.compile(r'(?P<sign>\\pm(?![a-zA-Z])|\\mp(?![a-zA-Z])|[±∓−–-])(?P<gap>' + _OPENING + ')')
_RELATED = re.compile(
    r'(?P<left>(?<![a-zA-Z\\])(?:\\[a-zA-Z]+|[a-zA-Z])(?:_\{?\w{1,4}\}?|\([a-zA-Z]\))?\s*)?'
    r'(?P<relation>\\(?:leqslant|geqslant|leq|geq|le|ge|lt|gt|neq|ne|not\s?=)(?![a-zA-Z])|(?:<|>)=?|[≤≥≠])'
    + _OPENING
)
_AFTER_RELATION = re.compile(
    r'(?:=|[<>≤≥≠≈]|\\(?:leqslant|geqslant|leq|geq|le|ge|lt|gt|neq|ne|approx|equiv)(?![a-zA-Z]))\s*$'
)
_AFTER_OPENER = re.compile(r'(?:(?:^|[\s:：,，(（*\u4e00-\u9fff])\$\$?|\\\(|\\\[)\s*$')
_ARROW_OR_TAG = re.compile(r'(?:[-=]>|</?[a-zA-Z][^<>\n]*>|(?:^|\n)\s*>)\s*' + _OPENING)
_SPELLED = {'±': r'\pm ', '∓': r'\mp ', r'\pm': r'\pm ', r'\mp': r'\mp ', '−': '-', '–': '-', '-': '-'}
_LETTER = re.compile(r'(?:\\text\{)?\(?[A-Z]\)?\}?')
_RELATION_INSIDE = re.compile(r'[=<>≤≥≠]|\\(?:le|ge|ne|in)(?:q|qslant)?(?![a-zA-Z])')


def with_sign(text: str, start: int, content: str) -> str:
    r"""Return `content` of the box that starts at `start` of `text`, with its sign and relation.

    A hyphen is a sign behind a relation, at the start of a formula, and where it touches the box behind a
    blank; it is none as a dash, as the bullet of a list, or between two terms. `=` and `\approx` go.

    >>> response = r'so $x = -\boxed{5}$'
    >>> with_sign(response, response.index('\\boxed'), '5')
    '-5'
    """
    before = text[max(0, start - _REACH) : start]
    if not _ANY.search(before) or _RELATION_INSIDE.search(content) or _LETTER.fullmatch(content):
        return content
    sign = _SIGN.search(before)
    if sign and _unary(before[: sign.start()], sign['gap']):
        content = _SPELLED[sign['sign']] + _grouped(content)
        before = before[: sign.start()]
    if _ARROW_OR_TAG.search(before):
        return content
    related = _RELATED.search(before)
    if not related:
        return content
    left = (related['left'] or '').strip()
    return f'{left} {related["relation"]} {content}'.strip()


def _unary(before: str, gap: str) -> bool:
    """Whether a sign between `before` and the box is one of the box alone."""
    if _AFTER_RELATION.search(before) or _AFTER_OPENER.search(before):
        return True
    if gap and gap[0].isspace():
        return False
    return not before or before[-1] in ' \t\n:：,，(（{*' or '\u4e00' <= before[-1] <= '\u9fff'


def _grouped(content: str) -> str:
    r"""In brackets where a sign before it would reach only its first term."""
    return f'({content})' if re.search(r'[-+−]|\\pm', content) else content
