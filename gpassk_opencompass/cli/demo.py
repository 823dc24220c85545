"""`gpassk demo`: template → configs → OpenCompass → table → report, with a model that comes along."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path

from ..errors import InputError, MissingExtraError
from ..sweep.engines import shipped_templates
from ..text import say, warn
from . import main as gpassk
from .options import add_work_dir, examples

CONFIGS, REPORT = 'configs', 'report'
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
    own = {work_dir / name for name in (CONFIGS, REPORT, NOTES)}
    own |= {work_dir / file.removesuffix('.py') for file in files}
    own |= {work_dir / CONFIGS / file for file in (*files, MANIFEST)}
    there = [path for each in (work_dir, work_dir / CONFIGS) if each.is_dir() for path in each.iterdir()]
    if others := sorted(set(there) - own):
        raise InputError(f'{others[0]} is not of this demo: remove it, or name another folder with -w')
    started = time.monotonic()
    # Matrices of this size gain nothing from threads, which wait for one another on a busy machine.
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    configs, drawn = str(work_dir / CONFIGS), find_spec('matplotlib') is not None
    how = ['--responses'] if drawn else ['--only', 'tables']
    steps = [
        ['expand', str(template), '--output-dir', configs],
        ['run', configs, '-w', str(work_dir)],
        ['report', str(work_dir), '-o', str(work_dir / REPORT), *how],
    ]
    for step in steps:
        say(f'$ gpassk {" ".join(step)}', flush=True)
        if code := gpassk(step):
            return code
    if not drawn:
        warn(f'no figures and no page: {MissingExtraError("matplotlib", "report")}')
    say(f'{time.monotonic() - started:.0f} s; the runs: {work_dir}/<config>, every metric in summary/*.csv')
    return 0
