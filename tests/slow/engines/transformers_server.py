"""A server that people use: `transformers serve` of transformers 5, from an environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hosts import TESTS
from loopback import did_not_come_up, end, is_healthy

PROGRAM = TESTS.parent / '.venv-harnesses' / 'bin' / 'transformers'
ENVIRONMENT = {'HF_HUB_OFFLINE': '1', 'OMP_NUM_THREADS': '1', 'PYTHONPATH': ''}
"""Without what was put in the way of this interpreter's imports."""


def need_transformers_server() -> None:
    """Skip where it is not installed."""
    if not PROGRAM.exists():
        pytest.skip(f'no {PROGRAM.parents[1].name}: `make test-engines` makes it')


@contextmanager
def transformers_serve(model: Path, log: Path) -> Iterator[str]:
    """Serve the model of a folder by its name on a free port of the loopback; the server's address."""
    need_transformers_server()
    line = [str(PROGRAM), 'serve', model.name, '--host', '127.0.0.1', '--port', '0', '--device', 'cpu']
    with log.open('w') as output:
        process = subprocess.Popen(
            line, stdout=output, stderr=subprocess.STDOUT, cwd=model.parent, env=os.environ | ENVIRONMENT
        )
    try:
        yield _address(process, log, time.monotonic() + 120)
    finally:
        end(process)


def _address(process: subprocess.Popen[bytes], log: Path, deadline: float) -> str:
    """Asked for port 0, the server takes a free one and says which."""
    while time.monotonic() < deadline and process.poll() is None:
        said = re.search(r'running on (http://127\.0\.0\.1:\d+)', log.read_text(errors='replace'))
        if said and is_healthy(said[1]):
            return said[1]
        time.sleep(0.05)
    raise did_not_come_up(log)
