"""A server that speaks OpenAI's protocol: `OpenAISDK` with a seed a sample, over several servers at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from opencompass.models import OpenAISDK
from opencompass.models.openai_api import OAI_REASONING_MODEL_LIST, OPENAISDK_API_BASE
from opencompass.registry import MODELS

from ...chat.exchange import Access
from ...chat.limits import Limits
from ...chat.routes import endpoints
from ...errors import InputError
from ...keys import HiddenKey, read_key
from ..handover import SERVER_BITS, GenerationsOfBatch, SeedsOfBatch
from .chats import ATTEMPTS, PATIENCE, TIMEOUT, Chats
from .refused import OF_REQUEST, key_from, refuse

OPENAI_KEY = 'OPENAI_API_KEY'
"""What OpenAISDK reads: a key, or several with commas between them."""

RULED = {**OF_REQUEST, 'stream': 'replies are read whole; remove it'}
_NO_FIELDS = ('extra_headers', 'extra_query', 'extra_body', 'timeout')
_HEADERS = {'OpenAI-Organization': 'OPENAI_ORG_ID', 'OpenAI-Project': 'OPENAI_PROJECT_ID'}


@MODELS.register_module()
class SeededOpenAISDK(OpenAISDK):  # type: ignore[misc]
    """`OpenAISDK` with a seed a sample, in the field `seed` of each request; retries keep theirs.

    What a server makes of a seed is its own affair: vLLM and lmdeploy draw by it, OpenAI calls it best
    effort, others ignore or refuse it. Requests have the fields that those of OpenAISDK have, but all servers
    get them, and none is lost while there is hope; see `chats.Chats`.

    Args:
        path: the name of the model at the server.
        openai_api_base: of one server or several.
        max_workers: requests under way at once, a server.
        query_per_second: requests started a second, a server; None for no limit.
        retry: attempts of a request that a server answers with an error, or loses.
        timeout: seconds that a reply may take.
        patience: seconds to go on without a single reply when every server fails.
        random_seed: the seed of the run; those of the samples are derived from it. None: no seed is sent.
        key_env: the environment variable with the API key, in place of `key`.
        kwargs: as for the base class.

    Raises:
        InputError: a fixed seed, an n, a temperature that would not be sent, an address or a proxy that
            cannot be used, or an empty `key_env`.
    """

    def __init__(
        self,
        path: str,
        *,
        openai_api_base: str | Sequence[str] = OPENAISDK_API_BASE,
        query_per_second: float | None = None,
        retry: int = ATTEMPTS,
        timeout: float = TIMEOUT,
        patience: float = PATIENCE,
        random_seed: int | None = None,
        key_env: str | None = None,
        **kwargs: Any,
    ) -> None:
        for where in ('openai_extra_kwargs', 'extra_body'):
            refuse(where, kwargs.get(where) or {}, RULED)
        _check_extra(kwargs.get('openai_extra_kwargs') or {})
        _check_temperature(path, kwargs)
        urls = endpoints(openai_api_base, 'key_env')
        super().__init__(
            path, openai_api_base=str(urls[0]), **{**kwargs, **_keys(key_env, kwargs.get('key', 'ENV'))}
        )
        self.logger.addFilter(HiddenKey(*self.keys))
        self.seeds = None if random_seed is None else SeedsOfBatch(random_seed, SERVER_BITS)
        self.generations = GenerationsOfBatch()
        workers = -(-self.max_workers // len(self.keys))
        self.chats = Chats(
            path,
            urls,
            Limits(*(workers, query_per_second, timeout, retry), float('inf'), patience),
            _access(self.keys, self.orgs, self.proxy_url, self.http_client_cfg),
            think_tag=self.think_tag,
            texts=self.status_code_mappings,
        )

    def generate(
        self, inputs: list[Any], max_out_len: int = 512, temperature: float = 0.7, **kwargs: Any
    ) -> list[str]:
        """Return the text of each reply, '' where there is none; its state is in `generations`.

        With seeds, those of the batch must have been announced. As in the base class a temperature counts
        only as an argument of the class.
        """
        seeds = [None] * len(inputs) if self.seeds is None else self.seeds.take(len(inputs))
        bodies = [self._body(one, max_out_len, seed) for one, seed in zip(inputs, seeds, strict=True)]
        answers, said = self.chats.ask(bodies)
        self.generations.note([generation for _, generation in answers], said)
        return [text for text, _ in answers]

    def _generate(self, input: Any, max_out_len: int, temperature: float) -> str:
        """See the base class: one prompt, without a seed."""
        [(text, _)], _ = self.chats.ask([self._body(input, max_out_len, None)])
        return text

    def _create_fresh_client(self) -> None:
        """Make no client of the base class; see `chats`."""

    def _body(self, prompt: Any, max_out_len: int, seed: int | None) -> dict[str, Any] | None:
        """Return a request with the fields that one of the base class has; None if the prompt is too long."""
        try:
            messages, room = self._preprocess_messages(
                prompt, max_out_len, self.max_seq_len, self.mode, self.get_token_len
            )
        except ValueError as error:
            if 'max_seq_len' not in str(error):
                raise
            return None
        sampling = {'max_tokens': room, 'temperature': self.temperature}
        if _is_reasoning(self.path):
            sampling = {'max_completion_tokens': room}
        return {
            'model': self.path,
            'messages': self._messages_to_chat_completions(messages),
            'n': 1,
            **{name: value for name, value in sampling.items() if value is not None},
            **(self.openai_extra_kwargs or {}),
            **(self.extra_body or {}),
            **({} if seed is None else {'seed': seed}),
        }


def _keys(key_env: str | None, key: Any) -> dict[str, Any]:
    """Return the keys in the argument `key` without blanks around them, which the base class would keep."""
    if key_env:
        return {'key': key_from(key_env)}
    if key == 'ENV' and (found := read_key(OPENAI_KEY)):
        return {'key': [part.strip() for part in found.split(',') if part.strip()]}
    return {}


def _access(
    keys: Sequence[str], orgs: Sequence[str] | None, proxy: str | None, client: Mapping[str, Any]
) -> Access:
    """Return how OpenAI's client would reach a server with these settings.

    Raises:
        InputError: it would do what is not done here.
    """
    if unknown := sorted(set(client) - {'proxy', 'proxies', 'verify', 'trust_env'}):
        raise InputError(f'http_client_cfg has {unknown}; only proxy, proxies, verify and trust_env are used')
    several = client.get('proxies') or {}
    given = {proxy or client.get('proxy'), *(several.values() if isinstance(several, Mapping) else [several])}
    proxies = [address for address in given if address]
    if len(proxies) > 1 or not all(str(one).startswith(('http://', 'https://')) for one in proxies):
        raise InputError('give one proxy, http://host:port, as openai_proxy_url or in http_client_cfg')
    if orgs and len(orgs) > 1:
        raise InputError(f'org has {len(orgs)} organizations: give one')
    headers = {name: os.environ[variable] for name, variable in _HEADERS.items() if os.environ.get(variable)}
    return Access(
        tuple(keys),
        {**headers, **({'OpenAI-Organization': orgs[0]} if orgs else {})},
        str(proxies[0]) if proxies else '',
        bool(client.get('trust_env', True)),
        client.get('verify', True),
    )


def _is_reasoning(path: str) -> bool:
    return any(part in path for part in OAI_REASONING_MODEL_LIST)


def _check_extra(given: Mapping[str, Any]) -> None:
    if arguments := sorted(set(_NO_FIELDS) & set(given)):
        raise InputError(
            f'openai_extra_kwargs has {arguments}, which are no fields of a request; write fields into '
            'extra_body, and timeout beside path'
        )


def _check_temperature(path: str, kwargs: Mapping[str, Any]) -> None:
    dropped = kwargs.get('temperature') is not None and _is_reasoning(path)
    if dropped and 'temperature' not in (kwargs.get('openai_extra_kwargs') or {}):
        raise InputError(
            f'temperature = {kwargs["temperature"]}: OpenAISDK sends none to a model with one of '
            f'{OAI_REASONING_MODEL_LIST} in its path ({path!r}); leave it out, or write it into '
            'openai_extra_kwargs, which is always sent'
        )
