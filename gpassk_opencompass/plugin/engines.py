"""Engines in this process, each with a seed a sample: transformers, lmdeploy and vLLM.

Prompts become texts and settings as in OpenCompass's own wrappers; the engine is then called here, so that
each sample gets its seed, and what the engine tells of it is kept.
"""

from __future__ import annotations

import atexit
import os
import sys
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import torch
from opencompass.models import (
    HuggingFacewithChatTemplate,
    TurboMindModelwithChatTemplate,
    VLLMwithChatTemplate,
)
from opencompass.models import huggingface_above_v4_33 as opencompass_prompts
from opencompass.models import vllm_with_tf_above_v4_33 as opencompass_vllm
from opencompass.registry import MODELS
from torch.overrides import TorchFunctionMode

from ..errors import InputError
from ..health import CUT_OFF, Generation
from .seeds import COUNT, LENGTH, OF_SAMPLE, SEED, Done, Seeded, refuse, settled

SAMPLING = ('temperature', 'top_p', 'top_k', 'min_p')
"""Settings that mean nothing to an engine that takes the likeliest token."""


class _InProcess(Seeded):
    """What the three have in common: settings that would be dropped are refused before anything loads."""

    settings_in = 'generation_kwargs'
    """The argument with the sampling settings."""
    ruled: Mapping[str, str] = {}
    """What may not stand there, and why."""
    switch = 'do_sample=True'
    """Without it the engine takes the likeliest token."""

    def __init__(self, path: str, *args: Any, random_seed: int = 0, **kwargs: Any) -> None:
        settings = dict(kwargs.get(self.settings_in) or {})
        refuse(self.settings_in, settings, self.ruled)
        if self.is_greedy(settings):
            reason = f'without {self.switch} the engine is greedy and ignores it'
            refuse(self.settings_in, settings, dict.fromkeys(SAMPLING, reason))
        for name, value in (('mode', 'mid'), ('drop_middle', True)):
            if kwargs.get(name) == value:
                raise InputError(
                    f'{name} = {value!r}: no prompt is cut here; the state of one too long says so'
                )
        # transformers would take it for a name of the hub.
        if os.path.isabs(path) and not os.path.exists(path):
            raise InputError(f'path = {path!r}: there is no such file or folder here')
        self.random_seed = random_seed
        given = {**kwargs, self.settings_in: settings}
        super().__init__(path, *args, **given)  # type: ignore[call-arg] # of OpenCompass

    def is_greedy(self, settings: Mapping[str, Any]) -> bool:
        """Return whether the engine would not sample with these settings."""
        return not settings.get('do_sample')


def _texts_of(model: Any, prompts: Sequence[Any]) -> list[str]:
    """Return what a model reads of prompts, with its chat template."""
    messages = opencompass_prompts._convert_chat_messages(prompts)
    if model.fastchat_template:
        texts: list[str] = opencompass_prompts._format_with_fast_chat_template(
            messages, model.fastchat_template
        )
        return texts
    more = getattr(model, 'chat_template_kwargs', {})
    template = partial(
        model.tokenizer.apply_chat_template, add_generation_prompt=True, tokenize=False, **more
    )
    return list(map(template, messages))


def _stop_words(model: Any, options: Mapping[str, Any]) -> list[str]:
    return list({*model.stop_words, *(options.get('stopping_criteria') or ())})


def _cut(text: str, stop_words: Sequence[str]) -> str:
    for word in stop_words:
        text = text.split(word, 1)[0]
    return text


# transformers


