"""Is a server fit to judge? It is asked one easy correct and one easy wrong pair in each language."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from ..errors import InputError
from ..keys import hidden
from .apart import run_apart
from .exchange import Kind, Reply, Trouble, exchange, open_session
from .limits import Limits
from .prompts import Prompts, find_prompts
from .protocol import Pair, Verdict
from .reply import read_verdict
from .request import MAX_TOKENS, api_key, completion_request, sampling_fields
from .routes import endpoints
from .waits import Clock, WallClock, backoff

ATTEMPTS = 3
"""For each pair. Only what failed quickly is tried again: to wait for a dead server once is enough."""

_QUICK = 5.0
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 4.0
_EXCERPT = 200
_MOST_NAMES = 20
_TIME_OUT = 'time-out'
_KEY_WANTED = frozenset({'HTTP 401', 'HTTP 403'})
_PASSES = frozenset({Kind.BUSY, Kind.DOWN, Kind.LOST, Kind.BROKEN})
_ABOUT_LENGTH = re.compile(
    r'context.?(length|window)|max_(model_len|(total_|completion_|new_)?tokens)|output tokens', re.IGNORECASE
)

EASY = {
    ('en', Verdict.CORRECT): Pair('What is 7 × 8?', '56', '56'),
    ('en', Verdict.INCORRECT): Pair('What is 7 × 8?', '56', '54'),
    ('cn', Verdict.CORRECT): Pair('7 × 8 等于多少？', '56', '56', 'cn'),
    ('cn', Verdict.INCORRECT): Pair('7 × 8 等于多少？', '56', '54', 'cn'),
}
"""(language, the verdict that is right) → pair."""


class Echo(NamedTuple):
    """What a server made of one easy pair."""

    pair: Pair
    expected: Verdict
    verdict: Verdict
    """Unjudged where there was none."""
    seconds: float
    """From request to reply or failure, of the last attempt."""
    problem: str = ''
    """Why there is no verdict, or what went wrong before there was one."""

    @property
    def right(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.verdict is self.expected


class Health(NamedTuple):
    """What came of asking one server."""

    url: str
    reachable: bool
    """Whether something listens there that is no gateway without a server behind it."""
    echoes: tuple[Echo, ...]
    """One a pair that was asked: none any more after a failure that all would share."""
    advice: str = ''
    """What to do; '' where nothing is known."""

    @property
    def fit(self) -> bool:
        """Whether all verdicts are right."""
        return len(self.echoes) == len(EASY) and all(echo.right for echo in self.echoes)


def ping(
    model: str,
    urls: str | Sequence[str],
    *,
    prompts: str | Mapping[str, str] | Prompts = 'auto',
    api_key_env: str = '',
    temperature: float | None = 0.0,
    max_tokens: int | None = MAX_TOKENS,
    extra_body: Mapping[str, Any] | None = None,
    timeout: float = 120.0,
    clock: Clock | None = None,
) -> list[Health]:
    """Ask each server the same four pairs, one after another, as `LLMJudge` would; nothing is stored.

    Args:
        model, urls, prompts, api_key_env, temperature, max_tokens, extra_body: see `LLMJudge`.
        timeout: seconds for one request.
        clock: the time to wait by, for tests.

    Returns:
        One `Health` a server, in the order of `urls`.

    Raises:
        InputError: arguments that cannot be used.
        MissingExtraError: the protocol's prompts without OpenCompass.
    """
    visit = _Visit(
        model,
        find_prompts(prompts),
        sampling_fields(temperature, max_tokens, extra_body),
        api_key(api_key_env),
        Limits(timeout=timeout).timeout,
        clock or WallClock(),
    )
    if not model:
        raise InputError("model = '': give the name that the servers know the judge by")
    return run_apart(partial(_visit_all, visit, endpoints(urls)))


async def _visit_all(visit: _Visit, urls: Sequence[URL]) -> list[Health]:
    async with open_session(visit.timeout, visit.key) as session:
        return list(await asyncio.gather(*(visit.examine(session, url) for url in urls)))


class _Visit(NamedTuple):
    """What all servers are asked with."""

    model: str
    prompts: Prompts
    sampling: Mapping[str, Any]
    key: str
    timeout: float
    clock: Clock

    async def examine(self, session: aiohttp.ClientSession, url: URL) -> Health:
        echoes: list[Echo] = []
        for (_, expected), pair in EASY.items():
            try:
                echoes.append(await self._ask(session, url, pair, expected))
            except _Failed as failed:
                echoes.append(failed.echo)
                if failed.trouble.kind is not Kind.BROKEN:
                    reachable = len(echoes) > 1 or failed.trouble.kind is not Kind.DOWN
                    advice = await self._advice(session, url, failed.trouble)
                    return Health(str(url), reachable, tuple(echoes), advice)
        return Health(str(url), True, tuple(echoes))

    async def _ask(self, session: aiohttp.ClientSession, url: URL, pair: Pair, expected: Verdict) -> Echo:
        """Raises _Failed if there is no reply."""
        prompt = self.prompts.fill(
            pair.language, question=pair.question, reference=pair.reference, candidate=pair.answer
        )
        body = completion_request(self.model, prompt, self.sampling)
        before = ''
        for attempt in count(1):
            started = time.perf_counter()
            try:
                reply = (await exchange(session, url, body)).hiding(self.key)
            except Trouble as trouble:
                trouble.hide(self.key)
                seconds = time.perf_counter() - started
                wait = _wait(trouble, seconds, attempt)
                if wait is None:
                    echo = Echo(pair, expected, Verdict.UNJUDGED, seconds, str(trouble))
                    raise _Failed(echo, trouble) from trouble
                before = f'attempt {attempt} failed: {trouble}'
                await self.clock.sleep(wait)
            else:
                break
        return _heard(pair, expected, reply, time.perf_counter() - started, before)

    async def _advice(self, session: aiohttp.ClientSession, url: URL, trouble: Trouble) -> str:
        if trouble.reason == _TIME_OUT:
            return f'is it still loading, or busy? --timeout allows more than {self.timeout:g} s'
        if trouble.reason in _KEY_WANTED:
            return 'name the environment variable that holds the key: --api-key-env, in a config api_key_env'
        if trouble.kind is Kind.REFUSED and _ABOUT_LENGTH.search(trouble.message):
            tokens = self.sampling.get('max_tokens', 'unset')
            return f'lower max_tokens (now {tokens}; here --max-tokens), or serve it with a longer context'
        if trouble.kind in (Kind.SETTING, Kind.REFUSED):
            served = await _served(session, url)
            return self._about_names(trouble, [hidden(name, self.key) for name in served])
        return ''

    def _about_names(self, trouble: Trouble, served: Sequence[str]) -> str:
        if served and self.model not in served:
            return f'it serves no {self.model!r} but {", ".join(map(repr, served))}: give one as --model'
        if trouble.reason == 'HTTP 404' and not served:
            return 'check --model and --url, which is http://host:port with or without /v1'
        return ''


class _Failed(Exception):
    def __init__(self, echo: Echo, trouble: Trouble) -> None:
        self.echo, self.trouble = echo, trouble


def _wait(trouble: Trouble, seconds: float, attempt: int) -> float | None:
    """Seconds until the next attempt; None if there is no use in one."""
    slow = seconds > _QUICK or trouble.reason == _TIME_OUT
    if trouble.kind not in _PASSES or slow or attempt == ATTEMPTS:
        return None
    if trouble.wait is not None:
        return trouble.wait if trouble.wait <= _LONGEST_WAIT else None
    return backoff(attempt, _FIRST_WAIT, _LONGEST_WAIT)


def _heard(pair: Pair, expected: Verdict, reply: Reply, seconds: float, before: str) -> Echo:
    verdict = None if reply.cut else read_verdict(reply.text)
    if verdict is not None:
        return Echo(pair, expected, verdict, seconds, before)
    problem = 'cut, max_tokens or the context is too short' if reply.cut else 'no verdict in it'
    end = f', its end: {reply.text[-_EXCERPT:]}' if reply.text.strip() else ''
    return Echo(pair, expected, Verdict.UNJUDGED, seconds, f'the reply: {problem}{end}')


async def _served(session: aiohttp.ClientSession, url: URL) -> list[str]:
    """The names of models that a server tells; none if it does not."""
    try:
        async with session.get(url.parent.parent / 'models', allow_redirects=False) as response:
            models = (await response.json(content_type=None))['data']
            return [str(model['id']) for model in models[:_MOST_NAMES]]
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError, LookupError, TypeError):
        return []
