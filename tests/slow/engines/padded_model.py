"""The shipped model with longer attention heads: vLLM on a CPU refuses heads of 20 numbers."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

from gpassk_opencompass.demo import MODEL

FACTOR = 4
"""Heads of 80 numbers, which vLLM 0.32 takes; 0.13 takes 160, a factor of 8."""


def pad_model(folder: Path, factor: int = FACTOR) -> Path:
    """Write into a folder a model that computes what the shipped one does, with heads `factor` times as long.

    The further numbers of a head are zero. RoPE turns the numbers i and i + d/2 of a head of length d by an
    angle that shrinks with i/d: so number i goes to i * factor, where a longer head has the same angle.
    Attention divides by the square root of the head's length, so queries are multiplied by that of `factor`.
    """
    from safetensors.torch import load_file, save_file

    shutil.copytree(MODEL, folder, ignore=shutil.ignore_patterns('*.safetensors', 'README.md'))
    settings = json.loads(Path(MODEL, 'config.json').read_text())
    length = settings['head_dim']
    settings['head_dim'] = length * factor
    (folder / 'config.json').write_text(json.dumps(settings))
    tensors = load_file(Path(MODEL, 'model.safetensors'))
    for name, tensor in tensors.items():
        kind = name.split('.')[-2]
        if kind in ('q_proj', 'k_proj', 'v_proj'):
            tensors[name] = _spread(tensor, length, factor) * (math.sqrt(factor) if kind == 'q_proj' else 1)
        elif kind == 'o_proj':
            tensors[name] = _spread(tensor.T, length, factor).T.contiguous()
    save_file(tensors, folder / 'model.safetensors', metadata={'format': 'pt'})
    return folder


def _spread(rows: Any, length: int, factor: int) -> Any:
    """Insert rows of zeros: in each head, row i goes to i * factor."""
    heads = rows.reshape(-1, length, rows.shape[-1])
    spread = heads.new_zeros(heads.shape[0], length, factor, heads.shape[-1])
    spread[:, :, 0] = heads
    return spread.reshape(-1, rows.shape[-1])
