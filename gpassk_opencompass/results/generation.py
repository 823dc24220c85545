"""How a sample came to be, as far as its engine tells: why it ended, its tokens, its time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import fsum, isfinite
from typing import Any, NamedTuple

from ..files import mapping

CUT_OFF = 'length'
"""The finish reason of a response that was longer than it might be."""

UNKNOWN = 'unknown'
"""Stands in a tally for a sample of which no finish reason is known."""

_LONGEST_REASON = 64
_LARGEST = 2**53


class Generation(NamedTuple):
    """What an engine said of one sample; None is what it did not say.

    finish_reason: 'stop', 'length' for a response that was cut off, or another word of the engine's.
    prompt_tokens: of the prompt with its chat template, without padding.
    output_tokens: all that were generated: with the thinking, and with the token that ended it.
    seconds: from request to reply of this sample alone; None where a batch is answered at once.
    """

    finish_reason: str | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None

    @classmethod
    def from_json(cls, told: object) -> Generation:
        """Read what `as_json` wrote, or any engine said; what makes no sense is taken as not known.

        >>> Generation.from_json({'finish_reason': 'stop', 'output_tokens': -7, 'seconds': 'long'})
        Generation(finish_reason='stop', prompt_tokens=None, output_tokens=None, seconds=None)
        """
        fields = mapping(told)
        return cls(
            _reason(fields.get('finish_reason')),
            _count(fields.get('prompt_tokens')),
            _count(fields.get('output_tokens')),
            _seconds(fields.get('seconds')),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are known."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def totals_of(generations: Sequence[Generation]) -> dict[str, Any]:
    """Return what a run cost and how its samples ended, for the block `gpassk`.

    A sum is there only if it is known for every sample, and so is how many were cut off.

    >>> totals_of([Generation('stop', 9, 20), Generation('length', 9, 50)])
    {'prompt_tokens': 18, 'output_tokens': 70, 'finish_reasons': {'stop': 1, 'length': 1}, \
'truncated': 1, 'truncated_by': 'engine'}
    >>> totals_of([Generation('stop', 9, 20), Generation()])
    {'finish_reasons': {'stop': 1, 'unknown': 1}}
    """
    if not any(map(any, generations)):
        return {}
    totals: dict[str, Any] = {
        name: sum(values)
        for name in ('prompt_tokens', 'output_tokens')
        if None not in (values := [getattr(one, name) for one in generations])
    }
    seconds = [one.seconds for one in generations if one.seconds is not None]
    if len(seconds) == len(generations):
        totals['seconds'] = round(fsum(seconds), 3)
    reasons = Counter(one.finish_reason or UNKNOWN for one in generations)
    if any(one.finish_reason for one in generations):
        totals['finish_reasons'] = dict(reasons)
    if all(one.finish_reason for one in generations):
        totals |= {'truncated': reasons[CUT_OFF], 'truncated_by': 'engine'}
    return totals


def _reason(told: object) -> str | None:
    return told if isinstance(told, str) and 0 < len(told) <= _LONGEST_REASON else None


def _count(told: object) -> int | None:
    whole = isinstance(told, int) and not isinstance(told, bool)
    return told if whole and 0 <= told <= _LARGEST else None  # type: ignore[operator, return-value]


def _seconds(told: object) -> float | None:
    number = isinstance(told, (int, float)) and not isinstance(told, bool)
    if not number or not 0 <= told <= _LARGEST or not isfinite(told):  # type: ignore[operator, arg-type]
        return None
    return float(told)  # type: ignore[arg-type]
