"""What went wrong with a request, and what that means for it, for its server and for all others."""

from __future__ import annotations

import json
from enum import Enum, auto
from typing import Any

from ..keys import hidden

_LONGEST_MESSAGE = 500


class Kind(Enum):
    """What a failure means."""

    BUSY = auto()
    """The server wants fewer requests: wait, all of us."""
    DOWN = auto()
    """The server cannot be reached. This says nothing about the request."""
    LOST = auto()
    """No reply came back: a time-out or a dropped connection."""
    BROKEN = auto()
    """The server answered, but not with a reply."""
    REFUSED = auto()
    """The server does not take this request and never will."""
    SETTING = auto()
    """The server would take no request: key, model name or address are wrong."""


class Trouble(Exception):
    """A request without a reply.

    Args:
        kind: what it means.
        reason: a few words, the same for all failures of a sort.
        message: what the server or the system said.
        wait: seconds that the server asked to wait.
    """

    def __init__(self, kind: Kind, reason: str, message: str = '', wait: float | None = None) -> None:
        self.kind = kind
        self.reason = reason
        self.message = message
        self.wait = wait

    def __str__(self) -> str:
        return f'{self.reason}: {self.message[:_LONGEST_MESSAGE]}' if self.message else self.reason

    def hide(self, secret: str) -> None:
        """Take a secret out of the whole message, which may quote the request."""
        self.message = hidden(self.message, secret)


def server_message(content: bytes) -> str:
    """Return what the body of an error says, in the forms that servers use, else its beginning."""
    message: Any = content.decode('utf-8', 'replace')
    try:
        message = json.loads(message)
        for name in ('error', 'message', 'detail'):
            if isinstance(message, dict) and message.get(name):
                message = message[name]
    except (ValueError, RecursionError):
        pass
    return ' '.join(str(message).split())


_KINDS = {
    400: Kind.REFUSED,
    408: Kind.LOST,
    413: Kind.REFUSED,
    422: Kind.REFUSED,
    425: Kind.BUSY,
    429: Kind.BUSY,
    502: Kind.DOWN,
    503: Kind.DOWN,
    504: Kind.DOWN,
}


def kind_of(status: int) -> Kind:
    """Return what an HTTP status other than 200 means."""
    return _KINDS.get(status, Kind.BROKEN if status >= 500 else Kind.SETTING)
