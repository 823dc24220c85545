"""What a response consists of: its thought, its final answer, how it ended, and whether it is one at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .answers import FinalAnswer, Parted, answer_of, part
from .judges.protocol import TAIL_LENGTH
from .replicas import Look
from .results.health import CUT_OFF, NOT_DRAWN, NOT_TOLD, Generation


class Response(NamedTuple):
    """A response taken apart: all that scoring needs of it, so that nobody has to keep the text."""

    tail: str
    """The last `TAIL_LENGTH` characters of what it says outside its thoughts, where it has no final answer;
    '' where it has one."""
    answer: FinalAnswer
    reasoning_characters: int | None
    """Length of the thought in the text; None where there is none."""
    generation: Generation
    """What the engine told of it, with the state that its text shows where the engine named none."""
    look: Look
    """Of the whole text: what tells copies of it."""

    @property
    def drawn(self) -> bool:
        """Whether it is a response of the model, which a judge may be asked about."""
        return self.generation.state not in NOT_DRAWN


_NONE = Parted('', '', False)


def read_responses(texts: Sequence[str], told: Sequence[Generation] = ()) -> list[Response]:
    """Take responses apart.

    Args:
        texts: of the model.
        told: what the engine said of each, or nothing at all.
    """
    of_each = told or [NOT_TOLD] * len(texts)
    return [read_response(text, one) for text, one in zip(texts, of_each, strict=True)]


def read_response(text: str, told: Generation) -> Response:
    r"""Take a response apart.

    >>> read_response('<think>2 + 2</think>\\boxed{4}', Generation('stop')).answer.text
    '4'
    >>> read_response('<think>2 + 2', Generation('stop')).generation.state
    'thought only'
    >>> read_response('<think>2 + 2', Generation('length')).generation.state is None
    True
    """
    parted = _NONE if told.state in NOT_DRAWN else part(text)
    state = told.state or _state_of(text, parted, told)
    answer = answer_of(parted)
    return Response(
        '' if answer.text else parted.said[-TAIL_LENGTH:],
        answer,
        len(parted.thought) or None,
        told if state == told.state else told._replace(state=state),
        Look.of(text),
    )


def with_states(texts: Sequence[str], told: Sequence[Generation]) -> list[Generation]:
    """Return what an engine told of its responses, with the states that their texts show.

    For engines that name none themselves.

    >>> [one.state for one in with_states(['', 'It is 4.'], [Generation('stop'), Generation('stop')])]
    ['empty', None]
    """
    return [
        one._replace(state=one.state or _state_of(text, part(text), one))
        for text, one in zip(texts, told, strict=True)
    ]


def _state_of(text: str, parted: Parted, told: Generation) -> str | None:
    if told.finish_reason == CUT_OFF:
        return None
    if not text.strip():
        return 'empty'
    # Where the engine does not say why it ended, a thought without more may have been cut off.
    return 'thought only' if told.finish_reason and not parted.said.strip() else None
