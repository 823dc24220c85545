"""One `gpassk run` at a time in a work directory: a lock of the system, and a file that names its holder.

The system frees the lock of a file with its holder, on this machine. The file beside it names the holder for
others: what a dead process of this machine left is taken over, when all is gone that it had started; that of
another machine only with a reason.
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from filelock import FileLock, Timeout

from ..errors import IncompleteError
from ..files import read_json, write_file
from ..processes import end_marked
from ..text import utc_now

NOTES = '.gpassk'
"""The folder of what `gpassk run` notes, in a work directory and above all of them."""

HOLDER = f'{NOTES}/holder.json'

JOB = 'GPASSK_JOB'
"""Environment variable with the job of a cluster that a process is of."""


class Holder(NamedTuple):
    """Who is at work in a work directory."""

    host: str
    pid: int
    created: float
    """When its process began: another one may get its number."""
    since: str
    job: str = ''
    """Of Slurm or Ray; '' for none."""
    mark: str = ''
    """Found in the environment of all that it has started, see `processes.Child`."""
    reason: str = ''
    """Why it took over from another one."""

    @property
    def is_here(self) -> bool:
        """Whether it is of this machine, where one can tell if it lives."""
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Whether it is at work still, as far as can be told; of another machine nobody knows better."""
        if not self.is_here:
            return True
        try:
            return bool(abs(psutil.Process(self.pid).create_time() - self.created) < 1)
        except psutil.Error:
            return False

    def __str__(self) -> str:
        job = f', {self.job},' if self.job else ''
        return f'process {self.pid} on {self.host}{job} since {self.since}'


def holder_of(work_dir: Path) -> Holder | None:
    """Return who is noted to be at work in a work directory, alive or not."""
    try:
        host, pid, created, *rest = read_json(work_dir / HOLDER)
        return Holder(str(host), int(pid), float(created), *map(str, rest))
    except (OSError, ValueError, TypeError, OverflowError):
        return None


class Lock:
    """Keeps everybody else out of a work directory, until `release` or the end of this process.

    Raises:
        IncompleteError: somebody else is at work there.
    """

    def __init__(self, work_dir: Path, mark: str, take_over: str = '') -> None:
        self._file = work_dir / HOLDER
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self._file.with_name('lock'))
        with suppress(NotImplementedError):  # a disk without locks: the file tells
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                holder = holder_of(work_dir)
                raise IncompleteError(f'in use by {holder or "another process"}: wait for it') from None
        try:
            self._take(holder_of(work_dir), mark, take_over)
        except BaseException:
            self._lock.release()
            raise

    def _take(self, holder: Holder | None, mark: str, take_over: str) -> None:
        slurm = os.environ.get('SLURM_JOB_ID')
        job = os.environ.get(JOB) or (f'Slurm job {slurm}' if slurm else '')
        if holder is not None and holder.is_here:
            if holder.is_alive and holder.pid != os.getpid():
                raise IncompleteError(f'in use by {holder}: wait for it')
            if holder.mark:
                end_marked(holder.mark)
        elif holder is not None and not take_over and not (job.startswith('ray') and holder.job == job):
            raise IncompleteError(
                f'in use by {holder}: wait for it; if it has ended, take it over: '
                '--take-over "why it is over"'
            )
        began = psutil.Process().create_time()
        own = Holder(socket.gethostname(), os.getpid(), began, utc_now(), job, mark, take_over)
        write_file(self._file, json.dumps(own).encode())

    def release(self) -> None:
        """Let others work there."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
        self._lock.release()
