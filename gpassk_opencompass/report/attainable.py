"""Which values metrics can have together, where nobody published the counts that they were computed from.

A metric depends on a question through c, the correct ones among its n samples, so that its mean over the
questions is Σ_c w_c·f(c) with w_c the share of questions that have c: w_c ≥ 0 and Σ w_c = 1. All metrics of a
row have the same shares. So a row is possible exactly where a linear programme has a solution, or, with the
number of questions N known, one in which all N·w_c are integers.

**However many samples there were.** Draw K of n samples without replacement, and then k ≤ K of those: that is
a draw of k of the n. So what any n ≥ K gives, the shares of the counts among K give, too; with K the largest
k of a row, a row that is impossible for n = K is impossible for every n.

For n = k a question's G-Pass@k_{i/k} is 1 where c ≥ i and else 0, so that the means may be any with
G_1 ≥ G_2 ≥ … ≥ G_k. Of those published for k = 16, G_8, G_12 and G_16, follows for mG = 2/16·(G_9 + … + G_16)

    (4·G_12 + 4·G_16) / 8  ≤  mG  ≤  (3·G_8 + 4·G_12 + G_16) / 8

and both ends are reached. With more samples the ends lie closer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from ..errors import InputError
from ..metrics import Kind, Metric


class Limits(NamedTuple):
    """The lowest and the highest value of a mean, as fractions of 1; both may be reached."""

    low: Fraction
    high: Fraction


EVERYTHING = Limits(Fraction(0), Fraction(1))

_NODES = 1000
"""After so many nodes an undecided search for counts ends without a statement, the same on every machine."""

_WIDER = 1e-9
"""By so much limits are moved outwards where numbers are rounded, so that what is refused is impossible."""


@lru_cache(maxsize=256)
def exact_values(metric: Metric, n: int) -> tuple[Fraction, ...]:
    """Return the metric of a question with c = 0 … n correct of n samples.

    Raises:
        InputError: n is less than the metric's k.

    >>> exact_values(Metric.g_pass_at(2, 1.0), 3)
    (Fraction(0, 1), Fraction(0, 1), Fraction(1, 3), Fraction(1, 1))
    """
    k = metric.k
    if n < k:
        raise InputError(f'n = {n}: {metric} takes at least {k} samples a question')
    rise = Fraction(2, k) if metric.kind is Kind.MG_PASS else Fraction(1)
    reached = [sum(step <= drawn for step in metric.steps) for drawn in range(k + 1)]
    return tuple(
        rise
        * Fraction(
            sum(reached[j] * math.comb(c, j) * math.comb(n - c, k - j) for j in range(k + 1)), math.comb(n, k)
        )
        for c in range(n + 1)
    )


def attainable(metric: Metric, others: Mapping[Metric, Limits], n: int) -> Limits | None:
    """Return between which values the mean of a metric lies if those of other metrics lie in these limits.

    The limits are exact statements. Let t be the values of the metric over c, f_i those of the others, and w
    any shares that respect the limits. For any numbers y_i

        Σ_c w_c·t(c)  ≤  max_c (t(c) − Σ_i y_i·f_i(c))  +  Σ_i y_i·(high_i where y_i > 0, else low_i),

    because the shares are at least 0 and add up to 1. The y_i that make the right side least are the dual
    solution of the linear programme. They come from a solver that rounds; the right side is then computed in
    fractions, so that it holds whatever was rounded, and exceeds what can be reached by about 1e-9 at most.
    The lower end is the same for −t.

    Args:
        metric: whose mean is asked for.
        others: metrics with what is known of their means.
        n: samples a question, at least the largest k.

    Returns:
        The limits; None where the others cannot lie in theirs together, as far as the solver can tell.

    >>> half, all_ = Metric.g_pass_at(2, 0.5), Metric.g_pass_at(2, 1.0)
    >>> attainable(all_, {half: Limits(Fraction(1, 2), Fraction(1, 2))}, n=2).high
    Fraction(1, 2)
    """
    values = exact_values(metric, n)
    highest = _most(values, others, n)
    lowest = _most(tuple(-value for value in values), others, n)
    return None if highest is None or lowest is None else Limits(-lowest, highest)


def _most(values: tuple[Fraction, ...], others: Mapping[Metric, Limits], n: int) -> Fraction | None:
    tables = {other: exact_values(other, n) for other in others}
    if not others:
        return max(values)
    matrix = np.array([[float(value) for value in table] for table in tables.values()])
    lows, highs = (np.array([float(limits[end]) for limits in others.values()]) for end in (0, 1))
    solve = partial(
        linprog,
        [-float(value) for value in values],
        A_ub=np.concatenate([matrix, -matrix]),
        b_ub=np.concatenate([highs, -lows]) + _WIDER,
        A_eq=np.ones((1, n + 1)),
        b_eq=[1.0],
    )
    found: Any = solve()
    if found.status != 0:  # its presolve may take what is met within the last bits for contradictory
        found = solve(options={'presolve': False})
    if found.status != 0:
        return None
    above, below = np.split(found.ineqlin.marginals, 2)
    weights = dict(zip(others, map(Fraction, below - above), strict=True))
    rest = max(
        value - sum(weight * tables[other][c] for other, weight in weights.items())
        for c, value in enumerate(values)
    )
    return rest + sum(weight * others[other][weight > 0] for other, weight in weights.items())


def possible(row: Mapping[Metric, Limits], n: int, questions: int | None = None) -> bool:
    """Return whether some questions with n samples each have all these means together.

    Args:
        row: the limits in which the means lie.
        n: samples a question.
        questions: how many there are; None: any number.

    Returns:
        False only where a solver proved that there are none, with all limits 1e-9 wider; True also where it
        did not come to an end.
    """
    tables = np.array([[float(value) for value in exact_values(metric, n)] for metric in row])
    scale = questions or 1
    lows, highs = (scale * np.array([float(limits[end]) for limits in row.values()]) for end in (0, 1))
    shares = np.ones((1, n + 1))
    found: Any = milp(
        np.zeros(n + 1),
        integrality=np.full(n + 1, int(questions is not None)),
        bounds=Bounds(0, scale),
        constraints=[
            LinearConstraint(tables, lows - scale * _WIDER, highs + scale * _WIDER),
            LinearConstraint(shares, scale, scale),
        ],
        options={'node_limit': _NODES},
    )
    return bool(found.status != 2)
