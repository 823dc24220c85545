"""What `gpassk run` says while it is at work: what starts and ends, and on a terminal how far runs are."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..runs.drawn import DrawnSamples
from ..runs.driver import Job
from ..runs.plan import Planned
from ..runs.state import Finding, State
from ..times import duration
from ..unseen import printable
from .progress import draws_lines
from .shown import terminal_width
from .states import Failures, failed_alike, log_lines, states_table, summary

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LOG_LINES = 20
"""Lines that are shown of the log of the first run that failed."""

EVERY = 1.0
"""Seconds between two counts."""


class RunProgress:
    """Tells on standard output what happens, as `runs.driver.Watcher`.

    On a terminal a line a run at work stands below what was said, with its samples so far and the time that
    is left. A context manager: at its end these lines are gone.

    Args:
        runs: all that there are.
    """

    def __init__(self, runs: Sequence[Planned]) -> None:
        self._places = {run.name: place for place, run in enumerate(runs, 1)}
        self._failed = Failures()
        self._bars = _Bars(self._label) if draws_lines(sys.stdout) else None

    def __enter__(self) -> RunProgress:
        if self._bars:
            self._bars.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bars:
            self._bars.progress.stop()

    def started(self, run: Planned, what: str) -> None:
        """Say that a command was started for a run; `what` says how."""
        self._say(run.name, what)

    def ended(self, finding: Finding, seconds: float | None) -> None:
        """Say how a run ended, or that it was not begun: then `seconds` is None."""
        if self._bars:
            self._bars.remove(finding.name)
        failed = finding.state is State.FAILED
        before = self._failed.add(finding) if failed else None
        self._say(finding.name, _outcome(finding, seconds, like=before))
        if failed and seconds is not None:
            whole = log_lines(finding, LOG_LINES) if self._failed.count == 1 else []
            for line in whole or [f'--- {path}' for path, _ in finding.logs[:1]]:
                print(line, file=sys.stderr, flush=True)

    def working(self, jobs: Sequence[Job]) -> None:
        """Show how far the runs at work are, once a second."""
        if self._bars:
            self._bars.show(jobs)

    def sum_up(self, findings: Sequence[Finding]) -> None:
        """Say at the end in which state each run is."""
        width = terminal_width() if sys.stdout.isatty() else None  # a log is searched
        states = states_table(findings).to_terminal(width=width)
        alike = ''.join(f'\n{line}' for line in failed_alike(findings))
        print(f'\n{states}\n\n{summary(findings)}{alike}', flush=True)

    def _say(self, name: str, what: str) -> None:
        print(f'{self._label(name)}: {what}', flush=True)

    def _label(self, name: str) -> str:
        return f'[{self._places[name]}/{len(self._places)}] {printable(name)}'


class _Bars:
    """A line a run at work, as rich draws them; `label` names a run."""

    def __init__(self, label: Callable[[str], str]) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        name = TextColumn('{task.description}', markup=False, table_column=Column(ratio=1, no_wrap=True))
        columns = (name, BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn())
        self.progress: Progress = Progress(
            *columns,
            transient=True,
            expand=True,
            refresh_per_second=2,
            speed_estimate_period=600,  # seconds: a batch may take minutes
            redirect_stderr=sys.stderr.isatty(),
        )
        self._label = label
        self._runs: dict[str, tuple[DrawnSamples, TaskID]] = {}
        self._counted = -EVERY

    def show(self, jobs: Sequence[Job]) -> None:
        """Count the samples of the runs at work, if it is time to."""
        if time.monotonic() - self._counted < EVERY:
            return
        for job in jobs:
            drawn, task = self._runs.get(job.run.name) or self._add(job)
            samples, total = drawn.count()
            self.progress.update(task, completed=samples, total=total)
        self._counted = time.monotonic()

    def _add(self, job: Job) -> tuple[DrawnSamples, TaskID]:
        drawn = DrawnSamples(job.run, job.work_dir)
        samples, total = drawn.count()  # what was there before was not drawn in the time since
        task = self.progress.add_task(self._label(job.run.name), completed=samples, total=total)
        self._runs[job.run.name] = drawn, task
        return self._runs[job.run.name]

    def remove(self, name: str) -> None:
        """Take the line of a run away."""
        if name in self._runs:
            self.progress.remove_task(self._runs.pop(name)[1])


def _outcome(finding: Finding, seconds: float | None, *, like: str | None) -> str:
    """Return how a run ended; `like` names one that failed for the same reason."""
    taken = '' if seconds is None else f', {duration(seconds)}'
    detail = f': {printable(finding.detail, 1000)}' if finding.detail else ''
    if like is not None:
        detail = f': for the same reason as {printable(like)}'
    already = 'already ' if seconds is None and finding.state is State.COMPLETE else ''
    return f'{already}{finding.state.value}{taken}{detail}'
