"""Requests against servers that fail in every way, without waiting for anything."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from itertools import cycle
from typing import Any

import pytest
from aiohttp import web
from judge_server import Act, Asked, Fail, Hang, JudgeServer, Reset, Say, SkippingClock, completion, dead_url

from gpassk_opencompass import IncompleteError, InputError
from gpassk_opencompass.completion import Kind, Reply, Trouble
from gpassk_opencompass.servers import (
    LARGEST_REPLY,
    REFUSALS,
    ClientSettings,
    Request,
    Server,
    ask_all,
    endpoints,
    exchange,
    open_session,
    retry_after,
)

pytestmark = pytest.mark.slow


class Asking:
    """Requests 0 to `count` and what comes of them; none has been sent before `go`."""

    def __init__(self, urls: list[str], count: int = 1, proven: bool = False, **settings: Any) -> None:
        self.clock = settings.pop('clock', None) or SkippingClock()
        self.replies: dict[int, str] = {}
        self.reasons: dict[int, str] = {}
        self.counts: Counter[str] = Counter()
        self.servers = [Server(url, settings.pop('api_key', '')) for url in endpoints(urls)]
        self.more = {'clock': self.clock, 'counts': self.counts, 'proven': proven}
        self.count, self.settings = count, ClientSettings(**settings)

    def go(self) -> Asking:
        body = '{"messages": [{"role": "user", "content": "%d"}]}'
        requests = (Request(number, (body % number).encode()) for number in range(self.count))
        ask_all(self.servers, requests, self.heard, self.settings, **self.more)
        return self

    def heard(self, request: Request, reply: Reply | Trouble) -> bool:
        if isinstance(reply, Trouble):
            self.reasons[request.item] = reply.reason
        else:
            self.replies[request.item] = reply.text
        return True


def run(*servers: JudgeServer, **settings: Any) -> Asking:
    return Asking([server.url for server in servers], **settings).go()


def failing_first(*acts: Act) -> Callable[[Asked], Act]:
    """Does these in turn, then answers."""
    left = list(acts)
    return lambda asked: left.pop(0) if left else f'fine {asked.prompt}'


def late(until: Callable[[], bool], text: str = 'fine') -> Say:

    class Late(Say):
        async def respond(self, request: Any) -> Any:
            while not until():
                await asyncio.sleep(0.001)
            return await super().respond(request)

    return Late(text)


FAILURES: dict[str, Act] = {
    'HTTP 500': Fail(500), 'HTTP 502': Fail(502), 'HTTP 503': Fail(503),
    'HTTP 529': Fail(529, b'<html>overloaded</html>'), 'HTTP 429': Fail(429), 'HTTP 408': Fail(408),
    'time-out': Hang(), 'connection lost': Reset(), 'no JSON': Fail(200, b'{"choices": ['),
    'an error with status 200': Fail(200, {'error': {'message': 'engine died'}}),
    'empty choices': Fail(200, {'choices': []}), 'no message': Fail(200, {'choices': [{'index': 0}]}),
    'null': Fail(200, b'null'),
    'content of another kind': Fail(200, {'choices': [{'message': {'content': [1]}}]}),
    'content that is an empty object': Fail(200, {'choices': [{'message': {'content': {}}}]}),
    'empty body': Fail(200, b''),
}  # fmt: skip


@pytest.mark.parametrize('failure', FAILURES.values(), ids=FAILURES)
def test_a_passing_failure_is_tried_again(failure):
    with JudgeServer(failing_first(failure, failure, failure)) as server:
        done = run(server, timeout=1.5 if isinstance(failure, Hang) else 60)
    assert done.replies == {0: 'fine 0'}
    assert done.counts == {'requests': 4, 'replies': 1, 'failures': 3}
    assert len(server.asked) == 4


def test_attempts_are_bounded():
    with JudgeServer(lambda asked: Reset() if asked.prompt == '1' else 'fine') as server:
        done = run(server, count=4, attempts=5)
    assert done.reasons == {1: 'connection lost'}
    assert set(done.replies) == {0, 2, 3}
    assert sum(asked.prompt == '1' for asked in server.asked) == 5


def test_time_is_bounded_where_attempts_are_not():
    """A server that stays busy for one request costs no attempt, but no attempt starts after total_time."""
    with JudgeServer(lambda asked: Fail(429) if asked.prompt == '0' else 'fine') as server:
        done = run(server, attempts=1, total_time=40.0, patience=1000.0)
    assert done.reasons == {0: 'HTTP 429'}
    assert 30.0 < done.clock.now() <= 75.0


@pytest.mark.parametrize('status', [429, 503, 500])
def test_retry_after_is_honoured(status):
    with JudgeServer(failing_first(Fail(status, headers={'Retry-After': '77'}))) as server:
        done = run(server)
    assert done.replies == {0: 'fine 0'}
    assert done.clock.now() >= 77.0


NOW = 1_700_000_000.0
WAITS = [
    ('Retry-After', formatdate(NOW + 90, usegmt=True), 90.0),
    ('Retry-After', formatdate(NOW - 90, usegmt=True), 0.0), ('retry-after-ms', '1500', 1.5),
    *(('Retry-After', word, None) for word in ('soon', '-1', 'nan', 'inf', '1e9', '', '٣', 'Fri, 99 Foo')),
]  # fmt: skip


@pytest.mark.parametrize(('name', 'value', 'seconds'), WAITS)
def test_how_long_to_wait_is_said_in_several_ways(name, value, seconds):
    """What makes no sense is as if it were not there."""
    assert retry_after({name: value}, NOW) == seconds


@pytest.mark.parametrize('status', [401, 403, 404, 302])
def test_a_wrong_setting_stops_at_once(status):
    message = {'error': {'message': 'The model `m` does not exist; key sk-secret'}}
    with (
        JudgeServer(lambda asked: Fail(status, message, {'Location': 'http://elsewhere'})) as server,
        pytest.raises(InputError, match=rf'HTTP {status}: The model `m` does not exist; key \*\*\*'),
    ):
        run(server, count=1000, concurrency=4, api_key='sk-secret')
    assert len(server.asked) <= 4


@pytest.mark.parametrize(('status', 'count'), list(zip([400, 413, 422], cycle([1, 2, 1000]))))
def test_a_server_that_refuses_every_request_stops_at_once(status, count):
    """After no more than a few, with its message; unless these settings had replies before."""
    with JudgeServer(lambda asked: Fail(status, {'message': 'max_tokens is too large'})) as server:
        with pytest.raises(InputError, match='max_tokens is too large'):
            run(server, count=count, concurrency=1)
        assert len(server.asked) == min(count, REFUSALS)
        assert run(server, proven=True).reasons == {0: f'HTTP {status}'}


def test_a_single_refused_request_does_not_stop_the_others():
    with JudgeServer(lambda asked: Fail(400) if asked.prompt == '5' else 'fine') as server:
        done = run(server, count=20)
    assert done.reasons == {5: 'HTTP 400'}
    assert len(server.asked) == 20


def test_requests_go_to_the_least_loaded_server():
    """One queue over all: while one server sits on its four requests, the other gets all the rest."""
    with (
        JudgeServer(lambda asked: 'fast') as fast,
        JudgeServer(lambda asked: late(lambda: len(fast.asked) >= 280)) as slow,
    ):
        done = run(fast, slow, count=300, concurrency=4)
    assert len(done.replies) == 300
    assert 4 <= len(slow.asked) <= 20


def test_the_rate_is_kept():
    with JudgeServer(lambda asked: 'fine') as server:
        done = run(server, count=50, rate=10.0)
    assert len(done.replies) == 50
    assert 4.9 - 1e-6 <= done.clock.now() < 5.2


def test_a_dead_server_is_set_aside_while_another_works():
    with dead_url() as dead, JudgeServer(lambda asked: 'fine') as server:
        done = Asking([dead, server.url], 500, concurrency=8).go()
    assert len(done.replies) == 500
    assert done.counts['failures'] <= 30 + done.clock.now() / 15


def test_a_server_that_comes_back_works_again():
    with JudgeServer(lambda asked: 'fine') as steady:

        def behave(asked: Asked) -> Act:
            # Dies after 10 requests and is back when the other one has answered 100 more.
            return Reset() if asked.number >= 10 and len(steady.asked) < 100 else 'back'

        with JudgeServer(behave) as failing:
            done = run(steady, failing, count=2000, concurrency=4, attempts=100)
    assert len(done.replies) == 2000
    assert sum(text == 'back' for text in done.replies.values()) > 100


def test_a_run_without_any_server_ends_in_time():
    """After the patience and the pause that is under way then (30 s at most), with addresses and advice."""
    with dead_url() as one, dead_url() as other:
        all_dead = Asking([one, other], 100, patience=120.0)
        with pytest.raises(IncompleteError, match='no server answers') as caught:
            all_dead.go()
    assert 60.0 < all_dead.clock.now() <= 120.0 + 30.0
    assert all(url in str(caught.value) for url in (one, other))
    assert not all_dead.reasons


def test_a_server_that_only_fails_ends_in_time_too():
    """It listens, but each reply is an error; or it wants to be left alone for an hour."""
    with JudgeServer(lambda asked: Fail(500, {'message': 'CUDA error'})) as server:
        failing = Asking([server.url], 500, patience=50.0, attempts=1000, concurrency=2)
        with pytest.raises(IncompleteError, match='CUDA error'):
            failing.go()
    assert 50.0 <= failing.clock.now() <= 60.0
    assert len({asked.prompt for asked in server.asked}) <= 8
    with JudgeServer(lambda asked: Fail(429, headers={'Retry-After': '3600'})) as server:
        stopped = Asking([server.url], 10)
        with pytest.raises(IncompleteError, match='due in 3600 s, last: HTTP 429'):
            stopped.go()
    assert stopped.clock.now() < 60.0


def test_an_error_of_the_caller_ends_the_run():

    def full(request: Request, reply: Reply | Trouble) -> bool:
        raise OSError('disk full')

    with JudgeServer(lambda asked: 'fine') as server:
        asking = Asking([server.url], 50)
        asking.heard = full
        with pytest.raises(OSError, match='disk full'):
            asking.go()


# Addresses


@pytest.mark.parametrize(
    ('given', 'used'),
    [
        ('http://h:1', 'http://h:1/v1/chat/completions'),
        ('http://h:1/', 'http://h:1/v1/chat/completions'),
        ('http://h:1/v1', 'http://h:1/v1/chat/completions'),
        ('http://h:1/v1/chat/completions', 'http://h:1/v1/chat/completions'),
        ('https://h/openai/v1', 'https://h/openai/v1/chat/completions'),
        ('http://[::1]:8000', 'http://[::1]:8000/v1/chat/completions'),
    ],
)
def test_any_usual_address_is_understood(given, used):
    assert endpoints(given) == endpoints([given, used, f'{given}/']) == [used]


@pytest.mark.parametrize(
    'address', ['', 'h:1', '127.0.0.1:8000', 'ftp://h', 'http://', 'localhost', 'http://h:port', []]
)
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(InputError, match='http://host:port'):
        endpoints(address)


# Replies of any size


@dataclass(frozen=True)
class Streamed:
    """Sends a content, blanks for ever if it is None, and says how it is packed."""

    content: bytes | None
    packing: str = 'identity'
    pause: float = 0.0

    async def respond(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={'Content-Encoding': self.packing})
        await response.prepare(request)
        with suppress(ConnectionError, asyncio.CancelledError):  # the client has had enough
            await response.write(self.content or b' ')
            while self.content is None:
                await response.write(b' ' * (1 if self.pause else 2**16))
                await asyncio.sleep(self.pause)
            await response.write_eof()
        return response


BODY = json.dumps({'messages': [{'role': 'user', 'content': 'hi'}]}).encode()
REPLY = json.dumps(completion(r'\boxed{yes}')).encode()


def asked_of(act: Streamed, timeout: float = 30.0) -> tuple[Reply | Trouble, int]:
    """What comes of one request, and the most bytes held at a time."""

    async def ask(url: str) -> Reply | Trouble:
        async with open_session(ClientSettings(timeout=timeout)) as session:
            try:
                return await exchange(session, Server(endpoints(url)[0]), BODY)
            except Trouble as trouble:
                return trouble

    with JudgeServer(lambda asked: act) as server:
        tracemalloc.start()
        outcome = asyncio.run(ask(server.url))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return outcome, most


@pytest.mark.parametrize(
    ('act', 'kind', 'reason'),
    [
        (Streamed(None), Kind.BROKEN, 'reply too large'),
        (Streamed(None, pause=0.01), Kind.LOST, 'time-out'),
        *((Streamed(gzip.compress(REPLY), way), Kind.BROKEN, 'malformed reply') for way in ('gzip', 'br')),
    ],
    ids=['endless', 'trickling', 'gzip', 'br'],
)
def test_a_reply_without_end_is_cut_off_and_a_packed_one_refused(act, kind, reason):
    """At 4 MB, with little more than that in memory, or at the time-out; nobody asked for it to be packed."""
    outcome, most = asked_of(act, 0.5 if act.pause else 30.0)
    assert isinstance(outcome, Trouble)
    assert (outcome.kind, outcome.reason) == (kind, reason)
    assert most < 5 * LARGEST_REPLY


def test_a_reply_as_long_as_may_be_is_read():
    outcome, _ = asked_of(Streamed(REPLY + b' ' * (LARGEST_REPLY - len(REPLY))))
    assert outcome == Reply(r'\boxed{yes}', 'stop', 'judge', prompt_tokens=1, output_tokens=1)
