"""What OpenCompass leaves in `<work_dir>/<time>`: configs, predictions, results, logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from ..files import PROVENANCE, mapping, read_json
from ..times import seconds_of, seconds_of_folder
from .config_file import Config, read_config
from .plan import Wanted
from .starts import NOTES, Starts, times_in

LOG = f'{NOTES}/opencompass.log'
"""In a work directory: what the latest command that `gpassk run` started there has said."""

DIRECTORY = f'{NOTES}/cwd'
"""In a work directory: where that command ran."""

SIZES = '.cache/dataset_size.json'
"""Where OpenCompass keeps the number of rows of each data set, relative to where it runs."""

LOG_BYTES = 64 * 1024


class Predictions(NamedTuple):
    """How far the sampling of one result is."""

    done: int
    unfinished: tuple[str, ...]
    """Shards that were begun, or failed before their first sample."""
    damaged: tuple[Path, ...]


class TimeDir:
    """One `<work_dir>/<time>`."""

    def __init__(self, path: Path, utc: bool = False) -> None:
        self.path = path
        self.time = path.name
        self._utc = utc

    @property
    def begun(self) -> float:
        """When its first sample was drawn, in seconds since 1970; before that, what its name says."""
        told = []
        for path in self.path.glob(f'predictions/**/{PROVENANCE}'):
            with suppress(OSError, ValueError):
                told.append(seconds_of(mapping(read_json(path)).get('created')))
        return min(
            (moment for moment in told if moment is not None),
            default=seconds_of_folder(self.time, self._utc) or 0.0,
        )

    @cached_property
    def configs(self) -> tuple[Config, ...]:
        """What OpenCompass was started with here, each time; without those that cannot be read."""
        return tuple(_readable(sorted(self.path.glob('configs/*.py'))))

    def result(self, wanted: Wanted) -> Path:
        """Where a result is, or would be."""
        return self.path / 'results' / wanted.model / f'{wanted.dataset}.json'

    def predictions(self, wanted: Wanted) -> Predictions:
        """Count what is there."""
        folder = self.path / 'predictions' / wanted.model
        whole = {path.stem: path for path in _shards(folder, wanted.dataset, '.json')}
        begun = {
            path.stem.removeprefix('tmp_'): path
            for path in _shards(folder, f'tmp_{wanted.dataset}', '.jsonl')
            if path.stem.removeprefix('tmp_') not in whole
        }
        logged = {path.stem for path in self.logs('infer', wanted)} - set(whole)
        counts = {path: _count(path) for path in whole.values()}
        return Predictions(
            done=sum(count or 0 for count in counts.values()) + sum(map(_lines, begun.values())),
            unfinished=tuple(sorted(logged | set(begun))),
            damaged=tuple(path for path, count in counts.items() if count is None),
        )

    def logs(self, stage: str, wanted: Wanted) -> list[Path]:
        """Of the tasks of a stage, 'infer' or 'eval', for one result."""
        return sorted(_shards(self.path / 'logs' / stage / wanted.model, wanted.dataset, '.out'))


def time_dirs(work_dir: Path) -> list[TimeDir]:
    """List the time directories, the newest one first; nothing else in the work directory counts."""
    starts = Starts(work_dir)
    made = {name: starts.made(name) for name in times_in(work_dir)}
    found = [TimeDir(work_dir / name, start is not None and start.utc) for name, start in made.items()]
    return sorted(found, key=lambda one: (one.begun, one.time), reverse=True)


def rows_of(work_dir: Path, dataset: str) -> int | None:
    """How many samples OpenCompass counted when `gpassk run` last started it."""
    try:
        sizes = read_json(work_dir / DIRECTORY / SIZES)
    except (OSError, ValueError):
        return None
    size = mapping(sizes).get(dataset)
    return size if isinstance(size, int) else None


def changed_at(path: Path) -> float:
    """When a file was last written to, in seconds since the epoch; 0 if it cannot be told."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def last_lines(path: Path) -> list[str]:
    """The end of a log, of a progress bar only what stood there last; nothing if it cannot be read."""
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
    """The file of a data set and those of its shards, `<stem>_0`, `<stem>_1`, …"""
    shard = re.compile(re.escape(stem) + r'(_\d+)?' + re.escape(suffix))
    try:
        yield from (path for path in folder.iterdir() if shard.fullmatch(path.name))
    except OSError:
        return


def _count(path: Path) -> int | None:
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
