"""One request to an OpenAI-compatible server: its reply, or what went wrong and how long to wait."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator

import aiohttp
from yarl import URL

from .completion import Reply, read_reply
from .trouble import Kind, Trouble, kind_of, server_message
from .waiting import retry_after

_CONNECT_TIMEOUT = 15.0
# Servers close a connection after some idle seconds (uvicorn: 5); to let go first avoids a race for it.
_KEEP_ALIVE = 4.0

LARGEST_REPLY = 2**22
"""Bytes of a reply, as sent and unpacked; the longest that a judge has reason to send are a tenth of it."""

_LARGEST_ERROR = 2**16
_WINDOW_BITS = {'gzip': 31, 'x-gzip': 31, 'deflate': 47}  # 47: zlib's own header, as the standard has it


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
        raise Trouble(kind_of(response.status), f'HTTP {response.status}', server_message(content), wait)
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
