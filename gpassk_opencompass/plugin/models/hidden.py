"""Keys kept out of logs: servers quote them in their errors, and OpenCompass logs what servers say."""

from __future__ import annotations

import logging

from ...keys import hidden, without_user


class HiddenKey(logging.Filter):
    """Writes *** for keys, and for the user of a URL, in all that a logger says; nothing is held back.

    Args:
        keys: '' or a stand-in for servers that want none hides nothing.
    """

    def __init__(self, *keys: str) -> None:
        super().__init__()
        self._keys = keys

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the keys out of a log record's message and traceback."""
        record.msg, record.args = self._without(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:  # which goes before exc_info where there is one
            record.exc_text = self._without(record.exc_text)
        return True

    def _without(self, text: str) -> str:
        return without_user(hidden(text, *self._keys))
