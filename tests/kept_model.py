"""Models that leave a line for each sample that they are asked for."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencompass.models.base import BaseModel, LMTemplateParser

from gpassk_opencompass.plugin import SeededHuggingFace, provenance
from gpassk_opencompass.plugin.handover import GenerationsOfBatch, Sample, SeedsOfBatch
from gpassk_opencompass.results.health import Generation

TRACE = 'KEPT_MODEL_TRACE'
"""Environment variable: the file that gets a line `<uid> <replica>` a sample."""

ENGINE = 'KEPT_MODEL_ENGINE'
"""Environment variable: the version that the engine claims to have."""

FAILS = 'KEPT_MODEL_FAILS'
"""Environment variable: the replica to which no reply comes."""


def leave(samples: Sequence[Sample]) -> None:
    if TRACE in os.environ:
        with Path(os.environ[TRACE]).open('a') as lines:
            lines.writelines(f'{uid} {replica}\n' for uid, replica in samples)


def asked(trace: Path) -> Counter[str]:
    """Sample → how often it was asked for."""
    return Counter(trace.read_text().splitlines() if trace.exists() else [])


class ListedSeeds(SeedsOfBatch):
    """Remembers which samples come next."""

    samples: Sequence[Sample] = ()

    def announce(self, samples: Sequence[Sample]) -> None:
        super().announce(samples)
        self.samples = list(samples)


class ListedHuggingFace(SeededHuggingFace):  # type: ignore[misc]
    """The real one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seeds = ListedSeeds(kwargs.get('random_seed', 0))

    def generate(self, *args: Any, **kwargs: Any) -> list[str]:
        leave(self.seeds.samples)
        texts: list[str] = super().generate(*args, **kwargs)
        return texts


class SeededModel(BaseModel):  # type: ignore[misc]
    """Says a number made of its settings, the prompt and the seed, and how many tokens that took."""

    is_api = False

    def __init__(self, path: str = 'kept', random_seed: int = 0, temperature: float = 1.0, **_: Any) -> None:
        super().__init__(path=path, tokenizer_only=True)
        self.template_parser = LMTemplateParser()
        self.seeds = ListedSeeds(random_seed)
        self.generations = GenerationsOfBatch()
        self._temperature = temperature
        if engine := os.environ.get(ENGINE):
            provenance._engine_versions = lambda: {'engine': engine}

    def generate(self, inputs: list[str], max_out_len: int, **_: Any) -> list[str]:
        samples = self.seeds.samples
        leave(samples)
        seeds = self.seeds.take(len(inputs))
        texts = [self._say(prompt, seed) for prompt, seed in zip(inputs, seeds, strict=True)]
        lost = [str(sample.replica) == os.environ.get(FAILS) for sample in samples]
        told = [
            Generation(state='failed') if fails else Generation('stop', len(prompt), len(text))
            for prompt, text, fails in zip(inputs, texts, lost, strict=True)
        ]
        self.generations.note(told)
        return ['' if fails else text for text, fails in zip(texts, lost, strict=True)]

    def get_token_len(self, prompt: str) -> int:
        return len(prompt)

    def _say(self, prompt: str, seed: int) -> str:
        told = f'{prompt}\0{seed}\0{self._temperature}\0{os.environ.get(ENGINE)}'
        number = hashlib.sha256(told.encode()).digest()[0] % 3 + 6
        return f'of {seed}: \\boxed{{{number}}}'


class HostedModel(SeededModel):
    """The same behind a server, which takes seeds and promises nothing."""

    is_api = True
