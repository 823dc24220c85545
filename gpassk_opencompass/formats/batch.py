"""Replies of a provider's batch, joined with the table of samples that `gpassk expand --requests` wrote.

`custom_id` of a reply is the fingerprint of a sample. OpenAI's form, which many servers share, is
{custom_id, response: {status_code, body}, error}; Anthropic's is {custom_id, result: {type, message}}.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..completion import ENDS, Trouble, reply_of
from ..errors import InputError
from ..files import listed, mapping
from ..health import CUT_OFF, NOT_DRAWN
from ..json_rows import Row
from .format import Format, at, first_row, rows_of

_LOST = '{count} samples have no response in the batch and are unjudged: '
_FINISH = {'end_turn': 'stop', 'stop_sequence': 'stop'}


def _is_reply(row: Row | None) -> bool:
    return 'custom_id' in (row or {}) and not {'response', 'result', 'error'}.isdisjoint(row or {})


def _recognises(path: Path, first: Row | None) -> bool:
    """Whether a file has replies, or is the table of the samples that were asked for."""
    keys = (first or {}).keys()
    table = {'uid', 'replica', 'fingerprint'} <= keys and {'response', 'verdict'}.isdisjoint(keys)
    return table or _is_reply(first)


def _rows(files: Sequence[Path]) -> Iterator[Row]:
    """Yield the samples in the order of the table, each with its reply."""
    replies = [path for path in files if _is_reply(first_row(path))]
    tables = [path for path in files if path not in replies]
    if not tables or not replies:
        kinds = ('replies of a batch', 'the table of samples that was written beside the requests')
        raise InputError(f'{files[0]} has {kinds[not replies]}; give {kinds[bool(replies)]} too')
    asked: dict[str, Row] = {}
    for row in rows_of(*tables):
        key = str(row['fingerprint'])
        if key in asked:
            row['_bad'], key = f'fingerprint {key[:40]!r} is there a second time', f'{key} again'
        asked[key] = row
    told: dict[str, Row] = {}
    for row in rows_of(*replies):
        key, place = str(row.get('custom_id')), {name: row[name] for name in ('_file', '_row')}
        before = told.get(key, {'state': 'failed'})['state']
        if '_bad' in row or key not in asked:
            yield {'_bad': f'custom_id {key[:40]!r} is no fingerprint in {tables[0]}', **row}
        elif before in NOT_DRAWN:  # of an attempt that failed, the next one counts
            told[key] = {**_reply(row), **place}
        elif _reply(row)['state'] not in NOT_DRAWN:
            yield {**place, '_bad': f'custom_id {key[:40]!r} has a second reply'}
    model = next((one['_model'] for one in told.values() if one.get('_model')), '')
    lost = {'state': 'failed', '_said': [f'{_LOST}no reply']}
    yield from ({**row, '_model': model, **told.get(key, lost)} for key, row in asked.items())


def _reply(row: Row) -> Row:
    """Return text, thought, state and tokens of a reply."""
    body = mapping(at(row, 'response.body') or at(row, 'result.message'))
    status = at(row, 'response.status_code')
    if not body or row.get('error') or status not in (None, 200):
        error = mapping(row.get('error') or body.get('error') or at(row, 'result.error'))
        error = mapping(error.get('error')) or error  # Anthropic's has one in the other
        why = error.get('code') or error.get('type') or at(row, 'result.type') or status or 'no reply'
        return {'state': 'failed', '_said': [f'{_LOST}{str(why)[:60]}']}
    if 'choices' not in body:  # Anthropic's message
        parts, finish = [mapping(one) for one in listed(body.get('content'))], str(body.get('stop_reason'))
        said = {
            'content': [{'text': one.get('text'), 'thinking': one.get('thinking')} for one in parts],
            'tool_calls': [one for one in parts if one.get('type') == 'tool_use'],
        }
        usage = {
            'prompt_tokens': at(body, 'usage.input_tokens'),
            'completion_tokens': at(body, 'usage.output_tokens'),
        }
        choice = {'message': said, 'finish_reason': _FINISH.get(finish, finish)}
        body = {'choices': [choice], 'usage': usage, 'model': body.get('model')}
    try:
        reply = reply_of(body)
    except Trouble as trouble:
        state = 'no choice' if trouble.reason == 'no choice' else 'failed'
        return {'state': state, '_said': [f'{_LOST}{trouble.reason}']}
    end = ENDS.get(reply.finish.casefold())
    refused = reply.refusal or reply.finish == 'refusal'
    kind = 'refusal' if refused else end if end in NOT_DRAWN else None
    if reply.calls_tool and not reply.text.strip() and end != 'cut':
        kind = kind or 'tool call'
    return {
        'response': reply.text or reply.refusal,
        'thought': reply.thought or None,
        'state': kind,
        'finish_reason': CUT_OFF if end == 'cut' else reply.finish or None,
        **{name: getattr(reply, name) for name in ('prompt_tokens', 'output_tokens', 'reasoning_tokens')},
        '_model': reply.model,
    }


def _about(row: Row) -> Mapping[str, Any]:
    return {'model': str(row.get('_model') or '')}


FORMAT = Format(recognises=_recognises, run_of=lambda path: None, rows=_rows, about=_about)
