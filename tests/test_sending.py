"""Requests that processes send where one loop is not enough: the same outcomes, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import pytest
from judge_server import Act, Asked, Fail, Hang, JudgeServer, Reset, Say, completion

from gpassk_opencompass.chat import sending
from gpassk_opencompass.chat.completion import Reply
from gpassk_opencompass.chat.exchange import Access, exchange, open_session
from gpassk_opencompass.chat.jobs import Job
from gpassk_opencompass.chat.limits import Limits
from gpassk_opencompass.chat.routes import endpoint
from gpassk_opencompass.chat.sending import Sending
from gpassk_opencompass.chat.traffic import Traffic
from gpassk_opencompass.chat.trouble import Kind, Trouble

pytestmark = pytest.mark.slow

BODY = b'{"messages": [{"role": "user", "content": "0"}]}'


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have processes started with the first request, as if there were three processors."""
    for name in ('FULL', 'SPAN', 'FEWEST'):
        monkeypatch.setattr(sending, name, 0)
    monkeypatch.setattr(sending, 'processors', lambda: 3)


def children() -> set[int]:
    """Processes that this one started and that are not gone, also those that nobody has waited for."""
    tasks = Path('/proc/self/task').iterdir()
    return {int(pid) for task in tasks for pid in (task / 'children').read_text().split()}


async def sent_by_process(requests: Sending, url: str) -> None:
    """Send something until a process does it."""
    while not any(one.is_ready for one in requests._senders):
        await requests.exchange(endpoint(url), BODY)
        await asyncio.sleep(0.05)


ACTS: dict[str, Act] = {
    'a reply': Say('it is', more={'usage': {'completion_tokens': 7}, 'model': 'm'}),
    'busy, with a pause': Fail(429, headers={'Retry-After': '7'}),
    'a wrong key': Fail(401),
    'a refusal': Fail(400, {'error': {'message': 'too long'}}),
    'no JSON': Fail(200, b'{"choices": ['),
    'half a reply': Reset(),
    'too large': Fail(200, b' ' * (2**22 + 1)),
}


@pytest.mark.parametrize('act', ACTS.values(), ids=ACTS)
def test_a_process_gives_what_an_event_loop_gives(act: Act, eager: None) -> None:
    """Reply or trouble, with all that is known of it."""

    async def outcomes(url: str) -> list[object]:
        async with Sending(30.0, Access()) as requests, open_session(30.0, Access()) as session:
            await sent_by_process(requests, url)
            server_acts.append(act)
            found: list[object] = []
            for exchanged in (
                exchange(session, endpoint(url), BODY),
                requests.exchange(endpoint(url), BODY),
            ):
                try:
                    found.append(await exchanged)
                except Trouble as trouble:
                    found.append(vars(trouble))
            return found

    server_acts: list[Act] = ['ready']
    with JudgeServer(lambda asked: server_acts[-1]) as server:
        here, there = asyncio.run(outcomes(server.url))
    assert here == there
    assert isinstance(there, Reply) == isinstance(act, Say)


def traffic_of(url: str, replies: dict[object, str], counts: Counter[str], key: str = '') -> Traffic:
    def received(job: Job, reply: Reply) -> bool:
        replies[job.item] = reply.text
        return True

    def abandoned(job: Job, reason: str) -> None:
        raise AssertionError(f'{job.item} was given up: {reason}')

    limits, access = Limits(concurrency=32, patience=20.0), Access((key,))
    return Traffic([endpoint(url)], limits, received, abandoned, access=access, counts=counts)


def jobs(count: int) -> Iterator[Job]:
    for number in range(count):
        yield Job(number, f'{{"messages": [{{"role": "user", "content": "{number}"}}]}}'.encode())


def test_processes_take_over_and_are_gone_at_the_end(eager: None) -> None:
    """Each request is sent once and has its own reply; the key is in no command that others may read."""
    before, seen = children(), set()
    commands: set[str] = set()

    def behave(asked: Asked) -> str:
        for pid in children() - before:
            seen.add(pid)
            commands.add(Path(f'/proc/{pid}/cmdline').read_text())
        assert asked.headers['Authorization'] == 'Bearer sk-secret'
        return f'fine {asked.prompt}'

    replies: dict[object, str] = {}
    counts: Counter[str] = Counter()
    with JudgeServer(lambda asked: Say(behave(asked), delay=0.02)) as server:
        asyncio.run(traffic_of(server.url, replies, counts, 'sk-secret').run(jobs(4000)))
    assert replies == {number: f'fine {number}' for number in range(4000)}
    assert counts == {'requests': 4000, 'replies': 4000}
    assert len(seen) == 2, 'one less than there are processors'
    assert not any('sk-secret' in command for command in commands)
    assert children() == before


def test_what_a_killed_process_had_is_asked_again(eager: None) -> None:
    """And nothing else is lost; where no other process is left, this one sends."""
    before, killed = children(), set()

    def behave(asked: Asked) -> Say:
        if asked.number in (600, 1200):
            for pid in children() - before - killed:
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
        return Say(f'fine {asked.prompt}', delay=0.02)

    replies: dict[object, str] = {}
    counts: Counter[str] = Counter()
    with JudgeServer(behave) as server:
        asyncio.run(traffic_of(server.url, replies, counts).run(jobs(2400)))
    assert replies == {number: f'fine {number}' for number in range(2400)}
    assert len(killed) == 2
    assert counts == {'requests': 2400, 'replies': 2400}, 'the server is not to blame'
    assert children() == before


