"""Who does commands for a driver."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol


class Commands(Protocol):
    """What does commands, see `prefork.Pool`."""

    def command(self, line: Sequence[str]) -> list[str]:
        """Return the words of a command that does the same; if they are others, GPUs have virtual numbers."""

    def release(self, session: str, gpus: Collection[str] = ()) -> None:
        """End what is kept for a session, or only that on some GPUs, so that these are free."""


class Plain:
    """Commands as they are."""

    def command(self, line: Sequence[str]) -> list[str]:
        """Return the same words."""
        return list(line)

    def release(self, session: str, gpus: Collection[str] = ()) -> None:
        """Nothing is kept."""
