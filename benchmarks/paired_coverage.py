"""How often the interval of two runs on the same questions holds where one collapses on a few problems.

    python -m benchmarks.paired_coverage [--runs 2000] [--others 500]

A run that fails on a few problems which the other one solves, and does as well on the rest: what is not
among the questions cannot be seen. Ours beside Student's t alone, which is refused where fewer than six
problems, in effect, differ. `--others` is the number of runs a row of a second table: what else was tried.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from tabulate import tabulate

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import compare, value_table
from gpassk_opencompass.uncertainty.intervals import effective_number

from .interval_coverage import DESIGNS as KNOWN
from .interval_coverage import POPULATIONS, better, draw_chances, names_of, value_of

Floats = NDArray[np.float64]

DESIGNS = {'30': (30, 1), '46': KNOWN['46'], '60': (60, 1), '119': (119, 1), '119 × 2': KNOWN['119 × 2']}
SHARES = (0.04, 0.06, 0.08, 0.1, 0.12)
N, FALL, LEVEL, SEED = 48, -4.0, 0.95, 20241219
KERNEL = Metric.parse('mG-Pass@16')
VALUES: Floats = value_table(KERNEL, N)


class Case(NamedTuple):
    """One row: what happens elsewhere, the problems, and on which share of them the second run collapses."""

    elsewhere: str
    """One of `ELSEWHERE`."""
    problems: str
    share: float


def main() -> None:
    """Print one or two tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--runs', type=int, default=2000, help='simulated pairs a row (default: 2000)')
    parser.add_argument('--others', type=int, default=0, help='pairs a row of the second table (default: 0)')
    options = parser.parse_args()
    rows = [row(case, options.runs) for case in cases()]
    print(f'\nTwo runs of which one collapses, {options.runs} pairs a row\n')
    print(tabulate(rows, headers='keys', tablefmt='github', floatfmt='.1f'), flush=True)
    print(f'ours: {min(one["coverage"] for one in rows):.1f} % at least')
    if options.others:
        rows = [tried(case, options.others) for case in cases() if case.share in (0.04, 0.08)]
        print(f'\nOthers, {options.others} pairs a row: coverage / width beside ours\n')
        print(tabulate(rows, headers='keys', tablefmt='github', floatfmt='.1f'), flush=True)


def cases() -> Iterator[Case]:
    """Every population, design and share."""
    yield from (Case(*one) for one in product(ELSEWHERE, DESIGNS, SHARES))


def row(case: Case, runs: int) -> dict[str, Any]:
    """Of the table, in percent."""
    generator = np.random.default_rng(SEED)
    truth, names = true_difference(case), names_of(np.full(*DESIGNS[case.problems]))
    held, plain, wider = [], [], []
    for _ in range(runs):
        first, second = draw_pair(generator, case)
        found = compare(second, first, names)
        assert not found.refused
        held.append(found.low <= truth <= found.high)
        sums = np.bincount(names, weights=second - first)
        error = float(sums.std(ddof=1) / np.sqrt(sums.size)) / DESIGNS[case.problems][1]
        if effective_number(np.abs(sums)) >= 6:
            half = float(stats.t.ppf((1 + LEVEL) / 2, sums.size - 1)) * error
            plain.append(abs(found.difference - truth) <= half)
        wider.append(found.error / error if error else np.nan)
    share = float(np.mean(held))
    return {
        'elsewhere': case.elsewhere,
        'problems': case.problems,
        'collapse': 100 * case.share,
        'true': 100 * truth,
        'printed': 100.0,
        'coverage': 100 * share,
        '±': 100 * float(np.sqrt(share * (1 - share) / runs)),
        't alone: printed': 100 * len(plain) / runs,
        't alone: coverage': 100 * float(np.mean(plain)) if plain else np.nan,
        'wider than t': float(np.nanmedian(wider)),
    }


def draw_pair(generator: np.random.Generator, case: Case) -> tuple[Floats, Floats]:
    """The metric of both runs and each question; the second one collapses."""
    problems, versions = DESIGNS[case.problems]
    first, second, fallen = ELSEWHERE[case.elsewhere](generator, problems, versions)
    collapsed = np.repeat(generator.random(problems) < case.share, versions)
    return first, np.where(collapsed, fallen, second)


def true_difference(case: Case) -> float:
    """Second − first of the population: by quadrature, or a fall from 1 to 0 on the share."""
    if case.elsewhere != 'U':
        return -case.share
    chances = stats.beta.ppf((np.arange(20_000) + 0.5) / 20_000, *POPULATIONS['U'])
    return case.share * float((value_of(KERNEL, better(chances, FALL)) - value_of(KERNEL, chances)).mean())


def _solved(generator: np.random.Generator, problems: int, versions: int) -> tuple[Floats, Floats, Floats]:
    """Three of four problems are solved by both; on the others both have one chance; a fall is one to 0."""
    open_ = np.repeat(generator.random(problems) < 0.25, versions)
    chances = np.where(open_, np.repeat(generator.beta(3, 3, problems), versions), 1.0)
    first, second = (VALUES[generator.binomial(N, chances)] for _ in range(2))
    return first, second, first - 1


def _identical(generator: np.random.Generator, problems: int, versions: int) -> tuple[Floats, Floats, Floats]:
    """Three of four problems have one value in both runs, whatever it is; a fall is one of 1."""
    first, second, _ = _solved(generator, problems, versions)
    shift = np.where(np.repeat(generator.random(problems) < 0.75, versions), first, second)
    return first, shift, first - 1


