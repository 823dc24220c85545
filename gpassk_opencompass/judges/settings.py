"""Settings of judges, checked once: all that is wrong is said at once."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..errors import InputError

Model = TypeVar('Model', bound=BaseModel)


def checked(model: type[Model], given: Mapping[str, Any]) -> Model:
    """Return settings that a judge takes; raise InputError with all that is wrong at once."""
    try:
        return model(**given)
    except ValidationError as error:
        raise InputError(problems(error, model)) from None


def problems(error: ValidationError, model: type[BaseModel]) -> str:
    """Return what is wrong with settings, each by its name; no value that may hold a key is shown."""
    found = []
    for one in error.errors():
        name, said = '.'.join(map(str, one['loc'])), one['msg'].removeprefix('Value error, ')
        if one['type'] == 'extra_forbidden':
            near = get_close_matches(name, model.model_fields, 1)
            hint = f'did you mean {near[0]!r}?' if near else f'it takes {", ".join(model.model_fields)}'
            found.append(f'{name}: no such setting, {hint}')
        elif one['type'] in ('value_error', 'missing') or name in ('api_key_env', 'extra_body', 'urls'):
            found.append(said if said.startswith(name) or not name else f'{name}: {said}')
        else:
            found.append(f'{name} = {one["input"]!r}: {said}')
    return '; '.join(found)
