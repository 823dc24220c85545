"""Wilson's interval of a proportion.

Source: Wilson 1927, JASA 22, 209.
"""

from __future__ import annotations

import math


def wilson(share: float, trials: float, quantile: float) -> tuple[float, float]:
    """The lowest and the highest true share that lie within `quantile` standard errors of the observed one.

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
