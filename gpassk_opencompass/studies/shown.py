"""Intervals as both studies show and write them."""

from __future__ import annotations

import math
from typing import Any

from ..tables import Cell
from ..uncertainty import Interval


def interval_cell(interval: Interval, scale: float = 1.0) -> Cell:
    """Return the cell of a table: nothing where the estimate is not defined."""
    if math.isnan(interval.estimate):
        return Cell(None)
    if interval.refused:
        return Cell(scale * interval.estimate, refused=interval.refused)
    return Cell(scale * interval.estimate, (scale * interval.low, scale * interval.high))


def interval_json(interval: Interval) -> dict[str, Any]:
    """Return an object with all digits; null for what is not defined.

    >>> interval_json(Interval(0.5, 0.1, 0.3, 0.7, 0.95, 20))['low']
    0.3
    """
    told = {name: finite(getattr(interval, name)) for name in ('estimate', 'low', 'high', 'error')}
    return {**told, 'refused': interval.refused or None}


def finite(number: float) -> float | None:
    """Return a number that JSON can hold, None for one that is not defined."""
    return number if math.isfinite(number) else None
