"""The way of requests through batches: submitted, collected, and submitted again if they expired."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from ..chat.completion import ENDS, Reply
from ..chat.waiting import backoff
from ..errors import IncompleteError, InputError
from .notes import Notes
from .protocol import Answer, BatchApi, Progress, Request, Unreachable

T = TypeVar('T')

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
_YOUNG = 300.0  # seconds in which a list of batches may still lack one
_MOST_REASONS = 5
_LONGEST_QUEUE = 24 * 3600.0


@dataclass(frozen=True)
class Patience:
    """How long to wait for what. All times are in seconds.

    Args:
        poll: between two looks at a batch; > 0.
        unreachable: how long a server may give no usable answer; > 0.
        retry: how often a request is submitted again that expired, was broken off or met an error of the
            server; ≥ 0.
    """

    poll: float = 30.0
    unreachable: float = 3600.0
    retry: int = 2


class _Open(NamedTuple):
    """A batch that is waited for."""

    batch: str
    mark: str
    ids: frozenset[str]
    sure: bool
    """Whether it is known to be ours: what was found by its number of requests alone may be another's."""


class Collector:
    """Gets an answer to each request out of a batch endpoint.

    Before anything is sent it is noted, and so is what comes back: a collector with the same notes submits
    nothing a second time, and finds what was submitted and not noted.

    Args:
        api: the endpoint.
        notes: kept beside the predictions.
        patience: how long to wait for what.
        say: takes a line about the progress, and how serious it is: 'info' or 'warning'.
        check: raises an error where this task shall go no further; called before each look and submission.
        sleep, now: wait so many seconds; the Unix time.
    """

    def __init__(
        self,
        api: BatchApi,
        notes: Notes,
        patience: Patience,
        say: Callable[[str, str], object],
        check: Callable[[], object] = lambda: None,
        sleep: Callable[[float], object] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._api, self._notes, self._patience = api, notes, patience
        self._say, self._check, self._sleep, self._now = say, check, sleep, now
        self._open: list[_Open] = []
        self._given_up: dict[str, Answer] = {}
        self._tries: Counter[str] = Counter()
        self._last: dict[str, str] = {}
        self._cancelled: list[str] = []
        self._full_since: float | None = None
        self._hold = 0.0

    def answers(self, requests: Sequence[Request]) -> list[Answer]:
        """Return the answer to each request, in their order.

        One that has no response after all tries has the state 'failed'.

        Raises:
            InputError: the server takes no such batch, or not with this key.
            IncompleteError: it gave no usable answer for too long, and what is submitted goes on there; or
                somebody cancelled a batch there.
        """
        names = {request.custom_id for request in requests}
        if len(names) < len(requests):
            raise InputError(
                'two requests of a batch are for one sample: the rows repeat a uid and a replica'
            )
        try:
            self._take_up(names)
            while self._step(requests):
                self._sleep(self._patience.poll)
        except KeyboardInterrupt:
            self._say(self._left_behind(), 'warning')
            raise
        return [self._answer(request.custom_id) or _failed('') for request in requests]

    def _step(self, requests: Sequence[Request]) -> bool:
        """Submit what is not under way and look at what is; return whether there is more to wait for."""
        under_way = frozenset[str]().union(*(one.ids for one in self._open))
        todo = [r for r in requests if r.custom_id not in under_way and self._answer(r.custom_id) is None]
        if todo and self._now() >= self._hold:
            self._submit(todo)
        for one in list(self._open):
            if one not in self._open:  # another one turned out to be the batch looked for
                continue
            self._check()
            progress = self._patiently(partial(self._api.look, one.batch))
            self._tell(one.batch, progress)
            if progress.ended:
                self._open.remove(one)
                self._end(one, progress)
        if self._cancelled:
            raise IncompleteError(
                f'{", ".join(self._cancelled)} was cancelled at {self._api.name}, so the rest of it is not '
                'submitted again. What was answered is kept, and the same command with -r submits what is '
                f'missing{f". {self._left_behind()}" if self._open else ""}'
            )
        return bool(self._open) or any(self._answer(r.custom_id) is None for r in requests)

    def _answer(self, name: str) -> Answer | None:
        reply = self._notes.replies.get(name)
        return self._given_up.get(name) if reply is None or _broken_off(reply) else Answer(reply)

    def _take_up(self, names: set[str]) -> None:
        """Wait for what an earlier task submitted, also where it died before it could note that."""
        began = self._now()
        for planned in self._notes.open:
            if not planned.ids & names:
                continue
            if planned.batch is not None:
                self._say(f'goes on waiting for batch {planned.batch}, submitted earlier', 'info')
                self._open.append(_Open(planned.batch, planned.mark, planned.ids, sure=True))
            elif found := self._found(planned.mark, planned.ids, planned.at, began):
                self._open += found
            else:
                self._notes.ended(planned.mark, {})  # it was never submitted
        if kept := sum(self._answer(name) is not None for name in names):
            self._say(f'{kept} of {len(names)} responses are here already', 'info')

    def _found(self, mark: str, ids: frozenset[str], since: float, lost: float) -> list[_Open]:
        """Look on the server for a batch that may have been submitted without anybody hearing of it.

        One that several marks may mean is a candidate for each of them: their results tell whose it is.

        Args:
            since: when it was submitted at the earliest.
            lost: when it may have been submitted at the latest: so long after that a list may lack it.
        """
        while True:
            found = self._patiently(lambda: self._api.find(mark, len(ids), since))
            strangers = self._notes.known() | {one.batch for one in self._open if one.sure}
            news = [batch for batch in found if batch not in strangers]
            others = {one.mark for one in self._open if one.batch in news}
            listed = self._now() - lost > min(_YOUNG, 4 * self._patience.poll)
            if len(news) > len(others) or (news and listed):
                self._say(f'found {", ".join(news)} on the server, submitted without a note', 'warning')
                return [_Open(batch, mark, ids, sure=False) for batch in news]
            if listed:
                return []
            self._sleep(self._patience.poll)

    def _submit(self, todo: Sequence[Request]) -> None:
        for requests, lines in _parts(self._api, todo):
            self._check()
            mark, ids = secrets.token_hex(8), [request.custom_id for request in requests]
            self._notes.plan(mark, self._now(), ids)
            self._open += self._sent(mark, frozenset(ids), lines)

    def _sent(self, mark: str, ids: frozenset[str], lines: Sequence[bytes]) -> list[_Open]:
        """Submit one batch; if the reply gets lost, look whether it is there before it is sent again."""
        since = self._now()
        lost: float | None = None

        def submit() -> list[_Open]:
            nonlocal lost
            if lost is not None and (found := self._found(mark, ids, since, lost)):
                return found
            try:
                batch = self._api.submit(lines, mark)
            except Unreachable as error:
                if error.unknown:  # an upload may take longer than a list takes to show it
                    lost = self._now()
                raise
            self._notes.submitted(mark, batch)
            # Whoever is stopped by a signal has no time to say it then.
            left = f'it goes on at {self._api.name} if this task is stopped, and -r collects it'
            self._say(f'submitted batch {batch}: {len(ids):,} requests; {left}', 'info')
            return [_Open(batch, mark, ids, sure=True)]

        return self._patiently(submit)

    def _end(self, one: _Open, progress: Progress) -> None:
        """Take what an ended batch brought, and let the rest be submitted again."""
        if progress.refusal:
            self._refused(one, progress)
            return
        answers = self._patiently(lambda: dict(self._api.answers(one.batch)))
        own = {name: _whole(answer) for name, answer in answers.items() if name in one.ids}
        rivals = [other for other in self._open if other.mark == one.mark]
        if not own and not one.sure:
            self._say(f'batch {one.batch} is not the one looked for', 'info')
            if not rivals:
                self._notes.ended(one.mark, {})
            return
        self._open = [other for other in self._open if other not in rivals]
        drawn = {name: answer.reply for name, answer in own.items() if answer.reply is not None}
        self._notes.ended(one.mark, drawn)
        missing = {name: _failed('no line in the results', again=True) for name in one.ids - set(own)}
        others = {name: answer for name, answer in {**own, **missing}.items() if name not in drawn}
        self._say(f'collected batch {one.batch}: {len(drawn):,} responses of {len(one.ids):,}', 'info')
        if progress.cancelled and any(answer.again for answer in others.values()):
            self._cancelled.append(f'batch {one.batch} ({len(drawn):,} of {len(one.ids):,} answered)')
        else:
            self._count(others)

    def _count(self, others: dict[str, Answer]) -> None:
        """Give up what will not get a response, and say what comes next of the others."""
        again = 0
        for name, answer in others.items():
            self._tries[name] += 1
            if answer.again and self._tries[name] <= self._patience.retry:
                again += 1
            else:
                self._given_up[name] = answer
        if others:
            said = Counter(answer.said for answer in others.values()).most_common()
            reasons = '; '.join(f'{count:,} × {reason}' for reason, count in said[:_MOST_REASONS])
            more = f'; {len(said) - _MOST_REASONS:,} other reasons' if len(said) > _MOST_REASONS else ''
            self._say(
                f'{len(others):,} requests without a response, {again:,} of them are submitted again: '
                f'{reasons}{more}',
                'warning',
            )

    def _refused(self, one: _Open, progress: Progress) -> None:
        """Wait where the queue of the account is full; anything else is for a person to mend."""
        self._notes.ended(one.mark, {})
        if not progress.queue_full:
            raise InputError(f'{self._api.name} takes no request of batch {one.batch}: {progress.refusal}')
        now = self._now()
        self._full_since = self._full_since or now
        if now - self._full_since > _LONGEST_QUEUE:
            raise IncompleteError(
                f'{self._api.name} has not taken a batch for a day: {progress.refusal}. A smaller batch_size '
                'makes smaller batches; what came back is kept'
            )
        self._hold = now + max(self._patience.poll, min(600.0, now - self._full_since))
        self._say(f'the queue is full, tries again later: {progress.refusal}', 'warning')

    def _tell(self, batch: str, progress: Progress) -> None:
        line = f'batch {batch}: {progress.status}, {progress.counts}'
        if self._last.get(batch) != line:
            self._last[batch] = line
            self._say(line, 'info')
        if progress.ended and not progress.refusal:
            self._full_since = None

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Ask until there is an answer; a server that asks for a pause gets it."""
        failures, since = 0, self._now()
        while True:
            try:
                return ask()
            except Unreachable as error:
                failures += 1
                silent, asked = self._now() - since, error.wait or 0.0
                if silent + asked > self._patience.unreachable:
                    more = f' and asks to wait {asked:.0f} s' if asked else ''
                    raise IncompleteError(
                        f'{self._api.name} gave no usable answer for {silent:.0f} s{more} ({error}); '
                        f'patience is {self._patience.unreachable:.0f} s. {self._left_behind()}'
                    ) from error
                wait = backoff(failures, _FIRST_WAIT, _LONGEST_WAIT) if error.wait is None else error.wait
                self._say(f'no usable answer, asks again in {wait:.0f} s: {error}', 'warning')
                self._sleep(wait)

    def _left_behind(self) -> str:
        names = ', '.join(one.batch for one in self._open)
        if not names:
            return 'No batch is under way; the same command with -r goes on'
        return (
            f'{self._api.name} goes on with {names} and charges for what it answers: the same command with '
            '-r collects it, and cancelling it there stops it'
        )


def _parts(api: BatchApi, requests: Iterable[Request]) -> Iterator[tuple[list[Request], list[bytes]]]:
    """Cut requests into batches that the endpoint takes, with their lines."""
    part: list[Request] = []
    lines: list[bytes] = []
    size = 0
    for request in requests:
        line = api.line(request)
        if part and (len(part) == api.most_requests or size + len(line) + 1 > api.most_bytes):
            yield part, lines
            part, lines, size = [], [], 0
        part.append(request)
        lines.append(line)
        size += len(line) + 1
    if part:
        yield part, lines


def _whole(answer: Answer) -> Answer:
    """Return the answer; where the server broke its response off, that there is none yet."""
    if answer.reply is None or not _broken_off(answer.reply):
        return answer
    return Answer(None, 'aborted', f'finish_reason {answer.reply.finish}', again=True)


def _broken_off(reply: Reply) -> bool:
    return ENDS.get(reply.finish.casefold()) == 'aborted'


def _failed(said: str, again: bool = False) -> Answer:
    return Answer(None, 'failed', said, again)
