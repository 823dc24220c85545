"""The lowest and the highest mean of a metric over all sets of errors that labels do not rule out.

Which answers are wrong, if only so many of each kind may be, is a knapsack problem: the metric of a question
bends with the number of its correct samples, and an answer stands for all samples that gave it. So the
extreme is not searched for but bounded, by Lagrange's dual. At a price λ for an error of each kind, every
question chooses its own errors (exactly, by dynamic programming over its number of correct samples), every
kind its number of errors, and the evidence against that number is paid at a price μ. For any λ and any μ ≥ 0
the sum is a bound; cutting planes (Kelley 1960, J. SIAM 8, 703) look for the prices with the best one, which
is that of the linear relaxation. If they stopped early, the bound would be wider and still hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PRECISION = 1e-5
"""How near cutting planes come to the extreme mean of a metric (from 0 to 1) before they stop."""

_MOST_ROUNDS = 200


class Doubt(NamedTuple):
    """An answer that may have the wrong verdict."""

    question: int
    kind: int
    change: int
    """What that would add to the correct samples of its question; below 0 of an accepted one."""


@dataclass(frozen=True)
class Kinds:
    """What the errors of each kind cost, and what they may cost together."""

    costs: Sequence[Floats]
    """For each kind, the cost of 0, 1, 2, … errors; `inf` where so many are not possible."""
    side: Sequence[int]
    """The number of the budget from which each kind pays."""
    budgets: Sequence[float]


class Extremes:
    """Bounds of means over questions, for any metric.

    Args:
        correct: c of each question without these errors, shape (Q,).
        n: samples a question.
        doubts: what may be wrong.
        kinds: how much of it.
    """

    def __init__(self, correct: Integers, n: int, doubts: Sequence[Doubt], kinds: Kinds) -> None:
        self._n, self._kinds, self._questions = n, kinds, len(correct)
        self._classes = _Classes.of(correct, n, doubts, len(kinds.costs))
        self._cuts = _Cuts(self._classes, kinds)
        self._known: dict[bytes, float] = {}

    def highest(self, values: Floats) -> float:
        """Return a number that no possible set of errors lifts the mean above.

        Args:
            values: the metric of a question at c = 0 … n.

        It is at most `PRECISION` above the linear relaxation.
        """
        key = values.tobytes()  # G-Pass@4_0.25 and pass@4 are one metric
        if key not in self._known:
            self._known[key] = self._highest(values)
        return self._known[key]

    def _highest(self, values: Floats) -> float:
        self._cuts.begin()
        best, model = np.inf, -np.inf
        prices = np.zeros(len(self._kinds.costs)), np.zeros(len(self._kinds.budgets))
        for _ in range(_MOST_ROUNDS):
            best = min(best, self._cuts.bound(values, *prices))
            if best - model <= PRECISION * self._questions:
                break
            model, prices = self._cuts.best_prices(values)
        return float(min(best / self._questions, values.max()))


@dataclass(frozen=True)
class _Classes:
    """Questions with the same doubts, taken together: P classes with up to R doubts each."""

    n: int
    correct: Integers
    """(P,)"""
    count: Integers
    """Questions of each class, (P,)."""
    kind: Integers
    """(R, P); the kind of each doubt."""
    change: Integers
    """(R, P); 0 where a class has fewer doubts."""

    @classmethod
    def of(cls, correct: Integers, n: int, doubts: Sequence[Doubt], kinds: int) -> _Classes:
        by_question: list[list[tuple[int, int]]] = [[] for _ in correct]
        for doubt in doubts:
            by_question[doubt.question].append((doubt.kind, doubt.change))
        classes: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        for c, found in zip(correct.tolist(), by_question, strict=True):
            key = c, tuple(sorted(found))
            classes[key] = classes.get(key, 0) + 1
        longest = max((len(found) for _, found in classes), default=0)
        shape = longest, len(classes)
        kind, change = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for place, (_, doubted) in enumerate(classes):
            for rank, one in enumerate(doubted):
                kind[rank, place], change[rank, place] = one
        counts = np.array(list(classes.values()), dtype=np.int64)
        return cls(n, np.array([c for c, _ in classes], dtype=np.int64), counts, kind, change)

    def cheapest(self, values: Floats, prices: Floats) -> tuple[Floats, Integers, Integers]:
        """Return what is best for each class at these prices.

        Returns:
            `values` less what the errors cost, (P,); the correct samples then, (P,); the errors, (P, kinds).
        """
        classes = np.arange(len(self.correct))
        paid = np.full((len(classes), self.n + 1), np.inf)
        paid[classes, self.correct] = 0.0
        taken = np.zeros((*self.change.shape, self.n + 1), dtype=bool)
        for rank, change in enumerate(self.change):
            before = np.arange(self.n + 1) - change[:, None]
            moved = np.take_along_axis(paid, before.clip(0, self.n), 1) + prices[self.kind[rank], None]
            moved[(before < 0) | (before > self.n) | (change[:, None] == 0)] = np.inf
            taken[rank] = moved < paid
            paid = np.where(taken[rank], moved, paid)
        correct = np.argmax(values - paid, axis=1)
        gains = (values - paid)[classes, correct]
        errors, at = np.zeros((len(classes), len(prices)), dtype=np.int64), correct.copy()
        for rank in reversed(range(len(taken))):
            chosen = taken[rank, classes, at]
            np.add.at(errors, (classes[chosen], self.kind[rank, chosen]), 1)
            at = np.where(chosen, at - self.change[rank], at)
        return gains, correct, errors


class _Cuts:
    """The choices of classes and kinds that were met so far, and the prices at which these are best."""

    def __init__(self, classes: _Classes, kinds: Kinds) -> None:
        self._classes, self._kinds = classes, kinds
        self._chosen: dict[tuple[int, ...], None] = {}
        """Class, its correct samples, its errors of each kind."""
        self._met: dict[tuple[int, ...], None] = {}
        """Those of the metric at hand."""
        self._numbers: dict[tuple[int, int], None] = {}
        """Kind, its number of errors."""
        for kind, costs in enumerate(kinds.costs):
            self._numbers[kind, int(np.argmin(costs))] = None

    def begin(self) -> None:
        """Begin with a new metric: choices of the one before are kept, older ones only cost time."""
        self._chosen, self._met = self._met, {}

    def bound(self, values: Floats, prices: Floats, rates: Floats) -> float:
        """Return the dual at these prices, a bound of the sum over questions; remember who chose what."""
        gains, correct, errors = self._classes.cheapest(values, prices)
        for place, row in enumerate(errors.tolist()):
            choice = place, int(correct[place]), *row
            self._chosen[choice] = self._met[choice] = None
        total = float(gains @ self._classes.count) + float(rates @ np.array(self._kinds.budgets))
        for kind, (costs, side) in enumerate(zip(self._kinds.costs, self._kinds.side, strict=True)):
            possible = np.flatnonzero(np.isfinite(costs))
            paid = prices[kind] * possible - rates[side] * costs[possible]
            best = int(np.argmax(paid))
            self._numbers[kind, int(possible[best])] = None
            total += float(paid[best])
        return total

    def best_prices(self, values: Floats) -> tuple[float, tuple[Floats, Floats]]:
        """Return the smallest dual as far as the choices so far tell, and its prices λ and μ."""
        from scipy.optimize import linprog
        from scipy.sparse import bmat, csr_matrix

        kinds, sides, classes = len(self._kinds.costs), len(self._kinds.budgets), len(self._classes.count)
        chosen = np.array(list(self._chosen), dtype=np.int64)
        numbers = np.array(list(self._numbers), dtype=np.int64).reshape(-1, 2)
        spent = np.zeros((len(numbers), sides))
        for row, (kind, number) in enumerate(numbers.tolist()):
            spent[row, self._kinds.side[kind]] = self._kinds.costs[kind][number]
        # Variables: λ, μ, what each class and what each kind makes of them at least.
        made = _units(numbers[:, 0], kinds)
        rows = [
            [csr_matrix(-chosen[:, 2:]), None, -_units(chosen[:, 0], classes), None],
            [made.multiply(numbers[:, 1:]), csr_matrix(-spent), None, -made],
        ]
        left = bmat(rows, 'csr')
        right = np.concatenate([-values[chosen[:, 1]], np.zeros(len(numbers))])
        weights = np.concatenate(
            [np.zeros(kinds), np.array(self._kinds.budgets), self._classes.count, np.ones(kinds)]
        )
        free = [(None, None)] * (classes + kinds)
        limits = [*[(-1.0, 1.0)] * kinds, *[(0.0, None)] * sides, *free]
        found = linprog(weights, left, right, bounds=limits, method='highs')
        if found.x is None:  # what was found before is a bound
            return np.inf, (np.zeros(kinds), np.zeros(sides))
        return float(found.fun), (found.x[:kinds], np.maximum(found.x[kinds : kinds + sides], 0.0))


def _units(places: Integers, width: int) -> Any:
    """Return a sparse row a place with a 1 there."""
    from scipy.sparse import csr_matrix

    return csr_matrix((np.ones(len(places)), (np.arange(len(places)), places)), shape=(len(places), width))
