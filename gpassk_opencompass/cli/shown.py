"""Texts that models and servers wrote, safe to show on a terminal."""

from __future__ import annotations

from ..unseen import escaped


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
    shown = escaped(cut, keep)
    return shown if width is None or len(shown) <= width else f'{shown[: width - 1]}…'
