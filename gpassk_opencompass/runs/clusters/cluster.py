"""What the driver asks of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

from .work import Work


class Phase(Enum):
    """How far a job is."""

    WAITING = 'waiting'
    RUNNING = 'running'
    ENDED = 'ended'


@dataclass(frozen=True)
class Seen:
    """A job, as the cluster tells of it."""

    phase: Phase
    state: str
    """In the cluster's own words, such as 'PENDING (Resources)'."""
    log: Path
    node: str | None = None
    code: int | None = None
    """The exit code of an ended job; None if it was killed, with its node or without."""
    says: str = ''
    """What an ended job said of its end itself."""
    may_go_on: bool = False
    """Whether an ended job was ended by the cluster, and not by an error or by somebody's wish."""


class Cluster(Protocol):
    """A place where sessions become jobs, one each."""

    name: str
    """For messages: 'Slurm', 'Ray'."""
    interval: float
    """Seconds between two looks."""

    def adopt(self, runs: Collection[str]) -> Mapping[str, Work]:
        """Return the jobs of an earlier command that are still there for some of these runs."""

    def submit(self, works: Sequence[Work]) -> Mapping[str, Work]:
        """Submit a job for each session; return them by their names.

        Raises:
            InputError: the cluster refuses; then nothing is left of what was submitted.
        """

    def look(self) -> Mapping[str, Seen]:
        """Return how all jobs are that were adopted or submitted."""

    def cancel(self, hurry: bool) -> None:
        """Have all jobs stop: so that they end their runs cleanly, or in a hurry at once."""

    def close(self) -> None:
        """Let go of the cluster."""
