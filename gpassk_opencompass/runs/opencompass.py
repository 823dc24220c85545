"""The `opencompass` command of a run: what is passed on to it, where it runs, and with which config."""

from __future__ import annotations

import os
import re
import shutil
import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ..errors import InputError, MissingExtraError
from ..files import mapping
from ..judges.verdicts import STORE_VARIABLE
from .plan import Config, Planned, dicts_of, evaluator_of
from .state import Finding, State
from .work_dir import DIRECTORY, NOTES, SIZES

_REFUSED = {
    '-w --work-dir': 'each run has its own work directory; give -w before the --',
    '-r --reuse': 'what there is to resume is found for each run',
    '-a --accelerator': 'it runs another engine than the names say; write engine = … in the template',
    '--models --datasets --hf-path --custom-dataset-path': 'the configs say what to run',
    '--dry-run': 'it would leave empty work directories; gpassk check says what is missing',
}
_PATHS = (STORE_VARIABLE, 'COMPASS_DATA_CACHE', 'HF_HOME', 'HF_HUB_CACHE', 'HF_DATASETS_CACHE', 'PYTHONPATH')


class Options(NamedTuple):
    """How OpenCompass is to run."""

    passed: tuple[str, ...] = ()  # all options as given, without the number of workers and the mode
    workers: int | None = None  # --max-num-workers; None: OpenCompass's default
    mode: str = 'all'  # or 'infer', 'eval'

    @property
    def elsewhere(self) -> bool:
        """Whether its tasks run on other machines."""
        return bool({'--slurm', '--dlc'} & {*self.passed})

    def is_done(self, finding: Finding) -> bool:
        """Whether nothing is left to do in this mode."""
        return finding.state is State.COMPLETE or (self.mode == 'infer' and finding.sampled)


