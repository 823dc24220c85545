"""`gpassk check`: in what state the runs of a sweep are."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError
from ..runs.examine import examine
from ..runs.plan import discovered_runs, planned_runs
from ..runs.state import Finding, State
from ..unseen import printable
from .options import Several, path
from .shown import add_table_options, show, shows_json
from .states import log_lines, states_table, summary

LOG_LINES = 5


def add_arguments(parser: ArgumentParser) -> None:
    """Add where the results are, and what there should be."""
    parser.add_argument('outputs', type=path, help='the folder of the work directories, or one of them')
    parser.add_argument(
        '--configs',
        type=path,
        action=Several,
        metavar='CONFIG',
        help='configs or folders of configs, as given to `gpassk run`; without them, runs that were never '
        'started are not known',
    )
    add_table_options(parser)


def run(arguments: Namespace) -> int:
    """Print the state of each run; 0 only if all are complete."""
    outputs: Path = arguments.outputs
    findings, notes = _found(outputs, arguments.configs)
    _print(findings)
    for note in notes:
        print(note, file=sys.stderr)
    return 0 if all(finding.state is State.COMPLETE for finding in findings) else 1


def _found(outputs: Path, configs: Sequence[Path] | None) -> tuple[list[Finding], list[str]]:
    """Return the findings, and what the reader should know beside them."""
    if configs is None:
        runs, foreign = discovered_runs(outputs)
        return [examine(run, work_dir) for run, work_dir in runs], _named('not a work directory', foreign)
    if outputs.exists() and not outputs.is_dir():
        raise InputError(f'{outputs} is no folder; expected the work directories of the configs')
    plan = planned_runs(configs)
    findings = [examine(run, run.work_dir(outputs)) for run in plan.runs]
    return findings, _named('left out, as the template no longer gives it', plan.left_out)


def _print(findings: Sequence[Finding]) -> None:
    show(states_table(findings))
    if shows_json():
        return  # it has the logs, too
    for finding in findings:
        if finding.state in (State.DAMAGED, State.FAILED):
            print(f'\n{printable(finding.name)}: {printable(finding.detail)}')
        if lines := log_lines(finding, LOG_LINES):
            print(f'\n{printable(finding.name)}:', *lines, sep='\n')
    print(f'\n{summary(findings)}')


def _named(what: str, names: Sequence[str]) -> list[str]:
    return [f'{what}: {", ".join(names)}'] if names else []
