"""In what state the runs of a sweep are: what their configs ask for, and what lies in their work directories.

A run is a config. Its work directory `OUTPUTS/<name of the config>` has a folder for each time that
OpenCompass was started anew, named by the moment. OpenCompass keeps neither its options nor its exit code, so
`gpassk run` notes in `.gpassk/` which command it started, and how that ended: a name that sorts before the
time directories, of which OpenCompass takes the last one for the latest run. Nothing here starts or changes a
run.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil

from ..errors import InputError
from ..files import FROM_ENVIRONMENT, PROVENANCE, digest, mapping, parse_json, read_json
from ..log_errors import error_in, last_said
from ..marks import Notes, read_notes
from ..predictions import JOURNAL
from ..processes import described
from ..sweep.folder import MANIFEST, NO_LITERAL, Entry, literal, plain, read_manifest, signature
from ..text import seconds_of, seconds_of_folder

if TYPE_CHECKING:
    from ..record import Result

NOTES = '.gpassk'
STARTS, LOG, HOLDER, DIRECTORY = (
    f'{NOTES}/{name}' for name in ('starts.jsonl', 'opencompass.log', 'holder.json', 'cwd')
)
"""In a work directory: the commands that were started, what the last one said, who is at work, where it
runs."""

SIZES = '.cache/dataset_size.json'
"""Where OpenCompass counts the rows of data sets, in the directory that it runs in."""

LOG_LINES = 40
_LOG_BYTES = 64 * 1024
_TIME = re.compile(r'\d{8}_\d{6}')
_ENDED_BY_SOMEBODY = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that say nothing of the run, also where the system needs its memory; others are of a crash."""

Config = Mapping[str, Any]


# Configs, read as data: nothing in them is executed


def read_config(path: Path) -> Config | None:
    """Return the variables of a config of literals and `dict(…)`; None if it computes or imports something.

    Raises:
        InputError: it cannot be read or is no Python.
    """
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f'cannot read {path}: {error.strerror}') from error
    except NO_LITERAL as error:
        raise InputError(f'{path} is not valid Python: {error}') from error
    values = {}
    try:
        for line in tree.body:
            if (
                isinstance(line, ast.Assign)
                and len(line.targets) == 1
                and isinstance(line.targets[0], ast.Name)
            ):
                values[line.targets[0].id] = plain(literal(line.value), line.targets[0].id)
            elif not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)):
                return None
    except NO_LITERAL:
        return None
    return values


def dicts_of(config: Config, name: str) -> list[Mapping[str, Any]]:
    """Return the dicts of a list of the config; none if it has no such list."""
    entries = config.get(name)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def is_local(config: Config, stage: str) -> bool:
    """Whether the tasks of 'infer' or 'eval' are done on this machine, and not by a cluster.

    >>> cluster = {'infer': {'runner': {'type': 'opencompass.runners.DLCRunner'}}}
    >>> is_local({}, 'infer'), is_local(cluster, 'infer')
    (True, False)
    """
    runner = mapping(mapping(config.get(stage)).get('runner'))
    return str(runner.get('type', 'LocalRunner')).rpartition('.')[2] == 'LocalRunner'


