"""What the samples of a question say together: the answer that most of them give, and whether all agree.

Answers are one if their normal forms are. A sample without an answer does not vote; where nobody votes, the
vote is lost. Agreement asks no reference: samples may all say the same and be wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

Sizes = tuple[int, ...]
"""How often each different answer was given."""


class Ballot(NamedTuple):
    """The answers of one question in the order of its samples."""

    votes: tuple[str, ...]
    """Normal forms, '' where there is no answer."""
    right: frozenset[str]
    """The correct ones."""
    contradicted: int
    """Answers that were called correct here and incorrect there; what most of their labels say counts, and
    incorrect where there are as many of both."""

    def sizes(self) -> tuple[Sizes, Sizes, int]:
        """Count how often each correct and each incorrect answer was given, and how often none was."""
        counts = Counter(self.votes)
        blank = counts.pop('', 0)
        right = sorted(size for vote, size in counts.items() if vote in self.right)
        wrong = sorted(size for vote, size in counts.items() if vote not in self.right)
        return tuple(right), tuple(wrong), blank


def ballot(answers: Sequence[str], correct: Sequence[bool]) -> Ballot:
    """Return the votes of one question.

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
    from .answers import normal_form  # where nobody votes, the rules of answers are not needed

    return normal_form(answer)


def majority(ballot: Ballot, m: int) -> float:
    """Return maj@m: the probability that the majority of m of the samples is correct, over all subsets of m.

    Ties are broken by chance, each tied answer with the same probability; over all orders of the samples,
    the first-seen of the tied ones gives the same. Exact, rounded once.

    >>> majority(ballot(['1', '1', '2'], [True, True, False]), 2)
    0.6666666666666666
    """
    right, wrong, blank = ballot.sizes()
    return _majority(right, wrong, blank, m)


def group_majorities(ballot: Ballot, m: int) -> tuple[int, int]:
    """Count the disjoint groups of m samples, in their order, and those of them whose majority is correct.

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
def _majority(right: Sizes, wrong: Sizes, blank: int, m: int) -> float:
    """Compute maj@m: summed over the winner's votes, and over how many answers of each kind have as many."""
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
    """Return [tied][drawn]: ways to draw from answers of these sizes; `tied` get `votes`, others fewer."""
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
    """Count the ways to draw m in all: some correct ones, some wrong ones, the rest of the small ones."""
    return sum(
        first * second * math.comb(small, m - drawn - also)
        for drawn, first in enumerate(ways)
        if first
        for also, second in enumerate(others[: m - drawn + 1])
        if second
    )


def sizes_of(votes: Sequence[str]) -> tuple[Sizes, int]:
    """Count how often each different answer was given, and how many samples gave none ('').

    >>> sizes_of(['7', '7', '', '8'])
    ((1, 2), 1)
    """
    counts = Counter(votes)
    blank = counts.pop('', 0)
    return tuple(sorted(counts.values())), blank


@lru_cache(maxsize=100_000)
def total_agreement(sizes: Sizes, blank: int, size: int) -> float:
    """Return TARa@N of one question: the chance that N of its samples all give one answer, right or wrong.

    With N = n it is 1 or 0, and its mean is the share of questions on which all N answers agree: the total
    agreement rate of parsed answers of Atil et al., arXiv 2408.04667. With N < n it is the mean over all
    subsets of N. As in the program of its authors, a sample without an answer agrees with nothing.

    >>> total_agreement((3, 1), 0, 4), total_agreement((3, 1), 0, 2)
    (0.0, 0.5)
    """
    return sum(math.comb(count, size) for count in sizes) / math.comb(sum(sizes) + blank, size)


@lru_cache(maxsize=100_000)
def distinct_answers(sizes: Sizes, blank: int, size: int) -> float:
    """Return how many different answers N samples give, the mean over all subsets of N; none is no answer.

    >>> distinct_answers((3, 1), 0, 4), distinct_answers((3, 1), 0, 1)
    (2.0, 1.0)
    """
    n = sum(sizes) + blank
    return sum(1 - math.comb(n - count, size) / math.comb(n, size) for count in sizes)


@lru_cache(maxsize=100_000)
def answer_entropy(sizes: Sizes, blank: int, size: int) -> float:
    """Return −Σ p·log₂ p in bits over the shares p of N samples' answers, the mean over all subsets of N.

    Samples without an answer are one more answer here. 0 where all say the same, log₂ N where all differ.

    >>> answer_entropy((2, 2), 0, 4)
    1.0
    """
    n = sum(sizes) + blank
    ways = math.comb(n, size)
    bits = 0.0
    for count in (*sizes, blank):
        for drawn in range(max(1, size - (n - count)), min(count, size - 1) + 1):
            chance = math.comb(count, drawn) * math.comb(n - count, size - drawn) / ways
            bits -= chance * drawn / size * math.log2(drawn / size)
    return bits
