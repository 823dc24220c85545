"""Sessions placed on a cluster, watched to their ends, and continued where the cluster ended them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError
from ...judges.store import STORE_VARIABLE
from ..config_file import stores_in
from ..driver import Watcher
from ..examine import examine
from ..judge_servers import judge_need
from ..lock import holder_of
from ..plan import Planned
from ..processes import Stop
from ..sessions import Session, sessions_of
from ..state import Excerpt, Finding, State
from ..work_dir import last_lines
from .cluster import Cluster, Phase, Seen
from .work import FRUITLESS, Work

LOG_LINES = 40

STOPPING = 90.0
"""Seconds that jobs get to stop cleanly, before they are cancelled."""

CANCELLING = 60.0
"""Seconds until a job that was cancelled is no longer waited for."""


class AtWork(NamedTuple):
    """A run at work on the cluster, for a `Watcher`."""

    run: Planned
    work_dir: Path
    started: float
    """Seconds since the epoch."""


@dataclass
class _Placed:
    """A job that is looked after."""

    work: Work
    extent: str
    """What there was before it; see `Work.extent`."""
    fruitless: int = 0
    placed: float = field(default_factory=time.time)
    started: float | None = None
    """When it was first seen at work; None before that, and of one that ended between two looks."""
    held: dict[str, float] = field(default_factory=dict)
    """Its runs whose work directories are in use, and since when."""


class ClusterDriver:
    """Has a cluster run OpenCompass for each run that is not complete, a job a session.

    Args:
        cluster: where.
        outputs: the folder of the work directories, which all nodes see under this path.
        words: what follows `gpassk` for a session.
        is_done: whether nothing is left to do for a run in this state.
        watcher: is told of every step.
        stop: becomes true when the user wants to stop.
        say: is told what concerns no single run.
    """

    def __init__(
        self,
        cluster: Cluster,
        outputs: Path,
        words: Callable[[Session], Sequence[str]],
        is_done: Callable[[Finding], bool],
        watcher: Watcher,
        stop: Stop,
        say: Callable[[str], None],
    ) -> None:
        self._cluster, self._outputs, self._words = cluster, outputs.resolve(), words
        self._is_done, self._watcher, self._stop, self._say = is_done, watcher, stop, say
        self._found: dict[str, Finding] = {}
        self._jobs: dict[str, _Placed] = {}
        self._by_name: dict[str, Planned] = {}
        self._said: set[str] = set()

    def drive(self, runs: Sequence[Planned]) -> list[Finding]:
        """Run what is not complete, as jobs; return when all have ended.

        Returns:
            The state of each run that it came to; after a stop the others are left out.

        Raises:
            InputError: the cluster refuses a job.
        """
        try:
            self.place(runs)
            while self._jobs and not self._stop:
                self._look()
                if self._jobs:
                    self._stop.wait(self._cluster.interval)
            if self._stop:
                self._end_all()
        finally:
            self._cluster.close()
        return [self._found[run.name] for run in runs if run.name in self._found]

    def place(self, runs: Sequence[Planned]) -> list[str]:
        """Submit what is not complete and not at work already; return the names of all jobs."""
        left = self._unfinished(runs)
        adopted = self._cluster.adopt({run.name for run in left}) if left else {}
        if adopted:
            self._say(f'at work already in {self._cluster.name}: {_some(adopted)}')
        self._jobs.update({name: _Placed(work, work.extent()) for name, work in adopted.items()})
        theirs = {name for work in adopted.values() for name in work.runs}
        new = [run for run in left if run.name not in theirs]
        self._submit(works_of(new, self._outputs, self._words, self._say))
        return list(self._jobs)

    def _unfinished(self, runs: Sequence[Planned]) -> list[Planned]:
        self._by_name = {run.name: run for run in runs}
        return [run for run in runs if not self._is_finished(run)]

    def _is_finished(self, run: Planned) -> bool:
        finding = examine(run, self._outputs / run.name)
        if self._is_done(finding):
            self._tell(finding, None)
        return run.name in self._found

    def _submit(self, works: Sequence[Work], fruitless: Mapping[str, int] | None = None) -> None:
        if not works:
            return
        placed: dict[str, _Placed] = {}
        extents = {work.session: work.extent() for work in works}  # before any of them begins
        for name, work in self._cluster.submit(works).items():
            placed[name] = _Placed(work, extents[work.session], (fruitless or {}).get(work.session, 0))
        self._jobs.update(placed)
        runs, jobs = _several(sum(len(work.runs) for work in works), 'run'), _several(len(works), 'job')
        self._say(f'submitted to {self._cluster.name}: {runs} in {jobs}, {_some(placed)}')

    def _submit_again(self, placed: Sequence[_Placed]) -> None:
        try:
            self._submit([one.work for one in placed], {one.work.session: one.fruitless for one in placed})
        except (InputError, OSError) as error:  # refused, or nothing can be written any more
            for run in (run for one in placed for run in self._left(one.work)):
                finding = examine(run, self._outputs / run.name, holding=True)
                self._tell(replace(finding, detail=f'not continued, {error}; {finding.detail}'), None)

    def _look(self) -> None:
        """Take note of what has changed; submit again what the cluster has ended."""
        seen = self._cluster.look()
        self._say_why_they_wait(seen)
        ended = {name: one for name, one in seen.items() if one.phase is Phase.ENDED}
        for name, one in seen.items():
            if one.phase is Phase.RUNNING and name in self._jobs:
                self._note_running(name, one)
        again = [
            placed
            for name, one in ended.items()
            if name in self._jobs and (placed := self._end(name, self._jobs.pop(name), one))
        ]
        if not self._stop:
            self._submit_again(again)
        working: list[Any] = [one for placed in self._jobs.values() for one in self._at_work(placed)]
        self._watcher.working(working)

    def _say_why_they_wait(self, seen: Mapping[str, Seen]) -> None:
        for one in seen.values():
            if one.phase is Phase.WAITING and one.says and one.says not in self._said:
                self._said.add(one.says)
                self._say(one.says)

    def _note_running(self, name: str, seen: Seen) -> None:
        placed = self._jobs[name]
        where = f'{self._cluster.name} job {name}' + (f' on {seen.node}' if seen.node else '')
        if placed.started is None:
            placed.started = time.time()
            self._say(f'{where}: begins with {_several(len(placed.work.runs), "run")}')
        for run in self._left(placed.work):
            if holder_of(self._outputs / run.name) is not None:
                if run.name not in placed.held:
                    placed.held[run.name] = time.time()
                    self._watcher.started(run, where)
            elif run.name in placed.held:  # it was at work, and is not any more
                seconds = time.time() - placed.held.pop(run.name)
                finding = examine(run, self._outputs / run.name)
                if self._is_done(finding):
                    self._tell(finding, seconds)

    def _at_work(self, placed: _Placed) -> list[AtWork]:
        held = placed.held
        left = [run for run in self._left(placed.work) if run.name in held]
        return [AtWork(run, self._outputs / run.name, held[run.name]) for run in left]

    def _left(self, work: Work) -> list[Planned]:
        """Return the runs of a job whose end is not known, as far as this command was asked for them."""
        names = [name for name in work.runs if name not in self._found and name in self._by_name]
        return [self._by_name[name] for name in names]

    def _end(self, name: str, placed: _Placed, seen: Seen) -> _Placed | None:
        """Take note of the end of a job; return it if it is to be continued by another one."""
        findings = [examine(run, self._outputs / run.name, holding=True) for run in self._left(placed.work)]
        left = [finding for finding in findings if not self._is_done(finding)]
        goes_on = self._goes_on(placed, seen) if left and seen.may_go_on and not self._stop else None
        if goes_on is not None:
            self._say(f'{self._cluster.name} ended job {name} ({seen.state}): its session is continued')
        for finding in findings:
            seconds = time.time() - placed.held.get(finding.name, placed.started or placed.placed)
            if self._is_done(finding):
                self._tell(finding, seconds)
            elif goes_on is None:
                self._tell(self._explained(finding, name, seen, placed), seconds)
        return goes_on

    def _goes_on(self, placed: _Placed, seen: Seen) -> _Placed | None:
        extent = placed.work.extent()
        fruitless = placed.fruitless + 1 if extent == placed.extent else 0
        return None if fruitless >= FRUITLESS else _Placed(placed.work, extent, fruitless)

    def _explained(self, finding: Finding, name: str, seen: Seen, placed: _Placed) -> Finding:
        """Return a finding with what is known of the job that left it so."""
        if self._stop:
            return finding
        if finding.state is State.FAILED and finding.logs and seen.code is not None:
            return finding  # OpenCompass ended with an error, of which its own logs say more
        how = (
            f'{self._cluster.name} ended job {name}: {seen.state}'
            if seen.code is None
            else (f'{self._cluster.name} job {name} ended with code {seen.code}')
        )
        if seen.may_go_on:
            how += f', {FRUITLESS} times in a row without anything new'
        parts = [how, seen.says, f'its output: {seen.log}', finding.detail]
        log = Excerpt(seen.log, tuple(last_lines(seen.log)[-LOG_LINES:]))
        return replace(
            finding,
            state=State.FAILED,
            detail='; '.join(part for part in parts if part),
            logs=(*finding.logs, *([log] if log.lines else [])),
        )

    def _tell(self, finding: Finding, seconds: float | None) -> None:
        self._found[finding.name] = finding
        self._watcher.ended(finding, seconds)

    def _end_all(self) -> None:
        """Have all jobs stop, and wait for that: a second Ctrl-C cancels them, a third one does not wait."""
        if self._jobs:
            self._say(
                f'stopping {_several(len(self._jobs), "job")} of {self._cluster.name}; Ctrl-C again kills'
            )
        for hurry, patience in ((self._stop.count > 1, STOPPING), (True, CANCELLING)):
            if self._jobs:
                self._cluster.cancel(hurry)
                self._wait_for_ends(patience, self._stop.count)
        if self._jobs:
            self._say(f'{self._cluster.name} has not ended these jobs yet: {_some(self._jobs)}')

    def _wait_for_ends(self, patience: float, stops: int) -> None:
        deadline = time.monotonic() + patience
        while self._jobs and time.monotonic() < deadline and self._stop.count <= stops:
            for name, seen in self._cluster.look().items():
                if name in self._jobs and seen.phase is Phase.ENDED:
                    placed = self._jobs.pop(name)
                    if placed.started is not None or seen.node is not None:  # others never began
                        self._end(name, placed, seen)
            if self._jobs:
                time.sleep(
                    min(1.0, self._cluster.interval)
                )  # the event of the stop is set, it would not wait


def works_of(
    runs: Sequence[Planned],
    outputs: Path,
    words: Callable[[Session], Sequence[str]],
    say: Callable[[str], None],
) -> list[Work]:
    """Return the jobs of runs: a session each, in the order of their first runs.

    Args:
        outputs: the folder of the work directories, absolute.
        words: what follows `gpassk` for a session.
        say: is told of sessions that get no GPU because nothing is known of their models.
    """
    here, sessions = Path.cwd(), sessions_of(runs)
    if unknown := [session.name for session in sessions if not session.is_known]:
        say(
            f'no GPU is asked for where the config computes its models: {_some(unknown)}; if they need GPUs, '
            'write models = [dict(…)] with run_cfg = dict(num_gpus=…) into the config'
        )
    return [
        Work(
            session=session.name,
            runs=tuple(run.name for run in session.runs),
            work_dirs=tuple(str(outputs / run.name) for run in session.runs),
            words=tuple(words(session)),
            here=str(here),
            gpus=max(session.need.gpus, judge_need(session.runs)),
            stores=tuple(sorted(_stores(session, here))),
        )
        for session in sessions
    ]


def _stores(session: Session, here: Path) -> set[str]:
    """Return where verdicts of a session are kept, beside its work directories."""
    named = {os.environ.get(STORE_VARIABLE, '')}
    named |= {store for run in session.runs if run.config is not None for store in stores_in(run.config)}
    return {str(here / Path(store).expanduser()) for store in named if store}


def _several(number: int, what: str) -> str:
    return f'{number} {what}{"" if number == 1 else "s"}'


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ', '.join(listed[:5]) + (f' and {len(listed) - 5} more' if len(listed) > 5 else '')
