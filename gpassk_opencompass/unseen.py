"""Characters that steer a terminal or cannot be seen, and how they are shown."""

from __future__ import annotations

import re

UNSEEN = re.compile(
    '[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff'
    '\U000e0000-\U000e007f]'
)
"""Controls, directions, zero widths, halves of characters."""


def escaped(text: str, keep: str = '') -> str:
    r"""A text with escapes for `UNSEEN` characters, but for those that may stay.

    >>> escaped('2\x1b[2J\nis 二', keep='\n')
    '2\\x1b[2J\nis 二'
    """
    return UNSEEN.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def _escape(character: str) -> str:
    return character.encode('unicode_escape').decode('ascii')
