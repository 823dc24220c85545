"""Moments in UTC, durations, and the time directories of OpenCompass, named by the clock on the wall."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from datetime import datetime, timezone

FOLDER = '%Y%m%d_%H%M%S'
"""How OpenCompass names its time directories."""


def utc_now() -> str:
    """Return the present as ISO 8601, to the microsecond: two runs may begin in one second.

    >>> utc_now()[10] + utc_now()[-1]
    'TZ'
    """
    return datetime.now(timezone.utc).strftime('%Y-%m-%dT%H:%M:%S.%fZ')


def utc_folder() -> str:
    """Return the present in the form of a time directory, in UTC as in each one that `gpassk run` makes."""
    return datetime.now(timezone.utc).strftime(FOLDER)


def own_folder(taken: Collection[str]) -> str:
    """Return the present as `utc_folder` does, once it is none of those taken: within a second.

    OpenCompass names a time directory after the second: two starts within one would share it.
    """
    while (now := utc_folder()) in taken:
        time.sleep(0.02)
    return now


def seconds_of(moment: object) -> float | None:
    """Return the seconds since 1970 of an ISO 8601 text, which is in UTC where it says no other; else None.

    >>> seconds_of('1970-01-02T00:00:00Z')
    86400.0
    >>> seconds_of('1970-01-01T00:00:01.5')
    1.5
    """
    # Python 3.10 reads fractions of three or six digits alone.
    text = re.sub(r'\.(\d{1,6})\d*', lambda found: f'.{found[1]:0<6}', str(moment).replace('Z', '+00:00'))
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        return None


def seconds_of_folder(name: str, utc: bool = False) -> float | None:
    """Return the seconds since 1970 of a time directory, named by the local time or in UTC; None for others.

    >>> seconds_of_folder('19700102_000000', utc=True)
    86400.0
    """
    try:
        moment = datetime.strptime(name, FOLDER)
        return (moment.replace(tzinfo=timezone.utc) if utc else moment.astimezone()).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(42.4), duration(185), duration(7500)
    ('42 s', '3:05 min', '2:05 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f'{whole} s'
    return (
        f'{whole // 60}:{whole % 60:02} min' if whole < 3600 else f'{whole // 3600}:{whole % 3600 // 60:02} h'
    )
