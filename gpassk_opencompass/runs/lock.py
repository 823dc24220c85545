"""One `gpassk run` at a time in a work directory."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from ..errors import IncompleteError
from ..files import read_json
from ..times import utc_now
from .work_dir import NOTES

LOCK = 'lock'

MOMENT = 10.0
"""Seconds for which a lock may name nobody: its holder has just come, or its command is still ending."""


class Holder(NamedTuple):
    """Who works in a work directory."""

    pid: int
    host: str
    since: str
    group: int | None = None
    """The process group of the command that it has started."""

    @property
    def is_here(self) -> bool:
        """Whether it is of this machine, where one can tell if it lives."""
        return self.host == socket.gethostname()

    def in_use(self) -> str:
        """Return who holds the lock, and what to do, for a message."""
        if not self.is_here:
            return (
                f'in use by process {self.pid} on {self.host} since {self.since}: wait for it, or '
                f'remove its {NOTES}/{LOCK} if it has ended'
            )
        if _exists(self.pid):
            return f'in use by process {self.pid} on {self.host} since {self.since}: wait for it'
        who = f'in use by the opencompass that process {self.pid} left, since {self.since}'
        return f'{who}: wait for it' + (f', or end it: kill -- -{self.group}' if self.group else '')


class WorkDirLock:
    """Held from `with` to its end, and by the commands that inherit `fileno`, should this process be killed.

    The file is locked for this machine, where the system frees it with its last holder, and names its holder
    for other machines: a network disk need not know such locks. So what a dead process of this machine left
    is taken over; what a process of another machine left has to be removed by hand.

    Raises:
        IncompleteError: on entry, if somebody else holds it.
    """

    def __init__(self, work_dir: Path) -> None:
        self._path = work_dir / NOTES / LOCK

    def __enter__(self) -> WorkDirLock:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.fileno = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._take()
        except BaseException:
            os.close(self.fileno)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.ftruncate(self.fileno, 0)
        os.close(self.fileno)

    def _take(self) -> None:
        deadline = time.monotonic() + MOMENT
        while not self._is_free(holder := holder_of(self._path.parent.parent)):
            if holder is not None or time.monotonic() > deadline:
                raise IncompleteError(holder.in_use() if holder else 'in use by another process: wait for it')
        self._holder = Holder(os.getpid(), socket.gethostname(), utc_now())
        os.ftruncate(self.fileno, 0)
        self._write()

    def note_group(self, group: int) -> None:
        """Name the process group of the command that was started, for who finds it without this process."""
        self._holder = self._holder._replace(group=group)
        with suppress(OSError):  # a full disk: the message of another one will be less precise
            self._write()

    def _write(self) -> None:
        os.pwrite(self.fileno, json.dumps(self._holder).encode(), 0)

    def _is_free(self, holder: Holder | None) -> bool:
        try:
            locked = _lock(self.fileno, fcntl.LOCK_EX, attempts=5)
        except OSError:  # no locks on this disk: the named process tells
            return holder is None or not _is_alive(holder)
        return locked and (holder is None or holder.is_here)


def holder_of(work_dir: Path) -> Holder | None:
    """Return whom the lock of a work directory names, alive or not."""
    try:
        pid, host, since, *more = read_json(work_dir / NOTES / LOCK)
        return Holder(int(pid), str(host), str(since), int(more[0]) if more and more[0] else None)
    except (OSError, ValueError, TypeError, OverflowError):
        return None


def is_in_use(work_dir: Path) -> bool:
    """Whether somebody works in a work directory now, as far as can be told from this machine."""
    holder = holder_of(work_dir)
    if holder is None:
        return False
    if not holder.is_here:
        return True
    try:
        with (work_dir / NOTES / LOCK).open('rb') as file:
            return not _lock(file.fileno(), fcntl.LOCK_SH)
    except OSError:
        return _is_alive(holder)


def _lock(fileno: int, kind: int, attempts: int = 1) -> bool:
    """Try to lock a file, several times where `is_in_use` of another process may hold it for a moment."""
    for attempt in range(attempts):
        if attempt:
            time.sleep(0.05)
        try:
            fcntl.flock(fileno, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            pass
    return False


def _is_alive(holder: Holder) -> bool:
    """Return whether a holder is alive; one of another machine counts as alive."""
    if not holder.is_here or _exists(holder.pid):
        return True
    return holder.group is not None and _exists(-holder.group)


def _exists(process: int) -> bool:
    """Return whether there is a process; or a process group, by its negative number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True
