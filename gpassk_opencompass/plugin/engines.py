"""Engines in this process, each with a seed a sample: transformers, lmdeploy and vLLM.

Prompts become texts and settings as in OpenCompass's own wrappers; the engine is then called here, so that
each sample gets its seed, and what the engine tells of it is kept.
"""

from __future__ import annotations

import atexit
import os
import sys
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
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

from ..completion import Reply
from ..errors import InputError
from ..health import CUT_OFF, Generation
from .seeds import COUNT, LENGTH, OF_SAMPLE, Done, Seeded, refuse, response_of

Replies = Iterator[tuple[Reply, str]]
"""Of each prompt the reply, and what the engine said of it in words."""


class _InProcess(Seeded):
    """What the three have in common: no setting is dropped without a word, and no prompt is cut.

    The sample of a prompt that leaves no room in the context gets the state 'too long', and the others of its
    batch are drawn: OpenCompass would cut its end off, or its middle, and vLLM end the run. `random_seed` is
    the seed of the run; InputError for sampling settings that would be dropped, overruled or ignored.
    """

    settings_in = 'generation_kwargs'  # the argument with the sampling settings
    ruled: Mapping[str, str] = {}  # what may not stand there, and why
    switch, usual = 'do_sample', False  # the setting that is False where an engine is greedy; its default
    context = 0  # how many tokens prompt and response may have; 0: the engine looks itself
    tokenizer: Any
    fastchat_template: Any
    stop_words: Sequence[str]

    def __init__(self, path: str, *args: Any, random_seed: int = 0, **kwargs: Any) -> None:
        settings = dict(kwargs.get(self.settings_in) or {})
        refuse(self.settings_in, settings, {**OF_SAMPLE, **self.ruled})
        if settings.get(self.switch, self.usual) is False:
            reason = f'without {self.switch} the engine is greedy and ignores it; set that, or remove this'
            sampling = ('temperature', 'top_p', 'top_k', 'min_p')
            refuse(self.settings_in, settings, dict.fromkeys(sampling, reason))
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

    def _draw(self, texts: Any, seeds: Any, max_out_len: int, stop: list[str], least: int | None) -> Replies:
        raise NotImplementedError

    def sample(
        self, prompts: Sequence[Any], seeds: Sequence[int], max_out_len: int, done: Done, **options: Any
    ) -> None:
        """See `Seeded`."""
        messages = opencompass_prompts._convert_chat_messages(prompts)
        if template := self.fastchat_template:
            texts = opencompass_prompts._format_with_fast_chat_template(messages, template)
        else:
            apply, more = self.tokenizer.apply_chat_template, getattr(self, 'chat_template_kwargs', {})
            texts = [apply(one, add_generation_prompt=True, tokenize=False, **more) for one in messages]
        fitting = [*range(len(texts))]
        for at, ids in enumerate(self._tokens_of(texts)['input_ids'] if self.context else ()):
            if len(ids) >= self.context:
                fitting.remove(at)
                said = f'a prompt has {len(ids)} tokens, and the context {self.context}'
                done(at, '', Generation(prompt_tokens=len(ids), state='too long'), said)
        stop = list({*self.stop_words, *(options.get('stopping_criteria') or ())})
        read, own = [texts[at] for at in fitting], [seeds[at] for at in fitting]
        drawn = self._draw(read, own, max_out_len, stop, options.get('min_out_len')) if read else ()
        for at, (reply, said) in zip(fitting, drawn, strict=True):
            done(at, *response_of(reply, prompt=texts[at]), said)

    def _tokens_of(self, texts: Sequence[str], **more: Any) -> Any:
        # A chat template has the special tokens already.
        return self.tokenizer(texts, add_special_tokens=bool(self.fastchat_template), **more)


def _cut(text: str, stop: Sequence[str]) -> str:
    for word in stop:
        text = text.split(word, 1)[0]
    return text


