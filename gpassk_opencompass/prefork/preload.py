"""What the warm process imports, and what must be as it was then for its copies to do."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path

MODULES = (
    'opencompass.cli.main',
    'opencompass.tasks.openicl_infer',
    'opencompass.tasks.openicl_eval',
    'opencompass.partitioners',
    'opencompass.runners',
    'gpassk_opencompass.plugin',
    'gpassk_opencompass.plugin.summarizer',
    'gpassk_opencompass.judges.rule',
    'math_verify',
    'yapf.yapflib.yapf_api',
    'multiprocessing.pool',
    'transformers.generation.utils',
    'transformers.models.auto.modeling_auto',
    'transformers.models.auto.tokenization_auto',
)
"""What commands and tasks need."""

READ_AT_IMPORT = (
    *('PYTHON', 'LD_', 'HF_', 'HUGGINGFACE', 'TRANSFORMERS_', 'COMPASS_', 'OMP_', 'MKL_', 'OPENBLAS_'),
    *('TORCH', 'PYTORCH_', 'VLLM_', 'LMDEPLOY_', 'OPENCOMPASS_', 'USE_'),
)
"""Beginnings of names of variables that packages read while they are imported."""

_CAREFUL = {'PYTORCH_NVML_BASED_CUDA_CHECK': '1'}
"""To count GPUs without touching them: a process that has touched one cannot be copied to use it."""


def preload(modules: Iterable[str]) -> dict[str, str]:
    """Import modules; return the environment that they were imported in. One that is missing is left out."""
    environment = dict(os.environ)
    for name, value in _CAREFUL.items():
        os.environ.setdefault(name, value)
    for module in modules:
        with suppress(Exception):  # it is missing, or broken: then the task that needs it says so
            import_module(module)
    return environment


def differs(environment: Mapping[str, str], imported: Mapping[str, str]) -> str:
    """Return the first variable that counts and is not as it was at import; '' if all are."""
    names = sorted(name for name in {*environment, *imported} if name.startswith(READ_AT_IMPORT))
    return next((name for name in names if environment.get(name) != imported.get(name)), '')


def has_touched_a_gpu() -> bool:
    """Whether this process may have opened a GPU: its copies could not."""
    try:
        return 'libcuda.so' in Path('/proc/self/maps').read_text(errors='replace')
    except OSError:
        return True
