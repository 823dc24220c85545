"""How far a number tells two kinds of samples apart, before and after what their length explains.

AUROC and Cohen's d, as they are, of the residuals of a regression on the logarithm of the tokens, and among
samples of similar length; with percentile intervals of the cluster bootstrap over source problems (Field and
Welsh 2007, J. R. Statist. Soc. B 69, 369), in which the regression is done anew in each resample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..uncertainty import Interval
from ..uncertainty.design import cluster_numbers
from ..uncertainty.intervals import FEWEST_EFFECTIVE, check_level, effective_number, problems_refusal

Floats = NDArray[np.float64]
Wholes = NDArray[np.intp]
Bools = NDArray[np.bool_]
Statistic = Callable[[Floats], float]
"""Of the weight of each sample → a number; NaN where the weights leave nothing to compare."""

REPLICATES = 1000
STRATA = 10
"""Strata of length hold as many samples each, as far as ties allow."""


class Samples(NamedTuple):
    """Samples of two kinds."""

    positive: Bools
    """Whether it is of the first kind: correct, or stable."""
    log_tokens: Floats
    """Natural logarithm of the length of the response."""
    problems: Sequence[str]
    """The source problem: samples of one problem are drawn together."""
    questions: Sequence[str]
    """The question, of which one problem may have several (its translations)."""


class Separation(NamedTuple):
    """What one number says of the kind of a sample. 0.5 (AUROC) and 0 (d) say nothing."""

    auroc: Interval
    """How often a sample of the first kind has the larger value than one of the second."""
    auroc_of_residuals: Interval
    """The same of what the length does not explain."""
    auroc_in_strata: Interval
    """The same among pairs from one of `STRATA` strata of length."""
    auroc_in_questions: Interval
    """The same among pairs of responses to one question."""
    d: Interval
    """Difference of the means in pooled standard deviations within the kinds (Cohen's d)."""
    d_of_residuals: Interval


class Concordance:
    """The share of pairs (first kind, second kind) in which the first has the larger value; ties count half.

    Args:
        values: one a sample.
        positive: whether a sample is of the first kind.
        strata: pairs are of one stratum each.
    """

    def __init__(self, values: Floats, positive: Bools, strata: Wholes) -> None:
        self._order = np.lexsort((values, strata))
        ordered, stratum = values[self._order], strata[self._order]
        self._positive = positive[self._order].astype(np.float64)
        anew = np.r_[True, stratum[1:] != stratum[:-1]]
        other = anew | np.r_[True, ordered[1:] != ordered[:-1]]
        self._ties = np.flatnonzero(other)
        """Where each group of equal values in one stratum begins."""
        self._stratum = (np.cumsum(anew) - 1)[self._ties]
        self._strata = int(anew.sum())

    def __call__(self, weights: Floats) -> float:
        """Return the share for samples that are there so many times each; NaN without a pair."""
        ordered = weights[self._order]
        first = np.add.reduceat(ordered * self._positive, self._ties)
        second = np.add.reduceat(ordered * (1 - self._positive), self._ties)
        firsts = np.bincount(self._stratum, first, self._strata)
        seconds = np.bincount(self._stratum, second, self._strata)
        before = np.cumsum(second) - second - (np.cumsum(seconds) - seconds)[self._stratum]
        pairs = float(firsts @ seconds)
        return float(first @ (before + second / 2)) / pairs if pairs else float('nan')


def cohens_d(values: Floats, positive: Bools, weights: Floats) -> float:
    """Return the difference of the means over the pooled standard deviation (N − 2 degrees of freedom).

    Args:
        values: one a sample.
        positive: whether a sample is of the first kind.
        weights: how often each sample is there; N is their sum.

    Returns:
        NaN where a kind is missing, N is not above 2, or the values do not vary within the kinds.

    >>> round(cohens_d(np.array([1.0, 3.0, 0.0, 2.0]), np.array([True, True, False, False]), np.ones(4)), 4)
    0.7071
    """
    sizes = np.array([weights @ ~positive, weights @ positive])
    freedom = float(sizes.sum()) - 2
    if not sizes.all() or freedom <= 0:
        return float('nan')
    means = np.array([(weights * ~positive) @ values, (weights * positive) @ values]) / sizes
    within = float(weights @ (values - means[positive.astype(np.intp)]) ** 2) / freedom
    return float(means[1] - means[0]) / within**0.5 if within > 0 else float('nan')


def residuals(values: Floats, by: Floats, weights: Floats) -> Floats:
    """Return what a least-squares line does not explain; all of it, less the mean, where `by` does not vary.

    Rounding is cut off: values that the line explains have residuals of 0.
    """
    total = weights.sum()
    x, y = by - weights @ by / total, values - weights @ values / total
    spread = float(weights @ x**2)
    left: Floats = y - x * (float(weights @ (x * y)) / spread if spread > 0 else 0.0)
    return np.where(np.abs(left) > 1e-12 * np.abs(y).max(initial=0.0), left, 0.0)


def separations(
    values: Mapping[str, ArrayLike],
    samples: Samples,
    level: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> dict[str, Separation]:
    """Return how far each number tells the kinds apart.

    Intervals are refused with fewer than 20 source problems, or where one of the kinds comes from fewer than
    6 of them in effect.

    Args:
        values: name of a number → one a sample, all finite.
        samples: what they are of.
        level: of confidence.
        replicates, seed: of the bootstrap.

    Raises:
        InputError: there is only one kind, or a value is not finite.
    """
    check_level(level)
    of_first = int(samples.positive.sum())
    if of_first in (0, samples.positive.size):
        raise InputError(f'{of_first} of {samples.positive.size} samples are of the first kind: no contrast')
    arrays = {name: np.asarray(column, dtype=np.float64) for name, column in values.items()}
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise InputError('values: expected finite numbers')
    clusters = cluster_numbers(samples.problems)
    refused = _refusal(samples.positive, clusters)
    statistics = {name: _statistics(array, samples) for name, array in arrays.items()}
    draws = None if refused else _weights(clusters, replicates, seed)
    found: dict[str, list[Interval]] = {name: [] for name in statistics}
    within = refused or _refusal_within(samples, clusters)
    whys = [within if name == 'auroc_in_questions' else refused for name in Separation._fields]
    for name, each in statistics.items():
        for statistic, why in zip(each, whys, strict=True):
            found[name].append(_interval(statistic, clusters, draws, level, why))
    return {name: Separation(*intervals) for name, intervals in found.items()}


def _statistics(values: Floats, samples: Samples) -> list[Statistic]:
    """Return the statistics of `Separation`, in their order."""
    positive, lengths = samples.positive, samples.log_tokens
    nobody = np.zeros(values.size, dtype=np.intp)
    return [
        Concordance(values, positive, nobody),
        lambda weights: Concordance(residuals(values, lengths, weights), positive, nobody)(weights),
        Concordance(values, positive, strata_of(lengths)),
        Concordance(values, positive, cluster_numbers(samples.questions)),
        lambda weights: cohens_d(values, positive, weights),
        lambda weights: cohens_d(residuals(values, lengths, weights), positive, weights),
    ]


def strata_of(lengths: Floats, strata: int = STRATA) -> Wholes:
    """Return the number of each sample's stratum of length, of about equally many samples.

    >>> strata_of(np.array([1.0, 2.0, 3.0, 4.0]), 2).tolist()
    [0, 0, 1, 1]
    """
    inner = np.quantile(lengths, np.arange(1, strata) / strata)
    return np.searchsorted(np.unique(inner), lengths, side='left')


def _refusal(positive: Bools, clusters: Wholes) -> str:
    """Return why no interval would hold, or ''."""
    sizes = np.bincount(clusters)
    if refused := problems_refusal(sizes):
        return refused
    for kind in (positive, ~positive):
        of_each = np.bincount(clusters, kind.astype(np.float64)).astype(np.float64)
        if (count := effective_number(of_each)) < FEWEST_EFFECTIVE:
            return f'one kind from {count:.1f} problems in effect, fewer than {FEWEST_EFFECTIVE:g}'
    return ''


def _refusal_within(samples: Samples, clusters: Wholes) -> str:
    """Return why no interval would hold among responses to one question, or ''."""
    questions = cluster_numbers(samples.questions)
    first = np.bincount(questions, samples.positive.astype(np.float64))
    pairs = first * (np.bincount(questions) - first)
    problem = np.zeros(len(pairs), dtype=np.intp)
    problem[questions] = clusters
    count = effective_number(np.bincount(problem, pairs).astype(np.float64))
    if count >= FEWEST_EFFECTIVE:
        return ''
    return f'pairs of one question from {count:.1f} problems in effect, fewer than {FEWEST_EFFECTIVE:g}'


def _weights(clusters: Wholes, replicates: int, seed: int) -> NDArray[np.uint16]:
    """Return how often each cluster is drawn in each resample, shape (replicates, clusters)."""
    generator, count = np.random.default_rng(seed), int(clusters.max()) + 1
    drawn = [np.bincount(generator.integers(count, size=count), minlength=count) for _ in range(replicates)]
    return np.array(drawn, dtype=np.uint16)


def _interval(
    statistic: Statistic, clusters: Wholes, draws: NDArray[np.uint16] | None, level: float, refused: str
) -> Interval:
    estimate, problems = statistic(np.ones(clusters.size)), int(clusters.max()) + 1
    nan = float('nan')
    if refused or draws is None or np.isnan(estimate):
        why = refused or 'nothing to compare'
        return Interval(estimate, nan, nan, nan, level, problems, why)
    drawn = np.array([statistic(row[clusters].astype(np.float64)) for row in draws])
    drawn = drawn[np.isfinite(drawn)]  # a resample may hold one kind alone
    if drawn.size < 0.95 * len(draws):
        return Interval(estimate, nan, nan, nan, level, problems, 'many resamples hold one kind alone')
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(drawn.std(ddof=1)), float(low), float(high), level, problems)
