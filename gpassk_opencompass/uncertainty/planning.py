"""How many questions and how many samples an interval of a wanted width takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ..distributions import beta_binomial
from ..errors import InputError
from ..metrics import Metric, as_counts, as_sizes, value_table
from .beta_fit import fitted_beta
from .intervals import FEWEST_PROBLEMS, check_level, problems_refusal, quantile, solved_refusal
from .rerun import beta_moments

_LEAST_SHARE = 1e-9  # below this no number of questions that anybody asks has an interval


@dataclass(frozen=True)
class Population:
    """How hard questions are: the chance of a correct answer is Beta(a, b) over the questions.

    Args:
        a, b: both > 0; below 1 each the population is U-shaped, most questions always or never solved.
        translations: questions a source problem, e.g. 2 for Chinese and English.
        correlation: between the true values of the translations of one problem, from 0 to 1.

    Raises:
        InputError: a number out of range.
    """

    a: float
    b: float
    translations: int = 1
    correlation: float = 1.0

    def __post_init__(self) -> None:
        if not (self.a > 0 and self.b > 0 and np.isfinite(self.a + self.b)):
            raise InputError(f'Beta({self.a}, {self.b}): expected two numbers > 0')
        if self.translations < 1 or not 0 <= self.correlation <= 1:
            raise InputError(
                f'translations = {self.translations}, correlation = {self.correlation}: expected at least 1 '
                'and a number from 0 to 1'
            )

    def moments(self, metric: Metric, n: int) -> tuple[float, float, float]:
        """Return the mean of the metric and its variance between and within questions of n samples."""
        return _moments(self.a, self.b, metric, n)

    def variance(self, metric: Metric, n: int) -> float:
        """Return the variance of the mean over the translations of one source problem."""
        return self.true_variance(metric) + self.moments(metric, n)[2] / self.translations

    def true_variance(self, metric: Metric) -> float:
        """Return the variance with any number of samples: what is left when nothing comes from sampling."""
        between = self.moments(metric, metric.k)[1]
        return between * (1 + (self.translations - 1) * self.correlation) / self.translations


@lru_cache(maxsize=4096)
def _moments(a: float, b: float, metric: Metric, n: int) -> tuple[float, float, float]:
    """Return `Population.moments`; plans ask for the same ones for many numbers of questions."""
    [mean], [between] = beta_moments(metric, np.array([a]), np.array([b]))
    values = value_table(metric, n)
    chances = beta_binomial(n, a, b)
    within = float(chances @ values**2) - float(chances @ values) ** 2 - between
    return float(mean), float(between), max(within, 0.0)


@dataclass(frozen=True)
class Plan:
    """What one number of samples a question costs and buys."""

    n: int
    questions: int
    """Needed for the half-width that was asked for, and for any interval to be printed."""
    samples: int
    half_width: float
    """With the questions at hand; NaN if their number was not given, or where `refused`."""
    within_share: float
    """The share of the variance that more samples a question could still remove."""
    refused: str = ''
    """Why no interval would be printed with the questions at hand."""
    raised: str = ''
    """Why none would be with the fewer questions that the half-width alone takes."""


def plan(
    population: Population,
    metric: Metric,
    half_width: float,
    ns: Sequence[int],
    questions: int | None = None,
    level: float = 0.95,
) -> list[Plan]:
    """Return for each n how many questions give the half-width, and which one the questions at hand give.

    Args:
        population: how hard the questions are.
        metric: of the metric.
        half_width: wanted, on the scale from 0 to 1.
        ns: numbers of samples a question to look at, each ≥ k.
        questions: at hand.
        level: of confidence, between 0 and 1.

    Raises:
        InputError: a number out of range, k > n, or a metric that is 0 (or 1) for all such questions.
    """
    check_level(level)
    if not 0 < half_width < 1:
        raise InputError(f'half_width = {half_width}: expected a number between 0 and 1 (2 points are 0.02)')
    if questions is not None and questions < 2 * population.translations:
        raise InputError(f'questions = {questions}: expected at least two source problems')
    if not _LEAST_SHARE < (mean := population.moments(metric, metric.k)[0]) < 1 - _LEAST_SHARE:
        raise InputError(
            f'{metric.name} is {100 * mean:.0f} % for Beta({population.a:g}, {population.b:g}): no interval '
            'would ever be printed; take another metric or another hardness'
        )
    return [_plan(population, metric, half_width, as_sizes(n, metric.k)[0], questions, level) for n in ns]


def fit_population(c: ArrayLike, n: int, translations: int = 1, correlation: float = 1.0) -> Population:
    """Return the Beta population under which the counts of a pilot run are most likely.

    Args:
        c: correct answers of each question, 0 ≤ c ≤ n.
        n: samples a question.

    Raises:
        InputError: counts out of range, or all questions alike (then no population can be fitted).
    """
    n, _ = as_sizes(n, 1)
    counts = as_counts(c, n).ravel()
    if counts.size < 2 or counts.min() == counts.max():
        raise InputError(f'{counts.size} counts, all alike: a pilot needs questions of different hardness')

    histogram = np.bincount(counts.astype(np.intp, copy=False), minlength=n + 1).astype(np.float64)
    a, b = fitted_beta(histogram)
    return Population(a, b, translations, correlation)


def expected_refusal(mean: float, variance: float, problems: int) -> str:
    """Return why no interval is printed where so many problems score as expected, or ''.

    The rules of `mean_interval`, with the moments of a problem's score in the place of observed sums; all
    problems have as many questions. About half of the runs at a border are refused.

    Args:
        mean: of a problem's score, above 0 and below 1.
        variance: of a problem's score.
        problems: how many there are.

    >>> expected_refusal(0.5, 0.25, 20), expected_refusal(0.5, 0.25, 19)
    ('', '19 problems, fewer than 20')
    """
    if problems < FEWEST_PROBLEMS:
        return problems_refusal(np.ones(problems, dtype=np.intp))
    sides = (('solved', mean), ('unsolved', 1 - mean))
    reasons = (
        solved_refusal(what, expected_effective(share, variance, problems), problems * share)
        for what, share in sides
    )
    return next(filter(None, reasons), '')


def expected_effective(mean: float, variance: float, problems: int) -> float:
    """Return the `effective_number` of problems with such scores: J·E[x]²/E[x²]."""
    return problems * mean**2 / (mean**2 + variance)


def _plan(
    population: Population, metric: Metric, half_width: float, n: int, questions: int | None, level: float
) -> Plan:
    mean, between, within = population.moments(metric, n)
    variance = population.variance(metric, n)
    alone = _fewest(lambda problems: half_width_of(variance, problems, level) <= half_width, 2)
    at_least = max(alone, FEWEST_PROBLEMS)
    raised = expected_refusal(mean, variance, at_least) or expected_refusal(mean, variance, alone)
    printed = _fewest(lambda problems: not expected_refusal(mean, variance, problems), alone)
    refused, reached = '', float('nan')
    if questions is not None:
        problems = questions // population.translations
        refused = expected_refusal(mean, variance, problems)
        reached = reached if refused else half_width_of(variance, problems, level)
    needed, total = printed * population.translations, between + within
    return Plan(n, needed, needed * n, reached, within / total if total else 0.0, refused, raised)


def _fewest(enough: Callable[[int], bool], least: int) -> int:
    """Return the fewest problems, at least `least`, that are enough; more of them always are, too."""
    low, high = least, least
    while not enough(high):
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high


def half_width_of(variance: float, problems: int, level: float) -> float:
    """Return t·√(variance/problems), from the variance of a problem's score."""
    return quantile(level, problems - 1) * float(np.sqrt(variance / problems))
