"""A hash of what determines the numbers of a config, to tell a result that is out of date."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from .source import plain

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


Known = dict[tuple[str, int], tuple[Any, str]]
"""(name, identity) of a part of a config → the part, which keeps its identity taken, and its text."""


def signature(config: Mapping[str, Any], known: Known | None = None) -> str:
    """A hash of the models and data sets of a config: settings, questions, prompts, k, n and judge.

    Left out are names, addresses, keys, batch sizes, GPUs, runners and the summarizer: with others the
    numbers mean the same. So a config has the same signature as written, as loaded by mmengine, and as
    OpenCompass keeps it in `<work_dir>/<time>/configs/`.

    Args:
        config: with `models` and `datasets`.
        known: kept from config to config, so that a part that several share is read once.

    Raises:
        InputError: a value that cannot stand in a config.

    >>> run = {'models': [{'path': 'org/m', 'batch_size': 8}], 'datasets': [{'n': 48}]}
    >>> signature(run) == signature({**run, 'models': [{'path': 'org/m', 'batch_size': 64}]})
    True
    >>> signature(run) == signature({**run, 'datasets': [{'n': 64}]})
    False
    """
    digest = hashlib.sha256()
    texts: Known = {} if known is None else known
    for name, left_out in (('models', NOT_MODEL), ('datasets', NOT_DATASET)):
        part = config.get(name)
        if (name, id(part)) not in texts:
            texts[name, id(part)] = (part, _canonical(plain(part, name), left_out))
        digest.update(texts[name, id(part)][1].encode())
    return digest.hexdigest()[:LENGTH]


def _canonical(value: Any, left_out: frozenset[str]) -> str:
    """One text for a value whatever the order of its dicts, without the fields that are left out."""
    return json.dumps(_without(value, left_out), sort_keys=True)


def _without(value: Any, left_out: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {str(key): _without(item, left_out) for key, item in value.items() if key not in left_out}
    if isinstance(value, list):
        return [_without(item, left_out) for item in value]
    return value
