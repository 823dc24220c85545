"""One request to an OpenAI-compatible server: its reply, or what went wrong and what that means."""

from __future__ import annotations

import asyncio
import json
from enum import Enum, auto
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from ..keys import hidden
from .waits import retry_after

_CONNECT_TIMEOUT = 15.0
# Servers close a connection after some idle seconds (uvicorn: 5); to let go first avoids a race for it.
_KEEP_ALIVE = 4.0
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


class Reply(NamedTuple):
    """What a model wrote."""

    text: str
    cut: bool
    """Whether it was stopped by the limit on its length."""

    def hiding(self, secret: str) -> Reply:
        """Without the secret: some gateways send their errors, which may quote it, as replies."""
        return self._replace(text=hidden(self.text, secret))


def open_session(timeout: float, api_key: str) -> aiohttp.ClientSession:
    """A session for many requests at once. Call it where an event loop runs.

    Args:
        timeout: seconds for one request.
        api_key: sent as a bearer token unless ''.
    """
    headers = {'Content-Type': 'application/json'}
    if api_key:
        headers['Authorization'] = f'Bearer {api_key}'
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, _CONNECT_TIMEOUT)),
        headers=headers,
    )


async def exchange(session: aiohttp.ClientSession, url: URL, body: bytes) -> Reply:
    """Send `body` and read the reply.

    Raises:
        Trouble: there is none.
    """
    try:
        async with session.post(url, data=body, allow_redirects=False) as response:
            content = await response.read()
    except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError) as error:
        # Only connecting has a time-out of its own; that of the whole request is an asyncio.TimeoutError.
        raise Trouble(Kind.DOWN, 'no connection', str(error)) from error
    except asyncio.TimeoutError as error:
        raise Trouble(Kind.LOST, 'time-out') from error
    except (aiohttp.ClientError, OSError) as error:
        raise Trouble(Kind.LOST, 'connection lost', str(error)) from error
    if response.status != 200:
        wait = retry_after(response.headers.get('Retry-After'))
        raise Trouble(_kind(response.status), f'HTTP {response.status}', server_message(content), wait)
    return read_reply(content)


def read_reply(content: bytes) -> Reply:
    """The text of a chat completion.

    Raises:
        Trouble: `content` is none.
    """
    try:
        choice = json.loads(content)['choices'][0]
        text = choice['message']['content']
        return Reply('' if text is None else _text(text), choice.get('finish_reason') == 'length')
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Trouble(Kind.BROKEN, 'malformed reply', server_message(content)) from error


def server_message(content: bytes) -> str:
    """What the body of an error says, in the forms that servers use, else its beginning."""
    message: Any = content.decode('utf-8', 'replace')
    try:
        message = json.loads(message)
        for name in ('error', 'message', 'detail'):
            if isinstance(message, dict) and message.get(name):
                message = message[name]
    except (ValueError, RecursionError):
        pass
    return ' '.join(str(message).split())


def _text(content: Any) -> str:
    if not isinstance(content, str):
        raise TypeError(f'content is no text but {type(content).__name__}')
    return content


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


def _kind(status: int) -> Kind:
    return _KINDS.get(status, Kind.BROKEN if status >= 500 else Kind.SETTING)
