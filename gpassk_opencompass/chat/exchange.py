"""One request to an OpenAI-compatible server: its reply, or what went wrong and how long to wait."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from ssl import create_default_context
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

from yarl import URL

from ..completion import Kind, Reply, Trouble, kind_of, reply_of, server_message
from ..keys import hidden, hides, without_long
from ..servers import retry_after

if TYPE_CHECKING:
    import aiohttp

_CONNECT_TIMEOUT = 15.0
# Servers close a connection after some idle seconds (uvicorn: 5); to let go first avoids a race for it.
_KEEP_ALIVE = 4.0

LARGEST_REPLY = 2**22
"""Bytes of a reply, as sent and unpacked; the longest that a judge has reason to send are a tenth of it."""

_LARGEST_ERROR = 2**16
_NO_QUOTA = b'insufficient_quota'  # OpenAI's code for an account without money: no waiting helps
_WINDOW_BITS = {'gzip': 31, 'x-gzip': 31, 'deflate': 47}  # 47: zlib's own header, as the standard has it


@dataclass(frozen=True)
class Access:
    """How servers are reached.

    Args:
        keys: sent as bearer tokens, each in its turn; '' for none.
        headers: further ones of each request.
        proxy: the address of an HTTP proxy for all servers; '' for none.
        environment: without `proxy`, take the proxies of the environment (HTTPS_PROXY, NO_PROXY, …).
        verify: whether certificates are checked; a path: against the authorities in this file.
    """

    keys: tuple[str, ...] = ('',)
    headers: Mapping[str, str] = field(default_factory=dict)
    proxy: str = ''
    environment: bool = False
    verify: bool | str = True

    def proxy_for(self, url: URL) -> str | None:
        """Return the proxy that requests to a server go through; None for none."""
        if self.proxy or not self.environment or proxy_bypass(url.host or ''):
            return self.proxy or None
        found = getproxies()
        return found.get(url.scheme) or found.get('all')

    def hidden(self, trouble: Trouble) -> Trouble:
        """Take the keys out of a message and return it."""
        for key in self.keys:
            trouble.message = hidden(trouble.message, key)
        return trouble

    def hidden_reply(self, reply: Reply) -> Reply:
        """Return a reply without the keys, which a server can quote anywhere.

        In what the model wrote only a long key is looked for, where it stands whole: one such as `test` may
        well stand there, and some gateways quote a key in errors that they send as replies.
        """
        if not any(self.keys) or not hides(*self.keys):
            return reply
        words = {name: part for name, part in reply._asdict().items() if isinstance(part, str)}
        written = ('text', 'thought', 'refusal')
        shown = {
            name: (without_long if name in written else hidden)(part, *self.keys)
            for name, part in words.items()
        }
        return reply._replace(**shown)  # type: ignore[arg-type]


def read_reply(content: bytes) -> Reply:
    """Return what stands in a body of JSON that should be a chat completion; raise Trouble if it is none."""
    try:
        return reply_of(json.loads(content))
    except (ValueError, RecursionError) as error:
        raise Trouble(Kind.BROKEN, 'malformed reply', server_message(content)) from error


def open_session(timeout: float, access: Access) -> aiohttp.ClientSession:
    """Open a session for many requests at once. Call it where an event loop runs.

    Args:
        timeout: seconds for one request.
        access: its headers, and its first key, go with every request that brings none of its own.
    """
    import aiohttp  # who only checks settings needs none

    headers = {'Content-Type': 'application/json', 'Accept-Encoding': 'identity', **access.headers}
    verify = create_default_context(cafile=access.verify) if isinstance(access.verify, str) else access.verify
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE, ssl=verify),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, _CONNECT_TIMEOUT)),
        headers={**headers, **bearer(access.keys[0])},
        auto_decompress=False,  # it would unpack a chunk of any size at once
    )


def bearer(key: str) -> dict[str, str]:
    """Return the header that a key goes in; {} for ''."""
    return {'Authorization': f'Bearer {key}'} if key else {}


async def exchange(
    session: aiohttp.ClientSession, url: URL, body: bytes, key: str = '', proxy: str | None = None
) -> Reply:
    """Send `body` and read the reply.

    Args:
        key: in place of the session's.
        proxy: the proxy to go through.

    Raises:
        Trouble: there is no reply.
    """
    import aiohttp

    try:
        async with session.post(
            url, data=body, allow_redirects=False, headers=bearer(key), proxy=proxy
        ) as response:
            content = await read_body(response)
    except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError) as error:
        # Only connecting has a time-out of its own; that of the whole request is an asyncio.TimeoutError.
        raise Trouble(Kind.DOWN, 'no connection', str(error)) from error
    except asyncio.TimeoutError as error:
        raise Trouble(Kind.LOST, 'time-out') from error
    except (aiohttp.ClientError, OSError) as error:
        raise Trouble(Kind.LOST, 'connection lost', str(error)) from error
    if response.status != 200:
        wait = retry_after(response.headers)
        said = server_message(content)
        kind = Kind.SETTING if _NO_QUOTA in content else kind_of(response.status, said)
        raise Trouble(kind, f'HTTP {response.status}', said, wait, response.status)
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
