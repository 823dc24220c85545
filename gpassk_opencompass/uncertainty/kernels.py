"""A metric of G-Pass@k as a kernel: what a draw of k answers scores when a of them are correct."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ..arguments import as_sizes, as_whole
from ..errors import InputError
from ..metrics import required_correct
from ..tails import tail

Floats = NDArray[np.float64]

_NAME = re.compile(r'(?P<family>G-Pass|mG-Pass|pass)@(?P<k>[1-9][0-9]{0,5})(?:_(?P<tau>[0-9.]+))?')

LARGEST_K = 100_000

_NAME_ERROR = 5.1e-10  # names have τ to nine decimals


@dataclass(frozen=True)
class Kernel:
    """k and the steps of a score that grows with the number of correct answers among k.

    The score of a draw with a correct answers is the sum of `weights[i]` over the i-th `steps` ≤ a.
    G-Pass@k_τ has one step of height 1 at ⌈τ·k⌉.
    """

    name: str
    k: int
    steps: tuple[int, ...]
    weights: tuple[float, ...]

    def scores(self) -> Floats:
        """The score of a draw with a = 0 … k correct answers, of shape (k + 1,)."""
        rises = np.zeros(self.k + 1)
        rises[list(self.steps)] = self.weights
        return np.cumsum(rises)


@lru_cache(maxsize=256)
def kernel_of(name: str) -> Kernel:
    """The kernel of a metric by its published key: accuracy, pass@k, G-Pass@k_τ or mG-Pass@k.

    Raises:
        InputError: no such key.

    >>> kernel_of('G-Pass@4_0.75').scores()
    array([0., 0., 0., 1., 1.])
    >>> kernel_of('mG-Pass@4').scores()
    array([0. , 0. , 0. , 0.5, 1. ])
    """
    if name == 'accuracy':
        return Kernel(name, 1, (1,), (1.0,))
    match = _NAME.fullmatch(name)
    if match is None or (match['family'] == 'G-Pass') != (match['tau'] is not None):
        raise InputError(
            f'{name!r} is no metric with an interval: expected accuracy, pass@4, G-Pass@16_0.5 or mG-Pass@16'
        )
    k = as_whole('k', int(match['k']), 1, LARGEST_K)
    if match['family'] == 'mG-Pass':
        steps = tuple(range((k + 1) // 2 + 1, k + 1))
        return Kernel(name, k, steps, (2 / k,) * len(steps))
    step = 1 if match['family'] == 'pass' else _step(k, _threshold(name, match['tau']))
    return Kernel(name, k, (step,), (1.0,))


@lru_cache(maxsize=256)
def value_table(kernel: Kernel, n: int) -> Floats:
    """The expected score of k answers drawn from n of which c are correct, for c = 0 … n.

    These are the values that a metric averages over the questions.

    >>> value_table(kernel_of('G-Pass@2_1.0'), 4).round(3)
    array([0.   , 0.   , 0.167, 0.5  , 1.   ])
    """
    n, k = as_sizes(n, kernel.k)
    parts = zip(kernel.steps, kernel.weights, strict=True)
    table = np.zeros(n + 1)
    for step, weight in parts:
        table += weight * tail(n, k, step)
    return np.minimum(table, 1.0)  # the weights of k = 18 or 22 add up to a little more


@lru_cache(maxsize=64)
def pair_table(kernel: Kernel, n: int) -> Floats:
    """The expected product of the scores of two disjoint draws of k from n ≥ 2k, for c = 0 … n.

    Two disjoint draws are independent given the question, so this estimates the square of the question's
    true value without bias (a U-statistic).
    """
    k, scores = kernel.k, kernel.scores()
    second = value_table(kernel, n - k)
    tails = np.stack([np.ones(n + 1), *(tail(n, k, step) for step in range(1, k + 1)), np.zeros(n + 1)])
    chances = tails[:-1] - tails[1:]  # P[a of the first k drawn are correct], of shape (k + 1, n + 1)
    left = np.arange(n + 1) - np.arange(k + 1)[:, None]  # correct ones among the n − k that remain
    products = chances * scores[:, None] * second[np.clip(left, 0, n - k)]
    return np.asarray(np.where((left >= 0) & (left <= n - k), products, 0.0).sum(0))


@lru_cache(maxsize=256)
def subset_squares(kernel: Kernel, n: int, m: int) -> Floats:
    """The mean square of a question's value over all subsets of m of its n answers, for c = 0 … n.

    It estimates the mean square of the value of m fresh answers without bias, for it is a mean over all
    that m of the n could have been (a U-statistic).

    Raises:
        InputError: not 1 ≤ k ≤ m ≤ n.
    """
    if m > n:
        raise InputError(f'm = {m}: expected at most the n = {n} answers that there are')
    chances = stats.hypergeom.pmf(np.arange(m + 1), n, np.arange(n + 1)[:, None], m)
    return np.asarray(chances @ value_table(kernel, m) ** 2)


def _step(k: int, threshold: float) -> int:
    """⌈k·τ⌉ for a τ that stands rounded in a name: 0.142857143 is 1/7, of which seven make one."""
    nearest = round(k * threshold)
    if abs(k * threshold - nearest) <= k * _NAME_ERROR:
        threshold = nearest / k
    return required_correct(k, threshold)


def _threshold(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f'{name!r}: {text!r} is no threshold; expected a number from 0 to 1') from error
