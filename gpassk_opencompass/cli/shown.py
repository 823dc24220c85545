"""Texts that models and servers wrote, safe to show on a terminal."""

from __future__ import annotations

import re

UNSEEN = re.compile(
    '[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff'
    '\U000e0000-\U000e007f]'
)
"""Steer a terminal or cannot be seen: controls, directions, zero widths, halves of characters."""


def printable(text: object, width: int | None = None, keep: str = '') -> str:
    r"""`text` on one line, with escapes for `UNSEEN` characters, lest what a model wrote steers the terminal.

    Args:
        text: anything; `str` is applied.
        width: the greatest length; what is longer ends in '…'.
        keep: characters that may stay, e.g. line breaks.

    >>> printable('2\x1b[2J\nis 二')
    '2\\x1b[2J\\nis 二'
    >>> printable('a long text', 7)
    'a long…'
    """
    cut = str(text) if width is None else str(text)[: width + 1]
    shown = UNSEEN.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), cut)
    return shown if width is None or len(shown) <= width else f'{shown[: width - 1]}…'


def _escape(character: str) -> str:
    return character.encode('unicode_escape').decode()
