"""One seed a sample: from (random_seed, uid, replica), whichever batch, shard or resumed run draws it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

SEED_BITS = 53
"""Seeds stay below 2^53: exact in JSON numbers and in every engine's 64-bit integer."""

SERVER_BITS = 31
"""Seeds sent to a server stay below 2^31: some keep them in a signed 32-bit integer."""


class Sample(NamedTuple):
    """Which sample a prompt is for."""

    uid: str
    replica: int


def sample_seed(random_seed: int, sample: Sample, bits: int = SEED_BITS) -> int:
    """The seed of one sample, uniform in [0, 2^bits); with fewer bits it is the upper ones of the other.

    >>> sample_seed(42, Sample('202412/AMC_en/3', 0)) == sample_seed(42, Sample('202412/AMC_en/3', 1))
    False
    """
    name = f'{random_seed}\0{sample.uid}\0{sample.replica}'.encode()
    digest = hashlib.blake2b(name, digest_size=8).digest()
    return int.from_bytes(digest, 'big') >> (64 - bits)


class SeedsOfBatch:
    """The handover of seeds from the inferencer, which knows the rows, to the model, which draws.

    OpenCompass passes a model the prompts of a batch and nothing else, so the inferencer announces whose
    prompts come next, and the model takes the seeds when it generates.
    """

    def __init__(self, random_seed: int, bits: int = SEED_BITS) -> None:
        self._random_seed = random_seed
        self._bits = bits
        self._announced: list[Sample] | None = None

    def announce(self, samples: Sequence[Sample]) -> None:
        """Say for which samples the next batch of prompts is."""
        self._announced = list(samples)

    def take(self, count: int) -> list[int]:
        """The seeds of the announced batch of `count` prompts; each announcement serves once.

        Raises:
            RuntimeError: nothing, or a batch of another size, was announced.
        """
        announced, self._announced = self._announced, None
        if announced is None or len(announced) != count:
            known = 'none' if announced is None else len(announced)
            raise RuntimeError(
                f'{count} prompts to sample, but seeds for {known} were announced. Seeded models need '
                "the inferencer of this package: infer_cfg=dict(inferencer=dict(type='gpassk_opencompass."
                "SeededGenInferencer'))"
            )
        return list(map(self.seed_of, announced))

    def seed_of(self, sample: Sample) -> int:
        """Return the seed of a sample."""
        return sample_seed(self._random_seed, sample, self._bits)
