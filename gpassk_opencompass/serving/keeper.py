"""The process that keeps a server: it starts it, starts it once more if it dies, and ends it with its owner.

It is told what to do in a line of JSON on standard input, and in a second line that the server is ready. A
server whose owner holds that pipe lives as long as the owner. One that is shared lives as long as somebody
holds a lock on one of the files that stand for its users. Whatever ends a process, the system takes its pipes
and locks from it, so nothing outlives its use.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from ..keys import hidden
from ..times import utc_now

GRACE = 20.0
"""Seconds between SIGTERM and SIGKILL for whatever is ended here: commands, models, servers. srun cancels its
job meanwhile; and SIGKILL may take as long for a process with much memory."""

SHARED = 'gpassk-shared-server'
"""A word on the command line of a keeper whose server is used by others than its parent."""

RESTARTS = 1
"""Times that a server which was ready is started again when it dies."""

READY = b'ready\n'

NOTE = '== gpassk '
"""What a line of the log begins with that the keeper wrote, not the server."""

ENDED = 'ended: '
"""What it writes then of how the server ended."""

FAILED = 3
"""Exit code when the server has ended for good."""

_POLL = 0.1
_LONGEST_LINE = 1 << 16
_DIES_WITH_PARENT, _TAKES_ORPHANS = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER


@dataclass(frozen=True)
class Orders:
    """What a keeper is told.

    Args:
        words: of the server's command line.
        variables: for its environment, beside the keeper's own.
        log: file that gets what it says, without the secrets.
        secrets: that are hidden there.
        users: files; the server is wanted while another process has one of them locked. None: it is wanted
            while the owner lives.
        alive: file that the keeper keeps locked as long as it lives; '' for none.
        grace: seconds between SIGTERM and SIGKILL.
        note: file that tells its users where the server is, removed before it ends; '' for none.
    """

    words: Sequence[str]
    log: str
    variables: Mapping[str, str] = field(default_factory=dict)
    secrets: Sequence[str] = ()
    users: Sequence[str] = ()
    alive: str = ''
    note: str = ''
    grace: float = GRACE

    def line(self) -> bytes:
        """Return this as the keeper reads it."""
        return json.dumps(asdict(self)).encode() + b'\n'


class Keeper:
    """Keeps one server.

    Args:
        orders: what to do.
        owner: process number of who wants it, where no files say so.
    """

    def __init__(self, orders: Orders, owner: int) -> None:
        self._orders, self._owner = orders, owner
        self._log = open(orders.log, 'ab', buffering=0)  # noqa: SIM115 # as long as this process
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.prctl(_TAKES_ORPHANS, 1, 0, 0, 0)
        self._ready = self._stopped = False
        self._open = True
        self._left = RESTARTS
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as of nohup
                signal.signal(number, self._stop)

    def keep(self) -> int:
        """Keep it until it is wanted no more, or has ended for good; return the exit code."""
        self._start()
        try:
            while self._is_wanted():
                if (code := self._server.poll()) is not None and not self._again(code):
                    return FAILED
            return 0
        finally:
            self._end()

    def _start(self) -> None:
        self._note(f'started: {" ".join(self._orders.words)}')
        try:
            self._server = subprocess.Popen(
                self._orders.words,
                env={**os.environ, **self._orders.variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=self._die_with_parent,  # noqa: PLW1509 # this process has no threads of weight
            )
        except OSError as error:
            self._note(f'cannot be started: {error}')
            raise SystemExit(FAILED) from error
        assert self._server.stdout is not None
        threading.Thread(target=self._copy, args=[self._server.stdout], daemon=True).start()

    def _die_with_parent(self) -> None:
        self._libc.prctl(_DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0)

    def _copy(self, said: IO[bytes]) -> None:
        """Write into the log what the server says; read on where that cannot be written."""
        while line := said.readline(_LONGEST_LINE):
            self._write(line)

    def _write(self, line: bytes) -> None:
        text = hidden(line.decode('utf-8', 'replace'), *self._orders.secrets)
        with suppress(OSError):  # a full disk
            self._log.write(text.encode())

    def _note(self, text: str) -> None:
        self._write(f'{NOTE}{utc_now()}: {text}\n'.encode())

    def _is_wanted(self) -> bool:
        """Wait a moment, and say whether anybody wants the server still."""
        if self._open:
            self._listen()
        else:
            time.sleep(_POLL)
        if self._stopped:
            return False
        if self._orders.users:
            return not self._ready or not self._given_up()
        # The pipe does not tell where a copy of the owner has it, as a worker that was forked.
        return self._open and os.getppid() == self._owner

    def _given_up(self) -> bool:
        """Whether nobody uses it; who comes from now on finds no note of it."""
        with ExitStack() as held:
            for path in self._orders.users:
                try:
                    file = held.enter_context(open(path, 'rb'))
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except FileNotFoundError:
                    continue
                except OSError:
                    return False
            if self._orders.note:
                Path(self._orders.note).unlink(missing_ok=True)
            return True

    def _listen(self) -> None:
        try:
            if not select.select([0], [], [], _POLL)[0]:
                return
            said = os.read(0, 1 << 12)
        except InterruptedError:
            return
        self._open, self._ready = bool(said), self._ready or READY.strip() in said
        if not said and self._orders.users and not self._ready:
            self._stopped = True  # who started it has given up

    def _again(self, code: int) -> bool:
        """Start it once more, if it was ready and that was not done before."""
        self._note(f'{ENDED}{described(code)}')
        if not self._ready or not self._left:
            return False
        self._left -= 1
        self._end()
        self._start()
        return True

    def _stop(self, number: int, frame: Any) -> None:
        self._stopped = True

    def _end(self) -> None:
        """End the server with all that it has started."""
        group = self._server.pid
        for number, patience in ((signal.SIGTERM, self._orders.grace), (signal.SIGKILL, GRACE)):
            deadline = time.monotonic() + patience
            sent: set[int] = set()
            while (left := _members(group)) and time.monotonic() < deadline:
                for process in left - sent:
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(process, number)
                sent |= left
                self._reap()
                time.sleep(_POLL / 2)
        self._reap()

    def _reap(self) -> None:
        self._server.poll()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _members(group: int) -> set[int]:
    """Return the living processes of a group, and all that descend from this process."""
    parents: dict[int, int] = {}
    found = set()
    for stat in Path('/proc').glob('[0-9]*/stat'):
        try:
            state, parent, own = stat.read_text(errors='replace').rpartition(')')[2].split()[:3]
        except (OSError, ValueError):
            continue
        if state not in 'ZX':
            parents[int(stat.parent.name)] = int(parent)
            found |= {int(stat.parent.name)} if int(own) == group else set()
    ahead = {os.getpid()}
    while ahead := {process for process, parent in parents.items() if parent in ahead}:
        found |= ahead
    return found - {os.getpid()}


def described(code: int) -> str:
    """Return an exit code of `subprocess` in words.

    >>> described(-9), described(1)
    ('signal 9 (SIGKILL)', 'exit code 1')
    """
    if code >= 0:
        return f'exit code {code}'
    with suppress(ValueError):
        return f'signal {-code} ({signal.Signals(-code).name})'
    return f'signal {-code}'


def is_locked(path: str | Path) -> bool:
    """Whether another process has a file locked; a file that is not there is not."""
    try:
        with open(path, 'rb') as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def main() -> None:
    """Read the orders and keep a server."""
    owner = int(sys.argv[1])
    line = b''
    while not line.endswith(b'\n'):
        if not (byte := os.read(0, 1)):
            sys.exit(0)
        line += byte
    orders = Orders(**json.loads(line))
    held = None
    if orders.alive:
        held = open(orders.alive, 'ab')  # noqa: SIM115 # as long as this process
        fcntl.flock(held, fcntl.LOCK_EX)
    sys.exit(Keeper(orders, owner).keep())
