"""The interval of a mean over questions, for new questions of the same kind; and the cluster bootstrap.

Sources: Wilson 1927, JASA 22, 209; for strata Cochran 1977, Sampling Techniques, chapter 5.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..distributions import student_quantile
from ..errors import InputError

Floats = NDArray[np.float64]

FEWEST_PROBLEMS = 20
"""With fewer source problems, or fewer in effect where some have many questions, no interval is given."""

FEWEST_EFFECTIVE = 6.0
"""Nor with fewer than so many solved, or unsolved, problems; see `effective_number`."""

FEWEST_IN_ALL = 2.0
"""Nor where the values, or what they lack to 1, add up to fewer: tiny ones hide the rare large ones."""

FEWEST_WITHIN = 24.0
"""Strata are used where so many problems, in effect, differ from the others of their stratum.

Of n problems that are solved or not, few of them the rarer way, each rare one counts as about four here: it
and the others' small distances from the mean that it moved. So this asks for six, as `FEWEST_EFFECTIVE` does.
"""

LEAST_ERROR = 1e-12
"""Nor with a standard error up to this, which is rounding: all problems score alike."""

_ROUNDING = 1e-12
_CHUNK = 4_000_000
"""Problems drawn at a time by the bootstrap, which bounds the memory."""


@dataclass(frozen=True)
class Interval:
    """An estimate and how far it can be trusted, all on the scale of the values.

    Where `refused` says why, `low` and `high` are NaN: no interval that could be given would hold.
    """

    estimate: float
    error: float
    """Standard error."""
    low: float
    high: float
    level: float
    problems: int
    """Source problems: the clusters that are taken as independent."""
    refused: str = ''
    strata: int = 0
    """Of the standard error and the interval; 0: none, problems are draws from all of them."""


def mean_interval(
    values: ArrayLike,
    problems: Sequence[Hashable] | None = None,
    level: float = 0.95,
    strata: Sequence[Hashable] | None = None,
) -> Interval:
    """Return the mean of a question's values with an interval for new questions of the same kind.

    The standard error is the one between source problems, which already holds the noise of sampling n
    answers: translations of one problem are one cluster, since they are right or wrong together. The
    interval is Wilson's with the effective number of questions p·(1 − p)/SE² in the place of n and
    Student's t with (problems − 1) degrees of freedom in the place of the normal quantile (cf. Franco,
    Little, Louis and Slud 2019, on intervals for proportions in surveys with clusters). Near 0 and 1 it
    keeps its level far longer than p ± t·SE, with which it agrees in the middle.

    With `strata` it is for new questions of the same strata in the same proportions: what the strata differ
    by is not an error then, and t has (problems − strata) degrees of freedom. Where fewer than
    `FEWEST_WITHIN` problems, in effect, differ from others of their stratum, it is the interval without
    strata, as a rule a wider one: hardly any difference within strata was seen, and that says little of
    what was not drawn.

    Args:
        values: one a question, each in [0, 1].
        problems: the source problem of each question; None: each question is its own.
        level: of confidence, between 0 and 1.
        strata: of each question, e.g. its contest; see `strata_of_clusters`. None: there are none.

    Returns:
        An interval, refused with fewer than `FEWEST_PROBLEMS` problems (in effect, by their sizes), where
        fewer than `FEWEST_EFFECTIVE` (or `FEWEST_IN_ALL`) of them are solved or unsolved, or where all are
        alike: it would be wrong more often than it says.

    Raises:
        InputError: no value, one outside [0, 1], another number of problems or strata, or a problem in two
            strata.

    >>> interval = mean_interval([0.0, 1.0] * 50)
    >>> round(interval.low, 3), interval.estimate, round(interval.high, 3)
    (0.402, 0.5, 0.598)
    """
    array, cluster = as_scores(values, problems)
    check_level(level)
    sums = cluster_sums(np.clip(array, 0.0, 1.0), cluster)
    return interval_of_sums(sums, np.bincount(cluster), level, strata_of_clusters(strata, cluster))


def interval_of_sums(
    sums: Floats, sizes: NDArray[np.intp], level: float = 0.95, stratum: NDArray[np.intp] | None = None
) -> Interval:
    """Return the interval of `mean_interval` from the sum of the values and the questions of each problem.

    Args:
        sums, sizes: of each problem.
        level: of confidence.
        stratum: 0, 1, … of each problem, as `strata_of_clusters` has them; None: there are none.

    >>> interval_of_sums(np.array([0.0, 1.0] * 50), np.ones(100, dtype=np.intp)) == mean_interval([0, 1] * 50)
    True
    """
    estimate, error = ratio_error(sums, sizes)
    solved = sums if _alone(sizes) else sums / sizes
    refused = problems_refusal(sizes) or _solved_refusal(solved) or spread_refusal(error)
    if refused:
        return Interval(estimate, error, np.nan, np.nan, level, sizes.size, refused)
    strata = strata_used(sums, sizes, stratum)
    if stratum is not None and strata:
        within = residuals_within(sums - estimate * sizes, stratum)
        error = math.sqrt(float(squares_within(within, stratum))) / int(sizes.sum())
    trials = estimate * (1 - estimate) / error**2
    low, high = wilson(estimate, trials, quantile(level, sizes.size - max(strata, 1)))
    return Interval(estimate, error, low, high, level, sizes.size, '', strata)


def strata_used(sums: Floats, sizes: NDArray[np.intp], stratum: NDArray[np.intp] | None) -> int:
    """Return how many strata an interval has; 0 where there is one, or too little differs within them.

    Arguments are those of `interval_of_sums`; see `FEWEST_WITHIN`.
    """
    count = 0 if stratum is None else int(stratum.max()) + 1
    if stratum is None or count < 2:
        return 0
    residuals = sums - float(sums.sum()) / int(sizes.sum()) * sizes
    enough = effective_number(np.abs(residuals_within(residuals, stratum))) >= FEWEST_WITHIN
    return count if enough else 0


def strata_of_clusters(strata: Sequence[Hashable] | None, cluster: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return 0, 1, … for the stratum of each problem; all 0 without strata.

    A stratum of one problem says nothing of how problems differ. All such strata are one together; where
    that, too, has one problem, it goes to the smallest of the others (of equal ones to the first).

    Args:
        strata: of each question; None: all are of one.
        cluster: the number of the source problem of each question.

    Raises:
        InputError: there is not one stratum a question, or a problem has questions of two.

    >>> strata_of_clusters(['CNMO', 'CNMO', 'WLPMC', 'AMC', 'AMC', 'AMC'], np.arange(6)).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if strata is None:
        return np.zeros(int(cluster.max()) + 1, dtype=np.intp)
    if len(strata) != cluster.size:
        raise InputError(f'{len(strata)} strata for {cluster.size} questions: give one a question')
    named = cluster_numbers(strata)
    found = np.empty(int(cluster.max()) + 1, dtype=np.intp)
    found[cluster] = named
    if (wrong := np.flatnonzero(found[cluster] != named)).size:
        place = int(wrong[0])
        other = next(i for i in np.flatnonzero(cluster == cluster[place]) if strata[i] != strata[place])
        raise InputError(
            f'one problem has questions in two strata, {strata[place]!r} and {strata[other]!r}: give all '
            'translations of a problem one stratum, e.g. the set of the contests in which it stands'
        )
    return _merged(found)


def _merged(stratum: NDArray[np.intp]) -> NDArray[np.intp]:
    sizes = np.bincount(stratum)
    alone = np.flatnonzero(sizes == 1)
    target = alone
    if alone.size == 1 and sizes.size > 1:
        target = np.array([min(np.flatnonzero(sizes > 1), key=lambda one: (sizes[one], one))])
    merged = np.where(np.isin(stratum, alone), target[:1] if alone.size else 0, stratum)
    return cluster_numbers(merged.tolist())


def residuals_within(residuals: Floats, stratum: NDArray[np.intp]) -> Floats:
    """Return how far the residual of each problem is from the mean of its stratum, shape (…, J)."""
    means = _sums_within(residuals, stratum) / np.bincount(stratum)
    return np.asarray(residuals - means[..., stratum])


def squares_within(within: Floats, stratum: NDArray[np.intp]) -> Floats:
    """Return Σ over strata of J/(J − 1)·Σr², r the residuals of its J problems; NaN where a stratum has one.

    Args:
        within: what `residuals_within` returns, shape (…, J); the result has shape (…).
    """
    sizes = np.bincount(stratum).astype(np.float64)
    factors = np.divide(sizes, sizes - 1, out=np.full_like(sizes, np.nan), where=sizes > 1)
    return np.asarray(_sums_within(within**2, stratum) @ factors)


def _sums_within(values: Floats, stratum: NDArray[np.intp]) -> Floats:
    """Return the sum of each stratum, shape (…, strata)."""
    order = np.argsort(stratum, kind='stable')
    starts = np.searchsorted(stratum[order], np.arange(int(stratum.max()) + 1))
    return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1))


def ratio_error(sums: Floats, sizes: NDArray[np.intp]) -> tuple[float, float]:
    """Return the mean over all questions and its standard error between clusters, from their sums and sizes.

    The error is that of a ratio of sums, with the factor J/(J − 1) for J clusters; NaN for one cluster.
    """
    count, total = sizes.size, int(sizes.sum())
    mean = float(sums.sum()) / total
    if count < 2:
        return mean, float('nan')
    residuals = sums - (mean if _alone(sizes) else mean * sizes)
    return mean, float(np.sqrt(count / (count - 1) * (residuals @ residuals))) / total


def _alone(sizes: NDArray[np.intp]) -> bool:
    """Whether each problem has one question, so that nothing need be done a million times with ones."""
    return bool((sizes == 1).all())


def effective_number(parts: Floats) -> float:
    """Return how many equal parts a sum is worth: (Σx)²/Σx², Kish's effective number, to nine decimals.

    It is held against limits that are whole, and m equal parts are m, not a little less.

    >>> effective_number(np.array([0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.0]))
    6.0
    """
    squares = float(parts @ parts)
    return round(float(parts.sum()) ** 2 / squares, 9) if squares else 0.0


def problems_refusal(sizes: NDArray[np.intp]) -> str:
    """Return why problems with so many questions each are too few, or ''.

    A mean over questions weighs a problem by its questions, so a few large problems outweigh many small
    ones: what counts is the `effective_number` of the sizes.

    >>> problems_refusal(np.array([200] + [1] * 40))
    '240 questions of 41 problems, in effect 1.4, fewer than 20'
    """
    few = f'fewer than {FEWEST_PROBLEMS}'
    if sizes.size < FEWEST_PROBLEMS:
        return f'{sizes.size} problems, {few}'
    if not _alone(sizes) and (count := effective_number(sizes.astype(np.float64))) < FEWEST_PROBLEMS:
        return f'{sizes.sum()} questions of {sizes.size} problems, in effect {count:.1f}, {few}'
    return ''


def solved_refusal(what: str, effective: float, in_all: float) -> str:
    """Return why problems solved (or unsolved) in such numbers are too few, or ''."""
    if effective < FEWEST_EFFECTIVE:
        return f'too few problems {what}: {effective:.1f} in effect, fewer than {FEWEST_EFFECTIVE:g}'
    if in_all < FEWEST_IN_ALL:
        return f'too few problems {what}: {in_all:.1f} in all, fewer than {FEWEST_IN_ALL:g}'
    return ''


def spread_refusal(error: float) -> str:
    """Return why a standard error says nothing, or ''."""
    return 'all problems alike' if error <= LEAST_ERROR else ''


def as_values(values: ArrayLike, problems: Sequence[Hashable] | None) -> tuple[Floats, NDArray[np.intp]]:
    """Return the values and, for each, the number of its source problem; InputError where they do not fit."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
        raise InputError(
            f'values: expected one finite number a question, got an array of shape {array.shape}'
        )
    return array, clusters_of(problems, array.size)


