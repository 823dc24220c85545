"""Scores of questions, a line a metric: the mean, its interval, and how far a rerun would move it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..distributions import hypergeometric
from ..errors import InputError
from ..metrics import ACCURACY, Metric
from ..uncertainty import Interval, value_table
from ..uncertainty.intervals import interval_of_sums
from ..uncertainty.rerun import rerun_variance
from ..votes import (
    Ballot,
    answer_entropy,
    distinct_answers,
    group_majorities,
    majority,
    sizes_of,
    total_agreement,
)
from .tally import Counts, Unjudged

Floats = NDArray[np.float64]

TOTAL = 'total'

LARGEST_RERUN_N = 1_024
"""Above so many samples a question no rerun error is given; it takes tables of n² entries."""


@dataclass(frozen=True)
class Settings:
    """Which metrics.

    Args:
        ks, thresholds: of G-Pass@k_τ.
        size: N ≤ n: the mean over all subsets of N of the n samples; None: all n.
        agreement: whether also how far the answers to a question agree.
        majorities: the m of maj@m.
    """

    ks: tuple[int, ...]
    thresholds: tuple[float, ...]
    size: int | None = None
    agreement: bool = False
    majorities: tuple[int, ...] = ()


class Line(NamedTuple):
    """One metric of one group; all on the scale 0–1, except where `percent` is False."""

    group: str
    questions: int
    metric: str
    score: float
    interval: Interval | None = None
    """For new questions of the same kind; None for what has none."""
    rerun: float | None = None
    """Standard error of the score for new samples of the same questions."""
    bounds: tuple[float, float] | None = None
    """The score with all unjudged samples wrong and with all of them right, where there are any."""
    percent: bool = True


def summarise(counts: Counts, ballots: Sequence[Ballot], settings: Settings) -> list[Line]:
    """Return a line a metric for each group, where there are several, and for all questions together.

    Args:
        counts: of all questions, as many samples each unless `settings.size` is given.
        ballots: the answers to each question; empty where `settings` needs none.

    Raises:
        InputError: a k, N or m that the questions do not have.
    """
    check_sizes(counts, settings)
    groups = counts.groups
    lines = []
    for group in groups if len(groups) > 1 else []:
        rows = counts.in_group(group)
        chosen = [ballots[row] for row in np.flatnonzero(rows)] if ballots else []
        lines += _lines(group, counts.of(rows), chosen, settings)
    return lines + _lines(TOTAL, counts, ballots, settings)


def metric_keys(settings: Settings, n: int | None) -> dict[str, Metric]:
    """Return the metrics of counts by the names that they are shown under; n = 1 has accuracy alone.

    >>> list(metric_keys(Settings((2,), (1.0,)), 4))
    ['accuracy', 'pass@2', 'G-Pass@2_1.0', 'mG-Pass@2']
    """
    names = {'accuracy': ACCURACY}
    for k in settings.ks if n != 1 else ():
        names[f'pass@{k}'] = Metric.pass_at(k)
        names |= _g_pass(k, settings.thresholds)
    return names


def shown_n(counts: Counts, settings: Settings) -> int | None:
    """Return the samples a question as names of metrics have it; None where questions differ."""
    return settings.size or (next(iter(counts.sizes)) if len(counts.sizes) == 1 else None)


def headline(settings: Settings, counts: Counts) -> list[str]:
    """Return the metrics that a breakdown shows: the accuracy, and those of the largest k."""
    if max(counts.sizes) == 1:
        return list(metric_keys(settings, 1))
    return ['accuracy', *_g_pass(max(settings.ks), settings.thresholds)]


def rerun_error(histograms: Mapping[int, Floats], metric: Metric) -> float | None:
    """Compute the standard error of a score for new samples of the same questions, as in `rerun_interval`.

    Args:
        histograms: n → questions with c = 0 … n of n correct; see `subset_histograms`.
        metric: of the score.

    Returns:
        The error; None where there are more than `LARGEST_RERUN_N` samples a question.
    """
    if max(histograms) > LARGEST_RERUN_N:
        return None
    variance = sum(rerun_variance(metric, n, histogram) for n, histogram in histograms.items())
    return float(np.sqrt(variance)) / sum(float(histogram.sum()) for histogram in histograms.values())


def subset_histograms(histograms: Mapping[int, Floats], size: int) -> dict[int, Floats]:
    """Return the expected histograms of questions of which only `size` samples are kept, over all subsets.

    >>> subset_histograms({4: np.array([0.0, 0.0, 1.0, 0.0, 0.0])}, 1)
    {1: array([0.5, 0.5])}
    """
    kept = np.zeros(size + 1)
    for n, histogram in histograms.items():
        for c in np.flatnonzero(histogram).tolist():
            kept += histogram[c] * hypergeometric(n, c, size)
    return {size: kept}


def _g_pass(k: int, thresholds: Sequence[float]) -> dict[str, Metric]:
    """Return G-Pass@k at each threshold and mG-Pass@k, which says nothing for k = 1, by their names."""
    metrics = [Metric.g_pass_at(k, threshold) for threshold in thresholds]
    return {metric.name: metric for metric in (*metrics, *([Metric.mg_pass_at(k)] if k > 1 else []))}


def check_sizes(counts: Counts, settings: Settings) -> None:
    """Raise InputError where questions have too few samples for a k, N or m, or not all as many."""
    least = min(counts.sizes)
    if settings.size is None:
        counts.check_sizes()
    elif settings.size > least:
        raise InputError(f'--n {settings.size} is more than the {least} samples of a question')
    for name, values in (('k', settings.ks), ('--majority', settings.majorities)):
        if values and least and max(values) > (limit := settings.size or least):
            raise InputError(f'{name} = {max(values)} is more than the {limit} samples of a question')


def _lines(group: str, counts: Counts, ballots: Sequence[Ballot], settings: Settings) -> list[Line]:
    histograms: Mapping[int, Floats] = counts.histograms()
    if settings.size is not None:
        histograms = subset_histograms(histograms, settings.size)
    lines = []
    for name, metric in metric_keys(settings, shown_n(counts, settings)).items():
        values = counts.values(metric)
        bounds = None
        if counts.unjudged_samples and counts.unjudged is not Unjudged.LEAVE_OUT:
            low, high = (counts.values(metric, way).mean() for way in (Unjudged.WRONG, Unjudged.RIGHT))
            bounds = float(low), float(high)
        rerun = rerun_error(histograms, metric)
        interval = _interval(counts, values)
        lines.append(Line(group, len(counts), name, interval.estimate, interval, rerun, bounds))
    for m in settings.majorities:
        lines += _of_majority(group, counts, ballots, settings, m)
    if settings.agreement:
        lines += _of_agreement(group, counts, ballots, settings)
    return lines


def _interval(counts: Counts, values: Floats) -> Interval:
    clusters, sizes = counts.clusters
    sums = values if clusters is None else np.bincount(clusters, weights=values)
    return interval_of_sums(np.asarray(sums, dtype=np.float64), sizes)


def _of_majority(
    group: str, counts: Counts, ballots: Sequence[Ballot], settings: Settings, m: int
) -> list[Line]:
    """Return the lines of maj@m, and of the stability of the majority where there are k groups of m."""
    values = np.array([majority(ballot, m) for ballot in ballots])
    lines = [_line(group, counts, f'maj@{m}', values)]
    groups = [group_majorities(ballot, m) for ballot in ballots]
    least = min(number for number, _ in groups)
    for k in (k for k in settings.ks if 1 < k <= least):
        for name, metric in _g_pass(k, settings.thresholds).items():
            values = np.array([value_table(metric, number)[right] for number, right in groups])
            lines.append(_line(group, counts, f'{name} of maj@{m}', values))
    return lines


def _of_agreement(group: str, counts: Counts, ballots: Sequence[Ballot], settings: Settings) -> list[Line]:
    given = [sizes_of(ballot.votes) for ballot in ballots]
    sizes = {settings.size or sum(votes) + blank for votes, blank in given}
    shown = str(sizes.pop()) if len(sizes) == 1 else 'n'

    def mean(measure: Callable[[tuple[int, ...], int, int], float]) -> Floats:
        return np.array(
            [measure(votes, blank, settings.size or sum(votes) + blank) for votes, blank in given]
        )

    numbers = {
        f'distinct answers of {shown}': mean(distinct_answers),
        f'entropy of {shown} answers, bits': mean(answer_entropy),
    }
    return [
        _line(group, counts, f'TARa@{shown}', mean(total_agreement)),
        *(Line(group, len(counts), name, float(of.mean()), percent=False) for name, of in numbers.items()),
    ]


def _line(group: str, counts: Counts, name: str, values: Floats) -> Line:
    interval = _interval(counts, values)
    return Line(group, len(counts), name, interval.estimate, interval)
