"""How long to wait, and the time to wait by."""

from __future__ import annotations

import asyncio
import random
import re
import time
from email.utils import parsedate_to_datetime
from typing import Protocol


class Clock(Protocol):
    """The time that a client lives by; a test brings one that need not wait."""

    def now(self) -> float:
        """Return the seconds since some moment; they never go back."""

    async def sleep(self, seconds: float) -> None:
        """Return that much later."""


class WallClock:
    """The real time."""

    def now(self) -> float:
        """Return the seconds of the monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait without keeping anybody else from working."""
        await asyncio.sleep(seconds)


def backoff(failures: int, first: float, most: float) -> float:
    """Return seconds to wait after so many failures in a row: `first` · 2^(failures − 1), never above `most`.

    A random part of up to a half is taken off, lest those that failed together come back together.

    >>> 4.0 <= backoff(4, first=1.0, most=60.0) <= 8.0
    True
    """
    wait = min(most, first * 2.0 ** min(failures - 1, 60))
    return wait * random.uniform(0.5, 1.0)


def retry_after(header: str | None, now: float | None = None) -> float | None:
    """Return seconds that a Retry-After header asks to wait; None where it is missing or makes no sense.

    Args:
        header: a number of seconds or an HTTP date.
        now: the Unix time to count a date from; default: the machine's.

    >>> retry_after('120'), retry_after('Fri, 31 Dec 1999 23:59:59 GMT', now=946684790.0), retry_after('soon')
    (120.0, 9.0, None)
    """
    if header is None:
        return None
    if re.fullmatch(r'\s*[0-9]{1,9}(?:\.[0-9]*)?\s*', header):
        return float(header)
    try:
        moment = parsedate_to_datetime(header).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, moment - (time.time() if now is None else now))
