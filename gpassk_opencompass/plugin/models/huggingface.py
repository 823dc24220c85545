"""transformers: `HuggingFacewithChatTemplate` with a seed a sample."""

from __future__ import annotations

import copy
import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from opencompass.models import HuggingFacewithChatTemplate
from opencompass.models.huggingface_above_v4_33 import (
    _convert_chat_messages,
    _format_with_fast_chat_template,
)
from opencompass.registry import MODELS
from torch.overrides import TorchFunctionMode

from ...health import CUT_OFF, Generation
from ..seeds import COUNT, LENGTH, SEED, Done, Seeded, refuse, refuse_greedy, refuse_missing, settled

RULED = {'seed': SEED, 'random_seed': SEED, 'num_return_sequences': COUNT, 'max_new_tokens': LENGTH}


@MODELS.register_module()
class SeededHuggingFace(Seeded, HuggingFacewithChatTemplate):  # type: ignore[misc]
    """`HuggingFacewithChatTemplate` with a seed a sample; weights are loaded when there is a use for them.

    Sample i draws its tokens with numbers from its own generator, so it does not depend on the other
    samples of its batch, on shards or on an earlier part of the run. Guaranteed: the same text at the
    same batch composition (batch size and shards), software and device. With another composition the
    random numbers stay the same but padding changes the logits in their last bits, which may, rarely,
    tip a token.

    A prompt that does not fit `max_seq_len` (by default the context of the model) is not drawn: OpenCompass
    would cut its end off. With `mode='mid'`, which asks for that, it is.

    Args:
        random_seed: the seed of the run; those of the samples are derived from it.
        generation_kwargs: sampling settings; InputError for what would be overruled or ignored.
    """

    def __init__(
        self,
        path: str,
        *args: Any,
        generation_kwargs: Mapping[str, Any] | None = None,
        random_seed: int = 0,
        **kwargs: Any,
    ) -> None:
        settings = dict(generation_kwargs or {})
        refuse('generation_kwargs', settings, RULED)
        if settings.get('do_sample') is False:
            refuse_greedy('generation_kwargs', settings, 'do_sample=True')
        refuse_missing(path)
        self.random_seed = random_seed
        super().__init__(path, *args, generation_kwargs=settings, **kwargs)

    def _load_model(self, path: str, kwargs: Mapping[str, Any], **more: Any) -> None:
        self._load = partial(super()._load_model, path=path, kwargs=dict(kwargs), **more)

    def __getattr__(self, name: str) -> Any:
        load = self.__dict__.pop('_load', None) if name == 'model' else None
        if load is None:
            raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')
        load()
        return self.__dict__['model']

    def sample(
        self, prompts: Sequence[Any], seeds: Sequence[int], max_out_len: int, done: Done, **options: Any
    ) -> None:
        """See `Seeded`."""
        read = self._as_read(prompts)
        tokens = self.tokenizer(read, add_special_tokens=bool(self.fastchat_template))['input_ids']
        most = math.inf if self.mode == 'mid' or self.max_seq_len is None else self.max_seq_len
        fitting = [number for number, ids in enumerate(tokens) if len(ids) < most]
        for number, ids in enumerate(tokens):
            if len(ids) >= most:
                said = f'a prompt has {len(ids)} tokens, and the context {most}'
                done(number, '', Generation(prompt_tokens=len(ids), state='too long'), said)
        if not fitting:
            return
        one = copy.copy(self)
        one.model = watched = _Watched(self.model, self.tokenizer, max_out_len)
        with SeededMultinomial([seeds[number] for number in fitting]):
            texts = HuggingFacewithChatTemplate.generate(
                one, [prompts[number] for number in fitting], max_out_len, **options
            )
        for number, text, generation in zip(fitting, texts, watched.generations(), strict=True):
            done(number, *settled(text, generation, read[number]), '')

    def _as_read(self, inputs: Sequence[Any]) -> list[str]:
        """Return what the model will read, before the base class would cut it."""
        messages = _convert_chat_messages(inputs)
        if self.fastchat_template:
            formatted: list[str] = _format_with_fast_chat_template(messages, self.fastchat_template)
            return formatted
        template = self.tokenizer.apply_chat_template
        return [template(one, add_generation_prompt=True, tokenize=False) for one in messages]


class _Watched:
    """Stands where the wrapper has its model, for one batch, and keeps what went in and what came out."""

    def __init__(self, model: Any, tokenizer: Any, room: int) -> None:
        self._model, self._tokenizer, self._room = model, tokenizer, room
        self._given: Mapping[str, Any] = {}
        self._outputs: Any = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate(self, **given: Any) -> Any:
        self._given = given
        self._outputs = self._model.generate(**given)
        return self._outputs

    def generations(self) -> Iterator[Generation]:
        """Yield what the tokens of each row tell."""
        mask = self._given.get('attention_mask')
        prompts = [None] * len(self._outputs) if mask is None else mask.sum(1).tolist()
        start = int(self._given['input_ids'].shape[1])
        for tokens, prompt in zip(self._outputs[:, start:].tolist(), prompts, strict=False):
            reason, count = self._end_of(tokens)
            yield Generation(reason, prompt, count)

    def _end_of(self, tokens: list[int]) -> tuple[str | None, int]:
        """Return why a row ended, and how many tokens it has up to there.

        Behind its end stands padding, or what the model said while the rest of its batch was not done.
        """
        ends = self._given.get('eos_token_id', self._model.generation_config.eos_token_id)
        final = set(ends if isinstance(ends, list) else [ends])
        criteria = self._given.get('stopping_criteria') or ()
        stops = [word for one in criteria for word in getattr(one, 'stop_words', ())]
        end = next((at for at, token in enumerate(tokens, 1) if token in final), len(tokens) + 1)
        said = min(end, len(tokens))

        def has_stop(count: int) -> bool:
            text = self._tokenizer.decode(tokens[:count])
            return any(stop in text for stop in stops)

        if has_stop(said):  # then the first count of tokens that has one
            end = bisect_left(range(said), True, key=has_stop)
        if end <= len(tokens):
            return 'stop', end
        return (CUT_OFF if len(tokens) == self._room else None), len(tokens)


class SeededMultinomial(TorchFunctionMode):
    """Within this context `torch.multinomial` draws row i with the generator of seed i.

    transformers samples a batch with one call on the global generator. A uniform number a row and the
    inverse of the row's distribution function give the same distribution, row by row and on any device.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        super().__init__()
        self._generators = [np.random.Generator(np.random.PCG64(seed)) for seed in seeds]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.multinomial:
            return self._draw(*args, **kwargs)
        return func(*args, **kwargs)

    def _draw(self, probs: torch.Tensor, num_samples: int, *_: Any, **__: Any) -> torch.Tensor:
        if num_samples != 1 or probs.shape[0] != len(self._generators):
            raise RuntimeError(
                f'{probs.shape[0]} rows × {num_samples} draws for {len(self._generators)} samples: a seed a '
                'sample needs one sequence a prompt; leave num_return_sequences and num_beams at 1'
            )
        uniform = torch.tensor([g.random() for g in self._generators], dtype=torch.float64)
        cumulative = probs.double().cumsum(-1)
        # Scaled by the row's total, a number below 1 never lands behind the last token; with right=True
        # a token of probability 0 is never drawn.
        target = uniform.to(probs.device)[:, None] * cumulative[:, -1:]
        return torch.searchsorted(cumulative, target, right=True)
