"""Many chat completions from OpenAI-compatible servers: the one client of judges and models.

Workers pull from one queue, for each server as many as it may have requests under way. A server that fails
pauses and its request goes to another one; what no server takes ends the run.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from math import inf
from os import environ
from ssl import create_default_context
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from loguru import logger
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from .completion import Kind, Reply, Trouble, kind_of, reply_of, server_message
from .errors import IncompleteError, InputError
from .keys import hidden, without_long, without_user

if TYPE_CHECKING:
    from aiohttp import ClientSession

T = TypeVar('T')

LARGEST_REPLY = 2**22  # bytes; the longest reply that there is a reason for is a tenth of it
DEAD_AFTER = 8  # failures in a row after which a server is set aside
REFUSALS = 3  # requests refused (HTTP 400, 413, 422) without a reply that show that the settings are wrong
_COMPLETIONS = '/chat/completions'


class ClientSettings(BaseModel):
    """How servers are reached and how hard is tried; all times are in seconds."""

    model_config = ConfigDict(extra='forbid', frozen=True, strict=True)

    concurrency: PositiveInt = 64
    """Requests under way at once, a server."""
    rate: PositiveFloat | None = None
    """Requests started a second, a server."""
    timeout: float = Field(600.0, gt=0, lt=inf)
    """For one request."""
    attempts: PositiveInt = 12
    """Of one request. A server that is busy or cannot be reached does not count as one."""
    total_time: PositiveFloat = 1800.0
    """For one request, from its first attempt on: none starts later."""
    patience: PositiveFloat = 120.0
    """How long to go on without a single reply when every server fails."""
    proxy: str = ''
    """Address of an HTTP proxy; '' takes the environment's (HTTPS_PROXY, NO_PROXY, …), never for loopback."""
    verify: bool | str = True
    """Whether certificates are checked; a path: against the authorities in this file."""


class Server(NamedTuple):
    """An endpoint, and what goes with each request: a key ('' for none) and headers."""

    url: str
    key: str = ''
    headers: Mapping[str, str] = {}
    verbatim: bool = False
    """What it writes stays to the letter, unless it quotes a long key: the responses that are judged."""


@dataclass(eq=False)
class Request:
    """A request on its way through the attempts; the caller recognises it by `item`."""

    item: Any
    body: bytes
    asked: int = 0
    """Replies that were not taken."""
    url: str = ''
    """Where it was sent last."""
    seconds: float = 0.0
    """From there to its reply."""
    since: float | None = None
    attempts: int = 0
    failures: int = 0
    failed_at: float = inf
    trouble: Trouble | None = None


class Clock:
    """The time to live by; a test brings one that need not wait."""

    def now(self) -> float:
        """Return the seconds since some moment; they never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return that much later."""
        await asyncio.sleep(seconds)


Heard = Callable[[Request, Reply | Trouble], bool]
"""Takes a reply, or why there will be none. False asks the same again at once; Trouble raised counts as a
failed attempt; anything else that is raised ends the run."""
Greet = Callable[['ClientSession', Server, bool], Awaitable[None]]
"""Gets to know a server before it is asked, or again (True) once it is back after it was set aside."""


# One request


def endpoints(addresses: str | Sequence[str], variable: str = 'api_key_env') -> list[str]:
    """Return the distinct endpoints of addresses; errors name the setting of the variable with a key.

    >>> endpoints(['http://10.0.0.1:23333', 'http://10.0.0.1:23333/v1/'])
    ['http://10.0.0.1:23333/v1/chat/completions']
    """
    given = [addresses] if isinstance(addresses, str) else addresses
    if not given or not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
        shown = without_user(repr(addresses))
        raise InputError(f"urls = {shown}: expected at least one address like ['http://host:port']")
    remedy = f'leave it out and name the environment variable with the key as {variable}'
    found = []
    for address in given:
        if '@' in address:
            raise InputError(f'the url of {address.rpartition("@")[2]} holds a user or a password; {remedy}')
        try:
            url = urlsplit(address)
            usable = url.scheme in ('http', 'https') and url.hostname and url.port != 0
        except ValueError:
            usable = False
        if not usable or re.search(r'\s', address):
            raise InputError(f'url {address!r}: expected http://host:port, with or without /v1 behind it')
        if url.query or url.fragment:  # not shown: what stands there is often a secret
            raise InputError(f'the url of {url.hostname} holds a query or a fragment; {remedy}')
        path = url.path.rstrip('/')
        path = path if path.endswith(_COMPLETIONS) else (path or '/v1') + _COMPLETIONS
        found.append(urlunsplit((url.scheme, url.netloc.lower(), path, '', '')))
    return list(dict.fromkeys(found))


