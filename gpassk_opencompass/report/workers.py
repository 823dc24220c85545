"""Processes that compute parts of a report, as many as there are processors for it.

They are new interpreters and no copies of this one: a copy made beside threads (those of numpy, or of a
progress bar) may wait forever for a lock that one of them held. They import nothing of the program that
started them, so that a script that writes a report needs no `if __name__ == '__main__'`.
"""

from __future__ import annotations

import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from ..errors import IncompleteError
from ..processes import processors, start_serving

Item = TypeVar('Item')
Found = TypeVar('Found')

_ONE_THREAD = dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'), '1')
"""There is a process for each processor: threads of their own would only get in each other's way."""


MOST = 4
"""More would share a login node's memory among them, each with libraries of its own, and gain little."""


FEWEST = 60
"""Runs of which it is worth to start processes, whose imports take about two seconds."""


class _Failed(NamedTuple):
    """An exception on its way to who asked; not all of them can be pickled whole."""

    kind: type[BaseException]
    arguments: tuple[Any, ...]
    where: str


class _InWorkerError(Exception):
    """Where in a worker an exception was raised: the cause of the one that is raised here."""

    def __str__(self) -> str:
        return f'\n{self.args[0]}'


class _Lost:
    """In the place of an answer: the process that should have given it was ended."""


@dataclass(eq=False)
class _Worker:
    """A process, and the thread that deals out work to it."""

    process: subprocess.Popen[bytes]
    connection: Connection
    tasks: queue.SimpleQueue[_Task | None]
    """Those of all workers; None ends the thread that takes it."""
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        # A daemon: this process ends without it where nobody left the block.
        self.thread = threading.Thread(target=self._deal, daemon=True)
        self.thread.start()

    def _deal(self) -> None:
        while (task := self.tasks.get()) is not None:
            task.round.do(task.place, self)

    def asked(self, message: bytes) -> Any:
        """Send a piece of work and wait for the answer."""
        try:
            self.connection.send_bytes(message)
            return self.connection.recv()
        except (EOFError, ConnectionResetError, BrokenPipeError):
            return _Lost()


def _kill(workers: list[_Worker]) -> None:
    """Kill what still runs, and wait until it is gone; the list is empty afterwards."""
    for worker in workers:
        worker.process.kill()
    _dismiss(workers)
    workers.clear()


def _dismiss(workers: Sequence[_Worker]) -> None:
    """Wait until processes are gone that have nothing to do, or were killed."""
    for worker in workers:
        with suppress(queue.Empty):  # what nobody asks for any more
            while True:
                worker.tasks.get_nowait()
    for worker in workers:
        worker.tasks.put(None)
    for worker in workers:
        if worker.thread is not threading.current_thread():  # which may be the one that collects garbage
            worker.thread.join()
        worker.connection.close()  # which ends a process that has nothing to do
    for worker in workers:
        worker.process.wait()


class Workers:
    """Processes that are started when there is work for several, and are gone behind the `with` block.

    With one processor, or for one piece of work, nothing is started: this process does it.

    Args:
        count: how many processes at most; None: as many as there are processors, but not more than `MOST`.
    """

    def __init__(self, count: int | None = None) -> None:
        self._count = min(processors(), MOST) if count is None else count
        self._workers: list[_Worker] = []
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._begun: dict[str, Generator[Any, None, None]] = {}
        # For a second Ctrl-C that comes before `__exit__` has begun, or while it kills.
        weakref.finalize(self, _kill, self._workers)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        try:
            if error is None:
                _dismiss(self._workers)
        finally:
            _kill(self._workers)

    @property
    def running(self) -> bool:
        """Whether processes have been started."""
        return bool(self._workers)

    def expect(self, modules: Sequence[str]) -> None:
        """Start processes before there is work for them, so that they have done their imports by then.

        Args:
            modules: that they will need; what cannot be imported is left to who needs it.
        """
        if used := self._started(self._count):
            _Round(self._tasks, [(_imported, modules)] * len(used), None)

    def begin(
        self,
        name: str,
        work: Callable[[Item], Found],
        items: Sequence[Item],
        start: Callable[[], None] | None = None,
    ) -> None:
        """Begin what `begun` returns later, so that this process does something else meanwhile.

        Args:
            name: of the work.
            work, items, start: as for `each`.
        """
        self._begun[name] = self.each(work, items, start)

    def has_begun(self, name: str) -> bool:
        """Whether work was begun under a name, and not asked for yet."""
        return name in self._begun

    def begun(self, name: str) -> Generator[Any, None, None] | None:
        """Return what `each` does of work that was begun under a name, once; None where none was."""
        return self._begun.pop(name, None)

    def each(
        self, work: Callable[[Item], Found], items: Sequence[Item], start: Callable[[], None] | None = None
    ) -> Generator[Found, None, None]:
        """Return what is found of each item, in the order of the items.

        Processes begin at once, behind what they were asked before, whoever waits for it; without them each
        item is worked on when it is asked for. An exception of `work` is raised here, by the first item that
        has one, as it would be without processes.

        Args:
            work: a function of a module, or a `partial` of one; it sees copies of what it is given.
            items: few enough to be held at once; what is found waits until the items before are done.
            start: as `work`; called once by each process before.

        Raises:
            IncompleteError: a process was killed, as by a system without memory.
        """
        used = self._started(min(self._count, len(items)))
        if not used:
            return _here(work, items, start)
        return _Round(self._tasks, [(work, item) for item in items], start).answers()

    def _started(self, count: int) -> list[_Worker]:
        """Return so many processes, or fewer where the system gives no more; none where this one will do."""
        while len(self._workers) < count and count > 1:
            ours, theirs = Pipe()
            with theirs:
                try:
                    process = start_serving(serve, theirs.fileno(), _ONE_THREAD)
                except OSError:  # no more processes for this user, or no memory: it takes longer
                    ours.close()
                    break
            self._workers.append(_Worker(process, ours, self._tasks))
        return self._workers[:count] if count > 1 else []


