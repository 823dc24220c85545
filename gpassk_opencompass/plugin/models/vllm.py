"""vLLM in this process: `VLLMwithChatTemplate` with a seed a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass.models import VLLMwithChatTemplate
from opencompass.registry import MODELS

from ...results.health import Generation
from ..handover import GenerationsOfBatch, SeedsOfBatch, length_of
from .refused import COUNT, LENGTH, SEED, refuse, refuse_greedy

RULED = {
    'seed': SEED,
    'n': COUNT,
    'max_tokens': LENGTH,
    'stop': "it would replace the model's own stop words; write stop_words=[…] beside path, they are added",
    'do_sample': 'OpenCompass drops it, vLLM has no such setting; temperature 0 is greedy',
}


@MODELS.register_module()
class SeededVLLM(VLLMwithChatTemplate):  # type: ignore[misc]
    """`VLLMwithChatTemplate` with a seed a sample.

    vLLM takes a list of `SamplingParams`, one a prompt. Those of a batch differ in their seed alone, so a
    sample's random numbers depend on its seed alone. vLLM's logits change in their last bits with the
    requests that run at the same time, which may, rarely, tip a token.

    Args:
        generation_kwargs: fields of vLLM's `SamplingParams`; one that it does not know is an error there.
        random_seed: the seed of the run; those of the samples are derived from it.
        kwargs: as for the base class.

    Raises:
        InputError: generation_kwargs has what would be dropped, overruled or ignored.
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
        if 'temperature' not in settings:  # the base class then sets 0
            refuse_greedy('generation_kwargs', settings, 'a temperature')
        self.seeds = SeedsOfBatch(random_seed)
        self.generations = GenerationsOfBatch()
        super().__init__(path, *args, generation_kwargs=settings, **kwargs)

    def _load_model(self, *args: Any, **kwargs: Any) -> None:
        super()._load_model(*args, **kwargs)
        generate = self.model.generate

        def seeded(prompts: Sequence[Any], params: Any, **options: Any) -> Any:
            seeds = self.seeds.take(len(prompts))
            outputs = generate(prompts, [_with_seed(params, seed) for seed in seeds], **options)
            self.generations.note(list(map(_generation, outputs)))
            return outputs

        self.model.generate = seeded


def _generation(output: Any) -> Generation:
    """Return what a `RequestOutput` tells; `token_ids` has the token that ended the response."""
    completion = output.outputs[0]
    return Generation.from_json(
        {
            'finish_reason': getattr(completion, 'finish_reason', None),
            'prompt_tokens': length_of(output, 'prompt_token_ids'),
            'output_tokens': length_of(completion, 'token_ids'),
        }
    )


def _with_seed(params: Any, seed: int) -> Any:
    own = params.clone()
    own.seed = seed
    return own
