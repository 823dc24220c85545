"""A process that sends requests for another one, and how the two talk: in frames, each of them a pickle."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import socket
import time
import traceback
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from yarl import URL

from .apart import YOUNG
from .completion import Reply
from .exchange import exchange, open_session
from .trouble import Kind, Trouble

if TYPE_CHECKING:
    import aiohttp

_SIZE = 8
"""Bytes before a frame that tell how long it is."""

_GATHERED = 0.002
"""Seconds for which a frame waits for more: where thousands a second go through, a sixth of their cost."""


class Letter(NamedTuple):
    """A request, as `exchange` takes it."""

    url: URL
    body: bytes
    key: str
    proxy: str | None


Answer = Reply | Trouble | str
"""What came of a request; a text: where an error was raised that no server is to blame for."""


async def read_frame(reader: asyncio.StreamReader) -> Any:
    """Return what the other side wrote.

    Raises:
        IncompleteReadError: it is gone.
    """
    size = int.from_bytes(await reader.readexactly(_SIZE), 'little')
    return pickle.loads(await reader.readexactly(size))


def write_frame(writer: asyncio.StreamWriter, frame: bytes) -> None:
    """Write a pickle for the other side."""
    writer.write(len(frame).to_bytes(_SIZE, 'little') + frame)


class Outbox:
    """Collects what is said within a moment, and writes it as one frame.

    Args:
        told: whether each frame also tells how many seconds of a processor this process used.
    """

    def __init__(self, writer: asyncio.StreamWriter, told: bool) -> None:
        self._writer, self._told = writer, told
        self._items: list[tuple[int, Any]] = []

    def put(self, number: int, content: Letter | Answer | None) -> None:
        """Add something about the request of this number; None: it is given up."""
        if not self._items:
            asyncio.get_running_loop().call_later(_GATHERED, self.flush)
        self._items.append((number, content))

    def flush(self) -> None:
        """Write what there is."""
        items, self._items = self._items, []
        if self._writer.is_closing():
            return
        try:
            frame = self._frame(items)
        except Exception:  # a reply that is nested too deeply, say
            frame = self._frame([(number, _sendable(content)) for number, content in items])
        write_frame(self._writer, frame)

    def _frame(self, items: Sequence[tuple[int, Any]]) -> bytes:
        return pickle.dumps((time.process_time(), items) if self._told else items)


def _sendable(content: Any) -> Any:
    try:
        pickle.dumps(content)
    except Exception as error:
        return Trouble(Kind.BROKEN, 'malformed reply', type(error).__name__)
    return content


def serve(descriptor: int) -> None:
    """Send what is asked for over a socket until its other end is closed; the main function of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(YOUNG)
    asyncio.run(_serve(socket.socket(fileno=descriptor)))


async def _serve(theirs: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=theirs)
    timeout, access = await read_frame(reader)
    outbox = Outbox(writer, told=True)
    tasks: dict[int, asyncio.Task[None]] = {}
    async with open_session(timeout, access) as session:
        outbox.flush()  # says that it is ready
        try:
            while True:
                for number, letter in await read_frame(reader):
                    if letter is not None:
                        task = tasks[number] = asyncio.ensure_future(_send(session, number, letter, outbox))
                        task.add_done_callback(partial(_forget, tasks, number))
                    elif number in tasks:
                        tasks[number].cancel()
        except (asyncio.IncompleteReadError, OSError):
            os._exit(0)  # nobody waits for what is under way


def _forget(tasks: dict[int, asyncio.Task[None]], number: int, _: asyncio.Task[None]) -> None:
    del tasks[number]


async def _send(session: aiohttp.ClientSession, number: int, letter: Letter, outbox: Outbox) -> None:
    answer: Answer
    try:
        answer = await exchange(session, *letter)
    except Trouble as trouble:
        answer = trouble
    except Exception:
        answer = traceback.format_exc()
    outbox.put(number, answer)
