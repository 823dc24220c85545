"""`gpassk check`: in what state the runs of a sweep are."""

from __future__ import annotations

import re
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..text import Table, one_line, say, show, terminal, warn, width
from .options import Several, add_json, examples, path

if TYPE_CHECKING:
    from ..runs.state import Finding

EVERY = 5.0
"""Seconds between two looks of --follow."""

_LOG_LINES = 5


def add_arguments(parser: ArgumentParser) -> None:
    """Add where the results are, and what there should be."""
    parser.epilog = examples(
        'gpassk check outputs',
        'gpassk check outputs --configs opencompass_configs',
        'gpassk check outputs --follow',
    )
    parser.add_argument(
        'outputs', type=path, metavar='OUTPUTS', help='the folder of the work directories, or one of them'
    )
    parser.add_argument(
        '--configs',
        type=path,
        action=Several,
        metavar='CONFIG',
        help='as given to `gpassk run`; without them, runs that were never started are not known',
    )
    parser.add_argument('--follow', action='store_true', help='look again and again, until all are complete')
    add_json(parser)


def run(*, outputs: Path, configs: Sequence[Path] | None, follow: bool) -> int:
    """Print the state of each run; 0 only if all are complete."""
    from ..runs.state import State, summary

    findings, note = _examined(outputs, configs)
    if follow:
        _follow(outputs, configs, findings)
        findings, note = _examined(outputs, configs)
    show(states_table(findings))
    for finding in findings:
        if finding.state in (State.DAMAGED, State.FAILED):
            say(f'\n{finding.name}: {finding.detail}')
        if lines := log_lines(finding, _LOG_LINES):
            say(f'\n{finding.name}:', *lines)
    say(f'\n{summary(findings)}')
    if note:
        warn(note)
    return 0 if all(finding.state is State.COMPLETE for finding in findings) else 1


def _examined(outputs: Path, configs: Sequence[Path] | None) -> tuple[list[Finding], str]:
    """Return the state of each run, and what the reader should know beside."""
    from ..runs.state import discovered_runs, examine, planned_runs

    if configs is None:
        runs, foreign = discovered_runs(outputs)
        note = f'not a work directory: {", ".join(foreign)}' if foreign else ''
        return [examine(run, work_dir) for run, work_dir in runs], note
    if outputs.exists() and not outputs.is_dir():
        raise InputError(f'{outputs} is no folder; expected the work directories of the configs')
    plan = planned_runs(configs)
    left_out = ', '.join(plan.left_out)
    note = f'left out, as the template no longer gives it: {left_out}' if left_out else ''
    return [examine(run, outputs / run.name) for run in plan.runs], note


def _follow(outputs: Path, configs: Sequence[Path] | None, findings: list[Finding]) -> None:
    """Show the states again and again until all are complete; on a terminal in one place."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from ..runs.state import State, summary

    console = Console()
    try:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            while any(finding.state is not State.COMPLETE for finding in findings):
                text = f'{terminal(states_table(findings), width())}\n\n{summary(findings)}'
                if console.is_terminal:
                    live.update(Text(text), refresh=True)
                else:
                    say(summary(findings))
                time.sleep(EVERY)
                findings, _ = _examined(outputs, configs)
    except KeyboardInterrupt:
        pass


def states_table(findings: Sequence[Finding]) -> Table:
    """Return a table with a row a run, in the order given; programs get all that is known."""
    table = Table('runs', ['run', 'state', 'time', 'detail'], data=[])
    for finding in findings:
        detail = finding.detail.replace(f'{finding.work_dir}/', '')
        table.rows.append([finding.name, finding.state.value, finding.time, shortened(detail)])
        assert isinstance(table.data, list)
        table.data.append(
            {
                'run': finding.name,
                'state': finding.state.value,
                'time': finding.time,
                'detail': detail,
                'work_dir': str(finding.work_dir),
                'predictions': finding.predictions,
                'expected': finding.expected,
                'results': [str(path) for path in finding.results],
                'logs': [{'path': str(path), 'lines': list(lines)} for path, lines in finding.logs],
            }
        )
    return table


def shortened(detail: str) -> str:
    """Return a detail without the module of an exception and, if it is long, without its middle.

    Messages start with the fact and end in a way out.
    """
    text = one_line(re.sub(r'\b(?:\w+\.)+(?=[A-Z]\w*Error: )', '', detail, count=1))
    return text if len(text) <= 143 else f'{text[:90].rstrip()} … {text[-50:].lstrip()}'


def log_lines(finding: Finding, count: int) -> list[str]:
    """Return the last lines of the logs of what failed, each log under its path."""
    return [line[:400] for path, lines in finding.logs for line in (f'--- {path}', *lines[-count:])]
