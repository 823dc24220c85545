"""Counts of many questions in little memory: a few numbers a question, and no text."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..metrics import Metric
from ..uncertainty import value_table
from .source import Counted, Question, Responded

Floats = NDArray[np.float64]


class Unjudged(str, Enum):
    """What becomes of samples that nobody judged."""

    WRONG = 'wrong'
    RIGHT = 'right'
    LEAVE_OUT = 'leave-out'
    REFUSE = 'refuse'


class Kind(NamedTuple):
    """What questions with equal scores have in common."""

    group: str
    n: int
    c: int
    unjudged: int

    def counted(self, unjudged: Unjudged) -> tuple[int, int]:
        """Return n and c where unjudged samples are taken for what `unjudged` says."""
        if unjudged is Unjudged.LEAVE_OUT:
            return self.n - self.unjudged, self.c
        return self.n, self.c + (self.unjudged if unjudged is Unjudged.RIGHT else 0)


@dataclass(frozen=True)
class Counts:
    """Counts of Q questions."""

    kinds: Sequence[Kind]
    ids: NDArray[np.int64]
    """The place in `kinds` of each question, shape (Q,)."""
    lines: NDArray[np.int64]
    """The line of each, shape (Q,)."""
    problems: NDArray[np.int64] | None
    """A number a source problem, shape (Q,); None: each question is its own."""
    unjudged: Unjudged = Unjudged.WRONG

    def __len__(self) -> int:
        return self.ids.size

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """Return how many questions are of each kind."""
        return np.bincount(self.ids, minlength=len(self.kinds))

    @cached_property
    def clusters(self) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
        """Return the number 0, 1, … of each question's problem (None: its own) and the sizes of problems."""
        if self.problems is None:
            return None, np.ones(len(self), dtype=np.int64)
        _, first, numbers = np.unique(self.problems, return_index=True, return_inverse=True)
        clusters = np.argsort(np.argsort(first))[numbers.ravel()]  # in order of appearance
        return clusters, np.bincount(clusters)

    @cached_property
    def sizes(self) -> Counter[int]:
        """Return n, as `unjudged` has it → how many questions have so many samples."""
        sizes: Counter[int] = Counter()
        for kind, weight in self._present:
            sizes[kind.counted(self.unjudged)[0]] += weight
        return sizes

    @property
    def _present(self) -> list[tuple[Kind, int]]:
        return [both for both in zip(self.kinds, self.weights.tolist(), strict=True) if both[1]]

    @property
    def groups(self) -> list[str]:
        """Return the groups, in the order of their first question."""
        return list(dict.fromkeys(kind.group for kind in self.kinds))

    @property
    def unjudged_samples(self) -> int:
        """Return how many samples nobody judged."""
        return int(self.weights @ np.array([kind.unjudged for kind in self.kinds]))

    @property
    def samples(self) -> int:
        """Return how many samples there are, judged or not."""
        return int(self.weights @ np.array([kind.n for kind in self.kinds]))

    def of(self, rows: NDArray[np.bool_]) -> Counts:
        """Return the counts of some of the questions."""
        problems = None if self.problems is None else self.problems[rows]
        return Counts(self.kinds, self.ids[rows], self.lines[rows], problems, self.unjudged)

    def in_group(self, group: str) -> NDArray[np.bool_]:
        """Return which questions are of a group, shape (Q,)."""
        return np.array([kind.group == group for kind in self.kinds])[self.ids]

    def values(self, metric: Metric, unjudged: Unjudged | None = None) -> Floats:
        """Compute the metric of each question from all of its samples, shape (Q,).

        Raises:
            InputError: a question has fewer than k samples.
        """
        table = np.zeros(len(self.kinds))
        for place in np.flatnonzero(self.weights).tolist():
            n, c = self.kinds[place].counted(unjudged or self.unjudged)
            if n < metric.k:
                raise InputError(self._too_few(place, n, metric))
            table[place] = value_table(metric, n)[c]
        return table[self.ids]

    def histograms(self) -> dict[int, Floats]:
        """Return n → how many questions have c = 0 … n."""
        found = {n: np.zeros(n + 1) for n in self.sizes}
        for kind, weight in self._present:
            n, c = kind.counted(self.unjudged)
            found[n][c] += weight
        return found

    def check_sizes(self) -> None:
        """Raise InputError unless all questions have as many samples; it says which n there are."""
        sizes: Counter[int] = Counter()
        for kind, weight in self._present:
            sizes[kind.n] += weight
        if len(sizes) > 1:
            rare, count = min(sizes.items(), key=lambda size: (size[1], size[0]))
            at = self.lines[np.array([kind.n == rare for kind in self.kinds])[self.ids]][0]
            least = min(sizes)
            raise InputError(
                f'the questions have different numbers of samples, from {least} to {max(sizes)}: {count} of '
                f'{len(self)} have n = {rare}, the first in row {at}. Give --n {least} (each question counts '
                f'with the mean over all subsets of {least} of its samples) or, where samples have an order, '
                f'--first {least}'
            )

    def _too_few(self, place: int, n: int, metric: Metric) -> str:
        row = self.lines[self.ids == place][0]
        if n == 0:
            return f'row {row} has no judged sample to score; count unjudged ones as wrong, or give --uid'
        judged = ' judged' if self.unjudged is Unjudged.LEAVE_OUT else ''
        return f'{metric.name} needs k = {metric.k} samples; row {row} has {n}{judged}: give a smaller --k'


