"""Processes that decide jobs which may hang, crash or exhaust memory.

`Workers` starts one process, the holder, that imports what the jobs need and nothing of the program that
judges, whatever threads or libraries that has. There pebble makes copies of the holder, which do the work,
and replaces those that die. Jobs go to the holder as a line of JSON, and it answers with one byte a job.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import TimeoutError as OutOfTime
from contextlib import suppress
from enum import Enum
from multiprocessing import get_context
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..errors import IncompleteError

if TYPE_CHECKING:
    from pebble import ProcessFuture

_FAILED_STARTS = 3
_START_SECONDS = 120.0
_WALL_FACTOR = 200.0  # a worker that gets less than this share of a processor is stuck, not slow
_JOBS_A_LINE = 10_000
_NO_MEMORY = 77
"""Exit status of a worker without memory, which is not used for another job."""


class Outcome(str, Enum):
    """What became of a job: the answer of the function, or why there is none."""

    YES = 'yes'
    NO = 'no'
    TIMEOUT = 'timeout'
    MEMORY = 'memory'
    CRASH = 'crash'


FAILURES = frozenset({Outcome.TIMEOUT, Outcome.MEMORY, Outcome.CRASH})
"""Outcomes that say nothing of the job's answer."""

_READY = b'+'
_BYTES = {outcome: outcome.value[0].encode() for outcome in Outcome}
_OUTCOMES = {byte: outcome for outcome, byte in _BYTES.items()}


