"""Start the demo's server as a process of its own, and end it with whoever started it."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError
from .server import READY

START = 300
"""Seconds within which the server must be up."""


@contextmanager
def served(model: Path, port: int, log: Path) -> Iterator[str]:
    """Serve a model of transformers on the loopback; give its address, and end it at the end.

    Args:
        model: its folder.
        port: a free one.
        log: file that gets what the server says.

    Raises:
        InputError: it does not come up, since the port is taken, say.
    """
    command = [sys.executable, '-m', 'gpassk_opencompass.demo.server', str(model), '--port', str(port)]
    with log.open('w') as output:
        process = subprocess.Popen(
            [*command, '--while-stdin'], stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield _address(process, log)
    finally:
        if process.stdin:
            process.stdin.close()
        process.terminate()
        process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START
    while process.poll() is None and time.monotonic() < deadline:
        said = log.read_text(errors='replace').splitlines()
        for line in said:
            if line.startswith(READY):
                address = line.removeprefix(READY)
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f'{address}/v1/models')
                return address
        time.sleep(0.1)
    raise InputError(
        f'the server of the demo did not come up, see {log}; is the port taken? --port names another'
    )
