"""What lies in a work directory: what OpenCompass leaves there, and what `gpassk run` notes beside it.

OpenCompass keeps neither its options nor its exit code, and a resumed run needs the number of workers of its
start, so `gpassk run` notes which command it started there, and how that ended. The notes are in
`<work_dir>/.gpassk/`, a name that sorts before the time directories: OpenCompass takes the last name of the
work directory for the latest run (`-r`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import PROVENANCE, mapping, parse_json, read_json, replace_file
from ..sweep.folder import MANIFEST, Entry, manifest_text
from ..times import seconds_of, seconds_of_folder
from .config_file import Config, dicts_of, read_config

NOTES = '.gpassk'
"""The folder of the notes in a work directory."""

LOG = f'{NOTES}/opencompass.log'
"""The output of the latest command that `gpassk run` started, in a work directory."""

DIRECTORY = f'{NOTES}/cwd'
"""The directory in which that command ran, in a work directory."""

SIZES = '.cache/dataset_size.json'
"""The file with the number of rows of each data set, relative to where OpenCompass runs."""

LOG_BYTES = 64 * 1024

_STARTS = 'starts.jsonl'

OWN_NOTES = ('lock', _STARTS, 'opencompass.log', 'cwd', MANIFEST)
"""What tells the notes of a work directory from those beside work directories, which are of many runs."""
_TIME_NAME = re.compile(r'\d{8}_\d{6}')


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
        [entry for entry in dicts_of(config, name) if isinstance(entry.get('abbr'), str)]
        for name in ('models', 'datasets')
    )
    return tuple(
        Wanted(model['abbr'], dataset['abbr'], _n(dataset), _ks(dataset))
        for model, dataset in product(models, datasets)
    )


def _n(dataset: Mapping[str, Any]) -> int | None:
    n = dataset.get('n', 1)
    return n if isinstance(n, int) else None


def _ks(dataset: Mapping[str, Any]) -> tuple[int, ...] | None:
    k = dataset.get('k', 1)
    ks: Iterable[Any] = k if isinstance(k, (list, tuple)) else (k,)
    return tuple(sorted(set(ks))) if all(isinstance(value, int) for value in ks) else None


@dataclass(frozen=True)
class Start:
    """One `opencompass` command."""

    started: str
    """When, in the form of the names of time directories, see `utc`."""
    resumes: str | None
    """The time directory given with -r; None: OpenCompass made one soon after `started`."""
    workers: int | None
    """--max-num-workers; None: it was not given."""
    config: str
    sha256: str
    """The SHA-256 of the config."""
    mode: str = 'all'
    """-m: 'all', 'infer' or 'eval'."""
    options: tuple[str, ...] = ()
    """All that were given."""
    code: int | None = None
    """Exit code, negative for a signal; None while it runs, and after a kill of `gpassk run` itself."""
    stopped: bool = False
    """Whether Ctrl-C in `gpassk run` ended it."""
    utc: bool = False
    """Whether `started`, and the time directory that it made, are named in UTC and not in local time."""


class Starts:
    """The commands that were started in a work directory, oldest first."""

    def __init__(self, work_dir: Path) -> None:
        self._work_dir = work_dir
        self._path = work_dir / NOTES / _STARTS
        self._starts = _read_starts(self._path)

    @property
    def last(self) -> Start | None:
        """Return the latest command; None if there is none."""
        return self._starts[-1] if self._starts else None

    def made(self, time: str) -> Start | None:
        """Return the command that made a time directory; None if `gpassk run` did not start it.

        A command makes one directory, the first one from its start on, and before the next command starts.
        """
        left = sorted({*times_in(self._work_dir), time})
        for number, start in enumerate(self._starts):
            # One that resumes it came later, whatever the clock said by then.
            later = (one for one in self._starts[number + 1 :] if one.resumes != time)
            following = next(later, None)
            own = [one for one in left if _is_between(one, start, following)]
            if start.resumes is None and own:
                left.remove(own[0])
                if own[0] == time:
                    return start
        return None

    def last_of(self, time: str) -> Start | None:
        """Return the latest command that worked in a time directory."""
        maker = self.made(time)
        own = [start for start in self._starts if start is maker or start.resumes == time]
        return own[-1] if own else None

    def begin(self, start: Start) -> None:
        """Note a command that is about to start."""
        self._append(start)
        self._starts.append(start)

    def end(self, code: int, stopped: bool) -> None:
        """Note how the latest command ended."""
        ended = replace(self._starts[-1], code=code, stopped=stopped)
        self._append(ended)
        self._starts[-1] = ended

    def _append(self, start: Start) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        torn = self._path.exists() and not self._path.read_bytes().endswith(b'\n')
        with self._path.open('a', encoding='utf-8') as file:
            file.write(('\n' if torn else '') + json.dumps(asdict(start)) + '\n')
            file.flush()
            os.fsync(file.fileno())


def times_in(work_dir: Path) -> list[str]:
    """Return the names of the time directories."""
    try:
        return [path.name for path in work_dir.iterdir() if _TIME_NAME.fullmatch(path.name) and path.is_dir()]
    except OSError:
        return []


def _is_between(time: str, start: Start, following: Start | None) -> bool:
    if following is None or following.started < start.started:  # by then the clock was set back
        return start.started <= time
    return start.started <= time <= following.started


def _read_starts(path: Path) -> list[Start]:
    """Read the notes; leave out a line torn by a kill; the end of a command replaces its start."""
    starts: list[Start] = []
    try:
        lines = path.read_text(encoding='utf-8', errors='replace').splitlines()
    except OSError:
        return starts
    for line in lines:
        start = _start(line)
        if start is not None and starts and start.code is not None and _same(start, starts[-1]):
            starts[-1] = start
        elif start is not None:
            starts.append(start)
    return starts


def _start(line: str) -> Start | None:
    try:
        fields: Any = parse_json(line)
        return Start(**{**fields, 'options': tuple(fields['options'])}) if _is_start(fields) else None
    except (ValueError, TypeError, KeyError):
        return None


def _is_start(fields: Mapping[str, Any]) -> bool:
    texts = all(isinstance(fields[name], str) for name in ('started', 'config'))
    return texts and isinstance(fields['code'], (int, type(None)))


def _same(ended: Start, begun: Start) -> bool:
    return begun.code is None and (ended.started, ended.resumes) == (begun.started, begun.resumes)


class Predictions(NamedTuple):
    """How far the sampling of one result is."""

    done: int
    unfinished: tuple[str, ...]
    """Shards that were begun, or failed before their first sample."""
    damaged: tuple[Path, ...]


class Shards(NamedTuple):
    """The files of one result's samples: name of the shard, `<abbr>` or `<abbr>_<number>` → file."""

    whole: dict[str, Path]
    begun: dict[str, Path]
    """Resume files of shards that are not whole."""


