"""Docs and responses as Lighteval hands them to a metric, made by a test."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    from lighteval.metrics.utils.metric_utils import Metric
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc

    from gpassk_opencompass.lighteval_metric import NAME, g_pass_at_k_metric

Entries = list[dict[str, Any]]


def metric_of(**parameters: Any) -> Metric:
    """Its parameters set as Lighteval sets those of `task@n=16`."""
    metric = g_pass_at_k_metric()
    for name, value in parameters.items():
        setattr(metric.sample_level_fn, name, value)
    return metric


def doc_of(number: int, reference: str, problem: str = '') -> Doc:
    """Question `number` of a list."""
    question = f'What is {number}?'
    specific = {
        'uid': f'bench/S_en/{number}', 'problem': problem or f'bench/S/{number}', 'question': question,
        'reference': reference, 'split': 'S', 'language': 'en',
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
    """What Lighteval keeps of each question."""
    entries: Entries = metric.compute_sample(docs=docs, responses=responses)[NAME]
    return entries


def table_of(metric: Metric, entries: Entries) -> dict[str, float]:
    """What Lighteval prints of all of them."""
    table: dict[str, float] = metric.get_corpus_aggregations()[NAME](entries)
    return table
