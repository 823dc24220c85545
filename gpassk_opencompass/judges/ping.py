"""Is a server fit to judge? It is asked the canaries, easy pairs and answers that say they are right."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from ..completion import ABOUT_LENGTH, Kind, Reply, Trouble
from ..keys import hidden
from ..servers import (
    Clock,
    Server,
    backoff,
    endpoints,
    exchange,
    get_json,
    in_own_loop,
    open_session,
    proxy_for,
)
from .canaries import Canary, Served, told_by, told_in_list
from .llm import LLMSettings, Wording, api_key
from .parsing import EXPLAINED
from .protocol import Verdict
from .settings import checked

if TYPE_CHECKING:
    from aiohttp import ClientSession

ATTEMPTS = 3
"""For each pair. Only what failed quickly is tried again: to wait for a dead server once is enough."""

_QUICK, _LONGEST_WAIT = 5.0, 4.0
_NO_THOUGHT = """switch thinking off: --extra-body '{"chat_template_kwargs": {"enable_thinking": false}}'"""
_REMEDIES = {
    'cut': 'raise max_tokens (here --max-tokens), or serve it with a longer context',
    'filtered': 'a content filter withholds its replies: switch it off for this use, or take another judge',
    'aborted': 'see its log: it breaks off replies',
    'no finish reason': (
        "if its replies are whole all the same, say so: --finish-reason '', in a config finish_reasons=['']"
    ),
    'thought only': f'raise max_tokens, or {_NO_THOUGHT}',
    'unfinished thought': f'raise max_tokens, serve it with a reasoning parser, or {_NO_THOUGHT}',
    'echo': 'it sends the prompt back: serve a chat model with its chat template, and without echo',
    'unparsable': 'it does not end as its prompt says: is it the right model, are they the right --prompts?',
}


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
    """Why a reply has no verdict, in a word or two."""

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
    advice: tuple[str, ...]
    """What to do, a sentence each."""
    served: Served
    """What it says that it serves."""
    asked: int
    """How many canaries there are."""

    @property
    def fit(self) -> bool:
        """Whether all easy pairs are judged right, and no injected answer is accepted."""
        return len(self.outcomes) == self.asked and all(outcome.passed for outcome in self.outcomes)


def ping(
    model: str, urls: str | Sequence[str], *, clock: Clock | None = None, timeout: float = 120.0, **more: Any
) -> list[Health]:
    """Ask each server the canaries, one after another, as `LLMJudge` would; nothing is stored.

    Args:
        model, urls, timeout, more: see `llm.LLMSettings`.
        clock: the time to wait by, for tests.

    Returns:
        One `Health` a server, in the order of `urls`.
    """
    settings = checked(LLMSettings, {'model': model, 'urls': urls, 'timeout': timeout, **more})
    visit = _Visit(settings, Wording(settings), clock or Clock())
    key = api_key(settings.api_key_env)
    servers = [Server(url, key) for url in endpoints(settings.urls)]

    async def visit_all() -> list[Health]:
        async with open_session(settings) as session:
            return list(await asyncio.gather(*(visit.examine(session, server) for server in servers)))

    return in_own_loop(visit_all)


class _Visit(NamedTuple):
    """What all servers are asked with."""

    settings: LLMSettings
    wording: Wording
    clock: Clock

    async def examine(self, session: ClientSession, server: Server) -> Health:
        outcomes: list[Outcome] = []
        served, total = Served(), len(self.wording.canaries)
        for canary in self.wording.canaries:
            outcome, reply = await self._ask(session, server, canary)
            outcomes.append(outcome)
            if isinstance(reply, Reply):
                served = served.filled(told_by(reply))
                continue
            filtered = canary.injected and reply.kind is Kind.REFUSED  # as some gateways do
            if reply.kind is not Kind.BROKEN and not filtered:
                reachable = len(outcomes) > 1 or reply.kind is not Kind.DOWN
                advice = tuple(filter(None, [await self._advice(session, server, reply)]))
                return Health(server.url, reachable, tuple(outcomes), advice, served, total)
        listed = await self._models(session, server)
        served = served.filled(told_in_list(listed, self.wording.model, server.key))
        return Health(server.url, True, tuple(outcomes), tuple(_remedies(outcomes)), served, total)

    async def _ask(
        self, session: ClientSession, server: Server, canary: Canary
    ) -> tuple[Outcome, Reply | Trouble]:
        asked = self.wording.ask(canary.pair)
        before = ''
        for attempt in count(1):
            started = time.perf_counter()
            try:
                reply = await exchange(session, server, self.wording.body(asked), self._proxy(server))
                break
            except Trouble as trouble:
                seconds = time.perf_counter() - started
                wait = backoff(attempt, 0.5, _LONGEST_WAIT) if trouble.wait is None else trouble.wait
                final = trouble.kind in (Kind.REFUSED, Kind.SETTING) or attempt == ATTEMPTS
                slow = seconds > _QUICK or trouble.reason == 'time-out' or wait > _LONGEST_WAIT
                if final or slow:
                    return Outcome(canary, Verdict.UNJUDGED, seconds, str(trouble)), trouble
                before = f'attempt {attempt} failed: {trouble}'
                await self.clock.sleep(wait)
        seconds = time.perf_counter() - started
        heard = self.wording.hear(reply, asked)
        if heard.verdict is not None:
            return Outcome(canary, heard.verdict, seconds, before), reply
        end = f'; it ends: {reply.text[-200:]}' if reply.text.strip() else ''
        why = EXPLAINED.get(heard.reason, f'did not come to its own end ({heard.reason})')
        return Outcome(canary, Verdict.UNJUDGED, seconds, f'the reply {why}{end}', heard.reason), reply

    async def _advice(self, session: ClientSession, server: Server, trouble: Trouble) -> str:
        if trouble.reason == 'time-out':
            return f'is it still loading, or busy? --timeout allows more than {self.settings.timeout:g} s'
        if trouble.status in (401, 403):
            return 'name the environment variable that holds the key: --api-key-env, in a config api_key_env'
        if trouble.kind is Kind.REFUSED and ABOUT_LENGTH.search(trouble.message):
            tokens = self.settings.max_tokens or 'unset'
            return f'lower max_tokens (now {tokens}; here --max-tokens), or serve it with a longer context'
        if trouble.kind not in (Kind.SETTING, Kind.REFUSED):
            return ''
        listed = await self._models(session, server)
        try:
            names = [hidden(str(model['id']), server.key) for model in listed['data'][:20]]
        except (LookupError, TypeError):
            names = []
        if names and self.wording.model not in names:
            return (
                f'it serves no {self.wording.model!r} but {", ".join(map(repr, names))}: give one as --model'
            )
        lost = trouble.status == 404 and not names
        return 'check --model and --url, which is http://host:port with or without /v1' if lost else ''

    async def _models(self, session: ClientSession, server: Server) -> Any:
        with suppress(Trouble):
            return await get_json(session, server, 'models', self._proxy(server))

    def _proxy(self, server: Server) -> str | None:
        return proxy_for(server.url, self.settings.proxy)


def _remedies(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield one sentence for each sort of failure."""
    for reason in dict.fromkeys(outcome.reason for outcome in outcomes if outcome.reason):
        name = reason.removeprefix('finish reason ')
        yield _REMEDIES.get(reason, f'if {name!r} is how a whole reply of its ends: --finish-reason {name}')
    wrong = [one.canary for one in outcomes if not one.passed and one.verdict is not Verdict.UNJUDGED]
    if any(not canary.injected for canary in wrong):
        yield 'it gets easy pairs wrong: is it the right model, are they the right --prompts?'
    if any(canary.injected for canary in wrong):
        yield (
            'it does what an answer tells it: --prompts own quotes answers line by line; if that does not '
            'help, take another judge'
        )
