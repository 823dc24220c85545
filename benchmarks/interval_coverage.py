"""How often the intervals hold: simulated runs on populations whose true scores are known.

    python -m benchmarks.interval_coverage [--runs 2000] [--tables new rerun pairs]

For new questions: ours beside the naive ones (mean ± 1.96·SE with every row independent; the error within
questions alone). For a rerun on the same questions. For two models on the same questions. A cell that
prints an interval in less than half of the runs is marked: who sees one there was lucky.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from tabulate import tabulate

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import (
    Comparison,
    Interval,
    compare,
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
    'alike': (700.0, 300.0),
}
DIFFERENT = tuple(name for name in POPULATIONS if name != 'alike')
"""Of which new questions are drawn; where all are alike that makes no difference."""
DESIGNS = {'119 × 2': (119, 2), '238': (238, 1), '134': (134, 1), '46': (46, 1), '30': (30, 1), '18': (18, 1)}
UNEQUAL = '119 × 1–4'
"""Problems with 1, 2, 3, 4, 1, 2, … questions each."""
Row = dict[str, Any]

METRICS = ('G-Pass@16_0.5', 'G-Pass@16_1.0', 'mG-Pass@16')
N, CORRELATION, SEED = 48, 0.9, 20241219


def main() -> None:
    """Print three tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--runs', type=int, default=2000, help='simulated runs a row (default: 2000)')
    names = ('new', 'rerun', 'pairs')
    parser.add_argument('--tables', nargs='+', choices=names, default=names, help='default: all three')
    options = parser.parse_args()
    runs, kept = options.runs, []
    for name, title, table in (
        ('new', f'New questions, n = {N}', new_rows),
        ('rerun', 'A rerun on the same questions', rerun_rows),
        ('pairs', 'Two models on the same questions', pair_rows),
    ):
        if name not in options.tables:
            continue
        rows = table(np.random.default_rng(SEED), runs)
        kept += [row['coverage'] for row in rows if not row['mark']]
        print(f'\n{title}, {runs} runs a row\n')
        print(tabulate(rows, headers='keys', tablefmt='github', floatfmt='.1f'), flush=True)
    print(f'{len(kept)} rows print in at least half of the runs: {min(kept):.1f} to {max(kept):.1f} %')


def new_rows(generator: np.random.Generator, runs: int) -> list[Row]:
    """Every population, design and metric."""
    rows = [new_questions(generator, *case, runs) for case in itertools.product(DIFFERENT, DESIGNS, METRICS)]
    # With numbers of its own, so that these rows can be made without the ones above.
    unequal = np.random.default_rng(SEED + 1)
    return rows + [
        new_questions(unequal, population, UNEQUAL, metric, runs)
        for population, metric in itertools.product(DIFFERENT, METRICS)
    ]


def rerun_rows(generator: np.random.Generator, runs: int) -> list[Row]:
    """Some populations, many and few questions, few and many samples."""
    populations = ('U', 'J, hard', 'flat', 'hard', 'middling', 'alike')
    cases = itertools.product(populations, (238, 30), (16, 32, 48), METRICS)
    return [same_questions(generator, *case, runs) for case in cases]


def pair_rows(generator: np.random.Generator, runs: int) -> list[Row]:
    """Some populations and designs."""
    cases = itertools.product(('U', 'J, easy', 'flat'), ('119 × 2', '134', '30'), METRICS)
    return [two_models(generator, *case, runs) for case in cases]


class Tally:
    """How often an interval is printed and holds, and how often others hold."""

    def __init__(self, runs: int, truth: float) -> None:
        self._runs, self._truth = runs, truth
        self._held = self._printed = 0
        self._others: Counter[str] = Counter()

    def printed(self, interval: Interval | Comparison, truth: float | None = None) -> None:
        """Count ours; `truth` where it differs from run to run."""
        if not interval.refused:
            self._printed += 1
            self._held += interval.low <= (self._truth if truth is None else truth) <= interval.high

    def other(self, name: str, estimate: float, error: float, truth: float | None = None) -> None:
        """Count estimate ± 1.96·error."""
        self._others[name] += bool(abs(estimate - (self._truth if truth is None else truth)) <= 1.96 * error)

    def row(self, population: str, metric: str, **more: object) -> Row:
        """Of the table, in percent."""
        a, b = POPULATIONS[population]
        return {
            'population': f'{population}: Beta({a}, {b})',
            **more,
            'metric': metric,
            'true': 100 * self._truth,
            'printed': 100 * self._printed / self._runs,
            'coverage': 100 * self._held / self._printed if self._printed else np.nan,
            'printed and wrong': 100 * (self._printed - self._held) / self._runs,
            **{name: 100 * held / self._runs for name, held in self._others.items()},
            'mark': '' if self._printed >= self._runs / 2 else 'rarely printed',
        }


