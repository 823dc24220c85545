"""Processes that decide jobs which may hang, crash or exhaust memory.

Each worker is a plain child process with a pipe each way; it imports what its function needs and nothing of
the program that judges, whatever threads or libraries that holds. A job is a line of JSON, its answer is
one byte. A worker that overruns its time or dies loses its own job alone and is replaced; to be replaced
quickly, the process that has imported all that is needed only makes copies of itself, which do the work.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
import weakref
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from multiprocessing.connection import wait
from pathlib import Path
from threading import Lock

from ..errors import IncompleteError
from . import worker_process

_JOBS_A_WORKER = 8
_CRASHES_A_JOB = 2
_FAILED_STARTS = 3
_START_SECONDS = 120.0
_WALL_FACTOR = 4.0
_LEAST_PROGRESS = 0.02
"""Of the processor time of a job: who gets less of it while the clock runs out is stuck, not slow."""


class Outcome(str, Enum):
    """What became of a job: the answer of the function, or why there is none."""

    YES = 'yes'
    NO = 'no'
    TIMEOUT = 'timeout'
    MEMORY = 'memory'
    CRASH = 'crash'


FAILURES = frozenset({Outcome.TIMEOUT, Outcome.MEMORY, Outcome.CRASH})
"""Outcomes that say nothing of the job's answer."""

_OUTCOMES = {
    worker_process.YES: Outcome.YES,
    worker_process.NO: Outcome.NO,
    worker_process.FAILED: Outcome.CRASH,
    worker_process.OUT_OF_MEMORY: Outcome.MEMORY,
    worker_process.TIMED_OUT: Outcome.TIMEOUT,
}


class _Worker:
    """A child process, the job it has and the time by which it must answer."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that it can be ended with its copy
        )
        assert self._process.stdin is not None  # both are pipes
        assert self._process.stdout is not None
        self._jobs, self._answers = self._process.stdin, self._process.stdout
        self.answers = self._answers.fileno()
        """Where answers can be awaited."""
        self.ready = False
        self.job: int | None = None
        self.deadline = time.monotonic() + _START_SECONDS
        self._seconds = self._spent = 0.0

    def give(self, job: int, line: bytes, seconds: float) -> None:
        self.job = job
        self.deadline = time.monotonic() + seconds
        self._seconds, self._spent = seconds, self._processor_time()
        with suppress(BrokenPipeError):  # it died; its output has ended, and the job will be given to another
            self._jobs.write(line)
            self._jobs.flush()

    def answer(self) -> bytes:
        """One byte, or nothing if the process has ended."""
        return os.read(self.answers, 1)

    def is_overdue(self) -> bool:
        """Return whether the deadline has passed; a job that only a busy machine holds up gets a new one."""
        if self.deadline >= time.monotonic():
            return False
        before, self._spent = self._spent, self._processor_time()
        if self.job is None or self._spent - before < _LEAST_PROGRESS * self._seconds / _WALL_FACTOR:
            return True
        self.deadline = time.monotonic() + self._seconds
        return False

    def _processor_time(self) -> float:
        """Return the seconds that the process and its copy have worked; 0 where the system does not tell."""
        process = Path(f'/proc/{self._process.pid}')
        try:
            copies = (process / 'task' / process.name / 'children').read_text().split()
            times = [Path(f'/proc/{one}/stat').read_text().rpartition(')')[2] for one in copies]
        except OSError:
            return 0.0
        return sum(float(ticks) for told in times for ticks in told.split()[11:13]) / os.sysconf('SC_CLK_TCK')

    def rest(self) -> None:
        self.ready = True
        self.job = None
        self.deadline = math.inf

    def end(self) -> None:
        """End the process and its copy."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._answers.close()
        with suppress(BrokenPipeError):
            self._jobs.close()
        self._process.wait()


