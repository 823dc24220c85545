"""transformers: `HuggingFacewithChatTemplate` with a seed a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from opencompass.models import HuggingFacewithChatTemplate
from opencompass.registry import MODELS
from torch.overrides import TorchFunctionMode

from ..seeds import SeedsOfBatch
from .refused import COUNT, LENGTH, SEED, refuse, refuse_greedy

RULED = {'seed': SEED, 'random_seed': SEED, 'num_return_sequences': COUNT, 'max_new_tokens': LENGTH}


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
        generation_kwargs: sampling settings.
        kwargs: as for the base class.

    Raises:
        InputError: generation_kwargs has what would be overruled or ignored.
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
        if settings.get('do_sample') is False:
            refuse_greedy('generation_kwargs', settings, 'do_sample=True')
        super().__init__(path, *args, generation_kwargs=settings, **kwargs)
        self.seeds = SeedsOfBatch(random_seed)

    def generate(self, inputs: list[Any], *args: Any, **kwargs: Any) -> list[str]:
        """See the base class; the seeds of the batch must have been announced."""
        with SeededMultinomial(self.seeds.take(len(inputs))):
            texts: list[str] = super().generate(inputs, *args, **kwargs)
        return texts


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
