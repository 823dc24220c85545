"""What runs are called in figures, and names as they can be drawn: whole glyphs, one line, not too long."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from ...errors import InputError
from ..labels import between_models, labels_of, shared
from ..leaderboard import Board, Entry

NAME_WIDTH = 36
"""Columns of a label at the head of a panel."""

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


class Labelled(NamedTuple):
    """A run and what it is called."""

    entry: Entry
    label: str


def labelled(board: Board, width: int = NAME_WIDTH) -> list[Labelled]:
    """Return the runs of a board with labels that tell them apart, of at most `width` columns.

    Where a label is too long, the model loses its middle, and the settings stay. Labels that are then alike
    show where the models differ, or, if there is no room, the place in the table.
    """
    labels = labels_of([entry.result for entry in board.entries])
    names = [drawable(label.model) for label in labels]
    behind = [drawable(label.text.removeprefix(label.model)) for label in labels]
    room = [max(width - columns(settings), width // 2) for settings in behind]
    texts = [cut_middle(name, most) + end for name, most, end in zip(names, room, behind, strict=True)]
    if twice := _repeated(texts):
        alike = {
            text: [name for name, other in zip(names, texts, strict=True) if other == text] for text in twice
        }
        texts = [
            cut_to_difference(name, alike[text], most) + end if text in twice else text
            for text, name, most, end in zip(texts, names, room, behind, strict=True)
        ]
    texts = [cut_middle(text, width) for text in texts]
    twice = _repeated(texts)
    texts = [
        f'{cut_middle(text, width - 6)} ({place})' if text in twice else text
        for place, text in enumerate(texts, 1)
    ]
    return [Labelled(entry, text) for entry, text in zip(board.entries, texts, strict=True)]


def shared_settings(board: Board) -> list[str]:
    """Return the note about the settings that stand in no label."""
    results = [entry.result for entry in board.entries]
    common = ', '.join(f'{name} {value}' for name, value in shared(results).items())
    models = ', '.join(between_models(results))
    all_of_them = 'All runs' if all(result.sampling for result in results) else 'All runs that tell it'
    return [
        *([f'{all_of_them}: {common}.'] if common and len(results) > 1 else []),
        *([f'Models differ in {models}: see the tables.'] if models else []),
    ]


def _repeated(texts: Iterable[str]) -> set[str]:
    return {text for text, count in Counter(texts).items() if count > 1}


@lru_cache(maxsize=1)
def font_families() -> tuple[str, ...]:
    """Return the base font and, where one is installed, a font with Chinese characters."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return (BASE_FONT, *[name for name in _WIDER_FONTS if name in installed][:1])


def drawable(text: str, width: int | None = None) -> str:
    """Return the text on one line, with characters that no font can draw written as Python writes them.

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
    """Return the beginning and the end of a text, joined by `…`, in at most `width` columns, at least 3."""
    if width < 3:
        raise InputError(f'width = {width}: expected at least 3 columns')
    if columns(text) <= width:
        return text
    tail = _beginning(text[::-1], width // 2)[::-1]
    return _beginning(text, width - 1 - columns(tail)) + '…' + tail


def cut_to_difference(text: str, others: Sequence[str], width: int) -> str:
    """Return the beginning of a text and what is there where it differs from others, at most `width` columns.

    >>> cut_to_difference('model-with-step-100-of-many', ['model-with-step-200-of-many'], 16)
    'mode…100-of-many'
    """
    start = len(list(takewhile(lambda chars: len(set(chars)) == 1, zip(text, *others, strict=False))))
    head = _beginning(text[:start], width // 4)
    if len(head) == start:
        return cut_middle(text, width)
    return f'{head}…{cut_middle(text[start:], width - columns(head) - 1)}'


def columns(text: str) -> int:
    """Return the width of a text: wide characters take two columns."""
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
    """Return the characters of each of the fonts."""
    from matplotlib.font_manager import findfont, get_font

    return tuple(frozenset(get_font(findfont(family)).get_charmap()) for family in font_families())


def _escaped(char: str) -> str:
    return char.encode('unicode_escape').decode('ascii')
