"""vLLM in this process: `VLLMwithChatTemplate` with a seed a sample."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

from opencompass.models import VLLMwithChatTemplate
from opencompass.registry import MODELS
from opencompass.utils import get_logger

from ...health import Generation
from ..handover import GenerationsOfBatch, SeedsOfBatch, length_of
from ..responses import mended, with_states
from .refused import LENGTH, OF_SAMPLE, refuse, refuse_greedy, refuse_missing

RULED = {
    **OF_SAMPLE,
    'max_tokens': LENGTH,
    'stop': "it would replace the model's own stop words; write stop_words=[…] beside path, they are added",
    'do_sample': 'OpenCompass drops it, vLLM has no such setting; temperature 0 is greedy',
}

BROKEN_OFF = frozenset({'abort', 'error'})
"""Finish reasons with which vLLM gives up a request."""


@MODELS.register_module()
class SeededVLLM(VLLMwithChatTemplate):  # type: ignore[misc]
    """`VLLMwithChatTemplate` with a seed a sample.

    vLLM takes a list of `SamplingParams`, one a prompt. Those of a batch differ in their seed alone, so a
    sample's random numbers depend on its seed alone. vLLM's logits change in their last bits with the
    requests that run at the same time, which may, rarely, tip a token.

    A prompt that leaves no room for a token within the model's context is not handed to vLLM, which would
    end the run: its sample gets the state 'too long', and the others of the batch are drawn.

    On a CPU vLLM cannot draw with seeds where it splits a prompt ("CPU Generator does not use offset"):
    there `enable_chunked_prefill` is False unless model_kwargs has it.

    Args:
        generation_kwargs: fields of vLLM's `SamplingParams`; one that it does not know is an error there.
        random_seed: the seed of the run; those of the samples are derived from it.
        kwargs: as for the base class.

    Raises:
        InputError: generation_kwargs has what would be dropped, overruled or ignored.
    """

    model: Any

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
        if 'temperature' not in settings:  # the base class then sets 0
            refuse_greedy('generation_kwargs', settings, 'a temperature')
        refuse_missing(path)
        self.seeds = SeedsOfBatch(random_seed)
        self.generations = GenerationsOfBatch()
        super().__init__(path, *args, generation_kwargs=settings, **kwargs)

    def _load_model(self, path: str, added_model_kwargs: Mapping[str, Any] | None = None) -> None:
        settings = {**_for_seeds(), **(added_model_kwargs or {})}
        if find_spec('ray') is None:
            sys.modules['ray'] = _NoRay('ray')
        super()._load_model(path, settings)
        engine = self.model
        generate, context = engine.generate, _context_of(engine)

        def seeded(prompts: Sequence[Any], params: Any, **options: Any) -> list[Any]:
            seeds = self.seeds.take(len(prompts))
            fitting = [number for number, prompt in enumerate(prompts) if _fits(prompt, context)]
            _warn_of_long(len(prompts) - len(fitting), context)
            own = [_with_seed(params, seeds[number]) for number in fitting]
            drawn = generate([prompts[number] for number in fitting], own, **options) if fitting else []
            answered = dict(zip(fitting, drawn, strict=True))
            outputs = [answered.get(number) or _not_drawn(prompt) for number, prompt in enumerate(prompts)]
            self.generations.note(_generations(outputs, prompts))
            return outputs

        self.model = _Seeded(engine, seeded)


class _Seeded:
    """Stands where the wrapper has its engine: the same, but for how it generates."""

    def __init__(self, engine: Any, generate: Callable[..., Any]) -> None:
        self._engine, self.generate = engine, generate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


class _NoRay(ModuleType):
    """Stands for ray, which OpenCompass's wrapper imports and vLLM no longer brings, up to its one question.

    vLLM looks for ray, too, and must not find this.
    """

    def is_initialized(self) -> bool:
        """Say that ray does not run."""
        sys.modules.pop('ray', None)
        return False


def _for_seeds() -> dict[str, Any]:
    """Return what vLLM must be told so that it can draw with seeds on this machine."""
    with suppress(ImportError):
        from vllm.platforms import current_platform

        if current_platform.is_cpu():
            return {'enable_chunked_prefill': False}
    return {}


def _context_of(model: Any) -> int | None:
    """Return how many tokens prompt and response may have together; None where this vLLM does not tell."""
    config = getattr(getattr(model, 'llm_engine', None), 'model_config', None)
    length = getattr(config, 'max_model_len', None)
    return length if isinstance(length, int) else None


def _fits(prompt: Any, context: int | None) -> bool:
    """Say whether a prompt leaves room for one token; what is a text is vLLM's to count."""
    ids = prompt.get('prompt_token_ids') if isinstance(prompt, Mapping) else None
    return context is None or ids is None or len(ids) < context


def _warn_of_long(count: int, context: int | None) -> None:
    if count:
        get_logger().warning(
            f'{count} prompts of this batch do not fit the context of {context} tokens: their samples were '
            "not drawn (state 'too long'); raise max_seq_len or max_model_len of model_kwargs, or leave the "
            'questions out'
        )


def _not_drawn(prompt: Any) -> Any:
    """Return what stands for the `RequestOutput` of a prompt that is too long."""
    return SimpleNamespace(
        prompt=prompt.get('prompt'),
        prompt_token_ids=prompt['prompt_token_ids'],
        outputs=[SimpleNamespace(text='', state='too long')],
    )


def _generations(outputs: Sequence[Any], prompts: Sequence[Any]) -> list[Generation]:
    """Return what the `RequestOutput`s of a batch tell, and mend their texts."""
    told = list(map(_generation, outputs))
    for output, one, prompt in zip(outputs, told, prompts, strict=True):
        read = prompt['prompt'] if isinstance(prompt, Mapping) else prompt
        drawn = output.outputs[0]
        drawn.text = mended(drawn.text, one, read)
    return with_states([output.outputs[0].text for output in outputs], told)


def _generation(output: Any) -> Generation:
    """Return what a `RequestOutput` tells; `token_ids` has the token that ended the response."""
    completion = output.outputs[0]
    reason = getattr(completion, 'finish_reason', None)
    return Generation.from_json(
        {
            'finish_reason': reason,
            'prompt_tokens': length_of(output, 'prompt_token_ids'),
            'output_tokens': length_of(completion, 'token_ids'),
            'state': 'aborted' if reason in BROKEN_OFF else getattr(completion, 'state', None),
        }
    )


def _with_seed(params: Any, seed: int) -> Any:
    own = params.clone()
    own.seed = seed
    return own
