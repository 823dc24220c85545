"""How often the intervals hold: simulated runs on populations whose true scores are known.

    python -m benchmarks.interval_coverage [--runs 2000]

For new questions: ours beside the naive ones (mean ± 1.96·SE with every row independent; the error within
questions alone). For a rerun on the same questions. For two models on the same questions. A cell that
prints an interval in less than half of the runs is marked: who sees one there was lucky.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from tabulate import tabulate

from gpassk_opencompass.uncertainty import (
    Kernel,
    compare,
    kernel_of,
    mean_interval,
    rerun_interval,
    value_table,
)
from gpassk_opencompass.uncertainty.rerun import beta_moments

POPULATIONS = {
    'U': (0.3, 0.3),
    'J, hard': (0.5, 1.5),
    'J, easy': (1.5, 0.5),
    'flat': (1.0, 1.0),
    'hard': (0.2, 1.0),
    'very hard': (0.1, 1.5),
    'middling': (2.0, 4.0),
}
DESIGNS = {'119 × 2': (119, 2), '238': (238, 1), '134': (134, 1), '46': (46, 1), '30': (30, 1), '18': (18, 1)}
UNEQUAL = '119 × 1–4'
"""Problems with 1, 2, 3, 4, 1, 2, … questions each."""
METRICS = ('G-Pass@16_0.5', 'G-Pass@16_1.0', 'mG-Pass@16')
N, CORRELATION, SEED = 48, 0.9, 20241219


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--runs', type=int, default=2000)
    runs = parser.parse_args().runs
    started = time.perf_counter()
    generator = np.random.default_rng(SEED)
    new = [
        new_questions(generator, population, design, metric, runs)
        for population in POPULATIONS
        for design in DESIGNS
        for metric in METRICS
    ]
    # With numbers of its own, so that these rows can be made without the ones above.
    unequal = np.random.default_rng(SEED + 1)
    new += [
        new_questions(unequal, population, UNEQUAL, metric, runs)
        for population in POPULATIONS
        for metric in METRICS
    ]
    _show(f'New questions, n = {N}, {runs} runs a row', new)
    again = [
        same_questions(generator, population, questions, n, metric, runs)
        for population in ('U', 'J, hard', 'flat', 'hard')
        for questions in (238, 30)
        for n in (16, 32, 48)
        for metric in METRICS
    ]
    _show(f'A rerun on the same questions, {runs} runs a row', again)
    pairs = [
        two_models(generator, population, design, metric, runs)
        for population in ('U', 'J, easy', 'flat')
        for design in ('119 × 2', '134', '30')
        for metric in METRICS
    ]
    _show(f'Two models on the same questions, {runs} runs a row', pairs)
    kept = [row['coverage'] for row in new + again + pairs if row['printed'] >= 50]
    print(
        f'{len(kept)} rows print in at least half of the runs: coverage {min(kept):.1f} to {max(kept):.1f} %'
    )
    print(f'{time.perf_counter() - started:.0f} s')
    return 0


def new_questions(
    generator: np.random.Generator, population: str, design: str, metric: str, runs: int
) -> dict[str, object]:
    """Coverage of the population's score."""
    kernel, (a, b), versions = kernel_of(metric), POPULATIONS[population], versions_of(design)
    [truth], _ = beta_moments(kernel, np.array([a]), np.array([b]))
    values = value_table(kernel, N)
    names = np.repeat(np.arange(versions.size), versions).tolist()
    held, naive, within, printed = 0, 0, 0, 0
    for _ in range(runs):
        chances = draw_chances(generator, a, b, versions)
        counts = generator.binomial(N, chances)
        scores = values[counts]
        interval = mean_interval(scores, names)
        if not interval.refused:
            printed += 1
            held += interval.low <= truth <= interval.high
        naive += abs(scores.mean() - truth) <= 1.96 * scores.std(ddof=1) / np.sqrt(scores.size)
        within += abs(scores.mean() - truth) <= 1.96 * rerun_interval(counts, N, kernel).error
    return {
        'population': f'{population}: Beta({a}, {b})',
        'problems': design,
        'metric': metric,
        'true': 100 * truth,
        'printed': 100 * printed / runs,
        'coverage': 100 * held / printed if printed else np.nan,
        'printed and wrong': 100 * (printed - held) / runs,
        'rows independent': 100 * naive / runs,
        'within questions only': 100 * within / runs,
        'mark': '' if printed >= runs / 2 else 'rarely printed',
    }


