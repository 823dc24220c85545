"""`gpassk watch`: how far the runs of a sweep are that another process, or another machine, runs."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import InputError
from ..runs.follow import INTERVAL, Follower, Sweep
from ..runs.plan import Planned, discovered_runs, planned_runs
from ..runs.state import State
from .live import Screen
from .options import Several, path, requested


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
    parser.add_argument(
        '--configs',
        type=path,
        action=Several,
        metavar='CONFIG',
        help='configs or folders of configs, as given to `gpassk run`; without them, runs that were never '
        'started are not known',
    )
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
        sweep = Sweep(runs, follower)
        try:
            _watch(sweep, screen, follower, once=request.once)
        except KeyboardInterrupt:
            screen.keep()
            if request.json:
                screen.sum_up(list(sweep.findings.values()), stopped=True)
            raise
        if request.once:
            screen.show_once()
        else:
            screen.show()
            screen.keep()
        findings = list(sweep.findings.values())
        if request.json:
            screen.sum_up(findings)
    return 0 if len(findings) == len(runs) and all(one.state is State.COMPLETE for one in findings) else 1


def _watch(sweep: Sweep, screen: Screen, follower: Follower, *, once: bool) -> None:
    """Look, and tell, until all is over."""
    while True:
        complete_look = not sweep.unknown
        _tell(sweep, screen, once=once)
        if once and not sweep.unknown:
            while follower.look():
                pass
            follower.judge_all()
            follower.look()
            return
        if once:
            continue
        note = f'looked at {len(sweep.findings) + len(sweep.at_work):,} runs so far' if sweep.unknown else ''
        screen.working(sweep.at_work.values(), note)
        if complete_look and sweep.is_over:
            return
        time.sleep(INTERVAL / 20 if sweep.unknown else INTERVAL)


def _tell(sweep: Sweep, screen: Screen, *, once: bool) -> None:
    """Look once, and tell what has changed; without a line for each run that had ended before."""
    for change in sweep.look():
        if change.finding is None:
            screen.started(change.seen.run, 'at work', quiet=once)
        elif change.finding.state is not State.MISSING or not change.first:
            screen.ended(change.finding, None, quiet=change.first)


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
    counts = Counter(run.name for run, _ in runs)
    return [
        (run if counts[run.name] == 1 else replace(run, name=f'{work_dir.parent}/{run.name}'), work_dir)
        for run, work_dir in runs
    ]
