"""Logs that verifiers 0.3.1 itself writes, of a model whose truth is known.

    python3.11 -m venv V && V/bin/pip install verifiers==0.3.1
    V/bin/python tests/slow/harnesses/make_verifiers_logs.py FOLDER      # tests/recorded/verifiers

`FOLDER/results` is the evaluation of an environment of the older kind against a server on this machine:
four examples with four rollouts each, whose right ones are `RIGHT`, one that got half a reward and one whose
server broke off. `FOLDER/traces` holds the same rollouts as episodes of the newer kind, written by verifiers'
own classes.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from harness_script import Reply, Sums, completion, served

RIGHT = (4, 3, 2, 0)
"""Right rollouts of each example: those with the least numbers."""
HALF, LOST = (1, 3), (2, 3)
"""(example, rollout) that gets half a reward; and one whose server fails."""
SUMS = Sums(RIGHT, 'Rollout {replica} of {number}: \\boxed{{{said}}}')


def said(number: int, rollout: int) -> str:
    return SUMS.response(number, rollout, wrong='half' if (number, rollout) == HALF else '99')


def reply(path: str, body: dict[str, Any]) -> Reply:
    """Answer the n-th request for a question with its n-th rollout; one at a time."""
    number, rollout = SUMS.next(body['messages'][-1]['content'])
    if (number, min(rollout, 3)) == LOST:
        return 400, {'error': {'message': 'gone'}}
    message = {'content': said(number, rollout), 'reasoning_content': f'{number} plus ten'}
    return completion(body['model'], message, used=5 + rollout)


def write_results(folder: Path) -> None:
    import verifiers as vf
    from datasets import Dataset
    from verifiers.types import ClientConfig

    def right(completion: Any, answer: str) -> float:
        text = completion[-1]['content']
        return 0.5 if 'half' in text else float(f'{{{answer}}}' in text)

    rows = [{'question': text, 'answer': answer} for text, answer in SUMS.questions().items()]
    env = vf.SingleTurnEnv(
        eval_dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=[right]), env_id='sums'
    )
    with served(reply) as port:
        url = f'http://127.0.0.1:{port}/v1'
        env.evaluate_sync(
            client=ClientConfig(api_key_var='HOME', api_base_url=url, max_retries=0), model='org/scripted',
            sampling_args={'temperature': 0.7, 'max_tokens': 64}, rollouts_per_example=4, max_concurrent=1,
            results_path=folder, save_results=True,
        )  # fmt: skip


def write_traces(folder: Path) -> None:
    from verifiers.v1.cli.output import append_episode
    from verifiers.v1.configs.agent import WireAgentConfig
    from verifiers.v1.episode import EnvInfo, Episode
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.task import WireTaskData
    from verifiers.v1.trace import AgentInfo, Error, ModelCall, Reward, Trace, TraceTask
    from verifiers.v1.types import AssistantMessage, SamplingConfig, Usage, UserMessage

    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'traces.jsonl').write_text('')
    lock = asyncio.Lock()
    for rollout in range(4):
        for number, (text, answer) in enumerate(SUMS.questions().items()):
            data = WireTaskData(idx=number, prompt=text, answer=answer)
            task = TraceTask(type='Sum', data=data)
            agent = AgentInfo(
                config=WireAgentConfig(model='org/scripted', sampling=SamplingConfig(temperature=0.7))
            )
            trace = Trace(task=task, agent=agent, is_completed=True)
            trace.nodes = [MessageNode(message=UserMessage(content=text))]
            if (number, rollout) == LOST:
                trace.errors = [Error(type='ProviderError', message='gone', status_code=500)]
            else:
                reply = AssistantMessage(
                    content=said(number, rollout), reasoning_content=f'{number} plus ten'
                )
                trace.nodes.append(MessageNode(parent=0, message=reply, sampled=True))
                usage = Usage(prompt_tokens=9, completion_tokens=5 + rollout, reasoning_tokens=3)
                trace.calls = [ModelCall(node=1, model='org/scripted', finish_reason='stop', usage=usage)]
                score = 0.5 if (number, rollout) == HALF else float(rollout < RIGHT[number])
                trace.rewards = {'right': Reward(score=score)}
                trace.ok = True
            episode = Episode(
                env=EnvInfo(id='sums'), task=task, traces=[trace], ok=trace.ok, errors=list(trace.errors)
            )
            asyncio.run(append_episode(folder, episode, lock))


if __name__ == '__main__':
    write_results(Path(sys.argv[1]) / 'results')
    write_traces(Path(sys.argv[1]) / 'traces')
