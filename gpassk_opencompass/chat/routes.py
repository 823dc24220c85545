"""The servers that requests go to: their addresses, and what each can be given now."""

from __future__ import annotations

from collections.abc import Sequence

from loguru import logger
from yarl import URL

from ..completion import Kind, Trouble
from ..errors import InputError
from ..keys import without_user
from ..servers import backoff
from .limits import Limits

DEAD_AFTER = 8
"""Failures in a row after which a server counts as failing."""

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0
_SETS_ASIDE = frozenset({Kind.DOWN, Kind.LOST})
_COMPLETIONS = '/chat/completions'


def endpoint(address: str, variable: str = 'api_key_env') -> URL:
    """Return where to send requests, from any of the usual forms of a server's address.

    Args:
        address: with or without `/v1` and what follows it.
        variable: the setting that names the environment variable of a key, for the errors.

    Raises:
        InputError: no http(s) address, or one with a password or a query.

    >>> str(endpoint('http://10.0.0.1:23333')), str(endpoint('https://api.example.org/v1/'))
    ('http://10.0.0.1:23333/v1/chat/completions', 'https://api.example.org/v1/chat/completions')
    """
    if '@' in str(address):
        raise InputError(
            f'the url of {str(address).rpartition("@")[2]} holds a user or a password; leave them out and '
            f'name the environment variable with the key as {variable}'
        )
    url = _parsed(address)
    if url is None or url.scheme not in ('http', 'https') or not url.host:
        raise InputError(f'url {address!r}: expected http://host:port, with or without /v1 behind it')
    if url.query_string or url.fragment:
        # Not shown: what stands there is often a secret.
        raise InputError(
            f'the url of {url.host} holds a query or a fragment; leave it out and name the '
            f'environment variable with the key as {variable}'
        )
    path = url.path.rstrip('/')
    if path.endswith(_COMPLETIONS):
        return url.with_path(path)
    return url.with_path((path or '/v1') + _COMPLETIONS)


def base_of(url: URL) -> URL:
    """Return what comes before an endpoint, mostly `http://host:port/v1`.

    >>> str(base_of(endpoint('http://10.0.0.1:8000')))
    'http://10.0.0.1:8000/v1'
    """
    return url.with_path(url.path.removesuffix(_COMPLETIONS))


def endpoints(addresses: str | Sequence[str], variable: str = 'api_key_env') -> list[URL]:
    """Return the distinct endpoints of one address or several.

    Args:
        addresses, variable: see `endpoint`.

    Raises:
        InputError: there is none, or one that cannot be used.
    """
    given = [addresses] if isinstance(addresses, str) else addresses
    if not isinstance(given, Sequence) or not all(isinstance(address, str) for address in given):
        raise InputError(
            f"urls = {without_user(repr(addresses))}: expected a list of addresses like ['http://host:port']"
        )
    if not given:
        raise InputError('the url of at least one server is needed, e.g. http://localhost:23333/v1')
    return list(dict.fromkeys(endpoint(address, variable) for address in given))