def same_questions(
    generator: np.random.Generator, population: str, questions: int, n: int, metric: str, runs: int
) -> dict[str, object]:
    """Coverage of the score of these very questions."""
    kernel, (a, b) = kernel_of(metric), POPULATIONS[population]
    truths = value_of(kernel, generator.beta(a, b, size=questions))
    held, printed, wide = 0, 0, 0
    for _ in range(runs):
        chances = generator.beta(a, b, size=questions)
        truth = float(value_of(kernel, chances).mean())
        counts = generator.binomial(n, chances)
        interval = rerun_interval(counts, n, kernel)
        if not interval.refused:
            printed += 1
            held += interval.low <= truth <= interval.high
        wide += abs(interval.estimate - truth) <= 1.96 * mean_interval(value_table(kernel, n)[counts]).error
    return {
        'population': f'{population}: Beta({a}, {b})',
        'questions': questions,
        'n': n,
        'metric': metric,
        'true': 100 * float(truths.mean()),
        'printed': 100 * printed / runs,
        'coverage': 100 * held / printed if printed else np.nan,
        'with the error for new questions': 100 * wide / runs,
    }


def two_models(
    generator: np.random.Generator, population: str, design: str, metric: str, runs: int
) -> dict[str, object]:
    """Coverage of the difference of two models for which the same questions are hard."""
    kernel, (a, b), versions = kernel_of(metric), POPULATIONS[population], versions_of(design)
    values = value_table(kernel, N)
    names = np.repeat(np.arange(versions.size), versions).tolist()
    truth = true_difference(kernel, a, b)
    held, printed, unpaired, gain = 0, 0, 0, []
    for _ in range(runs):
        chances = draw_chances(generator, a, b, versions)
        first, second = (values[generator.binomial(N, better(chances, shift))] for shift in (0.0, 0.8))
        comparison = compare(second, first, names)
        gain.append(comparison.unpaired_error / comparison.error if comparison.error else np.nan)
        unpaired += abs(comparison.difference - truth) <= 1.96 * comparison.unpaired_error
        if not comparison.refused:
            printed += 1
            held += comparison.low <= truth <= comparison.high
    return {
        'population': f'{population}: Beta({a}, {b})',
        'problems': design,
        'metric': metric,
        'true': 100 * truth,
        'printed': 100 * printed / runs,
        'coverage': 100 * held / printed if printed else np.nan,
        'unpaired': 100 * unpaired / runs,
        'wider without pairing': f'{np.nanmedian(gain):.1f}×',
    }


def versions_of(design: str) -> NDArray[np.intp]:
    """How many questions each problem has."""
    if design == UNEQUAL:
        return 1 + np.arange(119) % 4
    problems, versions = DESIGNS[design]
    return np.full(problems, versions)


def draw_chances(
    generator: np.random.Generator, a: float, b: float, versions: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Each version of a problem has the problem's chance, or with 1 − CORRELATION one of its own."""
    shared = np.repeat(generator.beta(a, b, size=versions.size), versions)
    if versions.max() == 1:
        return shared
    own = generator.beta(a, b, size=shared.size)
    return np.where(generator.random(shared.size) < np.sqrt(CORRELATION), shared, own)


def better(chances: NDArray[np.float64], shift: float) -> NDArray[np.float64]:
    """The chances of a model that is better by `shift` on the log-odds scale."""
    odds = np.exp(shift) * chances
    return odds / (odds + 1 - chances)


def value_of(kernel: Kernel, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The true value of a question with this chance."""
    return stats.binom.pmf(np.arange(kernel.k + 1), kernel.k, chances[:, None]) @ kernel.scores()


def true_difference(kernel: Kernel, a: float, b: float) -> float:
    """By quadrature: the mean over the middles of 20,000 equal parts of the population."""
    chances = stats.beta.ppf((np.arange(20_000) + 0.5) / 20_000, a, b)
    return float((value_of(kernel, better(chances, 0.8)) - value_of(kernel, chances)).mean())


def _show(title: str, rows: list[dict[str, object]]) -> None:
    print(f'\n{title}\n')
    print(tabulate(rows, headers='keys', tablefmt='github', floatfmt='.1f'), flush=True)


if __name__ == '__main__':
    sys.exit(main())