@MODELS.register_module()
class SeededHuggingFace(_InProcess, HuggingFacewithChatTemplate):  # type: ignore[misc]
    """`HuggingFacewithChatTemplate` with a seed a sample; weights are loaded when there is a use for them.

    Guaranteed is the same text at the same batch composition (batch size and shards), software and device.
    With another one the random numbers stay the same, but padding changes the logits in their last bits,
    which may, rarely, tip a token.
    """

    ruled: Mapping[str, str] = {'num_return_sequences': COUNT, 'max_new_tokens': LENGTH}
    usual = True  # without a word the model's own settings count

    def _load_model(self, **given: Any) -> None:
        self.context, self._load = self.max_seq_len or sys.maxsize, partial(super()._load_model, **given)

    @cached_property
    def model(self) -> Any:
        """Return the loaded model."""
        self._load()  # sets it
        return self.__dict__['model']

    def _draw(self, texts: Any, seeds: Any, max_out_len: int, stop: list[str], least: int | None) -> Replies:
        tokens = self._tokens_of(texts, return_tensors='pt', padding=True)
        pad = self.tokenizer.pad_token_id
        settings = {**self.generation_kwargs, 'max_new_tokens': max_out_len, 'pad_token_id': pad}
        settings |= {} if least is None else {'min_new_tokens': least}
        if stop:
            criteria = opencompass_prompts._get_stopping_criteria(stop, self.tokenizer, len(texts))
            settings['stopping_criteria'] = criteria
        with SeededMultinomial(seeds):
            drawn = self.model.generate(**tokens.to(self.model.device), **settings)
        drawn = drawn[:, tokens['input_ids'].shape[1] :]
        lengths = tokens['attention_mask'].sum(-1).tolist()
        for text, ids, length in zip(
            self.tokenizer.batch_decode(drawn), drawn.tolist(), lengths, strict=True
        ):
            end = self._end_of(ids, stop)
            reason = 'stop' if end <= len(ids) else CUT_OFF if len(ids) == max_out_len else ''
            count = min(end, len(ids))
            yield Reply(_cut(text, stop), reason, prompt_tokens=length, output_tokens=count), ''

    def _end_of(self, ids: list[int], stop: Sequence[str]) -> int:
        """Return how many tokens a response has up to its end, one more than there are if it has none.

        Behind its end stands padding, or what the model said while the rest of its batch was not done.
        """
        ends = self.generation_kwargs.get('eos_token_id', self.model.generation_config.eos_token_id)
        final = set(ends if isinstance(ends, list) else [ends])
        end = next((at for at, token in enumerate(ids, 1) if token in final), len(ids) + 1)

        def has_stop(count: int) -> bool:
            text = self.tokenizer.decode(ids[:count])
            return any(word in text for word in stop)

        said = min(end, len(ids))  # the end is the first count of tokens that has a stop word
        return bisect_left(range(said), True, key=has_stop) if has_stop(said) else end


