"""G-Pass@k as a metric of Lighteval: its responses, this package's judges and numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from lighteval.metrics.metrics_sample import SampleLevelComputation, SamplingMetric
from lighteval.metrics.utils.metric_utils import SampleLevelMetric
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.requests import Doc, SamplingMethod

from .errors import IncompleteError, InputError
from .judges.build import build_judge
from .lighteval_settings import VARIABLES, Settings, read_settings
from .record import Measures
from .scoring import Samples, score
from .uncertainty.intervals import mean_interval

HOST_PACKAGES = ('lighteval', 'numpy', 'datasets', 'transformers', 'torch')
SAMPLE_FIELDS = ('uid', 'problem', 'question', 'reference', 'split', 'language')
"""What a metric of this package needs to know of a `Doc`, in its `specific`."""

NAME = 'G-Pass@k'
"""Of the metric; with an @ in it, Lighteval hands a task's parameters on."""

Results = list[dict[str, Any]]


class GPassKSamples(SamplingMetric, SampleLevelComputation):  # type: ignore[misc]
    """n responses a question judged together, whatever the question.

    Parameters are those of `lighteval_settings.VARIABLES`; Lighteval sets them from `task@n=16@k=8`, and
    what stays None comes from the environment. They are checked before anything is generated.
    """

    def __init__(self) -> None:
        super().__init__()
        self.parameters: dict[str, Any] = dict.fromkeys(VARIABLES)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in VARIABLES:
            self.parameters[name] = value
        elif name in ('parameters', 'normalize', 'strip_strings', 'type_exact_match', 'compute_score'):
            super().__setattr__(name, value)
        else:
            raise InputError(f'{NAME} has no parameter {name!r}; it has {", ".join(VARIABLES)}')

    @property
    def settings(self) -> Settings:
        """The parameters with the environment's and the defaults; InputError where they cannot be met."""
        return read_settings(self.parameters, os.environ)

    def num_samples(self) -> int:
        """n: Lighteval asks for so many responses."""
        return self.settings.n

    def compute(self, docs: Sequence[Doc], responses: Sequence[ModelResponse], **_: Any) -> Results:
        """One entry a question: its metrics, c, and each of its n answers beside its verdict.

        Raises:
            IncompleteError: fewer responses than n, or more unjudged ones than tolerated.
        """
        settings = self.settings
        samples = samples_of(docs, [response.final_text for response in responses], settings.n)
        judge = build_judge(settings.judge)
        try:
            record = score(
                samples,
                judge,
                n=settings.n,
                k=settings.k,
                thresholds=settings.thresholds,
                unjudged_tolerance=settings.unjudged_tolerance,
                versions={package: version(package) for package in HOST_PACKAGES},
            )
        finally:
            judge.close()
        return _by_question(docs, record, settings.measures)

    def corpus(self, results: Results) -> dict[str, float]:
        """The means over the questions, each with its standard error between source problems."""
        measures = self.settings.measures
        means = measures.means(np.array([result['c'] for result in results]))
        problems = [result['problem'] for result in results]
        errors = {
            name: mean_interval([result['metrics'][name] for result in results], problems).error
            for name in means
        }
        pairs = [[(name, mean), (f'{name}_stderr', errors[name])] for name, mean in means.items()]
        return {key: value for pair in pairs for key, value in pair if not np.isnan(value)}


def g_pass_at_k_metric() -> SampleLevelMetric:
    """A metric for the `metrics` of a Lighteval task whose docs carry `SAMPLE_FIELDS`."""
    samples = GPassKSamples()
    return SampleLevelMetric(
        metric_name=NAME,
        higher_is_better=True,
        category=SamplingMethod.GENERATIVE,
        sample_level_fn=samples,
        corpus_level_fn=samples.corpus,
        batched_compute=True,
    )


def samples_of(docs: Sequence[Doc], texts: Sequence[Sequence[str]], n: int) -> Samples:
    """The first n responses to each doc, in the columns that are scored.

    Raises:
        InputError: a doc does not say which question it is.
        IncompleteError: a doc has fewer than n responses.
    """
    for doc, given in zip(docs, texts, strict=True):
        if missing := [name for name in SAMPLE_FIELDS if name not in (doc.specific or {})]:
            raise InputError(f'doc {doc.id} of {doc.task_name}: specific has no {", ".join(missing)}')
        if len(given) < n:
            raise IncompleteError(
                f'{len(given)} responses to {doc.specific["uid"]} of {doc.task_name}, n = {n} are needed: '
                'the model must sample (temperature above 0, no continuous batching, no older cache)'
            )
    rows = [(doc.specific, text) for doc, given in zip(docs, texts, strict=True) for text in given[:n]]
    columns = {name: [specific[name] for specific, _ in rows] for name in SAMPLE_FIELDS}
    return Samples(replica=list(range(n)) * len(docs), response=[text for _, text in rows], **columns)


def _by_question(docs: Sequence[Doc], record: Mapping[str, Any], measures: Measures) -> Results:
    details = record['details']
    place = {uid: number for number, uid in enumerate(details['uid'])}
    results = []
    for doc in docs:
        at = place[doc.specific['uid']]
        c = details['c'][at]
        results.append(
            {
                'metrics': measures.means(np.array([c])),
                'c': c,
                'problem': doc.specific['problem'],
                'answers': details['answers'][at],
                'verdicts': list(details['verdicts'][at]),
                'judged_by': [details['judges'][letter] for letter in details['judged_by'][at]],
                'signature': record['gpassk']['signature'],
            }
        )
    return results
