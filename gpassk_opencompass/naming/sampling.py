"""How a model samples, as the configs of engines and the files of other programs say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .names import Settings

NESTED = ('generation_kwargs', 'gen_config', 'openai_extra_kwargs', 'extra_body')
"""Fields of a model's config in which engines have settings of the sampling."""

_CALLED = {
    'max_out_len': ('max_tokens', 'max_gen_toks', 'max_new_tokens'),
    'random_seed': ('seed',),
}
"""Setting → what other programs call it."""

_WHOLE = frozenset({'top_k', 'random_seed', 'max_out_len'})

_OF_CHOICE = ('top_p', 'top_k')
"""Settings that choose among tokens: where the likeliest is taken, they say nothing."""


def sampling_in(told: Mapping[str, Any]) -> dict[str, int | float]:
    """Return the settings of the sampling by the names of `Settings`, as far as they are told.

    Greedy decoding is temperature 0, however an engine calls it: `do_sample` is False, or `top_k` is 1.

    >>> sampling_in({'max_out_len': 64, 'generation_kwargs': {'do_sample': False}})
    {'max_out_len': 64, 'temperature': 0.0}
    """
    nested = {name: value for part in NESTED for name, value in _fields(told.get(part)).items()}
    told = {**told, **nested}
    found: dict[str, int | float] = {}
    for name in Settings.__dataclass_fields__:
        values = (told.get(called) for called in (name, *_CALLED.get(name, ())))
        if (value := next(filter(_is_number, values), None)) is not None and (
            name not in _WHOLE or float(value).is_integer()
        ):
            found[name] = int(value) if name in _WHOLE else float(value)
    if told.get('do_sample') is False or found.get('top_k') == 1 or found.get('temperature') == 0:
        found = {name: value for name, value in found.items() if name not in _OF_CHOICE}
        found['temperature'] = 0.0
    return found


def _fields(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15
