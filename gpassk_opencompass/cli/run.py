"""`gpassk run`: OpenCompass for every config that has no complete result."""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..runs.command import Options, read_options
from ..runs.driver import Driver
from ..runs.examine import examine
from ..runs.gpus import gpus_for
from ..runs.plan import Plan, Planned, planned_runs
from ..runs.processes import Stop
from ..runs.state import Finding
from ..runs.work_dir import NOTES
from ..serving import SERVERS, run_in_progress
from . import INTERRUPTED
from .options import path, positive
from .run_progress import RunProgress
from .shown import terminal_width
from .states import states_table


@dataclass(frozen=True)
class RunRequest:
    """Which configs to run, where, how many at a time, and what is passed on to OpenCompass."""

    configs: Sequence[Path]
    outputs: Path
    jobs: int | None
    gpus: str | None
    passed_on: Sequence[str]

    def command(self) -> str:
        """Return the command that asks for this again, for a shell."""
        words = ['gpassk', 'run', *map(str, self.configs), '-w', str(self.outputs)]
        words += ['--jobs', str(self.jobs)] if self.jobs else []
        words += ['--gpus', self.gpus] if self.gpus is not None else []
        words += ['--', *self.passed_on] if self.passed_on else []
        return shlex.join(words)


def add_arguments(parser: ArgumentParser) -> None:
    """Add what to run, where, and how many at a time."""
    parser.usage = f'{parser.prog} CONFIG [CONFIG …] [-w OUTPUTS] [options] [-- OPTIONS OF OPENCOMPASS]'
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
        metavar='N',
        help='opencompass commands at a time (default: as many as fit on the GPUs, and 1 that needs none)',
    )
    parser.add_argument(
        '--gpus',
        metavar='IDS',
        help='the GPUs that the runs share, such as 0,1,2,3; also GPU-… and MIG-… (default: those of '
        'CUDA_VISIBLE_DEVICES, of the allocation, or all)',
    )
    parser.add_argument('--dry-run', action='store_true', help='say what would be run, and start nothing')


def run(arguments: Namespace) -> int:
    """Run OpenCompass for every config that has no complete result; return the exit code."""
    request = RunRequest(
        configs=arguments.configs,
        outputs=arguments.work_dir,
        jobs=arguments.jobs,
        gpus=arguments.gpus,
        passed_on=arguments.rest,
    )
    options = read_options(request.passed_on)
    plan = planned_runs(request.configs)
    _print_left_out(plan)
    if arguments.dry_run:
        return _dry_run(request, plan)
    with Stop() as stop, RunProgress(plan.runs) as progress:
        findings = _driven_here(request, options, plan.runs, progress, stop)
    progress.sum_up(findings)
    if stop:
        _print_stopped(request, len(plan.runs) - len(findings))
        return INTERRUPTED
    return 0 if all(map(options.is_done, findings)) else 1


def _dry_run(request: RunRequest, plan: Plan) -> int:
    """Say what would be run; the exit code is 0."""
    findings = [examine(run, request.outputs.resolve() / run.name) for run in plan.runs]
    width = terminal_width() if sys.stdout.isatty() else None
    print(states_table(findings).to_terminal(width=width))
    print('\ndry run: nothing was started')
    return 0


def _driven_here(
    request: RunRequest,
    options: Options,
    runs: Sequence[Planned],
    progress: RunProgress,
    stop: Stop,
) -> list[Finding]:
    """Run what is not complete on this machine; return the state of each run that it came to."""
    gpus = gpus_for(options, request.gpus, os.environ)
    with run_in_progress(request.outputs / NOTES / SERVERS):
        return Driver(request.outputs, options, progress, stop, gpus).drive(runs, request.jobs)


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
