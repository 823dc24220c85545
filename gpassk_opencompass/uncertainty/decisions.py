"""Is a new run better than an old one, as good within a margin, or worse? Decisions, and of many at once.

Source of the two one-sided tests: Schuirmann 1987, J. Pharmacokinet. Biopharm. 15, 657; of the
intersection-union test: Berger 1982, Technometrics 24, 295.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..distributions import normal_quantile
from ..errors import InputError
from .comparison import Comparison, compare
from .intervals import as_values, quantile

NAN = float('nan')


class Outcome(Enum):
    """What is said of a new run beside an old one."""

    BETTER = 'better'
    EQUIVALENT = 'equivalent'
    """Within the margin; also where it is better or worse by less than that."""
    NOT_WORSE = 'not worse'
    """By the margin or more; it may be better by more than that."""
    WORSE = 'worse'
    NOT_DECIDED = 'not decided'

    @property
    def passes(self) -> bool:
        """Whether the new run is not worse by the margin or more."""
        return self in {Outcome.BETTER, Outcome.EQUIVALENT, Outcome.NOT_WORSE}


@dataclass(frozen=True)
class Decision:
    """What is said of new − old, on the scale of the values; where `refused` says why, intervals are NaN."""

    outcome: Outcome
    difference: float
    error: float
    """Standard error, never below that of a rerun."""
    low: float
    high: float
    """The interval at `level`, of which *better* and *worse* are made."""
    inner_low: float
    inner_high: float
    """The interval at 2·level − 1, of which *equivalent* and *not worse* are made."""
    level: float
    margin: float
    rerun_error: float
    """Standard error of the difference of two runs where both are sampled again."""
    problems: int
    refused: str = ''
    together: bool = False
    """Whether *not worse* is part of the one statement that all are, and not decided of this one alone."""

    @property
    def least_margin(self) -> float:
        """The margin up to which nothing is equivalent: half of the inner interval, its longer side."""
        return max(self.difference - self.inner_low, self.inner_high - self.difference)


@dataclass(frozen=True)
class PairedRuns:
    """Two runs on the same questions.

    Args:
        new, old: a value a question, in the same order of questions.
        problems: the source problem of each question; None: each question is its own.
        rerun_error: standard error of new − old where both are sampled again, on the scale of the values:
            the root of the sum of the squares of what `rerun_interval` gives for the two.
    """

    new: ArrayLike
    old: ArrayLike
    problems: Sequence[Hashable] | None = None
    rerun_error: float = 0.0


class Decisions(NamedTuple):
    """A decision a pair of runs, and what follows for all of them."""

    each: list[Decision]

    @property
    def outcome(self) -> Outcome:
        """Return the own one of a single pair; of several WORSE where one is, NOT_WORSE where all pass."""
        found = {decision.outcome for decision in self.each}
        if len(self.each) == 1:
            return self.each[0].outcome
        if Outcome.WORSE in found:
            return Outcome.WORSE
        return Outcome.NOT_WORSE if all(one.passes for one in found) else Outcome.NOT_DECIDED


def decide(
    runs: PairedRuns, margin: float, level: float = 0.95, *, of_new_questions: bool = True
) -> Decision:
    """Say whether the new run is better than the old one, equivalent, not worse, or worse.

    With α = 1 − level and d the true difference new − old, the first that holds:

    - *better*: the interval of d at 1 − α lies above 0;
    - *equivalent*: that at 1 − 2α lies within (−margin, margin), which is two one-sided tests at α each;
    - *not worse*: that at 1 − 2α lies above −margin;
    - *worse*: that at 1 − α lies below 0;
    - *not decided*: none of these, or there is no interval.

    All that is said is false with a chance of α at most, whatever d is, as far as the intervals cover: of
    d ≤ −margin every false statement needs the lower end at 1 − 2α above d, of d ≥ margin the upper one below
    it, and of any d between *better* or *worse* need the interval at 1 − α on the wrong side of 0.

    Args:
        runs: the two runs.
        margin: what does not matter, on the scale of the values, above 0 and below 1; chosen beforehand.
        level: of confidence, above 0.5 and below 1.
        of_new_questions: the statement is on questions of this kind, with the interval of `compare`, whose
            ends are no closer than those of a rerun. False: it is on these very questions, where only the
            noise of sampling counts.

    Raises:
        InputError: values that do not fit, a margin or level out of range, an error that is no number, or on
            these very questions one of 0.

    >>> runs = PairedRuns([0.9, 0.5, 0.2, 0.8] * 30, [0.8, 0.6, 0.2, 0.8] * 30, rerun_error=0.01)
    >>> decide(runs, margin=0.03).outcome.value, decide(runs, margin=0.01).outcome.value
    ('equivalent', 'not decided')
    """
    _check(margin, level, runs.rerun_error)
    if of_new_questions:
        bare = _of_new_questions(runs, margin, level)
    else:
        bare = _of_these_questions(runs, margin, level)
    return bare if bare.refused else replace(bare, outcome=_outcome(bare))


def decide_all(
    pairs: Sequence[PairedRuns], margin: float, level: float = 0.95, *, of_new_questions: bool = True
) -> Decisions:
    """Say of several pairs of runs, one a benchmark or metric, what `decide` says of one.

    Each of B pairs is decided at 1 − α/B, so all that is said of single ones is right together at 1 − α,
    however they depend on each other (Bonferroni). That all pass is one statement, and false only if one that
    does not pass at α alone is said to: it needs no correction (an intersection-union test). Where it alone
    decides, the pairs that did not pass by themselves are `together`.

    Arguments and errors are those of `decide`; no pair is an error too.

    >>> weak = PairedRuns([0.9, 0.1, 0.5, 0.5] * 30, [0.1, 0.9, 0.5, 0.5] * 30)
    >>> [(one.outcome.value, one.together) for one in decide_all([weak, weak], margin=0.095).each]
    [('not worse', True), ('not worse', True)]
    """
    if not pairs:
        raise InputError('no pairs of runs: give one at least')
    _check(margin, level, 0.0)
    corrected = 1 - (1 - level) / len(pairs)
    alone = [decide(one, margin, corrected, of_new_questions=of_new_questions) for one in pairs]
    if all(one.outcome.passes for one in alone) or any(one.outcome is Outcome.WORSE for one in alone):
        return Decisions(alone)
    if not all(decide(one, margin, level, of_new_questions=of_new_questions).outcome.passes for one in pairs):
        return Decisions(alone)
    passed = [
        one if one.outcome.passes else replace(one, outcome=Outcome.NOT_WORSE, together=True) for one in alone
    ]
    return Decisions(passed)


def _check(margin: float, level: float, rerun_error: float) -> None:
    if not 0 < margin < 1:  # not of NaN either
        raise InputError(
            f'margin = {margin!r}: expected a difference that does not matter, above 0 and below 1, e.g. 0.02'
        )
    if not 0.5 < level < 1:
        raise InputError(f'level = {level!r}: expected a confidence above 0.5 and below 1, e.g. 0.95')
    if not 0 <= rerun_error < math.inf:
        raise InputError(f'rerun_error = {rerun_error!r}: expected a standard error of at least 0')


def _outcome(found: Decision) -> Outcome:
    if found.low > 0:
        return Outcome.BETTER
    if found.inner_low > -found.margin:
        return Outcome.EQUIVALENT if found.inner_high < found.margin else Outcome.NOT_WORSE
    return Outcome.WORSE if found.high < 0 else Outcome.NOT_DECIDED


def _of_new_questions(runs: PairedRuns, margin: float, level: float) -> Decision:
    """Return the intervals of the paired comparison, with the noise of a rerun as their floor."""
    outer, inner = (compare(runs.new, runs.old, runs.problems, one) for one in (level, 2 * level - 1))
    low, high = _floored(outer, runs.rerun_error)
    inner_low, inner_high = _floored(inner, runs.rerun_error)
    return Decision(
        Outcome.NOT_DECIDED,
        outer.difference,
        max(outer.error, runs.rerun_error),
        *(low, high, inner_low, inner_high, level, margin),
        runs.rerun_error,
        outer.problems,
        outer.refused or inner.refused,
    )


def _floored(found: Comparison, floor: float) -> tuple[float, float]:
    """Return the ends of an interval, no closer than those of an error of `floor`."""
    if found.refused:
        return NAN, NAN
    half = quantile(found.level, found.problems - 1) * floor
    return min(found.low, found.difference - half), max(found.high, found.difference + half)


def _of_these_questions(runs: PairedRuns, margin: float, level: float) -> Decision:
    """Return the intervals of the noise of sampling alone."""
    new, cluster = as_values(runs.new, runs.problems)
    old, _ = as_values(runs.old, runs.problems)
    if new.size != old.size:
        raise InputError(f'{new.size} values against {old.size}: a decision needs the same questions in both')
    if not runs.rerun_error:
        raise InputError(
            'rerun_error = 0: on these very questions it is all that a difference is held against'
        )
    difference = float((new - old).mean())
    outer, inner = (normal_quantile(share) * runs.rerun_error for share in ((1 + level) / 2, level))
    return Decision(
        Outcome.NOT_DECIDED,
        difference,
        runs.rerun_error,
        *(difference - outer, difference + outer, difference - inner, difference + inner),
        *(level, margin, runs.rerun_error, int(np.unique(cluster).size)),
    )
