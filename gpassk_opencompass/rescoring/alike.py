"""Agreement without correctness: do the samples of a question say the same, right or wrong?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

Sizes = tuple[int, ...]


def sizes_of(votes: Sequence[str]) -> tuple[Sizes, int]:
    """How often each different answer was given, and how many samples gave none ('').

    >>> sizes_of(['7', '7', '', '8'])
    ((1, 2), 1)
    """
    counts = Counter(votes)
    blank = counts.pop('', 0)
    return tuple(sorted(counts.values())), blank


@lru_cache(maxsize=100_000)
def total_agreement(sizes: Sizes, blank: int, size: int) -> float:
    """TARa@N of one question: the chance that N of its samples all give one answer, right or wrong.

    With N = n it is 1 or 0, and its mean is the share of questions on which all N answers agree: the total
    agreement rate of parsed answers of Atil et al., arXiv 2408.04667. With N < n it is the mean over all
    subsets of N. As in the program of its authors, a sample without an answer agrees with nothing.

    >>> total_agreement((3, 1), 0, 4), total_agreement((3, 1), 0, 2)
    (0.0, 0.5)
    """
    return sum(math.comb(count, size) for count in sizes) / math.comb(sum(sizes) + blank, size)


@lru_cache(maxsize=100_000)
def distinct_answers(sizes: Sizes, blank: int, size: int) -> float:
    """How many different answers N samples give, the mean over all subsets of N; none is no answer.

    >>> distinct_answers((3, 1), 0, 4), distinct_answers((3, 1), 0, 1)
    (2.0, 1.0)
    """
    n = sum(sizes) + blank
    return sum(1 - math.comb(n - count, size) / math.comb(n, size) for count in sizes)


@lru_cache(maxsize=100_000)
def answer_entropy(sizes: Sizes, blank: int, size: int) -> float:
    """−Σ p·log₂ p in bits over the shares p of the answers among N samples, the mean over all subsets of N.

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
