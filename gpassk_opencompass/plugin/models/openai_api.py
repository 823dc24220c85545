"""A server that speaks OpenAI's protocol: `OpenAISDK` with a seed a sample."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencompass.models import OpenAISDK
from opencompass.models.openai_api import OAI_REASONING_MODEL_LIST
from opencompass.registry import MODELS

from ...errors import InputError
from ...keys import HiddenKey, hidden, read_key
from ...results.health import Generation
from ..handover import SERVER_BITS, AskedOnce, GenerationsOfBatch, SeedsOfBatch
from .refused import COUNT, SEED, key_from, refuse

OPENAI_KEY = 'OPENAI_API_KEY'
"""What OpenAISDK reads: a key, or several with commas between them."""

RULED = {'seed': SEED, 'random_seed': SEED, 'n': COUNT}


@dataclass
class Request:
    """A prompt, the seed that goes with it and what the server says of the reply, through whatever thread."""

    prompt: Any
    seed: int | None
    generation: Generation = field(default_factory=Generation)


@MODELS.register_module()
class SeededOpenAISDK(OpenAISDK):  # type: ignore[misc]
    """`OpenAISDK` with a seed a sample, in the field `seed` of each request; retries keep theirs.

    What a server makes of a seed is its own affair: vLLM and lmdeploy draw by it, OpenAI calls it best
    effort, others ignore or refuse it.

    Args:
        path: the name of the model at the server.
        random_seed: the seed of the run; those of the samples are derived from it. None: no seed is sent.
        key_env: the environment variable with the API key, in place of `key`.
        kwargs: as for the base class.

    Raises:
        InputError: a fixed seed, an n, a temperature that would not be sent, or an empty `key_env`.
    """

    def __init__(
        self, path: str, *args: Any, random_seed: int | None = None, key_env: str | None = None, **kwargs: Any
    ) -> None:
        for where in ('openai_extra_kwargs', 'extra_body'):
            refuse(where, kwargs.get(where) or {}, RULED)
        _check_temperature(path, kwargs)
        super().__init__(path, *args, **{**kwargs, **_keys(key_env, kwargs.get('key', 'ENV'))})
        self.logger.addFilter(HiddenKey(*self.keys))
        self.seeds = None if random_seed is None else SeedsOfBatch(random_seed, SERVER_BITS)
        self.generations = GenerationsOfBatch()

    def generate(self, inputs: list[Any], *args: Any, **kwargs: Any) -> list[str]:
        """See the base class; with seeds, those of the batch must have been announced."""
        seeds = [None] * len(inputs) if self.seeds is None else self.seeds.take(len(inputs))
        requests = list(map(Request, inputs, seeds))
        texts: list[str] = super().generate(requests, *args, **kwargs)
        self.generations.note([request.generation for request in requests])
        return texts

    def _generate(self, input: Any, *args: Any, **kwargs: Any) -> str:
        if not isinstance(input, Request):
            # Some gateways send their errors, which may quote the key, as answers.
            return hidden(str(super()._generate(input, *args, **kwargs)), *self.keys)
        # The settings of a request lie on the model, which many threads share: each takes its own copy.
        one = copy.copy(self)
        one.openai_client = asked = AskedOnce(self.openai_client)
        if input.seed is not None:
            one.openai_extra_kwargs = {**(self.openai_extra_kwargs or {}), 'seed': input.seed}
        text = one._generate(input.prompt, *args, **kwargs)
        input.generation = asked.generation
        return text


def _keys(key_env: str | None, key: Any) -> dict[str, Any]:
    """Return the keys in the argument `key` without blanks around them, which the base class would keep."""
    if key_env:
        return {'key': key_from(key_env)}
    if key == 'ENV' and (found := read_key(OPENAI_KEY)):
        return {'key': found.split(',')}
    return {}


def _check_temperature(path: str, kwargs: Mapping[str, Any]) -> None:
    dropped = kwargs.get('temperature') is not None and any(part in path for part in OAI_REASONING_MODEL_LIST)
    if dropped and 'temperature' not in (kwargs.get('openai_extra_kwargs') or {}):
        raise InputError(
            f'temperature = {kwargs["temperature"]}: OpenAISDK sends none to a model with one of '
            f'{OAI_REASONING_MODEL_LIST} in its path ({path!r}); leave it out, or write it into '
            'openai_extra_kwargs, which is always sent'
        )
