"""Rollouts of verifiers: results.jsonl of its environments, a row a rollout; traces.jsonl, a row an episode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..files import listed, mapping, read_json
from ..health import CUT_OFF
from .format import Format, Row

_SEVERAL = '{count} episodes are of several agents: the reward of the first one that is trained counts'
_SETTINGS = {'max_tokens': 'max_out_len', 'max_completion_tokens': 'max_out_len', 'seed': 'random_seed'}


def _recognises(path: Path, first: Row | None) -> bool:
    keys = (first or {}).keys()
    return {'example_id', 'prompt', 'completion', 'reward'} <= keys or {'env', 'task', 'traces'} <= keys


def _rollout(row: Row) -> Iterator[Row]:
    """Yield the one sample of a row; a rollout that an error ended has no verdict, whatever its reward."""
    yield {**row, **(_of_episode(row) if 'traces' in row else _of_result(row))}


def _of_result(row: Row) -> Row:
    usage, timing = mapping(row.get('token_usage')), mapping(row.get('timing'))
    spoken = [one for one in map(mapping, listed(row['completion'])) if one.get('role') == 'assistant']
    said = spoken[-1] if spoken else {'content': row['completion'] if isinstance(row['completion'], str) else None}
    return {
        'uid': row['example_id'],
        'question': _asked(row['prompt']),
        'reference': _plain(row.get('answer')),
        'response': _content(said.get('content')),
        'thought': said.get('reasoning_content'),
        'correct': row['reward'],
        'finish_reason': CUT_OFF if row.get('is_truncated') else None,
        'prompt_tokens': usage.get('input_tokens'),
        'output_tokens': usage.get('output_tokens'),
        'seconds': mapping(timing.get('generation')).get('duration'),
        'state': 'failed' if row.get('error') else None,
    }


def _of_episode(row: Row) -> Row:
    traces = [one for one in map(mapping, listed(row['traces'])) if _agent(one).get('trainable', True)]
    trace = traces[0] if traces else {}
    data = mapping(mapping(row['task']).get('data'))
    key = next((one for one in (data.get('id'), data.get('idx'), row['task'].get('key')) if one is not None), None)
    nodes = [mapping(one) for one in listed(trace.get('nodes'))]
    spoken = [mapping(one.get('message')) for one in nodes if one.get('sampled')]
    said = spoken[-1] if spoken else {}
    calls = [mapping(one) for one in listed(trace.get('calls'))]
    usage = [mapping(one.get('usage')) for one in calls if one.get('usage')]
    rewards = [one for one in mapping(trace.get('rewards')).values() if one is not None]
    return {
        'uid': key,
        'question': _asked(data.get('prompt')),
        'reference': _plain(data.get('answer')),
        'response': _content(trace.get('root_reply') or said.get('content')),
        'thought': said.get('reasoning_content'),
        'correct': sum(one['score'] * one.get('weight', 1.0) for one in rewards) if rewards else None,
        'finish_reason': calls[-1].get('finish_reason') if calls else None,
        'prompt_tokens': usage[0].get('prompt_tokens') if usage else None,
        'output_tokens': sum(one.get('completion_tokens') or 0 for one in usage) if usage else None,
        'reasoning_tokens': sum(one.get('reasoning_tokens') or 0 for one in usage) if usage else None,
        'state': None if trace and row.get('ok', True) else 'failed',
        '_said': [_SEVERAL] if len(listed(row['traces'])) > 1 else [],
    }


def _agent(trace: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(trace.get('agent'))


def _asked(prompt: object) -> str:
    """Return what the user said of a prompt: a text, or messages."""
    if isinstance(prompt, str):
        return prompt
    texts = [_content(one.get('content')) for one in map(mapping, listed(prompt)) if one.get('role') == 'user']
    return '\n\n'.join(filter(None, texts))


def _content(content: object) -> str | None:
    """Return the text of a message, which may be one of parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    return ''.join(str(mapping(part).get('text') or '') for part in content)


def _plain(answer: object) -> object:
    return answer if answer is None or isinstance(answer, (str, int, float)) else str(answer)


def _beside(path: Path) -> Mapping[str, Any]:
    """Return what a file beside the rollouts tells of the whole run; {} where there is none."""
    try:
        return mapping(read_json(path))
    except (OSError, ValueError):
        return {}


def _about(files: Sequence[Path], row: Row) -> Row:
    folder, version, remarks = files[0].parent, None, []
    if 'traces' in row:
        trace = mapping((listed(row['traces']) or [{}])[0])
        config, saved = mapping(_agent(trace).get('config')), _beside(folder / 'configs/resolved/eval.json')
        model = config.get('model') or saved.get('model')
        dataset = mapping(row['env']).get('id')
        sampling = mapping(config.get('sampling')) or mapping(saved.get('sampling'))
        version = mapping(trace.get('verifiers')).get('version')
        started: Any = mapping(trace.get('timing')).get('start')
    else:
        told = _beside(folder / 'metadata.json')
        model, dataset, sampling = told.get('model'), told.get('env_id'), mapping(told.get('sampling_args'))
        version = mapping(told.get('version_info')).get('vf_version')
        started = mapping(row.get('timing')).get('start_time')
        passes = told.get('pass_threshold')
        if isinstance(passes, (int, float)) and passes != 1:
            remarks = [f'verifiers itself counts a reward from {passes:g} on as passed: --correct-from {passes:g}']
    numbers = {_SETTINGS.get(name, name): one for name, one in sampling.items() if type(one) in (int, float)}
    created = datetime.fromtimestamp(started, timezone.utc) if type(started) in (int, float) and started else None
    return {
        'model': str(model or ''),
        'dataset': str(dataset or ''),
        'written_by': ' '.join(filter(None, ('verifiers', version))),
        'judge': {'name': f'verifiers {dataset}' if dataset else 'verifiers'},
        'settings': {name: one for name, one in numbers.items() if name != 'n'},
        'created': created.isoformat(timespec='seconds') if created else '',
        'remarks': remarks,
    }


FORMAT = Format(
    fields={
        **{name: name for name in ('uid', 'question', 'reference', 'response', 'thought', 'correct', 'state')},
        **{name: name for name in ('finish_reason', 'prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds')},
    },
    recognises=_recognises,
    expand=_rollout,
    about=_about,
)