def proxy_for(url: str, proxy: str = '') -> str | None:
    """Return the proxy for a server: the one that is set, else the environment's; none for loopback."""
    parts = urlsplit(url)
    host = parts.hostname or ''
    if proxy or re.fullmatch(r'localhost|127\..*|::1', host) or proxy_bypass(host):
        return proxy or None
    return getproxies().get(parts.scheme) or getproxies().get('all')


def retry_after(headers: Any, now: float | None = None) -> float | None:
    """Return seconds that `Retry-After` (a number or a date) or `retry-after-ms` asks to wait, if any.

    >>> retry_after({'Retry-After': '120'}), retry_after({'Retry-After': 'soon'})
    (120.0, None)
    """
    for name, unit in (('retry-after-ms', 1000), ('Retry-After', 1)):
        if re.fullmatch(r'\s*[0-9]{1,9}(?:\.[0-9]*)?\s*', header := headers.get(name, '')):
            return float(header) / unit
    try:
        moment = parsedate_to_datetime(header).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, moment - (time.time() if now is None else now))


def backoff(failures: int, first: float, most: float) -> float:
    """Return `first` · 2^(failures − 1), at most `most`, less a random part of up to a half."""
    return min(most, first * 2.0 ** min(failures - 1, 60)) * random.uniform(0.5, 1.0)


def open_session(settings: ClientSettings, secure: bool = True) -> ClientSession:
    """Open a session for many requests at once, where an event loop runs; `secure`: some are by https."""
    import aiohttp  # who only checks settings needs none

    file = environ.get('REQUESTS_CA_BUNDLE') or environ.get('CURL_CA_BUNDLE')
    file = settings.verify if isinstance(settings.verify, str) else file
    own = settings.verify and file and secure
    context = create_default_context(cafile=file) if own else bool(settings.verify)
    return aiohttp.ClientSession(
        # Servers close a connection after some idle seconds (uvicorn: 5): to let go first avoids a race.
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=4.0, ssl=context),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=settings.timeout, sock_connect=min(settings.timeout, 15.0)),
        headers={'Content-Type': 'application/json', 'Accept-Encoding': 'identity'},
        auto_decompress=False,  # it would unpack a chunk of any size at once
    )


async def exchange(session: ClientSession, server: Server, body: bytes, proxy: str | None = None) -> Reply:
    """Send a body and return the reply; raise Trouble if there is none. In neither is the key."""
    try:
        status, headers, content = await _sent(session, 'POST', server, server.url, proxy, body)
        if status != 200:
            said = server_message(content)
            kind = Kind.SETTING if b'insufficient_quota' in content else kind_of(status, said)
            raise Trouble(kind, f'HTTP {status}', said, retry_after(headers), status)
        try:
            reply = reply_of(json.loads(content))
        except (ValueError, RecursionError):
            raise Trouble(Kind.BROKEN, 'malformed reply', server_message(content)) from None
    except Trouble as trouble:
        trouble.message = without_user(hidden(trouble.message, server.key))
        raise
    if not server.key:
        return reply
    written = ('text', 'thought', 'refusal') if server.verbatim else ()
    shown = {
        name: (without_long if name in written else hidden)(word, server.key)
        for name, word in reply._asdict().items()
        if isinstance(word, str)
    }
    return reply._replace(**shown)  # type: ignore[arg-type]


async def get_json(session: ClientSession, server: Server, path: str, proxy: str | None = None) -> Any:
    """Return what a server says at `models` or `/version`, None if nothing; raise Trouble if it is down."""
    url = server.url.removesuffix(_COMPLETIONS).removesuffix('/v1' * path.startswith('/'))
    try:
        get = _sent(session, 'GET', server, f'{url}/{path.lstrip("/")}', proxy)
        status, _, content = await asyncio.wait_for(get, 15.0)
        if kind_of(status) is Kind.DOWN:
            raise Trouble(Kind.DOWN, f'HTTP {status}')
        return json.loads(content) if status == 200 else None
    except (asyncio.TimeoutError, ValueError, RecursionError):
        return None
    except Trouble as trouble:
        if trouble.kind is Kind.DOWN:
            raise
        return None


