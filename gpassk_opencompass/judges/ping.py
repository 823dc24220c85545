"""Is a server fit to judge? It is asked the canaries, easy pairs and answers that say they are right."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ..completion import ABOUT_LENGTH, Kind, Reply, Trouble
from ..errors import IncompleteError, InputError
from ..keys import hidden
from ..servers import (
    Clock,
    Request,
    Server,
    answer_all,
    endpoints,
    get_json,
    in_own_loop,
    open_session,
    proxy_for,
)
from .canaries import Canary, Served, told_by, told_in_list
from .llm import LLMSettings, Wording, api_key
from .parsing import EXPLAINED
from .protocol import Verdict, checked

if TYPE_CHECKING:
    from aiohttp import ClientSession

_TRIES = {'attempts': 2, 'patience': 4.0, 'concurrency': 1}
"""To wait for a dead server once is enough; one canary after another, the easy ones first."""

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
    """From request to reply, of the last attempt."""
    problem: str = ''
    """Why there is no verdict."""
    reason: str = ''
    """Why a reply has no verdict, in a word or two."""

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
    wording, key, time = Wording(settings), api_key(settings.api_key_env), clock or Clock()
    servers = [Server(url, key) for url in endpoints(settings.urls)]

    async def visit_all() -> list[Health]:
        async with open_session(settings) as session:
            visits = [_examine(session, server, settings, wording, time) for server in servers]
            return list(await asyncio.gather(*visits))

    return in_own_loop(visit_all)


async def _examine(
    session: ClientSession, server: Server, settings: LLMSettings, wording: Wording, clock: Clock
) -> Health:
    outcomes: list[Outcome] = []
    served = Served()
    failure: Trouble | None = None

    def heard(request: Request, reply: Reply | Trouble) -> bool:
        nonlocal served
        canary: Canary = request.item
        if isinstance(reply, Trouble):
            outcomes.append(Outcome(canary, Verdict.UNJUDGED, request.seconds, str(reply)))
            filtered = canary.injected and reply.kind is Kind.REFUSED  # as some gateways do
            if reply.kind is not Kind.BROKEN and not filtered:
                raise InputError(str(reply)) from reply
            return True
        served = served.filled(told_by(reply))
        said = wording.hear(reply, wording.ask(canary.pair))
        end = f'; it ends: {reply.text[-200:]}' if reply.text.strip() else ''
        why = EXPLAINED.get(said.reason, f'did not come to its own end ({said.reason})')
        problem = '' if said.verdict else f'the reply {why}{end}'
        verdict = said.verdict or Verdict.UNJUDGED
        outcomes.append(Outcome(canary, verdict, request.seconds, problem, said.reason))
        return True

    requests = [Request(canary, wording.body(wording.ask(canary.pair))) for canary in wording.canaries]
    tries = settings.model_copy(update={**_TRIES, 'total_time': min(settings.timeout, 10.0)})
    try:
        await answer_all([server], requests, heard, tries, clock=clock)
    except (InputError, IncompleteError) as error:
        if not isinstance(error.__cause__, Trouble):
            raise
        failure = error.__cause__
        if len(outcomes) < len(requests) and not (outcomes and outcomes[-1].problem == str(failure)):
            canary = wording.canaries[len(outcomes)]
            outcomes.append(Outcome(canary, Verdict.UNJUDGED, 0.0, str(failure)))
    listed = None
    if failure is None or failure.kind in (Kind.SETTING, Kind.REFUSED):
        with suppress(Trouble):
            listed = await get_json(session, server, 'models', proxy_for(server.url, settings.proxy))
    if failure is None:
        advice = tuple(_remedies(outcomes))
        served = served.filled(told_in_list(listed, settings.model, server.key))
    else:
        advice = tuple(filter(None, [_advice(failure, settings, listed, server.key)]))
    reachable = failure is None or len(outcomes) > 1 or failure.kind is not Kind.DOWN
    return Health(server.url, reachable, tuple(outcomes), advice, served, len(requests))


def _advice(trouble: Trouble, settings: LLMSettings, listed: Any, key: str) -> str:
    """Return what to do about a failure that all requests share."""
    if trouble.reason == 'time-out':
        return f'is it still loading, or busy? --timeout allows more than {settings.timeout:g} s'
    if trouble.status in (401, 403):
        return 'name the environment variable that holds the key: --api-key-env, in a config api_key_env'
    if trouble.kind is Kind.REFUSED and ABOUT_LENGTH.search(trouble.message):
        tokens = settings.max_tokens or 'unset'
        return f'lower max_tokens (now {tokens}; here --max-tokens), or serve it with a longer context'
    if trouble.kind not in (Kind.SETTING, Kind.REFUSED):
        return ''
    names = []
    with suppress(LookupError, TypeError):
        names = [hidden(str(model['id']), key) for model in listed['data'][:20]]
    if names and settings.model not in names:
        return f'it serves no {settings.model!r} but {", ".join(map(repr, names))}: give one as --model'
    lost = trouble.status == 404 and not names
    return 'check --model and --url, which is http://host:port with or without /v1' if lost else ''


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
