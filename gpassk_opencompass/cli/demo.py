"""`gpassk demo`: template → configs → OpenCompass → table → report, with a model that comes along."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path

from ..errors import InputError, MissingExtraError
from ..sweep.engines import shipped_templates
from ..text import csv_text, say, terminal, warn
from . import main as gpassk
from .options import add_work_dir, examples

CONFIGS, TABLE, REPORT = 'configs', 'table.csv', 'report'
"""What stands in the folder beside a work directory for each config."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add where to write."""
    add_work_dir(parser, 'a folder of its own', 'outputs/demo')
    parser.epilog = (
        'Takes about a minute on two cores, without a GPU or a network. The same line\n'
        'again goes on with what is not complete. Nothing is removed.\n\n'
    ) + examples(
        'gpassk demo',
        'gpassk demo -w /tmp/demo && open /tmp/demo/report/index.html',
        'gpassk score outputs/demo --k 2',
    )


def run(*, work_dir: Path) -> int:
    """Run all steps; return the exit code of the first one that fails, else 0."""
    if find_spec('opencompass') is None:
        raise MissingExtraError('opencompass', 'opencompass')
    from ..runs.work_dir import NOTES
    from ..sweep.expansion import expand
    from ..sweep.folder import MANIFEST

    template = shipped_templates()['demo']
    files = list(expand(template).configs)
    own = {work_dir / name for name in (CONFIGS, TABLE, REPORT, NOTES)}
    own |= {work_dir / file.removesuffix('.py') for file in files}
    own |= {work_dir / CONFIGS / file for file in (*files, MANIFEST)}
    there = [path for each in (work_dir, work_dir / CONFIGS) if each.is_dir() for path in each.iterdir()]
    if others := sorted(set(there) - own):
        raise InputError(f'{others[0]} is not of this demo: remove it, or name another folder with -w')
    started = time.monotonic()
    # Matrices of this size gain nothing from threads, which wait for one another on a busy machine.
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    configs = str(work_dir / CONFIGS)
    code = step('expand', str(template), '--output-dir', configs) or step('run', configs, '-w', str(work_dir))
    if code == 0:
        write_table(work_dir, time.monotonic() - started)
        drawn = find_spec('matplotlib') is not None
        if not drawn:
            warn(f'no figures and no page: {MissingExtraError("matplotlib", "report")}')
        how = ['--responses'] if drawn else ['--only', 'tables']
        code = step('report', str(work_dir), '-o', str(work_dir / REPORT), *how)
    return code


def step(*arguments: str) -> int:
    """Show a `gpassk` command and do it; its exit code."""
    say(f'$ gpassk {" ".join(arguments)}', flush=True)
    return gpassk(arguments)


def write_table(folder: Path, seconds: float) -> None:
    """Print the results of a demo's runs as a table, write all metrics to a file."""
    from ..record import read
    from ..report.tables import results_table
    from ..runs.plan import planned_runs
    from ..runs.state import examine

    files = [
        file
        for planned in planned_runs([folder / CONFIGS])
        for file in examine(planned, folder / planned.name).results
    ]
    runs = sorted(map(read, files), key=lambda result: result.n)
    table = folder / TABLE
    whole = results_table(runs, every_metric=True)
    table.write_text(csv_text([whole.columns, *whole.rows]), encoding='utf-8')
    shown = results_table(runs)
    shown.rows = [[row[0], *row[2:]] for row in shown.rows]
    shown.columns = [shown.columns[0], *shown.columns[2:]]
    say(f'\n{terminal(shown)}\n')
    say(f'{seconds:.0f} s. Every metric: {table}; the runs: {folder}/<config>/\n')
