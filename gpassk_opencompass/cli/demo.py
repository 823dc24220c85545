"""`gpassk demo`: template → configs → OpenCompass → table → report, with a model that comes along."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

from ..errors import InputError, MissingExtraError
from ..record import read
from ..report.summary import results_table
from ..runs.examine import examine
from ..runs.plan import planned_runs
from ..runs.work_dir import NOTES
from ..sweep.engines import shipped_templates
from ..sweep.folder import MANIFEST
from ..sweep.template import expand
from . import main as gpassk
from .options import path

CONFIGS, TABLE, REPORT = 'configs', 'table.csv', 'report'
"""What stands in the folder beside a work directory for each config."""

OF_THE_REPORT = ('jinja2', 'matplotlib')
"""Packages without which a report has tables alone."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add where to write."""
    parser.epilog = (
        'Takes about a minute on two cores, without a GPU or a network. The same line again goes on with '
        'what is not complete. Nothing is removed.'
    )
    folder, where = 'a folder of its own (default: %(default)s)', Path('outputs/demo')
    parser.add_argument('-w', '--work-dir', type=path, default=where, metavar='FOLDER', help=folder)


def run(arguments: Namespace) -> int:
    """Run all steps; return the exit code of the first one that fails, else 0.

    Raises:
        MissingExtraError: OpenCompass is not installed.
        InputError: the folder has files that are not of a demo.
    """
    if find_spec('opencompass') is None:
        raise MissingExtraError('opencompass', 'opencompass')
    folder: Path = arguments.work_dir
    template = shipped_templates()['demo']
    refuse_others(folder, expand(template).configs)
    started = time.monotonic()
    # Matrices of this size gain nothing from threads, which wait for one another on a busy machine.
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    configs = folder / CONFIGS
    code = step('expand', str(template), '--output_dir', str(configs))
    code = code or step('run', str(configs), '-w', str(folder))
    if code == 0:
        write_table(folder, time.monotonic() - started)
        code = write_report(folder)
    return code


def step(*arguments: str) -> int:
    """Show a `gpassk` command and do it; its exit code."""
    print(f'$ gpassk {" ".join(arguments)}', flush=True)
    return gpassk(arguments)


def refuse_others(folder: Path, configs: Collection[str]) -> None:
    """Refuse a folder with files that are not of an earlier demo, which may be somebody's.

    Args:
        configs: the names of the demo's configs.

    Raises:
        InputError: names the first such file.
    """
    runs = (file.removesuffix('.py') for file in configs)
    own = {folder / name for name in (CONFIGS, TABLE, REPORT, NOTES, *runs)}
    own |= {folder / CONFIGS / file for file in (*configs, MANIFEST)}
    there = [path for each in (folder, folder / CONFIGS) if each.is_dir() for path in each.iterdir()]
    if others := sorted(set(there) - own):
        raise InputError(f'{others[0]} is not of this demo: remove it, or name another folder with -w')


def write_table(folder: Path, seconds: float) -> None:
    """Print the results of a demo's runs as a table, write all metrics to a file."""
    files = [
        file
        for planned in planned_runs([folder / CONFIGS]).runs
        for file in examine(planned, folder / planned.name).results
    ]
    runs = sorted(map(read, files), key=lambda result: result.n)
    table = folder / TABLE
    table.write_text(results_table(runs, every_metric=True).to_csv(), encoding='utf-8')
    print(f'\n{results_table(runs).without("dataset").to_terminal()}\n')
    print(f'{seconds:.0f} s. Every metric: {table}; the runs: {folder}/<config>/\n')


def write_report(folder: Path) -> int:
    """Write a report of a demo's runs, without what needs packages that are missing; its exit code."""
    lacking = [package for package in OF_THE_REPORT if find_spec(package) is None]
    if lacking:
        print(f'no figures and no page: {MissingExtraError(lacking[0], "report")}', file=sys.stderr)
    how = ['--only', 'tables'] if lacking else ['--responses']
    return step('report', str(folder), '-o', str(folder / REPORT), *how)
