"""G-Pass@k in inspect_ai: a metric that sees all epochs, and reducers for `Epochs`.

inspect_ai finds them by the entry point of this package, under names that begin with `gpassk_opencompass/`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from logging import getLogger  # inspect_ai shows and logs what goes through it
from typing import Any

import numpy as np
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    ScoreReducer,
    ValueToFloat,
    metric,
    score_reducer,
    value_to_float,
)

from . import metrics
from .errors import InputError

PREFIX = 'gpassk_opencompass'
"""What the names of this package's metrics and reducers begin with."""

USUAL_KS = (4, 8, 16)
"""The k that are shown where nobody names any, as far as there are so many epochs."""

USUAL_THRESHOLDS = (0.5, 0.75, 1.0)
"""The τ that are shown where nobody names any."""

_NAMED_THRESHOLDS = (0.25, 0.5, 0.75, 1.0)
"""The τ of the reducers that a command line can name."""

_TO_FLOAT = value_to_float()
_LOGGER = getLogger(__name__)

_TOO_FEW = (
    'G-Pass@k: %d of %d questions have fewer than k = %d scored epochs and are left out; sample more, or '
    'choose a smaller k'
)


@metric(scores='unreduced')  # type: ignore[untyped-decorator]
def g_pass_at_k(
    k: int | list[int] | None = None,
    thresholds: float | list[float] | None = None,
    value: float = 1.0,
    cluster: str | None = None,
    level: float | None = None,
    to_float: ValueToFloat = _TO_FLOAT,
) -> Metric:
    """Return a metric: pass@k, G-Pass@k at each τ and mG-Pass@k, each with its standard error.

    It gets the scores of all epochs, whatever reducers a task has. A question counts with its scored epochs;
    one with fewer than k of them is left out, which a warning says, and `left_out@k` counts.

    Args:
        k: how many of the epochs are drawn, or several such numbers; None: 4, 8 and 16 as far as there are so
            many epochs, else all of them.
        thresholds: τ, the share of the k that must be correct, above 0, up to 1; None: 0.5, 0.75 and 1.
        value: from where on a score is correct, after `to_float`.
        cluster: the key in the metadata of the samples that tells which questions belong together, such as
            translations of one problem; None: each question is its own.
        level: of intervals for new questions of the same kind, such as 0.95: `…_lower` and `…_upper`, where
            there are enough questions for one that holds; None: standard errors alone.
        to_float: turns the value of a score into a number.

    Raises:
        InputError: k, a threshold or the level is out of range; when it is computed: a score is a list or an
            object, or a sample lacks the key of the cluster.
    """
    taus = USUAL_THRESHOLDS if thresholds is None else thresholds
    metrics.metrics_of(USUAL_KS if k is None else k, taus)
    if level is not None:
        from .uncertainty.intervals import check_level

        check_level(level)

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        questions = _questions(scores, value, to_float, cluster)
        wanted = metrics.metrics_of(_usual_ks(questions) if k is None else k, taus, pass_at=True)
        told: dict[str, float] = {}
        for one in wanted:
            told |= _mean(one, questions, level)
        values = {one.name: told[one.name] for one in wanted}  # first what a reader looks for
        return {**values, **told, **_left_out(wanted, questions)}

    return compute


def _usual_ks(questions: Sequence[_Question]) -> list[int]:
    most = max((one.n for one in questions), default=USUAL_KS[0])
    return [k for k in USUAL_KS if k <= most] or [most]


class _Question:
    """The scored epochs of a question."""

    def __init__(self, problem: Hashable) -> None:
        self.problem = problem
        self.n = self.c = 0


def _questions(
    scores: Sequence[SampleScore], value: float, to_float: ValueToFloat, cluster: str | None
) -> list[_Question]:
    found: dict[str, _Question] = {}
    for one in scores:
        if one.sample_id is None:
            raise InputError('a score has no id of its sample: which epochs are of one question is not known')
        key = str(one.sample_id)
        if key not in found:
            found[key] = _Question(key if cluster is None else _problem(one, cluster))
        found[key].n += 1
        found[key].c += _is_correct(one.score.value, value, to_float)
    return list(found.values())


def _problem(score: SampleScore, cluster: str) -> Hashable:
    metadata = score.sample_metadata or {}
    if metadata.get(cluster) is None:
        raise InputError(
            f'the metadata of sample {score.sample_id} has no {cluster!r}, by which questions were to be '
            f'clustered; it has {", ".join(metadata) or "nothing"}'
        )
    return str(metadata[cluster])


def _is_correct(value: Any, least: float, to_float: ValueToFloat) -> bool:
    if isinstance(value, (Mapping, list)):
        raise InputError(
            f'a score is {value!r:.60}, not one value: give the metric or reducer to one of its values, '
            "metrics={'KEY': [g_pass_at_k(4)]}"
        )
    return bool(to_float(value) >= least)


