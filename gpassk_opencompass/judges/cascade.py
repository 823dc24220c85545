"""Two judges in a row: the cheap one first, the dear one for what the first does not accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

from .build import build_judge, check_judge
from .protocol import Judge, Judgement, Pair, Verdict, checked


def _is_judge(judge: Any) -> Any:
    if isinstance(judge, Mapping) and 'type' in judge:
        check_judge(judge)
    elif isinstance(judge, (Mapping, type)) or not hasattr(judge, 'judge'):
        raise ValueError(f"{judge!r}: expected a judge's dict, e.g. dict(type='rule')")
    return judge


class _Judges(BaseModel):
    model_config = ConfigDict(extra='forbid')

    first: Annotated[Any, AfterValidator(_is_judge)]
    second: Annotated[Any, AfterValidator(_is_judge)]


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

    def __init__(self, first: Judge | Mapping[str, Any], second: Judge | Mapping[str, Any]) -> None:
        self.check_arguments({'first': first, 'second': second})
        self.first, self._second = (
            build_judge(one) if isinstance(one, Mapping) else one for one in (first, second)
        )
        self._parts = {'first': self.first, 'second': self._second}
        self._pairs = self._saved = 0

    @staticmethod
    def check_arguments(arguments: Mapping[str, Any]) -> None:
        """See `build.build_judge`."""
        checked(_Judges, arguments)

    def identity(self) -> dict[str, Any]:
        """Return the identities of both judges."""
        return {'name': 'cascade', **{place: dict(judge.identity()) for place, judge in self._parts.items()}}

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
        """Count pairs, those `saved` (not given to the second), and all of both as `first_…`, `second_…`."""
        parts = {place: judge.statistics() for place, judge in self._parts.items()}
        counts = {f'{place}_{name}': count for place, part in parts.items() for name, count in part.items()}
        return {'pairs': self._pairs, 'saved': self._saved, **counts}

    def close(self) -> None:
        """Close both."""
        try:
            self.first.close()
        finally:
            self._second.close()
