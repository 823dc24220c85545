"""Replies of any size, packed or not: memory and time stay within bounds."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web
from judge_server import PROMPTS, Act, Asked, JudgeServer, SkippingClock, completion, fair
from judging_run import pairs_of

from gpassk_opencompass import Judgement, Verdict
from gpassk_opencompass.completion import Kind, Reply, Trouble
from gpassk_opencompass.judges.llm import LLMJudge
from gpassk_opencompass.servers import (
    LARGEST_REPLY,
    ClientSettings,
    Server,
    endpoints,
    exchange,
    get_json,
    open_session,
)

BLANKS = b' ' * 2**16
BODY = json.dumps({'messages': [{'role': 'user', 'content': 'hi'}]}).encode()
REPLY = json.dumps(completion(r'\boxed{yes}')).encode()


@dataclass(frozen=True)
class Streamed:
    """Sends these parts, and says that they are packed so."""

    parts: Callable[[], AsyncIterator[bytes]]
    packing: str = 'identity'
    status: int = 200

    async def respond(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=self.status, headers={'Content-Encoding': self.packing})
        await response.prepare(request)
        try:
            async for part in self.parts():
                await response.write(part)
            await response.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client has had enough
        return response


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield BLANKS


async def trickling() -> AsyncIterator[bytes]:
    while True:
        yield b' '
        await asyncio.sleep(0.01)


def sent(content: bytes) -> Callable[[], AsyncIterator[bytes]]:
    async def parts() -> AsyncIterator[bytes]:
        for place in range(0, len(content), 2**16):
            yield content[place : place + 2**16]

    return parts


def asked_of(act: Act | Streamed, timeout: float = 30.0) -> tuple[Reply | Trouble, int]:
    """What comes of one request, and the most bytes held at a time."""

    async def ask(url: str) -> Reply:
        async with open_session(ClientSettings(timeout=timeout)) as session:
            return await exchange(session, Server(endpoints(url)[0]), BODY)

    outcome: Reply | Trouble
    with JudgeServer(lambda asked: act) as server:  # type: ignore[arg-type,return-value]
        tracemalloc.start()
        try:
            outcome = asyncio.run(ask(server.url))
        except Trouble as trouble:
            outcome = trouble
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return outcome, most


def test_a_reply_without_end_is_cut_off() -> None:
    """At 4 MB, long before the time-out, with little more than that in memory."""
    outcome, most = asked_of(Streamed(endless))
    assert isinstance(outcome, Trouble)
    assert (outcome.kind, outcome.reason) == (Kind.BROKEN, 'reply too large')
    assert most < 5 * LARGEST_REPLY


def test_a_reply_that_trickles_ends_at_the_time_out() -> None:
    """However often another byte comes."""
    outcome, _ = asked_of(Streamed(trickling), timeout=0.5)
    assert isinstance(outcome, Trouble)
    assert outcome.reason == 'time-out'


def test_a_reply_as_long_as_may_be_is_read() -> None:
    """Up to the limit."""
    outcome, _ = asked_of(Streamed(sent(REPLY + b' ' * (LARGEST_REPLY - len(REPLY)))))
    assert outcome == Reply(r'\boxed{yes}', 'stop', 'judge', prompt_tokens=1, output_tokens=1)


@pytest.mark.parametrize('packing', ['gzip', 'deflate', 'br'])
def test_a_packed_reply_is_malformed(packing: str) -> None:
    """Nobody asked for it to be packed, and 4 MB may hold any number of them: it is not unpacked."""
    outcome, most = asked_of(Streamed(sent(gzip.compress(REPLY)), packing))
    assert isinstance(outcome, Trouble)
    assert (outcome.kind, outcome.reason) == (Kind.BROKEN, 'malformed reply')
    assert most < LARGEST_REPLY


def test_an_endless_list_of_models_says_nothing() -> None:
    """It is only looked at in passing."""

    class Listing(JudgeServer):
        async def _list_models(self, request: web.Request) -> web.StreamResponse:
            return await Streamed(endless).respond(request)

    async def look(url: str) -> Any:
        async with open_session(ClientSettings()) as session:
            return await get_json(session, Server(endpoints(url)[0]), 'models')

    with Listing(lambda asked: 'fine', models=[]) as server:
        assert asyncio.run(look(server.url)) is None


def test_an_endless_reply_costs_its_own_pair_alone() -> None:
    """It is asked for as often as any broken one; the others are judged."""

    def behave(asked: Asked) -> Act:
        return Streamed(endless) if 'answer=3 ' in asked.prompt else fair(asked.prompt)  # type: ignore[return-value]

    with JudgeServer(behave) as server:
        judge = LLMJudge(
            'judge', server.url, prompts=PROMPTS, attempts=2, progress=False, clock=SkippingClock()
        )
        judgements = judge.judge(pairs_of(0, 6))
    assert judgements.pop(3) == Judgement(Verdict.UNJUDGED, 'llm', 'reply too large')
    assert {said.verdict for said in judgements} == {Verdict.CORRECT, Verdict.INCORRECT}
