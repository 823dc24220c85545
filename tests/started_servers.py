"""What the tests of servers that are started share: a scripted one, its lives, and who is alive."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from hosts import TESTS

PROGRAM = TESTS / 'scripted_model_server.py'
PATIENCE = 60.0


class Script:
    """A scripted server: what it shall do, and what it has done. Its folder is made."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    @property
    def command(self) -> str:
        words = (sys.executable, str(PROGRAM), str(self.folder))
        return f'{shlex.join(words)} --port {{port}} --name {{name}}'

    def serve(self, **more: Any) -> dict[str, Any]:
        return {'command': self.command, 'ready': '/health', 'timeout': PATIENCE, **more}

    def set(self, name: str, text: str = 'x') -> None:
        (self.folder / name).write_text(text)

    @property
    def starts(self) -> list[dict[str, Any]]:
        return _lines(self.folder / 'starts')

    @property
    def replied(self) -> list[dict[str, Any]]:
        """Each reply that it made: prompt, seed, life."""
        return _lines(self.folder / 'replied')

    @property
    def processes(self) -> list[int]:
        """Processes that have its folder on their command line."""
        running = [(one.pid, one.info['cmdline'] or ()) for one in psutil.process_iter(['cmdline'])]
        return [pid for pid, line in running if str(self.folder) in ' '.join(line) and pid != os.getpid()]

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.starts[-1]['pid'], signal.SIGKILL)


def _lines(path: Path) -> list[dict[str, Any]]:
    text = path.read_text() if path.exists() else ''
    return [json.loads(line) for line in text.splitlines() if line.endswith('}')]


def group_of(pid: int) -> list[int]:
    """The living processes of a process group."""
    found = []
    for one in psutil.process_iter(['status']):
        with suppress(ProcessLookupError):
            if os.getpgid(one.pid) == pid and one.info['status'] != psutil.STATUS_ZOMBIE:
                found.append(one.pid)
    return found


def until(condition: Callable[[], Any], seconds: float = 3 * PATIENCE) -> Any:
    """What a condition gives as soon as that is true; AssertionError if it never is."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, 'that never came'
        time.sleep(0.02)
    return found
