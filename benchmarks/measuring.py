"""What a piece of work costs: time by the clock, processor time, and the most memory it had at once."""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

COMPILED = {'PYTHONDONTWRITEBYTECODE': ''}
"""As packages are installed: what is imported a second time is not compiled again."""


class Cost(NamedTuple):
    """Of some work; seconds are those of one call."""

    seconds: float
    """By the clock."""
    cpu: float
    """Of the processor, for the process and the children that it waited for."""
    mebibytes: float
    """The most that the process, or one of its children, had at once, its libraries included."""
    value: Any = None
    """What the work returned."""

    def scaled(self, factor: float) -> Cost:
        """The time of so many times the work."""
        return self._replace(seconds=self.seconds * factor, cpu=self.cpu * factor)


def cost(work: Callable[[], Any], *, repeats: int = 1, warm: int = 0) -> Cost:
    """Do the work in a fork of this process, with its imports and none of its history; nothing is printed.

    Args:
        work: returns something that can be pickled, or nothing; it must wait for processes that it starts.
        repeats: calls that are timed; the median counts.
        warm: calls before them that are not.

    Raises:
        RuntimeError: the work failed, with its traceback.
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context('fork').Process(target=_measure, args=(work, repeats, warm, sender))
    with unwarned():  # of a fork beside idle threads of libraries
        process.start()
    sender.close()
    try:
        measured: Cost | str = receiver.recv()
    except EOFError:
        measured = 'it ended without a word'
    process.join()
    if not isinstance(measured, Cost):
        raise RuntimeError(f'the work failed (exit status {process.exitcode}):\n{measured}')
    return measured


def _measure(work: Callable[[], Any], repeats: int, warm: int, sender: Connection) -> None:
    warnings.simplefilter('ignore')
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        for _ in range(warm):
            work()
        calls = []
        for _ in range(repeats):
            start, cpu = time.perf_counter(), _processor_seconds()
            value = work()
            calls.append((time.perf_counter() - start, _processor_seconds() - cpu))
        seconds, processor = (statistics.median(column) for column in zip(*calls, strict=True))
        peak = max(
            resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        sender.send(Cost(seconds, processor, peak / 1024, value))
    except BaseException:
        sender.send(traceback.format_exc())


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def command_cost(
    *command: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Cost:
    """Of a command and all that it waits for; `value` is what it printed.

    Raises:
        RuntimeError: its exit status is not 0, with the end of what it said.
    """
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None  # a pipe
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode:
        raise RuntimeError(f'{command[0]} … ended with {process.returncode}:\n{printed[-2000:]}')
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed)


def gpassk(*line: str | os.PathLike[str]) -> Cost:
    """Of a `gpassk` command, start and imports included."""
    return command_cost(sys.executable, '-m', 'gpassk_opencompass.cli', *line, environment=COMPILED)


def python(program: str, *line: str | os.PathLike[str]) -> Cost:
    """Of a program of a few lines."""
    return command_cost(sys.executable, '-c', program, *line, environment=COMPILED)


def median(costs: Sequence[Cost]) -> Cost:
    """The one in the middle by processor time."""
    return sorted(costs, key=lambda one: one.cpu)[len(costs) // 2]


@contextmanager
def unwarned() -> Iterator[None]:
    """For the imports of others, before the clock runs: they warn of many things."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        yield


def progress(text: str) -> None:
    """Print a line on stderr: what is being measured now."""
    print(f'{time.strftime("%H:%M:%S")} {text}', file=sys.stderr, flush=True)
