"""Record the shapes of Anthropic's Message Batches from the types of its own client.

pip install anthropic==2.12.0
python tests/recorded/record_anthropic.py > tests/recorded/anthropic_2.json

The types of the client are generated from the API's specification. Kept are names and types alone, and of the
blocks of a message those that a request without tools of the server can bring.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from anthropic.types.messages.batch_create_params import Request
from anthropic.types.shared import ErrorResponse
from pydantic import TypeAdapter

BLOCKS = {'TextBlock', 'ThinkingBlock', 'RedactedThinkingBlock', 'ToolUseBlock'}
PROSE = {'description', 'title'}


def shape(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type, without prose and without what is not referred to."""
    schema = TypeAdapter(kind).json_schema()
    definitions = schema.pop('$defs', {})
    if 'Message' in definitions:
        content = definitions['Message']['properties']['content']
        content['items'] = {'anyOf': [{'$ref': f'#/$defs/{name}'} for name in sorted(BLOCKS)]}
        definitions['TextBlock']['properties'].pop('citations', None)
    kept: dict[str, Any] = {}
    waiting = references(schema)
    while waiting:
        name = waiting.pop()
        if name not in kept:
            kept[name] = definitions[name]
            waiting |= references(kept[name])
    return bare({**schema, '$defs': kept}, inside=False)


def references(part: Any) -> set[str]:
    """The definitions that a part of a schema refers to."""
    if isinstance(part, dict):
        own = {str(part['$ref']).rpartition('/')[2]} if '$ref' in part else set()
        return own.union(*map(references, part.values()))
    return set().union(*map(references, part)) if isinstance(part, list) else set()


def bare(part: Any, inside: bool) -> Any:
    """Without prose; `inside` a table of names `title` may be a field."""
    if isinstance(part, dict):
        names = {'properties', '$defs'}
        return {
            name: bare(value, not inside and name in names)
            for name, value in sorted(part.items())
            if inside or (name not in PROSE and name != 'discriminator')
        }
    return [bare(one, False) for one in part] if isinstance(part, list) else part


def keys(kind: Any) -> list[str]:
    """The fields of a dict of parameters."""
    return sorted(kind.__required_keys__ | kind.__optional_keys__)


if __name__ == '__main__':
    told = {
        'version': version('anthropic'),
        'batch': shape(MessageBatch),
        'result': shape(MessageBatchIndividualResponse),
        'error': shape(ErrorResponse),
        'request': keys(Request),
        'params': keys(MessageCreateParamsNonStreaming),
    }
    print(json.dumps(told, indent=1))
