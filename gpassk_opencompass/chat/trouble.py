"""What went wrong with a request, and what that means for it, for its server and for all others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any

from yarl import URL

from ..errors import IncompleteError, InputError
from ..keys import hidden

_LONGEST_MESSAGE = 500

ABOUT_LENGTH = re.compile(
    r'context.?(length|window|size|limit)|max_model_len|maximum model length'
    r'|(prompt|input|request)s?\b.{0,60}\b(too (long|large)|exceeds?|longer than)\b'
    r'|max_(total_|completion_|new_|output_)?tokens\b.{0,40}'
    r'(too (large|high|big)|exceeds?|at most|greater than|larger than|less than|<=?|\d >=? ?\d)'
    r'|(request|prompt|string)_(too_(long|large)|above_max)',
    re.IGNORECASE,
)
"""Found in what a server says of a request, prompt or response, that is too long for it."""

_FILTERED = re.compile(
    r'content.?(filter|management|policy|exists risk)|usage polic|responsible_?ai|invalid_prompt'
    r'|data_inspection|inappropriate content|\bflagged\b|considered high risk'
    r'|safety.?(filter|system|setting|reason|polic|check|guideline)',
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(r'request too large', re.IGNORECASE)
_LIMIT = re.compile(r'\blimit:? (\d+)\b.{0,40}\brequested:? (\d+)\b', re.IGNORECASE)


class Kind(Enum):
    """What a failure means."""

    BUSY = auto()
    """The server wants fewer requests: wait, all of us."""
    DOWN = auto()
    """The server cannot be reached. This says nothing about the request."""
    LOST = auto()
    """No reply came back: a time-out or a dropped connection."""
    BROKEN = auto()
    """The server answered, but not with a reply."""
    REFUSED = auto()
    """The server does not take this request and never will."""
    SETTING = auto()
    """The server would take no request: key, model name or address are wrong."""


class Trouble(Exception):
    """A request without a reply.

    Args:
        kind: what it means.
        reason: a few words, the same for all failures of a sort.
        message: what the server or the system said.
        wait: seconds that the server asked to wait.
        status: of the HTTP reply, if there was one.
    """

    def __init__(
        self,
        kind: Kind,
        reason: str,
        message: str = '',
        wait: float | None = None,
        status: int | None = None,
    ) -> None:
        self.kind = kind
        self.reason = reason
        self.message = message
        self.wait = wait
        self.status = status

    def __str__(self) -> str:
        return f'{self.reason}: {self.message[:_LONGEST_MESSAGE]}' if self.message else self.reason

    def hide(self, secret: str) -> None:
        """Take a secret out of the whole message, which may quote the request."""
        self.message = hidden(self.message, secret)
        self.args = (self.kind, self.reason, self.message)  # what `repr` shows


def server_message(content: bytes) -> str:
    """Return what the body of an error says, in the forms that servers use, else its beginning."""
    message: Any = content.decode('utf-8', 'replace')
    try:
        message = json.loads(message)
        for name in ('error', 'message', 'detail'):
            if isinstance(message, dict) and message.get(name):
                message = message[name]
    except (ValueError, RecursionError):
        pass
    return ' '.join(str(message).split())


_KINDS = {
    400: Kind.REFUSED,
    408: Kind.LOST,
    409: Kind.LOST,
    413: Kind.REFUSED,
    422: Kind.REFUSED,
    425: Kind.BUSY,
    429: Kind.BUSY,
    451: Kind.REFUSED,
    502: Kind.DOWN,
    503: Kind.DOWN,
    504: Kind.LOST,  # the gateway was reached and waited: the server may think for longer than it does
}


def kind_of(status: int, message: str = '') -> Kind:
    """Return what an HTTP status other than 200 means.

    Args:
        status: of the reply.
        message: what it says; no waiting helps with a request that alone is above a limit of a minute.

    >>> kind_of(429), kind_of(429, 'Request too large on tokens per min (TPM): Limit 30000, Requested 40000')
    (<Kind.BUSY: 1>, <Kind.REFUSED: 5>)
    """
    kind = _KINDS.get(status, Kind.BROKEN if status >= 500 else Kind.SETTING)
    return Kind.REFUSED if kind is Kind.BUSY and _is_above_limit(message) else kind


def state_of_refusal(status: int | None, message: str) -> str:
    """Return the state of `health.STATES` of a sample whose request a server does not take.

    Args:
        status: of the HTTP reply; None where there is none.
        message: what the server says.

    >>> state_of_refusal(400, 'prompt is too long: 210000 tokens > 200000 maximum')
    'too long'
    >>> state_of_refusal(400, 'max_tokens must be at least 1'), state_of_refusal(400, 'Content Exists Risk')
    ('refused', 'filtered')
    """
    if status == 413 or ABOUT_LENGTH.search(message) or _is_above_limit(message):
        return 'too long'
    return 'filtered' if _FILTERED.search(message) else 'refused'


def _is_above_limit(message: str) -> bool:
    found = _LIMIT.search(message)
    return bool(_TOO_LARGE.search(message) or (found and int(found[2]) > int(found[1])))


KEPT = 'The verdicts so far'
"""What a run without servers has of earlier replies, in the words of its error."""

Advice = Callable[[Trouble], str]
"""Says what to do where a server takes no request at all."""


def check_settings(trouble: Trouble) -> str:
    """Advise whoever has set a judge."""
    return 'Check the model name, the address, the key (api_key_env), max_tokens and extra_body'


def refusal(url: URL, trouble: Trouble, advice: Advice = check_settings) -> InputError:
    """Return the error that says: this server would take no request like these."""
    return InputError(f'{url} refuses: {trouble}. {advice(trouble)}')


def hopeless(urls: Sequence[URL], what: str, patience: float, kept: str = KEPT) -> IncompleteError:
    """Return the error that says: none of these servers answers, and `what` happened last."""
    return IncompleteError(
        f'no server answers ({", ".join(map(str, urls))}): {what}; patience is {patience:g} s. {kept} '
        'are kept: start the servers and run the same command again to ask for the rest.'
    )
