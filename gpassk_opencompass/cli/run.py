"""`gpassk run`: OpenCompass for every config that has no complete result."""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..runs.command import read_options
from ..runs.driver import Driver
from ..runs.plan import Plan, planned_runs
from ..runs.processes import Stop
from . import INTERRUPTED
from .live import Screen
from .options import path, positive


@dataclass(frozen=True)
class RunRequest:
    """Which configs to run, where, how many at a time, and what is passed on to OpenCompass."""

    configs: Sequence[Path]
    outputs: Path
    jobs: int
    slurm: str | None
    passed_on: Sequence[str]

    def command(self) -> str:
        """Return the command that asks for this again, for a shell."""
        words = ['gpassk', 'run', *map(str, self.configs), '-w', str(self.outputs)]
        words += ['--jobs', str(self.jobs)] if self.jobs > 1 else []
        words += ['--slurm', self.slurm] if self.slurm else []
        words += ['--', *self.passed_on] if self.passed_on else []
        return shlex.join(words)


def add_arguments(parser: ArgumentParser) -> None:
    """Add what to run, where, and how many at a time."""
    parser.usage = (
        f'{parser.prog} CONFIG [CONFIG …] [-w OUTPUTS] [--jobs N] [--slurm PARTITION] [--json] [-- OPTIONS]'
    )
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
    parser.add_argument('--slurm', metavar='PARTITION', help='short for -- --slurm -p PARTITION')
    parser.add_argument(
        '--json', action='store_true', help='print what happens as JSON, one object a line, and nothing else'
    )


def run(arguments: Namespace) -> int:
    """Run OpenCompass for every config that has no complete result; return the exit code."""
    request = RunRequest(
        configs=arguments.configs,
        outputs=arguments.work_dir,
        jobs=arguments.jobs,
        slurm=arguments.slurm,
        passed_on=arguments.rest,
    )
    options = read_options(request.passed_on, request.slurm)
    plan = planned_runs(request.configs)
    _print_left_out(plan)
    with Stop() as stop, Screen(plan.runs, as_json=arguments.json) as screen:
        driver = Driver(request.outputs, options, screen, stop)
        findings = driver.drive(plan.runs, request.jobs)
    screen.sum_up(findings, stopped=bool(stop))
    if stop:
        _print_stopped(request, len(plan.runs) - len(findings))
        return INTERRUPTED
    return 0 if all(map(driver.is_done, findings)) else 1


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
