"""The `opencompass` command of a run, and its options."""

from __future__ import annotations

import shutil
import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from ..errors import InputError, MissingExtraError
from .directory import check_unquoted

MODES = ('all', 'infer', 'eval')

REFUSED = {
    ('-w', '--work-dir'): 'each run has its own work directory; give -w before the --',
    ('-r', '--reuse'): 'what there is to resume is found for each run',
    ('-a', '--accelerator'): 'it runs another engine than the names say; write engine = … in the template',
    ('--models',): 'the configs say what to run',
    ('--datasets',): 'the configs say what to run',
    ('--hf-path',): 'the configs say what to run',
    ('--custom-dataset-path',): 'the configs say what to run',
    ('--dry-run',): 'it would leave empty work directories; gpassk check says what is missing',
}
"""Options of OpenCompass that cannot be passed on, and why."""


class Options(NamedTuple):
    """How OpenCompass is to run."""

    passed: tuple[str, ...] = ()
    """As given, without the number of workers."""
    workers: int | None = None
    """--max-num-workers; None: OpenCompass's default."""
    mode: str = 'all'


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f'options for opencompass: {message}')


def read_options(options: Sequence[str], slurm: str | None = None) -> Options:
    """Options for OpenCompass, checked as far as they matter here.

    >>> read_options(['--max-num-workers', '8', '--retry', '0'], slurm='debug')
    Options(passed=('--retry', '0', '--slurm', '-p', 'debug'), workers=8, mode='all')

    Raises:
        InputError: one that cannot be passed on, see `REFUSED`, or a value that OpenCompass does not take.
    """
    parser = _Parser(add_help=False, argument_default=SUPPRESS)
    parser.add_argument('--max-num-workers', type=int)
    parser.add_argument('-m', '--mode', choices=[*MODES, 'viz'])
    for names in REFUSED:
        parser.add_argument(*names, nargs='*', dest=names[-1])
    known, passed = parser.parse_known_args(list(options))
    found = vars(known)
    for names, reason in REFUSED.items():
        if names[-1] in found:
            raise InputError(f'{" / ".join(names)} is not passed on to opencompass: {reason}')
    mode = found.get('mode', 'all')
    if mode not in MODES:
        raise InputError(f'--mode {mode} leaves no result; allowed are {", ".join(MODES)}')
    workers = found.get('max_num_workers')
    if workers is not None and workers < 1:
        raise InputError(f'--max-num-workers {workers}: expected at least 1')
    cluster = [] if slurm is None else ['--slurm', '-p', slurm]
    return Options((*passed, *(['-m', mode] if mode != 'all' else []), *cluster), workers, mode)


def program() -> str:
    """The `opencompass` of this Python's environment, else the first one of $PATH.

    Raises:
        MissingExtraError: there is none.
        InputError: its path cannot stand unquoted on a command line, as the tasks need.
    """
    beside = Path(sys.executable).with_name('opencompass')
    found = str(beside) if beside.exists() else shutil.which('opencompass')
    if found is None:
        raise MissingExtraError('opencompass', 'opencompass')
    check_unquoted(found, "opencompass's own path", 'install it in an environment elsewhere')
    return found


def command(
    config: Path, work_dir: Path, options: Options, workers: int | None, time: str | None
) -> list[str]:
    """`opencompass <config> -w <work_dir> …`, resuming `time` if it is given."""
    sharding = [] if workers is None else ['--max-num-workers', str(workers)]
    resuming = [] if time is None else ['-r', time]
    return [program(), str(config), '-w', str(work_dir), *options.passed, *sharding, *resuming]
