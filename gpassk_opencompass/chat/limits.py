"""How hard to try to get replies."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from ..errors import InputError


@dataclass(frozen=True)
class Limits:
    """How hard to try. All times are in seconds.

    Args:
        concurrency: requests under way at once, a server; ≥ 1.
        rate: requests started a second, a server; None for no limit.
        timeout: for one request.
        attempts: of one request. A server that is busy or cannot be reached does not count as one.
        total_time: for one request, from its first attempt on: none starts later.
        patience: how long to go on without a single reply when every server fails.

    Raises:
        InputError: a limit that is not positive, or no time-out at all.
    """

    concurrency: int = 64
    rate: float | None = None
    timeout: float = 600.0
    attempts: int = 12
    total_time: float = 1800.0
    patience: float = 120.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if isinstance(value, bool) or not (isinstance(value, int | float) and value > 0):
                raise InputError(f'{field.name} = {value!r}: expected a number above 0')
        if self.timeout == math.inf:  # a patience without end is well defined, no timer runs that long
            raise InputError('timeout = inf: expected a number of seconds, e.g. 86400 for a day')
        if not (isinstance(self.concurrency, int) and isinstance(self.attempts, int)):
            raise InputError(
                f'concurrency = {self.concurrency!r}, attempts = {self.attempts!r}: expected integers'
            )
