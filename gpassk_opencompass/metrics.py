"""pass@k, G-Pass@k and mG-Pass@k from counts: c of the n answers to a question are correct.

A metric depends on a question through c alone, and c has only n + 1 values: so each metric is a table indexed
by c, built from integers and looked up for any number of questions. All values are fractions from 0 to 1.
What is out of range, fractional, NaN or of another type is an InputError, which is a ValueError.

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
Counts = NDArray[Any] | Sequence[Any]


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
    it: as its decimal text says (numpy.float32(0.28) is 0.28), to nine decimals, where the multiple of 1/k
    that has the same ones is meant.

    >>> str(Metric(Kind.G_PASS, 16, 0.5)), Metric.parse('G-Pass@7_0.142857143').threshold == 1 / 7
    ('G-Pass@16_0.5', True)
    """

    kind: Kind
    k: int = 1
    threshold: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, 'k', _whole('k', self.k, LARGEST_N))
        accuracy, has_one = self.kind is Kind.ACCURACY, self.kind is Kind.G_PASS
        if has_one != (self.threshold is not None) or (accuracy and self.k != 1):
            what = f'{self.kind.value} with k = {self.k}, threshold {self.threshold}'
            raise InputError(f'{what}: G-Pass@k_τ alone has a threshold, and accuracy is of k = 1')
        if (tau := self.threshold) is not None:
            if isinstance(tau, bool) or not isinstance(tau, Real) or not 0 <= tau <= 1:
                raise InputError(f'a threshold must be a number from 0 to 1, got {tau!r}')
            rounded = round(float(str(tau) if isinstance(tau, np.floating) else tau), 9) + 0.0  # -0.0 is 0.0
            multiple = round(self.k * rounded) / self.k
            object.__setattr__(self, 'threshold', multiple if round(multiple, 9) == rounded else rounded)

    @classmethod
    def parse(cls, text: str) -> Metric:
        """Read a key; an InputError says what is none."""
        if text == Kind.ACCURACY.value:
            return ACCURACY
        if not (found := _KEY.fullmatch(text)) or (found[1] == 'G-Pass') != (found[3] is not None):
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
        """The numbers of correct answers, among k, at which the score of a draw rises.

        Of G-Pass@k_τ max(1, ⌈k·τ⌉), with k·τ rounded to nine decimals first: 25·0.28 is 7.
        """
        if self.kind is Kind.MG_PASS:
            return tuple(range((self.k + 1) // 2 + 1, self.k + 1))
        return (max(1, math.ceil(round(self.k * (self.threshold or 0.0), 9))),)

    @property
    def top(self) -> float:
        """The value of a question with all answers right: 1, but 0.8 for mG-Pass@5, as for each odd k."""
        return 2 * len(self.steps) / self.k if self.kind is Kind.MG_PASS else 1.0


def _whole(name: str, value: object, highest: int, lowest: int = 1, meaning: str = '') -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not lowest <= value <= highest:
        kind = f'a whole number from {lowest} to {meaning}{highest}'
        raise InputError(f'{name} must be {kind}, got {value!r} ({type(value).__name__})')
    return int(value)


ACCURACY = Metric(Kind.ACCURACY)


def metrics_of(
    k_list: int | Iterable[int],
    thresholds: float | Iterable[float] = DEFAULT_THRESHOLDS,
    *,
    pass_at: bool = False,
) -> list[Metric]:
    """Return the metrics in the order of tables: for each k pass@k if wanted, G-Pass@k at each τ, mG-Pass@k.

    Raises InputError where one is out of range or would be there twice, or no k is given.
    """
    ks = list(k_list) if isinstance(k_list, Iterable) else [k_list]
    taus = list(thresholds) if isinstance(thresholds, Iterable) else [thresholds]
    metrics: list[Metric] = []
    for k in ks:
        metrics += [Metric(Kind.PASS, k)] if pass_at else []
        metrics += [*(Metric(Kind.G_PASS, k, tau) for tau in taus), Metric(Kind.MG_PASS, k)]
    if not metrics:
        raise InputError('k is empty: give at least one k')
    if repeated := [metric for metric, times in Counter(metrics).items() if times > 1]:
        raise InputError(f'give each k and each threshold once: {repeated[0]} would be computed twice')
    return metrics


def value_table(metric: Metric, n: int) -> Floats:
    """Return the expected score of k answers drawn from n of which c are correct, for c = 0 … n; read-only.

    >>> value_table(Metric.parse('G-Pass@2_1.0'), 4).round(3)
    array([0.   , 0.   , 0.167, 0.5  , 1.   ])
    """
    k = _whole('k', metric.k, _whole('n', n, LARGEST_N), meaning='n = ')
    return _table(int(n), k, 0 if metric.kind is Kind.MG_PASS else metric.steps[0])


def metric_table(
    n: int,
    k_list: int | Iterable[int],
    thresholds: float | Iterable[float] = DEFAULT_THRESHOLDS,
) -> dict[str, Floats]:
    """Return the `value_table` of each of `metrics_of`, pass@k with them, by its key."""
    return {str(one): value_table(one, n) for one in metrics_of(k_list, thresholds, pass_at=True)}


# The metrics of counts


def pass_at_k(n: int, c: int | Counts, k: int) -> Any:
    """Return the chance that one or more of k answers drawn from n are correct: 1 − C(n − c, k) / C(n, k).

    It is G-Pass@k at τ = 0; arguments, result and errors are those of `g_pass_at_k`.
    """
    return _look_up(value_table(Metric(Kind.PASS, k), n), c)


def g_pass_at_k(n: int, c: int | Counts, k: int, threshold: float) -> Any:
    """Return the probability that at least max(1, ⌈k·τ⌉) of k answers drawn from the n are correct.

    G-Pass@k_τ = Σ_{j ≥ max(1, ⌈k·τ⌉)} C(c, j)·C(n − c, k − j) / C(n, k), drawn without replacement: an
    unbiased estimate for every n ≥ k. Correctly rounded.

    Args:
        n: answers a question, from 1 to `LARGEST_N`.
        c: correct answers among the n, from 0 to n: an integer, or integers of any shape, as the result.
        k: answers drawn, from 1 to n.
        threshold: τ, from 0 to 1; 0 means "at least one". See `Metric`.

    >>> g_pass_at_k(n=4, c=[[0, 1], [2, 4]], k=2, threshold=0.5).round(3)
    array([[0.   , 0.5  ],
           [0.833, 1.   ]])
    """
    return _look_up(value_table(Metric(Kind.G_PASS, k, threshold), n), c)


def mg_pass_at_k(n: int, c: int | Counts, k: int, *, integral: str = 'published') -> Any:
    """Return the mean of G-Pass@k_τ over the thresholds from 0.5 to 1.

    'published' is the sum of the paper, (2/k)·Σ_{i = ⌈k/2⌉ + 1}^{k} G-Pass@k_{i/k}: for odd k a model that is
    always right gets (k − 1)/k, and k = 1 gives 0. 'exact' is 2·∫_{0.5}^{1} G-Pass@k_τ dτ, which adds
    G-Pass@k_{(k + 1)/2k} / k for odd k. Only the published sum is reported as mG-Pass@k. The other arguments,
    the result and the errors are those of `g_pass_at_k`.

    >>> mg_pass_at_k(n=8, c=8, k=5), mg_pass_at_k(n=8, c=8, k=5, integral='exact')
    (0.8, 1.0)
    """
    published = value_table(Metric(Kind.MG_PASS, k), n)
    if integral not in ('published', 'exact'):
        raise InputError(f"integral must be 'published' or 'exact', got {integral!r}")
    exact = integral == 'exact' and k % 2
    return _look_up(_table(int(n), int(k), 0, True) if exact else published, c)


def _look_up(table: Floats, c: object) -> Any:
    """Return the values of counts, which are integers from 0 to n; a float of a single one."""
    n, counts = len(table) - 1, np.asarray(c)
    if counts.ndim == 0:
        return float(table[_whole('c', counts.item(), n, 0, 'n = ')])
    if counts.size == 0:
        return np.zeros(counts.shape)
    if counts.dtype.kind not in 'iu':
        raise InputError(f'c must hold whole numbers, got {type(c).__name__} of {counts.dtype}')
    for extreme in (counts.min(), counts.max()):
        _whole('c', extreme.item(), n, 0, 'n = ')
    return table[counts]


def majority(answers: Sequence[str], correct: Sequence[bool], k: int) -> float:
    """Return maj@k of one question: the chance that the commonest answer of k of its n samples is correct.

    Over all draws of k without replacement (Wang et al., arXiv 2203.11171); ties are broken by chance, each
    tied answer with the same probability. Exact, rounded once. Equal strings are one answer (`normal_form`
    makes them equal), correct if most of its verdicts say so; '' is none and does not vote. Where nobody
    votes, the vote is lost.

    >>> majority(['1', '1', '2'], [True, True, False], 2)
    0.6666666666666666
    """
    n = len(answers)
    _whole('k', k, n, meaning='n = ')
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

    Raises InputError as `metrics_of` does.

    >>> metric = GPassAtK(k=2, thresholds=[0.5, 1.0])
    >>> metric.compute(['7', ' 7', '8', '7'], gold='7')
    {'G-Pass@2_0.5': 1.0, 'G-Pass@2_1.0': 0.5, 'mG-Pass@2': 0.5}
    """

    def __init__(
        self,
        k: int | Iterable[int],
        n: int | None = None,
        thresholds: float | Iterable[float] = DEFAULT_THRESHOLDS,
        sample_scoring_function: Callable[[Any, Any], object] | str | None = None,
    ) -> None:
        self._metrics = metrics_of(k, thresholds)
        self.all_metrics = list(map(str, self._metrics))  # the keys of a result, in its order
        self._least = max(metric.k for metric in self._metrics)
        self.n = None if n is None else _whole('n', n, LARGEST_N, self._least)
        score = sample_scoring_function or 'full'
        if isinstance(score, str) and score in _MATCHES:
            score = partial(_matches, _MATCHES[score])
        if not callable(score):
            expected = "'full', 'prefix', 'suffix' or a function"
            raise InputError(f'sample_scoring_function must be {expected}, got {score!r}')
        self._score = score

    def compute(self, predictions: Sequence[Any], gold: str | Sequence[Any]) -> dict[str, float]:
        """Return the metrics of one question, as fractions; `gold` is one reference answer, or a list of one.

        Raises InputError where there are too few predictions, not one gold, or a score is not 0 or 1.
        """
        golds = gold if isinstance(gold, (list, tuple)) else [gold]
        if len(golds) != 1:
            raise InputError(f'G-Pass@k is defined for exactly one gold answer, got {len(golds)}')
        return self.g_pass_at_k([self._score(one, golds[0]) for one in self._first(predictions)])

    def g_pass_at_k(self, all_scores: Sequence[Any]) -> dict[str, float]:
        """Return the metrics of one question from the scores of its answers, True, False, 0 or 1."""
        used = self._first(all_scores.tolist() if isinstance(all_scores, np.ndarray) else all_scores)
        if wrong := [score for score in used if score not in (0, 1)]:
            raise InputError(f'all scores must be booleans, 0 or 1, got {wrong[0]!r}')
        c = sum(map(int, used))
        return {str(metric): float(value_table(metric, len(used))[c]) for metric in self._metrics}

    def _first(self, answers: Sequence[Any]) -> Sequence[Any]:
        if isinstance(answers, (str, bytes)) or not isinstance(answers, Sequence):
            raise InputError(f'expected a list with an item an answer, got {type(answers).__name__}')
        least = self.n or self._least
        if len(answers) < least:
            raise InputError(f'expected at least {least} answers, got {len(answers)}')
        return answers[: self.n]


_MATCHES: dict[str, Callable[[str, str], object]]
_MATCHES = {'full': str.__eq__, 'prefix': str.startswith, 'suffix': str.endswith}


def _matches(how: Callable[[str, str], object], prediction: object, gold: object) -> object:
    if not (isinstance(prediction, str) and isinstance(gold, str) and gold.strip()):
        raise InputError(
            f'prediction {prediction!r}, gold {gold!r}: expected texts, and a gold with a character'
        )
    return how(prediction.strip(), gold.strip())
