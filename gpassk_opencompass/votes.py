"""The answers to a question counted as votes: the majority of them, and whether all agree.

Answers are one if their normal forms are. A sample without an answer does not vote; where nobody votes, the
vote is lost. Agreement asks no reference: samples may all say the same and be wrong.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from .errors import InputError
from .samples import Samples

Sizes = tuple[int, ...]  # how often each different answer was given


class Ballot(NamedTuple):
    """The answers to one question: their normal forms sample by sample, '' for none; and the correct ones."""

    votes: tuple[str, ...]
    right: frozenset[str]

    @property
    def sizes(self) -> tuple[Sizes, Sizes, int]:
        """Return how often each correct and each incorrect answer was given, and how often none was."""
        counts = Counter(self.votes)
        blank = counts.pop('', 0)
        right = sorted(size for vote, size in counts.items() if vote in self.right)
        wrong = sorted(size for vote, size in counts.items() if vote not in self.right)
        return tuple(right), tuple(wrong), blank


def ballots_of(samples: Samples | None, uids: Sequence[str], *, judged_only: bool = False) -> list[Ballot]:
    """Return the votes on each question; with `judged_only` samples without a verdict do not vote."""
    if samples is None or 'answer' not in samples:
        raise InputError(
            'majorities and agreement need the answers, which these samples do not have; give responses, or '
            'labels with answers'
        )
    answers, verdicts, questions = samples['answer'], samples['verdict'], samples.by_question()
    ballots = []
    for uid in uids:
        rows = [row for row in questions[uid] if not judged_only or verdicts[row] != 'unjudged']
        told = [answers[row] or '' for row in rows], [verdicts[row] == 'correct' for row in rows]
        ballots.append(ballot(*told))
    return ballots


def ballot(answers: Sequence[str], correct: Sequence[bool]) -> Ballot:
    """Return the votes on one question; an answer is correct if most of its verdicts say so.

    >>> ballot(['1/2', '$1/2$', '', '3'], [True, True, False, False])
    Ballot(votes=('1/2', '1/2', '', '3'), right=frozenset({'1/2'}))
    """
    votes = tuple(map(_form, answers))
    given, hits = Counter(votes), Counter(vote for vote, hit in zip(votes, correct, strict=True) if hit)
    return Ballot(votes, frozenset(vote for vote in given if vote and 2 * hits[vote] > given[vote]))


@lru_cache(maxsize=100_000)
def _form(answer: str) -> str:
    from .answers import normal_form  # where nobody votes, the rules of answers are not needed

    return normal_form(answer)


def majority(ballot: Ballot, m: int) -> float:
    """Return maj@m: the chance that the majority of m of the samples is correct, over all subsets of m.

    Ties are broken by chance, each tied answer with the same probability; over all orders of the samples,
    the first-seen of the tied ones gives the same. Exact, rounded once.

    >>> majority(ballot(['1', '1', '2'], [True, True, False]), 2)
    0.6666666666666666
    """
    return _majority(*ballot.sizes, m)


@lru_cache(maxsize=100_000)
def _majority(right: Sizes, wrong: Sizes, blank: int, m: int) -> float:
    """Compute maj@m: summed over the winner's votes, and over how many answers of each kind have as many."""
    won = Fraction(0)
    for votes in range(1, min(m, max(right, default=0)) + 1):
        small = blank + sum(size for size in right + wrong if size < votes)
        others = _ways(wrong, votes, m)
        for (drawn, good), ways in _ways(right, votes, m).items():
            draws: defaultdict[int, int] = defaultdict(int)
            for (also, bad), more in others.items() if good else ():
                if drawn + also <= m:
                    draws[bad] += ways * more * math.comb(small, m - drawn - also)
            won += sum(Fraction(good * number, good + bad) for bad, number in draws.items())
    return float(won / math.comb(blank + sum(right) + sum(wrong), m))


def _ways(sizes: Sizes, votes: int, m: int) -> Mapping[tuple[int, int], int]:
    """Return (drawn, tied) → ways to draw from answers of at least `votes`; `tied` get that, others less."""
    table = {(0, 0): 1}
    for size in (one for one in sizes if one >= votes):
        grown: defaultdict[tuple[int, int], int] = defaultdict(int)
        for (drawn, tied), ways in table.items():
            for more in range(min(votes, m - drawn) + 1):
                grown[drawn + more, tied + (more == votes)] += ways * math.comb(size, more)
        table = grown
    return table


def group_majorities(ballot: Ballot, m: int) -> tuple[int, int]:
    """Count the disjoint groups of m samples, in their order, and those of them whose majority is correct.

    Samples left over at the end belong to no group. Of tied answers the one that its group gave first counts.
    The groups are as independent as the samples, so that G-Pass@k of them is unbiased for k votes of m.

    >>> group_majorities(ballot(['1', '2', '2', '2', '1'], [True, False, False, False, True]), 2)
    (2, 1)
    """
    groups, won = len(ballot.votes) // m, 0
    for place in range(groups):
        cast = Counter(filter(None, ballot.votes[m * place : m * (place + 1)]))
        won += bool(cast) and cast.most_common(1)[0][0] in ballot.right  # of equal ones the first counted
    return groups, won


def answer_entropy(votes: Sequence[str]) -> float:
    """Return −Σ p·log₂ p in bits over the shares p of the answers; no answer is one more of them.

    0 where all say the same, log₂ n where all differ.

    >>> answer_entropy(['7', '7', '', '8'])
    1.5
    """
    return -sum(size / len(votes) * math.log2(size / len(votes)) for size in Counter(votes).values())
