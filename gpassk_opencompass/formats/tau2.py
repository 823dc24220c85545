"""Simulations of tau2-bench: results.json, in newer runs with a file a simulation in simulations/ beside it.

Its pass^k is G-Pass@k_1.0 of the trials of a task. Trials that broke down (infrastructure_error) cannot be
evaluated: they count as failures here and are left out by tau2; both is said.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import comb, fsum
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import listed, mapping, read_json
from ..json_rows import json_entries
from .format import Format, Row

_LOST = 'infrastructure_error'
_ENDINGS = {'user_stop': 'stop', 'agent_stop': 'stop', 'context_window_exceeded': 'length', _LOST: None}
_EXACT = 1e-6
"""How far from 1 tau2 takes a reward for 1."""


def _files(folder: Path) -> list[list[Path]]:
    return [[folder / 'results.json']]


def _recognises(path: Path, first: Row | None) -> bool:
    if path.is_dir():  # else each simulation would be looked at as a file of its own
        return (path / 'simulations').is_dir() and (path / 'results.json').is_file()
    return {'agent_info', 'environment_info', 'num_trials'} <= mapping((first or {}).get('info')).keys()


def _rows(path: Path) -> Iterator[Row]:
    """Yield the simulations; the last one with what pass^k is without those that cannot be evaluated."""
    info: Any = {}
    tasks: dict[str, Any] = {}
    right: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    lost: Counter[str] = Counter()
    before: Row | None = None
    number = 0
    for keys, value in _entries(path):
        if keys == ('info',):
            info = value
        elif keys == ('tasks',):
            tasks = {str(mapping(one).get('id')): one for one in listed(value)}
        elif keys[0] == 'simulations' and len(keys) > 1:
            if before:
                yield before
            number += 1
            if not isinstance(value, dict) or 'task_id' not in value:
                before = {'_row': number, '_bad': f'is {value!r:.60}; expected a simulation with task_id'}
                continue
            task, reward = str(value['task_id']), mapping(value.get('reward_info')).get('reward')
            evaluated = reward is not None and value.get('termination_reason') != _LOST
            if evaluated:
                right[task][_is_right(reward)] += 1
            else:
                lost[str(value.get('termination_reason'))] += 1
            own = {'_info': info, '_task': tasks.get(task, {}), '_evaluated': evaluated, '_reward': reward}
            before = {**value, **own, '_row': number}
    if before:
        yield {**before, '_said': [_both(right, lost, number)]} if lost else before


def _entries(path: Path) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield from json_entries(path, 'simulations')
    for number, file in enumerate(sorted((path.parent / 'simulations').glob('*.json'))):
        try:
            yield ('simulations', str(number)), read_json(file)
        except (OSError, ValueError) as error:
            raise InputError(f'{file} cannot be read: {error}') from error


def _is_right(reward: object) -> bool:
    return isinstance(reward, (int, float)) and abs(reward - 1) <= _EXACT


def _both(right: dict[str, Counter[bool]], lost: Counter[str], trials: int) -> str:
    reasons = ', '.join(f'{reason}: {count}' for reason, count in lost.items())
    said = f'{lost.total()} of {trials} trials cannot be evaluated ({reasons}) and count as failures'
    sizes = [one.total() for one in right.values()]
    passed = {
        k: fsum(comb(one[True], k) / comb(one.total(), k) for one in right.values()) / len(right)
        for k in range(1, min(sizes, default=0) + 1)
    }
    if not passed:
        return f'{said}; no other is there'
    values = ', '.join(f'pass^{k} {100 * value:.2f}' for k, value in passed.items())
    return f'{said}; left out, as tau2-bench does, they give {values} over {len(right)} tasks'


def _trial(row: Row) -> Iterator[Row]:
    scenario = mapping(mapping(row['_task']).get('user_scenario')).get('instructions')
    told = [mapping(one) for one in listed(row.get('messages'))]
    usage = [mapping(one.get('usage')) for one in told if one.get('role') == 'assistant' and one.get('usage')]
    tokens = [one.get('completion_tokens') for one in usage]
    yield {
        **row,
        'question': scenario if isinstance(scenario, str) else str(scenario or '') or None,
        'response': '\n\n'.join(f'[{one.get("role")}]\n{_said_in(one)}' for one in told),
        'correct': (True if _is_right(row['_reward']) else row['_reward']) if row['_evaluated'] else None,
        'why': None if row['_evaluated'] else row.get('termination_reason') or 'not evaluated',
        'state': 'failed' if row.get('termination_reason') == _LOST else None,
        'finish_reason': _ENDINGS.get(row.get('termination_reason', ''), row.get('termination_reason')),
        'output_tokens': sum(tokens) if tokens and None not in tokens else None,
    }


def _said_in(message: Row) -> str:
    calls = [f'{one.get("name")}({one.get("arguments")})' for one in map(mapping, listed(message.get('tool_calls')))]
    return '\n'.join(filter(None, [message.get('content'), *calls]))


def _about(files: Sequence[Path], row: Row) -> Row:
    info = mapping(row['_info'])
    agent, user = mapping(info.get('agent_info')), mapping(info.get('user_info'))
    sampling, trials = mapping(agent.get('llm_args')), info.get('num_trials')
    return {
        'model': str(agent.get('llm') or agent.get('implementation') or ''),
        'dataset': f'tau2-{mapping(info.get("environment_info")).get("domain_name", "")}',
        'written_by': f'tau2-bench {info.get("git_commit") or ""}'.strip(),
        'judge': {'name': 'tau2-bench', 'user': str(user.get('llm') or user.get('implementation') or '')},
        'ks': tuple(range(1, trials + 1)) if type(trials) is int else (),
        'settings': {name: one for name, one in sampling.items() if type(one) in (int, float)},
        'created': str(row.get('timestamp') or ''),
    }


FORMAT = Format(
    fields={
        **{name: name for name in ('question', 'response', 'correct', 'why', 'state', 'finish_reason', 'seed')},
        'output_tokens': 'output_tokens',
        'uid': 'task_id',
        'replica': 'trial',
        'seconds': 'duration',
    },
    recognises=_recognises,
    files=_files,
    rows=_rows,
    expand=_trial,
    about=_about,
)
