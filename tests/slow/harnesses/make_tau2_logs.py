"""A log that tau2-bench 1.0.1 itself writes of its domain `mock`, of an agent whose truth is known.

    git clone https://github.com/sierra-research/tau2-bench
    python3.12 -m venv T && T/bin/pip install ./tau2-bench 'pandas<3'
    TAU2_DATA_DIR=tau2-bench/data T/bin/python tests/slow/harnesses/make_tau2_logs.py FOLDER

which also writes tests/recorded/tau2 again. Two tasks with four trials each; `RIGHT` says how many of the
first ones are right, `LOST` which one ends in an error of the server, which tau2 leaves out of pass^k (with
pandas 3 it fails to, and counts it as wrong). `pass_hat_k.json` is what tau2 makes of them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

RIGHT = {'create_task_1': 3, 'update_task_1': 2}
LOST = ('update_task_1', 3)
CALLS = {
    'create_task_1': ('create_task', {'user_id': 'user_1', 'title': 'Important Meeting'}),
    'update_task_1': ('update_task_status', {'task_id': 'task_1', 'status': 'completed'}),
}
begun: Counter[str] = Counter()


def completion(model: str, messages: list[dict[str, Any]], **_: Any) -> Any:
    """Stands in for litellm's: the model `user` asks and stops, `agent` calls a tool and says so."""
    from litellm import ModelResponse

    said = ' '.join(str(one.get('content')) for one in messages)
    if model == 'user':
        stops = 'is done' in said
        task = 'create_task_1' if 'to create a task' in said else 'update_task_1'
        content: dict[str, Any] = {'content': '###STOP###' if stops else f'Please do {task}.'}
    else:
        task = next(name for name in CALLS if f'Please do {name}' in said)
        if messages[-1]['role'] == 'tool':
            content = {'content': f'{task} is done.'}
        else:
            trial = begun[task]
            begun[task] += 1
            if (task, trial) == LOST:
                raise ConnectionError('the server is gone')
            name, arguments = CALLS[task]
            if trial >= RIGHT[task]:
                name, arguments = 'get_users', {}
            function = {'name': name, 'arguments': json.dumps(arguments)}
            content = {'content': None, 'tool_calls': [{'id': 'x', 'type': 'function', 'function': function}]}
    choice = {'index': 0, 'finish_reason': 'stop', 'message': {'role': 'assistant', **content}}
    return ModelResponse(model=model, choices=[choice], usage={'prompt_tokens': 9, 'completion_tokens': 5})


def main(folder: Path) -> None:
    from tau2.data_model.simulation import TextRunConfig
    from tau2.metrics.agent_metrics import compute_metrics
    from tau2.runner import batch
    from tau2.utils import llm_utils

    llm_utils.completion = completion
    config = TextRunConfig(
        domain='mock', agent='llm_agent', llm_agent='agent', llm_args_agent={'temperature': 0.0},
        llm_user='user', llm_args_user={}, num_trials=4, task_ids=list(RIGHT), task_split_name=None,
        max_concurrency=1, max_retries=0, hallucination_retries=0,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    results = batch.run_tasks(
        config, batch._load_run_tasks(config), save_path=folder / 'results.json', save_dir=folder,
        evaluation_type=batch.EvaluationType.ALL,
    )  # fmt: skip
    truth = compute_metrics(results).pass_hat_ks
    (folder / 'pass_hat_k.json').write_text(json.dumps(truth, indent=1) + '\n')
    written = json.loads((folder / 'results.json').read_text())
    for simulation in written['simulations']:  # which names folders of this machine
        (simulation['info'] or {}).pop('error_traceback', None)
    (folder / 'results.json').write_text(json.dumps(written, indent=1) + '\n')


if __name__ == '__main__':
    main(Path(sys.argv[1]))
