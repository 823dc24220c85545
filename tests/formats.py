"""What does not fit the schemas of the files that this package writes."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

SCHEMAS = {
    name: json.loads((files('gpassk_opencompass') / 'schemas' / f'{name}.schema.json').read_text('utf-8'))
    for name in ('result', 'verdict', 'manifest', 'tables')
}


def closed(schema: Any) -> Any:
    """The same schema, which also refuses fields that it does not describe."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {name: closed(part) for name, part in schema.items()}
    if isinstance(copy.get('properties'), dict) and 'judge' not in copy.get('title', ''):
        copy['additionalProperties'] = False
    return copy


def complaints(name: str, value: Any, *, strict: bool = True) -> list[str]:
    """Why a value does not fit a schema; with `strict`, also where it has a field that is not described."""
    errors = Draft202012Validator(closed(SCHEMAS[name]) if strict else SCHEMAS[name]).iter_errors(value)
    return [f'{error.json_path}: {error.message}' for error in errors]