def evaluator_of(dataset: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the evaluator that a data set of a config names."""
    return mapping(mapping(dataset.get('eval_cfg')).get('evaluator'))


class Wanted(NamedTuple):
    """One result file: `results/<model>/<dataset>.json`; None is what the config does not say."""

    model: str
    dataset: str
    n: int | None
    ks: tuple[int, ...] | None
    questions: int | None = None


def wanted_by(config: Config) -> tuple[Wanted, ...]:
    """Return the results of all models × data sets of a config that have an abbreviation."""
    models, datasets = (
        [one for one in dicts_of(config, name) if isinstance(one.get('abbr'), str)]
        for name in ('models', 'datasets')
    )
    wanted = []
    for model, dataset in product(models, datasets):
        n, k = dataset.get('n', 1), dataset.get('k', 1)
        ks = k if isinstance(k, list) else [k]
        whole = all(isinstance(one, int) for one in ks)
        wanted.append(
            Wanted(
                model['abbr'],
                dataset['abbr'],
                n if isinstance(n, int) else None,
                tuple(sorted(set(ks))) if whole else None,
            )
        )
    return tuple(wanted)


@dataclass(frozen=True)
class Planned:
    """One run: a config, and what it should leave."""

    name: str
    """The name of the config file without `.py`, and of the work directory."""
    wanted: tuple[Wanted, ...] = ()
    """Empty where the config computes them: what OpenCompass keeps of it tells then."""
    signature: str | None = None
    """See `sweep.signature`; None where the config computes its values."""
    config: Path | None = None
    """None for a run that is known from its work directory alone."""
    sha256: str | None = None
    entry: Entry | None = None
    """What the manifest beside the config says of it; None where it says nothing of the config as it is."""

    def values(self) -> Config | None:
        """Return the variables of the config; None if it is not there (any more), or computes them."""
        try:
            return None if self.config is None else read_config(self.config)
        except InputError:
            return None


class Plan(NamedTuple):
    """The runs, and the names of configs that are left out as the template no longer gives them."""

    runs: tuple[Planned, ...]
    left_out: tuple[str, ...]


def planned_runs(paths: Sequence[Path]) -> Plan:
    """Return a run for each config.

    Args:
        paths: configs, or folders of configs. A config that the manifest of its folder calls stale is left
            out, unless it is named itself.

    Raises:
        InputError: there is no such config, one cannot be read or is a template, or two have one name.
    """
    runs: dict[str, Planned] = {}
    left_out: list[str] = []
    for path in paths:
        if path.name == MANIFEST:
            raise InputError(
                f'{path} is no config, but the list of those beside it: did you mean gpassk run '
                f'{path.parent}?'
            )
        folder = path if path.is_dir() else path.parent
        entries = {one.file: one for one in read_manifest(folder)} if (folder / MANIFEST).is_file() else {}
        configs = sorted(path.glob('*.py')) if path.is_dir() else [path]
        if not configs:
            raise InputError(f'no config in {path}: expand a template first, with gpassk expand')
        for config in configs:
            entry = entries.get(config.name)
            if path.is_dir() and entry is not None and entry.stale:
                left_out.append(config.name)
                continue
            run = _planned(config, entry)
            other = runs.setdefault(run.name, run)
            if other.config != run.config:
                raise InputError(
                    f'{other.config} and {run.config} have one name, so one work directory: rename one '
                    'of them, '
                    'or run them with different -w'
                )
    return Plan(tuple(runs.values()), tuple(left_out))


def _planned(config: Path, entry: Entry | None) -> Planned:
    config = Path(os.path.abspath(config))  # a link keeps its name, which names the run
    try:
        sha256 = digest(config.read_bytes())
    except OSError as error:
        raise InputError(f'cannot read the config {config}: {error.strerror}') from error
    if entry is not None and entry.sha256 == sha256:
        wanted = Wanted(entry.model_abbr, entry.dataset_abbr, entry.n, entry.k or None, entry.questions)
        return Planned(config.stem, (wanted,), entry.signature, config, sha256, entry)
    values = read_config(config)
    if re.search(rb'^llm_infos\s*=', config.read_bytes(), re.MULTILINE):
        raise InputError(f'{config} is a template; expand it first with gpassk expand, and run its configs')
    if values is None:
        return Planned(config.stem, config=config, sha256=sha256)
    if missing := [name for name in ('models', 'datasets') if not values.get(name)]:
        raise InputError(
            f'{config} has no {" and no ".join(missing)}, so it is no config of OpenCompass; if it is a '
            'template, expand it first with gpassk expand'
        )
    return Planned(config.stem, wanted_by(values), signature(values), config, sha256)


class Discovered(NamedTuple):
    """Runs with their work directories, and the names of folders that are none."""

    runs: tuple[tuple[Planned, Path], ...]
    foreign: tuple[str, ...]


def discovered_runs(outputs: Path) -> Discovered:
    """Return the runs of the work directories in a folder, or of a work directory.

    What a run should be is told by the config that `gpassk run` was given, if it is still there, else by what
    OpenCompass keeps in the time directories.

    Raises:
        InputError: there is no such folder, or no work directory in it.
    """
    if not outputs.is_dir():
        raise InputError(f'{outputs} is no folder; expected work directories of OpenCompass')
    if _is_work_dir(outputs):
        return Discovered(((_run_of(outputs), outputs),), ())
    try:
        folders = sorted(path for path in outputs.iterdir() if path.is_dir())
    except OSError as error:
        raise InputError(f'cannot read {outputs}: {error.strerror}') from error
    work_dirs = [path for path in folders if _is_work_dir(path)]
    if not work_dirs:
        raise InputError(
            f'no work directory of OpenCompass in {outputs}: expected <work_dir>/<YYYYmmdd_HHMMSS>/configs; '
            'with --configs FOLDER, runs that were never started are listed'
        )
    foreign = tuple(path.name for path in folders if path not in work_dirs and path.name != NOTES)
    return Discovered(tuple((_run_of(path), path) for path in work_dirs), foreign)


def _is_work_dir(path: Path) -> bool:
    return bool(time_dirs(path)) or any(os.path.exists(path / note) for note in (STARTS, LOG, HOLDER))


def _run_of(work_dir: Path) -> Planned:
    starts = read_starts(work_dir)
    config = Path(starts[-1].config) if starts else Path()
    if config.stem == work_dir.name and config.is_file():
        with suppress(InputError):
            return planned_runs([config]).runs[0]
    kept = [config for time_dir in time_dirs(work_dir) for config in kept_configs(time_dir)[-1:]]
    return Planned(work_dir.name, *((wanted_by(kept[0]), signature(kept[0])) if kept else ()))


# What lies in a work directory


@dataclass(frozen=True)
class Start:
    """One `opencompass` command that `gpassk run` started."""

    time: str
    """The time directory that it works in."""
    began: str
    """When, in UTC."""
    workers: int | None
    """--max-num-workers; None: it was not given."""
    config: str
    sha256: str
    """The SHA-256 of the config."""
    mode: str = 'all'
    """-m: 'all', 'infer' or 'eval'."""
    code: int | None = None
    """Exit code, negative for a signal; None while it runs, and after a kill of `gpassk run` itself."""
    stopped: bool = False
    """Whether Ctrl-C in `gpassk run` ended it."""
    cause: str = ''
    """Why `gpassk run` ended it: its server died."""


def read_starts(work_dir: Path) -> list[Start]:
    """Read the commands, oldest first; the end of one replaces its start, a line torn by a kill is left
    out."""
    starts: dict[tuple[str, str], Start] = {}
    with suppress(OSError):
        for line in (work_dir / STARTS).read_text(encoding='utf-8', errors='replace').splitlines():
            with suppress(ValueError, TypeError):
                start = Start(**parse_json(line))
                if isinstance(start.config, str) and isinstance(start.code, (int, type(None))):
                    starts[str(start.time), str(start.began)] = start
    return list(starts.values())


def note_start(work_dir: Path, start: Start) -> None:
    """Note a command that is about to start, or how it ended.

    Raises:
        OSError: it cannot be written.
    """
    path = work_dir / STARTS
    path.parent.mkdir(parents=True, exist_ok=True)
    torn = path.exists() and not path.read_bytes().endswith(b'\n')
    with path.open('a', encoding='utf-8') as file:
        file.write(('\n' if torn else '') + json.dumps(asdict(start)) + '\n')
        file.flush()
        os.fsync(file.fileno())


class Holder(NamedTuple):
    """Who is at work in a work directory."""

    host: str
    pid: int
    created: float
    """When its process began: another one may get its number."""
    since: str
    job: str = ''
    """Of Slurm or Ray; '' for none."""
    mark: str = ''
    """Found in the environment of all that it has started, see `processes.Child`."""
    reason: str = ''
    """Why it took over from another one."""

    @property
    def is_here(self) -> bool:
        """Whether it is of this machine, where one can tell if it lives."""
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Whether it is at work still, as far as can be told; of another machine nobody knows better."""
        if not self.is_here:
            return True
        try:
            return bool(abs(psutil.Process(self.pid).create_time() - self.created) < 1)
        except psutil.Error:
            return False

    def __str__(self) -> str:
        job = f', {self.job},' if self.job else ''
        return f'process {self.pid} on {self.host}{job} since {self.since}'


def holder_of(work_dir: Path) -> Holder | None:
    """Return who is noted to be at work in a work directory, alive or not."""
    try:
        host, pid, created, *rest = read_json(work_dir / HOLDER)
        return Holder(str(host), int(pid), float(created), *map(str, rest))
    except (OSError, ValueError, TypeError, OverflowError):
        return None


def time_dirs(work_dir: Path) -> list[Path]:
    """Return the time directories, the newest first; `gpassk run` names its own in UTC, OpenCompass does
    not."""
    ours = {start.time for start in read_starts(work_dir)}
    try:
        found = [path for path in work_dir.iterdir() if _TIME.fullmatch(path.name) and path.is_dir()]
    except OSError:
        return []

    def begun(path: Path) -> float:
        created = [moment for told in _notes(path) if (moment := seconds_of(told.created)) is not None]
        return min(created, default=seconds_of_folder(path.name, path.name in ours) or 0.0)

    return sorted(found, key=lambda path: (begun(path), path.name), reverse=True)


def _notes(time_dir: Path) -> list[Notes]:
    return [read_notes(path.parent) for path in time_dir.glob(f'predictions/**/{PROVENANCE}')]


def kept_configs(time_dir: Path) -> list[Config]:
    """Return the configs of each start in a time directory, without those that a kill has cut."""
    kept = []
    for path in sorted(time_dir.glob('configs/*.py')):
        with suppress(InputError):
            config = read_config(path)
            if config is not None and config.get('models') and config.get('datasets'):
                kept.append(config)
    return kept


class Shards(NamedTuple):
    """The files of one result's samples: name of the shard, `<abbr>` or `<abbr>_<number>` → file."""

    whole: dict[str, Path]
    begun: dict[str, Path]
    """Resume files of shards that are not whole."""


def shards_of(time_dir: Path, wanted: Wanted) -> Shards:
    """Return the files of the samples of a result, those that are whole and those that are still drawn."""
    folder = time_dir / 'predictions' / wanted.model
    whole = {path.stem: path for path in _numbered(folder, wanted.dataset, '.json')}
    journals = _numbered(folder, wanted.dataset, JOURNAL)
    begun = {path.name.removesuffix(JOURNAL): path for path in journals}
    return Shards(whole, {name: path for name, path in begun.items() if name not in whole})


def _numbered(folder: Path, stem: str, suffix: str) -> list[Path]:
    """Return the file of a data set and those of its shards, `<stem>_0`, `<stem>_1`, …"""
    shard = re.compile(re.escape(stem) + r'(_\d+)?' + re.escape(suffix))
    try:
        return sorted(path for path in folder.iterdir() if shard.fullmatch(path.name))
    except OSError:
        return []


def count_rows(path: Path) -> int | None:
    """Return how many samples a file of predictions has; None if it cannot be read."""
    try:
        predictions = read_json(path)
    except (OSError, ValueError):
        return None
    return len(predictions) if isinstance(predictions, dict) else None


def expected_rows(work_dir: Path, wanted: Wanted) -> int | None:
    """Return how many samples a result has when it is complete; None where nobody knows yet."""
    if wanted.n is not None and wanted.questions is not None:
        return wanted.n * wanted.questions
    with suppress(OSError, ValueError):
        size = mapping(read_json(work_dir / DIRECTORY / SIZES)).get(wanted.dataset)
        return size if isinstance(size, int) else None
    return None


def last_lines(path: Path) -> list[str]:
    """Return the last lines of a log, a progress bar as it last was; none if it cannot be read."""
    try:
        with path.open('rb') as file:
            file.seek(max(0, path.stat().st_size - _LOG_BYTES))
            text = file.read().decode(errors='replace')
    except OSError:
        return []
    lines = (line.rstrip('\r').rpartition('\r')[2].rstrip() for line in text.split('\n'))
    return [line for line in lines if line]


class DrawnSamples:
    """Counts the samples of a run that is at work, look by look, and their tokens.

    Args:
        run: what there should be.
        work_dir: its work directory.
        time: the time directory in which it works.
    """

    def __init__(self, run: Planned, work_dir: Path, time: str) -> None:
        self._run, self._work_dir, self._time_dir = run, work_dir, work_dir / time
        self._lines: dict[Path, tuple[int, int]] = {}
        """Resume file → bytes read of it, and the lines in them."""
        self._rows: dict[Path, int] = {}
        """Predictions → their samples; a file of them is whole when it is there, and read once."""
        self.tokens = 0
        """Of the lines that came since the first look."""

    def count(self) -> tuple[int, int | None]:
        """Return how many samples are drawn, and how many there should be; None where that is not known."""
        drawn = 0
        totals = [expected_rows(self._work_dir, one) for one in self._run.wanted]
        for wanted in self._run.wanted or wanted_by(next(iter(kept_configs(self._time_dir)[-1:]), {})):
            shards = shards_of(self._time_dir, wanted)
            for path in shards.whole.values():
                if path not in self._rows:
                    self._rows[path] = count_rows(path) or 0
                drawn += self._rows[path]
            drawn += sum(map(self._lines_in, shards.begun.values()))
        return drawn, sum(one or 0 for one in totals) if totals and None not in totals else None

    def _lines_in(self, path: Path) -> int:
        """Count the lines that were added since the last look; a file that became shorter is read anew."""
        first = path not in self._lines
        read, lines = self._lines.get(path, (0, 0))
        with (
            suppress(OSError),
            path.open('rb') as file,
        ):  # gone meanwhile: its predictions are there next time
            if path.stat().st_size < read:
                read, lines = 0, 0
            file.seek(read)
            while (line := file.readline()).endswith(b'\n'):
                read, lines = read + len(line), lines + 1
                if not first and (tokens := re.search(rb'"output_tokens": ?(\d+)', line)):
                    self.tokens += int(tokens[1])
        self._lines[path] = read, lines
        return lines


# The state of a run


class State(str, Enum):
    """What can be said of a run, the worst first."""

    MISSING = 'missing'
    STALE = 'stale'
    """The result is of another config."""
    DAMAGED = 'damaged'
    """The result file cannot be read, or its parts contradict each other."""
    FAILED = 'failed'
    """A task ended with an error, or left a file that cannot be read."""
    PARTIAL = 'partial'
    """Stopped or killed, or still at work."""
    COMPLETE = 'complete'


class Excerpt(NamedTuple):
    """The end of a log."""

    path: Path
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """The state of a run, and what it rests on."""

    name: str
    state: State
    detail: str = ''
    """Why it is in this state; of a complete run, what has to be known before its scores are quoted."""
    work_dir: Path = Path()
    time: str | None = None
    """The time directory that it is about."""
    resumable: bool = False
    """Whether the samples in that directory are of the config as it is now."""
    predictions: int | None = None
    expected: int | None = None
    sampled: bool = False
    """Whether all samples are drawn."""
    results: tuple[Path, ...] = ()
    in_the_way: tuple[Path, ...] = ()
    """Files that OpenCompass would take for finished ones, and that must be put aside to go on."""
    logs: tuple[Excerpt, ...] = field(default=(), repr=False)
    """The ends of the logs of what failed."""

    @property
    def progress(self) -> str:
        """Return how many predictions there are."""
        return f'{self.predictions or 0} of {"?" if self.expected is None else self.expected} predictions'


def examine(run: Planned, work_dir: Path, *, holding: bool = False) -> Finding:
    """Return the state of a run; nothing is written.

    The newest time directory with a complete result counts. Without one it is the newest whose samples are of
    the config as it is now, else the newest, and the detail names the others.

    Args:
        run: what there should be.
        work_dir: `-w` of its commands.
        holding: the caller holds the lock of the work directory, so nobody else is at work.
    """
    starts = read_starts(work_dir)
    found: list[Finding] = []
    for time_dir in time_dirs(work_dir):
        own = [start for start in starts if start.time == time_dir.name]
        found.append(_in_time_dir(run, work_dir, time_dir, own))
        if found[-1].state is State.COMPLETE:
            return found[-1]
    if starts and not (work_dir / starts[-1].time).is_dir():
        found.insert(0, _without_samples(Finding(run.name, State.MISSING, '', work_dir), starts[-1]))
    found = found or [Finding(run.name, State.MISSING, 'never started', work_dir)]
    chosen = next((finding for finding in found if finding.resumable), found[0])
    others = [f'{other.time} {other.state.value}' for other in found if other is not chosen and other.time]
    chosen = replace(chosen, detail=chosen.detail + ('; older: ' + ', '.join(others) if others else ''))
    holder = None if holding else holder_of(work_dir)
    if holder is not None and holder.is_alive:
        detail = f'at work, {chosen.progress}' + ('' if holder.is_here else f' ({holder})')
        return replace(chosen, state=State.PARTIAL, detail=detail, logs=())
    return chosen


def _in_time_dir(run: Planned, work_dir: Path, time_dir: Path, starts: list[Start]) -> Finding:
    configs = kept_configs(time_dir)
    about = Finding(run.name, State.FAILED, 'no model or data set with an abbr in its config', work_dir)
    about = replace(about, time=time_dir.name)
    left = (path for kind in ('predictions', 'results') for path in time_dir.glob(f'{kind}/**/*.json*'))
    if not configs and not any(left):  # ended before its config was kept, as on a full disk
        return _without_samples(about, starts[-1] if starts else None)
    change = _change(run, time_dir, configs, starts)
    findings = []
    for wanted in run.wanted or (wanted_by(configs[-1]) if configs else ()):
        result = time_dir / 'results' / wanted.model / f'{wanted.dataset}.json'
        if not result.exists():
            findings.append(_without_result(about, time_dir, wanted, change, starts))
            continue
        state, detail = _state_of_result(result, wanted, configs, change)
        usable = not change.sampling
        finding = replace(about, state=state, detail=detail, results=(result,))
        in_the_way = () if state is State.COMPLETE else (result,)
        findings.append(replace(finding, resumable=usable, sampled=usable, in_the_way=in_the_way))
    return merged(findings) if findings else about


def merged(findings: list[Finding]) -> Finding:
    """Return one finding for several models or data sets: the worst state, and all files.

    >>> merged([Finding('run', State.COMPLETE), Finding('run', State.FAILED, 'NameError')]).detail
    '1 of 2 results: NameError'
    """
    worst = min(findings, key=lambda finding: list(State).index(finding.state))
    bad = sum(finding.state is not State.COMPLETE for finding in findings)
    detail = worst.detail if len(findings) == 1 else f'{bad} of {len(findings)} results: {worst.detail}'
    if not bad:
        detail = '; '.join(dict.fromkeys(finding.detail for finding in findings if finding.detail))
    return replace(
        worst,
        detail=detail,
        resumable=all(finding.resumable for finding in findings),
        sampled=all(finding.sampled for finding in findings),
        results=tuple(path for finding in findings for path in finding.results),
        in_the_way=tuple(path for finding in findings for path in finding.in_the_way),
    )


def _without_samples(about: Finding, start: Start | None) -> Finding:
    failure = _failure_in(about.work_dir, [], start)
    if failure is None:
        detail = f'{_stopped(start) if start else "stopped"} before anything was sampled'
        return replace(about, state=State.MISSING, detail=detail)
    return replace(about, state=State.FAILED, detail=failure.text, logs=failure.logs)


def _stopped(start: Start) -> str:
    """Return how a command came to an end that is no failure."""
    if start.stopped:
        return 'stopped'
    if start.code is None:
        return 'gpassk run was killed, or its machine went down,'
    return f'killed by {described(start.code)}' if start.code < 0 else 'ended'


def _without_result(
    about: Finding, time_dir: Path, wanted: Wanted, change: Change, starts: list[Start]
) -> Finding:
    shards = shards_of(time_dir, wanted)
    counts = {path: count_rows(path) for path in shards.whole.values()}
    damaged = tuple(path for path, count in counts.items() if count is None)
    done = sum(count or 0 for count in counts.values())
    for path in shards.begun.values():
        with suppress(OSError):
            done += path.read_bytes().count(b'\n')
    expected = expected_rows(about.work_dir, wanted)
    about = replace(about, predictions=done, expected=expected, in_the_way=damaged)
    if change.sampling:
        return replace(about, state=State.STALE, detail=f'{change.sampling}; {about.progress} of before')
    logs = {
        stage: _numbered(time_dir / 'logs' / stage / wanted.model, wanted.dataset, '.out')
        for stage in ('infer', 'eval')
    }
    unfinished = {*shards.begun, *({log.stem for log in logs['infer']} - {*shards.whole})}
    sampled = bool(done) and not damaged and not unfinished and done == (expected or done)
    about = replace(about, resumable=True, sampled=sampled)
    start = starts[-1] if starts else None
    if damaged:
        failure: Failure | None = Failure(f'{", ".join(path.name for path in damaged)} cannot be read')
    elif sampled and start is not None and start.mode == 'infer':
        failure = None
    else:
        of_stage = logs['eval'] if sampled else [log for log in logs['infer'] if log.stem in unfinished]
        failure = _failure_in(about.work_dir, of_stage, start)
    if failure is not None:
        return replace(
            about, state=State.FAILED, detail=f'{failure.text}; {about.progress}', logs=failure.logs
        )
    if not done and start is not None:
        return replace(about, state=State.PARTIAL, detail=f'{_stopped(start)} before anything was sampled')
    killed = start is not None and (start.code or 0) < 0 and not start.stopped
    how = f'{_stopped(start)}, ' if start is not None and killed else ''
    return replace(
        about, state=State.PARTIAL, detail=f'{how}{"not evaluated, " if sampled else ""}{about.progress}'
    )


@dataclass(frozen=True)
class Change:
    """How the config differs from that of the samples; '' where it does not."""

    sampling: str = ''
    """Then the samples are of no use any more."""
    evaluation: str = ''
    """Then they are, and only need to be judged again."""


def _change(run: Planned, time_dir: Path, configs: list[Config], starts: list[Start]) -> Change:
    """Compare the config of a run with those that OpenCompass kept in a time directory.

    Every start there may have drawn samples, the last one has judged them. A config that computes its values
    is compared by its bytes, if `gpassk run` has noted them.
    """
    sources = [source for told in _notes(time_dir) for source in told.sources.values()]
    for name, was in (item for source in sources for item in mapping(source.get('files')).items()):
        variable = name.removeprefix(FROM_ENVIRONMENT)
        value = os.environ.get(variable, '').encode('utf-8', 'surrogateescape')
        if variable != name and value and digest(value)[:16] != was:
            return Change(f'${variable}, with which the server was started, has another value now')
    if run.signature is None:
        same = not starts or run.sha256 in (None, starts[0].sha256)
        return Change() if same else Change('the config file was changed since')
    if not configs:
        return Change(f'no readable config in {time_dir.name}/configs tells its settings')
    kept = [signature(config) for config in configs]
    if set(kept) == {run.signature}:
        return Change()
    now = configs[kept.index(run.signature)] if run.signature in kept else run.values()
    if now is None or {sampling_signature(config) for config in configs} != {sampling_signature(now)}:
        return Change('the config was changed since')
    return Change(
        evaluation='' if kept[-1] == run.signature else 'k or the judge was changed since, the samples hold'
    )


def sampling_signature(config: Config) -> str:
    """Return a `signature` of what determines the samples: configs that share one may share predictions.

    >>> run = {'models': [{'path': 'org/m'}], 'datasets': [{'n': 48, 'k': [4], 'eval_cfg': {}}]}
    >>> sampling_signature(run) == sampling_signature({**run, 'datasets': [{'n': 48, 'k': [16]}]})
    True
    """
    datasets = [
        {name: value for name, value in one.items() if name not in ('eval_cfg', 'k')}
        for one in dicts_of(config, 'datasets')
    ]
    return signature({'models': config.get('models'), 'datasets': datasets})


def _state_of_result(path: Path, wanted: Wanted, configs: list[Config], change: Change) -> tuple[State, str]:
    """Return that a result is complete, with what has to be known of it, or what speaks against that.

    What the result says of itself goes before what the configs say: a directory can be resumed with a changed
    config, which leaves a finished result as it is.
    """
    from ..record import read, result_of  # pydantic: who only looks for results needs none

    changed = change.sampling or change.evaluation
    try:
        record = mapping(read_json(path))
    except (OSError, ValueError):
        record = {}  # `read` says what is wrong with it
    if 'error' in record:
        return State.FAILED, f'the evaluation returned an error: {record["error"]}'
    if record and 'gpassk' not in record:  # of another evaluator, which does not say
        return (State.STALE, changed) if changed else (State.COMPLETE, '')
    try:
        result = result_of(path, record) if record else read(path)
    except InputError as error:
        return State.DAMAGED, str(error)
    for name, had, has in _facts(result, wanted, configs):
        if None not in (had, has) and had != has:
            return State.STALE, f'{name} = {had} in the result, {has} in the config'
    remark = '; '.join(result.health.reservations())
    return (State.STALE, changed) if changed else (State.COMPLETE, remark)


def _facts(result: Result, wanted: Wanted, configs: list[Config]) -> Iterator[tuple[str, Any, Any]]:
    """Yield what it is, what the result says, and what the config says; None is unknown."""
    evaluators = (
        evaluator_of(one)
        for config in configs[-1:]
        for one in dicts_of(config, 'datasets')
        if one.get('abbr') == wanted.dataset
    )
    evaluator = next(evaluators, {})
    if not str(evaluator.get('type')).endswith('GPassKEvaluator'):
        evaluator = {}
    yield 'n', result.n, wanted.n
    yield 'k', result.ks, None if wanted.ks is None else sorted(set(wanted.ks))
    thresholds = evaluator.get('thresholds')
    yield 'thresholds', result.thresholds, thresholds if isinstance(thresholds, list) else None
    yield 'questions', result.data.questions, wanted.questions
    yield 'judge', models_of_judge(result.judge), _judges_of(evaluator)


def _judges_of(evaluator: Mapping[str, Any]) -> list[str] | None:
    """Return the models of the LLM judges asked for; None where another package's judge is."""
    if not evaluator or evaluator.get('evaluator') is not None or evaluator.get('judge_serve') is not None:
        return None
    name, judge = evaluator.get('model_name'), evaluator.get('judge')
    if name or judge is None:
        return [name] if name else []
    return models_of_judge(judge) if _is_our_judge(judge) else None


def _is_our_judge(judge: Any) -> bool:
    """Whether its identity has the fields that its config has: so it is for judges of this package alone."""
    kind = str(mapping(judge).get('type'))
    known = kind in ('rule', 'llm', 'cascade') or kind.startswith('gpassk_opencompass.')
    return known and all(_is_our_judge(judge[part]) for part in ('first', 'second') if part in judge)


def models_of_judge(judge: Any) -> list[str]:
    """Return the models of a judge and of those within it."""
    if not isinstance(judge, dict):
        return []
    within = {model for part in ('first', 'second') for model in models_of_judge(judge.get(part))}
    return sorted({*within, *([judge['model']] if isinstance(judge.get('model'), str) else [])})


class Failure(NamedTuple):
    """What went wrong, in a line, and the logs that say so."""

    text: str
    logs: tuple[Excerpt, ...] = ()


def _failure_in(work_dir: Path, logs: Sequence[Path], start: Start | None) -> Failure | None:
    """Return why there is no result; None if all was stopped or killed before it could fail.

    Args:
        logs: of the tasks that have not done what they should.
        start: the command that worked last, if `gpassk run` started it.
    """
    if start is None or start.code is None:
        for log in logs:
            lines = last_lines(log)
            if error := error_in(lines):
                return Failure(error, (Excerpt(log, tuple(lines[-LOG_LINES:])),))
        return None
    if start.cause:
        return Failure(start.cause)
    if start.stopped or -start.code in _ENDED_BY_SOMEBODY:
        return None
    return _explained(work_dir, logs, start.code, seconds_of(start.began) or 0.0)


def _explained(work_dir: Path, logs: Sequence[Path], code: int, began: float) -> Failure:
    """Return the log with an error in it, else the end of a task's newest log, else of the command's.

    Logs from before `began` are of other commands.
    """
    own = work_dir / LOG
    said, tasks = last_lines(own), []
    for log in sorted(logs, key=_changed_at, reverse=True):
        if _changed_at(log) >= began - 1 and (lines := last_lines(log)):
            tasks.append((log, lines))
    log, lines = next(((log, lines) for log, lines in tasks if error_in(lines)), (own, said))
    text = error_in(lines)
    if code == 0 and tasks and log == own:  # killed for memory, aborted by CUDA, refused by srun, …
        log, lines = tasks[0]
        text = f'{last_said(lines) or "nothing"} (end of {log.name}, which has no traceback)'
    errors = [line for line in said if ' ERROR ' in line or ' failed with code ' in line]
    more = (Excerpt(own, tuple(errors[-2:])),) if errors and log != own else ()
    if not text and code == 0:
        text = 'no task left a result'
    elif not text:
        full = '' if shutil.disk_usage(work_dir).free else f'No space left on the disk of {work_dir}'
        why = '; '.join(filter(None, [last_said(said), full]))  # what it had to say may not be in its log
        how = 'was killed by' if code < 0 else 'ended with'
        text = f'opencompass {how} {described(code)}' + (f': {why}' if why else '')
    return Failure(text, (Excerpt(log, tuple(lines[-LOG_LINES:])), *more))


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def summary(findings: Iterable[Finding]) -> str:
    """Return how many are in which state, in words.

    >>> findings = [Finding('a', State.COMPLETE), Finding('b', State.FAILED)]
    >>> summary([*findings, Finding('c', State.COMPLETE, 'cut')])
    '3 runs: 2 complete (1 of them with a remark), 1 failed'
    """
    groups: dict[State, list[Finding]] = {state: [] for state in reversed(State)}
    for finding in findings:
        groups[finding.state].append(finding)
    remarked = sum(bool(finding.detail) for finding in groups[State.COMPLETE])
    remark = {State.COMPLETE: f' ({remarked} of them with a remark)'} if remarked else {}
    parts = [f'{len(group)} {state.value}{remark.get(state, "")}' for state, group in groups.items() if group]
    total = sum(map(len, groups.values()))
    return f'{total} run{"" if total == 1 else "s"}: {", ".join(parts) or "none"}'
