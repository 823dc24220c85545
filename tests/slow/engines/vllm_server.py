"""vLLM's OpenAI-compatible server on this machine's CPU."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from loopback import end, free_port, wait_until_healthy

VLLM_ENVIRONMENT = {
    'VLLM_CPU_KVCACHE_SPACE': '1', 'VLLM_CPU_OMP_THREADS_BIND': 'nobind', 'OMP_NUM_THREADS': '1',
    'HF_HUB_OFFLINE': '1', 'VLLM_NO_USAGE_STATS': '1', 'DO_NOT_TRACK': '1',
}  # fmt: skip
"""One thread, one GiB for keys and values, nothing from the network."""

OPTIONS = ('--dtype', 'float32', '--enforce-eager', '--max-model-len', '512', '--no-enable-chunked-prefill')
"""On a CPU vLLM cannot draw with seeds where it splits prompts."""


@contextmanager
def vllm_serve(
    model: Path,
    log: Path,
    options: Sequence[str] = (),
    name: str = 'm',
    seconds: float = 420,
    python: str = sys.executable,
) -> Iterator[str]:
    """Serve the model of a folder on a free port of the loopback; gives the address, without `/v1`.

    Args:
        model: folder of the model.
        log: gets all that the server says.
        options: of the server, after `OPTIONS`.
        name: of the model in requests.
        seconds: for it to come up; imports take most of the time.
        python: of the environment that has vLLM.
    """
    port = free_port()
    with log.open('w') as output:
        process = subprocess.Popen(
            [
                *(python, '-m', 'vllm.entrypoints.openai.api_server', '--model', str(model)),
                *('--served-model-name', name, '--host', '127.0.0.1', '--port', str(port)),
                *(*OPTIONS, *options),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **VLLM_ENVIRONMENT},
        )
    try:
        url = f'http://127.0.0.1:{port}'
        wait_until_healthy(process, url, log, time.monotonic() + seconds)
        yield url
    finally:
        end(process, seconds=30)
