"""What a sweep is to leave: configs, read as data and never executed, and the runs that they make.

A run is a config, or all configs of a model and setting that is loaded in process: then it is loaded once.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import digest, mapping
from ..sweep.folder import MANIFEST, NO_LITERAL, Entry, literal, plain, read_manifest
from ..text import warn

Config = Mapping[str, Any]

_IN_PROCESS = ('SeededTurboMind', 'SeededVLLM', 'SeededHuggingFace')  # load their model where they sample


def read_config(path: Path) -> dict[str, Any] | None:
    """Return the variables of a config of literals and `dict(…)`; None if it computes or imports something.

    InputError where it cannot be read or is no Python.
    """
    try:
        lines = ast.parse(path.read_bytes(), str(path)).body
    except OSError as error:
        raise InputError(f'cannot read {path}: {error.strerror}') from error
    except NO_LITERAL as error:
        raise InputError(f'{path} is not valid Python: {error}') from error
    values = {}
    for line in lines:
        match line:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                try:
                    values[name] = plain(literal(value), name)
                except NO_LITERAL:
                    return None
            case ast.Expr(value=ast.Constant()):
                pass
            case _:
                return None
    return values


def dicts_of(config: Config, name: str) -> list[Config]:
    """Return the dicts of a list of the config; none if it has no such list."""
    entries = config.get(name)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def configs_in(time_dir: Path) -> list[Config]:
    """Return the configs of each start in a time directory, without those that a kill has cut."""
    found: list[Config] = []
    for path in sorted(time_dir.glob('configs/*.py')):
        with suppress(InputError):
            found.append(read_config(path) or {})
    return [config for config in found if config.get('models') and config.get('datasets')]


def entries_in(time_dir: Path) -> tuple[dict[str, Config], dict[str, Config]]:
    """Return the models and data sets of these configs by abbreviation; of several the last one counts."""
    models, datasets = dict[str, Config](), dict[str, Config]()
    for config in configs_in(time_dir):
        models |= {str(one.get('abbr')): one for one in dicts_of(config, 'models')}
        datasets |= {str(one.get('abbr')): one for one in dicts_of(config, 'datasets')}
    return models, datasets


def evaluator_of(dataset: Config) -> Config:
    """Return the evaluator that a data set of a config names."""
    return mapping(mapping(dataset.get('eval_cfg')).get('evaluator'))


class Wanted(NamedTuple):
    """One result: the entries in the config of its model and its data set."""

    model: Config
    dataset: Config
    questions: int | None = None  # None where nobody knows yet

    @property
    def part(self) -> str:
        """Return where its files lie below `results`, `predictions` and `logs/…`, without an ending."""
        return f'{self.model["abbr"]}/{self.dataset["abbr"]}'


@dataclass(frozen=True)
class Planned:
    """One run."""

    name: str  # of its work directory: that of the config without `.py`, or what several have before the @
    values: Config = field(default_factory=dict)  # the variables of the config, with the data sets of all
    configs: tuple[Path, ...] = ()  # none for a run that is known from its work directory alone
    entries: tuple[Entry, ...] = ()  # of a config in the manifest beside it, where it is as it was written

    @property
    def wanted(self) -> list[Wanted]:
        """Return its results, of all models × data sets that have an abbreviation."""
        models, datasets = (
            [one for one in dicts_of(self.values, name) if isinstance(one.get('abbr'), str)]
            for name in ('models', 'datasets')
        )
        questions = {entry.dataset_abbr: entry.questions for entry in self.entries}
        return [Wanted(model, data, questions.get(data['abbr'])) for model, data in product(models, datasets)]

    @property
    def model(self) -> str:
        """Return a text that runs of one model share."""
        return ', '.join(f'{one.get("path")}' for one in dicts_of(self.values, 'models')) or self.name


def planned_runs(paths: Iterable[Path]) -> list[Planned]:
    """Return the runs of configs, or of folders of configs, without those that a manifest calls stale.

    InputError where there is no config, one cannot be read or is a template, or two have one name.
    """
    runs: dict[str, Planned] = {}
    left_out: list[str] = []
    for path in paths:
        if path.name == MANIFEST:
            raise InputError(
                f'{path} is no config, but the list of them: did you mean gpassk run {path.parent}?'
            )
        entries = {one.file: one for one in read_manifest(path if path.is_dir() else path.parent)}
        stale = {name for name, entry in entries.items() if entry.stale and path.is_dir()}
        configs = sorted(path.glob('*.py')) if path.is_dir() else [path]
        if not configs:
            raise InputError(f'no config in {path}: expand a template first, with gpassk expand')
        left_out += [config.name for config in configs if config.name in stale]
        for run in (_read(one, entries.get(one.name)) for one in configs if one.name not in stale):
            other = runs.setdefault(run.name, run)
            if other.configs != run.configs:
                raise InputError(
                    f'{other.configs[0]} and {run.configs[0]} have one name, so one work directory: rename '
                    'one of them, or run them with different -w'
                )
    if left_out:
        warn(
            f'left out, as their template no longer gives them: {len(left_out)} configs, such as '
            f'{left_out[0]}; name them to run them, or remove them with gpassk expand --prune'
        )
    return _loaded_once(runs.values())


def _read(config: Path, entry: Entry | None) -> Planned:
    config = Path(os.path.abspath(config))  # a link keeps its name, which names the run
    values = read_config(config)
    if values is None or not (values.get('models') and values.get('datasets')):
        raise InputError(
            f'{config} computes or imports its values, or is a template: gpassk expand writes configs of it '
            'that can be run'
            if values is None or 'llm_infos' in values
            else f'{config} is no config of OpenCompass: it needs models and datasets'
        )
    known = entry is not None and entry.sha256 == digest(config.read_bytes())
    return Planned(config.stem, values, (config,), (entry,) if entry is not None and known else ())


def _loaded_once(runs: Iterable[Planned]) -> list[Planned]:
    """Make one run of the configs `MODEL…@DATA…` that differ in their data sets alone."""
    groups: dict[str, list[Planned]] = {}
    for run in runs:
        kinds = [str(one.get('type')).rpartition('.')[2] for one in dicts_of(run.values, 'models')]
        shared = '@' in run.name and len(kinds) == 1 and kinds[0] in _IN_PROCESS
        rest = {name: value for name, value in run.values.items() if name != 'datasets'}
        groups.setdefault(repr((run.name.partition('@')[0], rest)) if shared else run.name, []).append(run)
    found: list[Planned] = []
    for group in groups.values():
        name = group[0].name.partition('@')[0]
        datasets = [one for run in group for one in dicts_of(run.values, 'datasets')]
        different = len({str(one.get('abbr')) for one in datasets}) == len(datasets)
        if len(group) > 1 and different and name not in [run.name.partition('@')[0] for run in found]:
            configs = tuple(config for run in group for config in run.configs)
            entries = tuple(entry for run in group for entry in run.entries)
            found.append(Planned(name, {**group[0].values, 'datasets': datasets}, configs, entries))
        else:
            found += group
    return found


def by_model(runs: Iterable[Planned]) -> dict[str, list[Planned]]:
    """Return the runs of each model."""
    models: dict[str, list[Planned]] = {}
    for run in runs:
        models.setdefault(run.model, []).append(run)
    return models


def part_of(runs: Sequence[Planned], number: int, parts: int) -> list[Planned]:
    """Return the runs of one of several parts, from 1: all of a model together, about equally many each."""
    shares: list[list[Planned]] = [[] for _ in range(parts)]
    for _, group in sorted(by_model(runs).items(), key=lambda item: (-len(item[1]), item[0])):
        min(shares, key=len).extend(group)
    return [run for run in runs if run in shares[number - 1]]
