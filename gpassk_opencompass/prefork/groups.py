"""Processes that were forked here, and how they come to their end."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass

from ..runs.processes import is_group_alive, kill_trees
from ..serving import GRACE
from .scripts import Order
from .tasks import Held


class Group:
    """A process that was forked here, and its process group."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.code: int | None = None
        """Of the process, when it has ended."""
        self.deadline = float('inf')
        """When what is left of it is killed."""
        self._asked = False
        self._killed: frozenset[int] = frozenset()
        """Groups that were killed with it."""

    @property
    def is_ending(self) -> bool:
        """Whether it is to be looked at until it is gone."""
        return self.code is not None or self.deadline < float('inf')

    def look(self) -> bool:
        """Look whether all of it is gone; ask what its process left to end, kill what did not end in time."""
        if time.monotonic() > self.deadline:
            self._kill()
        if self.code is None:
            return False
        if not any(map(is_group_alive, {self.pid, *self._killed})):
            return True
        self.end()
        return time.monotonic() > self.deadline + GRACE  # what cannot be killed holds up nobody for ever

    def signal(self, number: int) -> None:
        """Send a signal to all of them."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """Kill all of them, now, with all that descends from them."""
        self.deadline = time.monotonic()
        self._kill()

    def _kill(self) -> None:
        self._killed |= kill_trees([self.pid, *self._killed])

    def end(self) -> None:
        """Ask all of them to end, once."""
        if not self._asked:
            self._asked = True
            self.deadline = min(self.deadline, time.monotonic() + GRACE)
            self.signal(signal.SIGTERM)


class Model(Group):
    """A process in which a model stays loaded.

    Args:
        pid: of the process.
        held: what it has loaded, or will have.
        control: where tasks go and exit codes come from.
    """

    def __init__(self, pid: int, held: Held, control: socket.socket) -> None:
        super().__init__(pid)
        self.held, self.control = held, control
        self.job: Job | None = None
        """The task that it works on."""
        self.failed: int | None = None
        """The exit code of the task that it ends with."""
        self._signalled = False

    @property
    def is_idle(self) -> bool:
        """Whether it waits for tasks."""
        return self.job is None and not self.is_ending

    def signal(self, number: int) -> None:
        """Send a signal to all of them: what a task survives may still end what comes after it."""
        self._signalled = True
        super().signal(number)

    def done(self) -> Job | None:
        """Return the task that it has done well; it waits for the next one."""
        job, self.job = self.job, None
        if self._signalled:
            self.retire()
        return job

    def competes_with(self, held: Held) -> bool:
        """Whether it has memory that another model is to be loaded into."""
        both_fit = self.held.is_part and held.is_part and self.held.session != held.session
        return self.job is None and bool(self.held.gpus & held.gpus) and not both_fit

    def end_soon(self) -> None:
        """Give it the usual time to end by itself, as it is about to."""
        self.deadline = min(self.deadline, time.monotonic() + GRACE)

    def retire(self) -> None:
        """Let it end by itself: no more tasks come."""
        if not self.is_ending:
            self.end_soon()
            with suppress(OSError):
                self.control.shutdown(socket.SHUT_WR)


@dataclass(eq=False)
class Job:
    """What a client waits for."""

    connection: socket.socket | None
    """None: the client is gone."""
    order: Order
    fds: list[int]
    """Its open files, until they are handed on."""
    held: Held | None
    """What its task needs loaded; None for a copy of its own."""
    group: Group | None = None
    """Where it is done; None while it waits for memory."""

    def close_files(self) -> None:
        """Close its files here."""
        for fd in self.fds:
            os.close(fd)
        self.fds = []
