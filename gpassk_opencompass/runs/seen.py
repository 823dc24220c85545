"""What is known of each question of a run after one of its rounds, also where some have more samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..metrics import Metric
from ..results.result import Result
from ..uncertainty import Allocation, Interval, mean_interval, rerun_interval

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """The questions of a run after one of its rounds, in the order of its first one.

    Args:
        first: the result of the first round, which all questions have.
        n: samples of each question.
        c: correct ones among them.
        values: of each question, unbiased also where its own counts stopped it, shape (Q,).
        rerun: returns the interval for another run of the same plan at a level.
    """

    first: Result
    n: Integers
    c: Integers
    values: Floats
    rerun: Callable[[float], Interval]

    def interval(self, level: float) -> Interval:
        """Return the score with its interval for new questions of the same kind."""
        return mean_interval(self.values, self.first.problems, level, self.first.strata)


def seen_of(results: Sequence[Result], metric: Metric, plan: Allocation | None) -> list[Seen]:
    """Return what was known after each round.

    Args:
        results: of the rounds, oldest first. Without a plan all have all questions; with one, those after the
            first have the questions that go on by it.
        metric: of the values.
        plan: which questions go on; None: all.

    Raises:
        InputError: a round has other questions than the plan says, or does not tell the verdicts.
    """
    if plan is None:
        return [_of_all(results[0], result, metric) for result in results]
    return list(_of_plan(results, plan))


def going_on(newest: Seen, plan: Allocation, look: int) -> list[str]:
    """Return the uids of the questions that get more samples after look number `look`, from 0."""
    return [newest.first.uids[place] for place in np.flatnonzero(plan.going_on(newest.n, newest.c, look))]


def _of_all(first: Result, result: Result, metric: Metric) -> Seen:
    rows = result.rows_of(first.uids)
    counts, values = result.counts[rows], result.values(metric)[rows]
    n = result.n

    def rerun(level: float) -> Interval:
        return rerun_interval(counts, n, metric, level)

    return Seen(first, np.full(counts.size, n), counts, values, rerun)


def _of_plan(results: Sequence[Result], plan: Allocation) -> Iterator[Seen]:
    first = results[0]
    n, c = np.full(first.counts.size, first.n), first.counts.copy()
    for look, result in enumerate(results):
        if look:
            expected = plan.going_on(n, c, look - 1)
            rows = _rows(first, result, expected)
            c[rows] += _right_from(result, results[look - 1].n)
            n[rows] = result.n
        yield _planned(first, n.copy(), c.copy(), plan)


def _planned(first: Result, n: Integers, c: Integers, plan: Allocation) -> Seen:
    def rerun(level: float) -> Interval:
        return plan.rerun_interval(n, c, level)

    return Seen(first, n, c, plan.value(n, c), rerun)


def _rows(first: Result, result: Result, expected: NDArray[np.bool_]) -> list[int]:
    """Return the places of a round's questions among all."""
    wanted = {first.uids[place] for place in np.flatnonzero(expected)}
    if wanted != set(result.uids):
        raise InputError(
            f'{result.path} has {len(result.uids)} questions, and by the looks before it {len(wanted)} go '
            'on: begin anew with another -w, which draws no sample again'
        )
    return first.rows_of(result.uids)


def _right_from(result: Result, n: int) -> Integers:
    """Return how many samples of each question are right from sample number n on.

    Which questions go on was decided by the verdicts of the samples before, so these count as they were,
    whatever a later evaluation says of them.
    """
    verdicts = result.verdicts
    if len(verdicts) != len(result.uids) or any(len(row) != result.n for row in verdicts):
        raise InputError(
            f'{result.path} does not tell the verdict of each sample, without which those of earlier rounds '
            'cannot be told from the new ones'
        )
    return np.array([row[n:].count('1') for row in verdicts], dtype=np.int64)
