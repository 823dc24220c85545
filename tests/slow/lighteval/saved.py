"""Runs as Lighteval saves them, of responses that are drawn here instead of by a model.

    .venv-lighteval/bin/python tests/slow/lighteval/saved.py

writes tests/recorded/lighteval again, which the report's tests read where Lighteval is not installed.
"""

from __future__ import annotations

import random
import shutil
import warnings
from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.metrics import apply_metric
    from lighteval.models.model_input import GenerationParameters
    from lighteval.models.model_output import ModelResponse
    from lighteval.models.transformers.transformers_model import TransformersModelConfig
    from lighteval.tasks.requests import Doc
    from made import task_of

N, K = 8, [4, 8]
TASK = 'gpassk_demo'
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


def save_run(folder: Path, temperature: float, save_details: bool = True) -> list[ModelResponse]:
    """What `lighteval accelerate … gpassk_demo --output-dir FOLDER` leaves, by Lighteval's own classes.

    Returns:
        The responses, in the order in which the questions stand in their file.
    """
    task = task_of(TASK, n=N, k=K)
    docs = task.get_docs()
    responses = [responses_to(doc, temperature) for doc in docs]
    tracker = EvaluationTracker(str(folder), save_details=save_details)
    name = f'{TASK}|0'
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
    placed = sorted(zip(docs, responses, strict=True), key=lambda pair: int(pair[0].id))
    return [response for _, response in placed]


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
