"""`gpassk watch`: how far the runs of a sweep are that another process, or another machine, runs."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import InputError
from ..runs.follow import INTERVAL, Follower, Sweep
from ..runs.plan import Planned, discovered_runs, further_runs, planned_runs
from ..runs.state import Finding, State
from .live import Screen
from .options import add_configs, path, requested

LOOK_FOR_MORE = 10.0
"""Seconds after which the folders are looked through for work directories that were made since."""


@dataclass(frozen=True)
class WatchRequest:
    """What to watch, and how to tell.

    Args:
        outputs: folders of work directories, or work directories.
        configs: of the runs that there should be; None: those that have a work directory.
        once: tell once, as it is now.
        json: as events.
    """

    outputs: Sequence[Path]
    configs: Sequence[Path] | None
    once: bool
    json: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Add what to watch, and how to tell."""
    parser.epilog = (
        'It reads files alone, so it works on any machine that sees them, and writes none. It ends when all '
        'runs have ended, or with Ctrl-C, which stops no run. Exit code: 0 if all is complete, 1 if not.'
    )
    parser.add_argument(
        'outputs',
        type=path,
        nargs='+',
        metavar='WORK_DIR',
        help='the folder of the work directories (-w of `gpassk run`), or one work directory',
    )
    add_configs(parser)
    parser.add_argument('--once', action='store_true', help='show once how far the runs are, and end')
    parser.add_argument(
        '--json', action='store_true', help='print what happens as JSON, one object a line, and nothing else'
    )


def run(arguments: Namespace) -> int:
    """Show how far the runs are; return 0 if all are complete."""
    request = requested(WatchRequest, arguments)
    runs = _runs(request)
    with (
        Follower() as follower,
        Screen([run for run, _ in runs], as_json=request.json, follower=follower) as screen,
    ):
        watched = Watched(request, runs, Sweep(runs, follower), screen)
        try:
            watched.once(follower) if request.once else watched.to_the_end()
        except KeyboardInterrupt:
            screen.keep()
            if request.json:
                screen.sum_up(watched.findings, stopped=True)
            raise
        if request.once:
            screen.show_once()
        else:
            screen.show()
            screen.keep()
        if request.json:
            screen.sum_up(watched.findings)
    return 0 if watched.all_complete else 1


class Watched:
    """The runs that are watched, and the screen that tells of them."""

    def __init__(
        self, request: WatchRequest, runs: Sequence[tuple[Planned, Path]], sweep: Sweep, screen: Screen
    ) -> None:
        self._request, self._sweep, self._screen = request, sweep, screen
        self._names = {run.name for run, _ in runs}
        self._work_dirs = {work_dir for _, work_dir in runs}
        self._looked_for_more = time.monotonic()

    @property
    def findings(self) -> list[Finding]:
        """Return the states of the runs at which nobody works."""
        return list(self._sweep.findings.values())

    @property
    def all_complete(self) -> bool:
        """Whether all runs are."""
        complete = [one for one in self.findings if one.state is State.COMPLETE]
        return len(complete) == len(self._names)

    def once(self, follower: Follower) -> None:
        """Look at all runs once."""
        while self._sweep.unknown:
            self._tell(quiet=True)
        while follower.look():
            pass
        follower.judge_all()
        follower.look()

    def to_the_end(self) -> None:
        """Look, and tell, until all is over: seen twice, as between two runs of a sweep nobody works."""
        over = 0
        while over < 2:
            self._tell()
            unknown = self._sweep.unknown
            looked_at = len(self._sweep.findings) + len(self._sweep.at_work)
            note = f'looked at {looked_at:,} runs so far' if unknown else ''
            self._screen.working(self._sweep.at_work.values(), note)
            over = over + 1 if self._sweep.is_over and not self._more() else 0
            time.sleep(INTERVAL / 20 if unknown else INTERVAL)
            if time.monotonic() - self._looked_for_more > LOOK_FOR_MORE:
                self._more()

    def _more(self) -> bool:
        """Take in runs that came to be since; return whether there are some."""
        self._looked_for_more = time.monotonic()
        if self._request.configs is not None:
            return False
        new = [one for folder in self._request.outputs for one in further_runs(folder, self._work_dirs)]
        told = told_apart(new, self._names)
        self._names |= {run.name for run, _ in told}
        self._work_dirs |= {work_dir for _, work_dir in told}
        self._sweep.add(told)
        self._screen.add(run for run, _ in told)
        return bool(told)

    def _tell(self, *, quiet: bool = False) -> None:
        """Look once, and tell what has changed; without a line for each run that had ended before."""
        for change in self._sweep.look():
            if change.finding is None:
                self._screen.started(change.seen.run, 'at work', quiet=quiet)
            elif change.finding.state is not State.MISSING or not change.first:
                self._screen.ended(change.finding, None, quiet=change.first)


def _runs(request: WatchRequest) -> list[tuple[Planned, Path]]:
    """Return the runs to watch, and where they are.

    Raises:
        InputError: there is no such folder, or nothing in it that could be watched.
    """
    if request.configs is not None:
        [outputs, *more] = request.outputs
        if more:
            raise InputError(f'--configs with {len(request.outputs)} folders: give the one of their outputs')
        if outputs.exists() and not outputs.is_dir():
            raise InputError(f'{outputs} is no folder; expected the work directories of the configs')
        return [(run, outputs / run.name) for run in planned_runs(request.configs).runs]
    runs: list[tuple[Planned, Path]] = []
    for folder in request.outputs:
        found = discovered_runs(folder)
        runs += found.runs
        if found.foreign:
            print(f'not a work directory: {", ".join(found.foreign)}', file=sys.stderr)
    return told_apart(runs, ())


def told_apart(runs: Sequence[tuple[Planned, Path]], known: Collection[str]) -> list[tuple[Planned, Path]]:
    """Return runs with the names of their folders where several of them have one name, or it is known."""
    counts = Counter([*(run.name for run, _ in runs), *known])
    return [
        (run if counts[run.name] == 1 else replace(run, name=f'{work_dir.parent}/{run.name}'), work_dir)
        for run, work_dir in runs
    ]
