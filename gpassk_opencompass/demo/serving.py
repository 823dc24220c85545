"""Start the demo's servers as processes of their own, and end them with whoever started them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError
from .server import READY

START = 300
"""Seconds within which the servers must be up."""

# Threads of one server wait for each other at every operation, thousands of times a second, and for whoever
# else computes on their core; servers do not.
_MOST = 2


@contextmanager
def served(model: Path, port: int, log: Path) -> Iterator[list[str]]:
    """Serve a model of transformers on the loopback; give the addresses, and end all servers at the end.

    Args:
        model: its folder.
        port: of the first server, see `addresses`; that of the next one is one higher.
        log: file that gets what the servers say.

    Raises:
        InputError: one does not come up, since its port is taken, say.
    """
    urls = addresses(port)
    threads = max(1, (os.cpu_count() or 1) // len(urls))
    environment = {**os.environ, 'OMP_NUM_THREADS': str(threads)}
    command = [sys.executable, '-m', 'gpassk_opencompass.demo.server', str(model), '--while-stdin', '--port']
    processes: list[subprocess.Popen[bytes]] = []
    try:
        with log.open('w') as output:
            for number in range(len(urls)):
                processes.append(
                    subprocess.Popen(
                        [*command, str(port + number)],
                        stdin=subprocess.PIPE,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        env=environment,
                    )
                )
        _await(urls, processes, log)
        yield urls
    finally:
        for process in processes:
            if process.stdin:
                process.stdin.close()
            process.terminate()
            process.wait()


def addresses(port: int) -> list[str]:
    """Return where the servers of this machine are: one, or two where there is a core for each.

    >>> addresses(8135)[0]
    'http://127.0.0.1:8135'
    """
    count = min(os.cpu_count() or 1, _MOST)
    return [f'http://127.0.0.1:{port + number}' for number in range(count)]


def _await(urls: Sequence[str], processes: Sequence[subprocess.Popen[bytes]], log: Path) -> None:
    deadline = time.monotonic() + START
    while all(process.poll() is None for process in processes) and time.monotonic() < deadline:
        said = log.read_text(errors='replace').splitlines()
        if all(f'{READY}{url}' in said for url in urls):
            direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            for url in urls:
                direct.open(f'{url}/v1/models').close()
            return
        time.sleep(0.1)
    raise InputError(
        f'a server of the demo did not come up, see {log}; is the port taken? --port names another'
    )
