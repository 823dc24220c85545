"""Who does commands for a driver, and what follows when a run is complete."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from .plan import Planned
from .state import Finding


class Following(Protocol):
    """What a run has to do after it is complete, see `until.Rule`."""

    def after(self, run: Planned, finding: Finding) -> Planned | None:
        """Return the same run with more samples; None where nothing follows. A call may be repeated."""

    def may_follow(self, run: Planned) -> bool:
        """Whether something may follow, so that its model had better stay loaded."""


class Nothing:
    """Nothing follows."""

    def after(self, run: Planned, finding: Finding) -> Planned | None:
        """Return None."""
        return None

    def may_follow(self, run: Planned) -> bool:
        """Return False."""
        return False


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
