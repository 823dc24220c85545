"""Majority voting: the answer that most of m samples give, and how stable that one is.

Answers are one if their normal forms are. A sample without an answer does not vote; where nobody votes, the
vote is lost.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from ..answers import normal_form


class Ballot(NamedTuple):
    """The answers of one question in the order of its samples."""

    votes: tuple[str, ...]
    """Normal forms, '' where there is no answer."""
    right: frozenset[str]
    """The correct ones."""
    contradicted: int
    """Answers that were called correct here and incorrect there; what most of their labels say counts, and
    incorrect where there are as many of both."""

    def sizes(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """How often each correct and each incorrect answer was given, and how many samples gave none."""
        counts = Counter(self.votes)
        blank = counts.pop('', 0)
        right = sorted(size for vote, size in counts.items() if vote in self.right)
        wrong = sorted(size for vote, size in counts.items() if vote not in self.right)
        return tuple(right), tuple(wrong), blank


def ballot(answers: Sequence[str], correct: Sequence[bool]) -> Ballot:
    """The votes of one question.

    >>> ballot(['1/2', '$1/2$', '', '3'], [True, True, False, False])
    Ballot(votes=('1/2', '1/2', '', '3'), right=frozenset({'1/2'}), contradicted=0)
    """
    votes = tuple(_form(answer) for answer in answers)
    given, hits = Counter(votes), Counter(vote for vote, hit in zip(votes, correct, strict=True) if hit)
    del given['']
    right = frozenset(vote for vote in given if 2 * hits[vote] > given[vote])
    return Ballot(votes, right, sum(0 < hits[vote] < given[vote] for vote in given))


@lru_cache(maxsize=100_000)
def _form(answer: str) -> str:
    return normal_form(answer)


def majority(ballot: Ballot, m: int) -> float:
    """maj@m: the probability that the majority of m of the samples is correct, over all subsets of m.

    Ties are broken by chance, each tied answer with the same probability; over all orders of the samples,
    the first-seen of the tied ones gives the same. Exact, rounded once.

    >>> majority(ballot(['1', '1', '2'], [True, True, False]), 2)
    0.6666666666666666
    """
    right, wrong, blank = ballot.sizes()
    return _majority(right, wrong, blank, m)


def group_majorities(ballot: Ballot, m: int) -> tuple[int, int]:
    """(groups, groups whose majority is correct), of disjoint groups of m samples in their order.

    Samples left over at the end belong to no group. Of tied answers the one that its group gave first counts.
    The groups are as independent as the samples, so that G-Pass@k of them is unbiased for k votes of m.

    >>> group_majorities(ballot(['1', '2', '2', '2', '1'], [True, False, False, False, True]), 2)
    (2, 1)
    """
    groups = len(ballot.votes) // m
    chunks = (ballot.votes[m * place : m * (place + 1)] for place in range(groups))
    return groups, sum(_winner(chunk) in ballot.right for chunk in chunks)


def _winner(votes: Sequence[str]) -> str | None:
    counts = Counter(vote for vote in votes if vote)
    return counts.most_common(1)[0][0] if counts else None  # of equal counts, the first that was counted


@lru_cache(maxsize=100_000)
def _majority(right: tuple[int, ...], wrong: tuple[int, ...], blank: int, m: int) -> float:
    """Sum over the winner's votes t, and over how many correct and wrong answers have as many."""
    total = blank + sum(right) + sum(wrong)
    won = Fraction(0)
    for votes in range(1, min(m, max(right, default=0)) + 1):
        tops_right = _tops([size for size in right if size >= votes], votes, m)
        tops_wrong = _tops([size for size in wrong if size >= votes], votes, m)
        small = blank + sum(size for size in right + wrong if size < votes)
        for good, ways in enumerate(tops_right):
            if good:
                for bad, others in enumerate(tops_wrong):
                    won += Fraction(good, good + bad) * _draws(ways, others, small, m)
    return float(won / math.comb(total, m))


def _tops(sizes: Sequence[int], votes: int, m: int) -> list[list[int]]:
    """[tied][drawn]: ways to draw from answers of these sizes: `tied` get `votes`, the others fewer."""
    most = m // votes
    table = [[0] * (m + 1) for _ in range(most + 1)]
    table[0][0] = 1
    for size in sizes:
        below = [math.comb(size, drawn) for drawn in range(votes)]
        level = math.comb(size, votes)
        grown = [[0] * (m + 1) for _ in range(most + 1)]
        for tied, row in enumerate(table):
            for drawn, ways in enumerate(row):
                if ways:
                    for more, chosen in enumerate(below[: m - drawn + 1]):
                        grown[tied][drawn + more] += ways * chosen
                    if tied < most and drawn + votes <= m:
                        grown[tied + 1][drawn + votes] += ways * level
        table = grown
    return table


def _draws(ways: Sequence[int], others: Sequence[int], small: int, m: int) -> int:
    """Ways to draw m in all: some of the correct ones, some of the wrong ones, the rest of the small ones."""
    return sum(
        first * second * math.comb(small, m - drawn - also)
        for drawn, first in enumerate(ways)
        if first
        for also, second in enumerate(others[: m - drawn + 1])
        if second
    )
