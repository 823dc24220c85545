"""One request on its way to a reply."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .trouble import Trouble

_CHARACTERS_A_TOKEN = 3


@dataclass(eq=False, slots=True)
class Job:
    """One request on its way through the attempts."""

    item: Any
    """Whatever the caller wants to recognise it by."""
    body: bytes
    tokens: float = 0.0
    """About as many as prompt and response may have, for a budget that has seen no reply yet."""
    asked: int = 0
    """Replies that the caller did not take."""
    since: float | None = None
    """When its first attempt started."""
    attempts: int = 0
    failures: int = 0
    failed_at: float = math.inf
    """When its last attempt failed."""
    trouble: Trouble | None = None
    """The last one."""
    seconds: float = 0.0
    """From the last request to its reply."""
    url: str = ''
    """Where it was sent last."""


def job_for(item: Any, body: bytes, max_tokens: int) -> Job:
    """Return a job with a guess at its tokens: a third of the body's bytes, and the longest response.

    Args:
        item: what the caller recognises it by.
        body: of the request.
        max_tokens: the longest response.

    >>> job_for('a', b'{"model": "m"}', 100).tokens
    104.66666666666667
    """
    return Job(item, body, len(body) / _CHARACTERS_A_TOKEN + max_tokens)
