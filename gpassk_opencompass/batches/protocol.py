"""What a batch endpoint is asked for and what it answers, whoever's it is."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..chat.completion import Reply

LONGEST_ID = 64
"""Characters that Anthropic allows in the name of a request; OpenAI names no limit."""

_NOT_IN_IDS = re.compile('[^A-Za-z0-9-]+')
_DIGITS = 20


class Request(NamedTuple):
    """One request of a batch."""

    custom_id: str
    """Its name, by which its answer is found."""
    body: Mapping[str, Any]


class Answer(NamedTuple):
    """What became of a request."""

    reply: Reply | None
    state: str = ''
    """Where there is no reply: of `results.health.STATES`."""
    said: str = ''
    """What the server said there."""
    again: bool = False
    """Whether the same request may get a response another time: it expired, or the server failed."""


class Progress(NamedTuple):
    """How far a batch is."""

    status: str
    """In the server's word."""
    ended: bool
    counts: str
    """How many requests are done, for a reader."""
    refusal: str = ''
    """Why the server took none of its requests."""
    queue_full: bool = False
    """Whether that is because too much is waiting there already."""
    cancelled: bool = False
    """Whether somebody cancelled it; what was answered before is there."""


class Unreachable(Exception):
    """The server gave no usable answer this time.

    Args:
        message: what it or the system said.
        wait: seconds that the server asks to wait.
        unknown: whether the request may have been carried out all the same.
    """

    def __init__(self, message: str, wait: float | None = None, unknown: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.unknown = unknown


class BatchApi(Protocol):
    """A batch endpoint. Its calls raise Unreachable where another try may help, and InputError where not."""

    name: str
    most_requests: int
    """Of one batch."""
    most_bytes: int
    """Of the lines of one batch."""

    def line(self, request: Request) -> bytes:
        """Return a request as JSON, as it counts for `most_bytes`."""

    def submit(self, lines: Sequence[bytes], mark: str) -> str:
        """Submit a batch; return its id. `mark` goes with it where the API keeps such things."""

    def find(self, mark: str, count: int, since: float) -> list[str]:
        """Return the ids of batches that may be the one submitted with this mark, the likeliest first.

        Args:
            count: how many requests it had.
            since: when it was submitted at the earliest, in Unix time of this machine.
        """

    def look(self, batch: str) -> Progress:
        """Return how far a batch is."""

    def answers(self, batch: str) -> Iterator[tuple[str, Answer]]:
        """Yield (custom_id, answer) of a batch that has ended, in any order."""

    def close(self) -> None:
        """Give up its connections; the next call makes new ones."""


def custom_id(uid: str, replica: int, body: Mapping[str, Any]) -> str:
    """Return the name of the request for one sample, the same for the same sample and body.

    It has letters, digits, `-` and `_` alone and at most 64 of them.

    >>> custom_id('202412/AMC_en/3', 7, {'model': 'm'})
    '202412-AMC-en-3_7_0ba3a7e246794c617042'
    """
    content = json.dumps([uid, replica, body], sort_keys=True)
    digits = hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]
    number = f'_{replica}_{digits}'
    return _NOT_IN_IDS.sub('-', uid).strip('-')[-(LONGEST_ID - len(number)) :] + number


def lines_of(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines.

    Raises:
        Unreachable: a line is no JSON object, so the file did not come over whole.
    """
    for number, line in enumerate(content.split(b'\n'), start=1):  # U+2028 within a text ends no line
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise Unreachable(f'line {number} of its results is no JSON object: {line[:80]!r}')
            yield row
