"""The intervals of scores; those of runs on the same questions are computed together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics import Metric
from ..record import Result
from ..uncertainty import Interval
from ..uncertainty.design import Design, design_of
from ..uncertainty.intervals import check_level, mean_intervals

_MOST_VALUES = 1_000_000
"""Values of metrics that are held at once, which bounds the memory."""


class Intervals(NamedTuple):
    """Means of metrics with their intervals for new questions of the same kind."""

    whole: list[Interval]
    """Over all questions, one a metric."""
    by_group: dict[str, list[Interval]]
    """Over the questions of each group that has some."""


class _Questions(NamedTuple):
    """What the means of all runs on the same questions have in common."""

    design: Design
    groups: dict[str, tuple[NDArray[np.intp], Design]]
    """The rows of the questions of each group, and their design."""


def intervals_of(result: Result, metrics: Sequence[Metric], level: float = 0.95) -> Intervals:
    """Return the intervals of one result, see `intervals_of_each`."""
    [found] = intervals_of_each([result], metrics, level)
    return found


def intervals_of_each(results: Sequence[Result], metrics: Sequence[Metric], level: float) -> list[Intervals]:
    """Return the intervals of each result at a level of confidence; of many together it takes less time."""
    check_level(level)
    alike: defaultdict[tuple[tuple[str, ...], ...], list[int]] = defaultdict(list)
    for place, result in enumerate(results):
        alike[tuple(result.counts.problem), tuple(result.counts.group)].append(place)
    found: dict[int, Intervals] = {}
    for places in alike.values():
        size = max(1, _MOST_VALUES // max(1, len(metrics) * len(results[places[0]].table)))
        for start in range(0, len(places), size):
            some = places[start : start + size]
            together = _together([results[place] for place in some], metrics, level)
            found.update(zip(some, together, strict=True))
    return [found[place] for place in range(len(results))]


@lru_cache(maxsize=8)
def _questions_of(problems: tuple[str, ...], groups: tuple[str, ...]) -> _Questions:
    names, numbers = np.array(groups), np.unique(problems, return_inverse=True)[1]
    places = {group: np.flatnonzero(names == group) for group in dict.fromkeys(groups)}
    of_groups = {group: (rows, design_of(numbers[rows].tolist())) for group, rows in places.items()}
    return _Questions(design_of(problems), of_groups)


def _together(results: Sequence[Result], metrics: Sequence[Metric], level: float) -> Iterator[Intervals]:
    """Yield the intervals of results on the same questions."""
    counts = results[0].counts
    asked = _questions_of(tuple(counts.problem), tuple(counts.group))
    values = np.stack([result.values(metric) for result in results for metric in metrics])
    levels = [level] * len(values)
    whole = mean_intervals(values, asked.design, levels)
    by_group = {
        group: mean_intervals(values[:, rows], design, levels)
        for group, (rows, design) in asked.groups.items()
    }
    for start in range(0, len(values), len(metrics)):
        own = slice(start, start + len(metrics))
        yield Intervals(whole[own], {group: intervals[own] for group, intervals in by_group.items()})
