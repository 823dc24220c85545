"""Work in an event loop of its own, beside whatever runs in this thread."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar('T')

YOUNG = 10_000
"""New objects after which Python looks for cycles while work goes on. A request under way is some twenty, so
that Python's own 700 have it look, in vain, after every few requests: a fifth of all that they cost."""


class _CollectingSeldom:
    """Raises the threshold of young objects until the last of those who want it is done.

    Who has set a higher one, or none at all (0), keeps it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = self._before = 0

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._before = gc.get_threshold()[0]
                if 0 < self._before < YOUNG:
                    gc.set_threshold(YOUNG)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and gc.get_threshold()[0] == YOUNG:
                gc.set_threshold(self._before)


_collecting_seldom = _CollectingSeldom()


def run_apart(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run `work()` in an event loop and a thread of its own and wait for what it returns or raises.

    So it can be called where an event loop runs already (a notebook, a server). If the wait is interrupted
    (Ctrl-C), the work is cancelled, its cleaning up is awaited, and the interrupt goes on. As long as it
    works, Python looks for cyclic garbage more seldom.
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
    with _collecting_seldom:
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
