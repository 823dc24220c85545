"""Docs and responses as Lighteval hands them to a metric, and its real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    from lighteval.metrics.utils.metric_utils import Metric
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.lighteval_task import LightevalTask
    from lighteval.tasks.requests import Doc

    from gpassk_opencompass import lighteval
    from gpassk_opencompass.lighteval import NAME, TaskSettings

Entries = list[dict[str, Any]]
TASKS = 'gpassk_opencompass.lighteval'
EXAMPLES = Path(__file__).resolve().parents[3] / 'examples' / 'lighteval'


def task_of(name: str, **settings: Any) -> LightevalTask:
    configs = lighteval.tasks(TaskSettings(**settings))
    return LightevalTask(next(config for config in configs if config.name == name))


def metric_of(**settings: Any) -> Metric:
    [metric] = next(lighteval.tasks(TaskSettings(**settings))).metrics
    return metric


def doc_of(number: int, reference: str, problem: str = '') -> Doc:
    question = f'What is {number}?'
    specific = {
        'uid': f'bench/S_en/{number}', 'problem': problem or f'bench/S/{number}', 'question': question,
        'reference': reference, 'split': 'S', 'language': 'en', 'benchmark': 'bench',
    }  # fmt: skip
    doc = Doc(
        query=f'{question} Box it.', choices=[reference], gold_index=0, specific=specific, task_name='t'
    )
    doc.id = str(number)
    return doc


def said(*answers: str) -> ModelResponse:
    """The responses to one question, each with one of the answers in a box."""
    return ModelResponse(text=[rf'So it is \boxed{{{answer}}}.' for answer in answers])


def judged(metric: Metric, docs: Sequence[Doc], responses: Sequence[ModelResponse]) -> Entries:
    entries: Entries = metric.compute_sample(docs=docs, responses=responses)[NAME]
    return entries


def table_of(metric: Metric, entries: Entries) -> dict[str, float]:
    table: dict[str, float] = metric.get_corpus_aggregations()[NAME](entries)
    return table


def run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A program of this environment in a folder that is home too, with nothing to be had from the hub."""
    given = {'HF_HUB_OFFLINE': '1', 'LITELLM_LOCAL_MODEL_COST_MAP': 'True', 'OMP_NUM_THREADS': '1'}
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(('GPASSK_', 'XDG_'))
    }
    return subprocess.run(
        [str(Path(sys.executable).parent / command[0]), *command[1:]],
        cwd=folder,
        env={**inherited, **given, 'HOME': str(folder), 'COLUMNS': '200', **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def run_lighteval(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    options = ('--custom-tasks', TASKS, '--output-dir', 'results', '--save-details')
    return run(folder, 'lighteval', *arguments, *options, **variables)


def results_of(folder: Path, task: str) -> list[dict[str, float]]:
    """What each run below a folder wrote of a task, the oldest first."""
    files = sorted(folder.rglob('results_*.json'))
    return [json.loads(file.read_text(encoding='utf-8'))['results'][task] for file in files]


def details_of(folder: Path) -> list[dict[str, Any]]:
    *_, newest = sorted(folder.rglob('details_*.parquet'))
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(newest).to_pylist()
    return rows
