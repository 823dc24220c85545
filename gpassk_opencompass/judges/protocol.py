"""What a judge takes and gives: pairs in, one of three verdicts a pair out. A judge of one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from ..errors import InputError

TAIL_LENGTH = 2000
"""Characters of a response without a final answer that a judge gets to see."""

Model = TypeVar('Model', bound=BaseModel)


class Verdict(str, Enum):
    """What a judge says of one answer.

    `UNJUDGED` (an outage, an unreadable reply) is never silently `INCORRECT`.
    """

    CORRECT = 'correct'
    INCORRECT = 'incorrect'
    UNJUDGED = 'unjudged'


class Pair(NamedTuple):
    """One answer to be judged against its reference. Equal pairs are judged once."""

    question: str
    reference: str
    answer: str
    """The final answer of a response, or '' where the response has none."""
    language: str = 'en'
    tail: str = ''
    """The last `TAIL_LENGTH` characters of the response, given only where `answer` is ''; a rule cannot use
    them, an LLM can."""


class Judgement(NamedTuple):
    """A verdict and where it came from."""

    verdict: Verdict
    origin: str
    """The check that decided, e.g. 'empty', 'string', 'number'."""
    reason: str = ''
    """Why there is no real verdict, e.g. 'timeout': of an unjudged pair, or of one that counts as incorrect
    only because its judge gave up (`undecided`); '' otherwise."""
    reply_key: str = ''
    """The key under which a verdict store has the reply of an LLM judge; '' where no LLM gave the verdict."""

    @property
    def undecided(self) -> bool:
        """Whether the answer is incorrect only because its judge gave up on it."""
        return self.verdict is Verdict.INCORRECT and bool(self.reason)


EMPTY, SAME = Judgement(Verdict.INCORRECT, 'empty'), Judgement(Verdict.CORRECT, 'string')
HEDGED = Judgement(Verdict.INCORRECT, 'hedged')
"""Of an answer that states more values than its reference asks for; given without asking a judge."""


class Judge(Protocol):
    """Anything that judges pairs; its class may check arguments before it is built, see `build_judge`."""

    def identity(self) -> Mapping[str, object]:
        """Return, JSON-able, everything that may change a verdict (name, versions, prompts, settings)."""

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return one judgement a pair, in the order of `pairs`."""

    def statistics(self) -> Mapping[str, int | float]:
        """Return counts of what was done so far (pairs, time-outs, calls, …), JSON-able."""

    def close(self) -> None:
        """Release processes and connections. May be called twice."""


class FunctionJudge:
    """Judges with `grader(pair)`: True or False, a `Verdict`, or None for unjudged.

    Args:
        grader: called once a pair, in order.
        name: its name in results and signatures; change it when the function changes.

    >>> judge = FunctionJudge(lambda pair: pair.answer == pair.reference, name='equal')
    >>> [judgement.verdict.value for judgement in judge.judge([Pair('1 + 1?', '2', '3')])]
    ['incorrect']
    """

    def __init__(self, grader: Callable[[Pair], bool | Verdict | None], name: str = 'function') -> None:
        self._grader, self._name, self._pairs = grader, name, 0

    def identity(self) -> dict[str, Any]:
        """Return the name."""
        return {'name': self._name}

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return one judgement a pair."""
        self._pairs += len(pairs)
        meaning = {None: Verdict.UNJUDGED, True: Verdict.CORRECT, False: Verdict.INCORRECT}
        said = map(self._grader, pairs)
        return [Judgement(one if isinstance(one, Verdict) else meaning[one], self._name) for one in said]

    def statistics(self) -> dict[str, int]:
        """Return the number of pairs judged so far."""
        return {'pairs': self._pairs}

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def checked(model: type[Model], given: Mapping[str, Any]) -> Model:
    """Return settings as a pydantic model; raise InputError with all that is wrong at once."""
    try:
        return model(**given)
    except ValidationError as error:
        raise InputError(problems(error, model)) from None


def problems(error: ValidationError, model: type[BaseModel]) -> str:
    """Return what is wrong with settings, each by its name; no value that may hold a key is shown."""
    found = []
    for one in error.errors():
        name, said = '.'.join(map(str, one['loc'])), one['msg'].removeprefix('Value error, ')
        if one['type'] == 'extra_forbidden':
            near = get_close_matches(name, model.model_fields, 1)
            hint = f'did you mean {near[0]!r}?' if near else f'it takes {", ".join(model.model_fields)}'
            found.append(f'{name}: no such setting, {hint}')
        elif one['type'] in ('value_error', 'missing') or name in ('api_key_env', 'extra_body', 'urls'):
            found.append(said if said.startswith(name) or not name else f'{name}: {said}')
        else:
            found.append(f'{name} = {one["input"]!r}: {said}')
    return '; '.join(found)
