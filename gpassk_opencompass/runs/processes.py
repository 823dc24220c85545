"""Commands in process groups of their own, and how they are stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from types import FrameType, TracebackType
from typing import Any, NamedTuple

from ..serving import GRACE, SHARED

POLL = 0.1


class Stop:
    """Whether the user wants to stop: Ctrl-C, SIGTERM and SIGHUP are counted while the `with` block lasts.

    A flag instead of an exception: nothing is ever left between a process and the note of it. A SIGHUP that
    is ignored (`nohup`) stays so.
    """

    def __init__(self) -> None:
        self.count = 0
        self._event = Event()
        self._former: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return self.count > 0

    def __enter__(self) -> Stop:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                self._former[number] = signal.signal(number, self._receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def wait(self, seconds: float) -> None:
        """Sleep until the time is over or the user wants to stop."""
        self._event.wait(seconds)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self._event.set()


def end_groups(processes: Sequence[subprocess.Popen[bytes]], in_a_hurry: Callable[[], bool]) -> None:
    """End process groups with all that is in them: asked by SIGTERM, then, or in a hurry, by SIGKILL."""
    left = [process for process in processes if _is_alive(process)]
    for process in left:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while any(map(_is_alive, left)) and time.monotonic() < deadline and not in_a_hurry():
        time.sleep(POLL)
    left = [process for process in left if _is_alive(process)]
    killed = kill_trees([process.pid for process in left])
    deadline = time.monotonic() + GRACE
    while any([*map(_is_alive, left), *map(is_group_alive, killed)]) and time.monotonic() < deadline:
        time.sleep(POLL)


def kill_trees(groups: Collection[int]) -> frozenset[int]:
    """Kill process groups, and the groups of all that descends from them; return which groups these are.

    A server that is shared with others is left to its keeper, which ends it when nobody uses it.
    """
    found, ahead = {*groups}, {*groups}
    processes = list(_processes()) if groups else []
    while ahead:
        parents = {process.pid for process in processes if process.group in ahead}
        under = {
            process.group for process in processes if process.parent in parents and not _is_shared(process)
        }
        ahead = under - found - {os.getpgrp()}
        found |= ahead
    for group in found:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    return frozenset(found)


def is_group_alive(group: int) -> bool:
    """Whether anything of a process group still runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return any(process.group == group for process in _processes())  # a zombie counts for the signal


def _is_alive(process: subprocess.Popen[bytes]) -> bool:
    """Whether anything of its group still runs; the process was started as the leader of a session."""
    process.poll()
    return is_group_alive(process.pid)


class _Process(NamedTuple):
    pid: int
    parent: int
    group: int


def _processes() -> Iterator[_Process]:
    """Give the processes of this machine that run still."""
    for stat in Path('/proc').glob('[0-9]*/stat'):
        try:
            state, parent, group = stat.read_text(errors='replace').rpartition(')')[2].split()[:3]
        except (OSError, ValueError):
            continue
        if state not in 'ZX':
            yield _Process(int(stat.parent.name), int(parent), int(group))


def _is_shared(process: _Process) -> bool:
    try:
        return SHARED.encode() in Path(f'/proc/{process.pid}/cmdline').read_bytes().split(b'\0')
    except OSError:
        return False
