"""What runs on the same questions have in common, and the intervals of many of them, computed together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .groups import strata_of

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
    """Of all questions, with contests as strata."""
    groups: dict[str, tuple[NDArray[np.intp], Design]]
    """The rows of the questions of each group, and what their means have in common; without strata."""


@lru_cache(maxsize=8)
def asked(problems: tuple[str, ...], groups: tuple[str, ...]) -> Asked:
    """Return what is the same for all runs whose questions have these problems and groups."""
    from ..uncertainty.design import design_of

    names, numbers = np.array(groups), np.unique(problems, return_inverse=True)[1]
    places = {group: np.flatnonzero(names == group) for group in dict.fromkeys(groups)}
    design = design_of(problems, strata_of(problems, groups))
    return Asked(design, {group: (rows, design_of(numbers[rows].tolist())) for group, rows in places.items()})


class Wanted(NamedTuple):
    """A result of which intervals are wanted, at which level, and whether with strata."""

    result: Result
    level: float
    strata: bool


class Found(NamedTuple):
    """The intervals of some metrics of one result."""

    whole: list[Interval]
    """What `Result.intervals` returns."""
    by_group: dict[str, list[Interval]]
    """What `Result.intervals_by_group` returns."""


def intervals_of_each(wanted: Sequence[Wanted], metrics: Sequence[Metric]) -> list[Found]:
    """Return the intervals of each result; those on the same questions are computed together."""
    alike: defaultdict[tuple[int, float, bool], list[int]] = defaultdict(list)
    for place, (result, level, strata) in enumerate(wanted):
        alike[id(result.asked), level, strata].append(place)
    found: dict[int, Found] = {}
    for places in alike.values():
        first = wanted[places[0]]
        size = max(1, _MOST_VALUES // max(1, len(metrics) * first.result.counts.size))
        for start in range(0, len(places), size):
            some = places[start : start + size]
            results = [wanted[place].result for place in some]
            found.update(zip(some, _found(results, metrics, first.level, first.strata), strict=True))
    return [found[place] for place in range(len(wanted))]


def _found(
    results: Sequence[Result], metrics: Sequence[Metric], level: float, strata: bool
) -> Iterator[Found]:
    """Return the intervals of results on the same questions."""
    from ..uncertainty.intervals import check_level, mean_intervals

    check_level(level)
    design, groups = results[0].asked
    values = np.concatenate([result.table(metrics) for result in results])
    levels = [level] * len(values)
    whole = mean_intervals(values, design if strata else design._replace(stratum=None), levels)
    by_group = {
        group: mean_intervals(values[:, rows], of_group, levels) for group, (rows, of_group) in groups.items()
    }
    for start in range(0, len(values), len(metrics)):
        own = slice(start, start + len(metrics))
        of_groups = {group: intervals[own] for group, intervals in by_group.items()}
        yield Found(whole[own], of_groups)
