"""The benchmarks as Lighteval tasks: `--custom-tasks gpassk_opencompass.lighteval_tasks`.

`livemathbench:v202412_CNMO_en` is one split in one language, `livemathbench_v202412` all questions of a
version in one table, `livemathbench` every task whose name begins so; `math500-l5`, `aime2024`, `aime2025`
and the others are whole benchmarks, `gpassk_demo` the demo's questions. Questions come from the hub, or
from the folder `$GPASSK_QUESTIONS`. n, k and the judge: see `lighteval_settings.VARIABLES`.

Lighteval also takes this file's path, and then it is in no package: so its imports are absolute.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from itertools import product
from typing import Any

from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc
from loguru import logger

import gpassk_opencompass
from gpassk_opencompass import demo
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.lighteval_metric import g_pass_at_k_metric
from gpassk_opencompass.lighteval_settings import LENGTH_VARIABLE, QUESTIONS_VARIABLE
from gpassk_opencompass.naming.names import LiveMathBenchName
from gpassk_opencompass.question_sets import BENCHMARKS, LIVE_MATH_BENCH_HUB, LiveMathBenchRows
from gpassk_opencompass.questions.benchmarks import benchmark_rows, live_math_bench_rows
from gpassk_opencompass.questions.wording import asked

NUMBERS = os.path.join(os.path.dirname(gpassk_opencompass.__file__), 'question_numbers')
"""The data set that Lighteval loads for every task: the numbers from 0, a row each.

Lighteval calls `load_dataset(hf_repo, hf_subset)` and nothing else, which finds neither a folder in
LiveMathBench's layout nor several lists in one task. So a task's prompt function, which Lighteval asks for a
question a row, reads the questions when it is first asked, and has none for the rows beyond the last.
"""

MOST_QUESTIONS = 1000
"""Rows of `NUMBERS`."""

Rows = list[dict[str, Any]]


class Prompt:
    """The prompt function of a task: makes a `Doc` of a number of `NUMBERS`, None beyond the last question.

    Lighteval keeps responses under a text of the task in which this object's name stands. So the name says
    what is asked, once that is known, and responses to other questions are never taken for those to these.

    Args:
        benchmark: what the list is called in results of every host.
        read: called for the questions.
    """

    def __init__(self, benchmark: str, read: Callable[[], Rows]) -> None:
        self._benchmark, self._read = benchmark, read
        self._docs: list[dict[str, Any]] = []

    @property
    def __name__(self) -> str:
        digest = hashlib.sha256(repr([doc['query'] for doc in self._docs]).encode()).hexdigest()
        return f'{self._benchmark} {digest[:16]}' if self._docs else self._benchmark

    def __call__(self, row: dict[str, Any], task_name: str) -> Doc | None:
        """Return the question of the number in `row`; the first call reads the whole list.

        Raises:
            InputError: of the reader; the list is longer than Lighteval can ask for; or an example is wanted,
                which could only be another question with its answer, in the other language the same one.
        """
        if row.get('__few_shots'):
            raise InputError(f'{task_name}: there are no few-shot examples; say {task_name} or {task_name}|0')
        number = row['number']
        if number == 0 or not self._docs:
            self._docs = [self._doc(question) for question in self._questions(task_name)]
        if len(self._docs) > MOST_QUESTIONS:
            raise InputError(
                f'{task_name}: {len(self._docs)} questions; a task has at most {MOST_QUESTIONS}: split it'
            )
        if number >= len(self._docs):
            return None
        return Doc(task_name=task_name, **deepcopy(self._docs[number]))

    def _questions(self, task_name: str) -> Rows:
        try:
            return self._read()
        except InputError as error:
            raise InputError(f'{task_name}: {error} (path is ${QUESTIONS_VARIABLE})') from error

    def _doc(self, question: dict[str, Any]) -> dict[str, Any]:
        kept = {name: question[name] for name in ('uid', 'problem', 'question', 'split', 'language')}
        return {
            'query': question.get('prompt') or asked(question['question'], question['language']),
            'choices': [question['answer']],
            'gold_index': 0,
            'specific': {**kept, 'reference': question['answer'], 'benchmark': self._benchmark},
        }


def _task(
    name: str, benchmark: str, read: Callable[[], Rows], max_new_tokens: int | None = None
) -> LightevalTaskConfig:
    return LightevalTaskConfig(
        name=name,
        prompt_function=Prompt(benchmark, read),
        hf_repo=NUMBERS,
        hf_subset='default',
        hf_avail_splits=['test'],
        evaluation_splits=['test'],
        few_shots_split='test',
        generation_size=max_new_tokens or _max_new_tokens(),
        metrics=[g_pass_at_k_metric()],
        version=1,
    )


def _max_new_tokens() -> int | None:
    text = os.environ.get(LENGTH_VARIABLE, '').strip()
    if text and (not text.isdecimal() or int(text) == 0):
        raise InputError(f'${LENGTH_VARIABLE} = {text!r}: expected a whole number, 1 or more')
    return int(text) if text else None


def _folder() -> str:
    return os.environ.get(QUESTIONS_VARIABLE, '').strip()


def _benchmark(name: str) -> Rows:
    return benchmark_rows(name, _folder())


def _live_math_bench(name: LiveMathBenchName, path: str = '') -> Rows:
    path = path or _folder() or LIVE_MATH_BENCH_HUB
    return live_math_bench_rows(path, name.version, name.splits, name.languages)


def _live_math_bench_tasks(label: str, rows: LiveMathBenchRows) -> list[LightevalTaskConfig]:
    version, splits, languages = rows
    parts = {
        f'livemathbench:v{version}_{split}_{language}': LiveMathBenchName(version, (split,), (language,))
        for split, language in product(splits, languages)
    }
    parts[label.replace('-', '_')] = LiveMathBenchName(version, splits, languages)
    return [_task(task, str(name), partial(_live_math_bench, name)) for task, name in parts.items()]


def _tasks() -> Iterator[LightevalTaskConfig]:
    for name, found in BENCHMARKS.each():
        if isinstance(found, InputError):
            logger.warning(f'{found}; it is no task')
        elif isinstance(found, LiveMathBenchRows):
            yield from _live_math_bench_tasks(name, found)
        else:
            yield _task(name, found.label, partial(_benchmark, name))


_DEMO = LiveMathBenchName(demo.VERSION, demo.SPLITS, demo.LANGUAGES)

TASKS_TABLE = [
    *_tasks(),
    _task('gpassk_demo', str(_DEMO), partial(_live_math_bench, _DEMO, demo.QUESTIONS), max_new_tokens=40),
]
"""What Lighteval looks for."""