def read_options(options: Sequence[str]) -> Options:
    """Read options for OpenCompass; InputError for those that cannot be passed on, or a wrong value.

    >>> read_options(['--max-num-workers', '8', '--retry', '0', '--slurm', '-p', 'debug'])
    Options(passed=('--retry', '0', '--slurm', '-p', 'debug'), workers=8, mode='all')
    """

    class Parser(ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise InputError(f'options for opencompass: {message}')

    parser = Parser(add_help=False, argument_default=SUPPRESS)
    parser.add_argument('--max-num-workers', type=int, default=None)
    parser.add_argument('-m', '--mode', choices=['all', 'infer', 'eval'], default='all')
    for names in _REFUSED:
        parser.add_argument(*names.split(), nargs='*', dest=names)
    found, passed = parser.parse_known_args(options)
    for names, reason in _REFUSED.items():
        if names in found:
            raise InputError(f'{names}: not passed on to opencompass: {reason}')
    if found.max_num_workers is not None and found.max_num_workers < 1:
        raise InputError(f'--max-num-workers {found.max_num_workers}: expected at least 1')
    return Options(tuple(passed), found.max_num_workers, found.mode)


def program() -> str:
    """Return the `opencompass` of this Python's environment, else the first one of $PATH."""
    beside = Path(sys.executable).with_name('opencompass')
    found = str(beside) if beside.exists() else shutil.which('opencompass')
    if found is None:
        raise MissingExtraError('opencompass', 'opencompass')
    _check_unquoted(found, "opencompass's own path", 'install it in an environment elsewhere')
    return found


def is_local(config: Config, stage: str) -> bool:
    """Whether the tasks of 'infer' or 'eval' are done on this machine, and not by a cluster."""
    runner = mapping(mapping(config.get(stage)).get('runner'))
    return str(runner.get('type', 'LocalRunner')).rpartition('.')[2] == 'LocalRunner'


def runs_in_process(config: Config, options: Options, workers: int | None) -> bool:
    """Whether one process can do a whole run, by `--debug`: OpenCompass then starts none for its tasks.

    It is a config of one model with `GPassKEvaluator` alone, no runners of its own and one worker.
    """
    kinds = [str(evaluator_of(one).get('type')) for one in dicts_of(config, 'datasets')]
    return (
        (workers or 1) == 1
        and not options.elsewhere
        and '--max-workers-per-gpu' not in options.passed
        and [mapping(one.get('run_cfg')).get('num_procs', 1) for one in dicts_of(config, 'models')] == [1]
        and all(kind.rpartition('.')[2] == 'GPassKEvaluator' for kind in kinds)
        and not any(config.get(stage) for stage in ('infer', 'eval'))
    )


def config_for(run: Planned, work_dir: Path, options: Options, workers: int | None, clients: int) -> Path:
    """Return the config for OpenCompass: one among the notes, whose evaluations stream predictions.

    One for other machines, or with an `eval` of its own, is as it is. Where several `clients` share a server
    they need no GPU, and share what it is asked at a time.
    """
    values: dict[str, Any] = dict(run.values)
    own = values.get('eval') or options.elsewhere
    if own and len(run.configs) == 1:
        return run.configs[0]
    if not own:
        task = {'type': 'gpassk_opencompass.GPassKEvalTask'}
        runner = {'type': 'opencompass.runners.LocalRunner', 'max_num_workers': workers or 1, 'task': task}
        partitioner = {'type': 'opencompass.partitioners.NaivePartitioner'}
        values['eval'] = {'partitioner': partitioner, 'runner': runner}
    if clients:
        values['models'] = [{**model, 'run_cfg': {'num_gpus': 0}} for model in values['models']]
        for model in values['models']:
            if isinstance(size := model.get('batch_size'), int):
                model['batch_size'] = max(1, -(-size // clients))
    path = work_dir / NOTES / f'{run.name}.py'
    path.write_text(''.join(f'{name} = {value!r}\n' for name, value in values.items()), encoding='utf-8')
    return path


def prepare_directory(work_dir: Path, config: Config, here: Path) -> Path:
    """Prepare and return the directory that OpenCompass runs in, one for each run.

    It writes `./tmp` and `./.cache` there: two commands in one would read each other's half-written files.
    What the config names relative to `here`, where the user is, is linked there by itself, without what lies
    beside it, or refused; the folder of verdicts is made first.
    """
    directory = work_dir / DIRECTORY
    way_out = 'give another -w, or rename the config where the character is in its name'
    _check_unquoted(str(directory), 'the path', way_out)
    for folder, folders, files in os.walk(
        directory, topdown=False
    ):  # of the last start: links, their folders
        for path in filter(Path.is_symlink, (Path(folder, name) for name in (*folders, *files))):
            path.unlink()
        if not os.listdir(folder):
            os.rmdir(folder)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / SIZES).unlink(missing_ok=True)
    for text, name in sorted({*_texts(config)}, key=lambda one: Path(one[0]).parts):
        if not 0 < len(text) < 1024 or text[0] in '/~' or not (parts := Path(text).parts):
            continue
        if name == 'verdicts':
            (here / text).mkdir(parents=True, exist_ok=True)
        link = directory / text
        if not os.path.exists(here / text) or os.path.lexists(link):
            continue
        if '..' in parts or parts[0] in ('tmp', '.cache'):
            raise InputError(
                f'{text!r} in the config is relative: write an absolute path; opencompass runs in a '
                f'directory of its own, where that is something else than from {here}'
            )
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(here / text)
    return directory


def _texts(value: Any, name: str = '') -> Iterator[tuple[str, str]]:
    """Return the texts in a value of a config, each with the name of its field."""
    if isinstance(value, str):
        yield value, name
    elif isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else ((name, part) for part in value):
            yield from _texts(part, str(key))


def environment(here: Path, outputs: Path, token: str) -> dict[str, str]:
    """Return the variables for OpenCompass: paths as seen from `here`, where the user is, and time in UTC.

    OpenCompass names its time directories by the local time, which differs from machine to machine. Below
    `outputs` samples of other runs may be taken; what servers of this command, the `token`, draw is shared.
    """
    variables = dict(os.environ)
    for name in filter(variables.get, _PATHS):
        parts = map(os.path.expanduser, variables[name].split(os.pathsep))
        variables[name] = os.pathsep.join(str(here / part) for part in parts)
    return {**variables, 'TZ': 'UTC', 'GPASSK_WORK_DIR': str(outputs), 'GPASSK_COMMAND': token}


def _check_unquoted(path: str, what: str, way_out: str) -> None:
    """Refuse a path that a shell would have to see quoted: OpenCompass starts its tasks without quotes."""
    if found := re.search(r'[^\w@%+=:,./~-]', path):
        raise InputError(
            f'{found[0]!r} in {what}: {way_out}; opencompass puts it unquoted on a shell command line: {path}'
        )
