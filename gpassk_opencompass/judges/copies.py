"""What of a reply is a copy of its prompt: an echo, or a quotation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

_CONTEXT = 24
"""Characters around a box, blanks not counted, that make it a copy where they stand in the prompt as well."""

_MORE_THAN_A_BOX = 8
"""Characters of a reply beside its boxes; one with fewer may say by chance what the prompt says."""

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

    def echoed_by(self, reply: str) -> bool:
        """Whether `reply` holds the whole prompt or a stretch of its instructions, or is a part of it."""
        plain, prompt = squeezed(reply), squeezed(self._asked.prompt)
        if any(mark in plain for mark in self._asked.marks) or prompt in plain:
            return True
        return len(self._box.sub('', plain)) >= _MORE_THAN_A_BOX and plain in prompt

    def may_be_own(self, reply: str) -> Callable[[re.Match[str]], bool]:
        """Return what tells whether a box found in `reply` is a verdict of its own.

        It is none inside a verbatim copy of the prompt: with `_CONTEXT` characters beside it that stand
        beside such a box in the prompt. Where the question, the reference or the answer holds such a box, a
        shorter quotation could carry it: there the box must be the last word of the reply.
        """
        if not self._windows:  # the prompt has no box
            return lambda box: True
        quotable = self._box.search(self._asked.slots) is not None

        def is_own(box: re.Match[str]) -> bool:
            if quotable and not _LAST_WORD.match(reply, box.end()):
                return False
            # More than the context, for its blanks; not all of the reply, for each of its boxes.
            reach = 4 * _CONTEXT
            before = reply[max(0, box.start() - reach) : box.start()]
            after = reply[box.end() : box.end() + reach]
            around = squeezed(before), squeezed(box[0]), squeezed(after)
            return not any(window in self._windows for window in _windows(*around))

        return is_own

    @cached_property
    def _windows(self) -> frozenset[str]:
        """Each box of the prompt with `_CONTEXT` characters before and behind it, in every split."""
        plain = squeezed(self._asked.prompt)
        return frozenset(
            window
            for box in self._box.finditer(plain)
            for window in _windows(plain[: box.start()][-_CONTEXT:], box[0], plain[box.end() :][:_CONTEXT])
        )


def squeezed(text: str) -> str:
    """Return the text without blanks, which servers and models change at will."""
    return ''.join(text.split())


def _windows(before: str, box: str, after: str) -> Iterator[str]:
    for share in range(_CONTEXT + 1):
        rest = _CONTEXT - share
        if len(before) >= share and len(after) >= rest:
            yield f'{before[len(before) - share :]}{box}{after[:rest]}'
