"""Processes that compute parts of a report, as many as there are processors for it.

They are new interpreters and no copies of this one: a copy made beside threads (those of numpy, or of a
progress bar) may wait forever for a lock that one of them held. They import nothing of the program that
started them, so that a script that writes a report needs no `if __name__ == '__main__'`.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import traceback
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from ..errors import IncompleteError

Item = TypeVar('Item')
Found = TypeVar('Found')

# By its path, so that it is the package of this process whatever lies in the folder that somebody is in.
_START = 'import sys; sys.path[:] = {paths!r}; from {module} import serve; serve({descriptor})'
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


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    owes: bool = False
    """Whether an answer is still to come."""

    def tell(self, message: bytes) -> None:
        """Send a piece of work, behind the answer to one for which nobody waited."""
        if self.owes:
            with suppress(IncompleteError):  # the answer to this one will say so too
                self.hear()
        with suppress(BrokenPipeError, ConnectionResetError):  # `hear` says so
            self.connection.send_bytes(message)
        self.owes = True

    def hear(self) -> Any:
        """Wait for the answer."""
        self.owes = False
        try:
            return self.connection.recv()
        except (EOFError, ConnectionResetError) as error:
            raise IncompleteError(
                'a process that computed a part of the report was ended, perhaps for want of memory; '
                'give the command more, or one processor, with which it needs none: '
                'taskset -c 0 gpassk report …'
            ) from error


def _kill(workers: list[_Worker]) -> None:
    """Kill what still runs, and wait until it is gone; the list is empty afterwards."""
    for worker in workers:
        worker.process.kill()
        worker.connection.close()
    for worker in workers:
        worker.process.wait()
    workers.clear()


def processors() -> int:
    """Return how many processors this process may use: of a job on a cluster those that were given to it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


class Workers:
    """Processes that are started when there is work for several, and are gone behind the `with` block.

    With one processor, or for one piece of work, nothing is started: this process does it.

    Args:
        count: how many processes at most; None: as many as there are processors, but not more than `MOST`.
    """

    def __init__(self, count: int | None = None) -> None:
        self._count = min(processors(), MOST) if count is None else count
        self._workers: list[_Worker] = []
        # For a second Ctrl-C that comes before `__exit__` has begun, or while it kills.
        weakref.finalize(self, _kill, self._workers)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        try:
            if error is None:
                for worker in self._workers:
                    worker.connection.close()  # which ends a process that has nothing to do
                for worker in self._workers:
                    worker.process.wait()
        finally:
            _kill(self._workers)

    @property
    def running(self) -> bool:
        """Whether processes have been started."""
        return bool(self._workers)

    def each(
        self, work: Callable[[Item], Found], items: Sequence[Item], start: Callable[[], None] | None = None
    ) -> Generator[Found, None, None]:
        """Yield what is found of each item, in the order of the items.

        An exception of `work` is raised here, by the first item that has one, as it would be without
        processes.

        Args:
            work: a function of a module, or a `partial` of one; it sees copies of what it is given.
            items: few enough to be held at once; what is found waits until the items before are done.
            start: as `work`; called once by each process before.

        Raises:
            IncompleteError: a process was killed, as by a system without memory.
        """
        used = self._started(min(self._count, len(items)))
        if not used:
            if start is not None:
                start()
            yield from map(work, items)
            return
        yield from _Round(used, [(work, item) for item in items]).answers(start)

    def _started(self, count: int) -> list[_Worker]:
        """Return so many processes, or fewer where the system gives no more; none where this one will do."""
        while len(self._workers) < count and count > 1:
            ours, theirs = Pipe()
            with theirs:
                command = _START.format(
                    paths=[os.fspath(one) for one in sys.path], module=__name__, descriptor=theirs.fileno()
                )
                try:
                    process = subprocess.Popen(
                        [sys.executable, '-c', command],
                        stdin=subprocess.DEVNULL,
                        pass_fds=[theirs.fileno()],
                        env={**os.environ, **_ONE_THREAD},
                        start_new_session=True,  # Ctrl-C is for this process, which ends them
                    )
                except OSError:  # no more processes for this user, or no memory: it takes longer
                    ours.close()
                    break
            self._workers.append(_Worker(process, ours))
        return self._workers[:count] if count > 1 else []


class _Round:
    """Messages that are dealt out to workers, one to each at a time."""

    def __init__(self, workers: Sequence[_Worker], messages: Sequence[tuple[Any, Any]]) -> None:
        self._workers = workers
        self._size = len(messages)
        self._waiting = enumerate(messages)
        self._busy: dict[Connection, tuple[int, _Worker]] = {}

    def answers(self, start: Callable[[], None] | None) -> Iterator[Any]:
        """Yield what is found, in the order of the messages; `start` is called by each worker before."""
        ready: dict[int, Any] = {}
        if start is not None:
            self._tell_all(pickle.dumps((_called, start)))
        for worker in self._workers:
            self._give(worker)
        for place in range(self._size):
            while place not in ready:
                for answered in wait(list(self._busy)):
                    assert isinstance(answered, Connection)
                    done, worker = self._busy.pop(answered)
                    ready[done] = worker.hear()
                    self._give(worker)
            yield _result(ready.pop(place))

    def _tell_all(self, message: bytes) -> None:
        for worker in self._workers:
            worker.tell(message)
        for worker in self._workers:
            _result(worker.hear())

    def _give(self, worker: _Worker) -> None:
        """Give a worker the next piece of work, if there is one."""
        for place, message in self._waiting:
            self._busy[worker.connection] = (place, worker)
            worker.tell(pickle.dumps(message))
            return


def serve(descriptor: int) -> None:
    """Do what is asked for over a connection until its other end is closed; the main function of a worker."""
    os.dup2(2, 1)  # what a figure of somebody else prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Connection(descriptor) as connection:
        while True:
            try:
                message = connection.recv_bytes()
            except EOFError:  # also where the process at the other end was killed
                return
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


def _called(work: Callable[[], None]) -> None:
    work()


def _result(answer: tuple[Any, _Failed | None]) -> Any:
    found, failed = answer
    if failed is None:
        return found
    # Without its __init__, whose arguments may be others than those that it keeps.
    error = failed.kind.__new__(failed.kind, *failed.arguments)
    raise error from _InWorkerError(failed.where)
