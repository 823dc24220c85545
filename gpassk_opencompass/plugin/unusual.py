"""Ends a run whose engine hardly gives a usual response any more, before it has asked for all samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from opencompass.utils import get_logger

from ..errors import IncompleteError, InputError
from ..health import Generation

MOST_FAILED = 0.1
"""Share of the samples of a shard that may be no usual response."""

LEAST = 8
"""As many may be in any shard, however small."""

_LONGEST = 300


def check_most_failed(share: Any) -> float:
    """Return the share, as it stands in a config.

    Raises:
        InputError: it is none.
    """
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise InputError(f'most_failed = {share!r}: expected a share from 0 to 1 of the samples of a shard')
    return float(share)


class UnusualSamples:
    """Counts the samples of a shard that are no usual response, by `health.STATES`.

    Args:
        name: of the shard, for messages.
        size: how many samples it has.
        most: the share of them that may be unusual; at least `LEAST` may.
        earlier: the states of those that an earlier part of the run has drawn.
    """

    def __init__(self, name: str, size: int, most: float, earlier: Iterable[str] = ()) -> None:
        self._name, self._size, self._most = name, size, most
        self._states = Counter(earlier)

    def add(self, batch: Iterable[Generation], said: str = '') -> None:
        """Count what the engine told of a batch whose rows are not written yet.

        Args:
            said: what the engine said of the first of them that is no usual response, for people.

        Raises:
            IncompleteError: too many are not. The batch shall not be written, so that a resume asks for it
                once more.
        """
        states = self._states + Counter(one.state for one in batch if one.state)
        if states.total() > max(self._most * self._size, LEAST):
            raise IncompleteError(
                f'{self._name}: {_told(states)} of {self._size} samples; most_failed = {self._most:g} allows '
                f'no more than {max(int(self._most * self._size), LEAST)}.'
                + (f' The first of the last batch: {" ".join(said.split())[:_LONGEST]!r}.' if said else '')
                + ' The last batch was not kept: mend server, model or settings, and run the same command '
                'with -r, which asks for it again; if the model is like that, raise most_failed (a '
                'line of the template, or an argument of the inferencer)'
            )
        self._states = states

    def report(self) -> None:
        """Say in the log how many there were, if there were any."""
        if self._states:
            get_logger().warning(f'{self._name}: {_told(self._states)} of {self._size} samples')


def _told(states: Counter[str]) -> str:
    named = ', '.join(f'{count} {state}' for state, count in states.most_common())
    return f'{states.total()} no usual response ({named})'
