"""The `opencompass` command of a run: its options, the directory that it runs in, its environment."""

from __future__ import annotations

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
from .config_file import Config, dicts_of, stores_in, texts_in
from .state import Finding, State
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

_OPTIONS = """
    --accelerator --aliyun-cfg --analysis-repeat --batch-size --config-dir --config-verbose
    --custom-dataset-data-type --custom-dataset-infer-method --custom-dataset-meta-path
    --custom-dataset-path --dataset-num-runs --datasets --debug --dlc --dry-run --dump-eval-details
    --dump-extract-rate --dump-only-message-path --dump-res-length --generation-kwargs --help
    --hf-num-gpus --hf-path --hf-type --lark --max-num-workers --max-out-len --max-seq-len
    --max-workers-per-gpu --min-out-len --mode --model-kwargs --models --num-gpus --pad-token-id
    --partition --peft-kwargs --peft-path --qos --quotatype --read-from-station --retry --reuse
    --slurm --station-overwrite --station-path --stop-words --summarizer --tokenizer-kwargs
    --tokenizer-path --work-dir
"""
"""All long options of OpenCompass 0.5.4, which takes the first letters of each for it."""

OPTIONS = frozenset(_OPTIONS.split())

ELSEWHERE = ('--slurm', '--dlc')
"""Options of OpenCompass with which its tasks run on other machines."""

_APART = frozenset({*ELSEWHERE, '--max-workers-per-gpu'})
"""Options that are for tasks with processes of their own."""

PATH_VARIABLES = (STORE_VARIABLE, 'COMPASS_DATA_CACHE', 'HF_HOME', 'HF_HUB_CACHE', 'HF_DATASETS_CACHE')
"""Environment variables with one path, relative to where the user is."""

_OWN = frozenset({'tmp', '.cache'})
"""What OpenCompass writes where it runs."""

_NEEDS_QUOTES = re.compile(r'[^\w@%+=:,./~-]')


class Options(NamedTuple):
    """How OpenCompass is to run."""

    passed: tuple[str, ...] = ()
    """All options as given, without the number of workers."""
    workers: int | None = None
    """--max-num-workers; None: OpenCompass's default."""
    mode: str = 'all'

    def is_done(self, finding: Finding) -> bool:
        """Whether nothing is left to do in this mode."""
        return finding.state is State.COMPLETE or (self.mode == 'infer' and finding.sampled)


def runs_in_process(config: Config | None, options: Options, workers: int | None) -> bool:
    """Whether one process can do a whole run, by `--debug`: OpenCompass then starts none for its tasks.

    It is a config of one model that gives its values, has `GPassKEvaluator` alone and no runners or
    partitioners of its own; with several workers, and on other machines, tasks are processes.

    Args:
        config: None where it computes its values.
        options: of the command.
        workers: --max-num-workers of the run; None: it is not given.
    """
    if config is None or (workers or 1) > 1 or _APART & {*options.passed}:
        return False
    evaluators = [
        mapping(mapping(one.get('eval_cfg')).get('evaluator')) for one in dicts_of(config, 'datasets')
    ]
    models = dicts_of(config, 'models')
    return (
        len(models) == 1
        and mapping(models[0].get('run_cfg')).get('num_procs', 1) == 1
        and all(str(one.get('type')).rpartition('.')[2] == 'GPassKEvaluator' for one in evaluators)
        and not any(config.get(stage) for stage in ('infer', 'eval'))
    )


def evaluation_of(workers: int | None) -> dict[str, Any]:
    """Return `eval` of a config whose evaluations hold no copy of all responses, see `GPassKEvalTask`."""
    task = {'type': 'gpassk_opencompass.GPassKEvalTask'}
    runner = {'type': 'opencompass.runners.LocalRunner', 'max_num_workers': workers or 1, 'task': task}
    return {'partitioner': {'type': 'opencompass.partitioners.NaivePartitioner'}, 'runner': runner}


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f'options for opencompass: {message}')


def read_options(options: Sequence[str]) -> Options:
    """Read options for OpenCompass, and check those that matter here.

    >>> read_options(['--max-num-workers', '8', '--retry', '0', '--slurm', '-p', 'debug'])
    Options(passed=('--retry', '0', '--slurm', '-p', 'debug'), workers=8, mode='all')

    Raises:
        InputError: one that cannot be passed on, see `REFUSED`, or a value that OpenCompass does not take.
    """
    parser = _Parser(add_help=False, argument_default=SUPPRESS, allow_abbrev=False)
    parser.add_argument('--max-num-workers', type=int)
    parser.add_argument('-m', '--mode', choices=[*MODES, 'viz'])
    for names in REFUSED:
        parser.add_argument(*names, nargs='*', dest=names[-1])
    known, passed = parser.parse_known_args(whole_options(options))
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
    return Options((*passed, *(['-m', mode] if mode != 'all' else [])), workers, mode)


