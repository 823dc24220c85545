r"""What a number of roots, fractions, powers and π comes to, so that two spellings of it are one."""

from __future__ import annotations

import math
import re

_LONGEST = 200  # characters of a closed form
_TOKEN = re.compile(
    r'\s*([0-9]+(?:\.[0-9]+)?|\\(?:d|t|c)?frac|\\(?:sqrt|pi|cdot|times|div)(?![a-zA-Z])|[-+*/^(){}\[\]]|\S)'
)
_TIMES = {r'\cdot', r'\times', '*'}
_OVER = {r'\div', '/'}
_FRACTIONS = {r'\frac', r'\dfrac', r'\tfrac', r'\cfrac'}
_CLOSERS = {'(': ')', '{': '}', '[': ']'}


def evaluated(text: str) -> float | None:
    r"""Return the value of `text`, None where it is more than numbers, roots, powers, fractions and π.

    >>> evaluated(r'\frac{\sqrt{66}}{6}') == evaluated('2x'), round(evaluated(r'2\sqrt[3]{8} - 1') or 0, 6)
    (False, 3.0)
    """
    if len(text) > _LONGEST:
        return None
    reader = _Reader(_TOKEN.findall(text))
    try:
        value = reader.sum()
    except (ValueError, IndexError, ArithmeticError):
        return None
    return value if not reader.tokens and math.isfinite(value) else None


class _Reader:
    """Reads tokens from the front by the usual precedence; ValueError where they are no closed form."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens[::-1]

    def sum(self) -> float:
        value = self._signed()
        while self._next() in {'+', '-'}:
            value += self._signed()
        return value

    def _next(self) -> str:
        return self.tokens[-1] if self.tokens else ''

    def _signed(self) -> float:
        sign = 1.0
        while self._next() in {'+', '-'}:
            sign = -sign if self.tokens.pop() == '-' else sign
        return sign * self._product()

    def _product(self) -> float:
        value = self._power()
        while (token := self._next()) and token not in {'+', '-', ')', '}', ']'}:
            if token in _OVER:
                self.tokens.pop()
                value /= self._power()
            else:
                if token in _TIMES:
                    self.tokens.pop()
                value *= self._power()
        return value

    def _power(self) -> float:
        base = self._atom()
        if self._next() != '^':
            return base
        self.tokens.pop()
        return math.pow(base, self._signed_atom())

    def _signed_atom(self) -> float:
        if self._next() == '-':
            self.tokens.pop()
            return -self._atom()
        return self._atom()

    def _atom(self) -> float:
        token = self.tokens.pop()
        if token[0].isdigit() and token.isascii():
            return float(token)
        if token in {r'\pi', 'π'}:
            return math.pi
        if token in _CLOSERS:
            value = self.sum()
            if self.tokens.pop() != _CLOSERS[token]:
                raise ValueError(token)
            return value
        if token == r'\sqrt':
            degree = self._atom() if self._next() == '[' else 2.0
            return math.pow(self._atom(), 1 / degree)
        if token in _FRACTIONS:
            above = self._atom()
            return above / self._atom()
        raise ValueError(token)