def test_a_request_that_is_given_up_is_broken_off_in_the_process_too(eager: None) -> None:
    """The server sees that its client is gone."""
    content = json.dumps(completion('ready')).encode()
    reply = b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s' % (len(content), content)

    async def broken_off() -> None:
        hang, gone = asyncio.Event(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.read(1 << 16):
                if not hang.is_set():
                    writer.write(reply)
            if hang.is_set():
                gone.set()
            writer.close()

        server = await asyncio.start_server(serve, '127.0.0.1', 0)
        url = f'http://127.0.0.1:{server.sockets[0].getsockname()[1]}'
        async with server, Sending(30.0, Access()) as requests:
            await sent_by_process(requests, url)
            hang.set()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(requests.exchange(endpoint(url), BODY), 0.3)
            await asyncio.wait_for(gone.wait(), 2)

    asyncio.run(broken_off())


def test_an_error_of_our_own_says_where_it_was_raised(eager: None) -> None:
    """It is no trouble of the server, which is not asked again."""

    async def ask(url: str) -> None:
        async with Sending(30.0, Access()) as requests:
            await sent_by_process(requests, url)
            await requests.exchange(endpoint(url), BODY, key='a\nb')  # no header may hold it

    with (
        JudgeServer(lambda asked: 'ready') as server,
        pytest.raises(RuntimeError, match=r'(?s)in a process that sends.*exchange\.py.*ValueError'),
    ):
        asyncio.run(ask(server.url))


def test_where_no_process_can_be_started_the_loop_sends_alone(
    eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a single processor."""
    replies: dict[object, str] = {}

    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError('Resource temporarily unavailable')

    monkeypatch.setattr(subprocess, 'Popen', refuse)
    with JudgeServer(lambda asked: f'fine {asked.prompt}') as server:
        asyncio.run(traffic_of(server.url, replies, Counter()).run(jobs(100)))
    assert len(replies) == 100


def test_a_loop_that_waits_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many requests are under way: here 200 with replies after 0.4 s."""
    monkeypatch.setattr(sending, 'processors', lambda: 3)
    before, seen = children(), set()
    replies: dict[object, str] = {}

    def behave(asked: Asked) -> Say:
        seen.update(children() - before)
        return Say('fine', delay=0.4)

    with JudgeServer(behave) as server:
        asyncio.run(traffic_of(server.url, replies, Counter()).run(jobs(200)))
    assert len(replies) == 200
    assert not seen


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGSTOP])
def test_what_a_process_had_that_is_gone_or_hangs_is_sent_again(
    number: signal.Signals, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For it is no fault of the server; the end does not wait for it."""
    monkeypatch.setattr(sending, 'processors', lambda: 2)
    monkeypatch.setattr(sending, 'GRACE', -29.0)

    async def asked_again(url: str) -> Reply:
        async with Sending(30.0, Access()) as requests:
            await sent_by_process(requests, url)
            acts.append(Hang())
            asked = asyncio.ensure_future(requests.exchange(endpoint(url), BODY))
            await asyncio.sleep(0.2)
            acts.append('again')
            requests._senders[0]._process.send_signal(number)
            return await asked

    acts: list[Act] = ['ready']
    before = children()
    with JudgeServer(lambda asked: acts[-1]) as server:
        assert asyncio.run(asked_again(server.url)).text == 'again'
    assert children() == before


def test_a_reply_that_cannot_be_handed_on_takes_no_other_with_it(eager: None) -> None:
    """Here a count that is a list within lists; what came in the same moment arrives."""
    deep: list[object] = []
    for _ in range(700):
        deep = [deep]

    async def ask(url: str) -> list[Reply | BaseException]:
        async with Sending(30.0, Access()) as requests:
            await sent_by_process(requests, url)
            bodies = [BODY.replace(b'"0"', f'"{number}"'.encode()) for number in range(10)]
            asked = (requests.exchange(endpoint(url), body) for body in bodies)
            return await asyncio.gather(*asked, return_exceptions=True)

    def behave(asked: Asked) -> Say:
        usage = {'prompt_tokens': deep} if asked.prompt == '7' else {}
        return Say(f'fine {asked.prompt}', more={'usage': usage})

    with JudgeServer(behave) as server:
        found = asyncio.run(ask(server.url))
    trouble = found.pop(7)
    assert isinstance(trouble, Trouble)
    assert trouble.kind is Kind.BROKEN
    assert [one.text for one in found if isinstance(one, Reply)] == [f'fine {n}' for n in range(10) if n != 7]


def test_another_process_is_started_for_one_that_is_gone(
    eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But no more in all than may be."""
    monkeypatch.setattr(sending, 'processors', lambda: 3)

    async def started(url: str) -> int:
        async with Sending(30.0, Access()) as requests:
            for _ in range(3):
                await sent_by_process(requests, url)
                for one in requests._senders:
                    one._process.kill()
                while any(one.is_ready for one in requests._senders):
                    await asyncio.sleep(0.01)
                if len(requests._senders) == 2:
                    break
            for _ in range(20):
                await requests.exchange(endpoint(url), BODY)
            return len(requests._senders)

    with JudgeServer(lambda asked: 'fine') as server:
        assert asyncio.run(started(server.url)) == 2


def test_terms_that_cannot_be_handed_over_leave_the_loop_alone(eager: None) -> None:
    """It sends by itself, as where no process can be started."""
    replies: dict[object, str] = {}
    headers = MappingProxyType({'X-Team': 'mine'})

    async def ask(url: str) -> int:
        async with Sending(30.0, Access(headers=headers)) as requests:
            for _ in range(20):
                replies[len(replies)] = (await requests.exchange(endpoint(url), BODY)).text
            return len(requests._senders)

    with JudgeServer(lambda asked: asked.headers['X-Team']) as server:
        assert asyncio.run(ask(server.url)) == 0
    assert [*replies.values()] == ['mine'] * 20