def whole_options(options: Sequence[str]) -> list[str]:
    """Return options with the whole names of those of which only the first letters are given.

    >>> whole_options(['--debu', '--max-num=3', '-m', 'infer'])
    ['--debug', '--max-num-workers=3', '-m', 'infer']

    Raises:
        InputError: the letters are those of several options.
    """
    return [_whole(word) for word in options]


def _whole(word: str) -> str:
    name, equals, value = word.partition('=')
    if not name.startswith('--') or name == '--' or name in OPTIONS:
        return word
    meant = sorted(option for option in OPTIONS if option.startswith(name))
    if len(meant) > 1:
        raise InputError(f'options for opencompass: {name} could be {", ".join(meant)}: write the whole name')
    return f'{meant[0]}{equals}{value}' if meant else word


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
    check_unquoted(found, "opencompass's own path", 'install it in an environment elsewhere')
    return found


def command(
    config: Path, work_dir: Path, options: Options, workers: int | None, time: str | None, in_process: bool
) -> list[str]:
    """Return the words of `opencompass <config> -w <work_dir> …`, resuming `time` if it is given.

    Args:
        in_process: see `runs_in_process`.
    """
    sharding = [] if workers is None else ['--max-num-workers', str(workers)]
    resuming = [] if time is None else ['-r', time]
    debugging = ['--debug'] if in_process and '--debug' not in options.passed else []
    return [program(), str(config), '-w', str(work_dir), *options.passed, *debugging, *sharding, *resuming]


def prepare_directory(work_dir: Path, config: Path, here: Path) -> Path:
    """Prepare and return the directory that OpenCompass runs in, one for each run.

    OpenCompass writes `./tmp` and `./.cache` where it runs. There, two commands at once can read each
    other's half-written files, and sizes of data sets outlive the data. What the config names relative to
    `here`, where the user is, is linked into the directory; the verdict store of a judge is made first.

    Raises:
        InputError: a path of the directory that OpenCompass cannot work in, or a relative path in the config
            that cannot be linked.
    """
    directory = work_dir / DIRECTORY
    unquotable = _NEEDS_QUOTES.search(work_dir.name)
    check_unquoted(str(directory), 'the path', 'rename the config' if unquotable else 'give another -w')
    names = _stores(config, here) | _relative_names(config, here)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / SIZES).unlink(missing_ok=True)
    for path in directory.iterdir():
        if path.is_symlink():
            path.unlink()
    for name in sorted(names):
        _link(directory / name, here / name)
    return directory


def check_unquoted(path: str, what: str, way_out: str) -> None:
    """Refuse a path that a shell would have to see quoted: OpenCompass starts its tasks without quotes.

    Raises:
        InputError: that cannot work with this path.
    """
    found = _NEEDS_QUOTES.search(path)
    if found:
        raise InputError(
            f'{found[0]!r} in {what}: {way_out}; opencompass puts it unquoted on a shell command line: {path}'
        )


def environment(here: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for OpenCompass: `~` and relative paths as seen from `here`, and time in UTC.

    OpenCompass names its time directories by the local time of its process, which differs from machine to
    machine and goes back an hour once a year.
    """
    return {**with_absolute_paths(here, variables), 'TZ': 'UTC'}


def with_absolute_paths(here: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Return variables that mean the same in another directory, and where the home directory is another."""
    paths = {name: _seen_from(here, variables[name]) for name in PATH_VARIABLES if variables.get(name)}
    if variables.get('PYTHONPATH'):
        entries = variables['PYTHONPATH'].split(os.pathsep)
        paths['PYTHONPATH'] = os.pathsep.join(_seen_from(here, entry) for entry in entries)
    return {**variables, **paths}


def _seen_from(here: Path, path: str) -> str:
    return str(here / os.path.expanduser(path))


def _stores(config: Path, here: Path) -> set[str]:
    """Make the verdict stores with relative paths; return the first part of each path."""
    names = set()
    for store in stores_in(config):
        if Path(store).is_absolute():
            continue
        first = _first_part(store)
        if first is None:
            raise InputError(f'verdicts = {store!r} of a judge: write an absolute path ({config.name})')
        _check_linkable(first, store, config, here)
        try:
            (here / store).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f'verdicts = {store!r} of a judge cannot be made, {error.strerror}: name a folder; it would '
                f'be {here / store}'
            ) from error
        names.add(first)
    return names


def _relative_names(config: Path, here: Path) -> set[str]:
    """Return the first part of each path in the config that exists relative to `here`."""
    names = set()
    for text in texts_in(config):
        first = _first_part(text)
        if first is not None and _exists(here / text):
            _check_linkable(first, text, config, here)
            names.add(first)
    return names


def _check_linkable(first: str, text: str, config: Path, here: Path) -> None:
    if first == '..' or first in _OWN:
        raise InputError(
            f'{text!r} in the config is relative: write an absolute path; opencompass runs in a directory of '
            f'its own, where that is something else than from {here} ({config.name})'
        )


def _link(link: Path, target: Path) -> None:
    if link.exists():
        raise InputError(
            f'{link.name!r} of an earlier command is in the way of a link: move what you need of it to '
            f'{target}, and remove {link}'
        )
    link.symlink_to(target)


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