class TimeDir:
    """One `<work_dir>/<time>`."""

    def __init__(self, path: Path, utc: bool = False) -> None:
        self.path = path
        self.time = path.name
        self._utc = utc

    @property
    def begun(self) -> float:
        """Return when its first sample was drawn, in seconds since 1970; before that, what its name says."""
        told = [seconds_of(one.get('created')) for one in self.provenances]
        return min(
            (moment for moment in told if moment is not None),
            default=seconds_of_folder(self.time, self._utc) or 0.0,
        )

    @cached_property
    def provenances(self) -> tuple[Mapping[str, Any], ...]:
        """Return what is told of each model's samples, without what cannot be read."""
        found = []
        for path in self.path.glob(f'predictions/**/{PROVENANCE}'):
            with suppress(OSError, ValueError):
                found.append(mapping(read_json(path)))
        return tuple(found)

    @cached_property
    def configs(self) -> tuple[Config, ...]:
        """Return the configs of each start in this directory, without those that cannot be read."""
        return tuple(_readable(sorted(self.path.glob('configs/*.py'))))

    @property
    def is_bare(self) -> bool:
        """Whether it ended before its config was kept and a sample was drawn, as on a full disk."""
        left = (path for kind in ('predictions', 'results') for path in self.path.glob(f'{kind}/**/*.json*'))
        return not self.configs and not any(left)

    def result(self, wanted: Wanted) -> Path:
        """Return where a result is, or would be."""
        return self.path / 'results' / wanted.model / f'{wanted.dataset}.json'

    def predictions(self, wanted: Wanted) -> Predictions:
        """Count what is there."""
        whole, begun = self.shards(wanted)
        logged = {path.stem for path in self.logs('infer', wanted)} - set(whole)
        counts = {path: count_rows(path) for path in whole.values()}
        return Predictions(
            done=sum(count or 0 for count in counts.values()) + sum(map(_lines, begun.values())),
            unfinished=tuple(sorted(logged | set(begun))),
            damaged=tuple(path for path, count in counts.items() if count is None),
        )

    def shards(self, wanted: Wanted) -> Shards:
        """Return the files of the samples, those that are whole and those that are still drawn."""
        folder = self.path / 'predictions' / wanted.model
        whole = {path.stem: path for path in _shards(folder, wanted.dataset, '.json')}
        begun = {
            name: path
            for path in _shards(folder, f'tmp_{wanted.dataset}', '.jsonl')
            if (name := path.stem.removeprefix('tmp_')) not in whole
        }
        return Shards(whole, begun)

    def logs(self, stage: str, wanted: Wanted) -> list[Path]:
        """Return the logs of the tasks of a stage, 'infer' or 'eval', for one result."""
        return sorted(_shards(self.path / 'logs' / stage / wanted.model, wanted.dataset, '.out'))


