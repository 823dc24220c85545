"""Logs that Lighteval itself writes of a task that is not of this package, of a model with known truth.

The real `lighteval custom` command, with this file as its model and as its tasks. Six questions; how many of
the samples are right: `COUNTS`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harness_script import Sums, run, write_rows
from lighteval.metrics.metrics import Metrics
from lighteval.models import abstract_model
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc

N = 4
COUNTS = (4, 3, 2, 1, 0, 4)
"""Right samples of each question."""
LENGTH = 40
"""The most tokens of a response; of the last sample of each question that many are kept."""
QUESTIONS = os.environ.get('HARNESS_QUESTIONS', '')
TEXT = '<think>Sample {replica} of question {number}: zehn.</think>So it is $\\boxed{{{said}}}$.'
SUMS = Sums(COUNTS, TEXT)


def response(number: int, replica: int) -> str:
    """A sample; those of the last question are copies."""
    return SUMS.response(number, 0 if number == len(COUNTS) - 1 else replica)


def prompt(row: dict[str, Any], task_name: str) -> Doc:
    choices = [row['answer'], 'wrong']
    return Doc(
        task_name=task_name, query=f'{row["question"]} Answer in a box.', choices=choices, gold_index=0
    )


def _task(name: str, metric: Any) -> LightevalTaskConfig:
    return LightevalTaskConfig(
        name=name, prompt_function=prompt, hf_repo=QUESTIONS, hf_subset='default', hf_avail_splits=['test'],
        evaluation_splits=['test'], few_shots_split='test', generation_size=LENGTH, metrics=[metric],
        version=1,
    )  # fmt: skip


TASKS_TABLE = [
    _task('sums', Metrics.avg_at_n_math(sample_params={'n': N})),
]


class Scripted(abstract_model.LightevalModel):
    """Answers as `response` says."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self._cache = SimpleNamespace(_init_registry=lambda registry: None)  # nothing is kept between runs

    @property
    def tokenizer(self) -> Any:
        return None

    @property
    def add_special_tokens(self) -> bool:
        return False

    @property
    def max_length(self) -> int:
        return 4096

    def greedy_until(self, docs: list[Doc]) -> list[ModelResponse]:
        return [self._reply(doc) for doc in docs]

    def _reply(self, doc: Doc) -> ModelResponse:
        texts = [response(SUMS.number(doc.query), replica) for replica in range(doc.num_samples)]
        lengths = [10 + replica for replica in range(doc.num_samples)]
        lengths[-1] = LENGTH
        tokens = {'input_tokens': list(range(7)), 'output_tokens': list(map(list, map(range, lengths)))}
        return ModelResponse(input=doc.query, text=texts, **tokens)

    def loglikelihood(self, docs: list[Doc]) -> list[ModelResponse]:
        raise NotImplementedError

    def loglikelihood_rolling(self, docs: list[Doc]) -> list[ModelResponse]:
        raise NotImplementedError


def make(folder: Path) -> None:
    """Run the real `lighteval` for each task into `folder/<task>`."""
    folder = folder.resolve()
    rows = [{'question': text, 'answer': f'${answer}$'} for text, answer in SUMS.questions().items()]
    questions = write_rows(folder / 'questions' / 'test.jsonl', rows).parent
    for task in TASKS_TABLE:
        options = ['--custom-tasks', __file__, '--output-dir', folder / task.name, '--save-details']
        command = [Path(sys.executable).with_name('lighteval'), 'custom', 'someone/scripted', __file__]
        command += [f'{task.name}|0', *options]
        run(folder, folder / f'{task.name}.out', command, HARNESS_QUESTIONS=str(questions))
