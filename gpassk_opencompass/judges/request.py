"""The request that a judge's servers get: the prompt, the settings, the key."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ..errors import InputError

MAX_TOKENS = 8192
"""The greatest length of a reply, unless set otherwise."""

_RESERVED = frozenset({'model', 'messages', 'stream', 'n'})


def completion_request(model: str, prompt: str, sampling: Mapping[str, Any]) -> bytes:
    """The body of a request for one chat completion.

    >>> completion_request('judge', 'Is it?', {'temperature': 0.0})
    b'{"model": "judge", "messages": [{"role": "user", "content": "Is it?"}], "temperature": 0.0}'
    """
    messages = [{'role': 'user', 'content': prompt}]
    return json.dumps({'model': model, 'messages': messages, **sampling}).encode()


def sampling_fields(
    temperature: float | None, max_tokens: int | None, extra_body: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The fields of a request besides model and messages, as plain JSON.

    Args:
        temperature, max_tokens: None leaves it to the server.
        extra_body: more fields, which go before the two.

    Raises:
        InputError: `extra_body` is no JSON or holds what the judge sets itself.
    """
    extra = dict(extra_body or {})
    if taken := sorted(_RESERVED & set(extra)):
        raise InputError(f'extra_body holds {taken}, which the judge sets itself; leave them out')
    if 'max_completion_tokens' in extra:
        max_tokens = None
    fields = {'temperature': temperature, 'max_tokens': max_tokens}
    try:
        plain: dict[str, Any] = json.loads(
            json.dumps({**{name: value for name, value in fields.items() if value is not None}, **extra})
        )
    except (TypeError, ValueError) as error:
        raise InputError(f'extra_body = {extra!r} cannot be written as JSON: {error}') from error
    return plain


def api_key(variable: str) -> str:
    """The API key in an environment variable. It is read when it is needed and kept nowhere.

    Args:
        variable: its name; '' where no key is needed.

    Raises:
        InputError: the variable is not set.
    """
    if not variable:
        return ''
    key = os.environ.get(variable, '')
    if not key:
        raise InputError(
            f'api_key_env = {variable!r}: this environment variable is not set; export the key in it'
        )
    return key