@MODELS.register_module()
class SeededHuggingFace(_InProcess, HuggingFacewithChatTemplate):  # type: ignore[misc]
    """`HuggingFacewithChatTemplate` with a seed a sample; weights are loaded when there is a use for them.

    Guaranteed is the same text at the same batch composition (batch size and shards), software and device.
    With another composition the random numbers stay the same but padding changes the logits in their last
    bits, which may, rarely, tip a token.

    A prompt that does not fit `max_seq_len` (by default the context of the model) is not drawn: OpenCompass
    would cut its end off, or its middle.

    Args:
        random_seed: the seed of the run; those of the samples are derived from it.
        generation_kwargs: sampling settings; InputError for what would be overruled or ignored.
    """

    ruled: Mapping[str, str] = {
        'seed': SEED,
        'random_seed': SEED,
        'num_return_sequences': COUNT,
        'max_new_tokens': LENGTH,
    }

    def is_greedy(self, settings: Mapping[str, Any]) -> bool:
        """Return whether it must not sample; without a word the model's own settings count."""
        return settings.get('do_sample') is False

    def _load_model(self, **given: Any) -> None:
        self._load = partial(super()._load_model, **given)

    @cached_property
    def model(self) -> Any:
        """Return the loaded model."""
        self._load()  # sets it
        return self.__dict__['model']

    def sample(
        self, prompts: Sequence[Any], seeds: Sequence[int], max_out_len: int, done: Done, **options: Any
    ) -> None:
        """See `Seeded`."""
        texts, special = _texts_of(self, prompts), bool(self.fastchat_template)
        lengths = [len(ids) for ids in self.tokenizer(texts, add_special_tokens=special)['input_ids']]
        fitting = [at for at, length in enumerate(lengths) if length < (self.max_seq_len or sys.maxsize)]
        for at in sorted({*range(len(texts))} - {*fitting}):
            said = f'a prompt has {lengths[at]} tokens, and the context {self.max_seq_len}'
            done(at, '', Generation(prompt_tokens=lengths[at], state='too long'), said)
        if not fitting:
            return
        read, stop_words = [texts[at] for at in fitting], _stop_words(self, options)
        tokens = self.tokenizer(read, return_tensors='pt', padding=True, add_special_tokens=special)
        settings = {**self.generation_kwargs, 'max_new_tokens': max_out_len}
        if stop_words:
            criteria = opencompass_prompts._get_stopping_criteria(stop_words, self.tokenizer, len(read))
            settings['stopping_criteria'] = criteria
        if options.get('min_out_len') is not None:
            settings['min_new_tokens'] = options['min_out_len']
        settings['pad_token_id'] = self.tokenizer.pad_token_id
        with SeededMultinomial([seeds[at] for at in fitting]):
            drawn = self.model.generate(**tokens.to(self.model.device), **settings)
        drawn = drawn[:, tokens['input_ids'].shape[1] :]
        for at, text, ids in zip(fitting, self.tokenizer.batch_decode(drawn), drawn.tolist(), strict=True):
            end = self._end_of(ids, stop_words)
            reason = 'stop' if end <= len(ids) else CUT_OFF if len(ids) == max_out_len else None
            told = Generation(reason, lengths[at], min(end, len(ids)))
            done(at, *settled(_cut(text, stop_words), told, texts[at]), '')

    def _end_of(self, ids: list[int], stop_words: Sequence[str]) -> int:
        """Return how many tokens a response has up to its end, one more than there are if it has none.

        Behind its end stands padding, or what the model said while the rest of its batch was not done.
        """
        ends = self.generation_kwargs.get('eos_token_id', self.model.generation_config.eos_token_id)
        final = set(ends if isinstance(ends, list) else [ends])
        end = next((at for at, token in enumerate(ids, 1) if token in final), len(ids) + 1)

        def has_stop(count: int) -> bool:
            text = self.tokenizer.decode(ids[:count])
            return any(word in text for word in stop_words)

        said = min(end, len(ids))  # the end is the first count of tokens that has a stop word
        return bisect_left(range(said), True, key=has_stop) if has_stop(said) else end


class SeededMultinomial(TorchFunctionMode):
    """Within this context `torch.multinomial` draws row i with the generator of seed i.

    transformers samples a batch with one call on the global generator. A uniform number a row and the
    inverse of the row's distribution function give the same distribution, row by row and on any device.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        super().__init__()
        self._generators = [np.random.Generator(np.random.PCG64(seed)) for seed in seeds]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return (self._draw if func is torch.multinomial else func)(*args, **(kwargs or {}))

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


# lmdeploy

_LMDEPLOY_STATES = {
    'context_length_exceeded': 'too long',
    'invalid_request': 'refused',
    'unsupported_feature': 'refused',
}
"""`error_code` of lmdeploy's `Response` → state; any other error is one of the engine."""