class SeededMultinomial(TorchFunctionMode):
    """Within this context `torch.multinomial` draws row i with the generator of seed i.

    transformers samples a batch with one call on the global generator. A uniform number a row and the inverse
    of the row's distribution function give the same distribution, on any device.
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


_LMDEPLOY_STATES = {  # `error_code` of lmdeploy's `Response` → state; any other error is the engine's own
    'context_length_exceeded': 'too long',
    **dict.fromkeys(('invalid_request', 'unsupported_feature'), 'refused'),
}


@MODELS.register_module()
class SeededTurboMind(_InProcess, TurboMindModelwithChatTemplate):  # type: ignore[misc]
    """`TurboMindModelwithChatTemplate` with a seed a sample; the engine starts when there is a use for it.

    `backend` is 'turbomind' or 'pytorch', lmdeploy's two engines. The latter uses 32 bits of a seed.
    """

    settings_in = 'gen_config'
    ruled: Mapping[str, str] = {'max_new_tokens': LENGTH}

    def __init__(self, path: str, backend: str = 'turbomind', **kwargs: Any) -> None:
        from lmdeploy import GenerationConfig, PytorchEngineConfig, TurbomindEngineConfig

        engine = PytorchEngineConfig if backend == 'pytorch' else TurbomindEngineConfig
        for where, kind in (('gen_config', GenerationConfig), ('engine_config', engine)):
            if unknown := sorted(key for key in kwargs.get(where) or () if not hasattr(kind, key)):
                # OpenCompass drops them silently.
                raise InputError(f'{where} has {unknown}, which the installed {kind.__name__} does not know')
        super().__init__(path, backend=backend, **kwargs)

    def _build_pipe(self, model_path: str, backend: str, engine_config: dict[str, Any]) -> Any:
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

    def _draw(self, texts: Any, seeds: Any, max_out_len: int, stop: list[str], least: int | None) -> Replies:
        from lmdeploy import GenerationConfig

        settings = {'do_sample': False, 'min_new_tokens': 1, 'stop_words': stop, **self.gen_config}
        settings |= {} if least is None else {'min_new_tokens': least}
        config = GenerationConfig(**{**settings, 'max_new_tokens': max_out_len})
        configs = [replace(config, random_seed=seed) for seed in seeds]
        # lmdeploy puts the token that begins a text before each prompt by itself.
        bare = [text.removeprefix(self.tokenizer.bos_token or '') for text in texts]
        for reply in self.pipe()(bare, gen_config=configs, do_preprocess=False):
            finish, text = reply.finish_reason or '', _cut(reply.text, stop)
            if finish in ('error', 'abort'):
                finish = _LMDEPLOY_STATES.get(str(getattr(reply, 'error_code', None)), finish)
            elif finish == CUT_OFF and not reply.text and not reply.generate_token_len:
                finish = 'too long'  # as releases before 0.18 say it
            told = Reply(
                text, finish, prompt_tokens=reply.input_token_len, output_tokens=reply.generate_token_len
            )
            yield told, str(getattr(reply, 'error_message', None) or '')


@MODELS.register_module()
class SeededVLLM(_InProcess, VLLMwithChatTemplate):  # type: ignore[misc]
    """`VLLMwithChatTemplate` with a seed a sample.

    Its logits change in their last bits with the requests that run at the same time, which may, rarely, tip a
    token. On a CPU it cannot draw with seeds where it splits a prompt ("CPU Generator does not use offset"):
    there `enable_chunked_prefill` is False unless model_kwargs has it.
    """

    ruled: Mapping[str, str] = {
        'max_tokens': LENGTH,
        'stop': "it would replace the model's own; write stop_words=[…] beside path, they are added",
        'do_sample': 'OpenCompass drops it, vLLM has no such setting; temperature 0 is greedy',
    }
    switch = 'temperature'  # else OpenCompass would set 0

    def _load_model(self, path: str, added_model_kwargs: Mapping[str, Any] | None = None) -> None:
        own = {'trust_remote_code': True}
        with suppress(ImportError):
            from vllm.platforms import current_platform

            own |= {'enable_chunked_prefill': False} if current_platform.is_cpu() else {}
        ray = sys.modules.get('ray')  # OpenCompass's wrapper needs it, vLLM no longer brings it
        if ray is not None and ray.is_initialized():
            ray.shutdown()
        self.model = opencompass_vllm.LLM(path, **{**own, **(added_model_kwargs or {})})
        engine = getattr(getattr(self.model, 'llm_engine', None), 'model_config', None)
        self.context = getattr(engine, 'max_model_len', None) or 0  # where this vLLM tells

    def _draw(self, texts: Any, seeds: Any, max_out_len: int, stop: list[str], least: int | None) -> Replies:
        prompts: list[Any] = list(texts)
        if not self.fastchat_template:
            ids = self._tokens_of(texts)['input_ids']
            both = zip(texts, ids, strict=True)
            prompts = [{'prompt': text, 'prompt_token_ids': tokens} for text, tokens in both]
        settings = {'temperature': 0, 'max_tokens': max_out_len, 'stop': stop, **self.generation_kwargs}
        params = [opencompass_vllm.SamplingParams(**settings, seed=seed) for seed in seeds]
        more = {}
        if self.lora_path:
            from vllm.lora.request import LoRARequest

            more = {'lora_request': LoRARequest('lora_adapter', 1, self.lora_path)}
        for output in self.model.generate(prompts, params, **more):
            completion = output.outputs[0]  # whose tokens have the one that ended the response
            read, count, finish = (
                len(output.prompt_token_ids),
                len(completion.token_ids),
                completion.finish_reason,
            )
            yield Reply(completion.text, finish or '', prompt_tokens=read, output_tokens=count), ''
