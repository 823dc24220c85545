"""Servers that tests start on this machine: a port for one, whether it answers, and its end."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opens addresses without a proxy."""

LOG_TAIL = 3000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port: int = probe.getsockname()[1]
    return port


def is_healthy(address: str) -> bool:
    try:
        with DIRECT.open(f'{address}/health', timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def wait_until_healthy(process: subprocess.Popen[Any], url: str, log: Path, deadline: float) -> None:
    """Return once the server answers; AssertionError with the end of its log if it ends or takes too long."""
    while time.monotonic() < deadline and process.poll() is None:
        if is_healthy(url):
            return
        time.sleep(0.2)
    raise did_not_come_up(log)


def did_not_come_up(log: Path) -> AssertionError:
    return AssertionError(f'the server did not come up: …{log.read_text(errors="replace")[-LOG_TAIL:]}')


def end(process: subprocess.Popen[Any], seconds: float = 20) -> None:
    """Ask a process to end, and after so many seconds make it."""
    process.terminate()
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