def _same(generator: np.random.Generator, problems: int, versions: int) -> tuple[Floats, Floats, Floats]:
    """Nothing else differs."""
    first = np.repeat(generator.beta(3, 3, problems), versions)
    return first, first, first - 1


def _u(generator: np.random.Generator, problems: int, versions: int) -> tuple[Floats, Floats, Floats]:
    """Chances of Beta(0.3, 0.3); a fall is one of 4 on the log-odds scale."""
    chances = draw_chances(generator, *POPULATIONS['U'], np.full(problems, versions))
    low = better(chances, FALL)
    first, second, fallen = (VALUES[generator.binomial(N, one)] for one in (chances, chances, low))
    return first, second, fallen


ELSEWHERE: dict[str, Callable[[np.random.Generator, int, int], tuple[Floats, Floats, Floats]]] = {
    'noise on a quarter': _solved,
    '75 % identical': _identical,
    'identical': _same,
    'U': _u,
}


def tried(case: Case, runs: int) -> dict[str, Any]:
    """Of the second table: how often other intervals hold, and how wide they are beside ours."""
    generator = np.random.default_rng(SEED)
    truth, names = true_difference(case), names_of(np.full(*DESIGNS[case.problems]))
    told: dict[str, list[tuple[bool, float]]] = {}
    for _ in range(runs):
        first, second = draw_pair(generator, case)
        found = compare(second, first, names)
        means = np.bincount(names, weights=second - first) / DESIGNS[case.problems][1]
        for name, way in OTHERS.items():
            low, high = way(means, generator)
            told.setdefault(name, []).append((low <= truth <= high, (high - low) / (found.high - found.low)))
    cells = {
        name: f'{100 * np.mean([held for held, _ in one]):.1f} / {np.median([wide for _, wide in one]):.2f}'
        for name, one in told.items()
    }
    shown = {'elsewhere': case.elsewhere, 'problems': case.problems, 'collapse': 100 * case.share}
    return {**shown, **cells}


def _students(means: Floats, generator: np.random.Generator) -> tuple[float, float]:
    del generator
    return _around(means, float(stats.t.ppf((1 + LEVEL) / 2, means.size - 1)))


def _around(means: Floats, times: float, centre: float = 0.0) -> tuple[float, float]:
    error = float(means.std(ddof=1)) / np.sqrt(means.size)
    middle = float(means.mean()) + centre
    return middle - times * error, middle + times * error


def _johnsons(means: Floats, generator: np.random.Generator) -> tuple[float, float]:
    """Johnson 1978: the centre is moved by the third moment."""
    del generator
    variance = float(means.var(ddof=1))
    third = float(((means - means.mean()) ** 3).mean())
    moved = third / (6 * variance * means.size) if variance > 0 else 0.0
    return _around(means, float(stats.t.ppf((1 + LEVEL) / 2, means.size - 1)), moved)


def _halls(means: Floats, generator: np.random.Generator) -> tuple[float, float]:
    """Hall 1992: a cubic transformation of t, monotone, without its skewness."""
    del generator
    spread, count = float(means.std(ddof=1)), means.size
    skew = float(((means - means.mean()) ** 3).mean()) / spread**3 if spread > 0 else 0.0
    if abs(skew) < 1e-6:
        return _students(means, np.random.default_rng())
    times = float(stats.t.ppf((1 + LEVEL) / 2, count - 1)) / np.sqrt(count)
    ends = [3 / skew * (np.cbrt(1 + skew * (x - skew / (6 * count))) - 1) for x in (times, -times)]
    return float(means.mean() - spread * ends[0]), float(means.mean() - spread * ends[1])


def _bootstrap_t(means: Floats, generator: np.random.Generator) -> tuple[float, float]:
    """Efron: quantiles of the t of 1,000 resamples."""
    drawn = means[generator.integers(means.size, size=(1000, means.size))]
    errors = drawn.std(axis=1, ddof=1)
    ts = np.where(errors > 1e-12, (drawn.mean(1) - means.mean()) / np.maximum(errors, 1e-12), 0.0)
    low, high = np.quantile(ts, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    spread = float(means.std(ddof=1))
    return float(means.mean() - high * spread), float(means.mean() - low * spread)


def _betting(means: Floats, generator: np.random.Generator) -> tuple[float, float]:
    """Waudby-Smith and Ramdas 2024: hedged capital with predictable bets, on (1 + difference)/2 in [0, 1]."""
    scaled, alpha, count = (1 + generator.permutation(means)) / 2, 1 - LEVEL, means.size
    steps = np.arange(1, count + 1)
    middle = (0.5 + np.cumsum(scaled)) / (1 + steps)
    squares = (0.25 + np.cumsum((scaled - middle) ** 2)) / (1 + steps)
    bets = np.sqrt(2 * np.log(2 / alpha) / (count * np.r_[0.25, squares[:-1]]))
    grid = np.linspace(0.0005, 0.9995, 1000)[:, None]
    up = np.log1p(np.minimum(bets, 0.75 / grid) * (scaled - grid)).cumsum(1).max(1)
    down = np.log1p(-np.minimum(bets, 0.75 / (1 - grid)) * (scaled - grid)).cumsum(1).max(1)
    kept = grid[np.maximum(up, down) < np.log(2 / alpha), 0]
    return 2 * float(kept.min()) - 1, 2 * float(kept.max()) - 1


OTHERS = {
    "Student's t": _students,
    'Johnson': _johnsons,
    'Hall': _halls,
    'bootstrap-t': _bootstrap_t,
    'betting': _betting,
}


if __name__ == '__main__':
    main()