class Route:
    """One server and how it is doing.

    The number of requests it gets at once (`window`) follows what it takes: halved when it wants fewer, down
    to one when it comes back from a failure, and one more with each reply.

    Args:
        url: its endpoint.
        limits: `concurrency` is the largest window; and `rate`.
        key: the API key that goes with its requests, '' for none.
        known: whether it needs no greeting before it gets requests.
    """

    def __init__(self, url: URL, limits: Limits, key: str = '', known: bool = True) -> None:
        self._known, self._greets, self._greeting = known, not known, False
        self.key = key
        self.came_back = False
        """Whether it was set aside since it was greeted first."""
        self.url, self.address = url, str(url)
        self.window = self._concurrency = limits.concurrency
        self._interval = 1.0 / limits.rate if limits.rate else 0.0
        self._paced_until = float('-inf')
        self._paused_until = float('-inf')
        self.in_flight = 0
        self.failures = 0
        """In a row; a server that works has 0."""
        self.replied_at = float('-inf')
        """When its last reply came."""
        self._aside = False
        self._unreachable = False
        self._pauses = 0

    @property
    def load(self) -> int:
        """Return how busy it is; failures count like requests under way."""
        return self.in_flight + self.failures

    @property
    def failing(self) -> bool:
        """Whether nothing but failures came from it lately."""
        return self.failures >= DEAD_AFTER

    @property
    def silent(self) -> bool:
        """Whether no reply is to be hoped for: it is failing, or out of reach with nothing under way."""
        return self.failing or (self._unreachable and not self.in_flight)

    @property
    def resume_at(self) -> float:
        """Return when it can be given the next request: it asked for a pause, or a limit is reached."""
        return max(self._paced_until, self._paused_until)

    def is_free(self, now: float) -> bool:
        """Whether it can be given a request at this time."""
        return self._known and self.in_flight < self.window and self.resume_at <= now

    def is_stranger(self, now: float) -> bool:
        """Whether it is to be greeted now, before it gets a request."""
        return not (self._known or self._greeting) and self.resume_at <= now

    def begin(self) -> None:
        """Forget what was under way in an earlier run, which may have been broken off."""
        self.in_flight, self._greeting = 0, False

    def begin_greeting(self, now: float) -> None:
        """Note that the greeting is on its way; it counts as a request."""
        self._greeting = True
        self.start(now)

    def end_greeting(self, known: bool) -> None:
        """Say how it went, before `succeeded` or `failed`."""
        self._greeting, self._known = False, known

    def start(self, now: float) -> None:
        """Note that a request is on its way."""
        self.in_flight += 1
        if self._interval:
            self._paced_until = max(now, self.resume_at) + self._interval

    def pause(self, until: float) -> None:
        """Give it nothing until then."""
        self._paused_until = max(self._paused_until, until)

    def is_alive(self, now: float) -> None:
        """Note that it replies, whatever became of the request under way."""
        self.failures, self._unreachable, self.replied_at = 0, False, now

    def succeeded(self) -> None:
        """Note that a reply came."""
        self.in_flight -= 1
        self.failures = 0
        self._unreachable = False
        self._pauses = 0
        self.window = min(self._concurrency, self.window + 1)
        if self._aside:
            self._aside = False
            logger.info(f'{self.url} answers again')

    def failed(self, trouble: Trouble, now: float) -> None:
        """Note that no reply came, and pause if the server asked for it, is busy or seems dead."""
        self.in_flight -= 1
        self._unreachable = trouble.kind is Kind.DOWN
        self.failures += trouble.kind is not Kind.REFUSED  # who refuses one request may take the next
        if trouble.kind is Kind.BUSY:
            self._slow_down(trouble, now)
        elif trouble.wait is not None:
            self.pause(now + trouble.wait)
        elif self.failing and trouble.kind in _SETS_ASIDE:
            self._set_aside(trouble, now)
        elif not self._known:
            self.pause(now + backoff(max(1, self.failures), _FIRST_PAUSE, _LONGEST_PAUSE))

    def _slow_down(self, trouble: Trouble, now: float) -> None:
        if self._paused_until <= now:  # once for all that were on their way together
            self.window = max(1, self.window // 2)
            self._pauses += 1
        pause = backoff(max(1, self._pauses), _FIRST_PAUSE, _LONGEST_PAUSE)
        self.pause(now + (pause if trouble.wait is None else trouble.wait))

    def _set_aside(self, trouble: Trouble, now: float) -> None:
        if not self._aside:
            self._aside = True
            self._known = not self._greets
            self.came_back = True  # perhaps with another model
            logger.warning(f'{self.url} is set aside and tried again later: {trouble}')
        if self._paused_until <= now:  # once for all that were on their way together
            self.window = 1
            self._pauses += 1
            self.pause(now + backoff(self._pauses, _FIRST_PAUSE, _LONGEST_PAUSE))


def _parsed(address: str) -> URL | None:
    try:
        return URL(address)
    except (ValueError, TypeError):
        return None
