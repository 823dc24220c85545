"""The Beta distribution of questions' chances that makes their counts most likely."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

Floats = NDArray[np.float64]

_BOUNDS = (1e-3, 1e3)


def fitted_beta(questions: Floats | NDArray[np.intp]) -> tuple[float, float]:
    """Return a and b of the Beta distribution that makes the counts most likely.

    Args:
        questions: how many have c = 0 … n of n correct, shape (n + 1,), of at least two different counts.

    >>> a, b = fitted_beta(np.array([0, 10, 30, 10, 0]))  # more alike than chance would have them
    >>> a > 100, round(a / b, 2)
    (True, 1.0)
    """
    return _fitted(tuple(np.asarray(questions, dtype=np.float64).tolist()))


@lru_cache(maxsize=1024)
def _fitted(questions: tuple[float, ...]) -> tuple[float, float]:
    from scipy import optimize  # slow to import, and most commands fit nothing

    every = np.array(questions)
    c = np.flatnonzero(every)
    weights, n = every[c] / every.sum(), every.size - 1

    def loss(logs: Floats) -> float:
        a, b = np.exp(logs)
        return -float(weights @ (betaln(c + a, n - c + b) - betaln(a, b)))

    limits = [tuple(np.log(_BOUNDS))] * 2
    found = optimize.minimize(loss, np.zeros(2), bounds=limits, method='L-BFGS-B', options={'ftol': 1e-12})
    a, b = np.exp(found.x)
    return float(a), float(b)
