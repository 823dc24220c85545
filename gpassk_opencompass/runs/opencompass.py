"""The `opencompass` command of a run: what is passed on to it, where it runs, and with which config."""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ..errors import InputError, MissingExtraError
from ..files import mapping
from ..judges.verdicts import STORE_VARIABLE
from ..sweep.folder import NO_LITERAL
from .lock import NOTES
from .state import DIRECTORY, SIZES, Config, Finding, Planned, State, dicts_of, evaluator_of

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
        return bool({'--slurm', '--dlc'} & {*self.passed})

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
    return Options(tuple(passed), workers, mode)


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


def is_local(config: Config, stage: str) -> bool:
    """Whether the tasks of 'infer' or 'eval' are done on this machine, and not by a cluster.

    >>> cluster = {'infer': {'runner': {'type': 'opencompass.runners.DLCRunner'}}}
    >>> is_local({}, 'infer'), is_local(cluster, 'infer')
    (True, False)
    """
    runner = mapping(mapping(config.get(stage)).get('runner'))
    return str(runner.get('type', 'LocalRunner')).rpartition('.')[2] == 'LocalRunner'


def runs_in_process(config: Config | None, options: Options, workers: int | None) -> bool:
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


def config_for(run: Planned, work_dir: Path, options: Options, workers: int | None, clients: int) -> Path:
    """Return the config for OpenCompass: one among the notes, whose evaluations stream predictions.

    A config that computes its values, or is for other machines, is as it is.

    Args:
        run: with a config.
        work_dir: its work directory.
        options, workers: of the command.
        clients: how many runs share the servers of its model: they need no GPU, and share what a server is
            asked at a time; 0: its model is loaded or started by itself.
    """
    if run.values is None or (len(run.configs) == 1 and (run.values.get('eval') or options.elsewhere)):
        return run.configs[0]
    values: dict[str, Any] = dict(run.values)
    if not (values.get('eval') or options.elsewhere):
        task = {'type': 'gpassk_opencompass.GPassKEvalTask'}
        runner = {'type': 'opencompass.runners.LocalRunner', 'max_num_workers': workers or 1, 'task': task}
        partitioner = {'type': 'opencompass.partitioners.NaivePartitioner'}
        values['eval'] = {'partitioner': partitioner, 'runner': runner}
    if clients:
        models = [{**model, 'run_cfg': {'num_gpus': 0}} for model in values['models']]
        for model in models:
            if isinstance(size := model.get('batch_size'), int):
                model['batch_size'] = max(1, -(-size // clients))
        values['models'] = models
    path = work_dir / NOTES / f'{run.name}.py'
    path.write_text(''.join(f'{name} = {value!r}\n' for name, value in values.items()), encoding='utf-8')
    return path


def prepare_directory(work_dir: Path, configs: Sequence[Path], here: Path) -> Path:
    """Prepare and return the directory that OpenCompass runs in, one for each run.

    OpenCompass writes `./tmp` and `./.cache` where it runs. There, two commands at once can read each other's
    half-written files, and sizes of data sets outlive the data. What the configs name relative to `here`,
    where the user is, is linked into the directory; the folder of verdicts of a judge is made first.

    Raises:
        InputError: a path of the directory that OpenCompass cannot work in, or a relative path in a config
            that cannot be linked.
    """
    directory = work_dir / DIRECTORY
    way_out = 'give another -w, or rename the config where the character is in its name'
    _check_unquoted(str(directory), 'the path', way_out)
    texts: set[str] = set()
    for config in configs:
        with suppress(OSError, *NO_LITERAL):
            tree = ast.parse(config.read_bytes())
            constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
            texts |= {text for text in constants if isinstance(text, str) and 0 < len(text) < 1024}
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
                f'directory of its own, where that is something else than from {here} ({configs[0].name})'
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
