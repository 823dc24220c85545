"""Rollouts of trainers and of agents: dumps of verl, environments of verifiers, simulations of tau2-bench."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from hashlib import sha256
from itertools import chain
from math import comb, fsum
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import listed, mapping, read_json
from ..health import CUT_OFF
from ..json_rows import Row, json_entries
from .format import Format, asked_in, at, has, object_beside, parts_of, paths, rows_of, sampling, tokens_of

# ---- verl: `trainer.rollout_data_dir` and `validation_data_dir`, `<step>.jsonl`, a row an output
#
# Each step is another model, and a run. Where all uids are verl's own, `<uid>_<rollout>_<output>`, they tell
# questions and rollouts apart, and the last output of a rollout is the sample; else input and truth do.

_EARLIER = (
    '{count} earlier turns of rollouts with several outputs are not counted: the last one is the sample'
)


def _place(row: Row) -> list[Any] | None:
    """Return question, rollout and output of verl's own uid; None of another uid."""
    uid, *numbers = str(row.get('uid')).rsplit('_', 2)
    return [uid, *map(int, numbers)] if len(numbers) == 2 and all(map(str.isdecimal, numbers)) else None


def _are_rollouts(files: Sequence[Path]) -> bool:
    """Whether uids are verl's own: as `aime_2024_0`, others have one first part for different questions."""
    questions: dict[str, tuple[str, Any]] = {}
    outputs: dict[str, Any] = {}
    for row in rows_of(*files):
        place, asked = _place(row), str(row.get('input'))
        if place is None:
            return False
        first, truth = questions.setdefault(place[0], (asked, row.get('gts')))
        alike = truth == row.get('gts') and (asked.startswith(first) or first.startswith(asked))
        if not alike or outputs.setdefault(row['uid'], row.get('output')) != row.get('output'):
            return False
    return True


def _last_outputs(files: Sequence[Path]) -> Iterator[Row]:
    """Yield the last output of each rollout, with the first input and a uid that all steps share."""
    rollouts, about = _are_rollouts(files), None
    uids: dict[str, str] = {}
    before: Row = {}
    for row in chain(rows_of(*files), [None]):
        place = _place(row) if rollouts and row else None
        earlier = place and before and place[:2] == before['_place'][:2] and place[2] > before['_place'][2]
        if before and not earlier:
            yield before
        if row is None:
            return
        about = about or (row.get('step'), 'acc' in row)
        asked, said = (before['_asked'], [*before['_said'], _EARLIER]) if earlier else (row.get('input'), [])
        truth = row.get('gts')
        truth = truth if isinstance(truth, (str, type(None))) else json.dumps(truth)
        uid = uids.get(place[0], '') if place else ''
        if not uid:
            uid = sha256(json.dumps([asked, truth or '']).encode()).hexdigest()[:16]
            if place:
                uid += f'-{len(uids)}' if uid in uids.values() else ''  # a question that the data has twice
                uids[place[0]] = uid
        own = {'_asked': asked, '_uid': uid, '_place': place, '_truth': truth, '_said': said}
        before = {**row, **own, '_first': about}


def _of_verl(row: Row) -> Iterator[Row]:
    """Yield the verdict: what acc says, or the score where there is none."""
    (step, has_acc), acc, said = row['_first'], row.get('acc'), row['_said']
    if row['step'] != step:
        told = f'it is of step {row["step"]!r:.20}, the first row of step {step}'
        raise ValueError(f'{told}: at each step the model is another one, give a file a step')
    if acc is None and has_acc:
        said = [*said, '{count} samples have no acc: their score says whether they are correct']
    answer = '' if row.get('pred') == '[INVALID]' else row.get('pred')
    yield {'answer': answer, 'correct': row['score'] if acc is None else acc, '_said': said}


