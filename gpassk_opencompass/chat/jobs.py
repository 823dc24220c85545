"""One request on its way to a reply."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..completion import Trouble


@dataclass(eq=False, slots=True)
class Job:
    """One request on its way through the attempts."""

    item: Any
    """Whatever the caller wants to recognise it by."""
    body: bytes
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
