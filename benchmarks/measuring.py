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
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

RUSAGE_UNIT = 1 << 20 if sys.platform == 'darwin' else 1 << 10
"""ru_maxrss to MiB: macOS counts bytes, Linux KiB."""


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
    added: float = 0.0
    """What that is above the process before the work began."""
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
    process = multiprocessing.get_context('fork').Process(target=_tell, args=(work, repeats, warm, sender))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DeprecationWarning)  # of a fork beside idle threads of libraries
        process.start()
    sender.close()
    try:
        found: Cost | str = receiver.recv()
    except EOFError:
        found = 'it ended without a word'
    process.join()
    if not isinstance(found, Cost):
        raise RuntimeError(f'the work failed (exit status {process.exitcode}):\n{found}')
    return found


def _tell(work: Callable[[], Any], repeats: int, warm: int, sender: Connection) -> None:
    warnings.simplefilter('ignore')
    with open(os.devnull, 'w') as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
        try:
            with redirect_stdout(nowhere), redirect_stderr(nowhere):
                found: Cost | str = _measured(work, repeats, warm)
        except BaseException:
            found = traceback.format_exc()
    sender.send(found)


def _measured(work: Callable[[], Any], repeats: int, warm: int) -> Cost:
    before = _peak(resource.RUSAGE_SELF)
    for _ in range(warm):
        work()
    calls = [_timed(work) for _ in range(repeats)]
    own, children = _peak(resource.RUSAGE_SELF), _peak(resource.RUSAGE_CHILDREN)
    return Cost(
        statistics.median(call.seconds for call in calls),
        statistics.median(call.cpu for call in calls),
        max(own, children),
        max(own - before, 0.0),
        calls[-1].value,
    )


def _timed(work: Callable[[], Any]) -> Cost:
    start, cpu = time.perf_counter(), _processor_seconds()
    value = work()
    return Cost(time.perf_counter() - start, _processor_seconds() - cpu, 0.0, value=value)


def _processor_seconds() -> float:
    return time.process_time() + _children_seconds()


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _peak(who: int) -> float:
    return resource.getrusage(who).ru_maxrss / RUSAGE_UNIT


def command_cost(
    command: Sequence[str | os.PathLike[str]],
    *,
    folder: Path | None = None,
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
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / RUSAGE_UNIT, value=printed)


@contextmanager
def unwarned() -> Iterator[None]:
    """For the imports of others, before the clock runs: they warn of many things."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        yield


def progress(text: str) -> None:
    """A line on stderr: what is being measured now."""
    print(f'{time.strftime("%H:%M:%S")} {text}', file=sys.stderr, flush=True)
