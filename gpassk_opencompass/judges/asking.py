"""How a judge puts a pair to its servers, and how it reads what they reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import InputError
from .copies import Asked
from .exchange import Reply
from .prompts import Prompts
from .protocol import Pair
from .reply import Heard, hear
from .request import completion_request


class Asking(NamedTuple):
    """What all requests of a judge have in common.

    Args:
        model: the name that the servers know it by.
        prompts: what they are asked with.
        sampling: further fields of each request.
        also_whole: see `reply.hear`.
    """

    model: str
    prompts: Prompts
    sampling: Mapping[str, Any]
    also_whole: frozenset[str] = frozenset()

    def asked(self, pair: Pair) -> Asked:
        """Return the prompt for a pair with an answer."""
        return self.prompts.asked(
            pair.language, question=pair.question, reference=pair.reference, candidate=pair.answer
        )

    def request(self, asked: Asked) -> bytes:
        """Return the body of the request."""
        return completion_request(self.model, asked.prompt, self.sampling)

    def hear(self, reply: Reply, asked: Asked) -> Heard:
        """Return the verdict of the reply, or why there is none."""
        return hear(reply, asked, self.also_whole)


def finish_reasons(given: Sequence[str]) -> frozenset[str]:
    """Check the setting of that name; returns the reasons in small letters.

    Raises:
        InputError: no list of texts, or one that means a reply without its end.
    """
    if isinstance(given, str) or not all(isinstance(reason, str) for reason in given):
        raise InputError(f"finish_reasons = {given!r}: expected a list of texts, e.g. ['done'] or ['']")
    reasons = frozenset(reason.casefold() for reason in given)
    if broken := sorted(reasons & {'length', 'max_tokens', 'content_filter', 'abort', 'error'}):
        raise InputError(
            f'finish_reasons = {list(given)}: {broken[0]} is no end of a whole reply; leave it out'
        )
    return reasons
