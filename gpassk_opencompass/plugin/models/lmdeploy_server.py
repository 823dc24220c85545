"""An lmdeploy server: `TurboMindAPIModel` with a seed a sample, as a chat, over several servers at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from opencompass.models.base import BaseModel
from opencompass.models.turbomind_api import TurboMindAPIModel, valid_str
from opencompass.registry import MODELS
from opencompass.utils import get_logger

from ...chat.exchange import Access, bearer
from ...chat.limits import Limits
from ...chat.routes import endpoints
from ..handover import SERVER_BITS, GenerationsOfBatch, SeedsOfBatch
from .chats import ATTEMPTS, PATIENCE, TIMEOUT, Chats
from .refused import LENGTH, OF_REQUEST, key_from, refuse

GREEDY = 'a server of lmdeploy always samples; top_k = 1 is greedy'
RULED = {
    **OF_REQUEST,
    'max_tokens': LENGTH,
    'max_new_tokens': LENGTH,
    'max_completion_tokens': LENGTH,
    'do_sample': GREEDY,
}
_WORKERS = 4096  # no limit: a batch is smaller


@MODELS.register_module()
class SeededTurboMindAPI(TurboMindAPIModel):  # type: ignore[misc]
    """`TurboMindAPIModel` with a seed a sample, in the field `seed` of each request; retries keep theirs.

    The base class needs `APIClient`, which lmdeploy 0.18 no longer has, and completes the bare prompt
    without the model's chat template. This one needs no lmdeploy here and asks `/v1/chat/completions`,
    without the session ids by which two processes would interrupt each other; see `chats.Chats`.

    Args:
        path: the name of the model at the server.
        api_addr: where the server is, or the servers are, such as 'http://node1:23333'.
        max_seq_len, meta_template, end_str: as for the base class.
        temperature, top_p, top_k: None leaves one to the server, whose default is the model's own.
        gen_config: further fields of a request, such as `repetition_penalty` or `chat_template_kwargs`.
        random_seed: the seed of the run; those of the samples are derived from it. None: no seed is sent.
        key_env: the environment variable with the server's key, if it wants one.
        max_workers: requests under way at once, a server; None: as many as a batch has.
        query_per_second: requests started a second, a server; None for no limit.
        retry: attempts of a request that a server answers with an error, or loses.
        timeout: seconds that an answer may take.
        patience: seconds to go on without a single reply when every server fails.

    Raises:
        InputError: gen_config has what would be dropped or overruled, `key_env` is empty, or an address
            cannot be used.
    """

    def __init__(
        self,
        path: str,
        api_addr: str | Sequence[str] = 'http://0.0.0.0:23333',
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        gen_config: Mapping[str, Any] | None = None,
        random_seed: int | None = None,
        key_env: str | None = None,
        retry: int = ATTEMPTS,
        timeout: float = TIMEOUT,
        *,
        max_seq_len: int = 2048,
        meta_template: Mapping[str, Any] | None = None,
        end_str: str | None = None,
        max_workers: int | None = None,
        query_per_second: float | None = None,
        patience: float = PATIENCE,
    ) -> None:
        settings = dict(gen_config or {})
        refuse('gen_config', settings, RULED)
        key = key_from(key_env) if key_env else ''
        urls = endpoints(api_addr, 'key_env')
        # Not of the base class, which makes a client that lmdeploy does not have.
        BaseModel.__init__(self, path, max_seq_len=max_seq_len, meta_template=meta_template)
        self.logger = get_logger()
        self.model_name, self.end_str = path, end_str
        self.temperature, self.top_p, self.top_k, self.gen_config = temperature, top_p, top_k, settings
        # What its methods use beside `generate`, which count tokens.
        self.chatbot = SimpleNamespace(headers=bearer(key))
        self.api_addr = str(urls[0].parent.parent.parent).rstrip('/')
        self.encode_addr, self.ppl_addr = f'{self.api_addr}/v1/encode', f'{self.api_addr}/get_ppl'
        self.seeds = None if random_seed is None else SeedsOfBatch(random_seed, SERVER_BITS)
        self.generations = GenerationsOfBatch()
        self.chats = Chats(
            path,
            urls,
            Limits(
                max_workers or _WORKERS,
                *(query_per_second, timeout, retry, float('inf'), patience),
            ),
            Access((key,), environment=True),
        )

    def generate(self, inputs: list[Any], max_out_len: int = 512, temperature: float = 1.0) -> list[str]:
        """See the base class; with seeds, those of the batch must have been announced."""
        seeds = self.seeds.take(len(inputs)) if self.seeds is not None else [None] * len(inputs)
        bodies = [self._body(one, max_out_len, seed) for one, seed in zip(inputs, seeds, strict=True)]
        answers, said = self.chats.ask(bodies)
        self.generations.note([generation for _, generation in answers], said)
        texts = [valid_str(text) for text, _ in answers]
        return [text.split(self.end_str)[0] for text in texts] if self.end_str else texts

    def _body(self, prompt: str, max_out_len: int, seed: int | None) -> dict[str, Any]:
        sampling = {'temperature': self.temperature, 'top_p': self.top_p, 'top_k': self.top_k, 'seed': seed}
        return {
            'model': self.path,
            'messages': [{'role': 'user', 'content': prompt}],
            'max_tokens': max_out_len,
            'max_completion_tokens': max_out_len,
            **{name: value for name, value in sampling.items() if value is not None},
            **self.gen_config,
        }
