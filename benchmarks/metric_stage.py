"""How fast is the step from labels to G-Pass@k, against OpenCompass's own functions?

    python -m benchmarks.metric_stage            # 238 × 48, 10,000 × 64, 1,000,000 × 128
    python -m benchmarks.metric_stage --quick    # OpenCompass on fewer questions, scaled up

The same labels for both, and every mean is compared. Ours is timed from the n × Q labels to all means.
OpenCompass's functions are given the counts, question by question; its grouping, dictionaries and scoring of
texts are left out. The floor reads every label once, in words of 8 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpassk_opencompass.metrics import (
    DEFAULT_THRESHOLDS,
    Metric,
    metric_means,
    metric_names,
    metric_table,
)

from .made import K_LIST, draw_labels
from .measuring import Cost, cost, progress, unwarned
from .sections import Section, Size, added, duration, headline, main, megabytes, times

CASES: Mapping[Size, tuple[tuple[int, int], ...]] = {
    'tiny': ((10, 16),),
    'quick': ((238, 48), (10_000, 64), (1_000_000, 128)),
    'full': ((238, 48), (10_000, 64), (1_000_000, 128)),
}
"""(questions, n)"""

THEIR_QUESTIONS: Mapping[Size, int] = {'tiny': 10, 'quick': 1_000, 'full': 10_000}
"""The most questions that OpenCompass is given; its time is scaled up to all."""

REPEATS = 7
TOLERANCE = 1e-10

Labels = NDArray[np.bool_]
Means = dict[str, float]


class Row(NamedTuple):
    """What one case cost."""

    questions: int
    n: int
    first: Cost
    again: Cost
    floor: Cost
    opencompass: Cost


def measure(size: Size) -> Section:
    """Every case of this size."""
    with unwarned():
        from opencompass.openicl.icl_evaluator import icl_base_evaluator as opencompass
    labels = {case: draw_labels(*case) for case in CASES[size]}
    parts = {(q, n): counts_of(labels[q, n][:, : THEIR_QUESTIONS[size]]).tolist() for q, n in labels}
    rows = [_row(case, labels[case], counts, opencompass) for case, counts in parts.items()]
    return _section(rows, THEIR_QUESTIONS[size])


def _row(case: tuple[int, int], labels: Labels, counts: Sequence[int], opencompass: Any) -> Row:
    questions, n = case
    progress(f'metric stage: {questions:,} × {n}')
    ours = metric_means(metric_table(n, K_LIST), counts)
    scale = questions / len(counts)
    theirs = cost(partial(opencompass_stage, opencompass, n, counts))
    difference = max(abs(ours[name] - theirs.value[name]) for name in metric_names(K_LIST))
    if difference > TOLERANCE:
        raise RuntimeError(f'{questions} × {n}: the results differ by {difference}')
    return Row(
        questions,
        n,
        cost(partial(our_stage, labels)),
        cost(partial(our_stage, labels), warm=1, repeats=REPEATS),
        cost(partial(_read, labels), warm=1, repeats=REPEATS),
        theirs.scaled(scale),
    )


def our_stage(labels: Labels) -> Means:
    """All means of n × Q labels."""
    return metric_means(metric_table(len(labels), K_LIST), counts_of(labels))


def counts_of(labels: Labels) -> NDArray[Any]:
    """c of each question."""
    counts: NDArray[Any] = labels.view(np.uint8).sum(axis=0, dtype=np.min_scalar_type(len(labels)))
    return counts


def opencompass_stage(opencompass: Any, n: int, counts: Sequence[int]) -> Means:
    """The same means by the functions that its evaluators call."""
    details = []
    for c in counts:
        detail = {}
        for k in K_LIST:
            for threshold in DEFAULT_THRESHOLDS:
                value = opencompass.compute_g_pass_at_k(n=n, c=c, k=k, t=threshold)
                detail[Metric.g_pass_at(k, threshold).name] = value
            detail[Metric.mg_pass_at(k).name] = opencompass.compute_mg_pass_at_k(n=n, c=c, k=k)
        details.append(detail)
    return {name: float(np.mean([detail[name] for detail in details])) for name in details[0]}


def _read(labels: Labels) -> int:
    flat = labels.reshape(-1)
    return int(flat[: flat.size // 8 * 8].view(np.uint64).max())


def _section(rows: list[Row], most: int) -> Section:
    last = rows[-1]
    task = f'Metric stage, {last.questions:,} × {last.n}'
    note = (
        f'k = {list(K_LIST)}, τ = {list(DEFAULT_THRESHOLDS)} and mG-Pass@k; all means agree to {TOLERANCE}. '
        f'"Then": median of {REPEATS}. OpenCompass was timed on at most {most:,} questions, scaled up.'
    )
    return Section(
        'Metric stage',
        'From the labels of n × Q samples to all means, beside the functions that OpenCompass '
        'calls for each question. Floor: reading every label once.',
        [
            'questions × n',
            'first call',
            'then',
            'OpenCompass',
            'OpenCompass / ours',
            'ours / floor',
            'memory, ours',
            'OpenCompass',
        ],
        [_cells(row) for row in rows],
        [note],
        [headline(task, 'OpenCompass', last.again, last.opencompass)],
    )


def _cells(row: Row) -> list[str]:
    return [
        f'{row.questions:,} × {row.n}',
        duration(row.first.cpu),
        duration(row.again.cpu),
        duration(row.opencompass.cpu),
        times(row.opencompass.cpu / row.again.cpu),
        times(row.again.cpu / row.floor.cpu),
        added(row.first),
        megabytes(row.opencompass),
    ]


if __name__ == '__main__':
    main(measure, __doc__)