class Tally:
    """Counts a question at a time; keeps four numbers of each."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, int, int, int], int] = {}
        self._ids = array('q')
        self._lines = array('q')
        self._uids = array('q')
        self._problems = array('q')
        """Hashes, of 64 bits: of a million different names two look equal in one of 37 million files."""
        self._clustered = False

    def add(self, question: Question) -> None:
        """Add a question; responses count as incorrect as long as nobody has judged them."""
        about = question.about
        if isinstance(question, Counted):
            key = (about.group, question.n, question.c, question.unjudged)
        elif isinstance(question, Responded) and not question.verdicts:
            key = (about.group, len(question.responses), 0, 0)
        else:
            verdicts = question.verdicts
            key = (about.group, len(verdicts), verdicts.count('1'), verdicts.count('?'))
        self._ids.append(self._kinds.setdefault(key, len(self._kinds)))
        self._lines.append(about.number)
        self._uids.append(hash(about.uid))
        self._clustered |= about.problem is not None
        # A question that names no problem is its own, whatever others are called.
        self._problems.append(hash((about.uid,)) if about.problem is None else hash(about.problem))

    def __len__(self) -> int:
        return len(self._ids)

    def counts(self, unjudged: Unjudged = Unjudged.WRONG) -> Counts:
        """Return the counts of all questions that were added.

        Raises:
            InputError: unjudged samples are refused and there are some; or two rows have one uid.
        """
        lines = np.frombuffer(self._lines, dtype=np.int64)
        _refuse_repeated(np.frombuffer(self._uids, dtype=np.int64), lines)
        problems = np.frombuffer(self._problems, dtype=np.int64) if self._clustered else None
        kinds = [Kind(*key) for key in self._kinds]
        counts = Counts(kinds, np.frombuffer(self._ids, dtype=np.int64), lines, problems, unjudged)
        if unjudged is Unjudged.REFUSE and counts.unjudged_samples:
            raise InputError(
                f'{counts.unjudged_samples} of {counts.samples} samples are unjudged, and unjudged ones are '
                'refused: have them judged, or choose wrong, right or leave-out'
            )
        return counts


def _refuse_repeated(uids: NDArray[np.int64], lines: NDArray[np.int64]) -> None:
    order = np.argsort(uids, kind='stable')
    same = np.flatnonzero(uids[order][1:] == uids[order][:-1])
    if not same.size:
        return
    first = same[np.argmin(lines[order][same + 1])]
    one, other = lines[order][first], lines[order][first + 1]
    raise InputError(
        f'rows {one} and {other} have the same uid ({same.size} such rows in all); a row is a question '
        'with all of its samples, and each question has a uid of its own'
    )
