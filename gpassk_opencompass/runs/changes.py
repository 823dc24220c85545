"""Whether a config is still what a time directory was made with."""

from __future__ import annotations

from dataclasses import dataclass

from ..sweep.configs import signature
from .config_file import sampling_signature
from .plan import Planned
from .starts import Starts
from .work_dir import TimeDir


@dataclass(frozen=True)
class Change:
    """How the config differs; '' where it does not."""

    sampling: str = ''
    """Then the samples are of no use any more."""
    evaluation: str = ''
    """Then they are, and only need to be judged again."""


def changed_since(run: Planned, time_dir: TimeDir, starts: Starts) -> Change:
    """Compare the config of a run with those that OpenCompass kept in a time directory.

    A config that computes its values is compared by its bytes, if `gpassk run` has noted them.
    """
    if run.signature is None:
        made = starts.made(time_dir.time)
        same = made is None or run.sha256 in (None, made.sha256)
        return Change() if same else Change(sampling='the config file was changed since')
    kept = [signature(config) for config in time_dir.configs]
    if not kept:
        return Change(sampling=f'no readable config in {time_dir.time}/configs tells its settings')
    if set(kept) == {run.signature}:
        return Change()
    # Every start in a directory may have drawn samples, the last one has judged them.
    if {sampling_signature(config) for config in time_dir.configs} != {_sampling_of(run, time_dir, kept)}:
        return Change(sampling='the config was changed since')
    if kept[-1] != run.signature:
        return Change(evaluation='k or the judge was changed since, the samples hold')
    return Change()


def _sampling_of(run: Planned, time_dir: TimeDir, kept: list[str]) -> str | None:
    if run.signature in kept:
        return sampling_signature(time_dir.configs[kept.index(run.signature)])
    values = run.values()
    return None if values is None else sampling_signature(values)
