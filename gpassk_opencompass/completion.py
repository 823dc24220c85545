"""A chat completion as servers send it, and what their errors mean; no request is made here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

from .files import mapping

ENDS = {
    **dict.fromkeys('length max_tokens model_length max_length model_context_window_exceeded'.split(), 'cut'),
    **dict.fromkeys(('content_filter', 'safety', 'refusal'), 'filtered'),
    **dict.fromkeys(('abort', 'cancelled', 'error', 'time_limit'), 'aborted'),
}
"""Finish reason, in small letters, of a reply that did not come to its own end → what happened to it. The
words are those of OpenAI, vLLM, lmdeploy, SGLang, TGI, Anthropic, Gemini and Mistral."""

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

    BUSY = auto()  # the server wants fewer requests
    DOWN = auto()  # it cannot be reached, which says nothing about the request
    LOST = auto()  # no reply came back: a time-out or a dropped connection
    BROKEN = auto()  # it answered, but not with a reply
    REFUSED = auto()  # it does not take this request and never will
    SETTING = auto()  # it would take no request: key, model name or address are wrong


@dataclass(eq=False)
class Trouble(Exception):
    """A request without a reply."""

    kind: Kind
    reason: str  # the same for all failures of a sort
    message: str = ''
    wait: float | None = None  # that was asked for
    status: int | None = None

    def __str__(self) -> str:
        return f'{self.reason}: {self.message[:500]}' if self.message else self.reason


class Reply(NamedTuple):
    """What a model wrote, and what its server says of it; '' where it is silent."""

    text: str
    finish: str = ''
    model: str = ''
    fingerprint: str = ''
    thought: str = ''  # reasoning that was sent apart
    refusal: str = ''
    calls_tool: bool = False
    prompt_tokens: Any = None
    output_tokens: Any = None
    reasoning_tokens: Any = None

    @property
    def steady_fingerprint(self) -> str:
        """Return the fingerprint; '' of hosted APIs (OpenAI, Azure, DeepSeek): it changes under one model."""
        return '' if self.fingerprint.startswith('fp_') else self.fingerprint


def reply_of(completion: Any) -> Reply:
    """Return what stands in the object that the JSON of a chat completion is; raise Trouble if it is none."""
    try:
        if completion['choices'] == []:
            raise Trouble(Kind.BROKEN, 'no choice', server_message(json.dumps(completion).encode()))
        choice = completion['choices'][0]
        message = choice['message']
        apart = message.get('reasoning') or message.get('reasoning_content')  # vLLM since 2026; DeepSeek
        calls = bool(message.get('tool_calls') or message.get('function_call'))
        content = message.get('content')
        if 'content' not in message and not (apart or message.get('refusal') or calls):
            raise KeyError('content')  # some servers leave it out beside these
        text, within = _parts(content)
        usage = completion.get('usage') or {}
        told = (choice.get('finish_reason'), completion.get('model'), completion.get('system_fingerprint'))
        finish, model, fingerprint = (
            '' if one is None else one if isinstance(one, str) else json.dumps(one) for one in told
        )
        tokens = [usage.get('prompt_tokens'), usage.get('completion_tokens')]
        tokens += [(usage.get('completion_tokens_details') or {}).get('reasoning_tokens')]
        thought, refusal = _text(apart) or within, _text(message.get('refusal'))
        return Reply(text, finish, model, fingerprint, thought, refusal, calls, *tokens)
    except (ValueError, LookupError, TypeError, AttributeError):
        said = server_message(json.dumps(completion, default=str).encode())
        raise Trouble(Kind.BROKEN, 'malformed reply', said) from None


def weights_of(card: Mapping[str, Any]) -> str:
    """Return what an entry in a list of models says of its weights; '' if nothing.

    vLLM tells their path, llama.cpp their sizes; `created` is the time of the request.
    """
    root, meta = card.get('root'), mapping(card.get('meta'))
    sizes = {name: meta.get(name) for name in ('n_params', 'size', 'n_vocab')}
    told = [f'{name} {size}' for name, size in sizes.items() if type(size) is int]
    return root if isinstance(root, str) and root else ', '.join(told)


def _parts(content: Any) -> tuple[str, str]:
    """Return text and thought of a content: a text, nothing, or a list of parts (as of Mistral)."""
    if not isinstance(content, list):
        if content is None or isinstance(content, str):
            return content or '', ''
        raise TypeError('content is no text')
    thoughts = [part.get('thinking') for part in content]
    thoughts = [_parts(one)[0] if isinstance(one, list) else _text(one) for one in thoughts]
    return ''.join(_text(part.get('text')) for part in content), ''.join(thoughts)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ''


def server_message(content: bytes) -> str:
    """Return what the body of an error says, in the forms that servers use, else its beginning."""
    message: Any = content.decode('utf-8', 'replace')
    with suppress(ValueError, RecursionError):
        message = json.loads(message)
        for name in ('error', 'message', 'detail'):
            if isinstance(message, dict) and message.get(name):
                message = message[name]
    return ' '.join(str(message).split())


def kind_of(status: int, message: str = '') -> Kind:
    """Return what an HTTP status other than 200 means; no waiting helps a request above a minute's limit.

    >>> kind_of(429), kind_of(429, 'tokens per min: Limit 30000, Requested 40000')
    (<Kind.BUSY: 1>, <Kind.REFUSED: 5>)
    """
    if status in (425, 429):
        found = _LIMIT.search(message)
        above = _TOO_LARGE.search(message) or (found and int(found[2]) > int(found[1]))
        return Kind.REFUSED if above else Kind.BUSY
    # 504: a gateway waited; the server may think for longer than it does.
    known = {**dict.fromkeys((400, 413, 422, 451), Kind.REFUSED), **dict.fromkeys((408, 409, 504), Kind.LOST)}
    known |= dict.fromkeys((502, 503), Kind.DOWN)
    return known.get(status, Kind.BROKEN if status >= 500 else Kind.SETTING)


def state_of_refusal(status: int | None, message: str) -> str:
    """Return the state of `health.STATES` of a sample whose request a server does not take.

    >>> state_of_refusal(400, 'prompt is too long: 210000 tokens > 200000 maximum')
    'too long'
    """
    if status == 413 or ABOUT_LENGTH.search(message) or kind_of(429, message) is Kind.REFUSED:
        return 'too long'
    return 'filtered' if _FILTERED.search(message) else 'refused'
