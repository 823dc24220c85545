"""A server for one person on this machine: who does not know the token in the address gets nothing.

Any program and any page in a browser on this machine can reach a port of the loopback. So every address has a
random token; a request under another host's name is refused, as one that was lured here by DNS would be; no
other origin may read, embed or load anything; and the address is not passed on as a referrer.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.http import HttpProcessingError

from ..errors import InputError
from .site import NOTHING, Reply, Site

HOST = '127.0.0.1'
_NAMES = frozenset({HOST, 'localhost', '::1'})
_HEADERS = {
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
    'Server': 'gpassk',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
}


def _is_of_ours(record: logging.LogRecord) -> bool:
    """Whether a record tells more than that somebody on this machine sent what is no HTTP."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not issubclass(kind, HttpProcessingError)


_LOG = logging.getLogger(__name__)
_LOG.addFilter(_is_of_ours)


def serve(site: Site, port: int | None, opened: Callable[[str], object]) -> None:
    """Serve until the program is interrupted.

    Args:
        site: what is served; it is asked in threads.
        port: to listen on; None: one that is free.
        opened: is told the address once it can be opened.

    Raises:
        InputError: the port cannot be had.
        KeyboardInterrupt: Ctrl-C.
    """
    with _listening(port) as listening:
        asyncio.run(_serve(site, listening, opened))


async def _serve(site: Site, listening: socket.socket, opened: Callable[[str], object]) -> None:
    token = secrets.token_urlsafe(24)
    server = web.Server(_Handler(site, token), access_log=None, logger=_LOG)
    runner = web.ServerRunner(server, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        await asyncio.to_thread(opened, f'http://{HOST}:{listening.getsockname()[1]}/{token}/')
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def _listening(port: int | None) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port or 0))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, 'strerror', None) or error
        raise InputError(
            f'cannot listen on port {port}: {why}; choose another, or leave out --port'
        ) from error
    return listening


class _Handler:
    """Answers requests."""

    def __init__(self, site: Site, token: str) -> None:
        self._site, self._token = site, token

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        if _host_of(request.headers.get('Host', '')) not in _NAMES:
            return _told(403, 'this address is served on this machine alone')
        if request.method != 'GET':
            return _told(405, 'there is only GET', Allow='GET')
        token, slash, path = request.path.removeprefix('/').partition('/')
        if not hmac.compare_digest(token.encode('utf-8', 'surrogateescape'), self._token.encode()):
            return _told(404, 'nothing here; open the whole address that gpassk view has printed')
        if not slash:  # what the page loads is relative
            return _told(308, 'see below', Location=f'/{self._token}/')
        reply = await asyncio.to_thread(self._site.get, path)
        return _told(404, 'there is nothing at this address') if reply is None else _answer(200, reply)


def _host_of(header: str) -> str | None:
    """Return the name in a Host header, without its port: behind `ssh -L` that is any; None if it is none.

    >>> _host_of('LOCALHOST:8000'), _host_of('[::1]:8000'), _host_of('127.0.0.1@evil.example')
    ('localhost', '::1', None)
    """
    if '@' in header:
        return None
    try:
        return urlsplit(f'//{header}').hostname
    except ValueError:
        return None


def _told(status: int, text: str, **headers: str) -> web.Response:
    return _answer(status, Reply(f'{text}\n'.encode(), 'text/plain; charset=utf-8', NOTHING), **headers)


def _answer(status: int, reply: Reply, **headers: str) -> web.Response:
    policy = {'Content-Security-Policy': reply.policy, 'Content-Type': reply.kind}
    return web.Response(status=status, body=reply.body, headers={**_HEADERS, **policy, **headers})
