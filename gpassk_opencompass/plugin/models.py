"""OpenCompass's chat models, drawing each sample from its own seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from opencompass.models import HuggingFacewithChatTemplate, TurboMindModelwithChatTemplate
from opencompass.registry import MODELS
from torch.overrides import TorchFunctionMode

from .seeds import SeedsOfBatch


@MODELS.register_module()
class SeededHuggingFace(HuggingFacewithChatTemplate):  # type: ignore[misc]
    """`HuggingFacewithChatTemplate` with a seed a sample.

    Sample i draws its tokens with numbers from its own generator, so it does not depend on the other
    samples of its batch, on shards or on an earlier part of the run. Guaranteed: the same text at the
    same batch composition (batch size and shards), software and device. With another composition the
    random numbers stay the same but padding changes the logits in their last bits, which may, rarely,
    tip a token.

    Args:
        random_seed: the seed of the run; those of the samples are derived from it.
        kwargs: as for the base class. Sampling settings go into `generation_kwargs`.
    """

    def __init__(self, *args: Any, random_seed: int = 0, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seeds = SeedsOfBatch(random_seed)

    def generate(self, inputs: list[Any], *args: Any, **kwargs: Any) -> list[str]:
        """See the base class; the seeds of the batch must have been announced."""
        with _SeededMultinomial(self.seeds.take(len(inputs))):
            texts: list[str] = super().generate(inputs, *args, **kwargs)
        return texts


class _SeededMultinomial(TorchFunctionMode):
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


@MODELS.register_module()
class SeededTurboMind(TurboMindModelwithChatTemplate):  # type: ignore[misc]
    """`TurboMindModelwithChatTemplate` with a seed a sample.

    lmdeploy initialises every request's generator with the `random_seed` of its `GenerationConfig`; a
    list of them, one a prompt, gives each sample its own. A sample's random numbers then depend on its
    seed alone.

    Args:
        random_seed: the seed of the run; those of the samples are derived from it.
        kwargs: as for the base class. Sampling settings go into `gen_config`, with `do_sample=True`.
    """

    def __init__(self, *args: Any, random_seed: int = 0, **kwargs: Any) -> None:
        self.seeds = SeedsOfBatch(random_seed)
        super().__init__(*args, **kwargs)

    def _build_pipe(self, *args: Any, **kwargs: Any) -> Any:
        pipe = super()._build_pipe(*args, **kwargs)

        def seeded(prompts: Sequence[str], gen_config: Any, **options: Any) -> Any:
            seeds = self.seeds.take(len(prompts))
            return pipe(prompts, gen_config=[replace(gen_config, random_seed=s) for s in seeds], **options)

        return seeded
