"""`gpassk run`: OpenCompass for every config that has no complete result."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..runs.command import read_options
from ..runs.driver import Driver, Job, step_of
from ..runs.plan import Plan, Planned, planned_runs
from ..runs.processes import Stop
from ..runs.state import Finding, State
from ..unseen import printable
from . import INTERRUPTED
from .options import path, positive
from .run_clusters import (
    add_cluster_arguments,
    check_cluster_arguments,
    cluster_driver,
    cluster_words,
    detached,
    emit,
)
from .states import log_lines, states_table, summary

LOG_LINES = 20


@dataclass(frozen=True)
class RunRequest:
    """Which configs to run, where, how many at a time, and what is passed on to OpenCompass."""

    configs: Sequence[Path]
    outputs: Path
    jobs: int
    cluster: Sequence[str]
    """The options that say which cluster does it; none: this machine."""
    passed_on: Sequence[str]

    def command(self) -> str:
        """Return the command that asks for this again, for a shell."""
        return shlex.join(['gpassk', *self.words()])

    def words(self) -> list[str]:
        """Return what follows `gpassk` to ask for this again."""
        words = ['run', *map(str, self.configs), '-w', str(self.outputs)]
        words += ['--jobs', str(self.jobs)] if self.jobs > 1 else []
        words += self.cluster
        words += ['--', *self.passed_on] if self.passed_on else []
        return words

    def here(self, configs: Sequence[Path]) -> RunRequest:
        """Return the same for some of the configs, on the machine where it is asked for."""
        return replace(self, configs=configs, outputs=self.outputs.resolve(), jobs=1, cluster=())


def add_arguments(parser: ArgumentParser) -> None:
    """Add what to run, where, and how many at a time."""
    parser.usage = f'{parser.prog} CONFIG [CONFIG …] [-w OUTPUTS] [--jobs N] [--slurm PARTITION] [-- OPTIONS]'
    parser.epilog = (
        'What follows -- is passed on to every opencompass command, e.g. -- --max-num-workers 8. A run that '
        'goes on keeps the number of workers of its start. Exit code: 0 if all is complete, 1 if not, 130 '
        'after Ctrl-C, which leaves everything resumable.'
    )
    parser.add_argument(
        'configs', type=path, nargs='+', metavar='CONFIG', help='a config, or a folder of configs'
    )
    parser.add_argument(
        '-w',
        '--work-dir',
        type=path,
        default=Path('outputs'),
        metavar='OUTPUTS',
        help='each config gets the work directory OUTPUTS/<its name>; default: outputs',
    )
    parser.add_argument(
        '--jobs',
        type=positive,
        default=1,
        metavar='N',
        help='opencompass commands at a time; on one machine with GPUs each of them takes all GPUs for its '
        'own, so more than 1 is for clusters and APIs (default: 1)',
    )
    add_cluster_arguments(parser)


def run(arguments: Namespace) -> int:
    """Run OpenCompass for every config that has no complete result; return the exit code."""
    request = RunRequest(
        configs=arguments.configs,
        outputs=arguments.work_dir,
        jobs=arguments.jobs,
        cluster=cluster_words(arguments),
        passed_on=arguments.rest,
    )
    check_cluster_arguments(arguments)
    options = read_options(request.passed_on)
    plan = planned_runs(request.configs)
    _print_left_out(plan)
    screen = Screen(plan.runs)
    with Stop() as stop:
        driver = Driver(request.outputs, options, screen, stop)
        if arguments.emit:
            return emit(arguments, request, plan.runs, driver.is_done)
        cluster = cluster_driver(arguments, request, screen, stop, driver.is_done)
        if cluster is not None and arguments.detach:
            return detached(cluster, plan.runs)
        findings = driver.drive(plan.runs, request.jobs) if cluster is None else cluster.drive(plan.runs)
    print(f'\n{states_table(findings)}\n\n{summary(findings)}', flush=True)
    if stop:
        _print_stopped(request, len(plan.runs) - len(findings))
        return INTERRUPTED
    return 0 if all(map(driver.is_done, findings)) else 1


class Screen:
    """Says on standard output what happens: a line when a run starts and when it ends.

    On a terminal, one more line, rewritten, says what is at work.
    """

    def __init__(self, runs: Sequence[Planned]) -> None:
        self._labels = {
            run.name: f'[{number}/{len(runs)}] {printable(run.name)}' for number, run in enumerate(runs, 1)
        }
        self._terminal = sys.stdout.isatty()
        self._drawn = 0.0

    def started(self, run: Planned, what: str) -> None:
        """Say that a command was started."""
        self._say(f'{self._labels[run.name]}: {what}')

    def ended(self, finding: Finding, seconds: float | None) -> None:
        """Say how a run ended, or that it was not begun."""
        taken = '' if seconds is None else f', {_duration(seconds)}'
        detail = f': {printable(finding.detail, 1000)}' if finding.detail else ''
        already = 'already ' if seconds is None and finding.state is State.COMPLETE else ''
        self._say(f'{self._labels[finding.name]}: {already}{finding.state.value}{taken}{detail}')
        if finding.state is State.FAILED and seconds is not None:
            print(*log_lines(finding, LOG_LINES), sep='\n', file=sys.stderr, flush=True)

    def working(self, jobs: Sequence[Job]) -> None:
        """Draw the line of the terminal, once a second."""
        if not self._terminal or time.monotonic() - self._drawn < 1:
            return
        self._drawn = time.monotonic()
        steps = [
            f'{self._labels[job.run.name]}: {step_of(job.work_dir, job.started)}, '
            f'{_duration(time.time() - job.started)}'
            for job in jobs
        ]
        width = shutil.get_terminal_size().columns - 1
        print(f'\r\033[K{printable(" · ".join(steps), width)}', end='', flush=True)

    def _say(self, line: str) -> None:
        print(f'\r\033[K{line}' if self._terminal else line, flush=True)


def _duration(seconds: float) -> str:
    """Return a time in words.

    >>> _duration(42.4), _duration(185), _duration(7500)
    ('42 s', '3:05 min', '2:05 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f'{whole} s'
    return (
        f'{whole // 60}:{whole % 60:02} min' if whole < 3600 else f'{whole // 3600}:{whole % 3600 // 60:02} h'
    )


def _print_left_out(plan: Plan) -> None:
    if plan.left_out:
        print(
            f'left out, as their template no longer gives them: {len(plan.left_out)} configs, such as '
            f'{plan.left_out[0]}; name them to run them, or remove them with gpassk expand --prune',
            file=sys.stderr,
        )


def _print_stopped(request: RunRequest, left: int) -> None:
    rest = f', with {left} runs not begun' if left else ''
    print(f'stopped{rest}. Nothing is lost; to go on:\n  {request.command()}', file=sys.stderr)
