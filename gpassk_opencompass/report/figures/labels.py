"""What runs are called in figures, and names as they can be drawn: whole glyphs, one line, not too long."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import NamedTuple

from ...errors import InputError
from ..leaderboard import Board, Entry

SHORT = {
    'temperature': 't',
    'top_p': 'p',
    'top_k': 'top-k',
    'repetition_penalty': 'rp',
    'random_seed': 'seed',
    'serial_links': 'links',
    'max_out_len': 'len',
}
"""Settings as they stand in labels, in this order."""

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

    A label is the model with the settings that not all runs share, or the whole abbreviation where that
    does not tell runs apart. Labels that are cut to the same text get their place in the table.
    """
    fields = varying(board.entries)
    texts = [' '.join([e.model, written(settings_of(e), fields)]).strip() for e in board.entries]
    twice = _repeated(texts)
    texts = [entry.name if text in twice else text for entry, text in zip(board.entries, texts, strict=True)]
    cut = [drawable(text, width) for text in texts]
    twice = _repeated(cut)
    labels = [
        f'{drawable(text, width - 6)} ({place})' if label in twice else label
        for place, (text, label) in enumerate(zip(texts, cut, strict=True), 1)
    ]
    return [Labelled(entry, label) for entry, label in zip(board.entries, labels, strict=True)]


def settings_of(entry: Entry) -> dict[str, float | None]:
    """Return the settings of a run by their names; empty where they are not known."""
    return asdict(entry.result.settings) if entry.result.settings else {}


def varying(entries: Sequence[Entry]) -> list[str]:
    """Return the settings in which some of the runs differ."""
    settings = [settings_of(entry) for entry in entries]
    return [field for field in SHORT if len({one.get(field) for one in settings}) > 1]


def written(settings: dict[str, float | None], fields: Iterable[str]) -> str:
    """Return some settings of a run in few letters: t=0.3 p=0.8.

    >>> written({'temperature': 0.3, 'top_k': 50, 'top_p': None}, ['temperature', 'top_p'])
    't=0.3'
    """
    given = ((field, settings.get(field)) for field in fields)
    return ' '.join(f'{SHORT[field]}={value:g}' for field, value in given if value is not None)


def shared(board: Board) -> list[str]:
    """Return the note about the settings that stand in no label, for all runs have them."""
    differing = varying(board.entries)
    common = {f: v for f, v in settings_of(board.entries[0]).items() if f not in differing and v is not None}
    text = ', '.join(f'{field} {value:g}' for field, value in common.items())
    return [f'All runs: {text}.'] if common and len(board.entries) > 1 else []


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
