"""Names as they can be drawn: whole glyphs only, no line breaks, not too long."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from ...errors import InputError

BASE_FONT = 'DejaVu Sans'
"""Comes with matplotlib, so that figures look alike everywhere."""

_WIDER_FONTS = (
    'Noto Sans CJK SC',
    'Noto Sans SC',
    'Source Han Sans SC',
    'Source Han Sans CN',
    'WenQuanYi Micro Hei',
    'WenQuanYi Zen Hei',
    'Noto Sans CJK JP',
    'Droid Sans Fallback',
    'Microsoft YaHei',
    'SimHei',
    'PingFang SC',
    'Hiragino Sans GB',
    'Arial Unicode MS',
)
"""With Chinese characters; the first that is installed serves for what the base font lacks."""


@lru_cache(maxsize=1)
def font_families() -> tuple[str, ...]:
    """The base font and, where one is installed, a font with Chinese characters."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return (BASE_FONT, *[name for name in _WIDER_FONTS if name in installed][:1])


def drawable(text: str, width: int | None = None) -> str:
    """The text on one line, with characters that no font can draw written as Python writes them.

    Args:
        text: any text.
        width: characters above which the middle is cut out: both the model and the settings at the end
            of a name stay to be read. Chinese characters count twice, as they are drawn.

    >>> drawable('a\\nb'), drawable('model-with-a-long-name_t0-3_p0-8', 20)
    ('a\\\\nb', 'model-wit…_t0-3_p0-8')
    """
    whole = ''.join(char if _has_glyph(char) else _escaped(char) for char in text)
    return whole if width is None else cut_middle(whole, width)


def cut_middle(text: str, width: int) -> str:
    """The beginning and the end of a text, joined by `…`, in at most `width` columns, at least 3."""
    if width < 3:
        raise InputError(f'width = {width}: expected at least 3 columns')
    if columns(text) <= width:
        return text
    tail = _beginning(text[::-1], width // 2)[::-1]
    return _beginning(text, width - 1 - columns(tail)) + '…' + tail


def columns(text: str) -> int:
    """The width of a text: wide characters take two columns."""
    return sum(2 if unicodedata.east_asian_width(char) in 'WF' else 1 for char in text)


def _beginning(text: str, width: int) -> str:
    end = 0
    while end < len(text) and columns(text[: end + 1]) <= width:
        end += 1
    return text[:end]


def _has_glyph(char: str) -> bool:
    if char.isascii():
        return char.isprintable()
    return char.isprintable() and any(ord(char) in glyphs for glyphs in _glyphs())


@lru_cache(maxsize=1)
def _glyphs() -> tuple[frozenset[int], ...]:
    """The characters of each of the fonts."""
    from matplotlib.font_manager import findfont, get_font

    return tuple(frozenset(get_font(findfont(family)).get_charmap()) for family in font_families())


def _escaped(char: str) -> str:
    return char.encode('unicode_escape').decode('ascii')
