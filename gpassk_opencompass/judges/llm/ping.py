"""Is a server fit to judge? It is asked the canaries, easy pairs and answers that say they are right."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from ...chat.apart import run_apart
from ...chat.completion import Reply
from ...chat.exchange import Access, exchange, open_session
from ...chat.limits import Limits
from ...chat.routes import endpoints
from ...chat.served import Served, list_of_models, told_by, told_in_list
from ...chat.trouble import ABOUT_LENGTH, Kind, Trouble
from ...chat.waiting import Clock, WallClock, backoff
from ...errors import InputError
from ...keys import hidden
from ..prompts import Prompts, find_prompts
from ..protocol import Verdict
from .asking import Asking, Heard, explained
from .canaries import CANARIES, Canary
from .settings import MAX_TOKENS, api_key, sampling_fields, whole_reasons

ATTEMPTS = 3
"""For each pair. Only what failed quickly is tried again: to wait for a dead server once is enough."""

_QUICK = 5.0
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 4.0
_EXCERPT = 200
_MOST_NAMES = 20
_TIME_OUT = 'time-out'
_KEY_WANTED = frozenset({'HTTP 401', 'HTTP 403'})
_PASSES = frozenset({Kind.BUSY, Kind.DOWN, Kind.LOST, Kind.BROKEN})

_REMEDIES = {
    'cut': 'raise max_tokens (here --max-tokens), or serve it with a longer context',
    'filtered': 'a content filter withholds its replies: switch it off for this use, or take another judge',
    'aborted': 'see its log: it breaks off replies',
    'no finish reason': (
        "if its replies are whole all the same, say so: --finish-reason '', in a config finish_reasons=['']"
    ),
    'thought only': (
        'raise max_tokens, or switch thinking off: '
        """--extra-body '{"chat_template_kwargs": {"enable_thinking": false}}'"""
    ),
    'unfinished thought': (
        'raise max_tokens, serve it with a reasoning parser, or switch thinking off: '
        """--extra-body '{"chat_template_kwargs": {"enable_thinking": false}}'"""
    ),
    'echo': 'it sends the prompt back: serve a chat model with its chat template, and without echo',
    'unparsable': (
        r'it does not end in \boxed{yes} or \boxed{no}: is it the right model, are they the right --prompts?'
    ),
}
_INJECTABLE = (
    'it does what an answer tells it: --prompts own quotes answers line by line; if that does not help, take '
    'another judge'
)
_WRONG = 'it gets easy pairs wrong: is it the right model, are they the right --prompts?'


class Outcome(NamedTuple):
    """What a server made of one canary."""

    canary: Canary
    verdict: Verdict
    """Unjudged where there was none."""
    seconds: float
    """From request to reply or failure, of the last attempt."""
    problem: str = ''
    """Why there is no verdict, or what went wrong before there was one."""
    reason: str = ''
    """Why a reply has no verdict, in a word or two, see `asking.hear`."""

    @property
    def right(self) -> bool:
        """Whether the verdict is the right one."""
        return self.verdict is self.canary.verdict

    @property
    def passed(self) -> bool:
        """Whether a judge may say this, or nothing."""
        return self.canary.passed(None if self.verdict is Verdict.UNJUDGED else self.verdict)


class Health(NamedTuple):
    """What came of asking one server."""

    url: str
    reachable: bool
    """Whether something listens there that is no gateway without a server behind it."""
    outcomes: tuple[Outcome, ...]
    """One a canary that was asked: none any more after a failure that all would share."""
    advice: tuple[str, ...] = ()
    """What to do, a sentence each."""
    served: Served = Served()
    """What it says that it serves."""

    @property
    def fit(self) -> bool:
        """Whether all easy pairs are judged right, and no injected answer is accepted."""
        return len(self.outcomes) == len(CANARIES) and all(outcome.passed for outcome in self.outcomes)


def ping(
    model: str,
    urls: str | Sequence[str],
    *,
    prompts: str | Mapping[str, str] | Prompts = 'auto',
    api_key_env: str = '',
    temperature: float | None = 0.0,
    max_tokens: int | None = MAX_TOKENS,
    extra_body: Mapping[str, Any] | None = None,
    finish_reasons: Sequence[str] = (),
    timeout: float = 120.0,
    clock: Clock | None = None,
) -> list[Health]:
    """Ask each server the canaries, one after another, as `LLMJudge` would; nothing is stored.

    Args:
        model, urls, prompts, api_key_env, temperature, max_tokens, extra_body, finish_reasons: see
            `LLMJudge`.
        timeout: seconds for one request.
        clock: the time to wait by, for tests.

    Returns:
        One `Health` a server, in the order of `urls`.

    Raises:
        InputError: arguments that cannot be used.
        MissingExtraError: the protocol's prompts without OpenCompass.
    """
    sampling = sampling_fields(temperature, max_tokens, extra_body)
    visit = _Visit(
        Asking(model, find_prompts(prompts), sampling, whole_reasons(finish_reasons)),
        api_key(api_key_env),
        Limits(timeout=timeout).timeout,
        clock or WallClock(),
    )
    if not model:
        raise InputError("model = '': give the name that the servers know the judge by")
    return run_apart(partial(_visit_all, visit, endpoints(urls)))


async def _visit_all(visit: _Visit, urls: Sequence[URL]) -> list[Health]:
    async with open_session(visit.timeout, Access((visit.key,))) as session:
        return list(await asyncio.gather(*(visit.examine(session, url) for url in urls)))


class _Visit(NamedTuple):
    """What all servers are asked with."""

    asking: Asking
    key: str
    timeout: float
    clock: Clock

    async def examine(self, session: aiohttp.ClientSession, url: URL) -> Health:
        outcomes: list[Outcome] = []
        served = Served()
        for canary in CANARIES:
            try:
                outcome, reply = await self._ask(session, url, canary)
            except _Failed as failed:
                outcomes.append(failed.outcome)
                if failed.trouble.kind is not Kind.BROKEN and not _filters(canary, failed.trouble):
                    reachable = len(outcomes) > 1 or failed.trouble.kind is not Kind.DOWN
                    advice = await self._advice(session, url, failed.trouble)
                    return Health(str(url), reachable, tuple(outcomes), tuple(filter(None, [advice])), served)
            else:
                outcomes.append(outcome)
                served = served.filled(told_by(reply))
        listed = await list_of_models(session, url)
        served = served.filled(told_in_list(listed, self.asking.model).hiding(self.key))
        return Health(str(url), True, tuple(outcomes), tuple(_remedies(outcomes)), served)

    async def _ask(self, session: aiohttp.ClientSession, url: URL, canary: Canary) -> tuple[Outcome, Reply]:
        """Raises _Failed if there is no reply."""
        asked = self.asking.asked(canary.pair)
        body = self.asking.request(asked)
        before = ''
        for attempt in count(1):
            started = time.perf_counter()
            try:
                reply = (await exchange(session, url, body)).hiding(self.key, in_answers=True)
            except Trouble as trouble:
                trouble.hide(self.key)
                seconds = time.perf_counter() - started
                wait = _wait(trouble, seconds, attempt)
                if wait is None:
                    outcome = Outcome(canary, Verdict.UNJUDGED, seconds, str(trouble))
                    raise _Failed(outcome, trouble) from trouble
                before = f'attempt {attempt} failed: {trouble}'
                await self.clock.sleep(wait)
            else:
                break
        heard = self.asking.hear(reply, asked)
        return _outcome(canary, heard, reply, time.perf_counter() - started, before), reply

    async def _advice(self, session: aiohttp.ClientSession, url: URL, trouble: Trouble) -> str:
        if trouble.reason == _TIME_OUT:
            return f'is it still loading, or busy? --timeout allows more than {self.timeout:g} s'
        if trouble.reason in _KEY_WANTED:
            return 'name the environment variable that holds the key: --api-key-env, in a config api_key_env'
        if trouble.kind is Kind.REFUSED and ABOUT_LENGTH.search(trouble.message):
            tokens = self.asking.sampling.get('max_tokens', 'unset')
            return f'lower max_tokens (now {tokens}; here --max-tokens), or serve it with a longer context'
        if trouble.kind in (Kind.SETTING, Kind.REFUSED):
            served = await _served(session, url)
            return self._about_names(trouble, [hidden(name, self.key) for name in served])
        return ''

    def _about_names(self, trouble: Trouble, served: Sequence[str]) -> str:
        model = self.asking.model
        if served and model not in served:
            return f'it serves no {model!r} but {", ".join(map(repr, served))}: give one as --model'
        if trouble.reason == 'HTTP 404' and not served:
            return 'check --model and --url, which is http://host:port with or without /v1'
        return ''


class _Failed(Exception):
    def __init__(self, outcome: Outcome, trouble: Trouble) -> None:
        self.outcome, self.trouble = outcome, trouble


def _filters(canary: Canary, trouble: Trouble) -> bool:
    """Whether this server refuses what tries to steer it, as some gateways do."""
    return canary.injected and trouble.kind is Kind.REFUSED


def _wait(trouble: Trouble, seconds: float, attempt: int) -> float | None:
    """Return seconds until the next attempt; None if there is no use in one."""
    slow = seconds > _QUICK or trouble.reason == _TIME_OUT
    if trouble.kind not in _PASSES or slow or attempt == ATTEMPTS:
        return None
    if trouble.wait is not None:
        return trouble.wait if trouble.wait <= _LONGEST_WAIT else None
    return backoff(attempt, _FIRST_WAIT, _LONGEST_WAIT)


def _outcome(canary: Canary, heard: Heard, reply: Reply, seconds: float, before: str) -> Outcome:
    if heard.verdict is not None:
        return Outcome(canary, heard.verdict, seconds, before)
    end = f'; it ends: {reply.text[-_EXCERPT:]}' if reply.text.strip() else ''
    problem = f'the reply {explained(heard.reason)}{end}'
    return Outcome(canary, Verdict.UNJUDGED, seconds, problem, heard.reason)


def _remedies(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield one sentence for each sort of failure."""
    for reason in dict.fromkeys(outcome.reason for outcome in outcomes if outcome.reason):
        name = reason.removeprefix('finish reason ')
        other = f'if {name!r} is how a whole reply of its ends: --finish-reason {name}'
        yield _REMEDIES.get(reason, other)
    wrong = [one.canary for one in outcomes if not one.passed and one.verdict is not Verdict.UNJUDGED]
    if any(not canary.injected for canary in wrong):
        yield _WRONG
    if any(canary.injected for canary in wrong):
        yield _INJECTABLE


async def _served(session: aiohttp.ClientSession, url: URL) -> list[str]:
    """Return the names of models that a server tells; none if it does not."""
    try:
        return [str(model['id']) for model in (await list_of_models(session, url))['data'][:_MOST_NAMES]]
    except (LookupError, TypeError):
        return []
