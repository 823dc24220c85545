"""What of a reply is a copy of its prompt: an echo, or a quotation."""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

_CONTEXT = 24
"""Characters around a box, blanks not counted, that make it a copy where they stand in the prompt as well."""

_MORE_THAN_A_BOX = 8
"""Characters of a reply beside its boxes; one with fewer may say by chance what the prompt says."""

_MOST_BOXES = 100
"""Boxes of a reply that are looked at, from its end."""

_LAST_WORD = re.compile(r'(?!\s*[`"\'”’」》])[\W_]*\Z')


class Asked(NamedTuple):
    """What a server was asked."""

    prompt: str
    marks: tuple[str, ...]
    """Stretches of the instructions, without blanks, that no reply has reason to repeat to the letter."""
    slots: str
    """Question, reference and answer, which a reply may well quote."""


class Copies:
    """Tells what a reply says itself from what it repeats.

    Args:
        asked: what it replies to.
        box: finds the boxes with a verdict.
    """

    def __init__(self, asked: Asked, box: re.Pattern[str]) -> None:
        self._asked, self._box = asked, box

    @cached_property
    def _prompt(self) -> str:
        return squeezed(self._asked.prompt)

    def echoed_by(self, reply: str) -> bool:
        """Whether `reply` holds the whole prompt or a stretch of its instructions, or is a part of it."""
        plain = squeezed(reply)
        if len(self._box.sub('', plain)) < _MORE_THAN_A_BOX:
            return False
        return (
            any(mark in plain for mark in self._asked.marks) or self._prompt in plain or plain in self._prompt
        )

    def last_own(self, reply: str) -> re.Match[str] | None:
        """Return the last box of the reply that is a verdict of its own.

        It is none inside a verbatim copy of the prompt: with `_CONTEXT` characters beside it that stand
        beside such a box in the prompt. Where the question, the reference or the answer holds such a box, a
        shorter quotation could carry it: there the box must be the last word of the reply.
        """
        boxes = list(self._box.finditer(reply))[-_MOST_BOXES:]
        if self._box.search(self._asked.slots):
            boxes = [box for box in boxes[-1:] if _LAST_WORD.match(reply, box.end())]
        return next((box for box in reversed(boxes) if not self._is_copied(reply, box)), None)

    def _is_copied(self, reply: str, box: re.Match[str]) -> bool:
        # More than the context, for its blanks; not all of the reply, for each of its boxes.
        reach = 4 * _CONTEXT
        before = squeezed(reply[max(0, box.start() - reach) : box.start()])[-_CONTEXT:]
        after = squeezed(reply[box.end() : box.end() + reach])[:_CONTEXT]
        if len(before) + len(after) < _CONTEXT:
            return False
        said, half = squeezed(box[0]), _CONTEXT // 2
        # One half of the context at least is on one side.
        if before[-half:] + said not in self._prompt and said + after[:half] not in self._prompt:
            return False
        return any(
            before[len(before) - share :] + said + after[: _CONTEXT - share] in self._prompt
            for share in range(max(0, _CONTEXT - len(after)), len(before) + 1)
        )


def squeezed(text: str) -> str:
    """Return the text without blanks, which servers and models change at will."""
    return ''.join(text.split())
