"""Configs as Python source that mmengine loads to the same values, and a hash of what they measure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from ..errors import TemplateError
from ..files import digest
from ..naming.manifest import LARGEST
from .axes import words

WIDTH = 100


class PartTexts:
    """A text for each part of the configs of a sweep, made once for a part that many share as one object.

    Args:
        text_of: the text of a named part.
    """

    def __init__(self, text_of: Callable[[str, Any], str]) -> None:
        self._text_of = text_of
        self._known: dict[tuple[str, int], tuple[Any, str]] = {}

    def __call__(self, name: str, part: Any) -> str:
        if (name, id(part)) not in self._known:
            # The part is kept beside its text: its identity must not become that of another one.
            self._known[name, id(part)] = (part, self._text_of(name, part))
        return self._known[name, id(part)][1]


def config_source(config: Mapping[str, Any], template: str, texts: PartTexts | None = None) -> str:
    """Return the text of a config file; equal configs give equal texts.

    Args:
        config: what `runs` made; classes and importable functions become dotted paths, tuples lists.
        template: the file name of the template, for the first line.
        texts: `part_sources()`, kept from config to config, so that a part that several share is written
            out once.

    Raises:
        TemplateError: a value that has no literal form, naming where it is.

    >>> print(config_source({'models': [{'type': int, 'k': (4, 8)}]}, 'my.py'))
    # Written from the template 'my.py': change that, not this file.
    <BLANKLINE>
    models = [{'type': 'builtins.int', 'k': [4, 8]}]
    <BLANKLINE>
    """
    source_of = texts or part_sources()
    head = f'# Written from the template {template!r}: change that, not this file.\n'
    return '\n'.join([head, *(source_of(name, value) for name, value in config.items())])


def part_sources() -> PartTexts:
    """Return the texts of parts for `config_source`."""
    return PartTexts(lambda name, part: f'{name} = {_rendered(plain(part, name), len(name) + 3, 0)}\n')


def plain(value: Any, where: str) -> Any:
    """Return the value in literals alone: classes and functions as dotted paths, tuples as lists.

    Raises:
        TemplateError: a value that has no such form; `where` says which.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        check_size(value, where)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)  # a subclass (of numpy, an enum) may have a repr of its own
    for kind in (int, str):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, dict):
        return {_key(key, where): plain(item, f'{where}.{key}') for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f'{where}[{i}]') for i, item in enumerate(value)]
    if isinstance(value, (type, FunctionType)) and '<' not in f'{value.__module__}{value.__qualname__}':
        return f'{value.__module__}.{value.__qualname__}'
    raise TemplateError(
        f'{where} is {value!r}, which cannot be written into a config; allowed are finite numbers, strings, '
        'True, False, None, lists, dicts, and classes or functions that can be imported'
    )


def check_size(value: int, where: str) -> None:
    """Raise TemplateError for a whole number that is too large to be meant."""
    if abs(value) > LARGEST:
        raise TemplateError(f'{where} is a whole number of more than 40 digits; no setting is as large')


def _key(key: Any, where: str) -> str | int:
    if not isinstance(key, (str, int)):
        raise TemplateError(f'{where} has the key {key!r}; allowed are strings and whole numbers')
    return key


def _rendered(value: Any, column: int, indent: int) -> str:
    """Write a value on one line if it ends before WIDTH, else one item a line with a trailing comma."""
    line = repr(value)
    if not value or not isinstance(value, (dict, list)) or column + len(line) < WIDTH:
        return line
    inner = indent + 4
    if isinstance(value, dict):
        heads = [f'{key!r}: ' for key in value]
        items = list(value.values())
    else:
        heads, items = [''] * len(value), value
    lines = (
        f'{" " * inner}{head}{_rendered(item, inner + len(head) + 1, inner)},\n'
        for head, item in zip(heads, items, strict=True)
    )
    opening, closing = '{}' if isinstance(value, dict) else '[]'
    return f'{opening}\n{"".join(lines)}{" " * indent}{closing}'


_LENGTH = 16
"""Hexadecimal digits: two of a million signatures are equal with a chance of 3 in 10⁸."""

NOT_MODEL = words("""
    abbr api_addr base_url key key_env openai_api_base served_name
    batch_size cache_max_entry_count gpu_memory_utilization max_batch_size max_num_seqs max_workers
    patience pp query_per_second retry run_cfg tensor_parallel_size timeout tp
""")
"""Fields of a model, at any depth, that do not change what is sampled.

First names and places, then how many requests at a time, on how many GPUs.
"""

NOT_DATASET = words("""
    abbr api_key_env store url urls
    attempts concurrency gpus most_failed patience pp progress rate total_time tp
    unjudged_tolerance workers
""")
"""Fields of a data set and its judge, at any depth, that do not change a verdict.

First names and places, then how the judge is asked, and when the evaluation gives up.
"""

_LEFT_OUT = {'models': NOT_MODEL, 'datasets': NOT_DATASET}


def signature(config: Mapping[str, Any], texts: PartTexts | None = None) -> str:
    """Return a hash of the models and data sets of a config: settings, questions, prompts, k, n and judge.

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
    text = ''.join(text_of(name, config.get(name)) for name in _LEFT_OUT)
    return digest(text.encode())[:_LENGTH]


def canonical_parts() -> PartTexts:
    """Return the texts of parts for `signature`: in one order, without what is left out."""
    return PartTexts(
        lambda name, part: json.dumps(_without(plain(part, name), _LEFT_OUT[name]), sort_keys=True)
    )


def _chosen(key: Any, item: Any) -> Any:
    if key != 'serve' or not isinstance(item, dict):
        return item
    from ..serving.line import choosing  # all that starts servers: few configs name one

    return choosing(item)


def _without(value: Any, left_out: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {
            str(key): _without(_chosen(key, item), left_out)
            for key, item in value.items()
            if key not in left_out
        }
    if isinstance(value, list):
        return [_without(item, left_out) for item in value]
    return value
