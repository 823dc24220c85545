"""Many requests over several servers at once, until each has a reply or is given up.

A request goes to the least loaded server that can take it. One that fails waits a little and comes before the
fresh ones, at whichever server is free then. A server that fails again and again is set aside and tried with
single requests until it answers. Before its first request, and when it comes back after it was set aside, a
server may be greeted: what the caller wants to know of it is asked first.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loguru import logger
from yarl import URL

from ..completion import Kind, Reply, Trouble
from ..errors import IncompleteError, InputError
from ..servers import Clock, backoff
from .exchange import Access, exchange, open_session
from .jobs import Job
from .limits import Limits
from .routes import DEAD_AFTER, Route
from .trouble import KEPT, Advice, check_settings, hopeless, refusal

if TYPE_CHECKING:
    from aiohttp import ClientSession

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 8.0

# Requests under way or waiting for another attempt, in units of all that may be under way: enough to keep
# servers busy that fail often, few enough not to throw everything at servers that fail always.
_OPEN_SHARE = 4

_AT_ONCE = 32
"""Requests that are started before those begun are looked after."""

REFUSALS = 3
"""Refused requests (HTTP 400, 413, 422) without a single reply that show that the settings are wrong."""

FORBIDDEN = 403
"""Status of a wrong key, and of what some gateways do not let through."""

_COUNTED = frozenset({Kind.LOST, Kind.BROKEN})
_OF_DEAD = _COUNTED | {Kind.DOWN}
_REFUSES = frozenset({Kind.SETTING, Kind.REFUSED})


Taken = tuple[Route, Job]
"""A job, and where it goes."""

Received = Callable[[Job, Reply], bool]
"""Takes a reply; says False to ask the same once more at once; raises Trouble if it is as good as none."""
Abandoned = Callable[[Job, str], None]
"""Takes a job that was given up, and the reason in a few words."""
Greet = Callable[[URL, bool], Awaitable[None]]
"""Gets to know a server, or one that is back after it was set aside; raises Trouble if it does not answer."""


class Traffic:
    """The requests of one run, or of several one after another: what was learnt of the servers is kept.

    Args:
        urls: endpoints, see `routes.endpoint`.
        limits: how hard to try.
        received, abandoned: called in the thread of the event loop, one of them in the end for each job.
        access: how the servers are reached; its keys are removed from their messages. With several keys,
            each counts as a server of its own, and one that is turned away is given up while another is left.
        counts: `requests`, `replies` and `failures` are added to it.
        clock: the time to live by.
        proven: whether these settings had replies before, so that a refusal must be the request's own fault.
        greet: called with a server before it gets a job; what else it raises ends the run.
        probe: makes of a job the body of one that any server takes which takes its settings. It is sent where
            a failure does not tell whether the job is at fault: a refusal before any reply, HTTP 403, and
            failures in a row that look as if the server were dead.
        texts: HTTP status → the text that stands for the reply of a request that fails with it.
        advice: ends the error that a server refuses all.
        kept: what there is of earlier replies when no server answers.
        check: called when a server gave no reply; what it raises ends the run.
    """

    def __init__(
        self,
        urls: Sequence[URL],
        limits: Limits,
        received: Received,
        abandoned: Abandoned,
        *,
        access: Access | None = None,
        counts: Counter[str] | None = None,
        clock: Clock | None = None,
        proven: bool = False,
        greet: Greet | None = None,
        probe: Callable[[Job], bytes] | None = None,
        texts: Mapping[int, str] | None = None,
        advice: Advice = check_settings,
        kept: str = KEPT,
        check: Callable[[], None] | None = None,
    ) -> None:
        self._check = check
        self._greet, self._probe, self._advice, self._kept = greet, probe, advice, kept
        self._access = access or Access()
        keys = self._access.keys
        self._routes = [Route(url, limits, key, known=greet is None) for url in urls for key in keys]
        self._proxies = {url: self._access.proxy_for(url) for url in urls}
        self._limits = limits
        self._received, self._abandoned = received, abandoned
        self._texts = texts or {}
        self._counts = Counter() if counts is None else counts
        self._clock = clock or Clock()
        self._most_open = _OPEN_SHARE * limits.concurrency * len(self._routes)
        self._proven = proven
        self._begin()

    def _begin(self) -> None:
        """Make what belongs to one run and to its event loop."""
        self._retries: deque[Job] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._probing = asyncio.Lock()
        self._error: BaseException | None = None
        self._open = 0
        self._drawn = False  # whether all jobs are
        self._refused = self._probes = 0
        self._refusal: InputError | None = None
        self._last_reply = self._clock.now()
        for route in self._routes:
            route.begin()

    async def run(self, jobs: Iterator[Job]) -> None:
        """Send all of them; `jobs` is drawn from as servers get free.

        Raises:
            InputError: the servers do not take requests like these (key, model name, address, settings).
            IncompleteError: no server answered for `patience` seconds.
        """
        self._begin()
        async with open_session(self._limits.timeout, self._access) as session:
            try:
                await self._dispatch(session, jobs)
                if self._refusal is not None and not self._proven:
                    raise self._refusal
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _dispatch(self, session: ClientSession, jobs: Iterator[Job]) -> None:
        while self._open or not self._drawn:
            started = 0
            while taken := self._take(jobs):
                self._spawn(self._work(session, jobs, taken))
                started += 1
                if started % _AT_ONCE == 0:  # else the first is sent when the last has begun to connect
                    await asyncio.sleep(0)
            if self._open or not self._drawn:
                await self._change()

    async def _work(self, session: ClientSession, jobs: Iterator[Job], taken: Taken | None) -> None:
        """Serve this job and then the next at once, before other replies are looked at."""
        while taken:
            await self._serve(session, *taken)
            taken = self._take(jobs)

    def _take(self, jobs: Iterator[Job]) -> Taken | None:
        """Return a server that is free and what to send to it; None if there is not both, or no use in it."""
        now = self._clock.now()
        self._greet_strangers(now)
        while self._error is None and (free := [route for route in self._routes if route.is_free(now)]):
            if (job := self._ready_job(jobs)) is None:
                return None
            job.since = now if job.since is None else job.since
            if now - job.since <= self._limits.total_time:
                route = min(free, key=lambda route: route.load)
                route.start(now)
                self._wake_for(route, now)
                return route, job
            self._give_up(job)
        return None

    def _greet_strangers(self, now: float) -> None:
        if self._greet is None or (self._drawn and not self._open):
            return
        for route in self._routes:
            if route.is_stranger(now):
                route.begin_greeting(now)
                self._wake_for(route, now)
                self._spawn(self._greeting(self._greet, route))

    async def _greeting(self, greet: Greet, route: Route) -> None:
        try:
            await greet(route.url, route.came_back)
        except Trouble as trouble:
            route.end_greeting(known=False)
            self._no_reply(route, trouble, refused=trouble.kind is Kind.REFUSED)
        else:
            route.end_greeting(known=True)
            if self._probe is None:
                self._answered(route)
            else:  # that it answers shows nothing of what it makes of jobs
                route.succeeded()

    def _ready_job(self, jobs: Iterator[Job]) -> Job | None:
        if self._retries:
            return self._retries.popleft()
        if self._drawn or self._open >= self._most_open:
            return None
        job = next(jobs, None)
        self._drawn = job is None
        self._open += job is not None
        return job

    async def _change(self) -> None:
        self._changed.clear()
        if self._error is None:
            await self._changed.wait()
        if self._error is not None:
            raise self._error

    def _spawn(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._error = self._error or task.exception()
        self._changed.set()

    def _wake_for(self, route: Route, now: float) -> None:
        if route.resume_at > now:
            self._spawn(self._sleep_until(route.resume_at))

    async def _sleep_until(self, moment: float) -> None:
        while (left := moment - self._clock.now()) > 0:  # a timer may fire a little early
            await self._clock.sleep(left)

    async def _serve(self, session: ClientSession, route: Route, job: Job) -> None:
        self._counts['requests'] += 1
        job.url = route.address
        start = time.perf_counter()
        try:
            reply = await self._exchange(session, route, job.body)
            job.seconds = time.perf_counter() - start
        except Trouble as trouble:
            await self._weigh(session, route, job, trouble)
            self._failed(route, job, trouble)
        else:
            self._replied_to(route, job, reply)
        if route.in_flight + 1 < route.window:  # free for more than the one that comes next
            self._changed.set()

    async def _exchange(self, session: ClientSession, route: Route, body: bytes) -> Reply:
        try:
            reply = await exchange(session, route.url, body, route.key, self._proxies[route.url])
        except Trouble as trouble:
            if (text := self._texts.get(trouble.status or 0)) is not None:
                return Reply(text)
            raise self._access.hidden(trouble) from trouble.__cause__
        return self._access.hidden_reply(reply)

    async def _weigh(self, session: ClientSession, route: Route, job: Job, trouble: Trouble) -> None:
        """Ask the probe whether a job or its server is at fault, where the failure itself does not tell.

        Raises what ends the run if the server refuses the probe as well.
        """
        refused, forbidden = trouble.kind is Kind.REFUSED, trouble.status == FORBIDDEN
        silent = self._clock.now() - self._last_reply >= self._limits.patience
        dead = trouble.kind in _OF_DEAD and (silent or route.failures + 1 >= DEAD_AFTER)
        if self._probe is None or not (refused or forbidden or dead):
            return
        probes = self._probes
        async with self._probing:
            if (refused and self._proven) or (dead and self._probes > probes):
                return
            self._probes += 1
            said = await self._probed(session, route, self._probe(job))
        if said is None:
            self._last_reply, self._proven = self._clock.now(), True
            route.is_alive(self._last_reply)
        elif refused and said.kind in _REFUSES:
            raise refusal(route.url, said, self._advice) from said
        if forbidden and (said is None or said.kind not in _REFUSES):
            trouble.kind = Kind.REFUSED if said is None else Kind.LOST

    async def _probed(self, session: ClientSession, route: Route, body: bytes) -> Trouble | None:
        """Return None if a probe gets a reply; else what it meets."""
        try:
            await asyncio.wait_for(
                self._exchange(session, route, body), min(self._limits.patience, self._limits.timeout)
            )
        except asyncio.TimeoutError:
            return Trouble(Kind.LOST, 'time-out')
        except Trouble as trouble:
            return trouble
        return None

    def _replied_to(self, route: Route, job: Job, reply: Reply) -> None:
        self._counts['replies'] += 1
        self._answered(route)
        try:
            taken = self._received(job, reply)
        except Trouble as trouble:
            self._again(job, trouble)
            return
        if taken:
            self._open -= 1
        else:
            job.asked += 1
            self._retries.append(job)

    def _answered(self, route: Route) -> None:
        self._last_reply = self._clock.now()
        self._proven = True
        route.is_alive(self._last_reply)
        route.succeeded()

    def _failed(self, route: Route, job: Job, trouble: Trouble) -> None:
        self._no_reply(route, trouble)
        # A server that is out of reach for one request time and again, but replies to others, is not down.
        job.attempts += trouble.kind is Kind.DOWN and route.replied_at > job.failed_at
        job.failed_at = self._clock.now()
        self._again(job, trouble)

    def _again(self, job: Job, trouble: Trouble) -> None:
        """Have a job wait for another attempt, or give it up."""
        self._counts['failures'] += 1
        job.failures += 1
        job.attempts += trouble.kind in _COUNTED
        job.trouble = trouble
        if trouble.kind is Kind.REFUSED or job.attempts >= self._limits.attempts:
            self._give_up(job)
        else:
            self._spawn(self._retry(job, backoff(job.failures, _FIRST_WAIT, _LONGEST_WAIT)))

    def _no_reply(self, route: Route, trouble: Trouble, refused: bool = False) -> None:
        """Raises what ends the run; `refused`: what every server should take."""
        if self._check is not None:
            self._check()
        now = self._clock.now()
        route.failed(trouble, now)
        if trouble.kind in _REFUSES:
            self._check_settings(route, trouble, refused)
        self._check_hope(trouble)
        self._check_pauses(trouble)
        self._wake_for(route, now)

    async def _retry(self, job: Job, wait: float) -> None:
        await self._clock.sleep(wait)
        self._retries.append(job)

    def _give_up(self, job: Job) -> None:
        logger.warning(f'a request was given up after {job.failures} failures, the last: {job.trouble}')
        self._abandoned(job, job.trouble.reason if job.trouble else 'out of time')
        self._open -= 1

    def _check_settings(self, route: Route, trouble: Trouble, refused: bool) -> None:
        """Raise if a server takes no request at all; a single one may only be too long for it."""
        if trouble.kind is Kind.SETTING and self._has_other_key(route):
            if route in self._routes:
                self._routes.remove(route)
                logger.warning(f'one of the keys is used no more, {route.url} refuses it: {trouble}')
            return
        self._refusal = refusal(route.url, trouble, self._advice)
        self._refused += trouble.kind is Kind.REFUSED
        if refused or trouble.kind is Kind.SETTING or (self._refused >= REFUSALS and not self._proven):
            raise self._refusal

    def _has_other_key(self, route: Route) -> bool:
        return any(other.url == route.url and other.key != route.key for other in self._routes)

    def _check_hope(self, trouble: Trouble) -> None:
        silent = self._clock.now() - self._last_reply
        if silent >= self._limits.patience and all(route.silent for route in self._routes):
            raise self._hopeless(f'no reply for {silent:.0f} s, last: {trouble}')

    def _check_pauses(self, trouble: Trouble) -> None:
        """Raise if nothing is under way and the next try is due only after the patience has run out."""
        if any(route.in_flight for route in self._routes):
            return
        now = self._clock.now()
        wait = min(route.resume_at for route in self._routes) - now
        silent = now - self._last_reply if all(route.failing for route in self._routes) else 0.0
        if silent + wait > self._limits.patience and all(route.failures for route in self._routes):
            raise self._hopeless(f'the next try would be due in {wait:.0f} s, last: {trouble}')

    def _hopeless(self, what: str) -> IncompleteError:
        urls = list(dict.fromkeys(route.url for route in self._routes))
        return hopeless(urls, what, self._limits.patience, self._kept)
