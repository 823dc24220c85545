"""What a judge that errs makes of G-Pass@k: the values that it reports where the true ones are known.

A judge calls a correct answer incorrect with probability `false_negative` and an incorrect one correct with
probability `false_positive`. How much of that reaches G-Pass@k depends on whether equal answers err together:

- `independent`: each of the n verdicts errs for itself, as where every response is judged anew. G-Pass@k near
  τ = 1 suffers most: all k drawn verdicts have to be right.
- `together`: the correct answers of a question share one verdict, the incorrect ones another, as where each
  different answer is judged once and a question has two of them. Between the two ends lies what a run with
  deduplicated verdicts suffers; where its answers are known, `by_answers` computes it.

All of it is exact: J of k drawn answers are correct, J' of them are judged so, and
J' ~ Bin(J, 1 − false_negative) + Bin(k − J, false_positive) where errors are independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .arguments import as_counts, as_list, as_sizes, as_whole
from .errors import InputError
from .metrics import (
    DEFAULT_THRESHOLDS,
    Counts,
    Kind,
    Metric,
    metric_table,
    metrics_of,
)
from .tails import Floats, tail

LARGEST_K = 1_024
"""The largest k that is computed; the cost grows with its cube."""


class ErrorRates(NamedTuple):
    """How often a judge errs, on answers that are correct and on those that are not, from 0 to 1.

    `1 − recall` and the rate of false positives of `gpassk judge-agreement`.
    """

    false_negative: float
    false_positive: float = 0.0


def reported_table(
    n: int,
    k_list: int | Sequence[int],
    rates: ErrorRates,
    *,
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    together: bool = False,
) -> dict[str, Floats]:
    """Return what is expected to be reported, arrays over the true c = 0 … n; for use like `metric_table`.

    Args:
        n: answers a question.
        k_list: one k or several, each from 1 to n.
        rates: how often the judge errs.
        thresholds: the τ of G-Pass@k_τ.
        together: whether equal verdicts err together, see above.

    Returns:
        `accuracy`, then for each k pass@k, G-Pass@k_τ and mG-Pass@k (fractions).

    Raises:
        InputError: a number is out of range.

    A model that is always right, and a judge that misses 1 % for itself each time:

    >>> reported_table(48, 16, ErrorRates(0.01))['G-Pass@16_1.0'][48].round(4)
    0.8515
    >>> reported_table(48, 16, ErrorRates(0.01), together=True)['G-Pass@16_1.0'][48].round(4)
    0.99
    """
    ks = _ks(k_list, thresholds)
    columns = {k: drawn_from(n, k) for k in ks}
    accuracy = np.arange(n + 1) / n
    return _reported(accuracy, columns, rates, thresholds, together)


def drawn_from(n: int, k: int) -> Floats:
    """Return P[at least j of k drawn are correct] for c = 0 … n and j = 0 … k: an array (n + 1, k + 1)."""
    size, draws = as_sizes(n, k)
    return np.stack([np.ones(size + 1), *(tail(size, draws, j) for j in range(1, draws + 1))], axis=-1)


def drawn_from_beta(a: float, b: float, k: int) -> Floats:
    """Return P[at least j of k are correct], j = 0 … k, over questions whose chance is Beta(a, b).

    a, b < 1 is the usual U shape: most questions are nearly always or hardly ever solved.

    Raises InputError unless both are above 0.

    >>> drawn_from_beta(1, 1, 3)
    array([1.  , 0.75, 0.5 , 0.25])
    """
    from scipy.stats import betabinom

    if not (0 < a < np.inf and 0 < b < np.inf):
        raise InputError(f'a Beta population needs two numbers above 0, got {a} and {b}')
    draws = as_whole('k', k, 1, LARGEST_K)
    return np.asarray(betabinom.sf(np.arange(-1, draws), draws, a, b)).clip(0.0, 1.0)


def reported_of_beta(
    a: float,
    b: float,
    k_list: int | Sequence[int],
    rates: ErrorRates,
    *,
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    together: bool = False,
) -> dict[str, float]:
    """Return what `reported_table` does, as the mean over a Beta(a, b) population (`drawn_from_beta`)."""
    columns = {k: drawn_from_beta(a, b, k) for k in _ks(k_list, thresholds)}
    means = _reported(np.asarray(a / (a + b)), columns, rates, thresholds, together)
    return {name: float(value) for name, value in means.items()}


def reported_draws(drawn: Floats, rates: ErrorRates, *, together: bool = False) -> Floats:
    """Return P[at least m of k drawn are judged correct] from P[at least j of k drawn are correct].

    Args:
        drawn: of any shape; its last axis is j = 0 … k. Means over questions may be taken before or after.
        rates: how often the judge errs.
        together: whether equal verdicts err together.

    Returns:
        An array of the same shape; its last axis is m = 0 … k.
    """
    missed, accepted = _checked(rates)
    if together:
        return _together(drawn, missed, accepted)
    at_least = _at_least(drawn.shape[-1] - 1, missed, accepted)
    # Σ_j P[J = j]·P[J' ≥ m | j], summed by parts: no difference of two nearly equal tails.
    return np.asarray(at_least[0] + drawn[..., 1:] @ np.diff(at_least, axis=0))


def by_answers(
    answers: Sequence[Sequence[Hashable]],
    correct: Sequence[Sequence[bool]],
    k_list: int | Sequence[int],
    rates: ErrorRates,
    *,
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
) -> dict[str, float]:
    """Return what is expected to be reported where equal answers to a question share one verdict.

    Args:
        answers: n answers to each question; None stands for one that equals no other.
        correct: whether each is.
        k_list, rates, thresholds: as for `reported_table`.

    Returns:
        The means over the questions, under the same names.

    Raises:
        InputError: no question, or rows of different lengths.

    >>> by_answers([['7'] * 4], [[True] * 4], 4, ErrorRates(0.1))['pass@4']
    0.9
    >>> round(by_answers([[None] * 4], [[True] * 4], 4, ErrorRates(0.1))['pass@4'], 4)
    0.9999
    """
    missed, accepted = _checked(rates)
    sizes = {len(row) for rows in (answers, correct) for row in rows}
    if len(sizes) != 1 or len(answers) != len(correct):
        raise InputError(
            f'every question needs the same number of answers and verdicts, got {sorted(sizes)} of '
            f'{len(answers)} and {len(correct)} questions'
        )
    [n] = sizes
    counts = np.zeros(n + 1)
    for row, truth in zip(answers, correct, strict=True):
        counts += _counts_of(row, truth, missed, accepted)
    table = {'accuracy': np.arange(n + 1) / n, **metric_table(n, _ks(k_list, thresholds), thresholds)}
    return {name: float(counts @ column) / len(answers) for name, column in table.items()}


def mean_reported(
    counts: Mapping[int, Counts],
    k_list: int | Sequence[int],
    rates: ErrorRates,
    *,
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    together: bool = False,
) -> dict[str, float]:
    """Return what `reported_table` does, as the mean over questions: `counts[n]` are those with n answers.

    Raises InputError where there is no question, or a count is out of range.

    >>> round(mean_reported({4: [4, 0]}, 2, ErrorRates(0.1), thresholds=[1.0])['G-Pass@2_1.0'], 4)
    0.405
    """
    ks = _ks(k_list, thresholds)
    weights = {
        n: np.bincount(as_counts(c, n).ravel().astype(np.intp), minlength=n + 1) for n, c in counts.items()
    }
    questions = sum(int(weight.sum()) for weight in weights.values())
    if not questions:
        raise InputError('there are no questions: a mean needs at least one count')
    columns = {
        k: np.sum([_mean_drawn(weight / questions, n, k) for n, weight in weights.items()], axis=0)
        for k in ks
    }
    accuracy = sum(float(weight @ np.arange(n + 1)) / n for n, weight in weights.items()) / questions
    means = _reported(np.asarray(accuracy), columns, rates, thresholds, together)
    return {name: float(value) for name, value in means.items()}


def _mean_drawn(weights: Floats, n: int, k: int) -> Floats:
    """Return the sum of `weights[c]` times row c of `drawn_from`, without the array itself."""
    as_sizes(n, k)
    return np.array([weights.sum(), *(weights @ tail(n, k, j) for j in range(1, k + 1))])


def _reported(
    accuracy: Floats,
    columns: Mapping[int, Floats],
    rates: ErrorRates,
    thresholds: Sequence[float],
    together: bool,
) -> dict[str, Floats]:
    missed, accepted = _checked(rates)
    table = {'accuracy': accuracy * (1 - missed) + (1 - accuracy) * accepted}
    for k, drawn in columns.items():
        judged = reported_draws(drawn, rates, together=together)
        for metric in metrics_of(k, thresholds, pass_at=True):
            table[metric.name] = _drawn_score(metric, judged)
    return table


def _drawn_score(metric: Metric, judged: Floats) -> Floats:
    """Return the expected score of k draws from P[at least m of them are judged correct]."""
    if metric.kind is Kind.MG_PASS:
        return np.asarray(judged[..., (metric.k + 1) // 2 + 1 :].sum(-1) * (2 / metric.k))
    return np.asarray(judged[..., metric.steps[0]])


def _together(drawn: Floats, missed: float, accepted: float) -> Floats:
    """Return the chances where correct answers are missed together and incorrect ones accepted together."""
    # P[k − J ≥ m] = 1 − P[J ≥ k − m + 1]; P[J ≥ k + 1] = 0.
    incorrect = 1 - np.concatenate([drawn, np.zeros_like(drawn[..., :1])], axis=-1)[..., :0:-1]
    judged = (1 - missed) * ((1 - accepted) * drawn + accepted) + missed * accepted * incorrect
    judged[..., 0] = 1.0
    return np.asarray(judged)


def _at_least(k: int, missed: float, accepted: float) -> Floats:
    """Return P[Bin(j, 1 − missed) + Bin(k − j, accepted) ≥ m] as an array over j, m = 0 … k."""
    from scipy.stats import binom

    drawn = np.arange(k + 1)
    kept = [binom.pmf(drawn[: j + 1], j, 1 - missed) for j in drawn]
    added = [binom.pmf(drawn[: j + 1], j, accepted) for j in drawn]
    sums = np.array([np.convolve(kept[j], added[k - j]) for j in drawn])
    return np.asarray(np.minimum(np.cumsum(sums[:, ::-1], axis=1)[:, ::-1], 1.0))


def _counts_of(row: Sequence[Hashable], truth: Sequence[bool], missed: float, accepted: float) -> Floats:
    """Return P[c answers are judged correct] for c = 0 … n."""
    groups = Counter(
        (('', place) if answer is None else ('answer', answer), bool(right))
        for place, (answer, right) in enumerate(zip(row, truth, strict=True))
    )
    chances = np.zeros(len(row) + 1)
    chances[0] = 1.0
    for (_, right), size in groups.items():
        accepts = 1 - missed if right else accepted
        shifted = np.concatenate([np.zeros(size), chances[:-size]])
        chances = accepts * shifted + (1 - accepts) * chances
    return chances


def _checked(rates: ErrorRates) -> ErrorRates:
    for name, rate in rates._asdict().items():
        if not 0 <= rate <= 1:
            raise InputError(f'{name} must be a share from 0 to 1 (1 % is 0.01), got {rate}')
    return rates


def _ks(k_list: int | Sequence[int], thresholds: Sequence[float]) -> list[int]:
    ks = [as_whole('k', k, 1, LARGEST_K) for k in as_list(k_list)]
    metrics_of(ks, thresholds)  # refuses an empty list and repetitions
    return ks
