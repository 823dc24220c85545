"""Commands in process groups of their own, and how they are stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from types import FrameType, TracebackType
from typing import Any

GRACE = 20.0
"""Seconds between SIGTERM and SIGKILL: srun cancels its job meanwhile."""

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
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
        left = [process for process in processes if _is_alive(process)]
        for process in left:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        deadline = time.monotonic() + patience
        while any(map(_is_alive, left)) and time.monotonic() < deadline:
            if number == signal.SIGTERM and in_a_hurry():
                break
            time.sleep(POLL)


def is_group_alive(group: int) -> bool:
    """Whether anything of a process group still runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return any(map(_state_in(group), Path('/proc').glob('[0-9]*/stat')))  # a zombie counts for the signal


def _is_alive(process: subprocess.Popen[bytes]) -> bool:
    """Whether anything of its group still runs; the process was started as the leader of a session."""
    process.poll()
    return is_group_alive(process.pid)


def _state_in(group: int) -> Callable[[Path], bool]:
    def is_member(stat: Path) -> bool:
        try:
            state, _, own = stat.read_text(errors='replace').rpartition(')')[2].split()[:3]
        except (OSError, ValueError):
            return False
        return int(own) == group and state not in 'ZX'

    return is_member
