"""The `opencompass` command of a run: its options, and the directory that it runs in."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from ..errors import InputError, MissingExtraError
from ..judges.store import STORE_VARIABLE
from .config_file import texts_in
from .work_dir import DIRECTORY, SIZES

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

PATH_VARIABLES = (STORE_VARIABLE, 'COMPASS_DATA_CACHE', 'HF_HOME', 'HF_HUB_CACHE', 'HF_DATASETS_CACHE')
"""Environment variables with one path, relative to where the user is."""

_OWN = frozenset({'tmp', '.cache'})
"""What OpenCompass writes where it runs."""


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
    """
    beside = Path(sys.executable).with_name('opencompass')
    found = str(beside) if beside.exists() else shutil.which('opencompass')
    if found is None:
        raise MissingExtraError('opencompass', 'opencompass')
    return found


def command(
    config: Path, work_dir: Path, options: Options, workers: int | None, time: str | None
) -> list[str]:
    """`opencompass <config> -w <work_dir> …`, resuming `time` if it is given."""
    sharding = [] if workers is None else ['--max-num-workers', str(workers)]
    resuming = [] if time is None else ['-r', time]
    return [program(), str(config), '-w', str(work_dir), *options.passed, *sharding, *resuming]


def prepare_directory(work_dir: Path, config: Path, here: Path) -> Path:
    """The directory that OpenCompass runs in: one for each run.

    OpenCompass writes `./tmp` and `./.cache` where it runs. There, two commands at once can read each
    other's half-written files, and sizes of data sets outlive the data. What the config names relative to
    `here`, where the user is, is linked into the directory.

    Raises:
        InputError: a relative path in the config that cannot be linked.
    """
    directory = work_dir / DIRECTORY
    directory.mkdir(parents=True, exist_ok=True)
    (directory / SIZES).unlink(missing_ok=True)
    for path in directory.iterdir():
        if path.is_symlink():
            path.unlink()
    for name in _relative_names(config, here):
        (directory / name).symlink_to(here / name)
    return directory


def environment(here: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables, with relative paths as seen from `here`."""
    paths = {name: str(here / variables[name]) for name in PATH_VARIABLES if variables.get(name)}
    if variables.get('PYTHONPATH'):
        entries = variables['PYTHONPATH'].split(os.pathsep)
        paths['PYTHONPATH'] = os.pathsep.join(str(here / entry) for entry in entries)
    return {**variables, **paths}


def _relative_names(config: Path, here: Path) -> set[str]:
    """The first parts of all paths in the config that exist relative to `here`."""
    names = set()
    for text in texts_in(config):
        first = _first_part(text)
        if first is None or not _exists(here / text):
            continue
        if first == '..' or first in _OWN:
            raise InputError(
                f'{config.name} names {text!r}, relative to {here}; opencompass runs in a directory of its '
                'own, where that is something else: write an absolute path'
            )
        names.add(first)
    return names


def _first_part(text: str) -> str | None:
    if not text or '\0' in text or len(text) > 4096 or text.startswith(('/', '~')):
        return None
    parts = Path(text).parts
    return parts[0] if parts else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a text that is no path: too long a name
        return False
