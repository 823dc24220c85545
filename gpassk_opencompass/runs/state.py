"""In what state the runs of a sweep are, from files alone: what configs ask for, what work directories hold.

A run is a config, or all configs of one model and setting where the model is loaded in process: then it is
loaded once. Its work directory `OUTPUTS/<name>` has a folder for each time that OpenCompass was started anew,
named by the moment. OpenCompass keeps neither its options nor its exit code, so `gpassk run` notes in
`.gpassk/` which commands it started, and how they ended: a name that sorts before the time directories, of
which OpenCompass takes the last one for the latest. Nothing here starts or changes a run.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import FROM_ENVIRONMENT, PROVENANCE, digest, mapping, parse_json, read_json
from ..log_errors import error_in, last_lines, last_said
from ..marks import changed, difference, read_notes, settings_of
from ..predictions import JOURNAL
from ..processes import described
from ..record import read, result_of
from ..serving import variable_digest
from ..sweep.folder import MANIFEST, NO_LITERAL, Entry, literal, plain, read_manifest, signature
from ..text import seconds_of, seconds_of_folder
from .lock import HOLDER, NOTES, holder_of

STARTS, LOG, DIRECTORY = (f'{NOTES}/{name}' for name in ('starts.jsonl', 'opencompass.log', 'cwd'))
"""In a work directory: the commands that were started, what the last one said, where it runs."""

SIZES = '.cache/dataset_size.json'
"""Where OpenCompass counts the rows of data sets, in the directory that it runs in."""

LOG_LINES = 40
_TIME = re.compile(r'\d{8}_\d{6}')
_ENDED_BY_SOMEBODY = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that say nothing of the run, also where the system needs its memory; others are of a crash."""

_IN_PROCESS = ('SeededTurboMind', 'SeededVLLM', 'SeededHuggingFace')
"""Classes that load their model where they sample."""

Config = Mapping[str, Any]


# Configs, read as data: nothing in them is executed


def read_config(path: Path) -> dict[str, Any] | None:
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
            if isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant):
                continue
            if not isinstance(line, ast.Assign):
                return None
            [target] = line.targets
            if not isinstance(target, ast.Name):
                return None
            values[target.id] = plain(literal(line.value), target.id)
    except NO_LITERAL:
        return None
    return values


