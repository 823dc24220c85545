"""Models behind a batch endpoint: all prompts of a shard at once, answered within a day at half the price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass.models.base_api import BaseAPIModel
from opencompass.registry import MODELS

from ...batches import Answer, BatchApi, Collector, Patience, Request
from ...batches.anthropic_batches import AnthropicBatches
from ...batches.notes import Notes, notes_beside
from ...batches.openai_batches import OpenAIBatches
from ...batches.protocol import custom_id
from ...errors import InputError
from ...keys import HiddenKey
from ...results.health import Generation
from ..handover import SERVER_BITS, GenerationsOfBatch, NotesOfBatch, Sample, SeedsOfBatch
from ..responses import response_of
from .refused import LENGTH, OF_REQUEST, key_from, refuse

OPENAI_KEY, ANTHROPIC_KEY = 'OPENAI_API_KEY', 'ANTHROPIC_API_KEY'

NO_KEYS = ('ENV', 'EMPTY')

ROLES = {'SYSTEM': 'system', 'HUMAN': 'user', 'BOT': 'assistant'}
"""What OpenCompass calls who speaks → what the APIs call it."""

NO_SEEDS = 'this API takes no seed; leave it out: its samples are independent without one'
RULED = {
    **OF_REQUEST,
    'max_tokens': LENGTH,
    'max_completion_tokens': LENGTH,
    'stream': 'a batch has no streams; remove it',
}


class BatchModel(BaseAPIModel):  # type: ignore[misc]
    """A model that answers batches; each call of `generate` is one, or as many as the API's limits ask for.

    What is submitted is noted beside the predictions before it is sent, so that a task that was killed and
    is resumed (`-r`) collects its batch instead of paying for another one.

    Args:
        path: the name of the model at the API.
        api: its batch endpoint.
        key: the API key, which is hidden in all that is logged.
        body: fields of each request beside the model, the messages and the length.
        random_seed: the seed of the run; those of the samples are derived from it. None: no seed is sent.
        poll: seconds between two looks at a batch.
        patience: seconds for which the API may give no usable answer.
        retry: how often a request is submitted again that expired, was broken off or met an error.
        kwargs: as for the base class.
    """

    def __init__(
        self,
        path: str,
        api: BatchApi,
        key: str,
        body: Mapping[str, Any],
        random_seed: int | None,
        poll: float,
        patience: float,
        retry: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(path, retry=retry, **kwargs)
        self._api, self._body = api, dict(body)
        self._patience = Patience(poll, patience, retry)
        self.logger.addFilter(HiddenKey(key))
        self.seeds = None if random_seed is None else SeedsOfBatch(random_seed, SERVER_BITS)
        self.notes = NotesOfBatch()
        self.generations = GenerationsOfBatch()

    def generate(self, inputs: Sequence[Any], max_out_len: int = 512) -> list[str]:
        """Submit the prompts, wait for their batch, and return the responses in the order of the prompts.

        Raises:
            InputError: the API refuses the batch as a whole, or the key.
            IncompleteError: it cannot be reached, and what is submitted goes on there until -r collects it;
                or somebody cancelled a batch there.
        """
        told = self.notes.take(len(inputs))
        requests = [
            self._request(prompt, sample, max_out_len)
            for prompt, sample in zip(inputs, told.samples, strict=True)
        ]
        notes = Notes(notes_beside(told.predictions))
        try:
            answers = Collector(self._api, notes, self._patience, self._say, told.check).answers(requests)
        finally:
            self._api.close()
        responses = [_response(answer) for answer in answers]
        said = next((answer.said for answer in answers if answer.said), '')
        self.generations.note([generation for _, generation in responses], said)
        return [text for text, _ in responses]

    def body_of(self, messages: list[dict[str, str]], max_out_len: int, seed: int | None) -> dict[str, Any]:
        """Return the body of a request."""
        raise NotImplementedError

    def _request(self, prompt: Any, sample: Sample, max_out_len: int) -> Request:
        seed = None if self.seeds is None else self.seeds.seed_of(sample)
        body = self.body_of(messages_of(prompt), max_out_len, seed)
        return Request(custom_id(sample.uid, sample.replica, body), body)

    def _say(self, line: str, level: str) -> None:
        getattr(self.logger, level)(f'{self._api.name}: {line}')


@MODELS.register_module()
class OpenAIBatchModel(BatchModel):
    """A model behind OpenAI's Batch API, or a server that speaks it.

    Args:
        path: the name of the model at the API.
        openai_api_base: where the API is, such as 'http://node1:8000/v1'; default: OpenAI's.
        key_env: the environment variable with the API key.
        key: 'ENV' takes it from there, 'EMPTY' is for a server that wants none.
        temperature, top_p: None leaves one to the API.
        extra_body: further fields of a request.
        timeout: seconds for a request to the API, such as the upload of a file.
        random_seed, poll, patience, retry, kwargs: see `BatchModel`.

    Raises:
        InputError: a fixed seed, an n, a length, a model or messages in `extra_body`, an empty
            `key_env`, or a key in place of its name.
    """

    def __init__(
        self,
        path: str,
        openai_api_base: str | None = None,
        key_env: str = OPENAI_KEY,
        key: str = 'ENV',
        temperature: float | None = None,
        top_p: float | None = None,
        extra_body: Mapping[str, Any] | None = None,
        random_seed: int | None = None,
        poll: float = 30.0,
        patience: float = 3600.0,
        retry: int = 2,
        timeout: float = 600.0,
        **kwargs: Any,
    ) -> None:
        refuse('extra_body', extra_body or {}, RULED)
        if key not in NO_KEYS:  # not repeated: it may be the key itself
            raise InputError(f"key must be one of {NO_KEYS}; for a key of its own write key_env='NAME'")
        secret = key_from(key_env) if key == 'ENV' else ''
        api = OpenAIBatches(secret, openai_api_base, timeout)
        body = {**_given(temperature=temperature, top_p=top_p), **(extra_body or {})}
        super().__init__(path, api, secret, body, random_seed, poll, patience, retry, **kwargs)

    def body_of(self, messages: list[dict[str, str]], max_out_len: int, seed: int | None) -> dict[str, Any]:
        """See the base class; `max_completion_tokens`, since reasoning models take no `max_tokens`."""
        length = {'max_completion_tokens': max_out_len}
        return {'model': self.path, 'messages': messages, **length, **self._body, **_given(seed=seed)}


@MODELS.register_module()
class AnthropicBatchModel(BatchModel):
    """A model behind Anthropic's Message Batches. The API has no seeds: samples differ without.

    Args:
        path: the name of the model at the API.
        base_url: where the API is; default: Anthropic's.
        key_env: the environment variable with the API key.
        temperature, top_p, top_k: None leaves one to the API. Models since Claude 4.7 take none of them.
        extra_body: further fields of a request, such as `thinking` or `system`.
        timeout: seconds for a request to the API.
        poll, patience, retry, kwargs: see `BatchModel`.

    Raises:
        InputError: a seed, an n, a length, a model or messages in `extra_body`, a seed as an argument, or an
            empty `key_env`.
    """

    def __init__(
        self,
        path: str,
        base_url: str | None = None,
        key_env: str = ANTHROPIC_KEY,
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        extra_body: Mapping[str, Any] | None = None,
        poll: float = 30.0,
        patience: float = 3600.0,
        retry: int = 2,
        timeout: float = 600.0,
        **kwargs: Any,
    ) -> None:
        without = dict.fromkeys(('seed', 'random_seed'), NO_SEEDS)
        refuse('AnthropicBatchModel', kwargs, without)
        refuse('extra_body', extra_body or {}, {**RULED, **without})
        key = key_from(key_env)
        api = AnthropicBatches(key, base_url, timeout)
        body = {**_given(temperature=temperature, top_p=top_p, top_k=top_k), **(extra_body or {})}
        super().__init__(path, api, key, body, None, poll, patience, retry, **kwargs)

    def body_of(self, messages: list[dict[str, str]], max_out_len: int, seed: int | None) -> dict[str, Any]:
        """See the base class; what the system says stands apart."""
        told = '\n'.join(one['content'] for one in messages if one['role'] == 'system')
        spoken = [one for one in messages if one['role'] != 'system']
        body = {'model': self.path, 'max_tokens': max_out_len, 'messages': spoken}
        return {**body, **({'system': told} if told else {}), **self._body}


def messages_of(prompt: Any) -> list[dict[str, str]]:
    """Return a prompt of OpenCompass as messages.

    Args:
        prompt: text, or the turns of a dialogue, `{'role': 'HUMAN', 'prompt': …}`.

    Raises:
        InputError: a turn of somebody unknown.

    >>> messages_of('2+2?')
    [{'role': 'user', 'content': '2+2?'}]
    """
    if isinstance(prompt, str):
        return [{'role': 'user', 'content': prompt}]
    if unknown := {turn['role'] for turn in prompt} - {*ROLES, *ROLES.values()}:
        raise InputError(f'a prompt has the role {min(unknown)!r}; known are {", ".join(ROLES)}')
    return [
        {
            'role': ROLES.get(turn['role'], turn['role']),
            'content': turn.get('prompt', turn.get('content', '')),
        }
        for turn in prompt
    ]


def _response(answer: Answer) -> tuple[str, Generation]:
    if answer.reply is None:
        return '', Generation(state=answer.state)
    return response_of(answer.reply)


def _given(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}
