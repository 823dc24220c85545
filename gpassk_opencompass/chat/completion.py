"""A chat completion: the body that asks for one, and what stands in the one that comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..keys import hidden
from .trouble import Kind, Trouble, server_message


def completion_request(model: str, prompt: str, sampling: Mapping[str, Any]) -> bytes:
    """Return the body of a request for one chat completion.

    >>> completion_request('judge', 'Is it?', {'temperature': 0.0})
    b'{"model": "judge", "messages": [{"role": "user", "content": "Is it?"}], "temperature": 0.0}'
    """
    messages = [{'role': 'user', 'content': prompt}]
    return json.dumps({'model': model, 'messages': messages, **sampling}).encode()


class Reply(NamedTuple):
    """What a model wrote."""

    text: str
    """What a server sends apart as the reasoning is no part of it."""
    finish: str = ''
    """Why it ended, in the server's word; '' where it did not say."""
    model: str = ''
    """What the server calls the model; '' where it did not say."""
    fingerprint: str = ''
    """The server's `system_fingerprint`, likewise."""
    thought: bool = False
    """Whether there was reasoning apart from the text."""

    def hiding(self, secret: str) -> Reply:
        """Return it without the secret, which some gateways quote in errors that they send as replies."""
        texts = (self.text, self.finish, self.model, self.fingerprint)
        text, finish, model, fingerprint = (hidden(text, secret) for text in texts)
        return Reply(text, finish, model, fingerprint, self.thought)


def read_reply(content: bytes) -> Reply:
    """Return the text of a chat completion.

    Raises:
        Trouble: `content` is none.
    """
    try:
        answer = json.loads(content)
        choice = answer['choices'][0]
        message = choice['message']
        text = message['content']
        return Reply(
            '' if text is None else _text(text),
            _word(choice.get('finish_reason')),
            _word(answer.get('model')),
            _word(answer.get('system_fingerprint')),
            any(message.get(name) for name in ('reasoning_content', 'reasoning')),
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Trouble(Kind.BROKEN, 'malformed reply', server_message(content)) from error


def _text(content: Any) -> str:
    if not isinstance(content, str):
        raise TypeError(f'content is no text but {type(content).__name__}')
    return content


def _word(value: Any) -> str:
    return value if isinstance(value, str) else '' if value is None else json.dumps(value)
