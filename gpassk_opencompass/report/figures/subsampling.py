"""How the errors of a score depend on the number of samples, exactly, from the counts of one run.

A subset of m of the n answers to a question has C ~ Hypergeometric(n, c, m) correct ones. The mean of the
metric over all subsets is the metric of the n answers, whatever m is; what depends on m is how much it
varies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...uncertainty import Kernel, mean_interval, value_table
from ...uncertainty.kernels import subset_squares
from ...uncertainty.rerun import rerun_variance

Floats = NDArray[np.float64]
Counts = NDArray[np.integer[Any]]


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
    """The standard error of a rerun of the same questions with m samples each, with m = n that of tables."""
    variance = rerun_variance(kernel, n, np.bincount(c, minlength=n + 1), m)
    return float(np.sqrt(variance)) / c.size
