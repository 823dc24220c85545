"""What a judge that errs makes of a metric."""

from __future__ import annotations

import numpy as np

from .arguments import as_sizes, as_whole
from .errors import InputError
from .metrics import Metric, value_table


def reported(metric: Metric, n: int, c: int, *, false_negative: float, false_positive: float = 0.0) -> float:
    """Return what is expected to be reported of a question with c of n answers correct.

    Each verdict errs for itself: a correct answer is called incorrect with probability `false_negative`, an
    incorrect one correct with `false_positive`. The number that is called correct is then
    C' ~ Bin(c, 1 − false_negative) + Bin(n − c, false_positive), and E[value(C')] is returned, exactly.

    Args:
        metric: k ≤ n.
        n, c: answers, and how many of them are correct.
        false_negative, false_positive: shares from 0 to 1; `1 − recall` and the rate of false positives of
            `gpassk judge-agreement`.

    Raises:
        InputError: a number is out of range.

    A model that is always right, and a judge that misses 1 %:

    >>> round(reported(Metric.parse('G-Pass@16_1.0'), 48, 48, false_negative=0.01), 4)
    0.8515
    """
    size, _ = as_sizes(n, metric.k)
    correct = as_whole('c', c, 0, size, meaning='n = ')
    for name, rate in (('false_negative', false_negative), ('false_positive', false_positive)):
        if not 0 <= rate <= 1:
            raise InputError(f'{name} = {rate}: expected a share from 0 to 1 (1 % is 0.01)')
    chances = np.ones(1)
    for accepted in [1 - false_negative] * correct + [false_positive] * (size - correct):
        chances = np.convolve(chances, [1 - accepted, accepted])
    return float(chances @ value_table(metric, size))