def as_scores(values: ArrayLike, problems: Sequence[Hashable] | None) -> tuple[Floats, NDArray[np.intp]]:
    """Return what `as_values` does, of values from 0 to 1; InputError where one is not, as a percentage."""
    array, cluster = as_values(values, problems)
    if array.min() < -_ROUNDING or array.max() > 1 + _ROUNDING:
        raise InputError(f'values must lie in [0, 1], got {array.min()} … {array.max()}')
    return array, cluster


def clusters_of(problems: Sequence[Hashable] | None, questions: int) -> NDArray[np.intp]:
    """Return the number of each question's source problem; without problems each question is its own.

    Raises:
        InputError: there is not one problem a question.
    """
    if problems is None:
        return np.arange(questions)
    if len(problems) != questions:
        raise InputError(f'{len(problems)} problems for {questions} questions: give one a question')
    return cluster_numbers(problems)


def cluster_numbers(problems: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return 0, 1, … for the different problems in the order of their first question."""
    numbers = {problem: number for number, problem in enumerate(dict.fromkeys(problems))}
    return np.array([numbers[problem] for problem in problems], dtype=np.intp)


def cluster_sums(values: Floats, cluster: NDArray[np.intp]) -> Floats:
    """Return the sum of the values of each cluster."""
    return np.bincount(cluster, weights=values).astype(np.float64)


def check_level(level: float) -> None:
    """Refuse a level that is not between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f'level = {level!r}: expected a confidence between 0 and 1, e.g. 0.95')


