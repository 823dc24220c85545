"""The imitated batch endpoints say what the providers' own clients understand, and take what these send."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from batch_server import KEY, BatchServer, Erred, Expired, Outcome, Said
from hosts import TESTS

from gpassk_opencompass.batches.anthropic_batches import VERSION, AnthropicBatches
from gpassk_opencompass.batches.openai_batches import OpenAIBatches
from gpassk_opencompass.batches.protocol import Request

openai = pytest.importorskip('openai', reason='OpenCompass brings the client of OpenAI')

RECORDED = [json.loads((TESTS / 'recorded' / f'anthropic_{major}.json').read_text()) for major in (0, 2)]
BODY = {'model': 'm', 'max_tokens': 9, 'messages': [{'role': 'user', 'content': '1 + 1?'}]}
OUTCOMES: dict[str, Outcome] = {
    'said': Said('two'),
    'cut': Said('tw', 'length'),
    'erred': Erred(400, 'invalid_request_error', 'prompt is too long'),
    'late': Expired(),
}


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with BatchServer(lambda name, _: OUTCOMES[name], looks=1) as imitation:
        yield imitation


def through(api: Any) -> dict[str, Any]:
    """All calls of an API, for a batch with every outcome and one that the server refuses."""
    with pytest.raises(Exception, match='404'):
        api.look('batch_of_nobody')
    batch = api.submit([api.line(Request(name, BODY)) for name in OUTCOMES], 'mark')
    assert batch in api.find('mark', len(OUTCOMES), time.time())
    assert [api.look(batch).ended for _ in range(2)] == [False, True]
    return dict(api.answers(batch))


def test_openai_types_hold(server: BatchServer) -> None:
    """Each object validates against its class of OpenAI's client, and has no field beside those."""
    from openai.types import Batch, FileObject
    from openai.types.chat import ChatCompletion

    api = OpenAIBatches(KEY, f'{server.url}/v1')
    answers = through(api)
    api.close()
    assert set(answers) == set(OUTCOMES)
    kinds = {'batch': Batch, 'file': FileObject}
    seen = []
    for _, body in server.answers:
        for one in body.get('data', [body]):
            if 'object' in one:
                checked(kinds[one['object']], one)
                seen.append(one['object'])
    assert set(seen) == {'batch', 'file'}
    lines = [json.loads(line) for name in server.files for line in server.files[name].splitlines()]
    bodies = [row['response']['body'] for row in lines if row.get('response')]
    completions = [body for body in bodies if 'error' not in body]
    assert len(completions) == 2
    for completion in completions:
        checked(ChatCompletion, completion)


def checked(kind: Any, value: dict[str, Any]) -> None:
    """Raises where the class does not take the value as it is."""
    kind.model_validate(value)
    assert set(value) <= set(kind.model_fields)


@pytest.mark.parametrize('recorded', RECORDED, ids=lambda told: f'anthropic-{told["version"]}')
def test_anthropic_types_hold(recorded: dict[str, Any], server: BatchServer) -> None:
    """Each object has the shape that the types of Anthropic's client have, in both of its major versions."""
    api = AnthropicBatches(KEY, server.url)
    answers = through(api)
    api.close()
    assert set(answers) == set(OUTCOMES)
    count = 0
    for request, body in server.answers:
        for one in body.get('data', [body]):
            kind = 'error' if one.get('type') == 'error' else 'batch'
            jsonschema.validate(one, closed(recorded[kind]))
            assert (kind == 'error') == request.endswith('nobody')
            count += 1
    assert count >= 5
    [batch] = server.submitted
    address = f'{server.url}/v1/messages/batches/{batch.id}/results'
    rows = [json.loads(line) for line in api._fetch(address).splitlines()]
    assert len(rows) == len(OUTCOMES)
    for row in rows:
        jsonschema.validate(row, closed(recorded['result']))


def closed(schema: Any) -> Any:
    """The schema, with no fields beside those that it names."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: closed(part) for name, part in schema.items()}
    fixed = isinstance(schema.get('properties'), dict) and 'additionalProperties' not in schema
    return {**parts, 'additionalProperties': False} if fixed else parts


def test_what_is_sent_to_anthropic_are_fields_of_its_client(server: BatchServer) -> None:
    """Of requests as of parameters; temperature, top_p and top_k only in the version that has them."""
    [old, new] = RECORDED
    row = json.loads(AnthropicBatches(KEY).line(Request('a', BODY)))
    sampling = {'temperature', 'top_p', 'top_k'}
    for recorded in RECORDED:
        assert set(row) <= set(recorded['request'])
        assert set(row['params']) <= set(recorded['params'])
    assert sampling <= set(old['params'])
    assert not sampling & set(new['params'])
    assert VERSION == '2023-06-01'


def test_requests_go_out_in_the_documented_form(server: BatchServer, tmp_path: Path) -> None:
    """A line of OpenAI's input file, and the metadata by which a batch is found again."""
    api = OpenAIBatches(KEY, f'{server.url}/v1')
    api.submit([api.line(Request('said', BODY))], 'a-mark')
    api.close()
    [batch] = server.submitted
    row = json.loads(server.files[batch.input])
    assert row == {'custom_id': 'said', 'method': 'POST', 'url': '/v1/chat/completions', 'body': BODY}
    assert batch.metadata == {'gpassk_mark': 'a-mark'}
