"""pass@k, G-Pass@k and mG-Pass@k from counts: c of the n answers to a question are correct.

A metric depends on a question through c alone, and c has only n + 1 values: so each metric is a table indexed
by c, built from integers and looked up for any number of questions. All values are fractions from 0 to 1.

Sources: G-Pass@k: Liu et al., arXiv 2412.13147; the estimator of pass@k: Chen et al., arXiv 2107.03374.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

DEFAULT_THRESHOLDS = (0.0, 0.25, 0.5, 0.75, 1.0)  # that are computed unless others are asked for
SHOWN_THRESHOLDS = (0.5, 0.75, 1.0)  # of the columns of the published tables
LARGEST_N = 10_000  # a table takes up to a tenth of a second there

Floats = NDArray[np.float64]
Integer = int | np.integer[Any]
Threshold = float | np.floating[Any]
Counts = NDArray[Any] | Sequence[Any]


# What metrics accept as n, c, k and τ


def as_whole(name: str, value: object, lowest: int, highest: int, meaning: str = '') -> int:
    """Return a whole number from lowest to highest; a TypeError of what is no number."""
    if isinstance(value, (float, np.floating)) and not float(value).is_integer():
        raise InputError(f'{name} must be a whole number, got {value}')
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f'{name} must be an integer, got {value!r} ({type(value).__name__})')
    if not lowest <= value <= highest:
        raise InputError(f'{name} must be from {lowest} to {meaning}{highest}, got {value}')
    return int(value)


def as_threshold(threshold: object) -> float:
    """Return τ, from 0 to 1, as its decimal text says: numpy.float32(0.28) is 0.28, not 0.28000000119."""
    if isinstance(threshold, bool) or not isinstance(threshold, Real):
        raise TypeError(f'a threshold must be a number, got {threshold!r} ({type(threshold).__name__})')
    value = float(str(threshold)) if isinstance(threshold, np.floating) else float(threshold)
    if not 0 <= value <= 1:
        raise InputError(f'a threshold must be from 0 to 1, got {threshold}')
    return value


def _sizes(n: object, k: object) -> tuple[int, int]:
    size = as_whole('n', n, 1, LARGEST_N)
    return size, as_whole('k', k, 1, size, meaning='n = ')


def _look_up(table: Floats, c: object) -> Any:
    """Return the values of counts, which are integers from 0 to n; a float of a single one."""
    n = len(table) - 1
    if np.isscalar(c):
        return float(table[as_whole('c', c, 0, n, meaning='n = ')])
    counts = np.asarray(c)
    if counts.size == 0:
        return np.zeros(counts.shape)
    if counts.dtype.kind == 'f':
        fractional = counts[~np.isfinite(counts) | (counts != np.floor(counts))]
        as_whole('c', (fractional if fractional.size else counts).flat[0].item(), 0, n)
    if counts.dtype.kind not in 'iu':
        raise TypeError(f'c must hold integers, got {type(c).__name__} of {counts.dtype}')
    for extreme in (counts.min(), counts.max()):
        as_whole('c', extreme, 0, n, meaning='n = ')
    return table[counts] if counts.ndim else float(table[counts])


def _listed(values: object) -> list[Any]:
    return list(values) if isinstance(values, Iterable) else [values]


# The metrics of counts


def pass_at_k(n: Integer, c: Integer | Counts, k: Integer) -> Any:
    """Return the chance that one or more of k answers drawn from n are correct: 1 − C(n − c, k) / C(n, k).

    It is G-Pass@k at τ = 0; arguments, result and errors are those of `g_pass_at_k`.
    """
    return _look_up(_table(*_sizes(n, k), 1), c)


def g_pass_at_k(n: Integer, c: Integer | Counts, k: Integer, threshold: Threshold) -> Any:
    """Return the probability that at least max(1, ⌈k·τ⌉) of k answers drawn from the n are correct.

    G-Pass@k_τ = Σ_{j ≥ max(1, ⌈k·τ⌉)} C(c, j)·C(n − c, k − j) / C(n, k), drawn without replacement: an
    unbiased estimate for every n ≥ k. Correctly rounded.

    Args:
        n: answers a question, from 1 to `LARGEST_N`.
        c: correct answers among the n, from 0 to n: an integer, or integers of any shape, as the result.
        k: answers drawn, from 1 to n.
        threshold: τ, from 0 to 1; 0 means "at least one". See `required_correct`.

    Raises InputError (a ValueError) where a number is out of range, fractional or NaN; TypeError where one is
    no integer, as booleans and floats are.

    >>> g_pass_at_k(n=4, c=[[0, 1], [2, 4]], k=2, threshold=0.5).round(3)
    array([[0.   , 0.5  ],
           [0.833, 1.   ]])
    """
    n, k = _sizes(n, k)
    return _look_up(_table(n, k, required_correct(k, threshold)), c)


def mg_pass_at_k(n: Integer, c: Integer | Counts, k: Integer, *, integral: str = 'published') -> Any:
    """Return the mean of G-Pass@k_τ over the thresholds from 0.5 to 1.

    'published' is the sum of the paper, (2/k)·Σ_{i = ⌈k/2⌉ + 1}^{k} G-Pass@k_{i/k}: for odd k a model that is
    always right gets (k − 1)/k, and k = 1 gives 0. 'exact' is 2·∫_{0.5}^{1} G-Pass@k_τ dτ, which adds
    G-Pass@k_{(k + 1)/2k} / k for odd k. Only the published sum is reported as mG-Pass@k. The other arguments,
    the result and the errors are those of `g_pass_at_k`.

    >>> mg_pass_at_k(n=8, c=8, k=5), mg_pass_at_k(n=8, c=8, k=5, integral='exact')
    (0.8, 1.0)
    """
    n, k = _sizes(n, k)
    if integral not in ('published', 'exact'):
        raise InputError(f"integral must be 'published' or 'exact', got {integral!r}")
    return _look_up(_table(n, k, 0, integral == 'exact' and k % 2 == 1), c)


def required_correct(k: Integer, threshold: Threshold) -> int:
    """Return how many of k answers must be correct at threshold τ: max(1, ⌈k·τ⌉), free of binary rounding.

    k·τ is rounded to nine decimals first, so that 0.28, 7/25 and the thresholds that `numpy.arange` and
    `numpy.linspace` make all mean what they say. Errors are those of `g_pass_at_k`.

    >>> required_correct(25, 0.28), math.ceil(25 * 0.28)
    (7, 8)
    """
    return max(1, math.ceil(round(as_whole('k', k, 1, LARGEST_N) * as_threshold(threshold), 9)))


def majority(answers: Sequence[str], correct: Sequence[bool], k: int) -> float:
    """Return maj@k of one question: the chance that the commonest answer of k of its n samples is correct.

    Over all draws of k without replacement (Wang et al., arXiv 2203.11171); ties are broken by chance, each
    tied answer with the same probability. Exact, rounded once. Equal strings are one answer (`normal_form`
    makes them equal), correct if most of its verdicts say so; '' is none and does not vote. Where nobody
    votes, the vote is lost.

    >>> majority(['1', '1', '2'], [True, True, False], 2)
    0.6666666666666666
    """
    n, k = _sizes(len(answers), k)
    given = Counter(filter(None, answers))
    hits = Counter(answer for answer, hit in zip(answers, correct, strict=True) if hit)
    won = Fraction(0)
    for votes in range(1, k + 1):  # of the winner
        ways = {(0, 0, 0): 1}  # (drawn, correct answers with that many votes, other ones) -> ways
        rest = n - given.total()
        for answer, size in given.items():
            if size < votes:  # however often it is drawn, it neither wins nor ties
                rest += size
                continue
            before, ways = ways, Counter()
            right = 2 * hits[answer] > size
            for (drawn, good, bad), count in before.items():
                for more in range(min(votes, k - drawn) + 1):
                    tied = more == votes
                    key = drawn + more, good + (tied and right), bad + (tied and not right)
                    ways[key] += count * math.comb(size, more)
        for (drawn, good, bad), count in ways.items():
            if good:
                won += Fraction(good * count * math.comb(rest, k - drawn), good + bad)
    return float(won / math.comb(n, k))


# Their tables. Put the answers in a row, the c correct ones first. The m-th of the k drawn stands at place r
# in C(r − 1, m − 1)·C(n − r, k − m) of the C(n, k) draws; X ≥ m where that place is among the first c. And
# (2/k)·Σ_{i > h} P[X ≥ i] = (2/k)·E[max(X − h, 0)]: answer r ≤ c adds one to X − h where it is drawn and h
# before it are (k/n), so that the sum over i is a sum over r in the table of n − 1 answers and k − 1 draws.


@lru_cache(maxsize=512)
def _table(n: int, k: int, m: int, with_half: bool = False) -> Floats:
    """Return P[X ≥ m], X ~ Hypergeometric(n, c, k), for c = 0 … n; m = 0: (2/k)·Σ P[X ≥ i] over i > ⌈k/2⌉.

    With half of that for i = (k + 1)/2, of odd k, if wanted.
    """
    ways, half = math.comb(n, k), (k + 1) // 2
    if m:
        numerators = _tail_numerators(n, k, m)
    else:
        ways *= k
        numerators = [0, *(2 * total for total in accumulate(_tail_numerators(n - 1, k - 1, half)))]
        more = _tail_numerators(n, k, half) if with_half else [0] * (n + 1)
        numerators = [a + b for a, b in zip(numerators, more, strict=True)]
    # Python rounds a quotient of integers correctly, whatever their size.
    table = np.array([numerator / ways for numerator in numerators])
    table.setflags(write=False)
    return table


def _tail_numerators(n: int, k: int, m: int) -> list[int]:
    """Return P[X ≥ m]·C(n, k) for c = 0 … n."""
    if m > k:
        return [0] * (n + 1)
    terms = [math.comb(n - m, k - m)]
    for r in range(m, n - k + m):
        terms.append(terms[-1] * r * (n - r - k + m) // ((r - m + 1) * (n - r)))
    sums = list(accumulate(terms))
    return [0] * m + sums + sums[-1:] * (k - m)


# Metrics by their names


class Kind(Enum):
    """The kinds of metrics, in the order in which tables show them."""

    ACCURACY = 'accuracy'
    PASS = 'pass@k'
    G_PASS = 'G-Pass@k_τ'
    MG_PASS = 'mG-Pass@k'


_KEY = re.compile(r'(m?G-Pass|pass)@([1-9][0-9]{0,4})(?:_([0-9]*\.?[0-9]+(?:e-[0-9]+)?))?')


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. Its text is its key in result files, which `Metric.parse` reads; equal keys, equal metrics.

    `k` is from 1 to `LARGEST_N`, 1 for accuracy. `threshold`, τ of G-Pass@k_τ alone, is kept as the key tells
    it: to nine decimals, where the multiple of 1/k that has the same ones is meant. Raises InputError where
    there is no such metric, TypeError where k or the threshold is no number.

    >>> str(Metric(Kind.G_PASS, 16, 0.5)), Metric.parse('G-Pass@7_0.142857143').threshold == 1 / 7
    ('G-Pass@16_0.5', True)
    """

    kind: Kind
    k: int = 1
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in list(Kind):
            kinds = ', '.join(f'Kind.{kind.name}' for kind in Kind)
            raise InputError(f'{self.kind!r} is no kind of metric: expected one of {kinds}')
        object.__setattr__(self, 'k', as_whole('k', self.k, 1, LARGEST_N))
        if (self.kind is Kind.G_PASS) != (self.threshold is not None):
            what = self.kind.value
            raise InputError(f'{what} with threshold {self.threshold}: G-Pass@k_τ has one, no other kind')
        if self.kind is Kind.ACCURACY and self.k != 1:
            raise InputError(f'accuracy with k = {self.k}: expected 1, it is that of single answers')
        if self.threshold is not None:  # without binary noise; and -0.0 is 0.0
            rounded = round(as_threshold(self.threshold), 9) + 0.0
            multiple = round(self.k * rounded) / self.k
            object.__setattr__(self, 'threshold', multiple if round(multiple, 9) == rounded else rounded)

    @classmethod
    def parse(cls, text: str) -> Metric:
        """Read a key; an InputError says what is none."""
        if text == Kind.ACCURACY.value:
            return ACCURACY
        found = _KEY.fullmatch(text)
        if found is None or (found[1] == 'G-Pass') != (found[3] is not None):
            raise InputError(f'{text!r} is no metric: expected accuracy, pass@4, G-Pass@16_0.5 or mG-Pass@16')
        kind = next(kind for kind in Kind if kind.value.startswith(f'{found[1]}@'))
        try:
            return cls(kind, int(found[2]), None if found[3] is None else float(found[3]))
        except InputError as error:
            raise InputError(f'{text!r} is no metric: {error}') from error

    def __str__(self) -> str:
        if self.kind is Kind.ACCURACY:
            return 'accuracy'
        threshold = '' if self.threshold is None else f'_{round(self.threshold, 9)}'
        return f'{self.kind.value.partition("@")[0]}@{self.k}{threshold}'

    def __lt__(self, other: Metric) -> bool:  # as tables show them
        ours, theirs = (
            (one.kind is not Kind.ACCURACY, one.k, list(Kind).index(one.kind), one.threshold or 0.0)
            for one in (self, other)
        )
        return ours < theirs

    @property
    def steps(self) -> tuple[int, ...]:
        """The numbers of correct answers, among k, at which the score of a draw rises."""
        if self.kind is Kind.MG_PASS:
            return tuple(range((self.k + 1) // 2 + 1, self.k + 1))
        return (1,) if self.threshold is None else (required_correct(self.k, self.threshold),)

    @property
    def top(self) -> float:
        """The value of a question with all answers right: 1, but 0.8 for mG-Pass@5, as for each odd k."""
        return 2 * len(self.steps) / self.k if self.kind is Kind.MG_PASS else 1.0


ACCURACY = Metric(Kind.ACCURACY)


def metrics_of(
    k_list: Integer | Iterable[Integer],
    thresholds: Threshold | Iterable[Threshold] = DEFAULT_THRESHOLDS,
    *,
    pass_at: bool = False,
) -> list[Metric]:
    """Return the metrics in the order of tables: for each k pass@k if wanted, G-Pass@k at each τ, mG-Pass@k.

    Raises InputError where a k or a threshold is out of range or given twice, or no k is given; TypeError
    where one of them is no number.
    """
    ks = [as_whole('k', k, 1, LARGEST_N) for k in _listed(k_list)]
    taus = list(map(as_threshold, _listed(thresholds)))
    if not ks:
        raise InputError('k is empty: give at least one k')
    metrics = []
    for k in ks:
        metrics += [Metric(Kind.PASS, k)] if pass_at else []
        metrics += [*(Metric(Kind.G_PASS, k, tau) for tau in taus), Metric(Kind.MG_PASS, k)]
    if repeated := [metric for metric, times in Counter(metrics).items() if times > 1]:
        raise InputError(f'give each k and each threshold once: {repeated[0]} would be computed twice')
    return metrics


def value_table(metric: Metric, n: int) -> Floats:
    """Return the expected score of k answers drawn from n of which c are correct, for c = 0 … n; read-only.

    >>> value_table(Metric.parse('G-Pass@2_1.0'), 4).round(3)
    array([0.   , 0.   , 0.167, 0.5  , 1.   ])
    """
    n, k = _sizes(n, metric.k)
    return _table(n, k, 0 if metric.kind is Kind.MG_PASS else metric.steps[0])


def metric_table(
    n: Integer,
    k_list: Integer | Iterable[Integer],
    thresholds: Threshold | Iterable[Threshold] = DEFAULT_THRESHOLDS,
) -> dict[str, Floats]:
    """Return the `value_table` of each of `metrics_of`, pass@k with them, by its key."""
    return {str(one): value_table(one, n) for one in metrics_of(k_list, thresholds, pass_at=True)}  # type: ignore[arg-type]


class GPassAtK:
    """G-Pass@k of one question from its predictions, for use in any project.

    Args:
        k: one k or several, each at least 1.
        n: predictions to use, at least k; None uses all. Of more the first n are used: independent samples
            have no order.
        thresholds: τ, each from 0 to 1.
        sample_scoring_function: 'full' (also None): a prediction equals the gold; 'prefix': it starts with
            it; 'suffix': it ends with it; but for white space around. Or a function of (prediction, gold)
            that returns a boolean, 0 or 1.

    Raises InputError or TypeError as `metrics_of` and `g_pass_at_k` do.

    >>> metric = GPassAtK(k=2, thresholds=[0.5, 1.0])
    >>> metric.compute(['7', ' 7', '8', '7'], gold='7')
    {'G-Pass@2_0.5': 1.0, 'G-Pass@2_1.0': 0.5, 'mG-Pass@2': 0.5}
    """

    def __init__(
        self,
        k: Integer | Iterable[Integer],
        n: Integer | None = None,
        thresholds: Threshold | Iterable[Threshold] = DEFAULT_THRESHOLDS,
        sample_scoring_function: Callable[[Any, Any], object] | str | None = None,
    ) -> None:
        self.k, self.thresholds = _listed(k), _listed(thresholds)
        self.n = None if n is None else as_whole('n', n, 1, LARGEST_N)
        self.all_metrics = list(
            map(str, metrics_of(self.k, self.thresholds))
        )  # the keys of a result, in its order
        if self.n is not None:  # an n below k is refused here, not at the first question
            metric_table(self.n, self.k, self.thresholds)
        score = 'full' if sample_scoring_function is None else sample_scoring_function
        if isinstance(score, str) and score in _MATCHES:
            score = partial(_matches, _MATCHES[score])
        if not callable(score):
            raise InputError(
                f"sample_scoring_function must be 'full', 'prefix', 'suffix' or a function, got {score!r}"
            )
        self._score = score

    def compute(self, predictions: Sequence[Any], gold: str | Sequence[Any]) -> dict[str, float]:
        """Return the metrics of one question, as fractions; `gold` is one reference answer, or a list of one.

        Raises InputError where there are too few predictions, not one gold, or a score is not 0 or 1.
        """
        used = self._first('predictions', 'answers', predictions)
        metric_table(len(used), self.k, self.thresholds)  # an n below k is refused before anything is scored
        if isinstance(gold, Sequence) and not isinstance(gold, (str, bytes)):
            if len(gold) != 1:
                raise InputError(f'G-Pass@k is defined for exactly one gold answer, got {len(gold)}')
            gold = gold[0]
        return self.g_pass_at_k([self._score(one, gold) for one in used])

    def g_pass_at_k(self, all_scores: Sequence[Any]) -> dict[str, float]:
        """Return the metrics of one question from the scores of its answers, True, False, 0 or 1."""
        scores = all_scores.tolist() if isinstance(all_scores, np.ndarray) else all_scores
        used = self._first('all_scores', 'scores', scores)
        for score in used:
            if not isinstance(score, (bool, int, float, np.bool_, np.number)) or score not in (0, 1):
                raise InputError(f'all scores must be booleans, 0 or 1, got {score!r}')
        table = metric_table(len(used), self.k, self.thresholds)
        return {name: float(table[name][sum(map(int, used))]) for name in self.all_metrics}

    def _first(self, name: str, what: str, answers: Sequence[Any]) -> Sequence[Any]:
        if isinstance(answers, (str, bytes)) or not isinstance(answers, Sequence):
            raise TypeError(f'{name} must be a list of {what}, got {type(answers).__name__}')
        n = len(answers) if self.n is None else self.n
        if len(answers) < n or not answers:
            raise InputError(f'{name} must hold at least {max(n, 1)} answers, got {len(answers)}')
        return answers[:n]


_MATCHES: dict[str, Callable[[str, str], object]]
_MATCHES = {'full': str.__eq__, 'prefix': str.startswith, 'suffix': str.endswith}


def _matches(how: Callable[[str, str], object], prediction: object, gold: object) -> object:
    """Compare two texts but for white space around them."""
    for name, value in (('prediction', prediction), ('gold', gold)):
        if not isinstance(value, str):
            raise TypeError(f'each {name} must be a string, got {value!r} ({type(value).__name__})')
    if not (text := str(gold).strip()):
        raise InputError('gold is blank: every prediction would start and end with it')
    return how(str(prediction).strip(), text)
