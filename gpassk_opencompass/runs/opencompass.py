"""The `opencompass` command of a run: what may be passed on to it, and how, where and with what it is
started."""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ..errors import InputError, MissingExtraError
from ..files import mapping
from ..judges.verdicts import STORE_VARIABLE
from ..sweep.folder import NO_LITERAL
from .state import DIRECTORY, NOTES, SIZES, Finding, Planned, State, dicts_of, evaluator_of

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

ELSEWHERE = {'--slurm', '--dlc'}
"""Options of OpenCompass with which its tasks run on other machines."""

_PATHS = (STORE_VARIABLE, 'COMPASS_DATA_CACHE', 'HF_HOME', 'HF_HUB_CACHE', 'HF_DATASETS_CACHE', 'PYTHONPATH')
"""Environment variables with paths, relative to where the user is."""


class Options(NamedTuple):
    """How OpenCompass is to run."""

    passed: tuple[str, ...] = ()
    """All options as given, without the number of workers and the mode."""
    workers: int | None = None
    """--max-num-workers; None: OpenCompass's default."""
    mode: str = 'all'
    """'all', 'infer' or 'eval'."""

    @property
    def elsewhere(self) -> bool:
        """Whether its tasks run on other machines."""
        return bool(ELSEWHERE & {*self.passed})

    def is_done(self, finding: Finding) -> bool:
        """Whether nothing is left to do in this mode."""
        return finding.state is State.COMPLETE or (self.mode == 'infer' and finding.sampled)


