"""What a budget of samples buys: questions against samples, half-widths to expect, the chance to decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

from ..distributions import chi_square_quantile, normal_tail
from ..errors import InputError
from ..metrics import Metric
from .comparison import ADDED_PROBLEMS
from .intervals import FEWEST_PROBLEMS, quantile
from .planning import Population, expected_refusal, half_width_of
from .rivals import Rival, difference_variance

Floats = NDArray[np.float64]

WON = 0.05
"""What makes an interval narrower by a smaller share than this is not worth its samples."""

_LOOKED_AT, _FEW = 64, 12
"""The largest n that is looked at, in units of k, unless that is above `_MANY`: then the smaller multiple."""

_MANY = 4_096

LIKELY = 0.8
"""The chance to find a difference that is usual in plans."""

MOST_PROBLEMS = 1_000_000_000

_LEAST_VARIANCE = 1e-24
"""Of a problem's difference; below it is rounding."""


@dataclass(frozen=True)
class Question:
    """What is to be found out: the metric, at which level, and about which differences.

    Args:
        metric: of the score.
        level: of confidence, above 0.5 and below 1.
        difference: between the two runs that is to be found, as a fraction of 1, above 0.
        margin: by which a run that is called not worse may be worse, as a fraction of 1, above 0.

    Raises:
        InputError: a number out of range.
    """

    metric: Metric
    level: float = 0.95
    difference: float = 0.03
    margin: float = 0.02

    def __post_init__(self) -> None:
        if not 0.5 < self.level < 1:
            raise InputError(
                f'level = {self.level!r}: expected a confidence above 0.5 and below 1, e.g. 0.95'
            )
        for name in ('difference', 'margin'):
            if not 0 < getattr(self, name) < 1:
                raise InputError(f'{name} = {getattr(self, name)}: expected a number between 0 and 1')


@dataclass(frozen=True)
class Offer:
    """What some questions with n samples each buy; shares are fractions of 1, NaN where refused."""

    questions: int
    n: int
    half_width: float
    """Expected of the interval of the score."""
    refused: str
    """Why that would not be printed."""
    paired: float
    """Expected half-width of the interval of the difference to the rival."""
    paired_refused: str
    decides: float
    """The chance that this interval leaves out 0 where the runs differ by `Question.difference`."""
    not_worse: float
    """The chance that a run which is equal is called not worse by `Question.margin`."""

    @property
    def samples(self) -> int:
        """Return how many samples there are in all."""
        return self.questions * self.n


def offer(population: Population, rival: Rival, asked: Question, questions: int, n: int) -> Offer:
    """Return what so many questions with n samples each buy, on average over runs.

    The half-width of the score is that of `plan`. The difference of two runs on the same problems has the
    variance V₁ + V₂ − 2·ρ·√(T₁·T₂) a problem, where V is `Population.variance`, T `true_variance` and ρ the
    likeness: noise of sampling does not cancel, hardness does. Its interval has the problems that `compare`
    adds.

    Args:
        population: of the run that is planned.
        rival: the run that it will be compared with.
        asked: what is to be found out.
        questions: how many, at least two source problems.
        n: samples a question, n ≥ k.

    Raises:
        InputError: fewer questions than two source problems, or k > n.

    >>> alike = Population(0.5, 0.5)
    >>> found = offer(alike, Rival(alike, 0.8), Question(Metric.parse('mG-Pass@16')), 200, 48)
    >>> round(100 * found.half_width, 1), round(100 * found.paired, 1), round(100 * found.decides)
    (5.4, 3.9, 32)
    """
    problems = questions // population.translations
    if problems < 2:
        raise InputError(f'questions = {questions}: expected at least two source problems')
    mean, metric = population.moments(asked.metric, asked.metric.k)[0], asked.metric
    variance = population.variance(metric, n)
    refused = expected_refusal(mean, variance, problems)
    half = math.nan if refused else half_width_of(variance, problems, asked.level)
    if problems < FEWEST_PROBLEMS:
        return Offer(questions, n, half, refused, math.nan, refused, math.nan, math.nan)
    apart = difference_variance(population, rival, metric, n)
    paired = half_width_of(apart + ADDED_PROBLEMS / problems, problems, asked.level)
    decides = chance_to_decide(asked.difference, apart, problems, asked.level)
    not_worse = chance_not_worse(asked.margin, apart, problems, asked.level)
    return Offer(questions, n, half, refused, paired, '', decides, not_worse)


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Floats, Floats]:
    """Return Gauss's nodes on (−1, 1) and their weights; to find them imports half of scipy."""
    nodes, weights = roots_legendre(64)
    return np.asarray(nodes), np.asarray(weights)


def chance_to_decide(difference: float, variance: float, problems: int, level: float = 0.95) -> float:
    """Return the chance that the interval of `compare` leaves out 0 on the side on which the difference lies.

    The observed variance is that of the problems' differences times χ²/(J − 1), so the printed error has the
    square variance·χ²/(J − 1)/J + 2/J², of which only the first part varies. The chance is that of a normal
    difference to exceed t times the error, integrated over χ²: exact where the problems' differences are
    normal and the problems of one size.

    Args:
        difference: the true one, above 0.
        variance: of a problem's observed difference.
        problems: source problems, J, at least 2.
        level: of confidence, between 0 and 1.

    >>> round(chance_to_decide(0.06, 0.04, 119), 3), round(chance_to_decide(1e-9, 0.04, 119), 3)
    (0.819, 0.01)
    """
    freedom, variance = problems - 1, max(variance, _LEAST_VARIANCE)
    nodes, weights = _quadrature()
    spread = chi_square_quantile((1 + nodes) / 2, freedom) / freedom
    printed = np.sqrt((variance * spread + ADDED_PROBLEMS / problems) / problems)
    above = (quantile(level, freedom) * printed - difference) / math.sqrt(variance / problems)
    return float(weights @ normal_tail(above)) / 2


