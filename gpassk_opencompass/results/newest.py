"""Which of several results of one run counts: the newest, and of rounds of `gpassk run --until` the last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
    earlier_round: bool
    """Whether it is a round of `gpassk run --until` before that which counts: nothing is lost with it."""


def newest_of(results: Iterable[Result]) -> tuple[list[Result], list[Replaced]]:
    """Return the newest complete result of each run, and the others."""
    kept: defaultdict[tuple[str, ...], list[Result]] = defaultdict(list)
    instead: dict[Path, tuple[Result, Result]] = {}
    for result in sorted(results, key=_age, reverse=True):
        namesakes = kept[_names(result)]
        newer = next((other for other in namesakes if _same_run(result, other)), None)
        if newer is None:
            namesakes.append(result)
        elif _is_later_round(result, newer):
            namesakes[namesakes.index(newer)] = result
            instead[newer.path] = newer, result
        else:
            instead[result.path] = result, newer
    replaced = [_replaced(result, by, instead) for result, by in instead.values()]
    return [result for namesakes in kept.values() for result in namesakes], replaced[::-1]


def _replaced(result: Result, by: Result, instead: Mapping[Path, tuple[Result, Result]]) -> Replaced:
    while by.path in instead:  # a later round took the place of what had taken that of this one
        _, by = instead[by.path]
    why = f'{result.path}: there is a newer result of this run, {by.path}'
    return Replaced(result.path, by.path, why, _is_later_round(by, result))


def in_lines(replaced: Sequence[Replaced]) -> list[str]:
    """Return what does not count, for a reader: a line each, and one of all earlier rounds together."""
    rounds = [one for one in replaced if one.earlier_round]
    runs = len({one.by for one in rounds})
    together = f'{_count(len(rounds), "earlier round")} of {_count(runs, "run")} of gpassk run --until'
    return [*(one.why for one in replaced if not one.earlier_round), *([together] if rounds else [])]


def _count(number: int, what: str) -> str:
    return f'{number} {what}{"" if number == 1 else "s"}'


def _same_run(result: Result, other: Result) -> bool:
    """Whether two results with the same names are of one run."""
    if result.host == 'opencompass' and result.path.parents[3:4] == other.path.parents[3:4]:
        return True
    return (result.data, result.judge_digest) == (other.data, other.judge_digest)


def _is_later_round(result: Result, other: Result) -> bool:
    """Whether two results are rounds of one `gpassk run --until`, and the first has more samples.

    A round whose result was lost is evaluated again, in a folder that is newer than those of later rounds.
    """
    if result.n <= other.n or result.path.parents[3:4] != other.path.parents[3:4]:
        return False
    return bool(result.stopped and other.stopped)


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
