"""Numbers in words: 二十五, 三分之一, 5万, 12 million, twenty-five."""

from __future__ import annotations

import re
from fractions import Fraction

_DIGITS = {
    **{digit: value for value, digit in enumerate('零一二三四五六七八九')},
    '〇': 0, '两': 2, '壹': 1, '贰': 2, '叁': 3,
}  # fmt: skip
_SMALL = {'十': 10, '百': 100, '千': 1000}
_LARGE = {'万': 10**4, '亿': 10**8}
_CHINESE = re.compile('[负零一二三四五六七八九〇两壹贰叁十百千万亿点半]+')

_LONGEST = 40  # characters of a number: more make one that nobody means
_MOST_WORDS = 20

MULTIPLIERS = {
    '百': 100, '千': 1000, '万': 10**4, '十万': 10**5, '百万': 10**6, '千万': 10**7, '亿': 10**8,
    '十亿': 10**9,
    '百亿': 10**10, '万亿': 10**12, 'hundred': 100, 'thousand': 1000, 'million': 10**6, 'billion': 10**9,
    'trillion': 10**12, 'dozen': 12,
}  # fmt: skip
"""What a number is multiplied by if the word follows it."""

_NAMES = (
    'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen '
    'seventeen eighteen nineteen'
)
_TEN_NAMES = 'twenty thirty forty fifty sixty seventy eighty ninety'
_WORDS = {
    **{word: value for value, word in enumerate(_NAMES.split())},
    **{word: 10 * value for value, word in enumerate(_TEN_NAMES.split(), 2)},
}
_PARTS = {
    'half': 2, 'third': 3, 'thirds': 3, 'quarter': 4, 'quarters': 4, 'fourth': 4, 'fourths': 4, 'fifth': 5,
    'fifths': 5, 'sixth': 6, 'sixths': 6, 'eighth': 8, 'eighths': 8, 'tenth': 10, 'tenths': 10,
}  # fmt: skip


def chinese_number(text: str) -> Fraction | None:
    """Return the number that Chinese characters write out, or None.

    >>> chinese_number('三分之二'), chinese_number('负一百零五'), chinese_number('三点一四')
    (Fraction(2, 3), Fraction(-105, 1), Fraction(157, 50))
    """
    if len(text) > _LONGEST:
        return None
    if '分之' in text:
        below, _, above = text.partition('分之')
        below = {'百': '一百', '千': '一千', '万': '一万'}.get(below, below)
        parts = chinese_number(above), chinese_number(below)
        return parts[0] / parts[1] if parts[0] is not None and parts[1] else None
    if text.startswith('负'):
        value = chinese_number(text[1:])
        return -value if value is not None else None
    return _positive(text) if _CHINESE.fullmatch(text) else None


def _positive(text: str) -> Fraction | None:
    if text in {'半', '一半'}:
        return Fraction(1, 2)
    whole, point, decimals = text.partition('点')
    if point and (not decimals or any(digit not in _DIGITS for digit in decimals)):
        return None
    value = _whole(whole)
    if value is None:
        return None
    digits = ''.join(str(_DIGITS[digit]) for digit in decimals)
    return value + (Fraction(int(digits), 10 ** len(digits)) if digits else 0)


def _whole(text: str) -> Fraction | None:
    if not text or any(char in '负点半' for char in text):
        return None
    if all(char in _DIGITS for char in text):  # 二〇二四
        return Fraction(int(''.join(str(_DIGITS[char]) for char in text)))
    total = section = digit = 0
    for char in text:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in _SMALL:
            section += (digit or 1) * _SMALL[char]
            digit = 0
        else:
            total = (total + section + digit) * _LARGE[char]
            section = digit = 0
    return Fraction(total + section + digit)


def english_number(words: list[str]) -> Fraction | None:
    """Return the number that English words write out, or None.

    >>> english_number(['twenty', 'five']), english_number(['two', 'thirds']), english_number(['one'])
    (Fraction(25, 1), Fraction(2, 3), Fraction(1, 1))
    """
    if len(words) > _MOST_WORDS:
        return None
    if words and words[0] in {'minus', 'negative'}:
        value = english_number(words[1:])
        return -value if value is not None else None
    if len(words) >= 2 and words[-1] in _PARTS:
        above = english_number([word for word in words[:-1] if word not in {'a', 'an'}] or ['one'])
        return above / _PARTS[words[-1]] if above is not None and above.denominator == 1 else None
    return _cardinal(words)


def _cardinal(words: list[str]) -> Fraction | None:
    total = section = 0
    last: int | None = None
    for word in words:
        if word in _WORDS:
            ones = _WORDS[word]
            if last is not None and not (last >= 20 and ones < 10):  # "three four" is no number
                return None
            section, last = section + ones, ones
        elif word == 'hundred' and last is not None:
            section *= 100
            last = None
        elif word in MULTIPLIERS and word.isascii() and section:
            total += section * MULTIPLIERS[word]
            section, last = 0, None
        elif word != 'and' or not (section or total):
            return None
    return Fraction(total + section) if words and words[-1] != 'and' else None
