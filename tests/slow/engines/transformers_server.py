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
LISTENS = re.compile(r'running on (http://127\.0\.0\.1:\d+)')


@contextmanager
def transformers_serve(model: Path, log: Path, seconds: float = 120) -> Iterator[str]:
    """Serve the model of a folder on a free port of the loopback; the server's address.

    Args:
        model: folder of the model; its name is that of the model in requests.
        log: gets all that the server says.
        seconds: for it to come up.
    """
    if not PROGRAM.exists():
        pytest.skip(f'no {PROGRAM.parents[1].name}: `make test-engines` makes it')
    with log.open('w') as output:
        process = subprocess.Popen(
            [str(PROGRAM), 'serve', model.name, '--host', '127.0.0.1', '--port', '0', '--device', 'cpu'],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=model.parent,
            env=_environment(),
        )
    try:
        yield _address(process, log, time.monotonic() + seconds)
    finally:
        end(process)


def _environment() -> dict[str, str]:
    """Without what was put in the way of this interpreter's imports."""
    kept = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    return {**kept, 'HF_HUB_OFFLINE': '1', 'OMP_NUM_THREADS': '1'}


def _address(process: subprocess.Popen[bytes], log: Path, deadline: float) -> str:
    """Asked for port 0, the server takes a free one and says which."""
    while time.monotonic() < deadline and process.poll() is None:
        said = LISTENS.search(log.read_text(errors='replace'))
        if said and is_healthy(said[1]):
            return said[1]
        time.sleep(0.05)
    raise did_not_come_up(log)
