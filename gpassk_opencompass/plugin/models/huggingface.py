"""transformers: `HuggingFacewithChatTemplate` with a seed a sample."""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
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

from ...errors import InputError
from ...responses import with_states
from ...results.health import CUT_OFF, Generation
from ..handover import GenerationsOfBatch, SeedsOfBatch
from ..responses import mended
from ..serial import AsItIs, BreakLinks, Piece, break_links, templated
from .refused import COUNT, LENGTH, SEED, refuse, refuse_greedy, refuse_missing

RULED = {'seed': SEED, 'random_seed': SEED, 'num_return_sequences': COUNT, 'max_new_tokens': LENGTH}


@MODELS.register_module()
class SeededHuggingFace(HuggingFacewithChatTemplate):  # type: ignore[misc]
    """`HuggingFacewithChatTemplate` with a seed a sample.

    Sample i draws its tokens with numbers from its own generator, so it does not depend on the other
    samples of its batch, on shards or on an earlier part of the run. Guaranteed: the same text at the
    same batch composition (batch size and shards), software and device. With another composition the
    random numbers stay the same but padding changes the logits in their last bits, which may, rarely,
    tip a token.

    A prompt that does not fit `max_seq_len` (by default the context of the model) is not drawn: OpenCompass
    would cut its end off. With `mode='mid'`, which asks for that, it is.

    Args:
        random_seed: the seed of the run; those of the samples are derived from it.
        generation_kwargs: sampling settings.
        serial_links, serial_link_text: how often a response is made to go on behind its end, and with which
            words; see `serial.BreakLinks`.
        kwargs: as for the base class.

    Raises:
        InputError: generation_kwargs has what would be overruled or ignored, or links stand beside a way of
            making prompts in which a response cannot go on.
    """

    def __init__(
        self,
        path: str,
        *args: Any,
        generation_kwargs: Mapping[str, Any] | None = None,
        random_seed: int = 0,
        serial_links: int | None = None,
        serial_link_text: str | None = None,
        **kwargs: Any,
    ) -> None:
        settings = dict(generation_kwargs or {})
        refuse('generation_kwargs', settings, RULED)
        if settings.get('do_sample') is False:
            refuse_greedy('generation_kwargs', settings, 'do_sample=True')
        refuse_missing(path)
        self.links = break_links(serial_links, serial_link_text)
        self._marks: Sequence[str] = ()
        self._model: Any = None
        self._weights: Callable[[], Any] = lambda: None
        super().__init__(path, *args, generation_kwargs=settings, **kwargs)
        if self.links and (self.fastchat_template or self.mode == 'mid'):
            raise InputError("serial_links needs the model's own chat template, and prompts that are whole")
        self.seeds = SeedsOfBatch(random_seed)
        self.generations = GenerationsOfBatch()

    @property
    def model(self) -> Any:
        """Return what draws, loaded when it is first asked for: a task may have nothing to draw."""
        return self._weights() if self._model is None else self._model

    @model.setter
    def model(self, model: Any) -> None:
        self._model = model

    def _load_model(self, path: str, kwargs: Mapping[str, Any], **more: Any) -> None:
        from ...prefork.kept import kept  # for who loads a model, not for who evaluates

        key = 'transformers', repr((path, sorted(kwargs.items()), sorted(more.items())))

        def load() -> Any:
            one = copy.copy(self)
            super(SeededHuggingFace, one)._load_model(path=path, kwargs=dict(kwargs), **more)
            return one._model

        self._weights = cache(lambda: kept(key, load))  # copies of this wrapper share it

    def generate(self, inputs: list[Any], max_out_len: int, *args: Any, **kwargs: Any) -> list[str]:
        """See the base class; the seeds of the batch must have been announced."""
        prompts = self._prompts(inputs)
        if self.links:
            answers = self._serially(self.links, prompts, max_out_len, *args, **kwargs)
        else:
            seeds = self.seeds.take(len(inputs))
            pieces = [Piece(prompt, seed, max_out_len) for prompt, seed in zip(prompts, seeds, strict=True)]
            drawn = self._where_it_fits(inputs, pieces, *args, **kwargs)
            answers = [
                (mended(text, one, prompt), one) for (text, one), prompt in zip(drawn, prompts, strict=True)
            ]
        told = [one for _, one in answers]
        lengths = [one.prompt_tokens or 0 for one in told if one.state == 'too long']
        longest = f'a prompt has {max(lengths)} tokens, and the context {self.max_seq_len}' if lengths else ''
        self.generations.note(told, longest)
        return [text for text, _ in answers]

    def _serially(
        self, links: BreakLinks, prompts: list[str], max_out_len: int, *args: Any, **kwargs: Any
    ) -> list[tuple[str, Generation]]:
        one = copy.copy(self)
        one.tokenizer = AsItIs(self.tokenizer)

        def draw(pieces: Sequence[Piece], stops: Sequence[str]) -> list[tuple[str, Generation]]:
            one._marks = stops
            return one._where_it_fits([piece.text for piece in pieces], pieces, *args, **kwargs)

        return links.responses(prompts, self.seeds.take_by_round(len(prompts)), max_out_len, draw)

    def _where_it_fits(
        self, inputs: Sequence[Any], pieces: Sequence[Piece], *args: Any, **kwargs: Any
    ) -> list[tuple[str, Generation]]:
        """Draw what fits the context, and say so of the rest.

        Args:
            inputs: of the base class.
            pieces: what the model reads of them.
        """
        lengths = self._lengths([piece.text for piece in pieces])
        most = None if self.mode == 'mid' else self.max_seq_len
        fitting = [place for place, length in enumerate(lengths) if most is None or length < most]
        answers = [('', Generation(prompt_tokens=length, state='too long')) for length in lengths]
        if fitting:
            drawn = self._drawn(
                [inputs[place] for place in fitting], [pieces[place] for place in fitting], *args, **kwargs
            )
            for place, answer in zip(fitting, drawn, strict=True):
                answers[place] = answer
        return answers

    def _drawn(
        self, inputs: list[Any], pieces: Sequence[Piece], *args: Any, **kwargs: Any
    ) -> list[tuple[str, Generation]]:
        one = copy.copy(self)
        one.model = watched = _Watched(
            self.model, self.tokenizer, [piece.room for piece in pieces], self._marks
        )
        with SeededMultinomial([piece.seed or 0 for piece in pieces]):
            texts: list[str] = super(SeededHuggingFace, one).generate(
                inputs, max(piece.room for piece in pieces), *args, **kwargs
            )
        texts = [
            text if shorter is None else shorter
            for text, shorter in zip(texts, watched.shorter_texts(), strict=True)
        ]
        return list(zip(texts, with_states(texts, list(watched.generations())), strict=True))

    def _prompts(self, inputs: list[Any]) -> list[str]:
        """Return what the model will read, before the base class would cut it."""
        if not self.fastchat_template:
            return templated(inputs, self.tokenizer, {})
        messages = _convert_chat_messages(inputs)
        formatted: list[str] = _format_with_fast_chat_template(messages, self.fastchat_template)
        return formatted

    def _lengths(self, prompts: list[str]) -> list[int]:
        tokens = self.tokenizer(prompts, add_special_tokens=bool(self.fastchat_template))
        return [len(ids) for ids in tokens['input_ids']]


