"""Sample many requests at once from one transformers model on a CPU, each by its own seed.

`generate` of transformers computes a batch until its longest response ends, reads equal prompts again for
each of n samples, and copies its cache at each token. Here a response that ends makes room for the next, a
prompt is read once, and what it has in common with an earlier one is not read again.
"""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import MissingExtraError

try:
    import torch
    from transformers import AttentionInterface, AutoModelForCausalLM, DynamicCache
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
except ImportError as error:
    raise MissingExtraError('transformers', 'opencompass') from error

PROMPTS_KEPT = 128
"""Prompts whose keys and values are kept, those used last."""

_ATTENTION = 'gpassk_grouped'


class Reply(NamedTuple):
    """What a request gets."""

    tokens: list[int]
    """Without the one that ended it."""
    finish_reason: str
    """'stop', or 'length' at the limit."""
    counted: int
    """Tokens that were drawn, with the one that ended it."""


class Read(NamedTuple):
    """A prompt that the model has read."""

    keys: torch.Tensor
    """Layers × heads × tokens × width; so are the values."""
    values: torch.Tensor
    logits: torch.Tensor
    """Of the token that follows."""


@dataclass
class _Request:
    prompt: tuple[int, ...]
    limit: int
    temperature: float
    random: np.random.Generator
    choices: frozenset[tuple[int, ...]] = frozenset()
    reply: Future[Reply] = field(default_factory=Future)
    said: list[int] = field(default_factory=list)


def grouped_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Attend like `sdpa`; of one token, without a copy of keys and values for each head that shares them.

    The heads that share keys stand as so many queries of one head, for which none need be repeated.
    """
    rows, heads, length, width = query.shape
    if length > 1:
        attended, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **kwargs
        )
        return attended, None
    shared = query.view(rows, key.shape[1], -1, width)
    attended = torch.nn.functional.scaled_dot_product_attention(
        shared, key, value, attn_mask=attention_mask, scale=scaling
    )
    return attended.reshape(rows, 1, heads, width), None


def load_model(folder: str, dtype: str) -> Any:
    """Load a model for `Batcher`; `dtype` is a name such as 'float32'."""
    AttentionInterface.register(_ATTENTION, grouped_attention)
    return AutoModelForCausalLM.from_pretrained(
        folder, dtype=getattr(torch, dtype), attn_implementation=_ATTENTION
    ).eval()


def native_dtype() -> str:
    """Return 'bfloat16' where this processor computes with it, else 'float32'."""
    return 'bfloat16' if torch.cpu._is_avx512_bf16_supported() else 'float32'


class _Slots(DynamicCache):  # type: ignore[misc]
    """Keys and values of the responses under way, a row each; a step writes one token a row."""

    def __init__(self, config: Any, rows: int, longest: int, dtype: torch.dtype) -> None:
        super().__init__()
        heads = config.num_key_value_heads
        width = getattr(config, 'head_dim', None) or config.hidden_size // config.num_attention_heads
        shape = (config.num_hidden_layers, rows, heads, longest, width)
        self.keys_of, self.values_of = _zeros(shape, dtype), _zeros(shape, dtype)
        self.lengths = torch.zeros(rows, dtype=torch.long)
        self.used = self.width = 0

    def update(
        self, key: torch.Tensor, value: torch.Tensor, layer: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the newest token of each row, return all of all rows."""
        rows, at = torch.arange(self.used), self.lengths[: self.used]
        found = []
        for cache, new in ((self.keys_of[layer], key), (self.values_of[layer], value)):
            cache[rows, :, at] = new[:, :, 0]
            found.append(cache[: self.used, :, : self.width])
        return found[0], found[1]

    def begin_step(self) -> torch.Tensor:
        """Return which tokens each row may look at, as additive mask."""
        lengths = self.lengths[: self.used]
        self.width = int(lengths.max()) + 1
        hidden = torch.arange(self.width)[None] > lengths[:, None]
        mask = torch.zeros(hidden.shape, dtype=self.keys_of.dtype).masked_fill(hidden, float('-inf'))
        return mask[:, None, None]

    def add(self, read: Read) -> None:
        """Begin a row with a prompt."""
        tokens = read.keys.shape[2]
        self.keys_of[:, self.used, :, :tokens] = read.keys
        self.values_of[:, self.used, :, :tokens] = read.values
        self.lengths[self.used] = tokens
        self.used += 1

    def remove(self, row: int) -> None:
        """End a row; the last one takes its place."""
        self.used -= 1
        if row != self.used:
            end = int(self.lengths[self.used])
            for cache in (self.keys_of, self.values_of):
                cache[:, row, :, :end] = cache[:, self.used, :, :end]
            self.lengths[row] = self.lengths[self.used]