def read_options(options: Sequence[str]) -> Options:
    """Read options for OpenCompass, and check those that matter here.

    >>> read_options(['--max-num-workers', '8', '--retry', '0', '--slurm', '-p', 'debug'])
    Options(passed=('--retry', '0', '--slurm', '-p', 'debug'), workers=8, mode='all')

    Raises:
        InputError: one that cannot be passed on, see `REFUSED`, or a value that OpenCompass does not take.
    """

    class Parser(ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise InputError(f'options for opencompass: {message}')

    parser = Parser(add_help=False, argument_default=SUPPRESS)
    parser.add_argument('--max-num-workers', type=int)
    parser.add_argument('-m', '--mode', choices=['all', 'infer', 'eval', 'viz'])
    parser.add_argument('--slurm', action='store_true')
    parser.add_argument('--dlc', action='store_true')
    for names in REFUSED:
        parser.add_argument(*names, nargs='*', dest=names[-1])
    known, passed = parser.parse_known_args(options)
    found = vars(known)
    for names, reason in REFUSED.items():
        if names[-1] in found:
            raise InputError(f'{" / ".join(names)} is not passed on to opencompass: {reason}')
    mode, workers = found.get('mode', 'all'), found.get('max_num_workers')
    if mode == 'viz':
        raise InputError('--mode viz leaves no result; allowed are all, infer, eval')
    if workers is not None and workers < 1:
        raise InputError(f'--max-num-workers {workers}: expected at least 1')
    elsewhere = [f'--{name}' for name in ('slurm', 'dlc') if name in found]
    kept = [word for word in options if word in passed or word in elsewhere]
    return Options(tuple(kept), workers, mode)


def program() -> str:
    """Return the `opencompass` of this Python's environment, else the first one of $PATH.

    Raises:
        MissingExtraError: there is none.
        InputError: its path cannot stand unquoted on a command line, as the tasks need.
    """
    beside = Path(sys.executable).with_name('opencompass')
    found = str(beside) if beside.exists() else shutil.which('opencompass')
    if found is None:
        raise MissingExtraError('opencompass', 'opencompass')
    _check_unquoted(found, "opencompass's own path", 'install it in an environment elsewhere')
    return found


def runs_in_process(config: Mapping[str, Any] | None, options: Options, workers: int | None) -> bool:
    """Whether one process can do a whole run, by `--debug`: OpenCompass then starts none for its tasks.

    It is a config of one model that gives its values, has `GPassKEvaluator` alone and no runners or
    partitioners of its own; with several workers, and on other machines, tasks are processes.
    """
    if config is None or (workers or 1) > 1 or options.elsewhere or '--max-workers-per-gpu' in options.passed:
        return False
    evaluators = [str(evaluator_of(one).get('type')) for one in dicts_of(config, 'datasets')]
    models = dicts_of(config, 'models')
    return (
        len(models) == 1
        and mapping(models[0].get('run_cfg')).get('num_procs', 1) == 1
        and all(kind.rpartition('.')[2] == 'GPassKEvaluator' for kind in evaluators)
        and not any(config.get(stage) for stage in ('infer', 'eval'))
    )


def command(
    config: Path, work_dir: Path, options: Options, workers: int | None, time: str, in_process: bool
) -> list[str]:
    """Return the words of `opencompass <config> -w <work_dir> … -r <time>`."""
    words = [program(), str(config), '-w', str(work_dir), *options.passed]
    words += ['-m', options.mode] if options.mode != 'all' else []
    words += ['--debug'] if in_process and '--debug' not in options.passed else []
    words += [] if workers is None else ['--max-num-workers', str(workers)]
    return [*words, '-r', time]


def config_for(run: Planned, work_dir: Path, options: Options, workers: int | None, clients: int) -> Path:
    """Return the config for OpenCompass: a copy among the notes, whose evaluations stream predictions.

    A config that computes its values, or says itself how to evaluate, is as it is.

    Args:
        run: with a config.
        work_dir: its work directory.
        options, workers: of the command.
        clients: how many runs share the servers of its model: they need no GPU, and share what a server is
            asked at a time; 0: its model is loaded or started by itself.
    """
    values, config = run.values(), run.config or Path()
    if values is None or values.get('eval') or options.elsewhere:
        return config
    task = {'type': 'gpassk_opencompass.GPassKEvalTask'}
    runner = {'type': 'opencompass.runners.LocalRunner', 'max_num_workers': workers or 1, 'task': task}
    evaluation = {'partitioner': {'type': 'opencompass.partitioners.NaivePartitioner'}, 'runner': runner}
    text = config.read_text(encoding='utf-8') + f'\neval = {evaluation!r}\n'
    if clients:
        for number, model in enumerate(dicts_of(values, 'models')):
            text += f"models[{number}]['run_cfg'] = {{'num_gpus': 0}}\n"
            if isinstance(size := model.get('batch_size'), int):
                text += f"models[{number}]['batch_size'] = {max(1, -(-size // clients))}\n"
    copy = work_dir / NOTES / config.name
    copy.write_text(text, encoding='utf-8')
    return copy


def prepare_directory(work_dir: Path, config: Path, here: Path) -> Path:
    """Prepare and return the directory that OpenCompass runs in, one for each run.

    OpenCompass writes `./tmp` and `./.cache` where it runs. There, two commands at once can read each other's
    half-written files, and sizes of data sets outlive the data. What the config names relative to `here`,
    where the user is, is linked into the directory; the folder of verdicts of a judge is made first.

    Raises:
        InputError: a path of the directory that OpenCompass cannot work in, or a relative path in the config
            that cannot be linked.
    """
    directory = work_dir / DIRECTORY
    _check_unquoted(
        str(directory), 'the path', 'give another -w, or rename the config where the character is in its name'
    )
    try:
        tree = ast.parse(config.read_bytes())
    except (OSError, *NO_LITERAL):
        tree = ast.Module([], [])
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) < 1024
    }
    for folder in re.findall(r"""\bverdicts['"]?\s*[:=]\s*['"]([^'"/~][^'"]*)""", ast.unparse(tree)):
        (here / folder).mkdir(parents=True, exist_ok=True)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / SIZES).unlink(missing_ok=True)
    for path in directory.iterdir():
        if path.is_symlink():
            path.unlink()
    relative = (text for text in texts if '\0' not in text and text[0] not in '/~' and Path(text).parts)
    for text in sorted(text for text in relative if (here / text).exists()):
        first = Path(text).parts[0]
        if first in ('..', 'tmp', '.cache'):
            raise InputError(
                f'{text!r} in the config is relative: write an absolute path; opencompass runs in a '
                'directory of '
                f'its own, where that is something else than from {here} ({config.name})'
            )
        link = directory / first
        if link.exists() and not link.is_symlink():
            raise InputError(
                f'{link.name!r} of an earlier command is in the way of a link: move what you need of it to '
                f'{here / first}, and remove {link}'
            )
        if not link.is_symlink():
            link.symlink_to(here / first)
    return directory


def environment(here: Path, outputs: Path, token: str) -> dict[str, str]:
    """Return the variables for OpenCompass: paths as seen from `here`, and time in UTC.

    OpenCompass names its time directories by the local time of its process, which differs from machine to
    machine and goes back an hour once a year.

    Args:
        here: where the user is.
        outputs: below which samples of other runs may be taken.
        token: of this `gpassk run`: what its servers have drawn may be shared.
    """
    variables = dict(os.environ)
    for name in _PATHS:
        if variables.get(name):
            parts = variables[name].split(os.pathsep)
            variables[name] = os.pathsep.join(str(here / os.path.expanduser(part)) for part in parts)
    return {**variables, 'TZ': 'UTC', 'GPASSK_WORK_DIR': str(outputs), 'GPASSK_COMMAND': token}


def _check_unquoted(path: str, what: str, way_out: str) -> None:
    """Refuse a path that a shell would have to see quoted: OpenCompass starts its tasks without quotes."""
    if found := re.search(r'[^\w@%+=:,./~-]', path):
        raise InputError(
            f'{found[0]!r} in {what}: {way_out}; opencompass puts it unquoted on a shell command line: {path}'
        )
