"""Configs of a sweep made smaller: written anew, under names of their own, beside the work directories."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import digest, replace_file
from ..naming.file_names import check_file_name
from ..naming.manifest import MANIFEST, Entry, manifest_text, read_manifest
from ..sweep.configs import config_source, signature
from ..sweep.limits import LimitedData, Limits, limited_data, notes_on, said
from .config_file import dicts_of
from .plan import Plan, Planned, planned_runs

FOLDER = Path('.gpassk', 'limited')
"""Where the configs are written, in the folder of the work directories."""


class LimitedPlan(NamedTuple):
    """The runs in place of those of the configs given, and lines on what is another than one might think."""

    plan: Plan
    notes: list[str]


class _Smaller(NamedTuple):
    """A config made smaller."""

    file: str
    content: bytes
    entry: Entry | None


def limited_plan(paths: Sequence[Path], limits: Limits, outputs: Path) -> LimitedPlan:
    """Write each config with fewer questions or another n into `<outputs>/.gpassk/limited`, and plan these.

    The configs themselves stay as they are. A config that the limits do not change (a greedy run with
    --samples) is run itself.

    Args:
        paths: configs, or folders of configs, as for `planned_runs`.
        outputs: the folder of the work directories.

    Raises:
        InputError: a config computes its values, or the folder cannot be written to.
    """
    whole = planned_runs(paths)
    if not limits:
        return LimitedPlan(whole, [])
    chosen: dict[str, Path] = {}
    found: list[LimitedData] = []
    written: dict[str, _Smaller] = {}
    same = 0
    for run in whole.runs:
        assert run.config is not None  # planned from a file
        datasets, values = _limited(run, limits)
        found += datasets
        smaller = _smaller(run, datasets, values, limits)
        if smaller is None:
            chosen[run.config.name] = run.config
            continue
        same += _is_written(written, smaller)
        chosen[smaller.file] = outputs / FOLDER / smaller.file
    _write(outputs / FOLDER, written)
    plan = Plan(planned_runs(list(chosen.values())).runs, whole.left_out)
    return LimitedPlan(plan, notes_on(found, limits, same))


def _is_written(written: dict[str, _Smaller], smaller: _Smaller) -> bool:
    """Note a config; return whether it was there already, of another one that became the same."""
    other = written.setdefault(smaller.file, smaller)
    if _body(other.content) != _body(smaller.content):
        raise InputError(
            f'two configs would both be called {smaller.file}: run them apart, with different -w'
        )
    return other is not smaller


def _body(content: bytes) -> bytes:
    """Return a config without its first line, which says where it comes from."""
    return content.partition(b'\n')[2]


def _limited(run: Planned, limits: Limits) -> tuple[list[LimitedData], Mapping[str, Any]]:
    values = run.values()
    if values is None:
        raise InputError(
            f'{run.config} computes or imports its values, so {said(limits)} cannot be written into it: give '
            'its data sets limit=…, or expand a template with these options'
        )
    questions = run.entry.questions if run.entry is not None else None
    return [limited_data(one, limits, questions) for one in dicts_of(values, 'datasets')], values


def _smaller(
    run: Planned, datasets: Sequence[LimitedData], values: Mapping[str, Any], limits: Limits
) -> _Smaller | None:
    """Return the config made smaller; None where nothing changes."""
    if [one.config for one in datasets] == dicts_of(values, 'datasets'):
        return None
    config = {**values, 'datasets': [dict(one.config) for one in datasets]}
    file = check_file_name(f'{_name(run.name, datasets, limits)}.py')
    assert run.config is not None
    content = config_source(config, run.config.name).encode()
    return _Smaller(file, content, _entry(run.entry, file, content, datasets[0], config))


def _name(name: str, datasets: Sequence[LimitedData], limits: Limits) -> str:
    if len(datasets) == 1:
        return datasets[0].renamed(name)
    return LimitedData({}, (), None, limits.limit, limits.samples, ()).renamed(name)


def _entry(
    entry: Entry | None, file: str, content: bytes, data: LimitedData, config: Mapping[str, Any]
) -> Entry | None:
    """Return what a manifest says of the smaller config; None where none says something of the whole."""
    if entry is None:
        return None
    return replace(
        entry,
        file=file,
        dataset_abbr=str(data.config['abbr']),
        signature=signature(config),
        sha256=digest(content),
        **data.sizes(entry.questions),
    )


def _write(folder: Path, written: Mapping[str, _Smaller]) -> None:
    """Write the configs that are not there as they are, and the manifest of the folder.

    Raises:
        InputError: it cannot be done.
    """
    if not written:
        return
    entries = {one.file: one.entry for one in written.values() if one.entry is not None}
    draft = folder / f'.writing-{os.getpid()}'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, one in written.items():
            if not (folder / name).is_file() or (folder / name).read_bytes() != one.content:
                replace_file(folder / name, one.content, draft)
        earlier = {entry.file: entry for entry in read_manifest(folder)}
        if any(earlier.get(name) != entry for name, entry in entries.items()):
            text = manifest_text({**earlier, **entries}.values())
            replace_file(folder / MANIFEST, text.encode(), draft)
    except OSError as error:
        raise InputError(f'cannot write to {folder}: {error.strerror}; choose another -w') from error
