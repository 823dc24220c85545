"""Many requests over several servers at once, until each has a reply or is given up.

A request goes to the least loaded server that can take it. One that fails waits a little and comes before the
fresh ones, at whichever server is free then. A server that fails again and again is set aside and tried with
single requests until it answers. Before its first request, and when it comes back after it was set aside, a
server may be greeted: what the caller wants to know of it is asked first.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
from loguru import logger
from yarl import URL

from ..errors import IncompleteError, InputError
from .completion import Reply
from .exchange import exchange, open_session
from .limits import Limits
from .routes import Route
from .trouble import Kind, Trouble
from .waiting import Clock, WallClock, backoff

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 8.0

# Requests under way or waiting for another attempt, in units of all that may be under way: enough to keep
# servers busy that fail often, few enough not to throw everything at servers that fail always.
_OPEN_SHARE = 4

REFUSALS = 3
"""Refused requests (HTTP 400, 413, 422) without a single reply that show that the settings are wrong."""

KEPT = 'verdicts'
"""What a run without servers has of earlier replies, in the words of its error."""

_COUNTED = frozenset({Kind.LOST, Kind.BROKEN})


@dataclass(eq=False)
class Job:
    """One request on its way through the attempts."""

    item: Any
    """Whatever the caller wants to recognise it by."""
    body: bytes
    asked: int = 0
    """Replies that the caller did not take."""
    since: float | None = None
    """When its first attempt started."""
    attempts: int = 0
    failures: int = 0
    failure: str = ''
    """Reason of the last one."""
    url: str = ''
    """Where it was sent last."""


Received = Callable[[Job, Reply], bool]
"""Takes a reply; says False to ask the same once more."""
Abandoned = Callable[[Job, str], None]
"""Takes a job that was given up, and the reason in a few words."""
Greet = Callable[[URL, bool], Awaitable[None]]
"""Gets to know a server, or one that is back after it was set aside; raises Trouble if it does not answer."""


class Traffic:
    """The requests of one run.

    Args:
        urls: endpoints, see `routes.endpoint`.
        limits: how hard to try.
        received, abandoned: called in the thread of the event loop, one of them in the end for each job.
        api_key: sent to the servers, removed from their messages.
        counts: `requests`, `replies` and `failures` are added to it.
        clock: the time to live by.
        proven: whether these settings had replies before, so that a refusal must be the request's own fault.
        greet: called with a server before it gets a job; what else it raises ends the run.
    """

    def __init__(
        self,
        urls: Sequence[URL],
        limits: Limits,
        received: Received,
        abandoned: Abandoned,
        *,
        api_key: str = '',
        counts: Counter[str] | None = None,
        clock: Clock | None = None,
        proven: bool = False,
        greet: Greet | None = None,
    ) -> None:
        self._greet = greet
        self._routes = [Route(url, limits.concurrency, limits.rate, known=greet is None) for url in urls]
        self._limits = limits
        self._received, self._abandoned = received, abandoned
        self._api_key = api_key
        self._counts = Counter() if counts is None else counts
        self._clock = clock or WallClock()
        self._retries: deque[Job] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._error: BaseException | None = None
        self._open = 0
        self._most_open = _OPEN_SHARE * limits.concurrency * len(urls)
        self._drawn = False  # whether all jobs are
        self._refused = 0
        self._refusal: InputError | None = None
        self._proven = proven
        self._last_reply = self._clock.now()

    async def run(self, jobs: Iterator[Job]) -> None:
        """Send all of them; `jobs` is drawn from as servers get free.

        Raises:
            InputError: the servers do not take requests like these (key, model name, address, settings).
            IncompleteError: no server answered for `patience` seconds.
        """
        self._last_reply = self._clock.now()
        async with open_session(self._limits.timeout, self._api_key) as session:
            try:
                await self._dispatch(session, jobs)
                if self._refusal is not None and not self._proven:
                    raise self._refusal
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _dispatch(self, session: aiohttp.ClientSession, jobs: Iterator[Job]) -> None:
        while self._open or not self._drawn:
            while taken := self._take(jobs):
                self._spawn(self._work(session, jobs, *taken))
            if self._open or not self._drawn:
                await self._change()

    async def _work(
        self, session: aiohttp.ClientSession, jobs: Iterator[Job], route: Route, job: Job
    ) -> None:
        """Serve this job and then the next at once, before other replies are looked at."""
        taken: tuple[Route, Job] | None = (route, job)
        while taken:
            await self._serve(session, *taken)
            taken = self._take(jobs)

    def _take(self, jobs: Iterator[Job]) -> tuple[Route, Job] | None:
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
                self._spawn(self._greeting(self._greet, route))

    async def _greeting(self, greet: Greet, route: Route) -> None:
        try:
            await greet(route.url, route.came_back)
        except Trouble as trouble:
            route.end_greeting(known=False)
            self._no_reply(route, trouble, refused=trouble.kind is Kind.REFUSED)
        else:
            route.end_greeting(known=True)
            self._answered(route)

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

    async def _serve(self, session: aiohttp.ClientSession, route: Route, job: Job) -> None:
        self._counts['requests'] += 1
        job.url = str(route.url)
        try:
            reply = await exchange(session, route.url, job.body)
        except Trouble as trouble:
            trouble.hide(self._api_key)
            self._failed(route, job, trouble)
        else:
            self._replied_to(route, job, reply.hiding(self._api_key))
        if route.in_flight + 1 < route.window:  # free for more than the one that comes next
            self._changed.set()

    def _replied_to(self, route: Route, job: Job, reply: Reply) -> None:
        self._counts['replies'] += 1
        self._answered(route)
        if self._received(job, reply):
            self._open -= 1
        else:
            job.asked += 1
            self._retries.append(job)

    def _answered(self, route: Route) -> None:
        self._last_reply = self._clock.now()
        self._proven = True
        route.succeeded()

    def _failed(self, route: Route, job: Job, trouble: Trouble) -> None:
        self._counts['failures'] += 1
        job.failures += 1
        job.attempts += trouble.kind in _COUNTED
        job.failure = trouble.reason
        self._no_reply(route, trouble)
        if trouble.kind is Kind.REFUSED or job.attempts >= self._limits.attempts:
            self._give_up(job)
        else:
            self._spawn(self._retry(job, backoff(job.failures, _FIRST_WAIT, _LONGEST_WAIT)))

    def _no_reply(self, route: Route, trouble: Trouble, refused: bool = False) -> None:
        """Raises what ends the run; `refused`: what every server should take."""
        now = self._clock.now()
        route.failed(trouble, now)
        if trouble.kind in (Kind.SETTING, Kind.REFUSED):
            self._check_settings(route, trouble, refused)
        self._check_hope(trouble)
        self._check_pauses(trouble)
        self._wake_for(route, now)

    async def _retry(self, job: Job, wait: float) -> None:
        await self._clock.sleep(wait)
        self._retries.append(job)

    def _give_up(self, job: Job) -> None:
        logger.warning(f'a request was given up after {job.failures} failures, the last: {job.failure}')
        self._abandoned(job, job.failure or 'out of time')
        self._open -= 1

    def _check_settings(self, route: Route, trouble: Trouble, refused: bool) -> None:
        """Raise if a server takes no request at all; a single one may only be too long for it."""
        self._refusal = refusal(route.url, trouble)
        self._refused += trouble.kind is Kind.REFUSED
        if refused or trouble.kind is Kind.SETTING or (self._refused >= REFUSALS and not self._proven):
            raise self._refusal

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
        return hopeless([route.url for route in self._routes], what, self._limits.patience)


def refusal(url: URL, trouble: Trouble) -> InputError:
    """Return the error that says: this server would take no request like these."""
    return InputError(
        f'{url} refuses: {trouble}. Check the model name, the address, the key (api_key_env), '
        'max_tokens and extra_body'
    )


def hopeless(urls: Sequence[URL], what: str, patience: float, kept: str = KEPT) -> IncompleteError:
    """Return the error that says: none of these servers answers, and `what` happened last."""
    return IncompleteError(
        f'no server answers ({", ".join(map(str, urls))}): {what}; patience is {patience:g} s. The {kept} so '
        'far are kept: start the servers and run the same command again to ask for the rest.'
    )
