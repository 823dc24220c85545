"""What runs on the same questions have in common, and the intervals of many of them, computed together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # scipy: who only asks in what state runs are needs none
    from ..metrics import Metric
    from ..uncertainty import Interval
    from ..uncertainty.design import Design
    from .result import Result

_MOST_VALUES = 1_000_000
"""Values of metrics that are held at once, which bounds the memory."""


class Asked(NamedTuple):
    """The questions of a run, as its intervals see them."""

    design: Design
    """Of all questions."""
    groups: dict[str, tuple[NDArray[np.intp], Design]]
    """The rows of the questions of each group, and what their means have in common."""


@lru_cache(maxsize=8)
def asked(problems: tuple[str, ...], groups: tuple[str, ...]) -> Asked:
    """Return what is the same for all runs whose questions have these problems and groups."""
    from ..uncertainty.design import design_of

    names, numbers = np.array(groups), np.unique(problems, return_inverse=True)[1]
    places = {group: np.flatnonzero(names == group) for group in dict.fromkeys(groups)}
    of_groups = {group: (rows, design_of(numbers[rows].tolist())) for group, rows in places.items()}
    return Asked(design_of(problems), of_groups)


class Found(NamedTuple):
    """The intervals of some metrics of one result."""

    whole: list[Interval]
    """What `Result.intervals` returns."""
    by_group: dict[str, list[Interval]]
    """What `Result.intervals_by_group` returns."""


def intervals_of_each(results: Sequence[Result], metrics: Sequence[Metric], level: float) -> list[Found]:
    """Return the intervals of each result; those on the same questions are computed together."""
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for place, result in enumerate(results):
        alike[id(result.asked)].append(place)
    found: dict[int, Found] = {}
    for places in alike.values():
        size = max(1, _MOST_VALUES // max(1, len(metrics) * results[places[0]].counts.size))
        for start in range(0, len(places), size):
            some = places[start : start + size]
            found.update(zip(some, _found([results[place] for place in some], metrics, level), strict=True))
    return [found[place] for place in range(len(results))]


def _found(results: Sequence[Result], metrics: Sequence[Metric], level: float) -> Iterator[Found]:
    """Return the intervals of results on the same questions."""
    from ..uncertainty.intervals import check_level, mean_intervals

    check_level(level)
    design, groups = results[0].asked
    values = np.concatenate([result.table(metrics) for result in results])
    levels = [level] * len(values)
    whole = mean_intervals(values, design, levels)
    by_group = {
        group: mean_intervals(values[:, rows], of_group, levels) for group, (rows, of_group) in groups.items()
    }
    for start in range(0, len(values), len(metrics)):
        own = slice(start, start + len(metrics))
        of_groups = {group: intervals[own] for group, intervals in by_group.items()}
        yield Found(whole[own], of_groups)