def _here(
    work: Callable[[Item], Found], items: Sequence[Item], start: Callable[[], None] | None
) -> Generator[Found, None, None]:
    if start is not None:
        start()
    yield from map(work, items)


class _Round:
    """Messages of one `each`, in the queue of all, and the answers to them."""

    def __init__(
        self,
        tasks: queue.SimpleQueue[_Task | None],
        messages: Sequence[tuple[Any, Any]],
        start: Callable[[], None] | None,
    ) -> None:
        self._messages: dict[int, tuple[Any, Any]] = dict(enumerate(messages))
        self._size = len(messages)
        # At once, and once for all: what it holds may grow while others have something else to do.
        self._start = None if start is None else pickle.dumps((_called, start))
        self._begun: set[int] = set()
        # No lock of Python's own: an interrupt at the wrong moment would leave it closed.
        self._answered: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        for place in range(self._size):
            tasks.put(_Task(self, place))

    def do(self, place: int, worker: _Worker) -> None:
        """Have a worker do one piece; in the thread of the worker."""
        message = self._messages.pop(place, None)
        if message is None:  # nobody asks any more
            return
        try:
            answer = self._begin(worker) or worker.asked(pickle.dumps(message))
        except Exception as error:  # what cannot be pickled
            answer = pickle.loads(_pickled_error(error))
        self._answered.put((place, answer))

    def _begin(self, worker: _Worker) -> Any:
        """Have a worker call `start`, if it has not yet; return its answer if it is an error, else None."""
        if self._start is None or id(worker) in self._begun:
            return None
        self._begun.add(id(worker))
        answer = worker.asked(self._start)
        return answer if isinstance(answer, _Lost) or answer[1] is not None else None

    def answers(self) -> Generator[Any, None, None]:
        """Yield what is found, in the order of the messages."""
        try:
            ready: dict[int, Any] = {}
            for place in range(self._size):
                while place not in ready:
                    done, answer = self._answered.get()
                    ready[done] = answer
                yield _result(ready.pop(place))
        finally:
            self._messages.clear()


class _Task(NamedTuple):
    """A piece of work of a round."""

    round: _Round
    place: int


def collect_garbage_seldom() -> None:
    """Have Python look less often for objects that only hold each other: a report has few of these.

    It holds hundreds of thousands of others, and to look at them takes as long as to read the results.
    """
    gc.set_threshold(100_000, 20, 100)


def serve(descriptor: int) -> None:
    """Do what is asked for over a connection until its other end is closed; the main function of a worker."""
    collect_garbage_seldom()
    os.dup2(2, 1)  # what a figure of somebody else prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Connection(descriptor) as connection:
        while True:
            try:
                message = connection.recv_bytes()
            except EOFError:  # also where the process at the other end was killed
                if sys.stdout is not None:  # as it is where somebody closed it
                    sys.stdout.flush()
                os._exit(0)  # to take all apart that was imported takes half a second
            try:
                work, item = pickle.loads(message)
                answer = pickle.dumps((work(item), None))
            except Exception as error:
                answer = _pickled_error(error)
            with suppress(BrokenPipeError, ConnectionResetError):  # nobody waits any more
                connection.send_bytes(answer)


def _pickled_error(error: Exception) -> bytes:
    where = traceback.format_exc()
    for kind, arguments in ((type(error), error.args), (RuntimeError, (f'{type(error).__name__}: {error}',))):
        with suppress(Exception):  # a class or an argument that cannot be pickled: the other one can
            return pickle.dumps((None, _Failed(kind, arguments, where)))
    raise AssertionError('a text can be pickled')


def _imported(modules: Sequence[str]) -> None:
    for module in modules:
        with suppress(ImportError):
            import_module(module)


def _called(work: Callable[[], None]) -> None:
    work()


def _result(answer: tuple[Any, _Failed | None] | _Lost) -> Any:
    if isinstance(answer, _Lost):
        raise IncompleteError(
            'a process that computed a part of the report was ended, perhaps for want of memory; '
            'give the command more, or one processor, with which it needs none: '
            'taskset -c 0 gpassk report …'
        )
    found, failed = answer
    if failed is None:
        return found
    # Without its __init__, whose arguments may be others than those that it keeps.
    error = failed.kind.__new__(failed.kind, *failed.arguments)
    raise error from _InWorkerError(failed.where)
