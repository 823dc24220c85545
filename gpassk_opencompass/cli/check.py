"""`gpassk check`: in what state the runs of a sweep are."""

from __future__ import annotations

import re
import time
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..text import Table, one_line, say, show
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
    parser.add_argument('--follow', action='store_true', help='say what changes, until all are complete')
    add_json(parser)


def run(*, outputs: Path, configs: Sequence[Path], follow: bool) -> int:
    """Print the state of each run; 0 only if all are complete."""
    from ..runs.plan import planned_runs
    from ..runs.state import State, discovered_runs, examine, summary

    if configs and outputs.exists() and not outputs.is_dir():
        raise InputError(f'{outputs} is no folder; expected the work directories of the configs')
    said = ''
    while True:
        planned = [(one, outputs / one.name) for one in planned_runs(configs)] if configs else None
        findings = [examine(one, work_dir) for one, work_dir in planned or discovered_runs(outputs)]
        complete = all(finding.state is State.COMPLETE for finding in findings)
        if complete or not follow:
            break
        before, said = said, summary(findings)
        if said != before:
            say(said, flush=True)
        try:
            time.sleep(EVERY)
        except KeyboardInterrupt:
            break
    show(states_table(findings))
    for finding in findings:
        if finding.state in (State.DAMAGED, State.FAILED):
            say(f'\n{finding.name}: {finding.detail}', *log_lines(finding, 5))
    say(f'\n{summary(findings)}')
    return 0 if complete else 1


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
