"""vLLM on this machine's CPU: its settings, its server, and the shipped model as it takes it."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loopback import end, free_port, wait_until_healthy

from gpassk_opencompass.demo import MODEL

VLLM_ENVIRONMENT = {
    'VLLM_CPU_KVCACHE_SPACE': '1', 'VLLM_CPU_OMP_THREADS_BIND': 'nobind', 'OMP_NUM_THREADS': '1',
    'HF_HUB_OFFLINE': '1', 'VLLM_NO_USAGE_STATS': '1', 'DO_NOT_TRACK': '1',
}  # fmt: skip
"""One thread, one GiB for keys and values, nothing from the network."""

VLLM_IN_PROCESS = {
    **VLLM_ENVIRONMENT,
    'VLLM_ENABLE_V1_MULTIPROCESSING': '0',
    'VLLM_LOGGING_LEVEL': 'ERROR',
}

OPTIONS = ('--dtype', 'float32', '--enforce-eager', '--max-model-len', '512', '--no-enable-chunked-prefill')
"""On a CPU vLLM cannot draw with seeds where it splits prompts."""

SAME_TEXTS = 0.95
"""Least share of texts that a rerun, another batch size or order leaves as they are: last bits may change."""

FACTOR = 4
"""vLLM on a CPU refuses heads of 20 numbers, as the shipped model has; 0.32 takes 80, 0.13 takes 160."""


@contextmanager
def vllm_serve(model: Path, log: Path) -> Iterator[str]:
    """Serve the model of a folder as 'm' on a free port of the loopback; gives the address, without `/v1`."""
    port = free_port()
    with log.open('w') as output:
        process = subprocess.Popen(
            [
                *(sys.executable, '-m', 'vllm.entrypoints.openai.api_server', '--model', str(model)),
                *('--served-model-name', 'm', '--host', '127.0.0.1', '--port', str(port), *OPTIONS),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **VLLM_ENVIRONMENT},
        )
    try:
        url = f'http://127.0.0.1:{port}'
        wait_until_healthy(process, url, log, time.monotonic() + 420)
        yield url
    finally:
        end(process, seconds=30)


def pad_model(folder: Path) -> Path:
    """Write a model that computes what the shipped one does, with heads `FACTOR` times as long.

    The further numbers of a head are zero. RoPE turns the numbers i and i + d/2 of a head of length d by an
    angle that shrinks with i/d: so number i goes to i * FACTOR, where a longer head has the same angle.
    Attention divides by the square root of the head's length, so queries are multiplied by that of FACTOR.
    """
    from safetensors.torch import load_file, save_file

    shutil.copytree(MODEL, folder, ignore=shutil.ignore_patterns('*.safetensors', 'README.md'))
    settings = json.loads(Path(MODEL, 'config.json').read_text())
    length = settings['head_dim']

    def spread(rows):
        heads = rows.reshape(-1, length, rows.shape[-1])
        longer = heads.new_zeros(heads.shape[0], length, FACTOR, heads.shape[-1])
        longer[:, :, 0] = heads
        return longer.reshape(-1, rows.shape[-1])

    settings['head_dim'] = length * FACTOR
    (folder / 'config.json').write_text(json.dumps(settings))
    tensors = load_file(Path(MODEL, 'model.safetensors'))
    for name, tensor in tensors.items():
        kind = name.split('.')[-2]
        if kind in ('q_proj', 'k_proj', 'v_proj'):
            tensors[name] = spread(tensor) * (math.sqrt(FACTOR) if kind == 'q_proj' else 1)
        elif kind == 'o_proj':
            tensors[name] = spread(tensor.T).T.contiguous()
    save_file(tensors, folder / 'model.safetensors', metadata={'format': 'pt'})
    return folder
