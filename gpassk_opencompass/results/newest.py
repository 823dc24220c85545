"""Which of several results of one run counts: the newest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..files import mapping
from ..times import seconds_of, seconds_of_folder
from .result import Result


class Replaced(NamedTuple):
    """A complete result that does not count."""

    path: Path
    by: Path
    """That which counts for its run."""
    why: str


def newest_of(results: Iterable[Result]) -> tuple[list[Result], list[Replaced]]:
    """Return the newest complete result of each run, and the others."""
    kept: defaultdict[tuple[str, ...], list[Result]] = defaultdict(list)
    replaced = []
    for result in sorted(results, key=_age, reverse=True):
        namesakes = kept[_names(result)]
        newer = next((other for other in namesakes if _same_run(result, other)), None)
        if newer is None:
            namesakes.append(result)
        else:
            why = f'{result.path}: there is a newer result of this run, {newer.path}'
            replaced.append(Replaced(result.path, newer.path, why))
    return [result for namesakes in kept.values() for result in namesakes], replaced[::-1]


def _same_run(result: Result, other: Result) -> bool:
    """Whether two results with the same names are of one run."""
    if result.host == 'opencompass' and result.path.parents[3:4] == other.path.parents[3:4]:
        return True
    return (result.data, result.judge_digest) == (other.data, other.judge_digest)


def _names(result: Result) -> tuple[str, ...]:
    return result.host, result.model_abbr, result.dataset_abbr, result.whole_name


def _age(result: Result) -> tuple[float, str]:
    """Return what sorts results of one host by age.

    The record tells when its first sample was drawn or when it was made, in UTC. A result of OpenCompass that
    does not is as old as the name of its folder says, in local time; any other as its file.
    """
    begun = seconds_of(mapping(result.block.get('provenance')).get('created'))
    if begun is None and result.host == 'opencompass':
        begun = next(filter(None, (seconds_of_folder(part.name) for part in result.path.parents[2:3])), 0.0)
    elif begun is None:
        begun = seconds_of(mapping(result.block.get('run')).get('created'))
    return result.path.stat().st_mtime if begun is None else begun, str(result.path)
