"""A judge server on a real socket that does what a function says, and a clock that hardly waits."""

from __future__ import annotations

import asyncio
import heapq
import json
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aiohttp import web

from gpassk_opencompass import LLMJudge, Pair, Verdict
from gpassk_opencompass.completion import Reply
from gpassk_opencompass.judges.prompts import canaries, find_prompts, parse_verdict
from gpassk_opencompass.servers import Clock

CANARIES = canaries()


class Asked(NamedTuple):
    """A request that came in."""

    number: int
    """Of this server, from 0."""
    prompt: Any
    """The last message of the chat."""
    body: dict[str, Any]
    headers: dict[str, str]


@dataclass(frozen=True)
class Say:
    """A completion of the chat that was sent, after `delay` seconds."""

    text: str | None
    finish_reason: str | None = 'stop'
    delay: float = 0.0
    more: dict[str, Any] = field(default_factory=dict)
    """Further fields of the completion, or others for those that it has."""

    async def respond(self, request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(self.delay)
        return web.json_response(completion(self.text, self.finish_reason) | self.more)


@dataclass(frozen=True)
class Fail:
    """A status with headers and a body; `body` goes out as it is if it is bytes."""

    status: int
    body: Any = field(default_factory=lambda: {'error': {'message': 'out of order'}})
    headers: dict[str, str] = field(default_factory=dict)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        content = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        return web.Response(status=self.status, body=content, headers=self.headers)


class Hang:
    """Never answers."""

    async def respond(self, request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError('nobody sets the event')


class Reset:
    """Sends the first half of a reply and drops the connection."""

    async def respond(self, request: web.Request) -> web.StreamResponse:
        content = json.dumps(completion(r'\boxed{yes}')).encode()
        response = web.StreamResponse(headers={'Content-Length': str(len(content))})
        await response.prepare(request)
        await response.write(content[: len(content) // 2])
        if request.transport is not None:
            request.transport.abort()
        return response


Act = str | Say | Fail | Hang | Reset


class JudgeServer:
    """Serves on a port of the loopback, in a thread, as long as the context lasts.

    Args:
        behave: called in the server's thread with each request; a string is a reply.
        models: the names that `/v1/models` lists, or their cards; None: there is no such address.
        places: further addresses and the JSON that a GET of each gives.
        fit: judge canaries right and keep them from `behave` and `asked`, for a test to count its own pairs:
            always, never, or whenever it says so.
    """

    def __init__(
        self,
        behave: Callable[[Asked], Act],
        models: Sequence[str | dict[str, Any]] | None = None,
        fit: bool | Callable[[], bool] = True,
        places: dict[str, Any] | None = None,
    ) -> None:
        self._places = places or {}
        self._behave = behave
        self._models = models
        self._fit = fit if callable(fit) else lambda: fit
        self.canaries: list[Asked] = []
        """Those that it judged right by itself."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner: web.AppRunner | None = None
        self.asked: list[Asked] = []
        self.url, self.port = '', 0

    def __enter__(self) -> JudgeServer:
        self._place = socket.socket()
        self.port = _hold_port(self._place)
        self.url = f'http://127.0.0.1:{self.port}'
        self._thread.start()
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._place.close()

    def start(self) -> None:
        """Come (back) to life, on the same port."""
        self._call(self._start())

    def stop(self) -> None:
        """Refuse connections from now on, and drop those that are open."""
        self._call(self._stop())

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=120)

    async def _start(self) -> None:
        app = web.Application(client_max_size=2**30)
        app.router.add_post('/v1/chat/completions', self._answer)
        if self._models is not None:
            app.router.add_get('/v1/models', self._list_models)
        for place in self._places:
            app.router.add_get(place, self._show)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, '127.0.0.1', self.port, reuse_address=True).start()

    async def _stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:  # requests that hang
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _list_models(self, request: web.Request) -> web.StreamResponse:
        cards = [{'id': card} if isinstance(card, str) else card for card in self._models or ()]
        return web.json_response({'object': 'list', 'data': cards})

    async def _show(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self._places[request.path])

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        asked = Asked(len(self.asked), body['messages'][-1]['content'], body, dict(request.headers))
        if self._fit() and (right := right_verdict(asked.prompt)):
            self.canaries.append(asked)
            return await Say(right).respond(request)
        self.asked.append(asked)
        act = self._behave(asked)
        return await (Say(act) if isinstance(act, str) else act).respond(request)


def _hold_port(place: socket.socket) -> int:
    """Bind a free port; nobody else gets it, and connections are refused while none listens there."""
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(('127.0.0.1', 0))
    port: int = place.getsockname()[1]
    return port


@contextmanager
def dead_url() -> Iterator[str]:
    with socket.socket() as place:
        yield f'http://127.0.0.1:{_hold_port(place)}'


class SkippingClock(Clock):
    """Time that passes when it is waited for: the one wakes who is to wake first.

    Before it skips, requests under way may end: a millisecond a second, a quarter of a second at most.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._sleeps = 0
        self._ticker: asyncio.Task[None] | None = None

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._sleeps += 1
        wake = loop.create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, self._sleeps, wake))
        if self._ticker is None or self._ticker.done():
            self._ticker = loop.create_task(self._tick())
        await wake

    async def _tick(self) -> None:
        while self._sleepers:
            await asyncio.sleep(min(max(self._sleepers[0][0] - self._now, 1.0) * 0.001, 0.25))
            moment, _, wake = heapq.heappop(self._sleepers)
            if not wake.done():
                self._now = max(self._now, moment)
                wake.set_result(None)


def right_verdict(prompt: str) -> str | None:
    """The reply of a good judge to a canary; None to any other prompt."""
    lines = ''.join(line.removeprefix('| ') for line in prompt.splitlines())
    for canary in reversed(CANARIES):  # the easy ones last: their answers are short
        if canary.pair.question in lines and ''.join(canary.pair.answer.splitlines()) in lines:
            return r'Hence \boxed{yes}' if canary.verdict is Verdict.CORRECT else r'Hence \boxed{no}'
    return None


def completion(text: str | None, finish_reason: str | None = 'stop') -> dict[str, Any]:
    message = {'role': 'assistant', 'content': text}
    choice = {'index': 0, 'message': message, 'logprobs': None, 'finish_reason': finish_reason}
    usage = {'prompt_tokens': 1, 'completion_tokens': 1, 'total_tokens': 2}
    about = {'id': 'chatcmpl-1', 'object': 'chat.completion', 'created': 1700000000, 'model': 'judge'}
    return {**about, 'choices': [choice], 'usage': usage}


def fair(prompt: str) -> str:
    """The verdict on questions of `pairs_of`: whether an answer is even."""
    return r'Hence \boxed{yes}' if int(prompt.rpartition('answer=')[2].split()[0]) % 2 == 0 else r'\boxed{no}'


PROMPTS = {
    'name': 'plain',
    'english': 'question={question} reference={gold_answer} answer={answer} .',
    'chinese': '问题={question} 参考={gold_answer} answer={answer} .',
}
"""Short prompts that a test can read back."""


def read_verdict(reply: str) -> Verdict | None:
    """What a judge hears in a whole reply, which copies nothing of its prompt."""
    asked = find_prompts('own').fill(Pair('1 + 1?', '2', '3'))
    return parse_verdict(Reply(reply, 'stop'), asked).verdict


def pairs_of(first: int, count: int) -> list[Pair]:
    """Pairs whose right verdicts `fair` knows."""
    return [Pair(f'Is {number} even?', 'yes', str(number)) for number in range(first, first + count)]


def judge_at(*servers: JudgeServer, **settings: Any) -> LLMJudge:
    settings = {'prompts': PROMPTS, 'progress': False, 'clock': SkippingClock(), **settings}
    return LLMJudge('judge', [server.url for server in servers], **settings)
