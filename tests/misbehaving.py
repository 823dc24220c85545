"""What a worker process may do to itself, for the tests of the pool."""

from __future__ import annotations

import os
import signal
import sys
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
        'raise': lambda: bool(1 / 0),
        'hog': lambda: bool(bytearray(1 << 40)),
        'recurse': _recurse,
        'loaded': lambda: job['module'] in sys.modules,
        'pid': lambda: bool(Path(job['path']).write_text(str(os.getpid()))),
    }[job['do']]()


def _spin() -> bool:
    while True:
        pass


def _recurse() -> bool:
    return _recurse()


def _die_once(mark: Path) -> bool:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return True
