"""How fast is the step from labels to G-Pass@k, against OpenCompass's own functions?

    python -m benchmarks.metric

The same labels for both, and every mean is compared. Ours is timed from the n × Q labels to all means.
OpenCompass's functions are given the counts, question by question; its grouping, dictionaries and scoring of
texts are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpassk_opencompass.metrics import DEFAULT_THRESHOLDS, Kind, Metric, metric_table, metrics_of

from .made import K_LIST, draw_labels
from .measuring import cost, progress, unwarned
from .tables import Row, Section, Size, duration, main, megabytes, overview, times

CASES = {
    'tiny': ((10, 16),),
    'quick': ((238, 48), (10_000, 64)),
    'full': ((238, 48), (10_000, 64), (1_000_000, 128)),
}
"""(questions, n)"""

THEIR_QUESTIONS = {'tiny': 10, 'quick': 1_000, 'full': 10_000}
"""The most questions that OpenCompass is given; its time is scaled up to all."""

REPEATS = 7
TOLERANCE = 1e-10
Labels = NDArray[np.bool_]


def measure(size: Size) -> Section:
    """Every case of this size."""
    with unwarned():
        from opencompass.openicl.icl_evaluator import icl_base_evaluator as opencompass
    rows: list[Row] = []
    for questions, n in CASES[size]:
        progress(f'metric: {questions:,} × {n}')
        labels = draw_labels(questions, n)
        counts = count_correct(labels)[: THEIR_QUESTIONS[size]].tolist()
        theirs = cost(partial(opencompass_means, opencompass, n, counts))
        expected = means(n, np.array(counts))
        difference = max(abs(expected[name] - theirs.value[name]) for name in map(str, metrics_of(K_LIST)))
        if difference > TOLERANCE:
            raise RuntimeError(f'{questions} × {n}: the results differ by {difference}')
        theirs = theirs.scaled(questions / len(counts))
        first = cost(partial(our_means, labels))
        again = cost(partial(our_means, labels), warm=1, repeats=REPEATS)
        row = {'questions × n': f'{questions:,} × {n}', 'first call': duration(first.cpu)}
        row |= {'then': duration(again.cpu), 'OpenCompass': duration(theirs.cpu)}
        row |= {'OpenCompass / ours': times(theirs.cpu / again.cpu)}
        rows.append(row | {'memory, ours': megabytes(first), 'OpenCompass, memory': megabytes(theirs)})
    return Section(
        'Metrics',
        'From the labels of n × Q samples to all means, beside the functions that OpenCompass calls for '
        'each question.',
        rows,
        f'k = {list(K_LIST)}, τ = {list(DEFAULT_THRESHOLDS)} and mG-Pass@k; all means agree to '
        f'{TOLERANCE}. "Then": '
        f'median of {REPEATS}. OpenCompass was timed on at most {THEIR_QUESTIONS[size]:,} questions, '
        'scaled up.',
        [overview(f'Metrics of {questions:,} × {n} labels', 'OpenCompass', again, theirs)],
    )


def count_correct(labels: Labels) -> NDArray[Any]:
    """c of each question."""
    counts: NDArray[Any] = labels.view(np.uint8).sum(axis=0, dtype=np.min_scalar_type(len(labels)))
    return counts


def our_means(labels: Labels) -> dict[str, float]:
    """All means of n × Q labels."""
    return means(len(labels), count_correct(labels))


def means(n: int, counts: NDArray[Any]) -> dict[str, float]:
    """The mean of each metric over questions, by how many have each count."""
    questions = np.bincount(counts, minlength=n + 1)
    return {name: fsum(questions * column) / counts.size for name, column in metric_table(n, K_LIST).items()}


def opencompass_means(opencompass: Any, n: int, counts: Sequence[int]) -> dict[str, float]:
    """The same means by the functions that its evaluators call."""
    details = []
    for c in counts:
        detail = {}
        for k in K_LIST:
            for threshold in DEFAULT_THRESHOLDS:
                value = opencompass.compute_g_pass_at_k(n=n, c=c, k=k, t=threshold)
                detail[str(Metric(Kind.G_PASS, k, threshold))] = value
            detail[str(Metric(Kind.MG_PASS, k))] = opencompass.compute_mg_pass_at_k(n=n, c=c, k=k)
        details.append(detail)
    return {name: float(np.mean([detail[name] for detail in details])) for name in details[0]}


if __name__ == '__main__':
    main(measure, __doc__)