class _EndsAt:
    """Ends a row where it has said one of some words, as a stopping criterion of transformers.

    OpenCompass's own looks at the end of the prompt, too, as far back as its longest word is long: it would
    take the end of a turn that stands there for one of the response.

    Args:
        words: to stop at.
        start: tokens of the prompt.
    """

    def __init__(self, words: Sequence[str], tokenizer: Any, start: int) -> None:
        self.stop_words = tuple(words)
        self._tokenizer, self._start = tokenizer, start
        longest = (len(tokenizer.encode(word, add_special_tokens=False)) for word in words)
        self._reach = max(longest, default=0) + 1  # a word may begin within a token

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        said = input_ids[:, max(self._start, input_ids.shape[1] - self._reach) :]
        ended = [any(word in text for word in self.stop_words) for text in self._tokenizer.batch_decode(said)]
        return torch.tensor(ended, dtype=torch.bool, device=input_ids.device)


class _Watched:
    """Stands where the wrapper has its model, for one batch, and keeps what went in and what came out.

    Args:
        model, tokenizer: do the work.
        rooms: how many tokens each row may have; the batch goes on until the longest has its own.
        marks: words at which a row ends, beside those of the wrapper.
    """

    def __init__(self, model: Any, tokenizer: Any, rooms: Sequence[int], marks: Sequence[str]) -> None:
        self._model, self._tokenizer, self._rooms, self._marks = model, tokenizer, rooms, marks
        self._given: Mapping[str, Any] = {}
        self._outputs: Any = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate(self, **given: Any) -> Any:
        self._given = given
        if self._marks:
            own = _EndsAt(self._marks, self._tokenizer, self._start)
            given['stopping_criteria'] = [*given.get('stopping_criteria', ()), own]
        self._outputs = self._model.generate(**given)
        return self._outputs

    def generations(self) -> Iterator[Generation]:
        """Yield what the tokens of each row tell."""
        mask = self._given.get('attention_mask')
        prompts = [None] * len(self._outputs) if mask is None else mask.sum(1).tolist()
        for tokens, room, prompt in zip(self._tokens(), self._rooms, prompts, strict=False):
            reason, count = self._end_of(tokens, room)
            yield Generation(reason, prompt, count)

    def shorter_texts(self) -> Iterator[str | None]:
        """Yield the text of each row whose end the wrapper does not know, None of the others."""
        width = self._outputs.shape[1] - self._start
        for tokens, room in zip(self._tokens(), self._rooms, strict=True):
            yield self._text(tokens) if self._marks or room < width else None

    def _text(self, tokens: list[int]) -> str:
        text: str = self._tokenizer.decode(tokens)
        return min((text.split(stop, maxsplit=1)[0] for stop in self._stops()), key=len, default=text)

    @property
    def _start(self) -> int:
        return int(self._given['input_ids'].shape[1])

    def _tokens(self) -> list[list[int]]:
        """Return the tokens of each row, as many as it has room for."""
        rows = self._outputs[:, self._start :].tolist()
        return [row[:room] for row, room in zip(rows, self._rooms, strict=True)]

    def _stops(self) -> list[str]:
        criteria = self._given.get('stopping_criteria') or ()
        return [word for one in criteria for word in getattr(one, 'stop_words', ())]

    def _end_of(self, tokens: list[int], room: int) -> tuple[str | None, int]:
        """Return why a row ended, and how many tokens it has up to there.

        Behind its end stands padding, or what the model said while the rest of its batch was not done.
        """
        ends = self._given.get('eos_token_id', self._model.generation_config.eos_token_id)
        final = set(ends if isinstance(ends, list) else [ends])
        stops = self._stops()
        end = next((at for at, token in enumerate(tokens, 1) if token in final), len(tokens) + 1)
        said = min(end, len(tokens))

        def has_stop(count: int) -> bool:
            text = self._tokenizer.decode(tokens[:count])
            return any(stop in text for stop in stops)

        if has_stop(said):  # then the first count of tokens that has one
            end = bisect_left(range(said), True, key=has_stop)
        if end <= len(tokens):
            return 'stop', end
        return (CUT_OFF if len(tokens) == room else None), len(tokens)


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
