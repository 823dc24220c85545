"""The demo's model, which writes down where each sample was drawn, and with which seed."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gpassk_opencompass.plugin.handover import Sample, SeedsOfBatch, sample_seed
from gpassk_opencompass.plugin.models import SeededHuggingFace

TRACE = 'TRACE'
"""Variable with the file that gets a line for each sample."""

HANGS = 'HANGS'
"""Variable 'NODE': on this node of Slurm a task hangs at its fourth batch, as if the machine were broken."""


class Drawn(NamedTuple):
    """A line of the trace."""

    node: str
    gpus: str
    process: str
    uid: str
    replica: str
    seed: str


class TracedSeeds(SeedsOfBatch):
    """Tell the trace what is announced."""

    def __init__(self, random_seed: int) -> None:
        super().__init__(random_seed)
        self._seed, self._batches = random_seed, 0

    def announce(self, samples: Sequence[Sample]) -> None:
        super().announce(samples)
        node = os.environ.get('SLURMD_NODENAME', '-')
        where = f'{node} {os.environ.get("CUDA_VISIBLE_DEVICES") or "-"} {os.getpid()}'
        with Path(os.environ[TRACE]).open('a') as lines:
            lines.writelines(f'{where} {s.uid} {s.replica} {sample_seed(self._seed, s)}\n' for s in samples)
        self._batches += 1
        if self._batches == 4 and os.environ.get(HANGS) == node:
            signal.pause()


class TracedHuggingFace(SeededHuggingFace):
    """`SeededHuggingFace` with a trace."""

    def __init__(self, *args: Any, random_seed: int = 0, **kwargs: Any) -> None:
        super().__init__(*args, random_seed=random_seed, **kwargs)
        self.seeds = TracedSeeds(random_seed)


def read_trace(path: Path) -> list[Drawn]:
    """All lines, in the order of writing; none before the first one."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Drawn(*line.split()) for line in lines]
