"""How many requests and tokens a server still takes: as its replies say, or a budget that is set."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from datetime import datetime, timezone

MINUTE = 60.0

_UNITS = {'ms': 1e-3, 's': 1.0, 'm': 60.0, 'h': 3600.0}
_PART = re.compile(r'([0-9]+(?:\.[0-9]*)?)(ms|s|m|h)')
_REQUESTS = ('x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests')
_TOKENS = ('x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens')
_NUMBER = re.compile(r'[0-9]{1,12}(?:\.[0-9]*)?')


def pause_of(headers: Mapping[str, str], tokens: int = 1, now: float | None = None) -> float | None:
    """Return seconds until the next request, where the headers of a reply say that nothing is left before.

    Read are `x-ratelimit-remaining-requests`, `-remaining-tokens`, and `-reset-…` of both, as OpenAI, Azure,
    Groq, vLLM's gateways and Anthropic's compatible address send them. It is a minute at most: that is what
    the limits are counted for, and a reply that says otherwise is told by the next error.

    Args:
        headers: of the reply; names in any case.
        tokens: what the next request will need.
        now: the Unix time to count a date from; default: the machine's.

    >>> pause_of({'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1m2.5s'})
    60.0
    >>> pause_of({'x-ratelimit-remaining-tokens': '900', 'x-ratelimit-reset-tokens': '250ms'}, tokens=1000)
    0.25
    >>> pause_of({'x-ratelimit-remaining-tokens': '900', 'x-ratelimit-reset-tokens': '250ms'}) is None
    True
    """
    waits = []
    for (remaining, reset), needed in ((_REQUESTS, 1), (_TOKENS, tokens)):
        left = headers.get(remaining, '').strip()
        if left and _NUMBER.fullmatch(left) and float(left) < needed:
            waits.append(_seconds(headers.get(reset, '').strip(), now))
    return max(filter(None, waits), default=None)


def _seconds(text: str, now: float | None) -> float | None:
    """Return how long '6m0s', '12' or a date is from now; None for anything else."""
    parts = _PART.findall(text)
    if parts and ''.join(map(''.join, parts)) == text:
        wait = sum(float(number) * _UNITS[unit] for number, unit in parts)
    elif _NUMBER.fullmatch(text):
        wait = float(text)
    else:
        try:
            moment = datetime.fromisoformat(text.replace('Z', '+00:00'))
        except ValueError:
            return None
        if moment.tzinfo is None:
            return None
        since = datetime.now(timezone.utc).timestamp() if now is None else now
        wait = moment.timestamp() - since
    return min(max(wait, 0.0), MINUTE)


class TokenBudget:
    """Tokens that may be spent within any minute.

    What a request will need is not known before its reply. The mean of those before stands for it; for the
    first ones the caller's guess. The reply then puts its own count in the place of that.

    Args:
        per_minute: prompt and response together.
    """

    def __init__(self, per_minute: float) -> None:
        self._per_minute = per_minute
        self._spent: deque[list[float]] = deque()  # [when, how many]
        self._sum = 0.0
        self._forgotten = float('-inf')
        self._known, self._replies = 0.0, 0

    def estimate(self, guess: float) -> float:
        """Return what the next request will need."""
        return self._known / self._replies if self._replies else guess

    def wait(self, guess: float, now: float) -> float:
        """Return the seconds until there is room for the next request; one above the budget takes all."""
        self._forget(now)
        room = self._per_minute - min(self.estimate(guess), self._per_minute)
        left = self._sum
        for when, tokens in self._spent:
            if left <= room:
                break
            left -= tokens
            moment = when
        return 0.0 if left == self._sum else moment + MINUTE - now

    def spend(self, guess: float, now: float) -> list[float]:
        """Note that a request is on its way; what is returned goes to `settle`."""
        entry = [now, self.estimate(guess)]
        self._spent.append(entry)
        self._sum += entry[1]
        return entry

    def settle(self, entry: list[float], tokens: float | None) -> None:
        """Say what a request took: None where nobody told, 0 for one that was turned away."""
        if tokens is None:
            return
        if tokens:
            self._known, self._replies = self._known + tokens, self._replies + 1
        if entry[0] + MINUTE > self._forgotten:
            self._sum += tokens - entry[1]
        entry[1] = tokens

    def _forget(self, now: float) -> None:
        self._forgotten = now
        while self._spent and self._spent[0][0] + MINUTE <= now:
            self._sum -= self._spent.popleft()[1]
