"""Rollouts of Prime Intellect's verifiers: results.jsonl, a row a rollout; traces.jsonl, a row an episode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..files import listed, mapping
from ..health import CUT_OFF
from ..json_rows import Row
from .format import Format, at, named, object_beside

_SEVERAL = '{count} episodes are of several agents: the reward of the first one that is trained counts'


def _recognises(path: Path, first: Row | None) -> bool:
    keys = (first or {}).keys()
    return {'example_id', 'prompt', 'completion', 'reward'} <= keys or {'env', 'task', 'traces'} <= keys


def _sample(row: Row) -> Iterator[Row]:
    """Yield the sample of a row; one that an error ended has no verdict, whatever its reward."""
    made = _of_episode(row) if 'traces' in row else _of_rollout(row)
    said, usage = made.pop('messages')[-1:], made.pop('usage')
    tokens: Row = {}
    for name in named('input_tokens output_tokens prompt_tokens completion_tokens reasoning_tokens'):
        told = [one[name] for one in usage if one.get(name) is not None]
        tokens[name] = sum(told) if told else None
    yield {
        **row,
        'response': _text(said[0].get('content')) if said else None,
        'thought': said[0].get('reasoning_content') if said else None,
        **tokens,
        'reference': None if made['answer'] is None else str(made['answer']),
        **made,
    }


def _of_rollout(row: Row) -> Row:
    said = row['completion']
    messages = [{'content': said}] if isinstance(said, str) else map(mapping, listed(said))
    return {
        'uid': row['example_id'],
        'question': _text(row['prompt']),
        'answer': row.get('answer'),
        'messages': [one for one in messages if one.get('role', 'assistant') == 'assistant'],
        'usage': [row['token_usage']] if row.get('token_usage') else [],
        'correct': row['reward'],
        'finish_reason': CUT_OFF if row.get('is_truncated') else None,
        'seconds': at(row, 'timing.generation.duration'),
        'state': 'failed' if row.get('error') else None,
    }


def _of_episode(row: Row) -> Row:
    trained = [one for one in row['traces'] if at(one, 'agent.trainable') is not False]
    trace = trained[0] if trained else {}
    data, calls = mapping(at(row, 'task.data')), listed(trace.get('calls'))
    rewards = [one for one in mapping(trace.get('rewards')).values() if one is not None]
    keys = data.get('id'), data.get('idx'), at(row, 'task.key')
    return {
        'uid': next((key for key in keys if key is not None), None),
        'question': _text(data.get('prompt')),
        'answer': data.get('answer'),
        'messages': [one['message'] for one in listed(trace.get('nodes')) if one.get('sampled')],
        'usage': [one['usage'] for one in calls if one.get('usage')],
        'correct': sum(one['score'] * one.get('weight', 1.0) for one in rewards) if rewards else None,
        'finish_reason': calls[-1].get('finish_reason') if calls else None,
        'state': None if trace and row.get('ok', True) else 'failed',
        '_said': [_SEVERAL] if len(row['traces']) > 1 else [],
    }


def _text(content: Any) -> str | None:
    """Return the text of a prompt or a message: one, of messages those of the user, of parts all."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts = [
        one.get('text') or _text(one.get('content'))
        for one in map(mapping, content)
        if one.get('role', 'user') == 'user'
    ]
    return '\n\n'.join(filter(None, texts))


def _about(files: Sequence[Path], row: Row) -> Row:
    episode = 'traces' in row
    beside = files[0].parent / ('configs/resolved/eval.json' if episode else 'metadata.json')
    told, remarks = {**object_beside(beside)}, []
    if episode:
        trace: Row = next(iter(row['traces']), {})
        told |= {name: one for name, one in mapping(at(trace, 'agent.config')).items() if one}
        dataset, sampling = at(row, 'env.id'), mapping(told.get('sampling'))
        version, started = at(trace, 'verifiers.version'), at(trace, 'timing.start')
    else:
        dataset, sampling = told.get('env_id'), mapping(told.get('sampling_args'))
        version, started = at(told, 'version_info.vf_version'), at(row, 'timing.start_time')
        if (least := told.get('pass_threshold', 1)) != 1:
            remarks = [f'verifiers itself counts a reward from {least} on as passed: --correct-from {least}']
    names = {**named('temperature top_p'), 'max_out_len': 'max_tokens', 'random_seed': 'seed'}
    settings = {name: sampling.get(key) for name, key in names.items()}
    return {
        'model': str(told.get('model') or ''),
        'dataset': str(dataset or ''),
        'written_by': ' '.join(filter(None, ('verifiers', version))),
        'judge': {'name': ' '.join(filter(None, ('verifiers', dataset)))},
        'settings': {name: one for name, one in settings.items() if isinstance(one, (int, float))},
        'created': datetime.fromtimestamp(started, timezone.utc).isoformat() if started else '',
        'remarks': remarks,
    }


FORMAT = Format(
    fields={
        **named('uid question reference response thought correct state'),
        **named('finish_reason reasoning_tokens seconds'),
        'prompt_tokens': lambda row: row['input_tokens'] or row['prompt_tokens'],
        'output_tokens': lambda row: row['output_tokens'] or row['completion_tokens'],
    },
    recognises=_recognises,
    expand=_sample,
    about=_about,
)
