"""Exact values of the metrics, computed from their definition, and a judge that compares letters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import ceil, comb

from gpassk_opencompass import Judgement, Pair, Verdict

EXACT = ['--judge', f'{__name__}.Exact']
MEANING = {None: Verdict.UNJUDGED, True: Verdict.CORRECT, False: Verdict.INCORRECT}


class FunctionJudge:
    """Judges with `grader(pair)`: True or False, a `Verdict`, or None for unjudged."""

    def __init__(self, grader: Callable[[Pair], bool | Verdict | None], name: str = 'function') -> None:
        self.grader, self.name = grader, name

    def identity(self) -> dict[str, str]:
        return {'name': self.name}

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        return [Judgement(MEANING.get(said, said), self.name) for said in map(self.grader, pairs)]

    def statistics(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        pass


class Exact(FunctionJudge):
    """Says correct where the answer is the reference, letter by letter; starts no process."""

    def __init__(self) -> None:
        super().__init__(lambda pair: pair.answer == pair.reference)


def g_pass(counts: Iterable[int], n: int, k: int, threshold: float | Fraction) -> float:
    """G-Pass@k at a threshold, in percent, of c correct samples of n a question."""
    least = max(ceil(Fraction(str(threshold)) * k), 1)
    shares = [
        sum((Fraction(comb(c, j) * comb(n - c, k - j), comb(n, k)) for j in range(least, k + 1)), Fraction())
        for c in counts
    ]
    return float(100 * sum(shares) / len(shares))