def chance_not_worse(margin: float, variance: float, problems: int, level: float = 0.95) -> float:
    """Return the chance that two equal runs are called not worse: one-sided, as in a test of non-inferiority.

    The lower end of the interval at 2·level − 1 lies above −margin where (difference + margin)/error exceeds
    Student's t: the same as to find a difference of `margin`.

    >>> round(chance_not_worse(0.04, 0.04, 119), 3)
    0.582
    """
    return chance_to_decide(margin, variance, problems, 2 * level - 1)


@dataclass(frozen=True)
class BudgetPlan:
    """What may be bought with so many samples in all.

    Args:
        population: of the run that is planned.
        rival: the run that it will be compared with.
        asked: what is to be found out.
        samples: what the budget affords.
        at_hand: questions that there are; None: as many as one likes.
    """

    population: Population
    rival: Rival
    asked: Question
    samples: int
    at_hand: int | None = None

    def offers(self, ns: Sequence[int]) -> list[Offer]:
        """Return for each n what the questions that the budget affords buy; none below two problems."""
        asked_for = [(affordable(self.samples, n, self.population.translations, self.at_hand), n) for n in ns]
        return [self.offer(questions, n) for questions, n in asked_for if self._are_two(questions)]

    def offer(self, questions: int, n: int) -> Offer:
        """Return what some questions buy, whether they are affordable or not."""
        return offer(self.population, self.rival, self.asked, questions, n)

    def sizes(self) -> list[int]:
        """Return the n that are looked at for the best one: from k on, each a tenth larger than the last."""
        k = self.asked.metric.k
        steps = [round(k * 1.1**place) for place in range(math.ceil(math.log(self._most() / k, 1.1)) + 1)]
        whole = [self.samples // self.at_hand] if self.at_hand else []
        return sorted({n for n in (*steps, *whole) if k <= n <= self._most()})

    def _most(self) -> int:
        most = self.samples // (2 * self.population.translations)
        return max(self.asked.metric.k, min(most, largest_n(self.asked.metric)))

    def best(self) -> tuple[Offer | None, Offer | None]:
        """Return what has the narrowest interval of the score, and of the difference; None where none has."""
        found = self.offers(self.sizes())
        single = [one for one in found if not one.refused]
        paired = [one for one in found if not one.paired_refused]
        return (
            min(single, key=lambda one: one.half_width, default=None),
            min(paired, key=lambda one: one.paired, default=None),
        )

    def enough(self) -> tuple[int | None, int | None]:
        """Return the n beyond which nothing is won with the same questions: for the score, the difference."""
        metric, most = self.asked.metric, largest_n(self.asked.metric)
        problems = (self.at_hand or 0) // self.population.translations
        return (
            enough(self.population, None, metric, most),
            enough(self.population, self.rival, metric, most, problems),
        )

    def questions_for(self, n: int, chance: float = LIKELY) -> int | None:
        """Return how many questions with n samples each find the difference with such a chance, in all.

        None where none of up to a billion problems do.
        """
        size = self.population.translations
        low, high = 2, MOST_PROBLEMS
        if not self._finds(high * size, n, chance):
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._finds(middle * size, n, chance) else (middle + 1, high)
        return high * size

    def _finds(self, questions: int, n: int, chance: float) -> bool:
        found = self.offer(questions, n)
        return not found.paired_refused and found.decides >= chance

    def _are_two(self, questions: int) -> bool:
        return questions >= 2 * self.population.translations


def largest_n(metric: Metric) -> int:
    """Return the largest n that is looked at: beyond it nothing is won, and tables would take long.

    >>> largest_n(Metric.parse('mG-Pass@16')), largest_n(Metric.parse('mG-Pass@500'))
    (1024, 6000)
    """
    return min(_LOOKED_AT * metric.k, max(_MANY, _FEW * metric.k))


def affordable(samples: int, n: int, translations: int = 1, at_hand: int | None = None) -> int:
    """Return how many questions get n samples each out of so many samples; whole source problems.

    >>> affordable(10_000, 48, 2), affordable(10_000, 48, 2, at_hand=119), affordable(50, 48, 2)
    (208, 118, 0)
    """
    questions = samples // n if at_hand is None else min(samples // n, at_hand)
    return questions // translations * translations


def enough(
    population: Population, rival: Rival | None, metric: Metric, most: int, problems: int = 0
) -> int | None:
    """Return the n beyond which more samples of the same questions win less than `WON` of the half-width.

    Args:
        population: of the planned run.
        rival: of the interval of the difference to it; None: of the interval of the score.
        metric: of the score.
        most: the largest n that is looked at.
        problems: source problems, of which the interval of a difference has two more; 0: any number.

    Returns:
        The smallest such n; None where `most` is not enough, as of two runs that differ in noise alone.
    """

    def variance(n: int) -> float:
        if rival is None:
            return population.variance(metric, n)
        return difference_variance(population, rival, metric, n) + added

    low, high, added = metric.k, most, ADDED_PROBLEMS / problems if problems else 0.0
    reached = (_without_noise(population, rival, metric) + added) / (1 - WON) ** 2
    if variance(high) > reached:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if variance(middle) <= reached else (middle + 1, high)
    return high


def _without_noise(population: Population, rival: Rival | None, metric: Metric) -> float:
    """Return the variance with any number of samples a question; a rival keeps those that it has."""
    own = population.true_variance(metric)
    if rival is None:
        return own
    its = rival.population.true_variance(metric)
    noise = its if rival.n is None else rival.population.variance(metric, rival.n)
    return max(own + noise - 2 * rival.likeness * math.sqrt(own * its), 0.0)
