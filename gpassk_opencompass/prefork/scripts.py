"""This process becomes another one, as if Python had just been started with a script."""

from __future__ import annotations

import atexit
import builtins
import ctypes
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NoReturn

_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux."""


@dataclass(frozen=True)
class Order:
    """A script to run: what a client asks for."""

    words: list[str]
    """The script, and its arguments."""
    folder: str
    environment: dict[str, str]
    mask: int
    """The umask."""
    session: int
    """That the client belongs to; 0 for none."""

    @staticmethod
    def of(message: Mapping[str, Any]) -> Order:
        """Read it from a message; other fields of it do not matter."""
        return Order(*(message[name] for name in ('words', 'folder', 'environment', 'mask', 'session')))


def settle_in() -> None:
    """Make a fork a process of its own: a session, signals, locks; it dies with its parent."""
    parent = os.getppid()
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    _renew_locks()


def _renew_locks() -> None:
    """Take locks that copies would share, one of which may be killed while it holds them."""
    progress = sys.modules.get('tqdm.std')
    if progress is not None:
        bars, default = progress.tqdm, progress.TqdmDefaultWriteLock
        for owner, name in ((default, 'mp_lock'), (bars, '_lock')):
            with suppress(AttributeError):
                delattr(owner, name)
    numbers = sys.modules.get('numpy')
    if numbers is not None:
        numbers.random.seed()  # Python's own generator does so by itself


def become(order: Order, fds: Sequence[int]) -> None:
    """Take the streams, the directory and the environment of a client.

    Args:
        order: what is asked for.
        fds: its standard streams; more of its open files are held as they are.

    Raises:
        OSError: its directory is gone.
    """
    for stream, fd in enumerate(fds[:3]):
        os.dup2(fd, stream)
        os.close(fd)
    for file in (sys.stdout, sys.stderr):
        file.reconfigure(line_buffering=file is sys.stderr or file.isatty())  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(order.environment)
    time.tzset()
    os.umask(order.mask)
    os.chdir(order.folder)


def let_go() -> None:
    """Give the standard streams back: nothing more of this process may reach them."""
    _flush()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)


def run(words: Sequence[str]) -> int:
    """Run a script as `__main__`; return the exit code that Python would have, negative for a signal.

    Errors are printed as Python prints them, from the first line of the script on.
    """
    script = words[0]
    sys.argv = list(words)
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    module = ModuleType('__main__')
    module.__dict__.update(__file__=script, __builtins__=builtins, __spec__=None, __cached__=None)
    sys.modules['__main__'] = module
    try:
        with open(script, 'rb') as file:
            code = compile(file.read(), script, 'exec', dont_inherit=True)
        exec(code, module.__dict__)
    except SystemExit as error:
        return _code_of(error)
    except KeyboardInterrupt as error:
        _print(error)
        return -signal.SIGINT
    except BaseException as error:  # whatever it is, Python would print it
        _print(error)
        return 1
    return 0


def end(code: int) -> NoReturn:
    """End this process as Python ends: threads are waited for, what is registered for the end is done."""
    with suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
    with suppress(BaseException):
        atexit._run_exitfuncs()
    if not _flush() and code == 0:
        code = 120
    if code < 0:
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)


def freeze() -> None:
    """Keep what is there out of the garbage collection: copies share the memory that it does not touch."""
    gc.collect()
    gc.freeze()


def _code_of(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    with suppress(Exception):
        print(error.code, file=sys.stderr, flush=True)
    return 1


def _print(error: BaseException) -> None:
    if error.__traceback__ is not None:  # it begins here, in `run`
        error = error.with_traceback(error.__traceback__.tb_next)
    with suppress(Exception):
        sys.stdout.flush()
    with suppress(Exception):
        sys.excepthook(type(error), error, error.__traceback__)


def _flush() -> bool:
    done = True
    for file in (sys.stdout, sys.stderr):
        try:
            file.flush()
        except Exception:
            done = False
    return done