async def _sent(
    session: ClientSession, method: str, server: Server, url: str, proxy: str | None, body: Any = None
) -> tuple[int, Mapping[str, str], bytes]:
    """Return status, headers and body; of an error the beginning of its body."""
    import aiohttp

    headers = {**({'Authorization': f'Bearer {server.key}'} if server.key else {}), **server.headers}
    sent: dict[str, Any] = {'data': body, 'headers': headers, 'proxy': proxy, 'allow_redirects': False}
    try:
        async with session.request(method, url, **sent) as response:
            status, content = response.status, bytearray()
            limit = LARGEST_REPLY if status == 200 else 2**16
            packed = response.headers.get('Content-Encoding', 'identity').strip().casefold()
            if status == 200 and packed not in ('identity', ''):
                said = f'packed as {packed[:20]!r}, nobody asked for it'
                raise Trouble(Kind.BROKEN, 'malformed reply', said)
            async for part in response.content.iter_any():
                content += part
                if len(content) > limit:
                    break
            if status == 200 and len(content) > limit:  # of an error the status says enough
                raise Trouble(Kind.BROKEN, 'reply too large', f'more than {limit >> 20} MB')
            return status, response.headers, bytes(content[:limit])
    except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError) as error:
        # Only connecting has a time-out of its own; that of the whole request is an asyncio.TimeoutError.
        raise Trouble(Kind.DOWN, 'no connection', str(error)) from None
    except asyncio.TimeoutError:
        raise Trouble(Kind.LOST, 'time-out') from None
    except aiohttp.ClientHttpProxyError as error:  # what a proxy says for a server that it cannot reach
        kind = Kind.SETTING if error.status in (401, 403, 407) else Kind.DOWN
        raise Trouble(kind, f'the proxy says HTTP {error.status}') from None
    except (aiohttp.ClientError, OSError) as error:
        raise Trouble(Kind.LOST, 'connection lost', str(error)) from None


# All requests


