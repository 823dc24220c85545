"""One request to an OpenAI-compatible server: its reply, or what went wrong and how long to wait."""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from typing import Any, NamedTuple, Protocol, TypeVar

import aiohttp
from yarl import URL

from ...keys import hidden


class Clock(Protocol):
    """The time that a client lives by; a test brings one that need not wait."""

    def now(self) -> float:
        """Return the seconds since some moment; they never go back."""

    async def sleep(self, seconds: float) -> None:
        """Return that much later."""


class WallClock:
    """The real time."""

    def now(self) -> float:
        """Return the seconds of the monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait without keeping anybody else from working."""
        await asyncio.sleep(seconds)


def backoff(failures: int, first: float, most: float) -> float:
    """Return seconds to wait after so many failures in a row: `first` · 2^(failures − 1), never above `most`.

    A random part of up to a half is taken off, lest those that failed together come back together.

    >>> 4.0 <= backoff(4, first=1.0, most=60.0) <= 8.0
    True
    """
    wait = min(most, first * 2.0 ** min(failures - 1, 60))
    return wait * random.uniform(0.5, 1.0)


def retry_after(header: str | None, now: float | None = None) -> float | None:
    """Return seconds that a Retry-After header asks to wait; None where it is missing or makes no sense.

    Args:
        header: a number of seconds or an HTTP date.
        now: the Unix time to count a date from; default: the machine's.

    >>> retry_after('120'), retry_after('Fri, 31 Dec 1999 23:59:59 GMT', now=946684790.0), retry_after('soon')
    (120.0, 9.0, None)
    """
    if header is None:
        return None
    if re.fullmatch(r'\s*[0-9]{1,9}(?:\.[0-9]*)?\s*', header):
        return float(header)
    try:
        moment = parsedate_to_datetime(header).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, moment - (time.time() if now is None else now))


_CONNECT_TIMEOUT = 15.0
# Servers close a connection after some idle seconds (uvicorn: 5); to let go first avoids a race for it.
_KEEP_ALIVE = 4.0
_LONGEST_MESSAGE = 500

LARGEST_REPLY = 2**22
"""Bytes of a reply, as sent and unpacked; the longest that a judge has reason to send are a tenth of it."""

_LARGEST_ERROR = 2**16
_WINDOW_BITS = {'gzip': 31, 'x-gzip': 31, 'deflate': 47}  # 47: zlib's own header, as the standard has it


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
    """What a server sends apart as the reasoning is no part of it."""
    finish: str = ''
    """Why it ended, in the server's word; '' where it did not say."""
    model: str = ''
    """What the server calls the model; '' where it did not say."""
    fingerprint: str = ''
    """The server's `system_fingerprint`, likewise."""
    thought: bool = False
    """Whether there was reasoning apart from the text."""

    def hiding(self, secret: str) -> Reply:
        """Return it without the secret, which some gateways quote in errors that they send as replies."""
        texts = (self.text, self.finish, self.model, self.fingerprint)
        text, finish, model, fingerprint = (hidden(text, secret) for text in texts)
        return Reply(text, finish, model, fingerprint, self.thought)


def open_session(timeout: float, api_key: str) -> aiohttp.ClientSession:
    """Open a session for many requests at once. Call it where an event loop runs.

    Args:
        timeout: seconds for one request.
        api_key: sent as a bearer token unless ''.
    """
    headers = {'Content-Type': 'application/json', 'Accept-Encoding': 'identity'}
    if api_key:
        headers['Authorization'] = f'Bearer {api_key}'
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, _CONNECT_TIMEOUT)),
        headers=headers,
        auto_decompress=False,  # it would unpack a chunk of any size at once
    )


async def exchange(session: aiohttp.ClientSession, url: URL, body: bytes) -> Reply:
    """Send `body` and read the reply.

    Raises:
        Trouble: there is none.
    """
    try:
        async with session.post(url, data=body, allow_redirects=False) as response:
            content = await read_body(response)
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


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    """Return what a server sent, unpacked; of an error at most its beginning.

    Whatever it sends, little more than the limit is held in memory.

    Raises:
        Trouble: a reply above `LARGEST_REPLY`, or packed in a way that was not asked for and is not known.
    """
    is_reply = response.status == 200
    limit = LARGEST_REPLY if is_reply else _LARGEST_ERROR
    if 'Content-Encoding' not in response.headers and 0 <= (response.content_length or -1) <= limit:
        return await response.read()  # no more than it says comes in
    content = bytearray()
    try:
        async for part in _unpacked(response, limit):
            content += part
            if len(content) > limit:
                raise Trouble(Kind.BROKEN, 'reply too large', f'more than {limit >> 20} MB')
    except Trouble:
        if is_reply:  # of an error the status says enough
            raise
    return bytes(content[:limit])


async def _unpacked(response: aiohttp.ClientResponse, limit: int) -> AsyncIterator[bytes]:
    """Yield the parts of a body, none of them above the limit by more than what came in one piece."""
    packing = response.headers.get('Content-Encoding', 'identity').strip().casefold()
    if packing in ('identity', ''):
        async for part in response.content.iter_any():
            yield part
    elif packing in _WINDOW_BITS:
        unpacker = zlib.decompressobj(_WINDOW_BITS[packing])
        async for part in response.content.iter_any():
            try:
                yield unpacker.decompress(part, limit + 1)
            except zlib.error as error:
                raise Trouble(Kind.BROKEN, 'malformed reply', f'{packing}: {error}') from error
            if unpacker.unconsumed_tail:  # more than the limit: the reader goes no further
                return
    else:
        raise Trouble(Kind.BROKEN, 'malformed reply', f'packed as {packing[:20]!r}, which nobody asked for')


def read_reply(content: bytes) -> Reply:
    """Return the text of a chat completion.

    Raises:
        Trouble: `content` is none.
    """
    try:
        answer = json.loads(content)
        choice = answer['choices'][0]
        message = choice['message']
        text = message['content']
        return Reply(
            '' if text is None else _text(text),
            _word(choice.get('finish_reason')),
            _word(answer.get('model')),
            _word(answer.get('system_fingerprint')),
            any(message.get(name) for name in ('reasoning_content', 'reasoning')),
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Trouble(Kind.BROKEN, 'malformed reply', server_message(content)) from error


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


def _text(content: Any) -> str:
    if not isinstance(content, str):
        raise TypeError(f'content is no text but {type(content).__name__}')
    return content


def _word(value: Any) -> str:
    return value if isinstance(value, str) else '' if value is None else json.dumps(value)


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


T = TypeVar('T')


def run_apart(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run `work()` in an event loop and a thread of its own and wait for what it returns or raises.

    So it can be called where an event loop runs already (a notebook, a server). If the wait is interrupted
    (Ctrl-C), the work is cancelled, its cleaning up is awaited, and the interrupt goes on.
    """
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()
    outcome: Future[T] = Future()

    async def supervised() -> T:
        task = asyncio.current_task()
        if task is not None:
            started.set_result((asyncio.get_running_loop(), task))
        return await work()

    def target() -> None:
        try:
            outcome.set_result(asyncio.run(supervised()))
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=target, name='judge', daemon=True)
    thread.start()
    try:
        return outcome.result()
    finally:
        if not outcome.done():
            _cancel(*started.result())
        thread.join()


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    with suppress(RuntimeError):  # the loop is closed: the work ended in this moment
        loop.call_soon_threadsafe(task.cancel)
