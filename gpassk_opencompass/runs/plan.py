"""Which runs there should be, from a folder of configs or from the work directories alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import digest
from ..naming.manifest import Entry, read_manifest
from ..sweep.configs import signature
from .config_file import Config, assigned_in, dicts_of, read_config


class Wanted(NamedTuple):
    """One result file: `results/<model>/<dataset>.json`; None is what the config does not say."""

    model: str
    dataset: str
    n: int | None
    ks: tuple[int, ...] | None
    questions: int | None = None


@dataclass(frozen=True)
class Planned:
    """One run: a config, and what it should leave."""

    name: str
    """Of the config file without `.py`, and of the work directory."""
    wanted: tuple[Wanted, ...] = ()
    """Empty where the config computes them: what OpenCompass keeps of it tells then."""
    signature: str | None = None
    """See `sweep.signature`; None where the config computes its values."""
    config: Path | None = None
    """None for a run that is known from its work directory alone."""
    sha256: str | None = None

    def values(self) -> Config | None:
        """The variables of the config; None if it is not there (any more), or computes them."""
        try:
            return None if self.config is None else read_config(self.config)
        except InputError:
            return None


class Plan(NamedTuple):
    """The runs, and the names of configs that are left out as the template no longer gives them."""

    runs: tuple[Planned, ...]
    left_out: tuple[str, ...]


def planned_runs(paths: Sequence[Path]) -> Plan:
    """A run for each config.

    Args:
        paths: configs, or folders of configs. A config that the manifest of its folder calls stale is left
            out, unless it is named itself.

    Raises:
        InputError: there is no such config, one cannot be read or is a template, or two have one name.
    """
    runs: dict[str, Planned] = {}
    left_out: list[str] = []
    for path in paths:
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


def planned_as(name: str, config: Config) -> Planned:
    """The run of a config that OpenCompass has kept."""
    return Planned(name, wanted_by(config), signature(config))


def wanted_by(config: Config) -> tuple[Wanted, ...]:
    """The results of all models × data sets of a config that have an abbreviation."""
    models, datasets = (
        [entry for entry in dicts_of(config, name) if isinstance(entry.get('abbr'), str)]
        for name in ('models', 'datasets')
    )
    return tuple(
        Wanted(model['abbr'], dataset['abbr'], _n(dataset), _ks(dataset))
        for model, dataset in product(models, datasets)
    )


def _entries(folder: Path) -> dict[str, Entry]:
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
        return Planned(config.stem, (wanted,), entry.signature, config, sha256)
    values = read_config(config)
    _refuse_template(config, values)
    if values is None:
        return Planned(config.stem, config=config, sha256=sha256)
    return Planned(config.stem, wanted_by(values), signature(values), config, sha256)


def _refuse_template(config: Path, values: Config | None) -> None:
    """Without models there is nothing to run, and OpenCompass says so in a way that helps nobody."""
    if 'llm_infos' in assigned_in(config):
        raise InputError(f'{config} is a template; expand it first with gpassk expand, and run its configs')
    missing = [] if values is None else [name for name in ('models', 'datasets') if not values.get(name)]
    if missing:
        raise InputError(
            f'{config} has no {" and no ".join(missing)}, so it is no config of OpenCompass; if it is a '
            'template, expand it first with gpassk expand'
        )


def _n(dataset: Mapping[str, Any]) -> int | None:
    n = dataset.get('n', 1)
    return n if isinstance(n, int) else None


def _ks(dataset: Mapping[str, Any]) -> tuple[int, ...] | None:
    k = dataset.get('k', 1)
    ks: Iterable[Any] = k if isinstance(k, (list, tuple)) else (k,)
    return tuple(sorted(set(ks))) if all(isinstance(value, int) for value in ks) else None
