"""Inequalities, chains of them, and the intervals and sets that say the same."""

from __future__ import annotations

import re

from ..answers import normal_form

_RELATION = re.compile(r'(?<!\\)(\\le(?![a-zA-Z])|\\ge(?![a-zA-Z])|<|>)\s*')
_TURNED = {'>': '<', r'\ge': r'\le', '<': '>', r'\le': r'\ge'}
_FALLING = frozenset({'>', r'\ge'})
_VARIABLE = re.compile(r'(?:[a-zA-Z]|\\(?!infty|pi)[a-zA-Z]+)(?:_\{?\w+\}?|\([a-zA-Z]\))?')
_EITHER = re.compile(r'(?<![a-zA-Z])or(?![a-zA-Z])|或者?|\\cup|,')
_INTERVAL = re.compile(r'[\[(].*,.*[\])]', re.DOTALL)
_SET_BUILDER = re.compile(r'\\\{\s*(?P<element>[a-zA-Z])\s*(?:\\mid|\||:)(?P<condition>.*)\\\}', re.DOTALL)


def condition_of_set(text: str) -> str:
    r"""`\{x \mid 1 < x\}` as `1 < x`; anything else unchanged.

    >>> condition_of_set(r'\{x \mid 1 < x \leq 2\}')
    '1 < x \\leq 2'
    """
    described = _SET_BUILDER.fullmatch(text)
    if described and _RELATION.search(normal_form(described['condition'])):
        return described['condition'].strip()
    return text


def rising_chain(text: str) -> str:
    """`a > b > c` as `c<b<a`; anything else unchanged.

    >>> rising_chain('a > b > c')
    'c<b<a'
    """
    parts = _RELATION.split(normal_form(text))
    if len(parts) >= 5 and _FALLING.issuperset(parts[1::2]):
        return _turned(parts)
    return text


def _turned(parts: list[str]) -> str:
    turned = ''.join(f' {_TURNED[part]} ' if part in _TURNED else part for part in reversed(parts))
    return turned.replace(' <', '<').replace('< ', '<')


def as_interval(answer: str, reference: str) -> str:
    r"""`answer` as an interval where it is an inequality and `reference` is an interval; else unchanged.

    >>> as_interval(r'x < -1 \text{ or } x \ge 6', r'(-\infty,-1)\cup[6,+\infty)')
    '(-\\infty,-1)\\cup[6,\\infty)'
    """
    spelled = condition_of_set(normal_form(answer))
    if not _RELATION.search(spelled) or not _INTERVAL.search(normal_form(reference)):
        return answer
    intervals = [_interval(part) for part in _EITHER.split(spelled)]
    return r'\cup'.join(intervals) if all(intervals) else answer


def _interval(inequality: str) -> str:
    """The interval of one inequality in one variable, '' if it is no such thing."""
    parts = [part.strip() for part in _RELATION.split(inequality)]
    if len(parts) not in {3, 5}:
        return ''
    if not _FALLING.isdisjoint(parts):
        parts = [_TURNED.get(part, part) for part in reversed(parts)]
    if len(parts) == 3:
        parts = [*parts, '<', r'\infty'] if _VARIABLE.fullmatch(parts[2]) else [r'-\infty', '<', *parts]
    low, above, variable, below, high = parts
    if not _VARIABLE.fullmatch(variable) or not _FALLING.isdisjoint(parts):
        return ''
    return f'{"(" if above == "<" else "["}{low},{high}{")" if below == "<" else "]"}'
