"""A chat completion: the body that asks for one, and what stands in the one that comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..keys import hidden, hides, without_long
from .trouble import Kind, Trouble, server_message


def around_prompt(model: str, sampling: Mapping[str, Any]) -> tuple[str, str]:
    """Return what stands before the prompt, a string of JSON, in a body that asks for one, and behind it.

    >>> around_prompt('judge', {'temperature': 0.0})
    ('{"model": "judge", "messages": [{"role": "user", "content": ', '}], "temperature": 0.0}')
    """
    messages = [{'role': 'user', 'content': ''}]
    head, content, tail = json.dumps({'model': model, 'messages': messages, **sampling}).partition(_EMPTY)
    return head + content.removesuffix('""'), tail


_EMPTY = '"content": ""'  # within a string its quotation marks would be escaped

ENDS = {
    'length': 'cut',
    'max_tokens': 'cut',
    'model_length': 'cut',
    'max_length': 'cut',
    'model_context_window_exceeded': 'cut',
    'content_filter': 'filtered',
    'safety': 'filtered',
    'refusal': 'filtered',
    'abort': 'aborted',
    'cancelled': 'aborted',
    'error': 'aborted',
    'time_limit': 'aborted',
}
"""Finish reason, in small letters, of a reply that did not come to its own end → what happened to it. The
words are those of OpenAI, vLLM, lmdeploy, SGLang, TGI, Anthropic, Gemini and Mistral."""

_WRITTEN = frozenset({'text', 'thought', 'refusal'})
_THOUGHTS = ('reasoning', 'reasoning_content')


class Reply(NamedTuple):
    """What a model wrote. Counts are as the server sent them, whatever that is; None where it did not."""

    text: str
    """What a server sends apart as the reasoning is no part of it."""
    finish: str = ''
    """Why it ended, in the server's word; '' where it did not say."""
    model: str = ''
    """What the server calls the model; '' where it did not say."""
    fingerprint: str = ''
    """The server's `system_fingerprint`, likewise."""
    thought: str = ''
    """Reasoning that the server sent apart from the text: `reasoning` (vLLM since 2026) or
    `reasoning_content` (before, lmdeploy, DeepSeek)."""
    refusal: str = ''
    """What OpenAI sends in place of a text that the model refuses."""
    calls_tool: bool = False
    prompt_tokens: Any = None
    output_tokens: Any = None
    reasoning_tokens: Any = None

    def hiding(self, *secrets: str, in_answers: bool = False) -> Reply:
        """Return it without the secrets, which a server can quote anywhere.

        Args:
            secrets: API keys.
            in_answers: look for them also in what the model wrote, in whatever way they are written and
                however short they are. Else an answer stays what it is, since a key such as `test` may well
                stand there; only a long one is taken out of it, where it stands whole, for some gateways
                quote it in errors that they send as replies.
        """
        if not any(secrets) or not hides(*secrets):
            return self
        words = {name: part for name, part in self._asdict().items() if isinstance(part, str)}
        written = set() if in_answers else _WRITTEN
        shown: dict[str, Any] = {
            name: without_long(part, *secrets) if name in written else hidden(part, *secrets)
            for name, part in words.items()
        }
        return self._replace(**shown)


def read_reply(content: bytes) -> Reply:
    """Return what stands in a body of JSON that should be a chat completion.

    Raises:
        Trouble: it is none.
    """
    try:
        return reply_of(json.loads(content))
    except (ValueError, RecursionError) as error:
        raise Trouble(Kind.BROKEN, 'malformed reply', server_message(content)) from error


def reply_of(completion: Any) -> Reply:
    """Return what stands in a completion of a chat.

    Args:
        completion: the object that its JSON is.

    Raises:
        Trouble: it is no completion, or has no choice.
    """
    try:
        if completion['choices'] == []:
            raise Trouble(Kind.BROKEN, 'no choice', server_message(json.dumps(completion).encode()))
        choice = completion['choices'][0]
        message = choice['message']
        usage = completion.get('usage') or {}
        details = usage.get('completion_tokens_details') or {}
        whole = 'content' in message or not _has_more(message)
        text, within = _parts(message['content'] if whole else None)
        return Reply(
            text,
            _word(choice.get('finish_reason')),
            _word(completion.get('model')),
            _word(completion.get('system_fingerprint')),
            _said(message.get(_THOUGHTS[0])) or _said(message.get(_THOUGHTS[1])) or within,
            _said(message.get('refusal')),
            bool(message.get('tool_calls') or message.get('function_call')),
            usage.get('prompt_tokens'),
            usage.get('completion_tokens'),
            details.get('reasoning_tokens'),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        said = server_message(json.dumps(completion, default=str).encode())
        raise Trouble(Kind.BROKEN, 'malformed reply', said) from error


def _has_more(message: Any) -> bool:
    """Whether a message may lack its content: some servers leave it out beside these."""
    return any(message.get(name) for name in (*_THOUGHTS, 'refusal', 'tool_calls', 'function_call'))


def _parts(content: Any) -> tuple[str, str]:
    """Return text and thought of a content, which is a text, nothing or a list of parts (as of Mistral)."""
    if content is None or isinstance(content, str):
        return content or '', ''
    if not isinstance(content, list):
        raise TypeError(f'content is no text but {type(content).__name__}')
    texts, thoughts = [], []
    for part in content:
        thought = part.get('thinking')
        if isinstance(thought, list):  # of parts in its turn
            thought = _parts(thought)[0]
        thoughts.append(_said(thought))
        texts.append(_said(part.get('text')))
    return ''.join(texts), ''.join(thoughts)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else ''


def _word(value: Any) -> str:
    return value if isinstance(value, str) else '' if value is None else json.dumps(value)
