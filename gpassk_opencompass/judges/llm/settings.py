"""What an LLM judge is set to, checked before anything is opened or asked, and its request."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from yarl import URL

from ...chat.routes import endpoints
from ...errors import InputError
from ...keys import read_key
from ..lines import store_folder
from ..prompts import Prompts, check_choice

MAX_TOKENS = 8192
"""The greatest length of a reply, unless set otherwise."""

_RESERVED = frozenset({'model', 'messages', 'stream', 'n'})
_SECRET = re.compile(
    r'(?:.*[_-])?(?:api[_-]?key|secret|password|authorization)|(?:(?:auth|access|bearer|hf|api)[_-]?)?token|key',
    re.IGNORECASE,
)
_VARIABLE = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')


def sampling_fields(
    temperature: float | None, max_tokens: int | None, extra_body: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the fields of a request besides model and messages, as plain JSON.

    Args:
        temperature: a number ≥ 0; None leaves it to the server.
        max_tokens: a whole number ≥ 1; None leaves it to the server.
        extra_body: more fields, which go before the two.

    Raises:
        InputError: a number out of range; `extra_body` is no JSON, or holds a key or what the judge sets.
    """
    _check_numbers(temperature, max_tokens)
    if extra_body is not None and not isinstance(extra_body, Mapping):
        raise InputError(f'extra_body = {extra_body!r}: expected a dict, e.g. dict(seed=1)')
    extra = dict(extra_body or {})
    if taken := sorted(_RESERVED & set(extra)):
        raise InputError(f'extra_body holds {taken}, which the judge sets itself; leave them out')
    if secret := next(filter(_SECRET.fullmatch, _names_in(extra)), None):
        raise InputError(
            f'extra_body holds {secret!r} (not shown): records and verdict stores say what a judge was sent; '
            'name the environment variable with the key as api_key_env'
        )
    if 'max_completion_tokens' in extra:
        max_tokens = None
    fields = {'temperature': temperature, 'max_tokens': max_tokens}
    given = {name: value for name, value in fields.items() if value is not None}
    try:
        plain: dict[str, Any] = json.loads(json.dumps({**given, **extra}, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f'extra_body = {extra!r} cannot be written as JSON: {error}') from error
    return plain


def _names_in(value: Any) -> Iterator[str]:
    """Return all names of fields, at any depth."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    yield from map(str, value) if isinstance(value, Mapping) else ()
    for part in parts:
        yield from _names_in(part)


def _check_numbers(temperature: Any, max_tokens: Any) -> None:
    if temperature is not None and not (
        isinstance(temperature, int | float)
        and not isinstance(temperature, bool)
        and 0 <= temperature < math.inf
    ):
        raise InputError(f'temperature = {temperature!r}: expected a number of at least 0, or None')
    if max_tokens is not None and not (
        isinstance(max_tokens, int) and not isinstance(max_tokens, bool) and max_tokens >= 1
    ):
        raise InputError(f'max_tokens = {max_tokens!r}: expected a whole number of at least 1, or None')


def check_key_variable(variable: str) -> None:
    """Refuse what cannot be the name of an environment variable; '' is none. It need not be set.

    Raises:
        InputError: it cannot. The message does not repeat what was given, which may be the key itself.
    """
    if not isinstance(variable, str) or (variable and not _VARIABLE.fullmatch(variable)):
        raise InputError(
            'api_key_env is no name of an environment variable; write the name and not the key, e.g. '
            "api_key_env='JUDGE_KEY', and export the key in it"
        )


def api_key(variable: str) -> str:
    """Return the API key in an environment variable. It is read when it is needed and kept nowhere.

    Args:
        variable: its name; '' where no key is needed.

    Raises:
        InputError: this is no such name, the variable is not set, or it holds what no header can.
    """
    check_key_variable(variable)
    if not variable:
        return ''
    key = read_key(variable)
    if not key:
        raise InputError(
            f'api_key_env = {variable!r}: this environment variable is not set; export the key in it'
        )
    return key


_SHORTEST = 2


class LLMSettings(NamedTuple):
    """What comes of the settings."""

    urls: list[URL]
    sampling: dict[str, Any]
    """The fields of each request besides model and messages."""
    also_whole: frozenset[str]
    """See `asking.hear`."""


def llm_settings(
    *,
    model: str,
    urls: str | Sequence[str],
    prompts: str | Mapping[str, str] | Prompts,
    store: str | os.PathLike[str] | None,
    api_key_env: str,
    temperature: float | None,
    max_tokens: int | None,
    extra_body: Mapping[str, Any] | None,
    accept_equal: bool,
    longest: int,
    finish_reasons: Sequence[str],
    canaries: bool,
    server_digest: str,
    progress: bool,
) -> LLMSettings:
    """Check arguments of `LLMJudge`, see there.

    Nothing is opened, no key is needed, and of prompts=… a name is checked alone: OpenCompass may be missing.

    Raises:
        InputError: one that cannot be used.
    """
    if not isinstance(model, str) or not model.strip():
        raise InputError(f'model = {model!r}: an LLM judge needs the name that its servers know it by')
    switches = {'accept_equal': accept_equal, 'canaries': canaries, 'progress': progress}
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise InputError(f'{name} = {value!r}: expected True or False')
    if isinstance(longest, bool) or not isinstance(longest, int) or longest < _SHORTEST:
        raise InputError(f'longest = {longest!r}: expected a whole number of at least {_SHORTEST} characters')
    if not isinstance(server_digest, str):
        raise InputError(f"server_digest = {server_digest!r}: expected a text, '' where nothing is known")
    check_choice(prompts)
    check_key_variable(api_key_env)
    if store is not None:
        store_folder(store)
    sampling = sampling_fields(temperature, max_tokens, extra_body)
    return LLMSettings(endpoints(urls), sampling, whole_reasons(finish_reasons))


def whole_reasons(given: Sequence[str]) -> frozenset[str]:
    """Check the setting `finish_reasons` and return the reasons in small letters.

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