@lru_cache(maxsize=1024)
def quantile(level: float, freedom: int) -> float:
    """Return Student's t for two sides; tables of many runs ask for the same one thousands of times."""
    return student_quantile((1 + level) / 2, freedom)


def _solved_refusal(solved: Floats) -> str:
    # Of shares the effective number is no less than their sum, so that many need no further look.
    if 2 * FEWEST_EFFECTIVE < float(solved.sum()) < solved.size - 2 * FEWEST_EFFECTIVE:
        return ''
    return solved_refusal('solved', effective_number(solved), float(solved.sum())) or solved_refusal(
        'unsolved', effective_number(1 - solved), float((1 - solved).sum())
    )


def wilson(share: float, trials: float, quantile: float) -> tuple[float, float]:
    """Return Wilson's interval: the shares of which the observed one is within `quantile` standard errors.

    Args:
        share: observed, from 0 to 1.
        trials: how many there were, above 0; an effective number need not be whole.
        quantile: of the normal distribution, or of Student's t where the error itself is estimated.

    >>> low, high = wilson(0.5, 100, 1.96)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    shrink = 1 + quantile**2 / trials
    centre = (share + quantile**2 / (2 * trials)) / shrink
    half = quantile / shrink * math.sqrt(share * (1 - share) / trials + quantile**2 / (4 * trials**2))
    return centre - half, centre + half


def bootstrap_means(
    values: ArrayLike,
    problems: Sequence[Hashable] | None = None,
    replicates: int = 10_000,
    seed: int = 0,
) -> Floats:
    """Return means of `replicates` resamples of the source problems.

    Args:
        values: of one run, shape (Q,), or of M runs on the same questions, shape (M, Q).
        problems: the source problem of each question; None: each question is its own.
        replicates: how many resamples.
        seed: the same seed gives the same resamples.

    Returns:
        Shape (replicates,) or (replicates, M); runs share their resamples, so that differences are paired.

    Raises:
        InputError: no values, or another number of problems.
    """
    array = np.asarray(values, dtype=np.float64)
    runs = np.atleast_2d(array)
    if runs.ndim != 2 or runs.size == 0 or replicates < 1:
        raise InputError(f'values of shape {array.shape}, {replicates} replicates: expected (M, Q) and ≥ 1')
    cluster = clusters_of(problems, runs.shape[1])
    sums = np.stack([cluster_sums(run, cluster) for run in runs], axis=1)
    sizes = np.bincount(cluster)
    means = [(drawn @ sums) / (drawn @ sizes)[:, None] for drawn in _resamples(sizes.size, replicates, seed)]
    together = np.concatenate(means)
    return together[:, 0] if array.ndim == 1 else together


def _resamples(problems: int, replicates: int, seed: int) -> Iterator[Floats]:
    """Return how often each problem was drawn, a row a resample, in chunks."""
    generator = np.random.default_rng(seed)
    rows = max(1, _CHUNK // problems)
    for start in range(0, replicates, rows):
        count = min(rows, replicates - start)
        drawn = generator.integers(problems, size=(count, problems))
        drawn += np.arange(count)[:, None] * problems
        yield np.bincount(drawn.ravel(), minlength=count * problems).reshape(count, problems).astype(float)