VERL = Format(
    lambda path, row: (
        has(row, 'score') and [type(at(row, one)) for one in ('input', 'output', 'step')] == [str, str, int]
    ),
    paths('uid=_uid replica=_place.1 question=_asked reference=_truth response=output'),
    _of_verl,
    lambda row: {
        'model': f'step {row["step"]}',
        'dataset': row['_file'].absolute().parent.name,
        'written_by': 'verl',
        'judge': {'name': f'verl {"acc" if "acc" in row else "score"}'},
    },
    rows=_last_outputs,
)


# ---- verifiers of Prime Intellect: results.jsonl, a row a rollout; traces.jsonl, a row an episode


def _of_verifiers(row: Row) -> Iterator[Row]:
    """Yield the sample of a row; one that an error ended has no verdict, whatever its reward."""
    said: list[Any]
    if 'traces' in row:
        trace: Row = next((one for one in row['traces'] if at(one, 'agent.trainable') is not False), {})
        data, calls = mapping(at(row, 'task.data')), listed(trace.get('calls'))
        rewards = [one for one in mapping(trace.get('rewards')).values() if one is not None]
        keys = data.get('id'), data.get('idx'), at(row, 'task.key')
        said = [one['message'] for one in listed(trace.get('nodes')) if one.get('sampled')]
        usage = [one.get('usage') for one in calls]
        several = '{count} episodes are of several agents: the reward of the first one that is trained counts'
        own = {
            'uid': next((key for key in keys if key is not None), None),
            'question': asked_in(data.get('prompt')),
            'reference': None if data.get('answer') is None else str(data['answer']),
            'correct': sum(one['score'] * one.get('weight', 1.0) for one in rewards) if rewards else None,
            'finish_reason': calls[-1].get('finish_reason') if calls else None,
            'state': None if trace and row.get('ok', True) else 'failed',
            '_said': [several] if len(row['traces']) > 1 else [],
        }
    else:
        said = row['completion']
        said = [{'content': said}] if isinstance(said, str) else list(map(mapping, listed(said)))
        said = [one for one in said if one.get('role', 'assistant') == 'assistant']
        usage = [row.get('token_usage')]
        own = {
            'uid': row['example_id'],
            'question': asked_in(row['prompt']),
            'reference': None if row.get('answer') is None else str(row['answer']),
            'correct': row['reward'],
            'finish_reason': CUT_OFF if row.get('is_truncated') else None,
            'state': 'failed' if row.get('error') else None,
            'seconds': at(row, 'timing.generation.duration'),
        }
    thought, response = parts_of(said[-1]) if said else (None, None)
    yield {**own, 'response': response, 'thought': thought, **tokens_of(*usage)}


def _about_verifiers(row: Row) -> Row:
    folder, trace, remarks = row['_file'].parent, dict[str, Any](), []
    if 'traces' in row:
        trace = next(iter(row['traces']), {})
        told = {**object_beside(folder / 'configs/resolved/eval.json')}
        told |= {name: one for name, one in mapping(at(trace, 'agent.config')).items() if one}
        dataset, settings = at(row, 'env.id'), told.get('sampling')
    else:
        told = {**object_beside(folder / 'metadata.json')}
        dataset, settings = told.get('env_id'), told.get('sampling_args')
        if (least := told.get('pass_threshold', 1)) != 1:
            remarks = [f'verifiers itself counts a reward from {least} on as passed: --correct-from {least}']
    version = at(trace, 'verifiers.version') or at(told, 'version_info.vf_version')
    started = at(trace, 'timing.start') or at(row, 'timing.start_time')
    return {
        'model': str(told.get('model') or ''),
        'dataset': str(dataset or ''),
        'written_by': ' '.join(filter(None, ('verifiers', version))),
        'judge': {'name': ' '.join(filter(None, ('verifiers', dataset)))},
        'settings': sampling(settings),
        'created': datetime.fromtimestamp(started, timezone.utc).isoformat() if started else '',
        'remarks': remarks,
    }


VERIFIERS = Format(
    lambda path, row: (
        has(row, 'example_id', 'prompt', 'completion', 'reward') or has(row, 'env', 'task', 'traces')
    ),
    expand=_of_verifiers,
    about=_about_verifiers,
)