def _zeros(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return zeros that take memory only where something is written; those of torch take it at once."""
    return torch.from_numpy(np.zeros((*shape[:-1], shape[-1] * dtype.itemsize), np.uint8)).view(dtype)


class Batcher:
    """Samples from a model for many requests at once.

    Args:
        model: of `load_model`.
        ends: tokens that end a response.
        rows: responses under way at a time.
        longest: tokens of prompt and response together.
    """

    def __init__(self, model: Any, ends: Sequence[int], rows: int = 64, longest: int = 2048) -> None:
        self.longest = longest
        self._model, self._ends = model, frozenset(ends)
        self._slots = _Slots(model.config, rows, longest, model.dtype)
        self._rows = rows
        self._active: list[_Request] = []
        self._waiting: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._read: OrderedDict[tuple[int, ...], Read] = OrderedDict()
        threading.Thread(target=self._work, daemon=True).start()

    def submit(
        self,
        prompt: Sequence[int],
        limit: int,
        temperature: float,
        seed: int,
        choices: Sequence[Sequence[int]] = (),
    ) -> Future[Reply]:
        """Ask for a response.

        Args:
            prompt: tokens.
            limit: the most tokens of the response.
            temperature: 0 is greedy.
            seed: of the random numbers of this response, a number a token.
            choices: the only responses that there may be, as tokens; none that another one begins with.

        Raises:
            ValueError: it is longer than `longest`, or empty.
        """
        if not prompt or limit < 1 or len(prompt) + limit > self.longest:
            raise ValueError(
                f'{len(prompt)} tokens of prompt and {limit} of response: expected at least one of each, and '
                f'at most {self.longest} together'
            )
        random = np.random.Generator(np.random.PCG64(seed))
        request = _Request(tuple(prompt), limit, temperature, random, frozenset(map(tuple, choices)))
        self._waiting.put(request)
        return request.reply

    @torch.inference_mode()
    def _work(self) -> None:
        while True:
            try:
                self._admit()
                if self._active:
                    self._step()
            except Exception as error:  # tell those that wait, go on with the next
                for request in self._active:
                    request.reply.set_exception(error)
                self._active.clear()
                self._slots.used = 0

    def _admit(self) -> None:
        """Take what waits, as far as there is room; with nothing to do wait for it."""
        new: list[tuple[_Request, Read]] = []
        while len(self._active) + len(new) < self._rows:
            try:
                request = self._waiting.get(block=not (self._active or new))
            except queue.Empty:
                break
            try:
                new.append((request, self._prompt(request.prompt)))
            except Exception as error:
                request.reply.set_exception(error)
        if not new:
            return
        for request, read in new:
            self._slots.add(read)
            self._active.append(request)
        first = len(self._active) - len(new)
        self._take(first, torch.stack([read.logits for _, read in new]))

    def _prompt(self, prompt: tuple[int, ...]) -> Read:
        known = self._read.get(prompt)
        if known is None:
            known = self._read[prompt] = self._read_anew(prompt)
            if len(self._read) > PROMPTS_KEPT:
                self._read.popitem(last=False)
        self._read.move_to_end(prompt)
        return known

    def _read_anew(self, prompt: tuple[int, ...]) -> Read:
        """Read a prompt, from where it differs from all that were read."""
        alike, shared = max(((_shared(prompt, other), other) for other in self._read), default=(0, ()))
        cache, mask = DynamicCache(), None
        if alike:
            seen = self._read[shared]
            for layer in range(len(seen.keys)):
                cache.update(seen.keys[layer][None, :, :alike], seen.values[layer][None, :, :alike], layer)
            rest = len(prompt) - alike
            visible = torch.ones(rest, len(prompt), dtype=torch.bool).tril(alike)
            mask = torch.zeros(visible.shape, dtype=self._model.dtype)
            mask = mask.masked_fill(~visible, float('-inf'))[None, None]
        at = torch.arange(alike, len(prompt))
        logits = self._model(
            input_ids=torch.tensor([prompt[alike:]]),
            attention_mask=mask,
            position_ids=at[None],
            cache_position=at,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[0, -1]
        keys = torch.stack([layer.keys[0] for layer in cache.layers])
        values = torch.stack([layer.values[0] for layer in cache.layers])
        return Read(keys, values, logits)

    def _step(self) -> None:
        slots = self._slots
        mask = slots.begin_step()
        at = slots.lengths[: slots.used]
        logits = self._model(
            input_ids=torch.tensor([[request.said[-1]] for request in self._active]),
            attention_mask=mask,
            position_ids=at[:, None],
            cache_position=at[:1],
            past_key_values=slots,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        at += 1
        self._take(0, logits)

    def _take(self, first: int, logits: torch.Tensor) -> None:
        """Draw a token for each active request from the `first` on; answer those that end."""
        requests = self._active[first:]
        for request, token in zip(requests, drawn(logits, requests), strict=True):
            request.said.append(token)
        for row in range(len(self._active) - 1, first - 1, -1):
            request = self._active[row]
            ended = request.said[-1] in self._ends
            stops = ended or tuple(request.said) in request.choices
            if stops or len(request.said) == request.limit:
                self._slots.remove(row)
                self._active[row] = self._active[-1]
                self._active.pop()
                text = request.said[:-1] if ended else request.said
                request.reply.set_result(Reply(text, 'stop' if stops else 'length', len(request.said)))


def _shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return how many tokens two prompts begin with together; the last one of `one` is always left over."""
    shorter = min(len(one) - 1, len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def drawn(logits: torch.Tensor, requests: Sequence[_Request]) -> list[int]:
    """Draw a token a row by the inverse of its distribution function, or take the most likely one."""
    for row, request in enumerate(requests):
        if request.choices:
            _hold_to(request.choices, request.said, logits[row])
    scale = torch.tensor([request.temperature or 1.0 for request in requests])
    chances = (logits.float() / scale[:, None]).softmax(-1)
    cumulative = chances.cumsum(-1)
    uniform = torch.tensor([request.random.random() for request in requests], dtype=torch.float32)
    target = uniform[:, None] * cumulative[:, -1:]
    found = torch.searchsorted(cumulative, target, right=True)[:, 0].clamp_(max=logits.shape[1] - 1)
    greedy = torch.tensor([request.temperature == 0 for request in requests])
    found[greedy] = logits[greedy].argmax(-1)
    return list(found.tolist())


def _hold_to(choices: Collection[tuple[int, ...]], said: Sequence[int], logits: torch.Tensor) -> None:
    """Leave only the tokens with which what was said goes on as one of the choices."""
    goes_on = {choice[len(said)] for choice in choices if choice[: len(said)] == tuple(said)}
    allowed = torch.tensor(sorted(goes_on))
    kept = logits[allowed].clone()
    logits.fill_(float('-inf'))
    logits[allowed] = kept
