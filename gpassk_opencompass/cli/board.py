"""What is shown of a sweep that is at work: which runs, how far they are, and all of them together."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..runs.follow import Follower
from ..runs.plan import Planned
from ..runs.progress import JUDGING, SAMPLING, STARTING, Progress, progress_of_result
from ..runs.state import Finding, State
from ..times import duration
from ..unseen import printable

LOG_LINES = 20
"""Lines that are shown of the log of a run that failed."""

LAST = 3
"""Runs that ended last, which stay in the table."""


class AtWork(Protocol):
    """A run at which somebody works, as `runs.driver.Job` is one."""

    @property
    def run(self) -> Planned:
        """Return what there should be."""

    @property
    def work_dir(self) -> Path:
        """Return `-w` of its commands."""


@dataclass(frozen=True)
class Totals:
    """A sweep as a whole.

    states: how many of the runs that are not at work are in which state.
    at_work: how many are.
    waiting: those of which nothing else is known.
    samples, total: of the runs at work; `total` is None where that of one is not known.
    gpus: that the runs at work use; None where that is not known.
    """

    runs: int
    states: Counter[State]
    at_work: int
    waiting: int
    samples: int
    total: int | None
    samples_per_second: float | None
    tokens_per_second: float | None
    cut_off: float | None
    seconds_left: float | None
    gpus: int | None

    @property
    def line(self) -> str:
        """Return what became of the runs, in words."""
        told = [f'{self.states[one]} {one.value}' for one in reversed(State) if self.states[one]]
        told += [f'{self.at_work} at work'] if self.at_work else []
        told += [f'{self.waiting} waiting'] if self.waiting else []
        return f'{self.runs} run{"" if self.runs == 1 else "s"}: {", ".join(told) or "none"}'

    @property
    def speed(self) -> list[str]:
        """Return how fast the runs at work are, in words."""
        total = '?' if self.total is None else f'{self.total:,}'
        parts = [f'{self.samples:,} of {total} samples'] if self.at_work else []
        for rate, what in ((self.samples_per_second, 'samples/s'), (self.tokens_per_second, 'tokens/s')):
            parts += [] if rate is None else [f'{number(rate)} {what}']
        parts += [] if self.cut_off is None else [f'cut off {100 * self.cut_off:.1f} %']
        parts += [] if self.seconds_left is None else [f'{duration(self.seconds_left)} left']
        parts += [] if self.gpus is None else [f'{self.gpus} GPU{"" if self.gpus == 1 else "s"} in use']
        return parts


class Board:
    """Keeps what a table, a line and the events tell, in an amount of work that the rest of a sweep adds
    nothing to.

    Args:
        names: of all runs, in their order.
        follower: knows how far those at work are.
    """

    def __init__(self, names: Sequence[str], follower: Follower) -> None:
        self._places: dict[str, int] = {}
        self.add(names)
        self._follower = follower
        self._states: dict[str, State] = {}
        self._counts: Counter[State] = Counter()
        self._last: deque[Progress] = deque(maxlen=LAST)
        self._at_work: dict[str, None] = {}
        self._gpus: int | None = None

    def __len__(self) -> int:
        return len(self._places)

    def add(self, names: Iterable[str]) -> None:
        """Take more runs in."""
        for name in names:
            self._places.setdefault(name, len(self._places) + 1)

    def label(self, name: str) -> str:
        """Return how a line calls a run."""
        return f'[{self._places.get(name, "?")}/{len(self._places)}] {printable(name)}'

    def begin(self, name: str) -> None:
        """Take note that somebody works on a run."""
        self._at_work[name] = None
        if (before := self._states.pop(name, None)) is not None:
            self._counts[before] -= 1

    def is_at_work(self, name: str) -> bool:
        """Whether somebody works on a run, as far as was told."""
        return name in self._at_work

    def end(self, finding: Finding, *, shown: bool) -> Progress:
        """Take note of the state of a run at which nobody works; return how far it came.

        Args:
            shown: among those that ended last.
        """
        before = self._follower.leave(finding.name)
        self._at_work.pop(finding.name, None)
        if (former := self._states.get(finding.name)) is not None:
            self._counts[former] -= 1
        self._states[finding.name] = finding.state
        self._counts[finding.state] += finding.state is not State.MISSING
        told = progress_at_end(finding, before) if shown else Progress(finding.name, finding.state.value)
        if shown:
            self._last.append(told)
        return told

    def follow(self, jobs: Iterable[AtWork]) -> None:
        """Have the runs at work followed, and count the GPUs that they say they use."""
        used: set[object] = set()
        for job in jobs:
            self._follower.follow(job.run, job.work_dir)
            gpus = getattr(getattr(job, 'turn', job), 'gpus', None)
            used |= set(gpus) if isinstance(gpus, Collection) else set()
        self._gpus = len(used) or None

    def at_work(self, most: int | None = None) -> list[Progress]:
        """Return how far the runs at work are, those that were begun first."""
        names = list(self._at_work)[:most]
        return [self._follower.progress(name) or Progress(name, STARTING) for name in names]

    @property
    def last(self) -> list[Progress]:
        """Return the runs that ended last, the latest one at the end."""
        return list(self._last)

    def totals(self) -> Totals:
        """Return the sweep as a whole."""
        told = self.at_work()
        known = sum(one.ended_known for one in told)
        ended = self._counts.total()
        left = [one.seconds_left for one in told if one.state != JUDGING]
        return Totals(
            runs=len(self._places),
            states=+self._counts,
            at_work=len(told),
            waiting=len(self._places) - len(told) - ended,
            samples=sum(one.samples for one in told),
            total=None if any(one.total is None for one in told) else sum(one.total or 0 for one in told),
            samples_per_second=_sum(one.samples_per_second for one in told),
            tokens_per_second=_sum(one.tokens_per_second for one in told),
            cut_off=sum(one.cut_off or 0 for one in told) / known if known else None,
            seconds_left=None if None in left or not left else max(one or 0.0 for one in left),
            gpus=self._gpus,
        )


def progress_at_end(finding: Finding, before: Progress | None = None) -> Progress:
    """Return how far a run came at which nobody works any more: what its results say, else what was seen.

    Args:
        before: how far it was when one last looked.
    """
    if finding.state is State.COMPLETE:
        return progress_of_result(finding.name, finding.state.value, finding.results)
    samples = (before.samples if before else 0) if finding.predictions is None else finding.predictions
    total = finding.expected or (before.total if before else None)
    return Progress(finding.name, finding.state.value, samples=samples, total=total)


def _sum(rates: Iterable[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def number(value: float) -> str:
    """Return a rate with as many digits as matter.

    >>> number(0.0312), number(3.14159), number(12345.6)
    ('0.031', '3.1', '12,346')
    """
    return f'{value:,.0f}' if value >= 100 else f'{value:.1f}' if value >= 1 else f'{value:.2g}'


def doing(progress: Progress) -> str:
    """Return what a run does, or how long it takes yet.

    >>> doing(Progress('run', 'sampling', seconds_left=185)), doing(Progress('run', 'judging', judged=1200))
    ('3:05 min', 'judging 1,200')
    """
    if progress.state == SAMPLING and progress.seconds_left is not None:
        return duration(progress.seconds_left)
    if progress.state == JUDGING and progress.judged and progress.accuracy is None:
        return f'{JUDGING} {progress.judged:,}'
    return progress.state
