"""G-Pass@k as an aggregation of EvalScope: from the scores that its benchmarks give, in its reports.

EvalScope has no entry points, so a script imports this module, which registers `g_pass_at_k` with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from evalscope.api.metric import Aggregator, AggScore, SampleScore
from evalscope.api.metric.semantics import MetricSelector
from evalscope.api.registry import AGGREGATION_REGISTRY, get_aggregation, register_aggregation
from evalscope.metrics.semantics.catalog import AGGREGATION_SEMANTICS
from evalscope.metrics.semantics.entry import MetricEntry
from loguru import logger

from ..errors import InputError
from ..metrics import SHOWN_THRESHOLDS, Kind, Metric, metrics_of
from ..uncertainty import value_table
from ..uncertainty.intervals import mean_interval

NAME = 'g_pass_at_k'
"""The name of the aggregation with its usual options: k of 4, 8 and 16 as far as there are samples."""

USUAL_KS = (4, 8, 16)

_AGGREGATIONS = {
    Kind.PASS: ('pass_at_k', 'Pass@k'),
    Kind.G_PASS: (NAME, 'G-Pass@k'),
    Kind.MG_PASS: ('mg_pass_at_k', 'mG-Pass@k'),
}
"""Kind of a metric → the name of its aggregation in a report, and what its tables call it."""


@dataclass(frozen=True)
class Options:
    """What is computed.

    Args:
        ks: the k; () stands for the usual ones as far as there are samples, else for all of the samples.
        thresholds: the τ of G-Pass@k_τ.
        correct_from: the least score that is correct; what is below, partial credit too, is incorrect.
    """

    ks: tuple[int, ...] = ()
    thresholds: tuple[float, ...] = SHOWN_THRESHOLDS
    correct_from: float = 1.0

    def metrics(self, n: int) -> list[Metric]:
        """Return the metrics of n samples a question, without mG-Pass@1, whose sum is empty.

        Raises:
            InputError: a k is larger than n.
        """
        if self.ks and max(self.ks) > n:
            raise InputError(
                f'k = {max(self.ks)} of {NAME} needs as many samples a question, and there are {n}: give '
                f'TaskConfig repeats={max(self.ks)} or more, or a smaller k'
            )
        ks = self.ks or [k for k in USUAL_KS if k <= n] or [n]
        found = metrics_of(ks, self.thresholds, pass_at=True)
        return [metric for metric in found if metric != Metric.mg_pass_at(1)]


def g_pass_at_k(
    k: int | Sequence[int],
    thresholds: Sequence[float] = SHOWN_THRESHOLDS,
    *,
    correct_from: float = 1.0,
    score: str = 'accuracy',
) -> dict[str, Any]:
    """Return what goes into the `dataset_args` of a benchmark, for G-Pass@k with these options.

    The report has pass@k, G-Pass@k_τ and mG-Pass@k of each k after EvalScope's mean; its primary metric is
    G-Pass@k_τ of the largest k and τ. Where the name of the aggregation alone is given, EvalScope wants to be
    told which metric is the primary one.

    Args:
        k: one or several; `repeats` of `TaskConfig` is n, and may not be smaller.
        thresholds: the τ, each from 0 to 1.
        correct_from: the least score that is correct; what is below, partial credit too, is incorrect.
        score: the score of the benchmark, as EvalScope's reports call it.

    Raises:
        InputError: a k or a threshold is out of range, or given twice, or none is given.
        TypeError: one of them is no number.

    Example:
        `TaskConfig(..., repeats=16, dataset_args={'aime24': g_pass_at_k(k=[4, 8, 16])})`
    """
    ks = (k,) if isinstance(k, int) else tuple(k)
    options = Options(ks, tuple(thresholds), correct_from)
    highest = max(one for one in metrics_of(ks, options.thresholds) if one.kind is Kind.G_PASS)
    primary = MetricSelector(name=score, aggregation=NAME, dimensions=_dimensions(highest))
    return {'aggregation': _registered(options), 'primary_metric': primary}


class GPassK(Aggregator):  # type: ignore[misc]
    """The aggregation, with the usual options; subclasses have others.

    Samples that EvalScope could not score, or that failed, count as incorrect, and the report says how many
    they are and what they could have made of the score. A score that is no number (NaN) is none.
    """

    name = NAME
    options = Options()

    def __call__(self, scores: list[SampleScore]) -> list[AggScore]:
        """Return the metrics of a subset, after the mean that EvalScope itself gives.

        Raises:
            InputError: a question has a sample twice, or fewer samples than k.
        """
        if not scores:
            return []
        names = dict.fromkeys(name for one in scores for name in one.score.value)
        found: list[AggScore] = list(get_aggregation('mean')()(scores))
        repeats = repeats_in(scores)
        for name in names:
            found += self._of_score(name, _by_question(scores, name), repeats)
        return found

    def _of_score(
        self, name: str, questions: Mapping[Any, Mapping[int, float | None]], repeats: int | None
    ) -> list[AggScore]:
        seen = 1 + max(replica for samples in questions.values() for replica in samples)
        n = max(seen, max(self.options.ks, default=0) if repeats is None else repeats)
        told = [list(samples.values()) for samples in questions.values()]
        right = np.array([sum(_is_right(value, self.options) for value in values) for values in told])
        unjudged = np.array([n - sum(value is not None for value in values) for values in told])
        if unjudged.any():
            logger.warning(
                f'{unjudged.sum()} of {n * len(told)} samples have no {name}: they failed, or could not be '
                f'scored, and count as incorrect in {NAME}'
            )
        metrics = self.options.metrics(n)
        return [_aggregate(name, metric, n, list(questions), right, unjudged) for metric in metrics]


def _registered(options: Options) -> str:
    """Return the name under which EvalScope has the aggregation with these options."""
    if options == Options():
        return NAME
    name = f'{NAME}({options.ks}, {options.thresholds}, {options.correct_from})'
    if not AGGREGATION_REGISTRY.is_registered(name):
        register_aggregation(name)(type('GPassK', (GPassK,), {'options': options}))
    return name


def _by_question(scores: Sequence[SampleScore], name: str) -> dict[Any, dict[int, float | None]]:
    """Return question → number of a sample → its score, None where it was not scored."""
    questions: dict[Any, dict[int, float | None]] = {}
    for one in scores:
        group = one.sample_id if one.group_id is None else one.group_id
        samples = questions.setdefault(group, {})
        replica = len(samples) if one.generation_index is None else one.generation_index
        if replica in samples:
            raise InputError(f'sample {replica} of question {group} is there twice')
        usable = one.score.status.is_usable and name in one.score.value
        value = float(one.score.value[name]) if usable else math.nan
        samples[replica] = None if math.isnan(value) else value
    return questions


def repeats_in(scores: Sequence[SampleScore]) -> int | None:
    """Return how many samples a question was to have; None where nothing tells.

    The number of a sample is repeats * (that of its question) + (that of the repeat), so a repeat that failed
    for all questions is known of, too.
    """
    told = set()
    for one in scores:
        numbers = one.sample_id, one.group_id, one.generation_index
        if all(type(number) is int for number in numbers) and one.group_id > 0:
            told.add(divmod(one.sample_id - one.generation_index, one.group_id))
    if len(told) != 1:
        return None
    repeats, rest = told.pop()
    return repeats if repeats > 0 and rest == 0 else None


def _is_right(value: float | None, options: Options) -> bool:
    return value is not None and value >= options.correct_from


def _aggregate(
    name: str, metric: Metric, n: int, questions: Sequence[Any], right: Any, unjudged: Any
) -> AggScore:
    table = value_table(metric, n)
    values = table[right]
    interval = mean_interval(values)
    beside: dict[str, Any] = {'metric': metric.name, 'n': n, 'value': interval.estimate}
    if not interval.refused:
        beside |= {'low': interval.low, 'high': interval.high, 'level': interval.level}
    if unjudged.any():
        beside |= {'unjudged': int(unjudged.sum()), 'if_right': float(table[right + unjudged].mean())}
    return AggScore(
        score=interval.estimate,
        metric_name=name,
        aggregation=_AGGREGATIONS[metric.kind][0],
        dimensions=_dimensions(metric),
        num=len(questions),
        ids=list(questions),
        metadata=beside,
    )


def _dimensions(metric: Metric) -> dict[str, float]:
    return {'k': metric.k, **({} if metric.threshold is None else {'threshold': metric.threshold})}


def _register() -> None:
    """Make the aggregation known to EvalScope, and what its reports are to call its metrics."""
    if not AGGREGATION_REGISTRY.is_registered(NAME):
        register_aggregation(NAME)(GPassK)
    for score in ('accuracy', 'exact_match'):
        for aggregation, title in _AGGREGATIONS.values():
            entry = MetricEntry(baseline='quality.pass_at_k.ratio', metric_name=title)
            AGGREGATION_SEMANTICS.setdefault((score, aggregation), entry)


_register()