class Workers:
    """At most `count` processes that apply the function `target` ("module:function") to jobs.

    `timeout` is the processor time in seconds that a job may take, so that a busy machine does not change
    outcomes; a job that takes four times as long by the clock and hardly works meanwhile is ended too.
    `memory_mb` limits the address space of a worker. `rehearsals` are jobs that each worker does first, for
    nothing and without a limit. With `fresh` each job has a process in which no other one was before.
    Workers are started when there are jobs for them and kept until `close`.
    """

    def __init__(
        self,
        target: str,
        *,
        count: int,
        timeout: float,
        memory_mb: int,
        rehearsals: Sequence[object] = (),
        fresh: bool = False,
    ) -> None:
        path = [os.fspath(entry) for entry in sys.path]
        # The signal first: Ctrl-C reaches the whole process group, and the parent ends its workers itself.
        program = (
            'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); '
            f'import sys; sys.path[:] = {path!r}; '
            f'from {worker_process.__name__} import main; '
            f'main({target!r}, {timeout!r}, {memory_mb!r}, {list(map(json.dumps, rehearsals))!r}, {fresh})'
        )
        self._command = [sys.executable, '-c', program]
        self._count = count
        self._wall = timeout * _WALL_FACTOR
        self._workers: list[_Worker] = []
        self._failed_starts = 0
        self._lock = Lock()
        self._finalizer = weakref.finalize(self, _end_all, self._workers)
        self.started = 0
        """How many processes were started so far."""

    def run(self, jobs: Sequence[object]) -> list[Outcome]:
        """The outcome of each of `jobs` (JSON values), in their order.

        A job whose worker dies is given to a second one before it counts as a crash. Raises IncompleteError
        if the workers cannot start. An exception, also Ctrl-C, ends the workers.
        """
        with self._lock:
            try:
                return self._outcomes(_Queue(jobs))
            except BaseException:
                _end_all(self._workers)
                raise

    def close(self) -> None:
        """End the processes. May be called twice; `run` starts new ones."""
        with self._lock:
            _end_all(self._workers)

    def _outcomes(self, queue: _Queue) -> list[Outcome]:
        while queue.open:
            while len(self._workers) < min(self._count, math.ceil(queue.open / _JOBS_A_WORKER)):
                self._workers.append(_Worker(self._command))
                self.started += 1
            for worker in self._workers:
                if worker.ready and worker.job is None and queue.waiting:
                    job = queue.waiting.popleft()
                    worker.give(job, queue.lines[job], self._wall)
            self._attend(queue)
        return queue.outcomes()

    def _attend(self, queue: _Queue) -> None:
        """Wait for the next answer, death or deadline, and deal with it."""
        busy = {
            worker.answers: worker for worker in self._workers if worker.job is not None or not worker.ready
        }
        seconds = min(worker.deadline for worker in busy.values()) - time.monotonic()
        for place in wait(list(busy), max(seconds, 0)):
            self._receive(busy[place], queue)  # type: ignore[index]
        for worker in busy.values():
            if worker.is_overdue():
                self._dismiss(worker, queue, overdue=True)

    def _receive(self, worker: _Worker, queue: _Queue) -> None:
        answer = worker.answer()
        if not answer:
            self._dismiss(worker, queue)
        elif worker.job is None:
            self._failed_starts = 0
            worker.rest()
        else:
            queue.settle(worker.job, _OUTCOMES[answer])
            worker.rest()

    def _dismiss(self, worker: _Worker, queue: _Queue, *, overdue: bool = False) -> None:
        """Take a worker that is dead or overdue off the list, and its job off its hands."""
        self._workers.remove(worker)
        worker.end()
        worker.deadline = math.inf
        if worker.job is not None:
            if overdue:
                queue.settle(worker.job, Outcome.TIMEOUT)
            else:
                queue.crashed(worker.job)
        elif not worker.ready:
            self._failed_starts += 1
            if self._failed_starts == _FAILED_STARTS:
                raise IncompleteError(self._diagnosis())

    def _diagnosis(self) -> str:
        trial = subprocess.run(
            self._command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_START_SECONDS
        )
        lines = trial.stderr.decode(errors='replace').strip().splitlines() or [
            f'exit status {trial.returncode}'
        ]
        return (
            f'the processes of the rule judge do not start ({_FAILED_STARTS} attempts): {lines[-1]}; '
            'mend that, or allow them more memory, and run again'
        )


class _Queue:
    """The jobs of one run: waiting, given out, settled."""

    def __init__(self, jobs: Sequence[object]) -> None:
        self.lines = [json.dumps(job).encode() + b'\n' for job in jobs]
        self.waiting = deque(range(len(jobs)))
        self._crashes: Counter[int] = Counter()
        self._settled: dict[int, Outcome] = {}

    @property
    def open(self) -> int:
        return len(self.lines) - len(self._settled)

    def settle(self, job: int, outcome: Outcome) -> None:
        self._settled[job] = outcome

    def crashed(self, job: int) -> None:
        self._crashes[job] += 1
        if self._crashes[job] < _CRASHES_A_JOB:
            self.waiting.appendleft(job)
        else:
            self.settle(job, Outcome.CRASH)

    def outcomes(self) -> list[Outcome]:
        return [self._settled[job] for job in range(len(self.lines))]


def _end_all(workers: list[_Worker]) -> None:
    while workers:
        workers.pop().end()