def dicts_of(config: Config, name: str) -> list[Mapping[str, Any]]:
    """Return the dicts of a list of the config; none if it has no such list."""
    entries = config.get(name)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def evaluator_of(dataset: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the evaluator that a data set of a config names."""
    return mapping(mapping(dataset.get('eval_cfg')).get('evaluator'))


class Wanted(NamedTuple):
    """One result: the entries in the config of its model and its data set."""

    model: Mapping[str, Any]
    dataset: Mapping[str, Any]
    questions: int | None = None
    """None where nobody knows yet."""

    @property
    def part(self) -> str:
        """Return where its files lie below `results`, `predictions` and `logs/…`, without an ending."""
        return f'{self.model["abbr"]}/{self.dataset["abbr"]}'


def wanted_by(config: Config, questions: int | None = None) -> tuple[Wanted, ...]:
    """Return the results of all models × data sets of a config that have an abbreviation."""
    models, datasets = (
        [one for one in dicts_of(config, name) if isinstance(one.get('abbr'), str)]
        for name in ('models', 'datasets')
    )
    return tuple(Wanted(model, dataset, questions) for model, dataset in product(models, datasets))


@dataclass(frozen=True)
class Planned:
    """One run, and what it should leave."""

    name: str
    """Of its work directory: that of the config without `.py`, or what several have before the @."""
    wanted: tuple[Wanted, ...] = ()
    """Empty where the config computes them: what OpenCompass keeps of it tells then."""
    configs: tuple[Path, ...] = ()
    """None for a run that is known from its work directory alone."""
    values: Config | None = None
    """The variables of the config, with the data sets of all; None if it computes them."""
    sha256: str = ''
    """Of the configs."""
    entries: tuple[Entry, ...] = ()
    """What the manifest beside a config says of it, where the config is as it was written."""


class Plan(NamedTuple):
    """The runs, and the names of configs that are left out as the template no longer gives them."""

    runs: tuple[Planned, ...]
    left_out: tuple[str, ...]


def planned_runs(paths: Sequence[Path]) -> Plan:
    """Return the runs of configs, or of folders of configs.

    A config that the manifest of its folder calls stale is left out, unless it is named itself.

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
            if other.configs != run.configs:
                raise InputError(
                    f'{other.configs[0]} and {run.configs[0]} have one name, so one work directory: rename '
                    'one of them, or run them with different -w'
                )
    return Plan(_loaded_once(list(runs.values())), tuple(left_out))


def _planned(config: Path, entry: Entry | None) -> Planned:
    config = Path(os.path.abspath(config))  # a link keeps its name, which names the run
    try:
        content = config.read_bytes()
    except OSError as error:
        raise InputError(f'cannot read the config {config}: {error.strerror}') from error
    values, sha256 = read_config(config), digest(content)
    if re.search(rb'^llm_infos\s*=', content, re.MULTILINE):
        raise InputError(f'{config} is a template; expand it first with gpassk expand, and run its configs')
    if values is None:
        return Planned(config.stem, (), (config,), None, sha256)
    if missing := [name for name in ('models', 'datasets') if not values.get(name)]:
        raise InputError(
            f'{config} has no {" and no ".join(missing)}, so it is no config of OpenCompass; if it is a '
            'template, expand it first with gpassk expand'
        )
    known = entry if entry is not None and entry.sha256 == sha256 else None
    wanted = wanted_by(values, known.questions if known else None)
    return Planned(config.stem, wanted, (config,), values, sha256, (known,) if known else ())


def _loaded_once(runs: Sequence[Planned]) -> tuple[Planned, ...]:
    """Make one run of the configs `MODEL…@DATA…` that differ in their data sets alone."""
    groups: dict[str, list[Planned]] = {}
    for run in runs:
        kinds = [str(one.get('type')).rpartition('.')[2] for one in dicts_of(run.values or {}, 'models')]
        shared = '@' in run.name and len(kinds) == 1 and kinds[0] in _IN_PROCESS
        rest = {name: value for name, value in (run.values or {}).items() if name != 'datasets'}
        groups.setdefault(repr((run.name.partition('@')[0], rest)) if shared else run.name, []).append(run)
    found: list[Planned] = []
    for first, *others in groups.values():
        group = [first, *others]
        wanted = tuple(one for run in group for one in run.wanted)
        names = [run.name.partition('@')[0] for run in found]
        name = first.name.partition('@')[0]
        if not others or len({one.part for one in wanted}) < len(wanted) or name in names:
            found += group
            continue
        values = {**(first.values or {}), 'datasets': [one.dataset for one in wanted]}
        configs = tuple(config for run in group for config in run.configs)
        sha256 = digest(''.join(run.sha256 for run in group).encode())
        entries = tuple(entry for run in group for entry in run.entries)
        found.append(Planned(name, wanted, configs, values, sha256, entries))
    return tuple(found)


def discovered_runs(outputs: Path) -> list[tuple[Planned, Path]]:
    """Return the runs of the work directories in a folder, or of a work directory, with these.

    What a run should be is told by the configs that `gpassk run` was given, if they are still there, else by
    what OpenCompass keeps in the time directories.

    Raises:
        InputError: there is no such folder, or no work directory in it.
    """
    if not outputs.is_dir():
        raise InputError(f'{outputs} is no folder; expected work directories of OpenCompass')
    try:
        folders = [outputs] if _is_work_dir(outputs) else sorted(filter(_is_work_dir, outputs.iterdir()))
    except OSError as error:
        raise InputError(f'cannot read {outputs}: {error.strerror}') from error
    if not folders:
        raise InputError(
            f'no work directory of OpenCompass in {outputs}: expected <work_dir>/<YYYYmmdd_HHMMSS>/configs; '
            'with --configs FOLDER, runs that were never started are listed'
        )
    return [(_run_of(path), path) for path in folders]


def _is_work_dir(path: Path) -> bool:
    return path.is_dir() and (bool(time_dirs(path)) or any((path / one).exists() for one in (STARTS, HOLDER)))


def _run_of(work_dir: Path) -> Planned:
    starts = read_starts(work_dir)
    configs = [Path(one) for one in starts[-1].configs] if starts else []
    if configs and all(config.is_file() for config in configs):
        with suppress(InputError):
            [run] = planned_runs(configs).runs
            if run.name == work_dir.name:
                return run
    kept = [config for time_dir in time_dirs(work_dir) for config in kept_configs(time_dir)[-1:]]
    return Planned(work_dir.name, wanted_by(kept[0]) if kept else ())


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
    configs: list[str]
    sha256: str
    """Of the configs."""
    mode: str = 'all'
    """-m: 'all', 'infer' or 'eval'."""
    code: int | None = None
    """Exit code, negative for a signal; None while it runs, and after a kill of `gpassk run` itself."""
    stopped: bool = False
    """Whether Ctrl-C in `gpassk run` ended it."""
    cause: str = ''
    """Why `gpassk run` ended it: its server died."""


def read_starts(work_dir: Path) -> list[Start]:
    """Read the commands, oldest first; the end of one replaces its start, a torn line is left out."""
    starts: dict[tuple[str, str], Start] = {}
    with suppress(OSError):
        for line in (work_dir / STARTS).read_text(encoding='utf-8', errors='replace').splitlines():
            with suppress(ValueError, TypeError):
                start = Start(**parse_json(line))
                if isinstance(start.configs, list) and isinstance(start.code, (int, type(None))):
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


def time_dirs(work_dir: Path) -> list[Path]:
    """Return the time directories, the newest first; ours are named in UTC, OpenCompass's are not."""
    ours = {start.time for start in read_starts(work_dir)}
    try:
        found = [path for path in work_dir.iterdir() if _TIME.fullmatch(path.name) and path.is_dir()]
    except OSError:
        return []

    def begun(path: Path) -> tuple[float, str]:
        told = [seconds_of(read_notes(file.parent).created) for file in _provenance(path)]
        known = [moment for moment in told if moment is not None]
        return min(known, default=seconds_of_folder(path.name, path.name in ours) or 0.0), path.name

    return sorted(found, key=begun, reverse=True)


def _provenance(time_dir: Path) -> Iterable[Path]:
    return time_dir.glob(f'predictions/**/{PROVENANCE}')


def kept_configs(time_dir: Path) -> list[Config]:
    """Return the configs of each start in a time directory, without those that a kill has cut."""
    kept: list[Config] = []
    for path in sorted(time_dir.glob('configs/*.py')):
        with suppress(InputError):
            config = read_config(path)
            if config is not None and config.get('models') and config.get('datasets'):
                kept.append(config)
    return kept


def samples_in(time_dir: Path, wanted: Wanted) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return the files of predictions of a result, and the journals of those that are not whole.

    A file stands for its stem, `<abbr>` or, of a shard, `<abbr>_<number>`.
    """
    shard = re.compile(re.escape(wanted.dataset['abbr']) + r'(_\d+)?')
    whole: dict[str, Path] = {}
    begun: dict[str, Path] = {}
    with suppress(OSError):
        for path in sorted((time_dir / 'predictions' / wanted.part).parent.iterdir()):
            for suffix, found in (('.json', whole), (JOURNAL, begun)):
                stem = path.name.removesuffix(suffix)
                if stem != path.name and shard.fullmatch(stem):
                    found[stem] = path
    return whole, {stem: path for stem, path in begun.items() if stem not in whole}


def _count_rows(path: Path) -> int | None:
    """Return how many samples a file of predictions has; None if it cannot be read."""
    with suppress(OSError, ValueError):
        with path.open('rb') as file:
            if file.read(3) == b'{\n"':  # as we write it, a row a line
                *rows, end = file
                return len(rows) if end.strip() == b'}' else None
        predictions = read_json(path)
        return len(predictions) if isinstance(predictions, dict) else None
    return None


def expected_rows(work_dir: Path, wanted: Wanted) -> int | None:
    """Return how many samples a result has when it is complete; None where nobody knows yet."""
    n = wanted.dataset.get('n', 1)
    if isinstance(n, int) and wanted.questions is not None:
        return n * wanted.questions
    with suppress(OSError, ValueError):
        size = mapping(read_json(work_dir / DIRECTORY / SIZES)).get(wanted.dataset['abbr'])
        return size if isinstance(size, int) else None
    return None


class DrawnSamples:
    """Counts the samples of a run that is at work, look by look, and the tokens of those that came since."""

    def __init__(self, run: Planned, work_dir: Path, time: str) -> None:
        self._run, self._work_dir, self._time_dir = run, work_dir, work_dir / time
        self._read: dict[Path, tuple[int, int]] = {}
        """File → how far it was read, and its rows; predictions are whole, and read once."""
        self.tokens = 0

    def count(self) -> tuple[int, int | None]:
        """Return how many samples are drawn, and how many there should be; None where that is not known."""
        drawn, first = 0, not self._read
        wanted = self._run.wanted or wanted_by(next(iter(kept_configs(self._time_dir)[-1:]), {}))
        for one in wanted:
            whole, begun = samples_in(self._time_dir, one)
            for path in whole.values():
                if path not in self._read:
                    self._read[path] = 0, _count_rows(path) or 0
            for path in begun.values():
                self._count_lines(path, first)
            drawn += sum(self._read[path][1] for path in [*whole.values(), *begun.values()])
        totals = [expected_rows(self._work_dir, one) for one in wanted]
        return drawn, sum(one or 0 for one in totals) if totals and None not in totals else None

    def _count_lines(self, path: Path, first: bool) -> None:
        read, rows = self._read.get(path, (0, 0))
        with suppress(OSError), path.open('rb') as file:  # gone: its predictions are there the next time
            if path.stat().st_size < read:
                read = rows = 0
            file.seek(read)
            while (line := file.readline()).endswith(b'\n'):
                read, rows = read + len(line), rows + 1
                if not first and (tokens := re.search(rb'"output_tokens": ?(\d+)', line)):
                    self.tokens += int(tokens[1])
        self._read[path] = read, rows


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
    sampled: bool = False
    """Whether all samples are drawn."""
    predictions: int = 0
    expected: int | None = None
    results: tuple[Path, ...] = ()
    in_the_way: tuple[Path, ...] = ()
    """Files that OpenCompass would take for finished ones, and that must be put aside to go on."""
    logs: tuple[Excerpt, ...] = field(default=(), repr=False)
    """The ends of the logs of what failed."""

    @property
    def progress(self) -> str:
        """Return how many predictions there are."""
        return f'{self.predictions} of {"?" if self.expected is None else self.expected} predictions'


def examine(run: Planned, work_dir: Path, *, holding: bool = False) -> Finding:
    """Return the state of a run; nothing is written.

    The newest time directory with a complete result counts. Without one it is the newest whose samples are of
    the config as it is now, else the newest.

    Args:
        run: what there should be.
        work_dir: `-w` of its commands.
        holding: the caller holds the lock of the work directory, so nobody else is at work.
    """
    starts, found = read_starts(work_dir), []
    for time_dir in time_dirs(work_dir):
        own = [start for start in starts if start.time == time_dir.name]
        found.append(_in_time_dir(run, work_dir, time_dir, own))
        if found[-1].state is State.COMPLETE:
            return found[-1]
    if starts and not (work_dir / starts[-1].time).is_dir():
        found.insert(0, _without_samples(Finding(run.name, State.MISSING, '', work_dir), starts[-1]))
    found = found or [Finding(run.name, State.MISSING, 'never started', work_dir)]
    chosen = next((finding for finding in found if finding.resumable), found[0])
    holder = None if holding else holder_of(work_dir)
    if holder is not None and holder.is_alive:
        who = '' if holder.is_here else f' ({holder})'
        return replace(chosen, state=State.PARTIAL, detail=f'at work, {chosen.progress}{who}', logs=())
    return chosen


def _in_time_dir(run: Planned, work_dir: Path, time_dir: Path, starts: Sequence[Start]) -> Finding:
    kept = kept_configs(time_dir)
    nothing = 'no model or data set with an abbr in its config'
    about = Finding(run.name, State.FAILED, nothing, work_dir, time_dir.name)
    left = (path for kind in ('predictions', 'results') for path in time_dir.glob(f'{kind}/**/*.json*'))
    if not kept and not any(left):  # ended before its config was kept, as on a full disk
        return _without_samples(about, starts[-1] if starts else None)
    findings = []
    for wanted in run.wanted or (wanted_by(kept[-1]) if kept else ()):
        samples, verdicts = _changes(run, wanted, time_dir, kept, starts)
        result = time_dir / 'results' / f'{wanted.part}.json'
        if not result.exists():
            findings.append(_without_result(about, time_dir, wanted, samples, starts))
            continue
        state, detail = _state_of_result(result, wanted, samples or verdicts)
        usable, done = not samples, state is State.COMPLETE
        one = replace(about, state=state, detail=detail, results=(result,), resumable=usable, sampled=usable)
        findings.append(one if done else replace(one, in_the_way=(result,)))
    return merged(findings) if findings else about


def merged(findings: Sequence[Finding]) -> Finding:
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


def _changes(
    run: Planned, wanted: Wanted, time_dir: Path, kept: Sequence[Config], starts: Sequence[Start]
) -> tuple[str, str]:
    """Say how samples and verdicts in a time directory are of another config; '' where they are of this one.

    Every start there may have drawn samples, the last one has judged them. A config that computes its values
    is compared by its bytes, if `gpassk run` has noted them.
    """
    for file in _provenance(time_dir):
        for source in read_notes(file.parent).sources.values():
            for name, was in mapping(source.get('files')).items():
                variable = name.removeprefix(FROM_ENVIRONMENT)
                if variable != name and os.environ.get(variable) and variable_digest(variable) != was:
                    return f'${variable}, with which the server was started, has another value now', ''
    if run.configs and run.values is None:
        same = not starts or starts[0].sha256 == run.sha256
        return '' if same else 'the config file was changed since', ''
    if not kept:
        return f'no readable config in {time_dir.name}/configs tells its settings', ''
    then = [one for config in kept for one in wanted_by(config) if one.part == wanted.part]
    drawn, judged = zip(*(_signatures(one) for one in (wanted, *then)), strict=True)
    if len({*drawn}) > 1:
        told = (difference(settings_of(*one[:2]), settings_of(*wanted[:2])).lstrip('.') for one in then)
        why = next(filter(None, told), '')
        return f'the config was changed since{f": it had {why}" if why else ""}', ''
    return '', 'k or the judge was changed since, the samples hold' if judged[0] != judged[-1] else ''


def _signatures(wanted: Wanted) -> tuple[str, str]:
    """Return a text that configs share which draw the same samples, and one of those that judge them so."""
    unjudged = {name: value for name, value in wanted.dataset.items() if name not in ('eval_cfg', 'k')}
    return tuple(
        signature({'models': [wanted.model], 'datasets': [one]}) for one in (unjudged, wanted.dataset)
    )  # type: ignore[return-value]


def _state_of_result(path: Path, wanted: Wanted, change: str) -> tuple[State, str]:
    """Return that a result is complete, with what has to be known of it, or what speaks against that.

    What the result says of itself counts beside the configs: a directory can be resumed with a changed
    config, which leaves a finished result as it is.
    """
    try:
        record = mapping(read_json(path))
    except (OSError, ValueError):
        record = {}  # `read` says what is wrong with it
    if 'error' in record:
        return State.FAILED, f'the evaluation returned an error: {record["error"]}'
    if record and 'gpassk' not in record:  # of another evaluator, which does not say
        return (State.STALE, change) if change else (State.COMPLETE, '')
    try:
        result = result_of(path, record) if record else read(path)
    except InputError as error:
        return State.DAMAGED, str(error)
    change = change or changed(result, wanted.model, wanted.dataset)
    if not change and wanted.questions not in (None, result.data.questions):
        change = f'questions = {result.data.questions} in the result, {wanted.questions} in the config'
    return (State.STALE, change) if change else (State.COMPLETE, '; '.join(result.health.reservations()))


def _without_samples(about: Finding, start: Start | None) -> Finding:
    failure, logs = _failure(about.work_dir, (), start)
    if failure:
        return replace(about, state=State.FAILED, detail=failure, logs=logs)
    how = _stopped(start) if start else 'stopped'
    return replace(about, state=State.MISSING, detail=f'{how} before anything was sampled')


def _without_result(
    about: Finding, time_dir: Path, wanted: Wanted, change: str, starts: Sequence[Start]
) -> Finding:
    whole, begun = samples_in(time_dir, wanted)
    counts = {path: _count_rows(path) for path in whole.values()}
    damaged = tuple(path for path, count in counts.items() if count is None)
    done = sum(count or 0 for count in counts.values())
    for path in begun.values():
        with suppress(OSError):
            done += path.read_bytes().count(b'\n')
    expected = expected_rows(about.work_dir, wanted)
    about = replace(about, predictions=done, expected=expected, in_the_way=damaged)
    if change:
        return replace(about, state=State.STALE, detail=f'{change}; {about.progress} of before')
    infer, judge = (
        [
            log
            for log in (time_dir / 'logs' / stage / wanted.part).parent.glob('*.out')
            if log.stem not in done_
        ]
        for stage, done_ in (('infer', whole), ('eval', ()))
    )
    unfinished = begun or infer
    sampled = bool(done) and not damaged and not unfinished and done == (expected or done)
    about = replace(about, resumable=True, sampled=sampled)
    start = starts[-1] if starts else None
    failure: tuple[str, tuple[Excerpt, ...]] = '', ()
    if damaged:
        failure = f'{", ".join(path.name for path in damaged)} cannot be read', ()
    elif not (sampled and start is not None and start.mode == 'infer'):
        failure = _failure(about.work_dir, judge if sampled else infer, start)
    if failure[0]:
        detail = f'{failure[0]}; {about.progress}'
        return replace(about, state=State.FAILED, detail=detail, logs=failure[1])
    if not done and start is not None:
        return replace(about, state=State.PARTIAL, detail=f'{_stopped(start)} before anything was sampled')
    killed = start is not None and (start.code or 0) < 0 and not start.stopped
    how = f'{_stopped(start)}, ' if start is not None and killed else ''
    detail = f'{how}{"not evaluated, " if sampled else ""}{about.progress}'
    return replace(about, state=State.PARTIAL, detail=detail)


def _stopped(start: Start) -> str:
    """Return how a command came to an end that is no failure."""
    if start.stopped:
        return 'stopped'
    if start.code is None:
        return 'gpassk run was killed, or its machine went down,'
    return f'killed by {described(start.code)}' if start.code < 0 else 'ended'


def _failure(work_dir: Path, logs: Sequence[Path], start: Start | None) -> tuple[str, tuple[Excerpt, ...]]:
    """Return why there is no result, and the logs that say so; '' if it was stopped before it could fail.

    The reason is the error in the log of a task, else in that of the command, else the end of a task's newest
    log, else of the command's. A command that nobody has seen end tells by tracebacks alone.

    Args:
        logs: of the tasks that have not done what they should.
        start: the command that worked last, if `gpassk run` started it.
    """
    code, own = (None, work_dir / LOG) if start is None else (start.code, work_dir / LOG)
    if start is not None and start.cause:
        return start.cause, ()
    if start is not None and code is not None and (start.stopped or -code in _ENDED_BY_SOMEBODY):
        return '', ()
    began = 0.0 if start is None or code is None else (seconds_of(start.began) or 0.0) - 1
    tasks = [(moment, log) for log in logs if (moment := _changed_at(log)) >= began]
    said = {log: lines for _, log in sorted(tasks, reverse=True) if (lines := last_lines(log))}
    log = next((log for log, lines in said.items() if error_in(lines)), own)
    if code is None:
        text = error_in(said[log]) if log != own else ''
        return text, (Excerpt(log, tuple(said[log][-LOG_LINES:])),) if text else ()
    ours = last_lines(own)
    text = error_in(said.get(log, ours))
    if code == 0 and said and log == own:  # killed for memory, aborted by CUDA, refused by srun, …
        log = next(iter(said))
        text = f'{last_said(said[log]) or "nothing"} (end of {log.name}, which has no traceback)'
    if not text and code == 0:
        text = 'no task left a result'
    elif not text:
        full = '' if shutil.disk_usage(work_dir).free else f'No space left on the disk of {work_dir}'
        why = '; '.join(filter(None, [last_said(ours), full]))  # what it had to say may not be in its log
        how = 'was killed by' if code < 0 else 'ended with'
        text = f'opencompass {how} {described(code)}' + (f': {why}' if why else '')
    errors = [line for line in ours if ' ERROR ' in line or ' failed with code ' in line]
    more = (Excerpt(own, tuple(errors[-2:])),) if errors and log != own else ()
    return text, (Excerpt(log, tuple(said.get(log, ours)[-LOG_LINES:])), *more)


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
    states = [finding.state for finding in findings]
    remarked = sum(bool(one.detail) for one in findings if one.state is State.COMPLETE)
    remark = {State.COMPLETE: f' ({remarked} of them with a remark)'} if remarked else {}
    parts = [
        f'{states.count(state)} {state.value}{remark.get(state, "")}'
        for state in reversed(State)
        if state in states
    ]
    return f'{len(states)} run{"" if len(states) == 1 else "s"}: {", ".join(parts) or "none"}'
