"""`manifest.jsonl`: what the configs of a folder are, a line each."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import InputError

MANIFEST = 'manifest.jsonl'

LARGEST = 10**40
"""No setting or size is as large, and Python does not write numbers of thousands of digits."""


@dataclass(frozen=True)
class ModelFacts:
    """What a leaderboard says of a model beside its scores; None is not known.

    They change no score, and are no part of a signature.
    """

    open_source: bool | None = None
    """Whether its weights are published."""
    mathematical: bool | None = None
    """Whether it is trained for mathematics."""
    o1_like: bool | None = None
    """Whether it reasons at length before it answers."""
    parameters: str | None = None
    """How many it has: '7B', '1.5B', '671B'."""
    link: str | None = None
    """A page on it."""

    def known(self) -> dict[str, Any]:
        """Return what is known.

        >>> ModelFacts(o1_like=False, parameters='7B').known()
        {'o1_like': False, 'parameters': '7B'}
        """
        return {name: value for name, value in asdict(self).items() if value is not None}


_FACTS = frozenset(ModelFacts.__dataclass_fields__)
"""A later version may tell more of a model; that is passed over."""


@dataclass(frozen=True)
class Entry:
    """One config of a folder.

    `model_abbr` and `dataset_abbr` are those of OpenCompass: the result of the config is
    `<work_dir>/<time>/results/<model_abbr>/<dataset_abbr>.json`.
    """

    file: str
    """Name in the folder of the manifest."""
    template: str
    """File name of the template that gives it."""
    model: str
    path: str
    """Name and path of the model."""
    model_abbr: str
    dataset_abbr: str
    settings: Mapping[str, float | int]
    """What is passed to the model: temperature, top_p, …, max_out_len."""
    benchmark: str
    k: tuple[int, ...]
    n: int | None
    """Samples a question; None if a template with data sets of its own does not say."""
    questions: int | None
    """How many the benchmark has; None where that is not known before it is loaded."""
    signature: str
    """Hash of what determines the numbers, see `sweep.configs.signature`."""
    sha256: str
    """`files.digest` of the file as it was written."""
    stale: bool = field(default=False)
    """The template no longer gives it, and the file is still there."""
    facts: ModelFacts = field(default=ModelFacts())
    """What the template says of the model."""
    limit: int | None = field(default=None)
    """How many of the questions were asked for with `--limit`; None: all are."""
    samples: int | None = field(default=None)
    """n, where `--samples` said it."""

    @property
    def is_limited(self) -> bool:
        """Whether the run was made smaller with --limit or --samples."""
        return self.limit is not None or self.samples is not None

    def written(self) -> dict[str, Any]:
        """Return the fields of a line; marks of a smaller run only where there are some."""
        marks = {name for name in ('limit', 'samples') if getattr(self, name) is None}
        fields = {name: value for name, value in vars(self).items() if name not in marks}
        return {**fields, 'facts': self.facts.known()}


def read_manifest(folder: Path) -> tuple[Entry, ...]:
    """Return the entries of a folder's manifest, stale ones too; none if it has no manifest.

    Raises:
        InputError: the file cannot be read, or a line is not an entry.
    """
    path = folder / MANIFEST
    try:
        with path.open(encoding='utf-8') as file:
            lines = file.readlines()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValueError) as error:
        raise InputError(f'cannot read the manifest {path}: {error}') from error
    return tuple(_entry(line, f'{path}:{number}') for number, line in enumerate(lines, start=1))


def models_below(folders: Iterable[Path], more: Iterable[Path] = ()) -> dict[str, Entry]:
    """Return the abbreviation of each model of some manifests → its entry, unless two tell different paths.

    Of several the last one counts, and what a template says now before what is stale.

    Args:
        folders: in which or below which manifests lie.
        more: folders with a manifest.

    Raises:
        InputError: of `read_manifest`.
    """
    walks = (os.walk(folder) for folder in folders)
    homes = [Path(root) for walk in walks for root, _, names in walk if MANIFEST in names]
    entries = [entry for home in dict.fromkeys([*homes, *more]) for entry in read_manifest(home)]
    entries.sort(key=lambda entry: not entry.stale)
    models = {entry.model_abbr: entry for entry in entries}
    unclear = {entry.model_abbr for entry in entries if entry.path != models[entry.model_abbr].path}
    return {abbr: entry for abbr, entry in models.items() if abbr not in unclear}


def manifest_text(entries: Iterable[Entry]) -> str:
    """Return the text of a manifest, as `read_manifest` reads it."""
    return ''.join(json.dumps(entry.written(), ensure_ascii=False) + '\n' for entry in entries)


def merged(
    earlier: Sequence[Entry], current: Sequence[Entry], template: str, limited: bool = False
) -> list[Entry]:
    """Return the entries of a folder after a template was expanded into it.

    Those of other templates stay as they are, unless this one now writes their file; those of this
    template that it no longer gives become stale. Templates come in the order of their names.

    Args:
        limited: the runs were made smaller for a look, so whole ones stay what they are.
    """
    files = {entry.file for entry in current}
    left = [entry for entry in earlier if entry.file not in files]
    stale, others = [], []
    for entry in left:
        if entry.template == template and (entry.is_limited or not limited):
            stale.append(replace(entry, stale=True))
        else:
            others.append(entry)
    return sorted([*current, *stale, *others], key=lambda entry: entry.template)


def _entry(line: str, where: str) -> Entry:
    try:
        fields: Any = json.loads(line)
        json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()  # no halves of characters
        fields['k'] = tuple(fields['k'])
        facts = fields.get('facts', {}).items()
        fields['facts'] = ModelFacts(**{name: fact for name, fact in facts if name in _FACTS})
        entry = Entry(**fields)
        _check_types(entry)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(
            f'{where} is not an entry of a manifest ({error}); if it was changed by hand, or is of '
            'another version, remove the file: the next expansion or run writes it anew'
        ) from error
    _check_file(entry.file, where)
    return entry


def _check_types(entry: Entry) -> None:
    """Raise TypeError for a value of another kind than is written: anybody may have edited a manifest."""
    fields = dict(vars(entry))
    for name in ('file', 'k', 'n', 'questions', 'settings', 'stale', 'facts', 'limit', 'samples'):
        del fields[name]
    if wrong := [name for name, value in fields.items() if not isinstance(value, str)]:
        raise TypeError(f'{wrong[0]} is no text')
    for name, value in entry.facts.known().items():
        if not isinstance(value, str if name in ('parameters', 'link') else bool):
            raise TypeError(f'{name} of facts is {value!r:.40}')
    if not isinstance(entry.settings, dict):
        raise TypeError('settings is no object')
    counts = [value for value in (entry.n, entry.questions, entry.limit, entry.samples) if value is not None]
    for value in (*entry.k, *counts, *entry.settings.values()):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > LARGEST:
            raise TypeError(f'{value!r:.40} is no number that a config has')


def _check_file(name: Any, where: str) -> None:
    """Refuse a file outside of the folder of the manifest, which names files to remove."""
    if not isinstance(name, str) or re.fullmatch(r'[^/\0]+\.py', name, re.DOTALL) is None:
        raise InputError(f'{where} names the file {name!r}; expected the name of a config in its folder')
