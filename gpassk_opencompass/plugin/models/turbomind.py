"""lmdeploy in this process: `TurboMindModelwithChatTemplate` with a seed a sample, for both backends."""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from opencompass.models import TurboMindModelwithChatTemplate
from opencompass.registry import MODELS

from ...errors import InputError
from ...health import CUT_OFF, Generation
from ..seeds import (
    LENGTH,
    OF_SAMPLE,
    Done,
    Seeded,
    refuse,
    refuse_greedy,
    refuse_missing,
    refuse_unknown,
    settled,
)

_OF_ERRORS = {
    'context_length_exceeded': 'too long',
    'invalid_request': 'refused',
    'unsupported_feature': 'refused',
}
"""`error_code` of lmdeploy's `Response` → state; any other error is one of the engine."""

RULED = {**OF_SAMPLE, 'max_new_tokens': LENGTH}


@MODELS.register_module()
class SeededTurboMind(Seeded, TurboMindModelwithChatTemplate):  # type: ignore[misc]
    """`TurboMindModelwithChatTemplate` with a seed a sample; the engine starts when there is a use for it.

    lmdeploy initialises every request's generator with the `random_seed` of its `GenerationConfig`; a
    list of them, one a prompt, gives each sample its own. A sample's random numbers then depend on its
    seed alone.

    Args:
        backend: 'turbomind' or 'pytorch', lmdeploy's two engines. The latter uses 32 bits of a seed.
        gen_config: sampling settings, with `do_sample=True`.
        random_seed: the seed of the run; those of the samples are derived from it.

    Raises:
        InputError: gen_config or engine_config has what would be dropped, overruled or ignored, or the engine
            finds no GPU.
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
        refuse_missing(path)
        self.random_seed = random_seed
        self._seeds: Sequence[int] = ()
        self._replies: list[tuple[str, Any]] = []
        super().__init__(path, *args, gen_config=settings, **kwargs)

    def sample(
        self, prompts: Sequence[Any], seeds: Sequence[int], max_out_len: int, done: Done, **options: Any
    ) -> None:
        """See `Seeded`."""
        self._seeds = seeds
        texts = TurboMindModelwithChatTemplate.generate(self, list(prompts), max_out_len, **options)
        for number, (text, (prompt, reply)) in enumerate(zip(texts, self._replies, strict=True)):
            said = str(getattr(reply, 'error_message', None) or '')
            done(number, *settled(text, _generation(reply), prompt), said)

    def _build_pipe(self, model_path: str, backend: str, engine_config: dict[str, Any]) -> Any:
        from lmdeploy import PytorchEngineConfig, TurbomindEngineConfig

        kind = PytorchEngineConfig if backend == 'pytorch' else TurbomindEngineConfig
        refuse_unknown('engine_config', engine_config, kind)
        build = partial(super()._build_pipe, model_path, backend, engine_config)

        @cache  # when there is something to draw
        def loaded() -> Any:
            import torch

            if backend == 'turbomind' and not torch.cuda.is_available():
                raise InputError(
                    'lmdeploy finds no GPU here, and its engine turbomind runs on nothing else: check '
                    "nvidia-smi and CUDA_VISIBLE_DEVICES, or write backend='pytorch'"
                )
            pipe = build()
            # Some releases end an engine with the process alone.
            atexit.register(getattr(pipe, 'close', lambda: None))
            return pipe

        def seeded(prompts: Sequence[str], gen_config: Any, **options: Any) -> Any:
            own = [replace(gen_config, random_seed=seed) for seed in self._seeds]
            replies = loaded()(prompts, gen_config=own, **options)
            self._replies = list(zip(prompts, replies, strict=True))
            return replies

        return seeded


def _generation(reply: Any) -> Generation:
    """Return what a `Response` of lmdeploy tells."""
    finish, state = getattr(reply, 'finish_reason', None), None
    if finish in ('error', 'abort'):
        state = _OF_ERRORS.get(str(getattr(reply, 'error_code', None)), 'aborted')
    elif finish == CUT_OFF and not reply.text and not reply.generate_token_len:
        state = 'too long'  # as releases before 0.18 say it
    counts = {'prompt_tokens': reply.input_token_len, 'output_tokens': reply.generate_token_len}
    return Generation.from_json({'state': state, 'finish_reason': finish, **counts})
