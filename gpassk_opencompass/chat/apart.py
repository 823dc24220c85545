"""Work in an event loop of its own, beside whatever runs in this thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

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

    thread = threading.Thread(target=target, name='chat', daemon=True)
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
