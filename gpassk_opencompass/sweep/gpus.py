"""What a model of a template takes of GPUs: whole ones, or a part of one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ..errors import TemplateError
from .axes import POSITIVE
from .models import Llm, OptionKind

GPU_MEMORY = 'gpu_memory'

PARTS: Mapping[str, OptionKind] = {GPU_MEMORY: (str, int, float)}
"""The option of engines whose models may share a GPU with others."""

PIPELINE = 'pipeline_parallel_size'

_TEXT = re.compile(r'([0-9]+(?:\.[0-9]+)?) ?Gi?B')


def run_cfg(llm: Llm) -> dict[str, Any]:
    """Return what OpenCompass and `gpassk run` are told of a model's GPUs: tp × pp, and the GiB of a part.

    Raises:
        TemplateError: a number or size of another form, or a part of more than one GPU.
    """
    gpus = llm.tp * _stages(llm)
    if GPU_MEMORY not in llm.options:
        return {'num_gpus': gpus}
    if gpus != 1:
        raise TemplateError(
            f'{llm.path}: {GPU_MEMORY} is a part of one GPU, and the model takes {gpus}; leave it out'
        )
    return {'num_gpus': 1, GPU_MEMORY: _gib(llm)}


def _stages(llm: Llm) -> int:
    """Return over how many GPUs the layers of a model are divided, beside tp."""
    given = llm.options.get('model_kwargs', {}).get(PIPELINE, llm.options.get('pp', 1))
    return int(POSITIVE.read(given, f'{llm.path}: model_kwargs[{PIPELINE!r}]'))


def _gib(llm: Llm) -> float:
    given = llm.options[GPU_MEMORY]
    match = _TEXT.fullmatch(given) if isinstance(given, str) else None
    size = float(match[1]) if match else given
    if isinstance(size, (str, bool)) or not (math.isfinite(size) and size > 0):
        raise TemplateError(
            f"{llm.path}: {GPU_MEMORY} is {given!r}; expected what the model takes of a GPU, such as '20GB'"
        )
    return float(size)