def new_questions(
    generator: np.random.Generator, population: str, design: str, metric: str, runs: int
) -> Row:
    """Coverage of the population's score."""
    kernel, (a, b), versions = Metric.parse(metric), POPULATIONS[population], versions_of(design)
    [truth], _ = beta_moments(kernel, np.array([a]), np.array([b]))
    values, names = value_table(kernel, N), names_of(versions)
    tally = Tally(runs, truth)
    for _ in range(runs):
        counts = generator.binomial(N, draw_chances(generator, a, b, versions))
        scores = values[counts]
        tally.printed(mean_interval(scores, names))
        tally.other('rows independent', scores.mean(), scores.std(ddof=1) / np.sqrt(scores.size))
        tally.other('within questions only', scores.mean(), rerun_interval(counts, N, kernel).error)
    return tally.row(population, metric, problems=design)


def same_questions(
    generator: np.random.Generator, population: str, questions: int, n: int, metric: str, runs: int
) -> Row:
    """Coverage of the score of these very questions."""
    kernel, (a, b) = Metric.parse(metric), POPULATIONS[population]
    values = value_table(kernel, n)
    tally = Tally(runs, float(value_of(kernel, generator.beta(a, b, size=questions)).mean()))
    for _ in range(runs):
        chances = generator.beta(a, b, size=questions)
        truth = float(value_of(kernel, chances).mean())
        counts = generator.binomial(n, chances)
        interval = rerun_interval(counts, n, kernel)
        tally.printed(interval, truth)
        wide = mean_interval(values[counts]).error
        tally.other('with the error for new questions', interval.estimate, wide, truth)
    return tally.row(population, metric, questions=questions, n=n)


def two_models(generator: np.random.Generator, population: str, design: str, metric: str, runs: int) -> Row:
    """Coverage of the difference of two models for which the same questions are hard."""
    kernel, (a, b), versions = Metric.parse(metric), POPULATIONS[population], versions_of(design)
    values, names = value_table(kernel, N), names_of(versions)
    tally, gain = Tally(runs, true_difference(kernel, a, b)), []
    for _ in range(runs):
        chances = draw_chances(generator, a, b, versions)
        first, second = (values[generator.binomial(N, better(chances, shift))] for shift in (0.0, 0.8))
        comparison = compare(second, first, names)
        tally.printed(comparison)
        tally.other('unpaired', comparison.difference, comparison.unpaired_error)
        gain.append(comparison.unpaired_error / comparison.error if comparison.error else np.nan)
    row = tally.row(population, metric, problems=design)
    return {**row, 'wider without pairing': f'{np.nanmedian(gain):.1f}×'}


def names_of(versions: NDArray[np.intp]) -> list[int]:
    """The problem of each question."""
    names: list[int] = np.repeat(np.arange(versions.size), versions).tolist()
    return names


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


def better(chances: NDArray[np.float64], shift: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """The chances of a model that is better by `shift` on the log-odds scale."""
    odds: NDArray[np.float64] = np.exp(shift) * chances
    return odds / (odds + (1 - chances))  # in this order never above 1


def value_of(kernel: Metric, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The true value of a question with this chance."""
    values: NDArray[np.float64] = (
        stats.binom.pmf(np.arange(kernel.k + 1), kernel.k, chances[:, None]) @ kernel.scores()
    )
    return values


def true_difference(kernel: Metric, a: float, b: float) -> float:
    """By quadrature: the mean over the middles of 20,000 equal parts of the population."""
    chances = stats.beta.ppf((np.arange(20_000) + 0.5) / 20_000, a, b)
    return float((value_of(kernel, better(chances, 0.8)) - value_of(kernel, chances)).mean())


if __name__ == '__main__':
    main()
