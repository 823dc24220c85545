"""Whether a run reaches its goal with the samples that there are, or with any number of them."""

from __future__ import annotations

import math

import numpy as np

from ..metrics import Metric
from ..results.result import Result
from ..results.stopped import AT_CAP, GOES_ON, OUT_OF_REACH, REACHED
from ..uncertainty import Comparison, Goal, GoalKind, Interval, compare
from ..uncertainty.design import cluster_numbers
from ..uncertainty.goals import half_width_without
from ..uncertainty.intervals import problems_refusal
from .seen import Seen


def verdict(goal: Goal, interval: Interval | Comparison, never: str, capped: bool) -> tuple[str, str]:
    """Return whether sampling goes on after a look, and why, in words.

    Args:
        goal: what is to be reached.
        interval: of this look, at its adjusted level.
        never: why no number of samples would reach it; '' where one may.
        capped: whether there are as many samples as there may be.
    """
    if goal.reached(interval):
        return REACHED, _as_it_is(interval)
    if never:
        return OUT_OF_REACH, never
    return AT_CAP if capped else GOES_ON, _as_it_is(interval)


def interval_of(
    goal: Goal, seen: Seen, metric: Metric, level: float, against: Result | None
) -> Interval | Comparison:
    """Return the interval that a goal is about."""
    if goal.kind is GoalKind.RERUN_HALF_WIDTH:
        return seen.rerun(level)
    if goal.kind is GoalKind.HALF_WIDTH:
        return seen.interval(level)
    assert against is not None
    theirs = against.values(metric)[against.rows_of(seen.first.uids)]
    return compare(seen.values, theirs, seen.first.problems, level, seen.first.strata)


def out_of_reach(goal: Goal, interval: Interval | Comparison, seen: Seen) -> str:
    """Return why no number of samples of these questions would reach the goal, as an estimate; '' if one may.

    A difference may move, with more samples, about as far as the error that they would remove: only where
    the interval would hold 0 even then, it is given up.

    Args:
        goal: what is to be reached.
        interval: of `interval_of` at the level that all looks have together, which none falls short of.
        seen: of the newest look.
    """
    if goal.kind is GoalKind.RERUN_HALF_WIDTH:
        return ''
    if few := problems_refusal(np.bincount(cluster_numbers(seen.first.problems))):
        return f'no interval with these questions: {few}'
    if interval.refused:
        return ''
    best = half_width_without(interval, seen.rerun(interval.level).error)
    if isinstance(interval, Comparison):
        half = (interval.high - interval.low) / 2
        moved = math.sqrt(max(half**2 - best**2, 0.0))
        hopeless = abs(interval.difference) + moved < best
        return f'±{100 * best:.1f} at best with these questions' if hopeless else ''
    return f'±{100 * best:.1f} at best with these questions' if best > goal.at_most else ''


def _as_it_is(interval: Interval | Comparison) -> str:
    if interval.refused:
        return f'no interval: {interval.refused}'
    if isinstance(interval, Comparison):
        return 'better' if interval.low > 0 else 'worse' if interval.high < 0 else 'the interval holds 0'
    return f'±{100 * (interval.high - interval.low) / 2:.2f}'