# ---- tau2-bench: results.json, in newer runs with a file a simulation in simulations/ beside it
#
# Its pass^k is G-Pass@k_1.0 of the trials of a task. Trials that cannot be evaluated count as failures here;
# tau2-bench leaves them out. Both is said.

_LOST = 'infrastructure_error'
_ENDINGS = {'user_stop': 'stop', 'agent_stop': 'stop', 'context_window_exceeded': 'length', _LOST: None}


def _simulations(files: Sequence[Path]) -> Iterator[Row]:
    """Yield the simulations; the last one with what pass^k is without those that cannot be evaluated."""
    path, rest, found = files[0], dict[str, Any](), list[Any]()
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
        task, ending = str(told['task_id']), told.get('termination_reason')
        reward = None if ending == _LOST else at(told, 'reward_info.reward')
        reward = 1 if isinstance(reward, float) and abs(reward - 1) <= 1e-6 else reward  # as tau2 takes it
        if reward is None:
            lost[str(ending)] += 1
        else:
            right[task].append(reward == 1)
        said = [_both(right, lost)] if lost and number == len(found) else []
        asked = at(tasks.get(task), 'user_scenario.instructions')
        own = {'_row': number, '_file': path, '_info': rest['info'], '_reward': reward, '_said': said}
        yield {**told, **own, '_asked': None if asked is None else str(asked)}


def _both(right: Mapping[str, list[bool]], lost: Counter[str]) -> str:
    """Say what trials that cannot be evaluated do to pass^k, as failures and left out."""
    reasons = ', '.join(f'{reason}: {count}' for reason, count in lost.items())
    said = f'{lost.total()} trials cannot be evaluated ({reasons}) and count as failures'
    passed = []
    for k in range(1, min(map(len, right.values()), default=0) + 1):
        mean = fsum(comb(sum(one), k) / comb(len(one), k) for one in right.values()) / len(right)
        passed.append(f'pass^{k} {100 * mean:.2f}')
    return f'{said}; left out, as tau2-bench does, they give {", ".join(passed)} over {len(right)} tasks'


def _trial(row: Row) -> Iterator[Row]:
    ending, lost = row.get('termination_reason'), row['_reward'] is None
    messages = [one for one in listed(row.get('messages')) if at(one, 'role') == 'assistant']
    yield {
        'response': '\n\n'.join(str(one.get('content') or one.get('tool_calls')) for one in messages),
        'why': (ending or 'not evaluated') if lost else None,
        'state': 'failed' if ending == _LOST else None,
        'finish_reason': _ENDINGS.get(ending or '', ending),
        'output_tokens': tokens_of(*(one.get('usage') for one in messages))['output_tokens'],
        '_said': row['_said'],
    }


def _about_tau2(row: Row) -> Row:
    info = row['_info']
    agent, user = (
        at(info, f'{one}.llm') or at(info, f'{one}.implementation') for one in ('agent_info', 'user_info')
    )
    return {
        'model': str(agent),
        'dataset': f'tau2-{at(info, "environment_info.domain_name")}',
        'written_by': f'tau2-bench {at(info, "git_commit")}',
        'judge': {'name': 'tau2-bench', 'user': str(user)},
        'ks': tuple(range(1, int(info['num_trials']) + 1)),
        'settings': sampling(at(info, 'agent_info.llm_args')),
        'created': str(row.get('timestamp') or ''),
    }


TAU2 = Format(
    lambda path, first: (
        # As a folder: else each simulation would be looked at as a file of its own.
        ((path / 'simulations').is_dir() and (path / 'results.json').is_file())
        or has(first, 'info.agent_info', 'info.environment_info', 'info.num_trials')
    ),
    paths('uid=task_id replica=trial seed question=_asked correct=_reward seconds=duration'),
    _trial,
    _about_tau2,
    files=lambda folder: [[folder / 'results.json']],
    rows=_simulations,
)
