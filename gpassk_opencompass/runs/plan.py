"""Which runs there should be, from configs or from the work directories alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from ..files import digest, mapping
from ..sweep.folder import MANIFEST, Entry, read_manifest, signature
from .config_file import Config, assigned_in, dicts_of, read_config
from .work_dir import NOTES, OWN_NOTES, Starts, Wanted, time_dirs, wanted_by

_OWN_CLASSES = re.compile(r'GPassKEvaluator|GPassKSummarizer|Seeded\w+')


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

    def work_dir(self, outputs: Path) -> Path:
        """Return its work directory in a folder of them."""
        return outputs / self.name

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
                f'{path} is no config, but the list of those beside it: did you mean '
                f'gpassk run {path.parent}?'
            )
        entries = _entries(path if path.is_dir() else path.parent)
        configs = sorted(path.glob('*.py')) if path.is_dir() else [path]
        if not configs:
            raise InputError(f'no config in {path}: expand a template first, with gpassk expand')
        for config in configs:
            entry = entries.get(config.name)
            if path.is_dir() and entry is not None and entry.stale:
                left_out.append(config.name)
            else:
                _add(runs, _planned(config, entry))
    return Plan(tuple(runs.values()), tuple(left_out))


def _entries(folder: Path) -> dict[str, Entry]:
    """Return what the manifest of a folder says, read once: each of many work directories asks for it."""
    try:
        status = (folder / MANIFEST).stat()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return _entries_of(folder, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=8)
def _entries_of(folder: Path, version: tuple[int, int, int]) -> dict[str, Entry]:
    return {entry.file: entry for entry in read_manifest(folder)}


def _add(runs: dict[str, Planned], run: Planned) -> None:
    other = runs.setdefault(run.name, run)
    if other.config is not None and run.config is not None and other.config != run.config:
        raise InputError(
            f'{other.config} and {run.config} have one name, so one work directory: rename one of them, or '
            'run them with different -w'
        )


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
    _refuse_template(config, values)
    _refuse_bare_names(config, values or {})
    if values is None:
        return Planned(config.stem, config=config, sha256=sha256)
    return Planned(config.stem, wanted_by(values), signature(values), config, sha256)


def _refuse_template(config: Path, values: Config | None) -> None:
    """Refuse a config without models or data sets, of which OpenCompass says nothing helpful."""
    if 'llm_infos' in assigned_in(config):
        raise InputError(f'{config} is a template; expand it first with gpassk expand, and run its configs')
    missing = [] if values is None else [name for name in ('models', 'datasets') if not values.get(name)]
    if missing:
        raise InputError(
            f'{config} has no {" and no ".join(missing)}, so it is no config of OpenCompass; if it is a '
            'template, expand it first with gpassk expand'
        )


def _refuse_bare_names(config: Path, values: Config) -> None:
    """Refuse a class of this package that is named alone where OpenCompass has not imported it yet.

    What stands in a data set of this package is looked up after that data set was imported.
    """
    parts = [('models', model) for model in dicts_of(values, 'models')]
    for dataset in dicts_of(values, 'datasets'):
        if not str(dataset.get('type')).startswith(f'{__name__.partition(".")[0]}.'):
            parts += [
                (f'{where}.{name}', mapping(mapping(dataset.get(where)).get(name)))
                for where, name in (('infer_cfg', 'inferencer'), ('eval_cfg', 'evaluator'))
            ]
    for where, part in parts:
        kind = part.get('type')
        if isinstance(kind, str) and _OWN_CLASSES.fullmatch(kind):
            raise InputError(
                f'{config}: OpenCompass does not find type={part["type"]!r} in {where}; write '
                f'type={"gpassk_opencompass." + kind!r}'
            )


class Discovered(NamedTuple):
    """Runs with their work directories, and the names of folders that are none."""

    runs: tuple[tuple[Planned, Path], ...]
    foreign: tuple[str, ...]


def discovered_runs(outputs: Path) -> Discovered:
    """Return the runs of the work directories in a folder, or of a work directory.

    What a run should be is told by the config that `gpassk run` was given, if it is still there, else by
    what OpenCompass keeps in the time directories.

    Raises:
        InputError: there is no such folder, or no work directory in it.
    """
    if not outputs.is_dir():
        raise InputError(f'{outputs} is no folder; expected work directories of OpenCompass')
    if _is_work_dir(outputs):
        return Discovered(tuple(_runs_of(outputs)), ())
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
    return Discovered(tuple(run for path in work_dirs for run in _runs_of(path)), foreign)


def _is_work_dir(path: Path) -> bool:
    """Whether runs were begun in a folder; notes of another kind are kept beside work directories, too."""
    own = (path / NOTES / name for name in OWN_NOTES)
    return bool(time_dirs(path)) or any(map(os.path.exists, own))  # Path.exists raises where one may not look


def _runs_of(work_dir: Path) -> Iterator[tuple[Planned, Path]]:
    given = _given(work_dir)
    if given is not None:
        yield given, work_dir
        return
    kept: dict[str, Planned] = {}
    for time_dir in time_dirs(work_dir):
        for config in time_dir.configs[-1:]:
            run = Planned(work_dir.name, wanted_by(config), signature(config))
            kept.setdefault(', '.join(f'{one.model}@{one.dataset}' for one in run.wanted), run)
    for names, run in kept.items():
        label = work_dir.name if len(kept) == 1 else f'{work_dir.name}: {names}'
        yield Planned(label, run.wanted, run.signature), work_dir
    if not kept:
        yield Planned(work_dir.name), work_dir


def _given(work_dir: Path) -> Planned | None:
    last = Starts(work_dir).last
    config = None if last is None else Path(last.config)
    if config is None or config.stem != work_dir.name or not config.is_file():
        return None
    try:
        return planned_runs([config]).runs[0]
    except InputError:
        return None
