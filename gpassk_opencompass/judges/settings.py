"""What an LLM judge is set to, checked before anything is opened or asked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from yarl import URL

from ..errors import InputError
from .asking import finish_reasons as checked_reasons
from .prompts import Prompts, check_choice
from .request import check_key_variable, sampling_fields
from .routes import endpoints
from .store import store_folder

_FEWEST = 2


class LLMSettings(NamedTuple):
    """What comes of the settings."""

    urls: list[URL]
    sampling: dict[str, Any]
    """The fields of each request besides model and messages."""
    also_whole: frozenset[str]
    """See `reply.hear`."""


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
    if isinstance(longest, bool) or not isinstance(longest, int) or longest < _FEWEST:
        raise InputError(f'longest = {longest!r}: expected a whole number of at least {_FEWEST} characters')
    check_choice(prompts)
    check_key_variable(api_key_env)
    if store is not None:
        store_folder(store)
    sampling = sampling_fields(temperature, max_tokens, extra_body)
    return LLMSettings(endpoints(urls), sampling, checked_reasons(finish_reasons))