def keep_entry(work_dir: Path, entry: Entry) -> None:
    """Keep what the manifest says of a run beside its results, for reports, which look for manifests there.

    Raises:
        OSError: it cannot be written.
    """
    path, content = work_dir / NOTES / MANIFEST, manifest_text([entry]).encode()
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content, path.with_name(f'{MANIFEST}.{os.getpid()}'))


def time_dirs(work_dir: Path) -> list[TimeDir]:
    """List the time directories, the newest one first; nothing else in the work directory counts."""
    starts = Starts(work_dir)
    made = {name: starts.made(name) for name in times_in(work_dir)}
    found = [TimeDir(work_dir / name, start is not None and start.utc) for name, start in made.items()]
    return sorted(found, key=lambda one: (one.begun, one.time), reverse=True)


def rows_of(work_dir: Path, dataset: str) -> int | None:
    """Return how many samples OpenCompass counted when `gpassk run` last started it."""
    try:
        sizes = read_json(work_dir / DIRECTORY / SIZES)
    except (OSError, ValueError):
        return None
    size = mapping(sizes).get(dataset)
    return size if isinstance(size, int) else None


def changed_at(path: Path) -> float:
    """Return when a file was last written to, in seconds since the epoch; 0 if it cannot be told."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def last_lines(path: Path) -> list[str]:
    """Return the last lines of a log, a progress bar as it last was; none if it cannot be read."""
    try:
        with path.open('rb') as file:
            file.seek(max(0, path.stat().st_size - LOG_BYTES))
            text = file.read().decode(errors='replace')
    except OSError:
        return []
    lines = (line.rstrip('\r').rpartition('\r')[2].rstrip() for line in text.split('\n'))
    return [line for line in lines if line]


def _readable(paths: Iterable[Path]) -> Iterator[Config]:
    for path in paths:
        try:
            config = read_config(path)
        except InputError:
            continue
        if config is not None and config.get('models') and config.get('datasets'):  # else cut by a kill
            yield config


def _shards(folder: Path, stem: str, suffix: str) -> Iterator[Path]:
    """Yield the file of a data set and those of its shards, `<stem>_0`, `<stem>_1`, …"""
    shard = re.compile(re.escape(stem) + r'(_\d+)?' + re.escape(suffix))
    try:
        yield from (path for path in folder.iterdir() if shard.fullmatch(path.name))
    except OSError:
        return


def count_rows(path: Path) -> int | None:
    """Return how many samples a file of predictions has; None if it cannot be read."""
    try:
        predictions = read_json(path)
    except (OSError, ValueError):
        return None
    return len(predictions) if isinstance(predictions, dict) else None


def _lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b'\n')
    except OSError:
        return 0
