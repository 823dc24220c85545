"""A hash of what determines the numbers of a config, to tell a result that is out of date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..files import digest
from .source import PartTexts, plain

LENGTH = 16
"""Hexadecimal digits: two of a million signatures are equal with a chance of 3 in 10⁸."""

NOT_MODEL = frozenset(
    {
        # names and places
        'abbr',
        'api_addr',
        'key',
        'key_env',
        'openai_api_base',
        # how many at a time, on how many GPUs
        'batch_size',
        'cache_max_entry_count',
        'gpu_memory_utilization',
        'max_batch_size',
        'max_num_seqs',
        'max_workers',
        'query_per_second',
        'retry',
        'run_cfg',
        'tensor_parallel_size',
        'timeout',
        'tp',
    }
)
"""Fields of a model, at any depth, that do not change what is sampled."""

NOT_DATASET = frozenset(
    {
        # names and places
        'abbr',
        'api_key_env',
        'store',
        'url',
        'urls',
        # how the judge is asked, and when the evaluation gives up
        'attempts',
        'concurrency',
        'patience',
        'progress',
        'rate',
        'total_time',
        'unjudged_tolerance',
        'workers',
    }
)
"""Fields of a data set and its judge, at any depth, that do not change a verdict."""

LEFT_OUT = {'models': NOT_MODEL, 'datasets': NOT_DATASET}
"""Part of a config: its fields that do not count."""


def signature(config: Mapping[str, Any], texts: PartTexts | None = None) -> str:
    """A hash of the models and data sets of a config: settings, questions, prompts, k, n and judge.

    Left out are names, addresses, keys, batch sizes, GPUs, runners and the summarizer: with others the
    numbers mean the same. So a config has the same signature as written, as loaded by mmengine, and as
    OpenCompass keeps it in `<work_dir>/<time>/configs/`.

    Args:
        config: with `models` and `datasets`.
        texts: `canonical_parts()`, kept from config to config, so that a part that several share is read
            once.

    Raises:
        InputError: a value that cannot stand in a config.

    >>> run = {'models': [{'path': 'org/m', 'batch_size': 8}], 'datasets': [{'n': 48}]}
    >>> signature(run) == signature({**run, 'models': [{'path': 'org/m', 'batch_size': 64}]})
    True
    >>> signature(run) == signature({**run, 'datasets': [{'n': 64}]})
    False
    """
    text_of = texts or canonical_parts()
    text = ''.join(text_of(name, config.get(name)) for name in LEFT_OUT)
    return digest(text.encode())[:LENGTH]


def canonical_parts() -> PartTexts:
    """For `signature`: one text for a part whatever the order of its dicts, without what is left out."""
    return PartTexts(
        lambda name, part: json.dumps(_without(plain(part, name), LEFT_OUT[name]), sort_keys=True)
    )


def _without(value: Any, left_out: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {str(key): _without(item, left_out) for key, item in value.items() if key not in left_out}
    if isinstance(value, list):
        return [_without(item, left_out) for item in value]
    return value
