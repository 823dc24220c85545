"""An lmdeploy server: `TurboMindAPIModel` with a seed a sample, as a chat."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from opencompass.models.turbomind_api import TurboMindAPIModel
from opencompass.registry import MODELS

from ...keys import hidden, without_user
from ...results.health import Generation
from ..handover import SERVER_BITS, AskedOnce, GenerationsOfBatch, SeedsOfBatch
from .refused import COUNT, LENGTH, SEED, key_from, refuse

CLIENT_MODULE = 'lmdeploy.serve.openai.api_client'
GREEDY = 'a server of lmdeploy always samples; top_k = 1 is greedy'
RULED = {
    'seed': SEED,
    'random_seed': SEED,
    'n': COUNT,
    'max_tokens': LENGTH,
    'max_new_tokens': LENGTH,
    'max_completion_tokens': LENGTH,
    'do_sample': GREEDY,
}


@MODELS.register_module()
class SeededTurboMindAPI(TurboMindAPIModel):  # type: ignore[misc]
    """`TurboMindAPIModel` with a seed a sample, in the field `seed` of each request; retries keep theirs.

    The base class needs `APIClient`, which lmdeploy 0.18 no longer has, and completes the bare prompt
    without the model's chat template. This one needs no lmdeploy here and asks `/v1/chat/completions`,
    as many requests at a time as the batch has, without the session ids by which two processes would
    interrupt each other.

    Args:
        path: the name of the model at the server.
        api_addr: where the server is, such as 'http://node1:23333'.
        temperature, top_p, top_k: None leaves one to the server, whose default is the model's own.
        gen_config: further fields of a request, such as `repetition_penalty` or `chat_template_kwargs`.
        random_seed: the seed of the run; those of the samples are derived from it. None: no seed is sent.
        key_env: the environment variable with the server's key, if it wants one.
        retry: how often a request that failed is sent again, with growing waits.
        timeout: seconds that an answer may take.
        kwargs: as for the base class.

    Raises:
        InputError: gen_config has what would be dropped or overruled, or `key_env` is empty.
    """

    def __init__(
        self,
        path: str,
        api_addr: str = 'http://0.0.0.0:23333',
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        gen_config: Mapping[str, Any] | None = None,
        random_seed: int | None = None,
        key_env: str | None = None,
        retry: int = 5,
        timeout: float = 3600,
        **kwargs: Any,
    ) -> None:
        settings = dict(gen_config or {})
        refuse('gen_config', settings, RULED)
        key = key_from(key_env) if key_env else None
        sampling = {'temperature': temperature, 'top_p': top_p, 'top_k': top_k, 'gen_config': settings}
        with _chat_as_client(retry, timeout):
            super().__init__(path, api_addr, key, **sampling, **kwargs)
        self.path = path
        self.seeds = None if random_seed is None else SeedsOfBatch(random_seed, SERVER_BITS)
        self.generations = GenerationsOfBatch()

    def generate(self, inputs: list[Any], max_out_len: int = 512, temperature: float = 1.0) -> list[str]:
        """See the base class; with seeds, those of the batch must have been announced."""
        seeds = self.seeds.take(len(inputs)) if self.seeds is not None else [None] * len(inputs)

        def ask(prompt: Any, seed: int | None) -> tuple[str, Generation]:
            one = copy.copy(self)
            one.chatbot = copy.copy(self.chatbot)
            one.chatbot.openai_client = asked = AskedOnce(self.chatbot.openai_client)
            one.gen_config = self.gen_config if seed is None else {**self.gen_config, 'seed': seed}
            text = str(one._generate(prompt, max_out_len, temperature, self.end_str))
            return text, asked.generation

        with ThreadPoolExecutor(max(1, len(inputs))) as pool:
            replies = list(pool.map(ask, inputs, seeds))
        self.generations.note([generation for _, generation in replies])
        return [text for text, _ in replies]

    def _get_generation_kwargs(self, max_out_len: int, temperature: float) -> tuple[int, dict[str, Any]]:
        sampling = {'temperature': self.temperature, 'top_p': self.top_p, 'top_k': self.top_k}
        given = {name: value for name, value in sampling.items() if value is not None}
        return max_out_len, {**given, **self.gen_config}


class ChatClient:
    """Stands where `TurboMindAPIModel` expects lmdeploy's client, and asks for chat completions."""

    def __init__(self, api_addr: str, api_key: str | None, retry: int, timeout: float) -> None:
        from openai import OpenAI

        self._address, self._key = without_user(api_addr), api_key or ''
        self.openai_client = OpenAI(
            base_url=f'{api_addr}/v1', api_key=api_key or 'none', max_retries=retry, timeout=timeout
        )
        self.headers = {'Authorization': f'Bearer {api_key}'} if api_key else {}

    def completions_v1(
        self, prompt: str, model: str, max_tokens: int, max_completion_tokens: int, **settings: Any
    ) -> Iterator[dict[str, Any]]:
        """Return the answer in the form that the client of lmdeploy gave it."""
        limits = {'max_tokens': max_tokens, 'max_completion_tokens': max_completion_tokens}
        choice = self._asked(model, prompt, {**limits, **settings}).choices[0]
        if choice.finish_reason not in ('stop', 'length'):
            raise RuntimeError(
                f'{self._address} ended an answer of {model!r} with {choice.finish_reason!r}; see its log'
            )
        thought = getattr(choice.message, 'reasoning_content', None)
        text = choice.message.content or ''
        whole = f'{thought}</think>{text}' if thought else text
        # Some gateways send their errors, which may quote the key, as answers.
        yield {'choices': [{'text': hidden(whole, self._key)}]}

    def _asked(self, model: str, prompt: str, settings: dict[str, Any]) -> Any:
        from openai import OpenAIError

        messages: Any = [{'role': 'user', 'content': prompt}]
        try:
            return self.openai_client.chat.completions.create(
                model=model, messages=messages, extra_body=settings
            )
        except OpenAIError as error:
            # It goes to the log of the task, and what the server says may quote the key.
            said = hidden(f'{type(error).__name__}: {error}', self._key)
        raise RuntimeError(f'{self._address} gave no answer of {model!r}: {said}')


@contextmanager
def _chat_as_client(retry: int, timeout: float) -> Iterator[None]:
    """Let the module that the base class takes its client from offer `ChatClient` meanwhile."""

    def client(api_addr: str, api_key: str | None) -> ChatClient:
        return ChatClient(api_addr, api_key, retry, timeout)

    stand_in, there = ModuleType(CLIENT_MODULE), sys.modules.get(CLIENT_MODULE)
    vars(stand_in)['APIClient'] = client
    sys.modules[CLIENT_MODULE] = stand_in
    try:
        yield
    finally:
        del sys.modules[CLIENT_MODULE]
        if there is not None:
            sys.modules[CLIENT_MODULE] = there
