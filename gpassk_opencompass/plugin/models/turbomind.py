"""lmdeploy in this process: `TurboMindModelwithChatTemplate` with a seed a sample, for both backends."""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from opencompass.models import TurboMindModelwithChatTemplate
from opencompass.registry import MODELS

from ...health import CUT_OFF, Generation
from ..handover import GenerationsOfBatch, SeedsOfBatch
from ..responses import mended, with_states
from .refused import LENGTH, OF_SAMPLE, refuse, refuse_greedy, refuse_missing, refuse_unknown

_OF_ERRORS = {
    'context_length_exceeded': 'too long',
    'invalid_request': 'refused',
    'unsupported_feature': 'refused',
}
"""`error_code` of lmdeploy's `Response` → state; any other error is one of the engine."""

RULED = {**OF_SAMPLE, 'max_new_tokens': LENGTH}


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
        refuse_missing(path)
        self.seeds = SeedsOfBatch(random_seed)
        self.generations = GenerationsOfBatch()
        self._replies: list[Any] = []
        super().__init__(path, *args, gen_config=settings, **kwargs)

    def generate(self, inputs: list[Any], *args: Any, **kwargs: Any) -> list[str]:
        """See the base class; the seeds of the batch must have been announced."""
        texts: list[str] = super().generate(inputs, *args, **kwargs)
        said = (getattr(reply, 'error_message', None) for reply in self._replies)
        first = next((str(text) for text in said if text), '')
        self.generations.note(with_states(texts, list(map(_generation, self._replies))), first)
        return texts

    def _build_pipe(self, model_path: str, backend: str, engine_config: dict[str, Any]) -> Any:
        from lmdeploy import PytorchEngineConfig, TurbomindEngineConfig

        kind = PytorchEngineConfig if backend == 'pytorch' else TurbomindEngineConfig
        refuse_unknown('engine_config', engine_config, kind)
        build = partial(super()._build_pipe, model_path, backend, engine_config)

        @cache  # when there is something to draw
        def loaded() -> Any:
            pipe = build()
            atexit.register(_close, pipe)
            return pipe

        def seeded(prompts: Sequence[str], gen_config: Any, **options: Any) -> Any:
            seeds = self.seeds.take(len(prompts))
            replies = loaded()(
                prompts, gen_config=[replace(gen_config, random_seed=s) for s in seeds], **options
            )
            self._replies = [
                replace(reply, text=mended(reply.text, _generation(reply), prompt))
                for reply, prompt in zip(replies, prompts, strict=True)
            ]
            return self._replies

        return seeded


def _close(pipe: Any) -> None:
    """End an engine; some releases end it with the process alone."""
    close = getattr(pipe, 'close', None)
    if close is not None:
        close()


def _state_of(reply: Any) -> str | None:
    """Return the state of a `Response` of lmdeploy that is no response of the model.

    Releases before 0.18 say of a prompt that does not fit that the response was cut off at no token.
    """
    finish = getattr(reply, 'finish_reason', None)
    if finish in ('error', 'abort'):
        return _OF_ERRORS.get(str(getattr(reply, 'error_code', None)), 'aborted')
    return 'too long' if finish == CUT_OFF and not reply.text and not reply.generate_token_len else None


def _generation(reply: Any) -> Generation:
    """Return what a `Response` of lmdeploy tells."""
    return Generation.from_json(
        {
            'state': _state_of(reply),
            'finish_reason': getattr(reply, 'finish_reason', None),
            'prompt_tokens': reply.input_token_len,
            'output_tokens': reply.generate_token_len,
        }
    )
