"""What a sweep does, in one line, for who looks at it now and then."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import InputError
from ..runs.follow import Follower, Sweep
from ..runs.plan import Planned, discovered_runs, further_runs
from .board import Board
from .watch import LOOK_FOR_MORE, told_apart

PATIENCE = 2.0
"""Seconds that one look may take while many runs are not known yet."""


class SweepLine:
    """Follows the runs in folders that others start; a context manager.

    Args:
        folders: of work directories, or work directories; others are passed over.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._follower = Follower()
        self._sweep = Sweep((), self._follower)
        self._board = Board((), self._follower)
        self._names: set[str] = set()
        self._work_dirs: set[Path] = set()
        self._lock = threading.Lock()
        found: list[tuple[Planned, Path]] = []
        for folder in folders:
            with suppress(InputError):  # no work directory: there are results of others in it, or none yet
                found += discovered_runs(folder).runs
        self._add(found)

    def __enter__(self) -> SweepLine:
        self._follower.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._follower.__exit__(*error)

    def look(self) -> tuple[str, bool]:
        """Return what the sweep does, '' if nobody works on a run, and whether no more is to be expected."""
        with self._lock:
            self._look_for_more()
            until = time.monotonic() + PATIENCE
            self._look()
            while self._sweep.unknown and time.monotonic() < until:
                self._look()
            totals = self._board.totals()
            line = ' · '.join([totals.line, *totals.speed]) if self._sweep.at_work else ''
            return line, self._sweep.is_over

    def _look(self) -> None:
        for change in self._sweep.look():
            if change.finding is None:
                self._board.begin(change.seen.run.name)
            else:
                self._board.end(change.finding, shown=False)
        self._board.follow(self._sweep.at_work.values())

    def _look_for_more(self) -> None:
        if time.monotonic() - self._looked_for_more > LOOK_FOR_MORE:
            self._add([one for folder in self._folders for one in further_runs(folder, self._work_dirs)])

    def _add(self, found: Sequence[tuple[Planned, Path]]) -> None:
        told = told_apart(found, self._names)
        self._names |= {run.name for run, _ in told}
        self._work_dirs |= {work_dir for _, work_dir in told}
        self._sweep.add(told)
        self._board.add(run.name for run, _ in told)
        self._looked_for_more = time.monotonic()
