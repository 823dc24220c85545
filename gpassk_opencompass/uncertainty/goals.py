"""What sampling is to reach before it stops, and what more samples could reach at best."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ..arguments import as_counts, as_sizes
from ..errors import InputError
from ..metrics import Metric
from .comparison import Comparison
from .intervals import Interval, quantile, wilson
from .rerun import expected_variances, rerun_variance


class GoalKind(Enum):
    """What a goal is about."""

    HALF_WIDTH = 'half-width'
    """Of the interval for new questions."""
    RERUN_HALF_WIDTH = 'rerun-half-width'
    """Of the interval for the same questions again."""
    DECIDED = 'decided against'
    """The paired interval of the difference to another run excludes 0."""


_WIDTH = re.compile(r'(?P<kind>(?:rerun-)?half-width)\s*(?P<sign><=|≤|<|=)\s*(?P<points>[^%]*?)\s*%?')
_DECIDED = re.compile(r'decided\s+against\s+(?P<run>\S.*)')

_FORMS = "expected 'half-width<=2', 'rerun-half-width<=0.5' (percent points) or 'decided against RUN'"


@dataclass(frozen=True)
class Goal:
    """When sampling may stop.

    Args:
        kind: what is asked.
        at_most: the half-width, on the scale from 0 to 1; NaN where none is asked for.
        run: the run to be decided against, as it was given; '' where none is.
    """

    kind: GoalKind
    at_most: float = float('nan')
    run: str = ''

    def __str__(self) -> str:
        if self.kind is GoalKind.DECIDED:
            return f'{self.kind.value} {self.run}'
        return f'{self.kind.value}<={round(100 * self.at_most, 9):g}'

    def reached(self, interval: Interval | Comparison) -> bool:
        """Return whether the interval is as the goal asks; a refused one never is.

        Args:
            interval: of `mean_interval`, `rerun_interval` or `compare`, whichever the kind asks for, taken at
                the adjusted level.

        Raises:
            InputError: an interval where a comparison decides, or a comparison where a half-width does.
        """
        decides = self.kind is GoalKind.DECIDED
        if decides is not isinstance(interval, Comparison):
            raise InputError(f"'{self}' with {type(interval).__name__}: expected {_takes(decides)}")
        if interval.refused:
            return False
        if decides:
            return interval.low > 0 or interval.high < 0
        return (interval.high - interval.low) / 2 <= self.at_most


def parse_goal(text: str) -> Goal:
    """Read a goal: a half-width in percent points, or the run to be decided against.

    Raises:
        InputError: the text is none, or the half-width is not between 0 and 50 points.

    >>> parse_goal('half-width<=2')
    Goal(kind=<GoalKind.HALF_WIDTH: 'half-width'>, at_most=0.02, run='')
    >>> str(parse_goal('rerun-half-width <= 0.5 %')), parse_goal('decided against old/run').run
    ('rerun-half-width<=0.5', 'old/run')
    """
    cleaned = text.strip()
    if found := _DECIDED.fullmatch(cleaned):
        return Goal(GoalKind.DECIDED, run=found['run'])
    found = _WIDTH.fullmatch(cleaned)
    if found is None:
        raise InputError(f'{text!r} is no goal: {_FORMS}')
    if found['sign'] not in ('<=', '≤'):
        raise InputError(f'{text!r} has {found["sign"]!r}: write <=, as in {found["kind"]}<=2')
    try:
        points = float(found['points'])
    except ValueError:
        raise InputError(f'{text!r}: {found["points"]!r} is no number; {_FORMS}') from None
    if not 0 < points < 50:
        raise InputError(f'{text!r}: expected more than 0 and fewer than 50 percent points; 2 is ± 2 points')
    return Goal(GoalKind(found['kind']), at_most=points / 100)


def floor_half_width(
    interval: Interval | Comparison, c: object, n: int, metric: Metric, at: int | None = None
) -> float:
    """Return the half-width that more samples of these questions would leave, as an estimate.

    The observed SE² has a part between the questions, which no sample removes, and the rerun variance of
    the questions. The latter goes to 0, or to that of `at` samples a question.

    Args:
        interval: for new questions, of the score or of its difference to a run that stays as it is; its
            level counts, also where it is refused.
        c: correct answers of each question, 0 ≤ c ≤ n, of the run that is sampled on.
        n: samples a question.
        metric: the score.
        at: samples a question at the end; None: any number.

    Returns:
        On the scale from 0 to 1; NaN where no error is known.

    Raises:
        InputError: counts out of range, k > n, or `at` below n.

    >>> from gpassk_opencompass.uncertainty import mean_interval
    >>> counts, metric = np.array([0, 4, 8, 8] * 15), Metric.parse('accuracy')
    >>> interval = mean_interval(counts / 8)
    >>> half = (interval.high - interval.low) / 2
    >>> [round(100 * x, 1) for x in (half, floor_half_width(interval, counts, 8, metric))]
    [10.6, 10.2]
    """
    n, _ = as_sizes(n, metric.k)
    counts = as_counts(c, n).ravel()
    if at is not None and at < n:
        raise InputError(f'at = {at}: expected at least the n = {n} samples that there are')
    questions = np.bincount(counts.astype(np.intp, copy=False), minlength=n + 1)
    removed = rerun_variance(metric, n, questions)
    if at is not None:
        now, then = (float(questions @ expected_variances(metric, n, m)) for m in (n, at))
        removed *= 1 - min(then / now, 1.0) if now else 1.0
    return half_width_without(interval, float(np.sqrt(removed)) / counts.size)


def half_width_without(interval: Interval | Comparison, error: float) -> float:
    """Return the half-width of an interval for new questions without a part of its error.

    Args:
        interval: its level counts, also where it is refused.
        error: the standard error that more samples would remove, such as that of `rerun_interval`.
    """
    variance = max(interval.error**2 - error**2, 0.0)
    critical = quantile(interval.level, max(interval.problems - max(interval.strata, 1), 1))
    if isinstance(interval, Comparison) or not variance:
        return critical * float(np.sqrt(variance))
    low, high = wilson(interval.estimate, interval.estimate * (1 - interval.estimate) / variance, critical)
    return (high - low) / 2


def _takes(decides: bool) -> str:
    return 'the Comparison of `compare`' if decides else 'an Interval'
