"""A process that dies, or runs out of disk, at a chosen place of its writing."""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHANGES = frozenset({'open', 'os.rename', 'os.remove', 'os.mkdir', 'os.truncate', 'os.rmdir'})
"""Audit events of what changes files; an `open` counts if it is for writing."""

ENDLESS = 10**9
"""A change that never comes: only to count them."""


@dataclass(frozen=True)
class Fault:
    """What is to happen to a command, and where.

    Args:
        command: the one of `forks.COMMANDS` that it happens to.
        below: only files in this folder count.
        change: SIGKILL before this change of a file, from 1; 0: none.
        emptied: if that change opens a file, only after it: made, or emptied, and not yet written.
        size: no file can grow beyond this number of bytes; None: without limit.
        deadly: SIGXFSZ at the byte that is too much; else the system's error, as on a full disk.
    """

    command: str
    below: str
    change: int = 0
    emptied: bool = False
    size: int | None = None
    deadly: bool = True


def random_death(
    chance: random.Random, command: str, below: Path, changes: int, sizes: tuple[int, int]
) -> Fault:
    """At one of so many changes of files, or at a byte of a file whose number is in this range."""
    if chance.random() < 1 / 3:
        return Fault(command, str(below), size=chance.randint(*sizes))
    return Fault(command, str(below), chance.randint(1, changes), chance.random() < 0.5)


def arm(fault: Fault) -> Counter | None:
    if fault.size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if fault.deadly else signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.size, resource.RLIM_INFINITY))
    if not fault.change:
        return None
    counter = Counter(fault)
    sys.addaudithook(counter)
    return counter


class Counter:
    """Counts changes of files, and ends the process at one of them."""

    def __init__(self, fault: Fault) -> None:
        self._fault, self._process, self._busy = fault, os.getpid(), False
        self.seen = 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in CHANGES or self._busy or os.getpid() != self._process:
            return
        self._busy = True  # what is done here is no change of the command's
        try:
            self.seen += self._counts(event, arguments)
            if self.seen == self._fault.change:
                self._die(event, arguments)
        finally:
            self._busy = False

    def _counts(self, event: str, arguments: tuple[Any, ...]) -> bool:
        path = arguments[0]
        if isinstance(path, int):  # a file that is open already
            return event == 'os.truncate'
        writes = event != 'open' or bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
        return writes and Path(os.fsdecode(path)).absolute().is_relative_to(self._fault.below)

    def _die(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == 'open' and self._fault.emptied:
            with suppress(OSError):
                os.open(arguments[0], arguments[2], 0o666)
        os.kill(os.getpid(), signal.SIGKILL)
