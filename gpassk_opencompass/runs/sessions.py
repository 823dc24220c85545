"""Which runs can share a loaded model, and what that model needs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .config_file import dicts_of, is_local, runner_of
from .plan import Planned

LOADING = frozenset(
    {
        *('type', 'path', 'backend', 'model_kwargs', 'engine_config', 'run_cfg', 'serve'),
        *('tokenizer_path', 'tokenizer_kwargs', 'peft_path', 'peft_kwargs', 'lora_path', 'revision'),
        *('openai_api_base', 'api_addr', 'url', 'base_url', 'openai_proxy_url'),
    }
)
"""Fields of a model's entry in a config that say what is loaded, or which server is asked.

All others (temperature, lengths, seeds, names, …) may differ between runs of one loaded model.
"""


class Need(NamedTuple):
    """What one copy of a loaded model takes."""

    gpus: int = 0
    """Whole GPUs: tp × pp; 0 for a model behind a server, or on the CPU."""
    memory: float | None = None
    """GiB of one GPU, where it takes only a part of it."""


@dataclass(frozen=True)
class Session:
    """Runs whose samples come from one loaded model, in the order in which they were asked for."""

    name: str
    """That of its first run, so that no other session has it."""
    runs: tuple[Planned, ...]
    need: Need
    is_here: bool = True
    """Whether its samples are drawn on the machine that starts OpenCompass, and not by a runner elsewhere."""
    is_known: bool = True
    """Whether the config tells what it needs; one that computes its values does not."""


def sessions_of(runs: Sequence[Planned]) -> list[Session]:
    """Group runs by what they load, in the order of their first ones.

    A config that computes its values, has several models, or a runner of a cluster, is a session of its own.
    It needs what the largest of its models does; where nothing is known of them, see `Session.is_known`.
    """
    groups: dict[str, list[Planned]] = {}
    needs: dict[str, Need | None] = {}
    local: dict[str, bool] = {}
    for run in runs:
        values = run.values()
        models = [] if values is None else dicts_of(values, 'models')
        here = is_local(runner_of(values or {}, 'infer'))
        key = loading_key(models[0]) if len(models) == 1 and here else f'run {run.name}'
        groups.setdefault(key, []).append(run)
        local[key] = here
        needs[key] = None if values is None else max(map(need_of, models), default=Need(), key=_gpus)
    return [
        Session(members[0].name, tuple(members), needs[key] or Need(), local[key], needs[key] is not None)
        for key, members in groups.items()
    ]


def loading_key(model: Mapping[str, Any]) -> str:
    """Return a text that is the same for models of configs which load the same, in the same way.

    >>> one = {'type': 'M', 'path': 'org/m', 'generation_kwargs': {'temperature': 0.3}}
    >>> loading_key(one) == loading_key({**one, 'generation_kwargs': {'temperature': 1.0}, 'abbr': 'x'})
    True
    """
    told = {name: value for name, value in model.items() if name in LOADING}
    return json.dumps(told, sort_keys=True, default=str)


def need_of(model: Mapping[str, Any]) -> Need:
    """Return what a model's entry in a config says that it takes; nothing where it does not say."""
    asked = model.get('run_cfg')
    asked = asked if isinstance(asked, Mapping) else {}
    gpus, memory = asked.get('num_gpus', 0), asked.get('gpu_memory')
    return Need(gpus if isinstance(gpus, int) else 0, memory if isinstance(memory, (int, float)) else None)


def _gpus(need: Need) -> int:
    return need.gpus
