"""Programs that are started here and end with whoever started them, however that dies.

A small process, the guard, starts each and holds the end of a pipe to its owner: when that dies the system
closes the pipe, and the guard ends the program with all that has its mark in the environment.
"""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any

import psutil

MARKS = 'GPASSK_STARTED_BY'  # the variable with the marks of all owners of a process, commas between them
GRACE = 20.0  # seconds between SIGTERM and SIGKILL: srun cancels its job, a server frees its GPUs
_POLL = 0.1
_FAILED = 127  # the program could not be started, as a shell says it
_BOOT = (
    'import sys; sys.path[0] = sys.argv.pop(); '
    'from gpassk_opencompass.processes import guard; sys.exit(guard())'
)
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class Child:
    """A program at work, with the guard that ends it; its log gets what it says, without the `secret`.

    `mark` is one for `end_marked`, beside its own.
    """

    def __init__(
        self,
        words: Sequence[str],
        log: Path,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        mark: str = '',
        secret: str = '',
    ) -> None:
        env = dict(os.environ if env is None else env)
        self.mark, self._owner = secrets.token_hex(8), os.getpid()
        outer = ','.join(filter(None, [env.get(MARKS, ''), mark]))
        env[MARKS] = ','.join(filter(None, [outer, self.mark]))
        order: dict[str, Any] = {'words': [*words], 'log': str(log.absolute()), 'cwd': cwd and str(cwd)}
        order |= {'env': env, 'secret': secret, 'mark': self.mark, 'owner': self._owner, 'grace': GRACE}
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open('ab') as output:
            self._guard = subprocess.Popen(
                [sys.executable, '-c', _BOOT, str(Path(__file__).parents[1])],
                env={**env, MARKS: outer},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,  # Ctrl-C reaches the owner alone
            )
        assert self._guard.stdin is not None
        self._pipe: IO[bytes] = self._guard.stdin
        with suppress(BrokenPipeError):
            self._pipe.write(json.dumps(order).encode() + b'\n')
            self._pipe.flush()

    def poll(self) -> int | None:
        """Return the exit code of the program, negative for a signal; None while it runs."""
        code = self._guard.poll()
        if code is not None and code < 0:  # somebody killed the guard, and what it guards may live
            end_marked(self.mark)
        return 128 - code if code is not None and 128 < code <= 192 else code

    def stop(self) -> None:
        """Have it ended, without waiting for that; a copy of the owner does nothing."""
        if os.getpid() == self._owner:
            with suppress(OSError):
                self._pipe.close()

    def end(self, hurry: Callable[[], bool] = lambda: False) -> int:
        """End it with all that it has started and return its exit code: by SIGTERM first, but in a hurry."""
        if os.getpid() != self._owner:
            return 0
        self.stop()
        while self._guard.poll() is None:
            if hurry():
                self._guard.kill()
            time.sleep(_POLL / 2)
        code = self.poll()
        end_marked(self.mark)
        return code or 0


def end_marked(mark: str) -> None:
    """Kill all that has a mark in its environment, and wait until it is gone."""
    deadline = time.monotonic() + GRACE
    while (left := marked(mark)) and time.monotonic() < deadline:
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=1)


def marked(mark: str) -> list[psutil.Process]:
    """Return the living processes of this user that have a mark in their environment."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            has = mark in process.environ().get(MARKS, '').split(',')
            if has and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def guard() -> int:
    """Start the program that the first line of standard input tells of; end it with its owner."""
    order = json.loads(sys.stdin.buffer.readline() or b'{}')
    if not order:
        return 0
    stop = Stop().__enter__()
    log = open(order['log'], 'ab', buffering=0)  # noqa: SIM115 # as long as this process
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        program = subprocess.Popen(
            order['words'],
            cwd=order['cwd'],
            env=order['env'],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if order['secret'] else log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: libc.prctl(_DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0),  # noqa: PLW1509
        )
    except OSError as error:
        log.write(f'cannot be started: {error}\n'.encode())
        return _FAILED
    if program.stdout is not None:
        said = (program.stdout, log, order['secret'].encode())
        threading.Thread(target=_copy, args=said, daemon=True).start()
    while program.poll() is None and not stop and os.getppid() == order['owner']:
        readable, _, _ = select.select([0], [], [], _POLL)
        if readable and not os.read(0, 1):
            break
    # All are asked to end, but not where the owner is dead: the next command may be on its way.
    deadline = time.monotonic() + order['grace']
    for process in marked(order['mark']) if os.getppid() == order['owner'] else ():
        with suppress(psutil.Error):
            process.terminate()
    while os.getppid() == order['owner'] and time.monotonic() < deadline:
        if program.poll() is not None and not marked(order['mark']):
            break
        time.sleep(_POLL)
    end_marked(order['mark'])
    code = program.wait()
    return 128 - code if code < 0 else code


def _copy(said: IO[bytes], log: IO[bytes], secret: bytes) -> None:
    """Write into the log what a program says, without the secret; read on where that cannot be written."""
    while line := said.readline(1 << 16):
        with suppress(OSError):  # a full disk
            log.write(line.replace(secret, b'***'))


class Stop:
    """Whether the user wants to stop: Ctrl-C, SIGTERM and SIGHUP are counted while the `with` block lasts.

    No exception is left between a process and the note of it. A SIGHUP that is ignored (`nohup`) stays so.
    """

    def __init__(self) -> None:
        self.count = 0
        self._event = threading.Event()
        self._former: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return self.count > 0

    def __enter__(self) -> Stop:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                self._former[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def wait(self, seconds: float) -> None:
        """Sleep until the time is over or the user wants to stop."""
        self._event.wait(seconds)

    def in_a_hurry(self) -> bool:
        """Whether the user has said so twice."""
        return self.count > 1

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self._event.set()


def described(code: int) -> str:
    """Return an exit code in words, as 'signal 9 (SIGKILL)' for -9."""
    if code >= 0:
        return f'code {code}'
    with suppress(ValueError):
        return f'signal {-code} ({signal.Signals(-code).name})'
    return f'signal {-code}'
