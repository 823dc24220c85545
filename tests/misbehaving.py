"""What a worker process may do to itself, for the tests of the pool."""

from __future__ import annotations

import os
import signal
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any


def misbehave(job: dict[str, Any]) -> bool:
    """Do what `job` says and answer it."""
    return {
        'answer': lambda: bool(job['with']),
        'print': lambda: print('y' * 100, flush=True) is None,
        'spin': _spin,
        'stop': lambda: os.kill(os.getpid(), signal.SIGSTOP) is None,
        'die': lambda: os.kill(os.getpid(), signal.SIGKILL) is None,
        'die once': lambda: _die_once(Path(job['mark'])),
        'load': lambda: _load(float(job['seconds'])),
        'work slowly': lambda: _work(float(job['seconds']), _throttled(float(job['share']))),
        'raise': lambda: bool(1 / 0),
        'hog': lambda: bool(bytearray(1 << 40)),
        'recurse': _recurse,
        'loaded': lambda: job['module'] in sys.modules,
        'pid': lambda: bool(Path(job['path']).write_text(str(os.getpid()))),
    }[job['do']]()


def _spin() -> bool:
    while True:
        pass


@cache
def _load(seconds: float) -> bool:
    """Take long the first time, as what imports much at its first use does."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return True


def _throttled(share: float) -> int:
    """Start a process that lets this one work for a share of the time only, and return its number."""
    worker = os.getpid()
    throttle = os.fork()
    while throttle == 0:
        for signum, seconds in ((signal.SIGSTOP, 0.05 * (1 - share)), (signal.SIGCONT, 0.05 * share)):
            if os.getppid() != worker:
                os._exit(0)
            os.kill(worker, signum)
            time.sleep(seconds)
    return throttle


def _work(seconds: float, throttle: int) -> bool:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    os.kill(throttle, signal.SIGKILL)
    os.waitpid(throttle, 0)
    return True


def _recurse() -> bool:
    return _recurse()


def _die_once(mark: Path) -> bool:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return True