class Workers:
    """At most `count` processes that apply the function `target` ("module:function") to jobs.

    `timeout` is the processor time in seconds that a job may take, so that a busy machine does not change
    outcomes; a worker that has not answered after 200 times as long by the clock is ended too. `memory_mb`
    limits the address space of a worker. `rehearsals` are jobs that are done before the first one, for
    nothing and without a limit, so that it does not pay for what loads late. With `fresh` each job has a
    process in which no other one was before. Processes are started when there are jobs for them and kept
    until `close`.
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
        arguments = json.dumps([target, count, timeout, memory_mb, list(rehearsals), fresh])
        paths = [os.fspath(entry) for entry in sys.path]
        # It finds modules where this process does, whatever lies in the folder that somebody is in. Then the
        # signal: Ctrl-C reaches the whole process group, and the parent ends the holder itself.
        program = (
            f'import sys; sys.path[:] = {paths!r}; import signal; '
            'signal.signal(signal.SIGINT, signal.SIG_IGN); '
            f'from {__name__} import hold; import json; hold(*json.loads({arguments!r}))'
        )
        self._command = [sys.executable, '-c', program]
        self._holders: list[subprocess.Popen[bytes]] = []
        self._lock = Lock()
        self._finalizer = weakref.finalize(self, _end, self._holders)
        self.started = 0
        """How many holders were started so far."""

    def run(self, jobs: Sequence[object]) -> list[Outcome]:
        """Return the outcome of each of `jobs` (JSON values), in their order.

        A job whose worker dies is given to a second one before it counts as a crash. An exception, also
        Ctrl-C, ends the processes.

        Raises:
            IncompleteError: the processes cannot start.
        """
        outcomes: list[Outcome] = []
        failed = 0
        with self._lock:
            try:
                while len(outcomes) < len(jobs):
                    new = self._answers(jobs[len(outcomes) : len(outcomes) + _JOBS_A_LINE])
                    outcomes += new
                    failed = 0 if new else failed + 1
                    if failed == _FAILED_STARTS:
                        raise IncompleteError(self._diagnosis())
            except BaseException:
                _end(self._holders)
                raise
        return outcomes

    def close(self) -> None:
        """End the processes. May be called twice; `run` starts new ones."""
        with self._lock:
            _end(self._holders)

    def _answers(self, jobs: Sequence[object]) -> list[Outcome]:
        """Return the outcomes of the first jobs: of all of them, unless the holder dies meanwhile."""
        jobs_pipe, answers_pipe = self._pipes()
        answers: list[Outcome] = []
        with suppress(BrokenPipeError):
            jobs_pipe.write(json.dumps(jobs).encode() + b'\n')
            jobs_pipe.flush()
            while len(answers) < len(jobs) and (answer := os.read(answers_pipe.fileno(), 1)):
                if answer != _READY:
                    answers.append(_OUTCOMES[answer])
        if len(answers) < len(jobs):
            _end(self._holders)
        return answers

    def _pipes(self) -> tuple[Any, Any]:
        if not self._holders:
            self._holders.append(
                subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # so that it can be ended with its copies
                    env={**os.environ, 'MALLOC_ARENA_MAX': '1'},  # arenas of its threads would take memory_mb
                )
            )
            self.started += 1
        return self._holders[0].stdin, self._holders[0].stdout

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


def _end(holders: list[subprocess.Popen[bytes]]) -> None:
    """Kill each holder with its copies."""
    while holders:
        holder = holders.pop()
        with suppress(ProcessLookupError):
            os.killpg(holder.pid, signal.SIGKILL)
        for pipe in filter(None, (holder.stdin, holder.stdout)):
            with suppress(BrokenPipeError):
                pipe.close()
        holder.wait()


def hold(
    target: str, count: int, timeout: float, memory_mb: int, rehearsals: Sequence[Any], fresh: bool
) -> None:
    """Serve jobs as the holder, until its input ends; see `Workers` for the arguments.

    What a job does to its worker does not matter to anyone else: the kernel ends the worker when its
    processor time is spent, an allocation beyond the limit fails, and nothing that it prints reaches the
    answers.
    """
    from pebble import ProcessPool

    given, answers = os.fdopen(os.dup(0), 'rb'), os.fdopen(os.dup(1), 'wb', buffering=0)
    with open(os.devnull, 'r+b') as nowhere:
        os.dup2(nowhere.fileno(), 0)  # a copy closes sys.stdin, and would wait for a lock if that were read
        os.dup2(nowhere.fileno(), 1)
    module, _, function = target.partition(':')
    decide = getattr(importlib.import_module(module), function)
    for job in rehearsals:
        _decided(decide, job)
    pool = ProcessPool(count, int(fresh), _limit, (memory_mb,), get_context('fork'))

    def scheduled(job: Any) -> ProcessFuture[Outcome]:
        return pool.schedule(_within, (timeout, decide, job), timeout=timeout * _WALL_FACTOR)

    answers.write(_READY)
    for line in given:
        jobs = json.loads(line)
        for job, future in zip(jobs, [scheduled(job) for job in jobs], strict=True):
            outcome = _outcome(future)
            answers.write(_BYTES[_outcome(scheduled(job)) if outcome is Outcome.CRASH else outcome])
    pool.stop()  # type: ignore[no-untyped-call]
    pool.join()


def _limit(memory_mb: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    allowed = resource.getrlimit(resource.RLIMIT_AS)[1]
    memory = min(memory_mb << 20, math.inf if allowed < 0 else allowed)
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), allowed))


def _within(timeout: float, decide: Callable[[Any], bool], job: Any) -> Outcome:
    # The default action of SIGPROF ends the process, also inside C code and also when the parent is gone.
    signal.setitimer(signal.ITIMER_PROF, timeout)
    outcome = _decided(decide, job)
    signal.setitimer(signal.ITIMER_PROF, 0)
    if outcome is Outcome.MEMORY:
        os._exit(_NO_MEMORY)
    return outcome


def _decided(decide: Callable[[Any], bool], job: Any) -> Outcome:
    try:
        return Outcome.YES if decide(job) else Outcome.NO
    except MemoryError:
        return Outcome.MEMORY
    except BaseException:  # SystemExit too: pebble would raise it in the holder
        return Outcome.CRASH


def _outcome(future: ProcessFuture[Outcome]) -> Outcome:
    from pebble import ProcessExpired

    try:
        return future.result()
    except OutOfTime:
        return Outcome.TIMEOUT
    except ProcessExpired as error:
        known = {-signal.SIGPROF: Outcome.TIMEOUT, _NO_MEMORY: Outcome.MEMORY}
        return known.get(error.exitcode, Outcome.CRASH)
