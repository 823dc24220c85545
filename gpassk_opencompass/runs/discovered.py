"""Which runs a folder of work directories holds, where no config is at hand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from .plan import Planned, planned_as, planned_runs
from .starts import NOTES, Starts
from .work_dir import time_dirs


class Discovered(NamedTuple):
    """Runs with their work directories, and the names of folders that are none."""

    runs: tuple[tuple[Planned, Path], ...]
    foreign: tuple[str, ...]


def discovered_runs(outputs: Path) -> Discovered:
    """The runs below a folder, or of the work directory itself.

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
    foreign = tuple(path.name for path in folders if path not in work_dirs)
    return Discovered(tuple(run for path in work_dirs for run in _runs_of(path)), foreign)


def _is_work_dir(path: Path) -> bool:
    return bool(time_dirs(path)) or os.path.isdir(path / NOTES)  # Path.is_dir raises where one may not look


def _runs_of(work_dir: Path) -> Iterator[tuple[Planned, Path]]:
    given = _given(work_dir)
    if given is not None:
        yield given, work_dir
        return
    kept: dict[str, Planned] = {}
    for time_dir in time_dirs(work_dir):
        for config in time_dir.configs[-1:]:
            run = planned_as(work_dir.name, config)
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
