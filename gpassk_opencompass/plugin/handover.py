"""What inferencer and model tell each other of a batch: whose prompts come next, and what the engine said.

OpenCompass passes a model the prompts of a batch, and takes its texts, and nothing else.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..health import Generation

SEED_BITS = 53
"""Seeds stay below 2^53: exact in JSON numbers and in every engine's 64-bit integer."""

SERVER_BITS = 31
"""Seeds sent to a server stay below 2^31: some keep them in a signed 32-bit integer."""


class Sample(NamedTuple):
    """Which sample a prompt is for."""

    uid: str
    replica: int


def sample_seed(random_seed: int, sample: Sample, bits: int = SEED_BITS) -> int:
    """Return the seed of a sample, uniform in [0, 2^bits); with fewer bits the upper ones of the other.

    Args:
        random_seed: of the run.
        sample: which one.
        bits: of the seed.

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
        """Return the seeds of the announced batch of `count` prompts; each announcement serves once.

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


class GenerationsOfBatch:
    """What an engine said of the batch that a model has just answered.

    OpenCompass takes from a model the texts of a batch and nothing else, so the model notes the rest here and
    the inferencer takes it before it writes the rows.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noted: list[Sequence[Generation]] = []
        self._said = ''

    def note(self, generations: Sequence[Generation], said: str = '') -> None:
        """Keep what is known of the responses of one call, in their order.

        Args:
            said: what the engine said of the first that is no usual response, such as a server's error.
        """
        with self._lock:
            self._noted.append(list(generations))
            self._said = self._said or said

    def take_said(self) -> str:
        """Return what the engine said of the first that is no usual response; '' if nothing."""
        with self._lock:
            said, self._said = self._said, ''
        return said

    def take(self, count: int) -> Sequence[Generation]:
        """Return what was noted since the last time, of a batch of `count` prompts.

        [] where rows and notes cannot be paired: nothing was noted, several responses a prompt, or several
        calls, as for the turns of a dialogue.
        """
        with self._lock:
            noted, self._noted = self._noted, []
        return noted[0] if len(noted) == 1 and len(noted[0]) == count else []


class Answered:
    """What an engine said of the rows of a shard, batch by batch, as their texts come in.

    Args:
        noted: of the model; anything but `GenerationsOfBatch` tells nothing: a model of one's own may have
            something else under this name.
        seen: is given what was told of each batch, and what the engine said, before its first row is written;
            an error that it raises ends the run.
    """

    def __init__(
        self, noted: Any, seen: Callable[[Sequence[Generation], str], object] = lambda told, said: None
    ) -> None:
        self._seen = seen
        self._noted = noted if isinstance(noted, GenerationsOfBatch) else GenerationsOfBatch()
        self._batch = range(0)
        self._told: Sequence[Generation] | None = []

    def skip(self, count: int) -> None:
        """Leave out the first rows of the shard, which an earlier part of the run has drawn."""
        self._batch = range(count, count)

    def begin(self, count: int) -> None:
        """Go on to the next batch, of `count` rows."""
        self._noted.take(count), self._noted.take_said()  # of a batch that failed
        self._batch, self._told = range(self._batch.stop, self._batch.stop + count), None

    def of_row(self, row: int) -> Generation:
        """Return what was said of a row of the batch, which must have been generated."""
        if self._told is None:
            self._told = self._noted.take(len(self._batch))
            self._seen(self._told, self._noted.take_said())
        return self._told[self._batch.index(row)] if self._told and row in self._batch else Generation()


def length_of(whole: Any, name: str) -> int | None:
    """Return the length of an attribute; None where it is missing, as in other versions of an engine."""
    part = getattr(whole, name, None)
    return None if part is None else len(part)
