"""Docs and responses as Lighteval hands them to a metric, runs as it saves them, and its real command.

    .venv-lighteval/bin/python tests/slow/lighteval/made.py

writes tests/recorded/lighteval again, with responses that are drawn here instead of by a model.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.metrics import apply_metric
    from lighteval.metrics.utils.metric_utils import Metric
    from lighteval.models.model_input import GenerationParameters
    from lighteval.models.model_output import ModelResponse
    from lighteval.models.transformers.transformers_model import TransformersModelConfig
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


N, K = 8, [4, 8]
DEMO_TASK = 'gpassk_demo'
TIME = '2026-11-21T09-59-19.723746'
"""In the names of the recorded files."""


def responses_to(doc: Doc, temperature: float) -> ModelResponse:
    """Right more often at a low temperature and with some luck of the problem, which is drawn by its name."""
    luck = random.Random(doc.specific['problem']).random()
    split, _, place = doc.specific['problem'].removeprefix('demo/').partition('/')
    draw = random.Random(f'demo/{split}_{doc.specific["language"]}/{place} {temperature}')
    right = doc.specific['reference'].strip('$')
    chance = luck ** (0.2 + temperature)
    said = [right if draw.random() < chance else f'{right}1' for _ in range(N)]
    return ModelResponse(
        input=doc.query,
        input_tokens=list(range(draw.randrange(20, 60))),
        text=[rf'So the answer is \boxed{{{text}}}.' for text in said],
        output_tokens=[list(range(draw.randrange(5, 40))) for _ in said],
    )


def save_run(folder: Path, temperature: float) -> None:
    """What `lighteval accelerate … gpassk_demo --output-dir FOLDER` leaves, by Lighteval's own classes."""
    task = task_of(DEMO_TASK, n=N, k=K)
    docs = task.get_docs()
    responses = [responses_to(doc, temperature) for doc in docs]
    tracker = EvaluationTracker(str(folder), save_details=True)
    name = f'{DEMO_TASK}|0'
    for output, doc, response in zip(
        apply_metric(responses, docs, task.metrics), docs, responses, strict=True
    ):
        tracker.metrics_logger.log(name, output)
        tracker.details_logger.log(name, doc, response, output)
    model = TransformersModelConfig(
        model_name='someone/demo',
        generation_parameters=GenerationParameters(temperature=temperature, top_p=0.9),
    )
    tracker.general_config_logger.log_model_info(model)
    tracker.task_config_logger.log({name: task})
    tracker.metrics_logger.aggregate({name: task}, bootstrap_iters=0)
    tracker.details_logger.aggregate()
    tracker.save()


def main() -> None:
    tests = Path(__file__).resolve().parents[2]
    folder = tests / 'recorded' / 'lighteval'
    shutil.rmtree(folder, ignore_errors=True)
    save_run(folder, temperature=1.0)
    [summary] = folder.rglob('results_*.json')
    time = summary.stem.removeprefix('results_')
    text = summary.read_text(encoding='utf-8').replace(f'{tests.parent}/', '')
    summary.write_text(text, encoding='utf-8')
    for path in sorted(folder.rglob(f'*{time}*'), reverse=True):
        path.rename(path.with_name(path.name.replace(time, TIME)))


if __name__ == '__main__':
    main()