@MODELS.register_module()
class SeededTurboMind(_InProcess, TurboMindModelwithChatTemplate):  # type: ignore[misc]
    """`TurboMindModelwithChatTemplate` with a seed a sample; the engine starts when there is a use for it.

    Args:
        backend: 'turbomind' or 'pytorch', lmdeploy's two engines. The latter uses 32 bits of a seed.
        gen_config: sampling settings, with `do_sample=True`.
        random_seed: the seed of the run; those of the samples are derived from it.

    Raises:
        InputError: gen_config or engine_config has what would be dropped, overruled or ignored, or the engine
            finds no GPU.
    """

    settings_in = 'gen_config'
    ruled: Mapping[str, str] = {**OF_SAMPLE, 'max_new_tokens': LENGTH}

    def __init__(self, path: str, *args: Any, **kwargs: Any) -> None:
        from lmdeploy import GenerationConfig

        _refuse_unknown('gen_config', kwargs.get('gen_config') or {}, GenerationConfig)
        super().__init__(path, *args, **kwargs)

    def _build_pipe(self, model_path: str, backend: str, engine_config: dict[str, Any]) -> Any:
        from lmdeploy import PytorchEngineConfig, TurbomindEngineConfig

        kind = PytorchEngineConfig if backend == 'pytorch' else TurbomindEngineConfig
        _refuse_unknown('engine_config', engine_config, kind)
        build = partial(super()._build_pipe, model_path, backend, engine_config)

        @cache  # when there is something to draw
        def loaded() -> Any:
            if backend == 'turbomind' and not torch.cuda.is_available():
                raise InputError(
                    'lmdeploy finds no GPU here, and its engine turbomind runs on nothing else: check '
                    "nvidia-smi and CUDA_VISIBLE_DEVICES, or write backend='pytorch'"
                )
            pipe = build()
            # Some releases end an engine with the process alone.
            atexit.register(getattr(pipe, 'close', lambda: None))
            return pipe

        return loaded

    def sample(
        self, prompts: Sequence[Any], seeds: Sequence[int], max_out_len: int, done: Done, **options: Any
    ) -> None:
        """See `Seeded`."""
        from lmdeploy import GenerationConfig

        # lmdeploy puts the token that begins a text before each prompt by itself.
        texts = [text.removeprefix(self.tokenizer.bos_token or '') for text in _texts_of(self, prompts)]
        stop_words, least = _stop_words(self, options), options.get('min_out_len')
        settings = {'do_sample': False, 'min_new_tokens': 1, 'stop_words': stop_words, **self.gen_config}
        settings |= {} if least is None else {'min_new_tokens': least}
        config = GenerationConfig(**{**settings, 'max_new_tokens': max_out_len})
        configs = [replace(config, random_seed=seed) for seed in seeds]
        replies = self.pipe()(texts, gen_config=configs, do_preprocess=False)
        for at, (text, reply) in enumerate(zip(texts, replies, strict=True)):
            finish, state = reply.finish_reason, None
            if finish in ('error', 'abort'):
                state = _LMDEPLOY_STATES.get(str(getattr(reply, 'error_code', None)), 'aborted')
            elif finish == CUT_OFF and not reply.text and not reply.generate_token_len:
                state = 'too long'  # as releases before 0.18 say it
            counts = {'prompt_tokens': reply.input_token_len, 'output_tokens': reply.generate_token_len}
            told = Generation.from_json({'state': state, 'finish_reason': finish, **counts})
            said = str(getattr(reply, 'error_message', None) or '')
            done(at, *settled(_cut(reply.text, stop_words), told, text), said)


def _refuse_unknown(where: str, given: Mapping[str, Any], kind: type) -> None:
    """Raise InputError for keys that the class does not have: OpenCompass drops them silently."""
    if unknown := sorted(key for key in given if not hasattr(kind, key)):
        raise InputError(f'{where} has {unknown}, which the installed {kind.__name__} does not know')


# vLLM


