"""`gpassk run`: OpenCompass for every config that has no complete result."""

from __future__ import annotations

import os
import re
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from ..errors import InputError
from ..marks import read_keep
from ..processes import Stop
from ..runs.driver import Driver, Watcher, usable_gpus
from ..runs.on_ray import run_on_ray
from ..runs.opencompass import read_options
from ..runs.plan import Planned, part_of, planned_runs
from ..runs.state import Finding, State, examine, summary
from ..runs.work_dir import DrawnSamples
from ..text import duration, say, show, warn
from . import INTERRUPTED
from .check import log_lines, states_table
from .options import add_work_dir, examples, path, positive


def part(text: str) -> tuple[int, int]:
    """Read which part of how many."""
    match = re.fullmatch(r'(\d+)/(\d+)', text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ArgumentTypeError(f'{text!r}: expected a part of all, 1/3, 2/3 or 3/3')
    return int(match[1]), int(match[2])


def add_arguments(parser: ArgumentParser) -> None:
    """Add what to run, where, and how many at a time."""
    parser.usage = f'{parser.prog} CONFIG [CONFIG …] [options] [-- OPTIONS OF OPENCOMPASS]'
    parser.epilog = examples(
        'gpassk run opencompass_configs -w outputs --gpus 0,1',
        'gpassk run opencompass_configs -- --max-num-workers 8',
        'gpassk run opencompass_configs --part 1/4      # on the first of four machines',
    )
    add = parser.add_argument
    add('configs', type=path, nargs='+', metavar='CONFIG', help='a config, or a folder of them')
    add_work_dir(parser, 'each config gets the work directory FOLDER/<its name>')
    what = 'such as 0,1,2,3, GPU-… or MIG-… (default: those that are visible, or all)'
    add('--gpus', metavar='IDS', help=what)
    what = 'models or runs at a time (default: as fit on the GPUs, or 1)'
    add('--jobs', type=positive, metavar='N', help=what)
    add('--part', type=part, metavar='I/N', help='the I-th of N parts; a model is in one of them')
    add('--ray', metavar='ADDRESS', help='share the work out over a Ray cluster, such as auto')
    what = 'go on where a machine that is gone was at work'
    add('--take-over', metavar='REASON', default='', help=what)
    what = 'samples stay though questions,references,settings have changed'
    add('--keep', metavar='WHAT', default='', help=what)
    add('--top-up', action='store_true', help='add samples to those of a server as it is now')
    add('--dry-run', action='store_true', help='say what would be done, and do nothing')


def run(
    *,
    configs: Sequence[Path],
    work_dir: Path,
    gpus: str | None,
    jobs: int | None,
    part: tuple[int, int] | None,
    ray: str | None,
    take_over: str,
    keep: str,
    top_up: bool,
    dry_run: bool,
    rest: Sequence[str],
) -> int:
    """Run OpenCompass for every config that has no complete result."""
    if work_dir.exists() and not work_dir.is_dir():
        raise InputError(f'-w {work_dir} is a file; give a folder')
    read_keep(keep.replace(',', ' ').split())
    options, runs = read_options(rest), planned_runs(configs)
    runs = part_of(runs, *part) if part else runs
    if dry_run:
        show(states_table([examine(one, work_dir.resolve() / one.name) for one in runs]))
        say('\ndry run: nothing was started')
        return 0
    if options.elsewhere and gpus is not None:
        raise InputError(f'--gpus {gpus!r}: it names GPUs of this machine, a cluster gives its own')
    variables = {'GPASSK_KEEP': keep} if keep else {}
    variables |= {'GPASSK_TOP_UP': '1'} if top_up else {}
    progress = RunProgress(runs)
    with Stop() as stop, progress.bars:
        usable = () if options.elsewhere or ray is not None else usable_gpus(gpus, os.environ)
        driver = Driver(work_dir, options, usable, progress, stop, variables, jobs, take_over)
        findings = run_on_ray(ray, runs, driver) if ray is not None else driver.drive(runs)
    say('')
    show(states_table(findings))
    say(f'\n{summary(findings)}')
    if not stop:
        return 0 if all(map(options.is_done, findings)) else 1
    left = len(runs) - len(findings)
    warn(f'stopped{f", with {left} runs not begun" if left else ""}. Nothing is lost: type it again to go on')
    return INTERRUPTED


class RunProgress(Watcher):
    """Tells what happens: a line for each start and end, on a terminal below them a line a run at work."""

    def __init__(self, runs: Sequence[Planned]) -> None:
        self._labels = {run.name: f'[{place}/{len(runs)}] {run.name}' for place, run in enumerate(runs, 1)}
        self._failed, self._counted = False, 0.0
        self._lines: dict[str, TaskID] = {}
        name = TextColumn('{task.description}', markup=False, table_column=Column(ratio=1, no_wrap=True))
        self.bars = Progress(
            *(name, BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn()),
            transient=True,
            expand=True,
            refresh_per_second=2,
            speed_estimate_period=600,  # seconds: a batch may take minutes
            redirect_stderr=sys.stderr.isatty(),
            disable=not sys.stdout.isatty() or os.environ.get('TERM', 'dumb') in ('dumb', 'unknown'),
        )

    def note(self, text: str, run: Planned | None = None) -> None:
        """Say what a server does, or that a command was started for a run."""
        say(text if run is None else f'{self._labels[run.name]}: {text}', flush=True)

    def ended(self, finding: Finding, seconds: float | None) -> None:
        """Say how a run ended, or that it was not begun: then `seconds` is None."""
        if finding.name in self._lines:
            self.bars.remove_task(self._lines.pop(finding.name))
        state = finding.state.value if seconds is None else f'{finding.state.value}, {duration(seconds)}'
        already = 'already ' if seconds is None and finding.state is State.COMPLETE else ''
        parts = [self._labels[finding.name], f'{already}{state}', finding.detail[:1000]]
        say(': '.join(filter(None, parts)), flush=True)
        if finding.state is State.FAILED and finding.logs:  # the first shows its log, others where it lies
            warn(*([f'--- {finding.logs[0].path}'] if self._failed else log_lines(finding, 20)))
            self._failed = True

    def working(self, drawn: Iterable[DrawnSamples]) -> None:
        """Show how far the runs at work are, once a second."""
        if self.bars.disable or time.monotonic() - self._counted < 1:
            return
        for samples in drawn:
            name, (count, total) = samples.run.name, samples.count()
            if name not in self._lines:  # what was there before was not drawn in the time since
                self._lines[name] = self.bars.add_task(self._labels[name], total=total, completed=count)
            self.bars.update(self._lines[name], completed=count, total=total)
        self._counted = time.monotonic()
