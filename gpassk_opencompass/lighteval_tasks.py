"""The benchmarks as Lighteval tasks: `--custom-tasks gpassk_opencompass.lighteval_tasks`.

`livemathbench:v202412_CNMO_en` is one split in one language, `livemathbench_v202412` all questions of a
version in one table, `livemathbench` every task whose name begins so; `math500-l5`, `aime2024`, `aime2025`
and the others are whole benchmarks, `gpassk_demo` the demo's questions. Questions come from the hub, or
from the folder `$GPASSK_QUESTIONS`. n, k and the judge: see `lighteval_settings.VARIABLES`.

Lighteval also takes this file's path, and then it is in no package: so its imports are absolute.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from datasets import Dataset, DatasetDict
from lighteval.tasks.lighteval_task import LightevalTask, LightevalTaskConfig
from lighteval.tasks.requests import Doc

from gpassk_opencompass import demo
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.judges.prompts import is_chinese
from gpassk_opencompass.lighteval_metric import g_pass_at_k_metric
from gpassk_opencompass.question_sets import LIVE_MATH_BENCH_HUB, LIVE_MATH_BENCH_ROWS, QUESTION_SETS
from gpassk_opencompass.questions.benchmarks import benchmark_rows
from gpassk_opencompass.questions.live_math_bench import live_math_bench_rows

QUESTIONS_VARIABLE = 'GPASSK_QUESTIONS'
"""Names a folder with `202412/CNMO_en.jsonl`, `aime2024.jsonl`, … to be used instead of the hub."""

LENGTH_VARIABLE = 'GPASSK_MAX_NEW_TOKENS'
"""The most tokens of a response; `lighteval accelerate` heeds a task's limit alone, not the model's."""

ENGLISH = '{question}\n\nWork this out step by step, and end with your final answer inside \\boxed{{}}.'
CHINESE = '{question}\n\n请一步一步地推导，并在最后把最终答案写在 \\boxed{{}} 里。'

Rows = list[dict[str, Any]]
Reader = Callable[[str], Rows]
"""From the folder given, '' where there is none."""

_READERS: dict[str, Reader] = {}


def prompt(row: dict[str, Any], task_name: str) -> Doc:
    """A question as Lighteval asks it."""
    wording = CHINESE if is_chinese(row['language']) else ENGLISH
    return Doc(
        task_name=task_name,
        query=wording.format(question=row['question']),
        choices=[row['reference']],
        gold_index=0,
        specific={name: value for name, value in row.items() if not name.startswith('__')},
    )


def load_questions(task: LightevalTask) -> DatasetDict:
    """What Lighteval calls for the data of a task; tasks that are not of this file load as ever."""
    if task.name not in _READERS:
        return _LOAD(task)
    rows = _READERS[task.name](os.environ.get(QUESTIONS_VARIABLE, '').strip())
    return DatasetDict(test=Dataset.from_list([_row(row) for row in rows]))


def _row(row: dict[str, Any]) -> dict[str, Any]:
    kept = {name: row[name] for name in ('uid', 'problem', 'question', 'split', 'language')}
    return {**kept, 'reference': row['answer']}


def _task(
    name: str, source: str, subset: str, reader: Reader, max_new_tokens: int | None = None
) -> LightevalTaskConfig:
    _READERS[name] = reader
    return LightevalTaskConfig(
        name=name,
        prompt_function=prompt,
        hf_repo=source,
        hf_subset=subset,
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


def _live_math_bench(folder: str, version: str, splits: tuple[str, ...], languages: tuple[str, ...]) -> Rows:
    return live_math_bench_rows(folder or LIVE_MATH_BENCH_HUB, version, splits, languages)


def _benchmark(folder: str, name: str) -> Rows:
    return benchmark_rows(name, folder)


def _demo(_: str) -> Rows:
    return live_math_bench_rows(demo.QUESTIONS, demo.VERSION, demo.SPLITS, demo.LANGUAGES)


def _live_math_bench_tasks() -> list[LightevalTaskConfig]:
    tasks = []
    for label, (version, splits, languages) in LIVE_MATH_BENCH_ROWS.items():
        whole = label.replace('-', '_')
        parts = {
            f'v{version}_{split}_{language}': (split, language) for split in splits for language in languages
        }
        for subset, (split, language) in parts.items():
            reader = partial(_live_math_bench, version=version, splits=(split,), languages=(language,))
            tasks.append(_task(f'livemathbench:{subset}', LIVE_MATH_BENCH_HUB, subset, reader))
        reader = partial(_live_math_bench, version=version, splits=splits, languages=languages)
        tasks.append(_task(whole, LIVE_MATH_BENCH_HUB, ','.join(parts), reader))
    return tasks


_LOAD = LightevalTask.download_dataset_worker
# Lighteval loads what `load_dataset` finds by one name, so neither a folder in LiveMathBench's layout nor one
# level of MATH500 nor several lists in one task.
LightevalTask.download_dataset_worker = staticmethod(load_questions)

TASKS_TABLE = [
    *_live_math_bench_tasks(),
    *(
        _task(name, questions.source, 'default', partial(_benchmark, name=name))
        for name, questions in QUESTION_SETS.items()
    ),
    _task('gpassk_demo', demo.QUESTIONS, demo.VERSION, _demo, max_new_tokens=40),
]
"""What Lighteval looks for."""
