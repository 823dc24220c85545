"""Replies of a provider's batch, joined with the table of samples that `gpassk expand --requests` wrote.

`custom_id` of a reply is the fingerprint of a sample. OpenAI's form, which many servers share, is
{custom_id, response: {status_code, body}, error}; Anthropic's is {custom_id, result: {type, message}}.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..chat.completion import ENDS, reply_of
from ..chat.trouble import Trouble
from ..errors import InputError
from ..files import listed, mapping
from ..health import CUT_OFF, NOT_DRAWN
from .format import Format, Row, first_row, rows_of

_MISSING = '{count} samples have no reply in the batch: they are unjudged'


def _is_reply(row: Mapping[str, Any]) -> bool:
    return 'custom_id' in row and not {'response', 'result', 'error'}.isdisjoint(row)


def _recognises(path: Path, first: Row | None) -> bool:
    """Whether a file has replies, or is the table of the samples that were asked for."""
    keys = (first or {}).keys()
    table = {'uid', 'replica', 'fingerprint'} <= keys and {'response', 'verdict'}.isdisjoint(keys)
    return table or _is_reply(first or {})


def _read(files: Sequence[Path]) -> Iterator[Row]:
    """Yield the samples in the order of the table, each with its reply."""
    replies = [path for path in files if _is_reply(first_row(path) or {})]
    tables = [path for path in files if path not in replies]
    if not tables or not replies:
        there, missing = ('replies of a batch', 'the table of samples beside the requests')[:: 1 if replies else -1]
        raise InputError(f'{files[0]} has {there}; give {missing} too')
    asked: dict[str, Row] = {}
    for path in tables:
        for row in rows_of(path):
            key = str(row.get('fingerprint'))
            bad = {'_bad': f'fingerprint {key[:40]!r} is there a second time'} if key in asked else {}
            asked[f'{key} again' if bad else key] = {**row, **bad, '_file': path}
    told: dict[str, Row] = {}
    for path in replies:
        for row in rows_of(path):
            key, place = str(row.get('custom_id')), {'_file': path, '_row': row['_row']}
            reply = {**_reply(row), **place}
            before = told.get(key, {})
            if '_bad' in row or key not in asked:
                yield {**place, '_bad': row.get('_bad', f'custom_id {key[:40]!r} is no fingerprint in {tables[0]}')}
            elif before and reply['state'] not in NOT_DRAWN and before['state'] not in NOT_DRAWN:
                yield {**place, '_bad': f'custom_id {key[:40]!r} has a second reply, the first in {before["_file"]}'}
            elif not before or before['state'] in NOT_DRAWN:  # of an attempt that failed, the next one counts
                told[key] = reply
    model = next((one['_model'] for one in told.values() if one.get('_model')), '')
    for key, row in asked.items():
        yield {**row, '_model': model, **told.get(key, {'state': 'failed', 'why': 'no reply', '_said': [_MISSING]})}


def _reply(row: Row) -> Row:
    """Return text, thought, state and tokens of a reply."""
    response, result = mapping(row.get('response')), mapping(row.get('result'))
    body = mapping(response.get('body') or result.get('message'))
    if not body or row.get('error') or response.get('status_code', 200) != 200:
        error = mapping(row.get('error') or body.get('error') or result.get('error'))
        inner = mapping(error.get('error')) or error  # Anthropic's has one in the other
        why = inner.get('code') or inner.get('type') or result.get('type') or response.get('status_code')
        return {'state': 'failed', 'why': str(why or 'no reply')[:60]}
    try:
        reply = reply_of(body if 'choices' in body else _as_completion(body))
    except Trouble as trouble:
        return {'state': 'no choice' if trouble.reason == 'no choice' else 'failed', 'why': trouble.reason}
    end = ENDS.get(reply.finish.casefold())
    state = 'refusal' if reply.refusal or reply.finish == 'refusal' else end if end in NOT_DRAWN else None
    if reply.calls_tool and not reply.text.strip() and end != 'cut':
        state = state or 'tool call'
    return {
        'response': reply.text or reply.refusal,
        'thought': reply.thought or None,
        'state': state,
        'finish_reason': CUT_OFF if end == 'cut' else reply.finish or None,
        'prompt_tokens': reply.prompt_tokens,
        'output_tokens': reply.output_tokens,
        'reasoning_tokens': reply.reasoning_tokens,
        '_model': reply.model,
    }


def _as_completion(message: Mapping[str, Any]) -> Row:
    """Return a message of Anthropic's in OpenAI's form."""
    parts, usage = [mapping(one) for one in listed(message.get('content'))], mapping(message.get('usage'))
    finish = {'end_turn': 'stop', 'stop_sequence': 'stop'}.get(message.get('stop_reason') or '', message.get('stop_reason'))
    content = [{'text': one.get('text'), 'thinking': one.get('thinking')} for one in parts]
    calls = [one for one in parts if one.get('type') == 'tool_use']
    return {
        'choices': [{'message': {'content': content, 'tool_calls': calls}, 'finish_reason': finish}],
        'usage': {'prompt_tokens': usage.get('input_tokens'), 'completion_tokens': usage.get('output_tokens')},
        'model': message.get('model'),
    }


FORMAT = Format(
    fields={
        **{name: name for name in ('run', 'uid', 'problem', 'group', 'language', 'replica', 'seed', 'fingerprint')},
        **{name: name for name in ('question', 'reference', 'response', 'thought', 'state', 'finish_reason', 'why')},
        **{name: name for name in ('prompt_tokens', 'output_tokens', 'reasoning_tokens')},
    },
    recognises=_recognises,
    run_of=lambda path: None,
    read=_read,
    about=lambda files, row: {'model': str(row.get('_model') or ''), 'written_by': 'a batch'},
)
