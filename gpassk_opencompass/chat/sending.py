"""Requests of one event loop: sent by it alone or, where it cannot do more, by processes beside it.

A request takes a quarter of a millisecond of a processor, most of it for the connection, and an event loop
has one processor. When nothing of that is left, processes with loops of their own take over the connections;
what is asked, how often and of which server is still decided here.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import sys
import time
from contextlib import suppress
from itertools import count
from types import TracebackType

from loguru import logger
from yarl import URL

from ..processes import processors, start_serving
from .completion import Reply
from .exchange import Access, exchange, open_session
from .sender import Answer, Letter, Outbox, read_frame, serve, write_frame
from .trouble import Trouble

MOST = 4
"""Processes at most: a loop that decides and does not send has enough to do with so many."""

FULL = 0.9
"""Share of a processor from which a loop has nothing left."""

SPAN = 1.0
"""Seconds over which it must have had nothing left."""

FEWEST = 64
"""Requests under way for which a process is worth its start, which takes a second of a processor."""

GRACE = 30.0
"""Seconds that a process may take longer than a request may, before it counts as hanging."""


class Sending:
    """Sends the requests of one run; a context manager, within which processes live.

    Args:
        timeout: seconds for one request.
        access: how servers are reached.
    """

    def __init__(self, timeout: float, access: Access) -> None:
        self._timeout, self._access = timeout, access
        # Beside one for the loop that decides. An interpreter within another program knows no command.
        self._most = min(MOST, processors() - 1) if sys.executable else 0
        self._senders: list[_Sender] = []
        self._open = 0
        self._load = _Load(time.thread_time())

    async def __aenter__(self) -> Sending:
        self._session = open_session(self._timeout, self._access)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        try:
            await asyncio.gather(*(one.end() for one in self._senders))
        finally:
            await self._session.close()

    async def exchange(self, url: URL, body: bytes, key: str = '', proxy: str | None = None) -> Reply:
        """Send `body` and return the reply; see `exchange.exchange`.

        Raises:
            Trouble: there is no reply.
        """
        self._open += 1
        self._look()
        try:
            while ready := [one for one in self._senders if one.is_ready]:
                with suppress(_GoneError):  # no fault of the server: it is sent once more
                    least = min(ready, key=lambda one: len(one.waiting))
                    return await least.exchange(Letter(url, body, key, proxy))
            return await exchange(self._session, url, body, key, proxy)
        finally:
            self._open -= 1

    def _look(self) -> None:
        """Start a process, if those that send have nothing left of their processors."""
        if len(self._senders) >= self._most or self._open < FEWEST or not self._load.is_due():
            return
        here = self._load.share(time.thread_time())
        if min([one.share() for one in self._senders if not one.is_gone], default=here) >= FULL:
            try:
                self._senders.append(_Sender(self._timeout, self._access))
            except Exception as error:  # no more processes for this user, or no memory: it takes longer
                logger.warning(f'no process can be started to send requests faster: {error!r}')
                self._most = len(self._senders)


class _Load:
    """What share of a processor somebody uses, over the time since it was asked last.

    Args:
        used: seconds of a processor so far.
    """

    def __init__(self, used: float) -> None:
        self._since, self._used = time.perf_counter(), used

    def is_due(self) -> bool:
        """Whether the time is long enough to tell."""
        return time.perf_counter() - self._since >= SPAN

    def share(self, used: float) -> float:
        """Return the share up to now, and begin anew."""
        now = time.perf_counter()
        share = (used - self._used) / (now - self._since)
        self._since, self._used = now, used
        return share


class _GoneError(Exception):
    """The process that had a request is gone, or hangs."""


class _Sender:
    """A process that sends requests, as this one sees it.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, timeout: float, access: Access) -> None:
        terms = pickle.dumps((timeout, access))
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = start_serving(serve, theirs.fileno())
            except OSError:
                ours.close()
                raise
        self.waiting: dict[int, asyncio.Future[Reply]] = {}
        self.is_ready = False
        self._patience = timeout + GRACE
        self._numbers = count()
        self._load, self._used = _Load(0.0), 0.0
        self._listening = asyncio.ensure_future(self._listen(ours, terms))

    @property
    def is_gone(self) -> bool:
        """Whether it was ended."""
        return self._listening.done()

    def share(self) -> float:
        """Return what share of a processor it used since it was asked last; 0 where it is too new to tell."""
        return self._load.share(self._used) if self.is_ready and self._load.is_due() else 0.0

    async def exchange(self, letter: Letter) -> Reply:
        """Have a request sent by it; see `exchange.exchange`.

        Raises:
            _GoneError: it was ended meanwhile, also for want of an answer.
            Trouble: there is no reply.
        """
        number = next(self._numbers)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply] = loop.create_future()
        self.waiting[number] = answer
        self._outbox.put(number, letter)
        hangs = loop.call_later(self._patience, self._process.kill)
        try:
            return await answer
        finally:
            hangs.cancel()
            del self.waiting[number]
            if answer.cancelled():
                self._outbox.put(number, None)

    async def _listen(self, ours: socket.socket, terms: bytes) -> None:
        reader, writer = await asyncio.open_connection(sock=ours)
        self._outbox = Outbox(writer, told=False)
        try:
            write_frame(writer, terms)  # not in its command, which anybody may read: there are keys in it
            while True:
                self._used, answers = await read_frame(reader)
                if not self.is_ready:
                    self.is_ready, self._load = True, _Load(self._used)
                for number, answer in answers:
                    if number in self.waiting:
                        _settle(self.waiting[number], answer)
        except Exception as error:
            logger.warning(f'a process that sends requests is gone ({error!r}); what it had is sent again')
        finally:
            self.is_ready = False
            writer.close()
            self._process.kill()
            for future in self.waiting.values():
                _settle(future, _GoneError())

    async def end(self) -> None:
        """End the process at once."""
        self._listening.cancel()
        self._process.kill()
        self._process.wait()
        await asyncio.gather(self._listening, return_exceptions=True)


def _settle(future: asyncio.Future[Reply], answer: Answer | _GoneError) -> None:
    if future.done():  # given up
        return
    if isinstance(answer, Reply):
        future.set_result(answer)
    elif isinstance(answer, Trouble | _GoneError):
        future.set_exception(answer)
    else:
        future.set_exception(RuntimeError(f'in a process that sends requests:\n{answer}'))
