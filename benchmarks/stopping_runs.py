"""Simulated runs with several looks, and what is known of stopping at one of them; for `stopping`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import Allocation, Comparison, Interval, compare, value_table
from gpassk_opencompass.uncertainty.intervals import interval_of_sums
from gpassk_opencompass.uncertainty.looks import (
    canonical_correlation,
    correlation_of,
    critical_values,
    critical_values_to_goal,
    first_heavy,
)
from gpassk_opencompass.uncertainty.stopping import FIRST_SHARE

from .interval_coverage import Row

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Made = Interval | Comparison

LOOKS = (16, 32, 48, 64, 80, 96)
LEVEL = 0.95


@dataclass
class Looks:
    """What one simulated run shows at its looks: intervals for all looks at once, and ordinary ones."""

    samples: Sequence[float]
    """A question, at each look."""
    adjusted: list[Made]
    ordinary: list[Made]


@dataclass
class Tally:
    """Where runs stop, and whether their intervals hold there."""

    truths: list[float] = field(default_factory=list)
    runs: list[Looks] = field(default_factory=list)

    def add(self, looks: Looks, truth: float) -> None:
        """Count one run."""
        self.truths.append(truth)
        self.runs.append(looks)

    def row(self, reached: Callable[[Made], bool]) -> Row:
        """Return what is known of stopping at the first look that reached its goal, or at the last one."""
        stops = [_first(run.adjusted, reached) for run in self.runs]
        naive = [_first(run.ordinary, reached) for run in self.runs]
        done = [reached(run.adjusted[stop]) for run, stop in zip(self.runs, stops, strict=True)]
        at_stop = [run.adjusted[stop] for run, stop in zip(self.runs, stops, strict=True)]
        naively = [run.ordinary[stop] for run, stop in zip(self.runs, naive, strict=True)]
        mean_n = np.mean([run.samples[stop] for run, stop in zip(self.runs, stops, strict=True)])
        return {
            'printed, %': 100 * float(np.mean([not one.refused for one in at_stop])),
            'reached, %': 100 * float(np.mean(done)),
            'n at the stop': float(mean_n),
            'holds at the stop, %': self._held(at_stop),
            'at all looks, %': self._all_held([run.adjusted for run in self.runs]),
            'ordinary at its stop, %': self._held(naively),
            'ordinary at all looks, %': self._all_held([run.ordinary for run in self.runs]),
        }

    def _held(self, made: list[Made]) -> str:
        held = [_holds(one, truth) for one, truth in zip(made, self.truths, strict=True) if not one.refused]
        return _share(held)

    def _all_held(self, made: list[list[Made]]) -> str:
        held = [
            all(one.refused or _holds(one, truth) for one in looks)
            for looks, truth in zip(made, self.truths, strict=True)
            if not all(one.refused for one in looks)
        ]
        return _share(held)


def new_questions(values: Floats, versions: int, ns: Sequence[int], goal: float | None = None) -> Looks:
    """The looks of a run at the score of new questions; values of shape (L, Q)."""
    sums = values.reshape(len(ns), -1, versions).sum(2)
    sizes = np.full(sums.shape[1], versions)
    levels = levels_of(sums, sizes, goal)
    adjusted: list[Made] = [
        interval_of_sums(row, sizes, level) for row, level in zip(sums, levels, strict=True)
    ]
    ordinary: list[Made] = [interval_of_sums(row, sizes, LEVEL) for row in sums]
    return Looks(ns, adjusted, ordinary)


def ordinary_widths(values: Floats, versions: int) -> list[float]:
    """The half-width of the ordinary interval at each look."""
    sums = values.reshape(len(values), -1, versions).sum(2)
    return [half(interval_of_sums(row, np.full(row.size, versions), LEVEL)) for row in sums]


def against(values: Floats, other: Floats, versions: int, samples: Sequence[float] = LOOKS) -> Looks:
    """The looks of a run at its difference to another one; `samples` a question at each of them."""
    sums = (values - other).reshape(len(values), -1, versions).sum(2)
    levels = levels_of(sums, np.full(sums.shape[1], versions), None)
    names = np.repeat(np.arange(sums.shape[1]), versions).tolist()
    adjusted: list[Made] = [
        compare(row, other, names, level) for row, level in zip(values, levels, strict=True)
    ]
    ordinary: list[Made] = [compare(row, other, names, LEVEL) for row in values]
    return Looks(samples, adjusted, ordinary)


def planned(plan: Allocation, counts: Integers) -> tuple[list[float], list[Interval]]:
    """Mean samples and ordinary intervals where uncertain questions go first; counts as if all went on."""
    ns, right = np.full(counts.shape[1], LOOKS[0]), counts[0]
    samples, ordinary = [], []
    for look in range(len(LOOKS)):
        samples.append(float(ns.mean()))
        ordinary.append(plan.rerun_interval(ns, right))
        if look + 1 < len(LOOKS):
            on = plan.going_on(ns, right, look)
            ns, right = np.where(on, LOOKS[look + 1], ns), np.where(on, counts[look + 1], right)
    return samples, ordinary


def planned_values(plan: Allocation, counts: Integers) -> tuple[list[float], Floats]:
    """Mean samples and unbiased values, shape (L, Q), where uncertain questions go first."""
    place, right = np.zeros(counts.shape[1], dtype=int), counts[0]
    samples, values = [], []
    for look in range(len(LOOKS)):
        samples.append(float(np.array(LOOKS)[place].mean()))
        values.append([plan.values[at][c] for at, c in zip(place, right, strict=True)])
        if look + 1 < len(LOOKS):
            going = np.array(plan.go_on[look])
            on = (place == look) & going[np.where(place == look, right, 0)]
            place, right = np.where(on, look + 1, place), np.where(on, counts[look + 1], right)
    return samples, np.array(values)


def rerun_looks(samples: Sequence[float], ordinary: list[Interval], goal: float) -> Looks:
    """The looks of a run at the score of these very questions."""
    errors = np.array([made.error for made in ordinary])
    correlation, error = canonical_correlation(errors), 1 - LEVEL

    def reaches(look: int, critical: float) -> bool:
        return bool(critical * errors[look] <= goal)

    critical = critical_values_to_goal(correlation, len(errors), error, reaches)
    adjusted: list[Made] = []
    for one, c in zip(ordinary, critical, strict=True):
        low, high = max(one.estimate - c * one.error, 0.0), min(one.estimate + c * one.error, 1.0)
        adjusted.append(Interval(one.estimate, one.error, low, high, LEVEL, one.problems))
    return Looks(samples, adjusted, [*ordinary])


def levels_of(sums: Floats, sizes: NDArray[Any], goal: float | None) -> list[float]:
    """What `adjusted_level` gives at each look, in one go: later looks change nothing in earlier ones."""
    freedom, error = sums.shape[1] - 1, 1 - LEVEL
    correlation = correlation_of(sums - sums.mean(1, keepdims=True))
    if goal is None:
        spent = first_heavy(len(sums), error, FIRST_SHARE)
        critical = critical_values(correlation, spent, freedom)
    else:

        def reaches(look: int, critical: float) -> bool:
            level = 1 - 2 * float(special.stdtr(freedom, -critical))
            return narrower(goal)(interval_of_sums(sums[look], sizes, level))

        critical = critical_values_to_goal(correlation, len(sums), error, reaches, freedom)
    levels: list[float] = (1 - 2 * special.stdtr(freedom, -critical)).tolist()
    return levels


def sampled(generator: np.random.Generator, chances: Floats, ns: Sequence[int]) -> Integers:
    """Correct answers after n samples, for each n, shape (L, Q)."""
    steps = np.diff([0, *ns])
    return np.cumsum([generator.binomial(step, chances) for step in steps], axis=0)


def reordered(generator: np.random.Generator, right: Integers, ns: Sequence[int]) -> Integers:
    """Correct ones among the first n of ns[-1] answers in a random order, for each n, shape (L, Q)."""
    left, of, found = right.copy(), ns[-1], []
    for step in np.diff([0, *ns]):
        drawn = generator.hypergeometric(left, of - left, step)
        left, of = left - drawn, of - step
        found.append(drawn)
    return np.cumsum(found, axis=0)


def values_of(metric: Metric, counts: Integers, ns: Sequence[int]) -> Floats:
    """Of each question at each look, shape (L, Q)."""
    return np.stack([value_table(metric, n)[row] for n, row in zip(ns, counts, strict=True)])


def wider(tally: Tally, reached: Callable[[Made], bool]) -> float:
    """How much wider the interval at the stop is than the ordinary one of the same samples."""
    ratios = [
        half(run.adjusted[stop]) / half(run.ordinary[stop])
        for run in tally.runs
        for stop in [_first(run.adjusted, reached)]
        if not run.ordinary[stop].refused
    ]
    return 100 * (float(np.mean(ratios)) - 1)


def narrower(goal: float) -> Callable[[Made], bool]:
    return lambda made: not made.refused and half(made) <= goal


def decides(made: Made) -> bool:
    return not made.refused and not made.low <= 0 <= made.high


def wrongly(run: Looks, truth: float) -> bool:
    """Whether it is decided for the worse one, or for any where none is better."""
    made = run.adjusted[_first(run.adjusted, decides)]
    if not decides(made):
        return False
    return truth == 0 or (made.low > 0) is not (truth > 0)


def _first(made: Sequence[Made], reached: Callable[[Made], bool]) -> int:
    return next((place for place, one in enumerate(made) if reached(one)), len(made) - 1)


def half(made: Made) -> float:
    return (made.high - made.low) / 2


def _holds(made: Made, truth: float) -> bool:
    return made.low <= truth <= made.high


def _share(held: Sequence[bool]) -> str:
    if not held:
        return '–'
    share = float(np.mean(held))
    return f'{100 * share:.1f} ± {100 * np.sqrt(share * (1 - share) / len(held)):.1f}'
