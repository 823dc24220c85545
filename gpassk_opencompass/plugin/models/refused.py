"""What a model class of OpenCompass would drop or overrule without a word, refused before it loads."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from ...errors import InputError
from ...keys import read_key

SEED = (
    'one fixed value would give all samples of a question the same random numbers; write random_seed=… '
    'beside path, each sample then gets its own'
)
LENGTH = "the inferencer's max_out_len decides; remove it"
COUNT = 'a sample is one request; let the data set draw n of them'
OWN = 'the model is named by path, and the prompt is that of the sample; remove it'

OF_SAMPLE = {'seed': SEED, 'random_seed': SEED, 'n': COUNT}
"""What no engine may be given, and why."""
OF_REQUEST = {**OF_SAMPLE, 'model': OWN, 'messages': OWN}
"""What no field of a request may be, and why."""

SAMPLING = ('temperature', 'top_p', 'top_k', 'min_p')
"""Settings that mean nothing to an engine that takes the likeliest token."""


def refuse(where: str, given: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
    """Raise InputError for the first key that has a reason.

    >>> refuse('gen_config', {'random_seed': 42}, {'random_seed': 'each sample has its own.'})
    Traceback (most recent call last):
    gpassk_opencompass.errors.InputError: gen_config has random_seed = 42: each sample has its own.
    """
    for key, reason in reasons.items():
        if key in given:
            raise InputError(f'{where} has {key} = {given[key]!r}: {reason}')


def refuse_unknown(where: str, given: Collection[str], kind: type) -> None:
    """Raise InputError for keys that the class does not have: OpenCompass drops them silently."""
    unknown = sorted(key for key in given if not hasattr(kind, key))
    if unknown:
        raise InputError(f'{where} has {unknown}, which the installed {kind.__name__} does not know')


def refuse_greedy(where: str, given: Mapping[str, Any], switch: str) -> None:
    """Raise InputError for sampling settings that the engine would not use without `switch`."""
    if idle := [key for key in SAMPLING if key in given]:
        raise InputError(f'{where} has {idle}, but without {switch} the engine is greedy and ignores them')


def key_from(variable: str) -> str:
    """Return the API key in an environment variable; InputError if it is missing or cannot be sent."""
    key = read_key(variable)
    if not key:
        raise InputError(f'key_env={variable!r}: this environment variable is empty; export {variable}=…')
    return key


def refuse_missing(path: str) -> None:
    """Raise InputError for a whole path with nothing there: transformers would take it for a name of the hub.

    >>> refuse_missing('/no/such/model')
    Traceback (most recent call last):
    gpassk_opencompass.errors.InputError: path = '/no/such/model': there is no such file or folder here
    >>> refuse_missing('Qwen/Qwen2.5-7B-Instruct')
    """
    if os.path.isabs(path) and not os.path.exists(path):
        raise InputError(f'path = {path!r}: there is no such file or folder here')