@MODELS.register_module()
class SeededVLLM(_InProcess, VLLMwithChatTemplate):  # type: ignore[misc]
    """`VLLMwithChatTemplate` with a seed a sample.

    vLLM's logits change in their last bits with the requests that run at the same time, which may, rarely,
    tip a token.

    A prompt that leaves no room for a token within the model's context is not handed to vLLM, which would
    end the run: its sample gets the state 'too long', and the others of the batch are drawn.

    On a CPU vLLM cannot draw with seeds where it splits a prompt ("CPU Generator does not use offset"):
    there `enable_chunked_prefill` is False unless model_kwargs has it.

    Args:
        generation_kwargs: fields of vLLM's `SamplingParams`; InputError for what would be dropped, overruled
            or ignored.
        random_seed: the seed of the run; those of the samples are derived from it.
    """

    ruled: Mapping[str, str] = {
        **OF_SAMPLE,
        'max_tokens': LENGTH,
        'stop': "it would replace the model's own; write stop_words=[…] beside path, they are added",
        'do_sample': 'OpenCompass drops it, vLLM has no such setting; temperature 0 is greedy',
    }
    switch = 'a temperature'

    def is_greedy(self, settings: Mapping[str, Any]) -> bool:
        """Return whether OpenCompass would set a temperature of 0."""
        return 'temperature' not in settings

    def _load_model(self, path: str, added_model_kwargs: Mapping[str, Any] | None = None) -> None:
        own = {'trust_remote_code': True}
        with suppress(ImportError):
            from vllm.platforms import current_platform

            own |= {'enable_chunked_prefill': False} if current_platform.is_cpu() else {}
        ray = sys.modules.get('ray')  # OpenCompass's wrapper needs it, vLLM no longer brings it
        if ray is not None and ray.is_initialized():
            ray.shutdown()
        self.model = opencompass_vllm.LLM(path, **{**own, **(added_model_kwargs or {})})

    def sample(
        self, prompts: Sequence[Any], seeds: Sequence[int], max_out_len: int, done: Done, **options: Any
    ) -> None:
        """See `Seeded`; vLLM's wrapper takes no `min_out_len`."""
        texts = _texts_of(self, prompts)
        asked: list[Any] = list(texts)
        if not self.fastchat_template:
            encode = partial(self.tokenizer.encode, add_special_tokens=False)
            asked = [{'prompt': text, 'prompt_token_ids': encode(text)} for text in texts]
        engine = getattr(getattr(self.model, 'llm_engine', None), 'model_config', None)
        context = getattr(engine, 'max_model_len', None)  # of prompt and response, where this vLLM tells
        fitting = []
        for at, prompt in enumerate(asked):
            length = len(prompt['prompt_token_ids']) if isinstance(prompt, dict) else 0  # vLLM counts a text
            if isinstance(context, int) and length >= context:
                said = f'its prompt does not fit the context of {context} tokens'
                done(at, '', Generation(prompt_tokens=length, state='too long'), said)
            else:
                fitting.append(at)
        settings = {'temperature': 0, 'max_tokens': max_out_len, 'stop': _stop_words(self, options)}
        params = [opencompass_vllm.SamplingParams(**{**settings, **self.generation_kwargs}) for _ in fitting]
        for at, one in zip(fitting, params, strict=True):
            one.seed = seeds[at]
        more = {}
        if self.lora_path:
            from vllm.lora.request import LoRARequest

            more = {'lora_request': LoRARequest('lora_adapter', 1, self.lora_path)}
        outputs = self.model.generate([asked[at] for at in fitting], params, **more) if fitting else ()
        for at, output in zip(fitting, outputs, strict=True):
            completion = output.outputs[0]  # whose tokens have the one that ended the response
            counts = getattr(output, 'prompt_token_ids', None), getattr(completion, 'token_ids', None)
            prompt_tokens, tokens = (None if ids is None else len(ids) for ids in counts)
            reason = getattr(completion, 'finish_reason', None)
            state = 'aborted' if reason in ('abort', 'error') else None
            told = {'finish_reason': reason, 'prompt_tokens': prompt_tokens, 'output_tokens': tokens}
            done(at, *settled(completion.text, Generation.from_json({**told, 'state': state}), texts[at]), '')
