"""How the errors of a score depend on the number of samples, exactly, from the counts of one run.

A subset of m of the n answers to a question has C ~ Hypergeometric(n, c, m) correct ones. The mean of the
metric over all subsets is the metric of the n answers, whatever m is; what depends on m is how much it
varies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ...errors import InputError
from ...uncertainty import Kernel, mean_interval, value_table
from ...uncertainty.kernels import pair_table
from ...uncertainty.rerun import expected_variances

Floats = NDArray[np.float64]
Counts = NDArray[np.integer[Any]]


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


def subset_variances(kernel: Kernel, n: int, m: int) -> Floats:
    """The variance of a question's value over all subsets of m of its n answers, for c = 0 … n.

    >>> from gpassk_opencompass.uncertainty import kernel_of
    >>> subset_variances(kernel_of('accuracy'), 4, 1)
    array([0.    , 0.1875, 0.25  , 0.1875, 0.    ])
    """
    return np.maximum(subset_squares(kernel, n, m) - value_table(kernel, n) ** 2, 0.0)


def question_error(c: Counts, n: int, m: int, kernel: Kernel, problems: Sequence[str]) -> float:
    """The standard error for new questions with m samples each: root mean square over all subsets.

    It is that of `mean_interval`, clustered by source problem, with m = n. For m < n the mean of its square
    over the subsets: each question's value adds its `subset_variances` to the residual of its cluster.

    Args:
        c: correct answers of each question, of n.
        m: samples a question, k ≤ m ≤ n.
        problems: the source problem of each question; with one problem the error is NaN.
    """
    whole = mean_interval(value_table(kernel, n)[c], problems).error
    variances = subset_variances(kernel, n, m)[c]
    _, cluster = np.unique(np.asarray(problems, dtype=np.str_), return_inverse=True)
    share = np.bincount(cluster) / c.size  # of the questions, in each cluster
    of_clusters = np.bincount(cluster, weights=variances)
    if share.size < 2:
        return float('nan')
    residuals = of_clusters @ (1 - 2 * share) + variances.sum() * (share @ share)
    return float(np.sqrt(whole**2 + share.size / (share.size - 1) * residuals / c.size**2))


def rerun_error(c: Counts, n: int, m: int, kernel: Kernel) -> float:
    """The standard error of a rerun of the same questions with m samples each.

    With m = n that of `rerun_interval`, and made like it: what Jeffreys' posterior of each question's
    chance, given c of n, expects of m samples; with n ≥ 2k, if it is larger, the unbiased estimate from
    the subsets of m and the pairs of disjoint draws.
    """
    variance = float(expected_variances(kernel, n, m)[c].sum())
    if n >= 2 * kernel.k:
        unbiased = subset_squares(kernel, n, m) - pair_table(kernel, n)
        variance = max(variance, float(unbiased[c].sum()))
    return float(np.sqrt(variance)) / c.size
