"""`gpassk check`: in what state the runs of a sweep are."""

from __future__ import annotations

import re
import time
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..text import Table, one_line, say, show, terminal, width
from .options import add_json, add_several, examples, path

if TYPE_CHECKING:
    from ..runs.state import Finding

EVERY = 5.0  # seconds between two looks of --follow


def add_arguments(parser: ArgumentParser) -> None:
    """Add where the results are, and what there should be."""
    parser.epilog = examples(
        'gpassk check outputs',
        'gpassk check outputs --configs opencompass_configs',
        'gpassk check outputs --follow',
    )
    what = 'the folder of the work directories, or one of them'
    parser.add_argument('outputs', type=path, metavar='OUTPUTS', help=what)
    what = 'as given to `gpassk run`; without them, runs that were never started are not known'
    add_several(parser, '--configs', what, type=path, metavar='CONFIG')
    parser.add_argument('--follow', action='store_true', help='look again and again, until all are complete')
    add_json(parser)


def run(*, outputs: Path, configs: Sequence[Path], follow: bool) -> int:
    """Print the state of each run; 0 only if all are complete."""
    from rich.live import Live
    from rich.text import Text

    from ..runs.state import State, summary

    if configs and outputs.exists() and not outputs.is_dir():
        raise InputError(f'{outputs} is no folder; expected the work directories of the configs')
    findings = _examined(outputs, configs)
    if follow:
        with suppress(KeyboardInterrupt), Live(transient=True, auto_refresh=False) as live:
            while any(finding.state is not State.COMPLETE for finding in findings):
                if live.console.is_terminal:
                    text = f'{terminal(states_table(findings), width())}\n\n{summary(findings)}'
                    live.update(Text(text), refresh=True)
                else:
                    say(summary(findings), flush=True)
                time.sleep(EVERY)
                findings = _examined(outputs, configs)
    show(states_table(findings))
    for finding in findings:
        if finding.state in (State.DAMAGED, State.FAILED):
            say(f'\n{finding.name}: {finding.detail}', *log_lines(finding, 5))
    say(f'\n{summary(findings)}')
    return 0 if all(finding.state is State.COMPLETE for finding in findings) else 1


def _examined(outputs: Path, configs: Sequence[Path]) -> list[Finding]:
    from ..runs.plan import planned_runs
    from ..runs.state import discovered_runs, examine

    if not configs:
        return [examine(run, work_dir) for run, work_dir in discovered_runs(outputs)]
    return [examine(run, outputs / run.name) for run in planned_runs(configs)]


def states_table(findings: Sequence[Finding]) -> Table:
    """Return a table with a row a run, in the order given; programs get all that is known."""
    rows: list[Sequence[Any]] = []
    data: list[Mapping[str, Any]] = []
    for finding in findings:
        detail = finding.detail.replace(f'{finding.work_dir}/', '')
        brief = {'run': finding.name, 'state': finding.state.value, 'time': finding.time}
        rows.append([*brief.values(), _shortened(detail)])
        more = {
            'detail': detail,
            'work_dir': str(finding.work_dir),
            'predictions': finding.predictions,
            'expected': finding.expected,
            'results': [str(path) for path in finding.results],
            'logs': [{'path': str(path), 'lines': list(lines)} for path, lines in finding.logs],
        }
        data.append({**brief, **more})
    return Table('runs', ['run', 'state', 'time', 'detail'], rows, data=data)


def _shortened(detail: str) -> str:
    """Return a detail without the module of an exception, and only its beginning and its end, the way out."""
    text = one_line(re.sub(r'\b(?:\w+\.)+(?=[A-Z]\w*Error: )', '', detail, count=1))
    return text if len(text) <= 143 else f'{text[:90].rstrip()} … {text[-50:].lstrip()}'


def log_lines(finding: Finding, count: int) -> list[str]:
    """Return the last lines of the logs of what failed, each log under its path."""
    return [line[:400] for path, lines in finding.logs for line in (f'--- {path}', *lines[-count:])]
