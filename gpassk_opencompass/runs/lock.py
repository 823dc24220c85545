"""One `gpassk run` at a time in a work directory."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from ..errors import IncompleteError
from .starts import NOTES, now

LOCK = 'lock'


class Holder(NamedTuple):
    """Who works in a work directory."""

    pid: int
    host: str
    since: str

    def __str__(self) -> str:
        return f'process {self.pid} on {self.host} since {self.since}'


class WorkDirLock:
    """Held from `with` to its end, and by the commands that inherit `fileno`, should this process be killed.

    The file is locked for this machine, where the system frees it with its last holder, and names its holder
    for other machines: a network disk need not know such locks. So what a dead process of this machine left
    is taken over, what one of another machine left has to be removed by hand.

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
        holder = holder_of(self._path.parent.parent)
        if not self._is_free(holder):
            elsewhere = holder is not None and holder.host != socket.gethostname()
            way_out = (
                f'remove {self._path} if it has ended' if elsewhere else 'or for the opencompass it left'
            )
            who = f'is in use by {holder or "another process"}'
            raise IncompleteError(f'{self._path.parent.parent} {who}; wait for it, {way_out}')
        os.ftruncate(self.fileno, 0)
        os.pwrite(self.fileno, json.dumps(Holder(os.getpid(), socket.gethostname(), now())).encode(), 0)

    def _is_free(self, holder: Holder | None) -> bool:
        try:
            locked = _lock(self.fileno, fcntl.LOCK_EX, attempts=5)
        except OSError:  # no locks on this disk: the named process tells
            return holder is None or not _is_alive(holder)
        return locked and (holder is None or holder.host == socket.gethostname())


def holder_of(work_dir: Path) -> Holder | None:
    """Who the lock of a work directory names, alive or not."""
    try:
        pid, host, since = json.loads((work_dir / NOTES / LOCK).read_bytes())
        return Holder(int(pid), str(host), str(since))
    except (OSError, ValueError, TypeError):
        return None


def is_in_use(work_dir: Path) -> bool:
    """Whether somebody works in a work directory now, as far as can be told from this machine."""
    holder = holder_of(work_dir)
    if holder is None or holder.host != socket.gethostname():
        return holder is not None
    try:
        with (work_dir / NOTES / LOCK).open('rb') as file:
            return not _lock(file.fileno(), fcntl.LOCK_SH)
    except OSError:
        return _is_alive(holder)


def _lock(fileno: int, kind: int, attempts: int = 1) -> bool:
    """Several attempts, as `is_in_use` of another process holds the lock for a moment."""
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
    """A process of another machine counts as alive."""
    if holder.host != socket.gethostname():
        return True
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True
