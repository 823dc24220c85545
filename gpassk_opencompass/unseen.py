"""Characters that steer a terminal or cannot be seen, and how they are shown."""

from __future__ import annotations

import json
import re
from typing import Any

UNSEEN = re.compile(
    '[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff'
    '\U000e0000-\U000e007f]'
)
"""Controls, directions, zero widths, halves of characters."""


def escaped(text: str, keep: str = '') -> str:
    r"""Return a text with escapes for `UNSEEN` characters, but for those that may stay.

    >>> escaped('2\x1b[2J\nis 二', keep='\n')
    '2\\x1b[2J\nis 二'
    """
    return UNSEEN.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def printable(text: object, width: int | None = None, keep: str = '') -> str:
    r"""Return a text on one line with escapes for `UNSEEN` characters, so that no text steers the terminal.

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


def json_text(value: object, indent: int | None = None) -> str:
    r"""Return a value as JSON that any file and terminal takes: `UNSEEN` characters are escaped.

    Nothing is lost: who reads the JSON has the characters back, halves of characters too. No line break is
    in it but those of `indent`.

    >>> json_text({'二': '\ud800\u2028'})
    '{"二": "\\ud800\\u2028"}'
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return UNSEEN.sub(lambda found: found[0] if found[0] == '\n' else _json_escape(found[0]), text)


def with_whole_characters(value: Any) -> Any:
    r"""Return JSON-able data with escapes in the place of halves of characters, which no UTF-8 can hold.

    >>> with_whole_characters({'answers': ['7', '\ud800'], 'c': 1})
    {'answers': ['7', '\\ud800'], 'c': 1}
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode('utf-8', 'backslashreplace').decode('utf-8')
    if isinstance(value, dict):
        return {with_whole_characters(key): with_whole_characters(one) for key, one in value.items()}
    return [with_whole_characters(one) for one in value] if isinstance(value, (list, tuple)) else value


def _json_escape(character: str) -> str:
    digits = character.encode('utf-16-be', 'surrogatepass').hex()
    return ''.join(f'\\u{digits[place : place + 4]}' for place in range(0, len(digits), 4))


def _escape(character: str) -> str:
    return character.encode('unicode_escape').decode('ascii')