@dataclass(eq=False)
class _ServerState:
    """A server and how it is doing. Its window, the requests that it gets at once, follows what it takes."""

    server: Server
    proxy: str | None
    known: bool
    window: int
    gate: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the worker that gets the next request, while that waits."""
    free: asyncio.Event = field(default_factory=asyncio.Event)
    in_flight: int = 0
    failures: int = 0
    pauses: int = 0
    next_start: float = -inf
    resume_at: float = -inf
    replied_at: float = -inf
    came_back: bool = False
    aside: bool = False
    unreachable: bool = False

    def failed(self, trouble: Trouble, now: float, greets: bool) -> None:
        """Pause if the server asks for it, is busy or seems dead; once for all that failed together."""
        self.unreachable = trouble.kind is Kind.DOWN
        self.failures += trouble.kind is not Kind.REFUSED  # who refuses one request may take the next
        busy, first = trouble.kind is Kind.BUSY, self.resume_at <= now
        dead = self.failures >= DEAD_AFTER and trouble.kind in (Kind.DOWN, Kind.LOST)
        if dead and not self.aside and trouble.wait is None:
            self.aside = self.came_back = True  # who comes back may be another one
            self.known = not greets
            logger.warning(f'{self.server.url} is set aside and tried again later: {trouble}')
        if (busy or dead) and first:
            self.window = max(1, self.window // 2) if busy else 1
            self.pauses += 1
        pause = trouble.wait
        if pause is None and (busy or (dead and first) or not self.known):
            pause = backoff(max(1, self.pauses if busy or dead else self.failures), 1.0, 30.0)
        self.resume_at = max(self.resume_at, now + pause) if pause is not None else self.resume_at


@dataclass(eq=False)
class Client:
    """Asks servers for the replies to all requests, as fast as they take them."""

    servers: Sequence[Server]
    """Of several keys for one address one that is turned away is given up while another is left."""
    requests: Iterator[Request]
    """Drawn from as servers get free."""
    heard: Heard
    """Gets one last word for each request, in the thread of the event loop."""
    settings: ClientSettings
    greet: Greet | None = None
    probe: Callable[[Request], bytes] | None = None
    """Makes of a request one that is refused for its settings alone, asked where a refusal may be its own
    fault."""
    check: Callable[[], None] = lambda: None
    """Called at each failure of a server; what it raises ends the run."""
    final: Collection[int] = ()
    """Statuses that are a request's last word."""
    clock: Clock = field(default_factory=Clock)
    counts: Counter[str] = field(default_factory=Counter)
    """Requests, replies and failures are added to it."""
    proven: bool = False
    """Whether these settings had replies before."""
    advice: Callable[[Trouble], str] = lambda _: 'Check the model name, the address, the key and extra_body'
    kept: str = 'The verdicts so far'

    def __post_init__(self) -> None:
        most, known = self.settings.concurrency, self.greet is None
        self.lines = [
            _ServerState(server, proxy_for(server.url, self.settings.proxy), known, most)
            for server in self.servers
        ]
        # Under way or waiting for another attempt: not everything is thrown at servers that always fail.
        self.most_open = 4 * most * len(self.lines)
        self.open, self.refused, self.drawn = 1, 0, False  # one is for those that are not drawn yet
        self.refusal: InputError | None = None
        self.queue: asyncio.Queue[Request] = asyncio.Queue()
        self.tasks: set[asyncio.Task[None]] = set()
        self.end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.last_reply = self.clock.now()

    async def go(self) -> None:
        """Return once each request has its last word.

        Raises:
            InputError: a server takes no requests like these (key, model name, address, settings).
            IncompleteError: no server answered for `patience` seconds. Both are caused by the last `Trouble`.
        """
        secure = any('https:' in f'{line.server.url} {line.proxy}' for line in self.lines)
        async with open_session(self.settings, secure) as self.session:
            for line in self.lines * self.settings.concurrency:
                self.start(self.work(line))
            try:
                await self.end
                if self.refusal is not None and not self.proven:
                    raise self.refusal
            finally:
                await asyncio.sleep(0)  # replies that are here are taken
                while self.tasks:  # a request takes a cancellation in the moment of its time-out for that
                    for task in self.tasks:
                        task.cancel()
                    await asyncio.wait(self.tasks, timeout=1.0)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it beside all else; what it raises ends the run."""
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.over)

    def over(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) and not self.end.done():
            self.end.set_exception(error)

    async def work(self, line: _ServerState) -> None:
        """Ask a server for one reply after the other, as long as it is used."""
        while line in self.lines:
            request = None
            async with line.gate:
                if (pause := max(line.resume_at, line.next_start) - self.clock.now()) > 0:
                    await self.clock.sleep(pause)
                elif line.in_flight >= line.window:
                    line.free.clear()
                    await line.free.wait()
                elif not line.known and self.greet is not None:
                    await self.meet(line, self.greet)
                else:
                    request = await self.next_request(line)
            if request is not None:
                await self.ask(line, request)

    async def next_request(self, line: _ServerState) -> Request | None:
        """Return what to ask a server for; None: there is no more, or the server takes none any more."""
        if self.queue.empty() and not self.drawn and self.open < self.most_open:
            if (request := next(self.requests, None)) is None:
                self.drawn = True
                self.settle()
                return None
            self.open += 1
        else:
            request = await self.queue.get()
        now = self.clock.now()
        if line.resume_at > now or not line.known or line not in self.lines:  # since
            self.queue.put_nowait(request)
            return None
        request.since = now if request.since is None else request.since
        if now - request.since > self.settings.total_time:
            self.give_up(request, request.trouble or Trouble(Kind.LOST, 'out of time'))
            return None
        if self.settings.rate:
            line.next_start = max(now, line.next_start) + 1.0 / self.settings.rate
        line.in_flight += 1
        return request

    async def meet(self, line: _ServerState, greet: Greet) -> None:
        line.in_flight += 1
        try:
            await greet(self.session, line.server, line.came_back)
        except Trouble as trouble:
            self.no_reply(line, trouble, fatal=trouble.kind is Kind.REFUSED)
            return
        line.in_flight -= 1
        line.known = True
        if self.probe is None:  # else that it answers shows nothing of what it makes of requests
            self.answered(line)

    async def ask(self, line: _ServerState, request: Request) -> None:
        self.counts['requests'] += 1
        request.url = line.server.url
        start = time.perf_counter()
        try:
            reply = await exchange(self.session, line.server, request.body, line.proxy)
        except Trouble as trouble:
            await self.failed(line, request, trouble)
            return
        request.seconds = time.perf_counter() - start
        line.in_flight -= 1
        self.answered(line)
        self.start(self.take(request, reply))  # beside this worker: first the server gets its next request

    async def take(self, request: Request, reply: Reply) -> None:
        self.counts['replies'] += 1
        try:
            settled = self.heard(request, reply)
        except Trouble as trouble:
            self.again(request, trouble)
            return
        if settled:
            self.settle()
        else:
            request.asked += 1
            self.queue.put_nowait(request)

    def answered(self, line: _ServerState) -> None:
        self.last_reply, self.proven = self.clock.now(), True
        line.replied_at, line.unreachable = self.last_reply, False
        line.failures = line.pauses = 0
        line.window = min(self.settings.concurrency, line.window + 1)
        line.free.set()
        if line.aside:
            line.aside = False
            logger.info(f'{line.server.url} answers again')

    def settle(self) -> None:
        self.open -= 1
        if not self.open and not self.end.done():
            self.end.set_result(None)

    async def failed(self, line: _ServerState, request: Request, trouble: Trouble) -> None:
        if trouble.status in self.final:
            line.in_flight -= 1
            line.free.set()
            self.give_up(request, trouble)
            return
        if self.probe and (trouble.status == 403 or (trouble.kind is Kind.REFUSED and not self.proven)):
            try:  # is it the request or the settings that the server refuses?
                await exchange(self.session, line.server, self.probe(request), line.proxy)
                self.answered(line)
                trouble.kind = Kind.REFUSED
            except Trouble as refusal:
                if refusal.kind in (Kind.REFUSED, Kind.SETTING):
                    self.no_reply(line, refusal, fatal=True)
        self.no_reply(line, trouble)
        # A server that is out of reach for one request time and again, but replies to others, is not down.
        request.attempts += trouble.kind is Kind.DOWN and line.replied_at > request.failed_at
        request.failed_at = self.clock.now()
        self.again(request, trouble)

    def again(self, request: Request, trouble: Trouble) -> None:
        """Have a request wait for another attempt, or give it up."""
        self.counts['failures'] += 1
        request.failures += 1
        request.attempts += trouble.kind in (Kind.LOST, Kind.BROKEN)
        request.trouble = trouble
        if trouble.kind is Kind.REFUSED or request.attempts >= self.settings.attempts:
            self.give_up(request, trouble)
            return

        async def wait() -> None:
            await self.clock.sleep(backoff(request.failures, 0.5, 8.0))
            self.queue.put_nowait(request)

        self.start(wait())

    def give_up(self, request: Request, trouble: Trouble) -> None:
        logger.warning(f'a request was given up after {request.failures} failures, the last: {trouble}')
        self.heard(request, trouble)
        self.settle()

    def no_reply(self, line: _ServerState, trouble: Trouble, fatal: bool = False) -> None:
        """Take a failure of a server; raise what ends the run, from the trouble."""
        self.check()
        now, url = self.clock.now(), line.server.url
        line.in_flight -= 1
        line.failed(trouble, now, self.greet is not None)
        others = [other for other in self.lines if other is not line]
        if trouble.kind is Kind.SETTING and any(other.server.url == url for other in others):
            self.lines = others
            logger.warning(f'one of the keys is used no more, {url} refuses it: {trouble}')
        elif trouble.kind in (Kind.SETTING, Kind.REFUSED):
            self.refusal = InputError(f'{url} refuses: {trouble}. {self.advice(trouble)}')
            self.refusal.__cause__ = trouble
            self.refused += trouble.kind is Kind.REFUSED
            if fatal or trouble.kind is Kind.SETTING or (self.refused >= REFUSALS and not self.proven):
                raise self.refusal
        silent, patience = now - self.last_reply, self.settings.patience
        wait = min(other.resume_at for other in self.lines) - now
        what = ''
        hopeless = [
            other.failures >= DEAD_AFTER or (other.unreachable and not other.in_flight)
            for other in self.lines
        ]
        if silent >= patience and all(hopeless):
            what = f'no reply for {silent:.0f} s'
        elif wait > patience and not any(other.in_flight for other in self.lines):
            what = f'the next try would be due in {wait:.0f} s'
        if what:
            urls = ', '.join(dict.fromkeys(other.server.url for other in self.lines))
            raise IncompleteError(
                f'no server answers ({urls}): {what}, last: {trouble}; patience is {patience:g} s. '
                f'{self.kept} are kept: start the servers and run the same command again to ask for the rest.'
            ) from trouble
        line.free.set()


def ask_all(*what: Any, **more: Any) -> None:
    """Ask for all replies of a `Client` in an event loop and a thread of their own, and wait for its end."""
    in_own_loop(lambda: Client(*what, **more).go())


def in_own_loop(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return what `work()` returns or raises, run in an event loop and thread of its own.

    So it can be called where a loop runs already (a notebook). Ctrl-C cancels it and awaits its end.
    """
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()

    async def supervised() -> T:
        started.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work()

    with ThreadPoolExecutor(1, 'servers') as pool:
        outcome = pool.submit(lambda: asyncio.run(supervised()))
        try:
            return outcome.result()
        finally:
            if not outcome.done():
                loop, task = started.result()
                with suppress(RuntimeError):  # the loop is closed: the work ended in this moment
                    loop.call_soon_threadsafe(task.cancel)  # type: ignore[union-attr]
