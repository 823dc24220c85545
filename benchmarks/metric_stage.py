"""How fast is the step from labels to G-Pass@k, against the per-question functions of OpenCompass?

    python benchmarks/metric_stage.py            # every question through OpenCompass's functions: a minute
    python benchmarks/metric_stage.py --quick    # of the large case only 500 questions, scaled up

One process, the same labels for both, and every mean is compared. Ours is timed from the n × Q labels to all
means. OpenCompass is given the counts, and its grouping and dictionaries are left out.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpassk_opencompass.metrics import (
    DEFAULT_THRESHOLDS,
    g_pass_name,
    metric_means,
    metric_names,
    metric_table,
    mg_pass_name,
)

K_LIST = (4, 8, 16)
CASES = {(238, 48): True, (10_000, 64): True, (1_000_000, 128): False}
"""(questions, n): whether OpenCompass takes part; the last case would take it most of an hour."""

QUICK_QUESTIONS = 500
REPEATS = 7
TOLERANCE = 1e-10

Labels = NDArray[np.bool_]
Means = dict[str, float]


class Row(NamedTuple):
    """One case, in seconds; `theirs` and `difference` are None where OpenCompass took no part."""

    questions: int
    n: int
    first: float
    again: float
    theirs: float | None = None
    difference: float | None = None
    timed_questions: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--quick', action='store_true', help='time OpenCompass on a part of the large case')
    quick = parser.parse_args().quick
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        from opencompass.openicl.icl_evaluator import icl_base_evaluator as opencompass
    rows = [
        measure(questions, n, opencompass if both else None, quick) for (questions, n), both in CASES.items()
    ]
    print('\n'.join(report(rows)))
    if any(row.difference is not None and row.difference > TOLERANCE for row in rows):
        sys.exit(f'the results differ by more than {TOLERANCE}')


def measure(questions: int, n: int, opencompass: Any, quick: bool) -> Row:
    labels = draw_labels(questions, n)
    first, _ = timed(lambda: our_stage(labels))  # builds the tables of this n
    again = statistics.median(timed(lambda: our_stage(labels))[0] for _ in range(REPEATS))
    if opencompass is None:
        return Row(questions, n, first, again)
    part = labels[:, :QUICK_QUESTIONS] if quick and questions > QUICK_QUESTIONS else labels
    counts = part.sum(axis=0).tolist()
    seconds, means = timed(lambda: their_stage(opencompass, n, counts))
    ours = our_stage(part)
    difference = max(abs(ours[name] - means[name]) for name in metric_names(K_LIST))
    return Row(questions, n, first, again, seconds * questions / len(counts), difference, len(counts))


def draw_labels(questions: int, n: int) -> Labels:
    """n × Q labels, one row a replica, of questions that are mostly easy or hard."""
    rng = np.random.default_rng(42)
    difficulty = rng.beta(0.5, 0.5, questions).astype(np.float32)
    labels = np.empty((n, questions), dtype=np.bool_)
    for replica in labels:
        np.less(rng.random(questions, dtype=np.float32), difficulty, out=replica)
    return labels


def our_stage(labels: Labels) -> Means:
    n = len(labels)
    counts = labels.view(np.uint8).sum(axis=0, dtype=np.min_scalar_type(n))
    return metric_means(metric_table(n, K_LIST), counts)


def their_stage(opencompass: Any, n: int, counts: list[int]) -> Means:
    details = []
    for c in counts:
        detail = {}
        for k in K_LIST:
            for threshold in DEFAULT_THRESHOLDS:
                value = opencompass.compute_g_pass_at_k(n=n, c=c, k=k, t=threshold)
                detail[g_pass_name(k, threshold)] = value
            detail[mg_pass_name(k)] = opencompass.compute_mg_pass_at_k(n=n, c=c, k=k)
        details.append(detail)
    return {name: float(np.mean([detail[name] for detail in details])) for name in details[0]}


def timed(work: Callable[[], Means]) -> tuple[float, Means]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def report(rows: list[Row]) -> list[str]:
    packages = ', '.join(f'{name} {version(name)}' for name in ('numpy', 'scipy', 'opencompass'))
    heads = [
        'questions × n',
        'first call',
        'then',
        'OpenCompass',
        'ratio, first',
        'ratio, then',
        'difference',
    ]
    return [
        f'k = {list(K_LIST)}, τ = {list(DEFAULT_THRESHOLDS)} and mG-Pass@k; "then": median of {REPEATS}',
        f'{processor()}, {os.cpu_count()} cores; Python {platform.python_version()}, {packages}',
        '',
        '| ' + ' | '.join(heads) + ' |',
        '| --- ' * len(heads) + '|',
        *('| ' + ' | '.join(cells(row)) + ' |' for row in rows),
        *(note for row in rows if (note := scaling_note(row))),
    ]


def cells(row: Row) -> list[str]:
    ours = [f'{row.questions:,} × {row.n}', f'{1e3 * row.first:.2f} ms', f'{1e3 * row.again:.2f} ms']
    if row.theirs is None:
        return [*ours, '–', '–', '–', '–']
    ratios = [f'{row.theirs / seconds:,.0f}×' for seconds in (row.first, row.again)]
    return [*ours, f'{row.theirs:.2f} s', *ratios, f'{row.difference:.0e}']


def scaling_note(row: Row) -> str:
    if row.timed_questions in (0, row.questions):
        return ''
    return (
        f'\nOpenCompass at {row.questions:,} × {row.n}: compared on {row.timed_questions:,} questions only, '
        f'their time multiplied by {row.questions / row.timed_questions:g}.'
    )


def processor() -> str:
    """The name of the CPU where Linux tells it, else its architecture."""
    info = Path('/proc/cpuinfo')
    lines = info.read_text(encoding='utf-8').splitlines() if info.is_file() else []
    names = [line.partition(':')[2].strip() for line in lines if line.startswith('model name')]
    return names[0] if names else platform.machine()


if __name__ == '__main__':
    main()
