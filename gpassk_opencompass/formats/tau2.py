"""Simulations of tau2-bench: results.json, in newer runs with a file a simulation in simulations/ beside it.

Its pass^k is G-Pass@k_1.0 of the trials of a task. Trials that cannot be evaluated count as failures here;
tau2-bench leaves them out. Both is said.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import comb, fsum
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import listed, mapping, read_json
from ..json_rows import Row, json_entries
from .format import Format, at, named

_LOST = 'infrastructure_error'
_ENDINGS = {'user_stop': 'stop', 'agent_stop': 'stop', 'context_window_exceeded': 'length', _LOST: None}


def _recognises(path: Path, first: Row | None) -> bool:
    if path.is_dir():  # else each simulation would be looked at as a file of its own
        return (path / 'simulations').is_dir() and (path / 'results.json').is_file()
    return {'agent_info', 'environment_info', 'num_trials'} <= mapping(at(first, 'info')).keys()


def _rows(path: Path) -> Iterator[Row]:
    """Yield the simulations; the last one with what pass^k is without those that cannot be evaluated."""
    rest: dict[str, Any] = {}
    found = []
    for keys, value in json_entries(path, 'simulations'):
        if keys[0] != 'simulations':
            rest[keys[0]] = value
        elif len(keys) > 1:
            found.append(value)
    for file in () if found else sorted((path.parent / 'simulations').glob('*.json')):
        try:
            found.append(read_json(file))
        except (OSError, ValueError) as error:
            raise InputError(f'{file} cannot be read: {error}') from error
    tasks = {str(mapping(one).get('id')): one for one in listed(rest.get('tasks'))}
    right: defaultdict[str, list[bool]] = defaultdict(list)
    lost: Counter[str] = Counter()
    for number, told in enumerate(found, 1):
        if 'task_id' not in mapping(told):
            yield {'_row': number, '_bad': f'is {told!r:.60}; expected a simulation with task_id'}
            continue
        task, ending = str(told['task_id']), told.get('termination_reason')
        reward = None if ending == _LOST else at(told, 'reward_info.reward')
        reward = 1 if isinstance(reward, float) and abs(reward - 1) <= 1e-6 else reward  # as tau2 takes it
        if reward is None:
            lost[str(ending)] += 1
        else:
            right[task].append(reward == 1)
        own = {'_row': number, '_info': rest['info'], '_task': tasks.get(task), '_reward': reward}
        yield {**told, **own, '_said': [_both(right, lost)] if lost and number == len(found) else []}


def _both(right: dict[str, list[bool]], lost: Counter[str]) -> str:
    reasons = ', '.join(f'{reason}: {count}' for reason, count in lost.items())
    said = f'{lost.total()} trials cannot be evaluated ({reasons}) and count as failures'
    passed = []
    for k in range(1, min(map(len, right.values()), default=0) + 1):
        mean = fsum(comb(sum(one), k) / comb(len(one), k) for one in right.values()) / len(right)
        passed.append(f'pass^{k} {100 * mean:.2f}')
    return f'{said}; left out, as tau2-bench does, they give {", ".join(passed)} over {len(right)} tasks'


def _trial(row: Row) -> Iterator[Row]:
    ending, asked = row.get('termination_reason'), at(row['_task'], 'user_scenario.instructions')
    messages = [one for one in listed(row.get('messages')) if at(one, 'role') == 'assistant']
    tokens = [at(one, 'usage.completion_tokens') for one in messages if one.get('usage')]
    yield {
        **row,
        'question': None if asked is None else str(asked),
        'response': '\n\n'.join(str(one.get('content') or one.get('tool_calls')) for one in messages),
        'why': (ending or 'not evaluated') if row['_reward'] is None else None,
        'state': 'failed' if ending == _LOST else None,
        'finish_reason': _ENDINGS.get(ending or '', ending),
        'output_tokens': sum(tokens) if tokens and None not in tokens else None,
    }


def _about(files: Sequence[Path], row: Row) -> Row:
    info = row['_info']
    names = [
        at(info, f'{one}.llm') or at(info, f'{one}.implementation') for one in ('agent_info', 'user_info')
    ]
    sampling = mapping(at(info, 'agent_info.llm_args'))
    return {
        'model': str(names[0]),
        'dataset': f'tau2-{at(info, "environment_info.domain_name")}',
        'written_by': f'tau2-bench {at(info, "git_commit")}',
        'judge': {'name': 'tau2-bench', 'user': str(names[1])},
        'ks': tuple(range(1, int(info['num_trials']) + 1)),
        'settings': {name: one for name, one in sampling.items() if isinstance(one, (int, float))},
        'created': str(row.get('timestamp') or ''),
    }


FORMAT = Format(
    fields={
        **named('question response why state finish_reason output_tokens seed'),
        **{'uid': 'task_id', 'replica': 'trial', 'seconds': 'duration', 'correct': '_reward'},
    },
    recognises=_recognises,
    files=lambda folder: [[folder / 'results.json']],
    rows=_rows,
    expand=_trial,
    about=_about,
)
