"""A judge made of one function, for a grader of your own and for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .protocol import Judgement, Pair, Verdict

Grader = Callable[[Pair], bool | Verdict | None]


class FunctionJudge:
    """Judges with `grader(pair)`: True or False, a `Verdict`, or None for unjudged.

    Args:
        grader: called once a pair, in order.
        name: its name in results and signatures; change it when the function changes.

    >>> judge = FunctionJudge(lambda pair: pair.answer == pair.reference, name='equal')
    >>> [judgement.verdict.value for judgement in judge.judge([Pair('1 + 1?', '2', '3')])]
    ['incorrect']
    """

    def __init__(self, grader: Grader, name: str = 'function') -> None:
        self._grader = grader
        self._name = name
        self._pairs = 0

    def identity(self) -> dict[str, Any]:
        """The name."""
        return {'name': self._name}

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """One judgement a pair."""
        self._pairs += len(pairs)
        return [Judgement(self._verdict(pair), self._name) for pair in pairs]

    def statistics(self) -> dict[str, int]:
        """Pairs judged so far."""
        return {'pairs': self._pairs}

    def close(self) -> None:
        """Nothing to release."""

    def _verdict(self, pair: Pair) -> Verdict:
        said = self._grader(pair)
        if said is None:
            return Verdict.UNJUDGED
        if isinstance(said, Verdict):
            return said
        return Verdict.CORRECT if said else Verdict.INCORRECT
