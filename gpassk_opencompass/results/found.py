"""What is found of the samples of a result in the files that it names: responses, and what a judge said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from .result import Result


class Asked(NamedTuple):
    """What an LLM judge was asked of a sample, and what it replied."""

    name: str
    """Of its model."""
    prompt: str | None
    """None: its prompts are not known here."""
    reply: str | None


class Found(NamedTuple):
    """What is found of one sample."""

    text: str | None = None
    """The whole response; None where none was drawn, or it is lost."""
    lost: str = ''
    """Why the response cannot be found; '' where nothing is lost."""
    prompt: str | None = None
    """What the model was asked."""
    thought: int | None = None
    """Characters at the beginning of the response that are a thought; None where there is none."""
    separate_thought: str | None = None
    """The thought that the engine gave apart from the response."""
    judge: Asked | None = None


class Responses(Protocol):
    """The responses of a result, read from its files when they are asked for."""

    @property
    def version(self) -> str:
        """Return what changes if the files that they are read from do."""

    def of_question(self, number: int) -> Sequence[Found]:
        """Return what is found of the n samples of the question with this place in the result's `uids`."""

    def close(self) -> None:
        """Let go of the files."""


Read = Callable[[Result], Responses]
"""Opens the responses of a result; InputError where none of them can be found."""
