"""Two judges in a row: the cheap one first, the dear one for what the first does not accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InputError
from .protocol import Judge, Judgement, Pair, Verdict

JudgeOrConfig = Judge | Mapping[str, Any]


class CascadeJudge:
    """Takes the first judge's word for correct and asks the second about all the rest.

    That suits a first judge which is hardly ever wrong when it accepts, but rejects or leaves open what it
    cannot read, as the rule judge does. Where the second leaves a pair unjudged, it stays unjudged. Each
    judgement keeps the origin and reason of the judge that gave it.

    Args:
        first, second: judges or, as in a config, `dict(type=…, **arguments)`.

    Raises:
        InputError: one of them is neither, or cannot be built.

    >>> from gpassk_opencompass.judges.protocol import FunctionJudge
    >>> equal = FunctionJudge(lambda pair: pair.answer == pair.reference, name='equal')
    >>> folded = FunctionJudge(lambda pair: pair.answer.lower() == pair.reference.lower(), name='folded')
    >>> cascade = CascadeJudge(equal, folded)
    >>> pairs = [Pair('?', 'A', answer) for answer in 'AaB']
    >>> [(judgement.verdict.value, judgement.origin) for judgement in cascade.judge(pairs)]
    [('correct', 'equal'), ('correct', 'folded'), ('incorrect', 'folded')]
    >>> cascade.statistics()['saved']
    1
    """

    def __init__(self, first: JudgeOrConfig, second: JudgeOrConfig) -> None:
        self.check_arguments({'first': first, 'second': second})
        self.first, self._second = _built(first), _built(second)
        self._pairs = self._saved = 0

    @staticmethod
    def check_arguments(arguments: Mapping[str, Any]) -> None:
        """See `build.build_judge`."""
        for place, judge in arguments.items():
            _check(place, judge)

    def identity(self) -> dict[str, Any]:
        """Return the identities of both judges."""
        return {
            'name': 'cascade',
            'first': dict(self.first.identity()),
            'second': dict(self._second.identity()),
        }

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return one judgement a pair, in the order of `pairs`."""
        judgements = self.first.judge(pairs)
        rest = [place for place, said in enumerate(judgements) if said.verdict is not Verdict.CORRECT]
        for place, said in zip(rest, self._second.judge([pairs[place] for place in rest]), strict=True):
            judgements[place] = said
        self._pairs += len(pairs)
        self._saved += len(pairs) - len(rest)
        return judgements

    def statistics(self) -> dict[str, int | float]:
        """Count what was judged.

        `pairs`, `saved` (not given to the second), and all of both as `first_…` and `second_…`.
        """
        judges = {'first': self.first, 'second': self._second}
        parts = {
            f'{place}_{name}': count
            for place, judge in judges.items()
            for name, count in judge.statistics().items()
        }
        return {'pairs': self._pairs, 'saved': self._saved, **parts}

    def close(self) -> None:
        """Close both."""
        try:
            self.first.close()
        finally:
            self._second.close()


def _check(place: str, judge: Any) -> None:
    from .build import check_judge  # which knows this class

    if not isinstance(judge, (Mapping, type)) and hasattr(judge, 'judge'):
        return
    if not isinstance(judge, Mapping) or 'type' not in judge:
        raise InputError(f"{place} = {judge!r}: expected a judge's dict, e.g. {place}=dict(type='rule')")
    try:
        check_judge(judge)
    except InputError as error:
        raise InputError(f'{place}: {error}') from error


def _built(judge: JudgeOrConfig) -> Judge:
    if not isinstance(judge, Mapping):
        return judge
    from .build import build_judge  # which knows this class

    return build_judge(judge)
