"""lmdeploy in this process: `TurboMindModelwithChatTemplate` with a seed a sample, for both backends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opencompass.models import TurboMindModelwithChatTemplate
from opencompass.registry import MODELS

from ...results.health import Generation
from ..handover import GenerationsOfBatch, SeedsOfBatch
from .refused import COUNT, LENGTH, SEED, refuse, refuse_greedy, refuse_unknown

RULED = {'random_seed': SEED, 'seed': SEED, 'n': COUNT, 'max_new_tokens': LENGTH}


@MODELS.register_module()
class SeededTurboMind(TurboMindModelwithChatTemplate):  # type: ignore[misc]
    """`TurboMindModelwithChatTemplate` with a seed a sample.

    lmdeploy initialises every request's generator with the `random_seed` of its `GenerationConfig`; a
    list of them, one a prompt, gives each sample its own. A sample's random numbers then depend on its
    seed alone.

    Args:
        backend: 'turbomind' or 'pytorch', lmdeploy's two engines. The latter uses 32 bits of a seed.
        gen_config: sampling settings, with `do_sample=True`.
        random_seed: the seed of the run; those of the samples are derived from it.
        kwargs: as for the base class.

    Raises:
        InputError: gen_config or engine_config has what would be dropped, overruled or ignored.
    """

    def __init__(
        self,
        path: str,
        *args: Any,
        gen_config: Mapping[str, Any] | None = None,
        random_seed: int = 0,
        **kwargs: Any,
    ) -> None:
        from lmdeploy import GenerationConfig

        settings = dict(gen_config or {})
        refuse('gen_config', settings, RULED)
        refuse_unknown('gen_config', settings, GenerationConfig)
        if not settings.get('do_sample'):
            refuse_greedy('gen_config', settings, 'do_sample=True')
        self.seeds = SeedsOfBatch(random_seed)
        self.generations = GenerationsOfBatch()
        super().__init__(path, *args, gen_config=settings, **kwargs)

    def _build_pipe(self, model_path: str, backend: str, engine_config: dict[str, Any]) -> Any:
        from lmdeploy import PytorchEngineConfig, TurbomindEngineConfig

        kind = PytorchEngineConfig if backend == 'pytorch' else TurbomindEngineConfig
        refuse_unknown('engine_config', engine_config, kind)
        pipe = super()._build_pipe(model_path, backend, engine_config)

        def seeded(prompts: Sequence[str], gen_config: Any, **options: Any) -> Any:
            seeds = self.seeds.take(len(prompts))
            replies = pipe(prompts, gen_config=[replace(gen_config, random_seed=s) for s in seeds], **options)
            self.generations.note(list(map(_generation, replies)))
            return replies

        return seeded


def _generation(reply: Any) -> Generation:
    """Return what a `Response` of lmdeploy tells."""
    return Generation.from_json(
        {
            'finish_reason': getattr(reply, 'finish_reason', None),
            'prompt_tokens': reply.input_token_len,
            'output_tokens': reply.generate_token_len,
        }
    )
