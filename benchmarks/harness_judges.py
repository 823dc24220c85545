"""The LLM judges of inspect_ai and Lighteval, each in the environment of its harness.

`harness_judge` starts this file there as `python -m benchmarks.harness_judges NAME`, with the answers on
stdin. The one of inspect_ai, `model_graded_qa`, judges what a solver gives as a model's; the one of
Lighteval, `JudgeLM`, is asked directly and has 10 threads, whatever is wanted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from . import ROOT
from .measuring import Cost, cost

FOLDERS = {
    'inspect': ROOT / '.venv-harness-inspect',
    'lighteval': ROOT / '.venv-lighteval',
}
"""Harness → its environment."""

MISSING = {
    'inspect': 'inspect_ai took no part: there is no `.venv-harness-inspect` with openai in it '
    '(`make test-harness-inspect` makes it; then `.venv-harness-inspect/bin/python -m pip install openai`).',
    'lighteval': 'Lighteval took no part: there is no `.venv-lighteval` (`make test-lighteval` makes it).',
}
"""Harness → what the page says where it cannot be asked."""

LONGEST_REPLY = 1024

_MODEL = 'judge'


def is_here(harness: str) -> bool:
    """Whether the environment of the harness has what its judge needs."""
    return any(FOLDERS[harness].glob('lib/*/site-packages/openai'))


def harness_judge(harness: str, url: str, in_flight: int, template: str, cases: Sequence[Mapping[str, str]]) -> Cost:  # fmt: skip # noqa: E501
    """What its judge costs; the value is whether it accepts each answer.

    Args:
        harness: one that is here.
        url: of the server.
        in_flight: the most requests at once, where the judge has such a setting.
        template: what to ask, where the judge has no prompt of its own.
        cases: question, reference and answer of each.

    Raises:
        RuntimeError: it fails.
    """
    asked = {'url': url, 'in_flight': in_flight, 'template': template, 'cases': list(cases)}
    done = subprocess.run(
        [FOLDERS[harness] / 'bin' / 'python', '-m', 'benchmarks.harness_judges', harness],
        cwd=ROOT,
        env={**os.environ, 'PYTHONWARNINGS': 'ignore', 'HF_HUB_OFFLINE': '1', 'OPENAI_API_KEY': 'EMPTY'},
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f'the judge of {harness} failed: {done.stderr[-2000:]}')
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def _inspect(given: Mapping[str, Any]) -> list[bool]:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import GenerateConfig, ModelOutput, get_model
    from inspect_ai.scorer import model_graded_qa
    from inspect_ai.solver import solver

    def given_answer() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state.output = ModelOutput.from_content('given', state.metadata['answer'])
            return state

        return solve

    judge = get_model(
        f'openai-api/local/{_MODEL}',
        base_url=f'{given["url"]}/v1',
        api_key='EMPTY',
        config=GenerateConfig(max_connections=given['in_flight'], temperature=0.0, max_tokens=LONGEST_REPLY),
    )
    samples = [
        Sample(
            id=place, input=case['question'], target=case['reference'], metadata={'answer': case['answer']}
        )
        for place, case in enumerate(given['cases'])
    ]
    task = Task(
        dataset=MemoryDataset(samples),
        solver=solver(given_answer)(),
        scorer=model_graded_qa(grade_pattern=r'\\boxed\{(yes|no)\}', model=judge),
    )
    with tempfile.TemporaryDirectory() as folder:
        [log] = eval(
            task, model='mockllm/model', display='none', max_samples=given['in_flight'], log_dir=folder
        )
        if log.status != 'success' or log.samples is None:
            raise RuntimeError(f'inspect_ai: {log.status}, {log.error}')
        judged = sorted(log.samples, key=lambda sample: int(sample.id))  # read from its file, only now
    return [(sample.scores or {})['model_graded_qa'].value == 'yes' for sample in judged]


def _lighteval(given: Mapping[str, Any]) -> list[bool]:
    from lighteval.metrics.utils.llm_as_judge import JudgeLM

    def prompt(question: str, options: Any, answer: str, gold: str) -> list[dict[str, str]]:
        text = given['template'].format(question=question, reference=gold, prediction=answer)
        return [{'role': 'user', 'content': text}]

    judge = JudgeLM(
        _MODEL,
        prompt,
        lambda reply: r'\boxed{yes}' in reply,
        'openai',
        url=f'{given["url"]}/v1',
        max_tokens=LONGEST_REPLY,
    )
    cases = given['cases']
    questions, answers, references = (
        [case[part] for case in cases] for part in ('question', 'answer', 'reference')
    )
    accepted, *_ = judge.evaluate_answer_batch(questions, answers, [None] * len(cases), references)
    return [bool(one) for one in accepted]


def _import_inspect() -> None:
    import inspect_ai.model
    import inspect_ai.scorer  # noqa: F401
    import openai  # noqa: F401


def _import_lighteval() -> None:
    import lighteval.metrics.utils.llm_as_judge  # noqa: F401
    import openai  # noqa: F401


_JUDGES: Mapping[str, tuple[Callable[[], None], Callable[[Mapping[str, Any]], list[bool]]]] = {
    'inspect': (_import_inspect, _inspect),
    'lighteval': (_import_lighteval, _lighteval),
}


def _main() -> None:
    load, judge = _JUDGES[sys.argv[1]]
    load()  # before the clock runs
    print(json.dumps(cost(partial(judge, json.load(sys.stdin)))))


if __name__ == '__main__':
    _main()