def _mean(wanted: metrics.Metric, questions: Sequence[_Question], level: float | None) -> dict[str, float]:
    """Return the mean of a metric, its standard error, and the ends of its interval as far as it has one."""
    from .uncertainty.intervals import mean_interval

    enough = [one for one in questions if one.n >= wanted.k]
    name = wanted.name
    if not enough:
        return {name: math.nan, f'{name}_stderr': math.nan}
    values = [float(_table(wanted, one.n)[one.c]) for one in enough]
    found = mean_interval(values, [one.problem for one in enough], level or 0.95)
    told = {name: found.estimate, f'{name}_stderr': found.error}
    if level is not None and not found.refused:
        told |= {f'{name}_lower': found.low, f'{name}_upper': found.high}
    return told


@cache
def _table(wanted: metrics.Metric, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    from .metrics import value_table

    return value_table(wanted, n)


def _left_out(wanted: Sequence[metrics.Metric], questions: Sequence[_Question]) -> dict[str, float]:
    told = {}
    for k in dict.fromkeys(one.k for one in wanted):
        if few := sum(one.n < k for one in questions):
            _LOGGER.warning(_TOO_FEW, few, len(questions), k)
            told[f'left_out@{k}'] = float(few)
    return told


def g_pass_at(
    k: int, threshold: float, value: float = 1.0, to_float: ValueToFloat = _TO_FLOAT
) -> ScoreReducer:
    """Return a reducer: G-Pass@k_τ of a question from the scores of its epochs.

    Its mean over the questions, `accuracy()` or `mean()`, is G-Pass@k_τ, and `stderr(cluster=…)` its standard
    error. Fewer than k scored epochs leave the question unscored.

    Args:
        k: how many of the epochs are drawn.
        threshold: τ, the share of the k that must be correct; above 0, up to 1. It is in the reducer's name:
            `gpassk_opencompass/g_pass_0-5_at_16`. Those of 0.25, 0.5, 0.75 and 1 can be given by name.
        value, to_float: as in `g_pass_at_k`.

    Raises:
        InputError: k or the threshold is out of range.
    """
    metrics.Metric.g_pass_at(k, threshold)
    return _reducer_at(float(threshold))(k=k, value=value, to_float=to_float)


@cache
def _reducer_at(threshold: float) -> Callable[..., ScoreReducer]:
    """Register the reducer of a τ: what a log keeps of a reducer is its name and k."""

    def reducer(k: int, value: float = 1.0, to_float: ValueToFloat = _TO_FLOAT) -> ScoreReducer:
        return _reducer(metrics.Metric.g_pass_at(k, threshold), value, to_float)

    # inspect_ai looks up names with a dot among those that are known already, and nowhere else.
    name = f'{PREFIX}/g_pass_{threshold:g}_at'.replace('.', '-')
    return score_reducer(name=name)(reducer)  # type: ignore[no-any-return]


for _threshold in _NAMED_THRESHOLDS:
    _reducer_at(_threshold)


@score_reducer(name=f'{PREFIX}/mg_pass_at')  # type: ignore[untyped-decorator]
def mg_pass_at(k: int, value: float = 1.0, to_float: ValueToFloat = _TO_FLOAT) -> ScoreReducer:
    """Return a reducer: mG-Pass@k of a question from the scores of its epochs; see `g_pass_at`."""
    return _reducer(metrics.Metric.mg_pass_at(k), value, to_float)


def _reducer(wanted: metrics.Metric, least: float, to_float: ValueToFloat) -> ScoreReducer:
    def of_values(values: Sequence[Any]) -> tuple[float, str]:
        scored = [value for value in values if not _is_unscored(value)]
        right = sum(_is_correct(value, least, to_float) for value in scored)
        told = f'{right} of {len(scored)} scored epochs are correct'
        if len(scored) < wanted.k:
            return math.nan, f'{told}; k = {wanted.k} are needed'
        return float(_table(wanted, len(scored))[right]), told

    def reduce(scores: list[Score]) -> Score:
        whole = [score.value for score in scores if not _is_unscored(score.value)]
        if whole and all(isinstance(value, Mapping) for value in whole):
            by_key: dict[str, list[Any]] = defaultdict(list)
            for value in whole:
                for key, part in value.items():
                    by_key[key].append(part)
            found = {key: of_values(parts) for key, parts in by_key.items()}
            told = '; '.join(f'{key}: {said}' for key, (_, said) in found.items())
            return _reduced({key: value for key, (value, _) in found.items()}, told, scores)
        return _reduced(*of_values(whole), scores)

    return reduce


def _is_unscored(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _reduced(value: Any, told: str, scores: Sequence[Score]) -> Score:
    """Return one score for all; the most frequent answer stands for its answers."""
    answers = Counter(score.answer for score in scores if score.answer is not None)
    return Score(value=value, answer=answers.most_common(1)[0][0] if answers else None, explanation=told)
