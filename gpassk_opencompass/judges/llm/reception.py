"""Gets to know the servers of a judge: what each serves, and whether it judges known pairs right."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from yarl import URL

from ...chat.completion import Reply
from ...chat.exchange import Access, exchange, open_session
from ...chat.jobs import Job
from ...chat.limits import Limits
from ...chat.served import Served, list_of_models, served_of, told_by, told_in_list
from ...chat.traffic import Traffic
from ...chat.trouble import Kind, Trouble, hopeless, refusal
from ...chat.waiting import Clock, WallClock, backoff
from ...errors import IncompleteError
from ..store import VerdictStore, verdict_key
from .asking import Asking
from .canaries import DIGEST, EASY, INJECTED, EasyFirst, Examination, UnfitJudge

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 8.0
_GRACE = 1.0


class Reception:
    """Asks each server what it serves, and the canaries, before it judges.

    All servers of one judge must say the same. A server that has passed under a name is not asked all again
    while the store remembers: one canary then tells whether it still says that it is the same.

    Args:
        asking: how a pair is put to them.
        urls: endpoints.
        limits: how hard to try.
        store: remembers who has passed.
        about: JSON-able, the judge as its verdicts are kept.
        canaries: whether they are asked; if not, one easy pair is, for what a server says of itself.
        counts: what `Examination` and `Traffic` count is added to it.
        clock: the time to live by.
    """

    def __init__(
        self,
        asking: Asking,
        urls: Sequence[URL],
        limits: Limits,
        store: VerdictStore,
        *,
        about: Mapping[str, Any],
        canaries: bool,
        counts: Counter[str],
        clock: Clock | None,
    ) -> None:
        self._asking, self._urls, self._limits, self._store = asking, urls, limits, store
        self._about, self._canaries, self._counts = about, canaries, counts
        self._clock = clock or WallClock()
        self.examination = Examination(asking, counts)
        self.served: Served | None = None
        """What those said who were there first; None as long as none was asked."""
        self._said = Served()  # by any of them, so far
        self._said_by = ''
        self._agreed: Served | None = None  # what was found to agree last
        self._met: set[URL] = set()
        self._greeted: set[URL] = set()

    def known_before(self) -> list[Served]:
        """Return what servers of this judge said in earlier runs, as far as the store remembers."""
        told = [
            served_of(note.get('served'))
            for note in self._store.notes.values()
            if isinstance(note, Mapping) and note.get('judge') == self._about
        ]
        return list(dict.fromkeys(told))

    async def meet(self, key: str, wait: bool) -> bool:
        """Ask until one server has said what it serves.

        Args:
            key: the API key or ''.
            wait: go on trying for the patience given; else each server is tried once.

        Returns:
            Whether one has.

        Raises:
            InputError: a server takes no such requests.
            UnfitJudge: see `greet`.
            IncompleteError: none answered in time.
        """
        start, rounds = self._clock.now(), 0
        while True:
            troubles = await self._meet_any(key)
            if not troubles:
                self.served = self._said
                return True
            rounds += 1
            for url, trouble in troubles.items():
                if trouble.kind in (Kind.SETTING, Kind.REFUSED):
                    raise refusal(url, trouble)
            if not wait:
                return False
            pause = self._pause(troubles, rounds)
            silent = self._clock.now() - start
            if silent + pause > self._limits.patience:
                last = [*troubles.values()][-1]
                what = (
                    f'no reply for {silent:.0f} s, the next try would be due in {pause:.0f} s, last: {last}'
                )
                raise hopeless(self._urls, what, self._limits.patience)
            await self._clock.sleep(pause)

    def _pause(self, troubles: Mapping[URL, Trouble], rounds: int) -> float:
        asked_for = [trouble.wait for trouble in troubles.values() if trouble.wait is not None]
        return min(asked_for, default=backoff(rounds, _FIRST_WAIT, _LONGEST_WAIT))

    async def _meet_any(self, key: str) -> dict[URL, Trouble]:
        """Return what went wrong with each server; nothing if one has answered.

        After the first, the others have as long again to answer, so that those who do are compared at once.
        """
        troubles: dict[URL, Trouble] = {}
        answered = asyncio.Event()

        async def meet(url: URL) -> None:
            try:
                await self._introduce(url, key)
            except Trouble as trouble:
                troubles[url] = trouble
            else:
                answered.set()

        async def late() -> None:
            start = time.monotonic()
            await answered.wait()
            await asyncio.sleep(time.monotonic() - start + _GRACE)

        everybody = asyncio.gather(*map(meet, self._urls))
        deadline = asyncio.ensure_future(late())
        both: list[asyncio.Future[Any]] = [everybody, deadline]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if everybody.done():
                everybody.result()
        finally:
            everybody.cancel()
            deadline.cancel()
            await asyncio.gather(everybody, deadline, return_exceptions=True)
        return {} if answered.is_set() else troubles

    async def greet(self, key: str, url: URL, came_back: bool) -> None:
        """Get to know a server that is to judge, once, or anew if it comes back after a failure.

        One that comes back may be another one, whatever it says: it is asked all canaries.

        Raises:
            Trouble: it does not answer.
            UnfitJudge: it serves another model than the others, or fails the canaries.
        """
        if url in self._greeted and not came_back:
            return
        if url not in self._met or came_back:
            await self._introduce(url, key)
        passed = self._passed(url)
        if self._canaries and (came_back or passed not in self._store.notes):
            await self._ask(url, key, list(self.examination.jobs(EASY[1:] + INJECTED)))
        self._greeted.add(url)
        self._note(passed)

    def check(self, job: Job, reply: Reply) -> None:
        """Raise UnfitJudge if a reply comes from another model than the first ones."""
        says = told_by(reply)
        if says != self._agreed:
            self._agree(job.url, says)
            self._agreed = says

    async def _introduce(self, url: URL, key: str) -> None:
        async with open_session(self._limits.timeout, Access((key,))) as session:
            [job] = self.examination.jobs(EASY[:1])
            self._counts['requests'] += 1
            job.url = str(url)
            try:
                reply = (await exchange(session, url, job.body)).hiding(key, in_answers=True)
            except Trouble as trouble:
                self._counts['failures'] += 1
                trouble.hide(key)
                raise
            listed = await list_of_models(session, url)
        self._counts['replies'] += 1  # not before: a greeting that is broken off while it waits heard none
        listed_as = told_in_list(listed, self._asking.model).hiding(key)
        self._agree(str(url), told_by(reply).filled(listed_as))
        if self._canaries and not self.examination.received(job, reply):
            job.asked = 1
            await self._ask(url, key, [job])
        self._met.add(url)

    async def _ask(self, url: URL, key: str, jobs: Sequence[Job]) -> None:
        heard = EasyFirst(self._received, jobs)
        traffic = Traffic(
            [url],
            self._limits,
            lambda job, reply: heard.received(job, reply.hiding(key, in_answers=True)),
            self.examination.abandoned,
            access=Access((key,)),
            counts=self._counts,
            clock=self._clock,
            proven=True,
        )
        try:
            await traffic.run(iter(jobs))
        except IncompleteError as error:
            raise Trouble(Kind.DOWN, 'no connection', str(error)) from error

    def _received(self, job: Job, reply: Reply) -> bool:
        self.check(job, reply)
        return self.examination.received(job, reply)

    def _agree(self, url: str, says: Served) -> None:
        self._said_by = self._said_by or url
        if difference := self._said.differs(says):
            before = f'{self._said_by} said' if url != self._said_by else 'it said before'
            raise UnfitJudge(
                f'{url} serves as {self._asking.model!r}: {difference}, which {before}. Verdicts of several '
                'models would be mixed: start the same model in the same way everywhere, or name one server; '
                'the verdicts so far are kept'
            )
        self._said = self._said.filled(says)

    def _passed(self, url: URL) -> str:
        served = self.served.told() if self.served else {}
        return verdict_key({**self._about, 'served': served}, DIGEST, str(url), str(self._canaries))

    def _note(self, key: str) -> None:
        if key not in self._store.notes:
            passed = 'passed' if self._canaries else 'not asked'
            served = self.served.told() if self.served else {}
            self._store.note(key, {'judge': self._about, 'served': served, 'canaries': passed})
