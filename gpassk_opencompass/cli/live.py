"""What `gpassk run` and `gpassk watch` show while a sweep is at work: a table, lines, or events."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress

from ..runs.follow import Follower
from ..runs.plan import Planned
from ..runs.state import Finding, State
from ..times import duration
from ..unseen import printable
from .board import LOG_LINES, AtWork, Board
from .events import Events
from .files import utf8_output
from .shown import terminal_width
from .states import Failures, failed_alike, log_lines, states_table, summary

REDRAWN, LINE, EVENT = 1.0, 60.0, 10.0
"""Seconds between two tables, two lines of the whole sweep, two events of one run."""

TABLE, LINES, EVENTS = 'table', 'lines', 'events'


class Screen:
    """Says on standard output what happens, as `runs.driver.Watcher`.

    A line when a run starts and when it ends; and beside them, on a terminal, a table of the runs at work
    that is redrawn once a second, elsewhere a line of the whole sweep once a minute. As JSON it is events
    alone. A context manager: at its end the table is gone.

    Args:
        runs: all that there are.
        as_json: events.
        follower: knows how far runs are; None: a new one.
    """

    def __init__(
        self, runs: Sequence[Planned], *, as_json: bool = False, follower: Follower | None = None
    ) -> None:
        self._mode = EVENTS if as_json else TABLE if draws_tables() else LINES
        self._follower = follower or Follower()
        self._board = Board([run.name for run in runs], self._follower)
        self._held = ExitStack()
        self._failed = Failures()
        self._drawn = -REDRAWN if self._mode == TABLE else time.monotonic()
        if as_json:
            self._events = Events(utf8_output())
        elif self._mode == TABLE:
            from .live_table import LiveTable

            self._table = LiveTable()

    def __enter__(self) -> Screen:
        self._held.enter_context(self._follower)
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()
        if self._mode == TABLE:
            with suppress(OSError):  # the terminal is gone
                self._table.clear()

    def add(self, runs: Iterable[Planned]) -> None:
        """Take more runs in, which came to be since."""
        self._board.add(run.name for run in runs)

    def started(self, run: Planned, what: str, *, quiet: bool = False) -> None:
        """Say that somebody works on a run; `what` says how; `quiet` as in `ended`."""
        self._board.begin(run.name)
        if self._mode == EVENTS:
            self._events.started(run.name, what)
        elif not quiet:
            self.say(f'{self._board.label(run.name)}: {what}')

    def ended(self, finding: Finding, seconds: float | None, *, quiet: bool = False) -> None:
        """Say how a run ended, or that it was not begun.

        Args:
            seconds: that its command took; None if there was none.
            quiet: without a line; events are always told.
        """
        seen = seconds is not None or self._board.is_at_work(finding.name)
        told = self._board.end(finding, shown=seen or self._mode == EVENTS)
        if self._mode == EVENTS:
            self._events.ended(finding, seconds, told)
        failed = finding.state is State.FAILED
        before = self._failed.add(finding) if failed else None
        if self._mode != EVENTS and not quiet:
            outcome = _outcome(finding, seconds, seen=seen, like=before)
            self.say(f'{self._board.label(finding.name)}: {outcome}')
        if failed and seen:
            self._show_logs(finding, whole=self._failed.count == 1)

    def _show_logs(self, finding: Finding, *, whole: bool) -> None:
        """Say where the logs of what failed lie, of the first run with their last lines."""
        lines = log_lines(finding, LOG_LINES) if whole else [f'--- {path}' for path, _ in finding.logs[:1]]
        print(*lines, sep='\n', end='\n' if lines else '', file=sys.stderr, flush=True)

    def working(self, jobs: Iterable[AtWork], note: str = '') -> None:
        """Say how far the runs at work are, when it is time to.

        Args:
            note: something to know of the table as a whole.
        """
        self._board.follow(jobs)
        every = {TABLE: REDRAWN, LINES: LINE, EVENTS: EVENT}[self._mode]
        if time.monotonic() - self._drawn >= every:
            self._drawn = time.monotonic()
            self.show(note)

    def show(self, note: str = '') -> None:
        """Say how far the runs at work are, now."""
        if self._mode == EVENTS:
            self._events.progress(self._board.at_work())
        elif self._mode == TABLE:
            self._table.draw(self._board, note)
        else:
            totals = self._board.totals()
            print(' · '.join([totals.line, *totals.speed, *([note] if note else [])]), flush=True)

    def show_once(self) -> None:
        """Print the table as it is now, with all runs at work, also where nothing can be drawn."""
        if self._mode == EVENTS:
            self.show()
            return
        from rich.console import Console

        from .live_table import render

        width = shutil.get_terminal_size((120, 24)).columns
        Console(file=sys.stdout, width=width, highlight=False).print(render(self._board, width))

    def say(self, line: str) -> None:
        """Print a line, above the table if there is one."""
        self._make_room()
        print(line, flush=True)

    def _make_room(self) -> None:
        if self._mode == TABLE:
            self._table.clear()
            self._drawn = -REDRAWN

    def sum_up(self, findings: Sequence[Finding], *, stopped: bool = False) -> None:
        """Say at the end in which state each run is.

        Args:
            stopped: the user did not wait for the others.
        """
        if self._mode == EVENTS:
            self._events.summary(len(self._board), findings, stopped=stopped)
        else:
            width = terminal_width() if sys.stdout.isatty() else None  # a log is searched
            states = states_table(findings).to_terminal(width=width)
            alike = ''.join(f'\n{line}' for line in failed_alike(findings))
            print(f'\n{states}\n\n{summary(findings)}{alike}', flush=True)

    def keep(self) -> None:
        """Leave the table as it is now drawn where it stands."""
        if self._mode == TABLE:
            self._table.keep()


def draws_tables() -> bool:
    """Whether standard output is a terminal that can draw something in the place of something else."""
    return sys.stdout.isatty() and os.environ.get('TERM', '').lower() not in ('', 'dumb', 'unknown')


def _outcome(finding: Finding, seconds: float | None, *, seen: bool, like: str | None) -> str:
    """Return how a run ended; `like` names one that failed for the same reason."""
    taken = '' if seconds is None else f', {duration(seconds)}'
    detail = f': {printable(finding.detail, 1000)}' if finding.detail else ''
    if like is not None:
        detail = f': for the same reason as {printable(like)}'
    already = 'already ' if not seen and finding.state is State.COMPLETE else ''
    return f'{already}{finding.state.value}{taken}{detail}'
