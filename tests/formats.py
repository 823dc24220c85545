"""The schemas of the files that this package writes, and what fits them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from importlib.resources import files
from typing import Any

from doc_pages import page
from jsonschema import Draft202012Validator
from result_files import entry_of

from gpassk_opencompass.sweep.folder import manifest_text

Json = dict[str, Any]
SCHEMAS = {
    name: json.loads((files('gpassk_opencompass') / 'schemas' / f'{name}.schema.json').read_text('utf-8'))
    for name in ('result', 'verdict', 'manifest', 'tables')
}
PAGE = page('results-format')


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
    schema = closed(SCHEMAS[name]) if strict else SCHEMAS[name]
    return [
        f'{error.json_path}: {error.message}' for error in Draft202012Validator(schema).iter_errors(value)
    ]


def on_disk(record: Mapping[str, Any]) -> Json:
    read: Json = json.loads(json.dumps(record, ensure_ascii=False))
    return read


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of each value in it, itself not counted; of a list the first entry."""
    if isinstance(value, dict):
        inside = list(value.items())
    else:
        inside = list(enumerate(value))[:1] if isinstance(value, list) else []
    for name, part in inside:
        yield (*path, name)
        yield from places(part, (*path, name))


def changed(value: Json, path: tuple[Any, ...], new: Any) -> Json:
    copy = deepcopy(value)
    inner: Any = copy
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = new
    return copy


def valid_values() -> dict[str, Json]:
    """One of each schema: those of the page, and an entry of a manifest."""
    json_blocks = PAGE.blocks('json')
    sizes = {'settings': {'max_out_len': 9}, 'benchmark': 'aime2024', 'k': (4,), 'questions': 30}
    entry = entry_of('m_l9', dataset_abbr='AIME2024-k4-r1', **sizes, sha256='ab' * 32)
    return {
        'result': json.loads(json_blocks[0].text),
        'verdict': json.loads(json_blocks[1].text),
        'manifest': json.loads(manifest_text([entry])),
        'tables': json.loads(PAGE.blocks('json')[-1].text),
    }
