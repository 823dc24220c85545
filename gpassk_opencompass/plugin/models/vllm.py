"""vLLM in this process: `VLLMwithChatTemplate` with a seed a sample."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

from opencompass.models import VLLMwithChatTemplate
from opencompass.registry import MODELS

from ...health import Generation
from ..seeds import LENGTH, OF_SAMPLE, Done, Seeded, refuse, refuse_greedy, refuse_missing, settled

RULED = {
    **OF_SAMPLE,
    'max_tokens': LENGTH,
    'stop': "it would replace the model's own stop words; write stop_words=[…] beside path, they are added",
    'do_sample': 'OpenCompass drops it, vLLM has no such setting; temperature 0 is greedy',
}


@MODELS.register_module()
class SeededVLLM(Seeded, VLLMwithChatTemplate):  # type: ignore[misc]
    """`VLLMwithChatTemplate` with a seed a sample.

    vLLM takes a list of `SamplingParams`, one a prompt. Those of a batch differ in their seed alone, so a
    sample's random numbers depend on its seed alone. vLLM's logits change in their last bits with the
    requests that run at the same time, which may, rarely, tip a token.

    A prompt that leaves no room for a token within the model's context is not handed to vLLM, which would
    end the run: its sample gets the state 'too long', and the others of the batch are drawn.

    On a CPU vLLM cannot draw with seeds where it splits a prompt ("CPU Generator does not use offset"):
    there `enable_chunked_prefill` is False unless model_kwargs has it.

    Args:
        generation_kwargs: fields of vLLM's `SamplingParams`; InputError for what would be dropped, overruled
            or ignored.
        random_seed: the seed of the run; those of the samples are derived from it.
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
        self.random_seed = random_seed
        super().__init__(path, *args, generation_kwargs=settings, **kwargs)

    def _load_model(self, path: str, added_model_kwargs: Mapping[str, Any] | None = None) -> None:
        own = {}
        with suppress(ImportError):
            from vllm.platforms import current_platform

            own = {'enable_chunked_prefill': False} if current_platform.is_cpu() else {}
        if find_spec('ray') is None:
            sys.modules['ray'] = _NoRay('ray')
        super()._load_model(path, {**own, **(added_model_kwargs or {})})
        self.model = _Seeded(self.model)

    def sample(
        self, prompts: Sequence[Any], seeds: Sequence[int], max_out_len: int, done: Done, **options: Any
    ) -> None:
        """See `Seeded`; vLLM's wrapper takes no `min_out_len`."""
        self.model.seeds = seeds
        VLLMwithChatTemplate.generate(
            self, list(prompts), max_out_len, stopping_criteria=list(options.get('stopping_criteria') or ())
        )
        for number, (text, generation) in enumerate(self.model.told):
            said = f'its prompt does not fit the context of {self.model.context} tokens'
            done(number, text, generation, said if generation.state == 'too long' else '')


class _Seeded:
    """Stands where the wrapper has its engine: gives each prompt its seed, and keeps what the engine told."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.seeds: Sequence[int] = ()
        self.told: list[tuple[str, Generation]] = []
        length = getattr(
            getattr(getattr(engine, 'llm_engine', None), 'model_config', None), 'max_model_len', None
        )
        self.context = length if isinstance(length, int) else None
        """How many tokens prompt and response may have together, where this vLLM tells."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def generate(self, prompts: Sequence[Any], params: Any, **options: Any) -> list[Any]:
        fitting, own = [], []
        for number, (prompt, seed) in enumerate(zip(prompts, self.seeds, strict=True)):
            ids = prompt.get('prompt_token_ids') if isinstance(prompt, Mapping) else None
            if self.context is None or ids is None or len(ids) < self.context:  # a text is vLLM's to count
                one = params.clone()
                one.seed = seed
                fitting.append(number)
                own.append(one)
        drawn = self._engine.generate([prompts[one] for one in fitting], own, **options) if fitting else []
        found = dict(zip(fitting, drawn, strict=True))
        outputs = [found.get(number) or _too_long(prompt) for number, prompt in enumerate(prompts)]
        self.told = []
        for prompt, output in zip(prompts, outputs, strict=True):
            generation, text = _generation(output), output.outputs[0].text
            read = prompt['prompt'] if isinstance(prompt, Mapping) else prompt
            self.told.append(settled(text, generation, read))
        return outputs


class _NoRay(ModuleType):
    """Stands for ray, which OpenCompass's wrapper imports and vLLM no longer brings, up to its one question.

    vLLM looks for ray, too, and must not find this.
    """

    def is_initialized(self) -> bool:
        """Say that ray does not run."""
        sys.modules.pop('ray', None)
        return False


def _too_long(prompt: Any) -> Any:
    """Return what stands for the `RequestOutput` of a prompt that is too long."""
    outputs = [SimpleNamespace(text='', state='too long')]
    return SimpleNamespace(**prompt, outputs=outputs)


def _generation(output: Any) -> Generation:
    """Return what a `RequestOutput` tells; `token_ids` has the token that ended the response."""
    completion = output.outputs[0]
    reason = getattr(completion, 'finish_reason', None)
    counts = getattr(output, 'prompt_token_ids', None), getattr(completion, 'token_ids', None)
    prompt, response = (None if ids is None else len(ids) for ids in counts)
    state = 'aborted' if reason in ('abort', 'error') else getattr(completion, 'state', None)
    told = {'finish_reason': reason, 'prompt_tokens': prompt, 'output_tokens': response, 'state': state}
    return Generation.from_json(told)
