"""How far a command is, on standard error: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from ..counting import Listener, listening
from ..times import duration

if TYPE_CHECKING:
    from rich.progress import Progress

EVERY = 10.0
"""Seconds between two lines at least, and before the first."""


@contextmanager
def shown_progress(command: str) -> Iterator[None]:
    """Show on standard error which stage of work is how far, and how long it takes yet."""
    with listening(_Bars() if draws_lines(sys.stderr) else _Lines(command)):
        yield


def draws_lines(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can draw something in the place of something else."""
    return stream.isatty() and os.environ.get('TERM', '').lower() not in ('', 'dumb', 'unknown')


class _Bars(Listener):
    """A bar at the end of what stands on the terminal, taken away when its stage is over."""

    def __init__(self) -> None:
        self._progress: Progress | None = None

    def begin(self, what: str, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.end()
        columns = (
            TextColumn('{task.description}'),
            BarColumn(30),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        console = Console(stderr=True)
        # Not with redirect_stdout: rich would send to standard error what belongs to standard output.
        self._progress = Progress(
            *columns, TextColumn('left'), console=console, transient=True, redirect_stdout=False
        )
        self._progress.add_task(what, total=total)
        self._progress.start()

    def step(self) -> None:
        if self._progress:
            self._progress.advance(self._progress.task_ids[0])

    def end(self) -> None:
        if self._progress:
            self._progress.stop()
            self._progress = None


class _Lines(Listener):
    """A line a stage and time at most, so that a log stays short.

    Args:
        command: begins each line.
    """

    def __init__(self, command: str) -> None:
        self._command = command
        self._what, self._total, self._done = '', 0, 0
        self._began = self._told = time.monotonic()

    def begin(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0
        self._began = time.monotonic()

    def step(self) -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._told < EVERY or self._done >= self._total:
            return
        self._told = now
        left = duration((now - self._began) / self._done * (self._total - self._done))
        line = f'gpassk {self._command}: {self._what}: {self._done:,} of {self._total:,}, {left} left'
        print(line, file=sys.stderr, flush=True)

    def end(self) -> None:
        self._total = 0
