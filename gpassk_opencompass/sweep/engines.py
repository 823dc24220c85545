"""The engines: for each, the model part of a config, and what it refuses.

An engine is refused whatever its class would drop without a word, so that a name tells what was passed.
"""

from __future__ import annotations

from .engine import Engine, model_config
from .local_engines import HUGGINGFACE, PYTORCH, TURBOMIND, VLLM
from .server_engines import LMDEPLOY_SERVER, OPENAI

__all__ = ['ENGINES', 'Engine', 'model_config']

ENGINES: dict[str, Engine] = {
    'turbomind': TURBOMIND,
    'pytorch': PYTORCH,
    'vllm': VLLM,
    'huggingface': HUGGINGFACE,
    'openai': OPENAI,
    'lmdeploy_server': LMDEPLOY_SERVER,
}
"""The values of a template's `engine`."""
