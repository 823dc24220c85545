"""Keys kept out of logs: servers quote them in their errors, and OpenCompass logs what servers say."""

from __future__ import annotations

import logging

SHORTEST = 8
"""Characters of a key that is one; what stands there for servers without keys (EMPTY, none) is left alone."""


class HiddenKey(logging.Filter):
    """Writes *** for a key in all that a logger says; nothing is held back.

    Args:
        key: '' or a stand-in for servers that want none hides nothing.
    """

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    def filter(self, record: logging.LogRecord) -> bool:
        """Called by the logger with each record."""
        record.msg, record.args = hidden(record.getMessage(), self._key), ()
        return True


def hidden(text: str, key: str) -> str:
    """The text without the key.

    >>> hidden('Incorrect API key: sk-abcdefgh', 'sk-abcdefgh')
    'Incorrect API key: ***'
    """
    return text.replace(key, '***') if len(key) >= SHORTEST else text
