"""Runs that are at work, followed beside what else a process does; and those of a sweep that others run."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .answers_so_far import QuickJudge
from .examine import examine
from .lock import LOCK, is_in_use
from .plan import Planned
from .progress import Progress, RunReader
from .state import Finding, State
from .work_dir import NOTES, changed_at, time_dirs

INTERVAL = 1.0
"""Seconds between two looks."""

SHARE = 0.05
"""Of a processor, for verdicts on what is drawn."""

CHECKS, EXAMINATIONS = 200, 25
"""Most runs of a sweep that one look asks whether somebody works on them, and that it examines."""

RECENT = 300.0
"""Seconds in which a run that nobody has locked must have been written to, to count as at work."""


class Follower:
    """Knows how far runs are: a thread looks at each of them once a second.

    A context manager: at its end the thread ends too.
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval
        self._quick = QuickJudge()
        self._lock, self._looking = threading.Lock(), threading.RLock()
        self._readers: dict[str, RunReader] = {}
        self._progress: dict[str, Progress] = {}
        self._failed: set[str] = set()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def follow(self, run: Planned, work_dir: Path) -> None:
        """Begin to look at a run, unless that is done already."""
        with self._lock:
            if run.name in self._readers:
                return
            self._readers[run.name] = RunReader(run, work_dir, self._quick)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name='gpassk-progress', daemon=True)
            self._thread.start()

    def leave(self, name: str) -> Progress | None:
        """Look at a run no longer; return how far it was."""
        with self._lock:
            self._readers.pop(name, None)
            return self._progress.pop(name, None)

    def progress(self, name: str) -> Progress | None:
        """Return how far a run is; None before the first look at it."""
        return self._progress.get(name)

    def look(self) -> bool:
        """Look at all runs once; return whether there is more to read at once."""
        with self._looking:
            return self._look()

    def _look(self) -> bool:
        more = False
        with self._lock:
            readers = dict(self._readers)
        for name, reader in readers.items():
            try:
                more |= reader.look()
                told = reader.progress()
            except Exception as error:  # what is shown of a run must not end it, nor hide the others
                if name not in self._failed:  # once, not each second
                    from loguru import logger

                    logger.warning(f'{name}: cannot tell how far it is: {type(error).__name__}: {error}')
                self._failed.add(name)
                continue
            with self._lock:
                if self._readers.get(name) is reader:
                    self._progress[name] = told
        return more

    def judge_all(self) -> None:
        """Judge whatever waits, however long it takes."""
        self._judge(float('inf'))

    def _judge(self, seconds: float) -> None:
        with self._looking:
            self._quick.work(seconds)

    def _work(self) -> None:
        wait = 0.0
        while not self._ended.wait(wait):
            wait = self._interval / 20 if self.look() else self._interval
            self._judge(SHARE * self._interval)


@dataclass(frozen=True)
class Seen:
    """A run of a sweep at which somebody works."""

    run: Planned
    work_dir: Path


@dataclass(frozen=True)
class Change:
    """What a look at a sweep found of one run."""

    seen: Seen
    finding: Finding | None
    """Its state; None if somebody works on it now."""
    first: bool
    """Whether nothing was known of it before."""


class Sweep:
    """The states of many runs that others start, look by look; a look does a bounded amount of work.

    Args:
        runs: with their work directories.
        follower: follows those at work.
    """

    def __init__(self, runs: Sequence[tuple[Planned, Path]], follower: Follower) -> None:
        self._runs: dict[str, Seen] = {}
        self._follower = follower
        self._turn: deque[str] = deque()
        self._to_examine: dict[str, None] = {}
        self._known: dict[str, tuple[float, ...]] = {}
        self.at_work: dict[str, Seen] = {}
        self.findings: dict[str, Finding] = {}
        """The last known state of each run at which nobody works."""
        self.add(runs)

    def add(self, runs: Iterable[tuple[Planned, Path]]) -> None:
        """Look at more runs; those that are known stay as they are."""
        for run, work_dir in runs:
            if run.name not in self._runs:
                self._runs[run.name] = Seen(run, work_dir)
                self._turn.append(run.name)

    @property
    def unknown(self) -> int:
        """Return of how many runs nothing is known yet."""
        return len(self._runs) - len(self.at_work) - len(self.findings)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be expected: nobody works, and no run waits."""
        waiting = (State.MISSING, State.PARTIAL)
        return (
            not self.at_work
            and not self.unknown
            and all(one.state not in waiting for one in self.findings.values())
        )

    def look(self) -> list[Change]:
        """Look at those at work, and at some of the others; return what has changed."""
        changes = [self._rest(name) for name in list(self.at_work) if not self._is_at_work(name)]
        for _ in range(min(CHECKS, len(self._turn))):
            name = self._turn[0]
            self._turn.rotate(-1)
            if name not in self.at_work:
                changes += self._check(name)
        for _ in range(min(EXAMINATIONS, len(self._to_examine))):
            name = next(iter(self._to_examine))
            del self._to_examine[name]
            changes.append(self._rest(name))
        return changes

    def _check(self, name: str) -> list[Change]:
        """Return that somebody has begun to work on a run, or have it examined if it may have changed."""
        seen = self._runs[name]
        if self._is_at_work(name):
            first = self.findings.pop(name, None) is None
            self.at_work[name] = seen
            self._to_examine.pop(name, None)
            self._follower.follow(seen.run, seen.work_dir)
            return [Change(seen, None, first)]
        if self._known.get(name) != _version(seen.work_dir):
            self._to_examine[name] = None
        return []

    def _rest(self, name: str) -> Change:
        """Return in which state a run is at which nobody works."""
        seen = self._runs[name]
        first = name not in self.at_work and name not in self.findings
        self._known[name] = _version(seen.work_dir)
        finding = examine(seen.run, seen.work_dir)
        self.at_work.pop(name, None)
        self._follower.leave(name)
        self.findings[name] = finding
        return Change(seen, finding, first)

    def _is_at_work(self, name: str) -> bool:
        seen = self._runs[name]
        if not (seen.work_dir / NOTES).exists():
            return _is_written_to(seen.run, seen.work_dir)
        return is_in_use(seen.work_dir)


def _is_written_to(run: Planned, work_dir: Path) -> bool:
    """Whether samples were added just now, by an `opencompass` that was started by hand."""
    newest = time_dirs(work_dir)[:1]
    files = [file for one in newest for wanted in run.wanted for file in one.shards(wanted).begun.values()]
    return any(changed_at(file) > time.time() - RECENT for file in files)


def _version(work_dir: Path) -> tuple[float, ...]:
    """Return what changes with the state of a run at which nobody works."""
    notes = work_dir / NOTES
    told = [work_dir, notes, notes / 'starts.jsonl', notes / LOCK]
    if not notes.exists():  # by hand
        told += [*work_dir.glob('*/results/*'), *work_dir.glob('*/predictions/*')]
    return tuple(map(changed_at, told))
