"""How often intervals hold, and how wide they are, with contests as strata and without: simulated contests.

    python -m benchmarks.strata_coverage [--runs 2000]

The contests stay, their problems are drawn anew: the true score is that of these contests in these
proportions. A second table is of two runs of which one collapses in a single contest.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from tabulate import tabulate

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import compare, mean_interval, value_table

from .interval_coverage import CORRELATION, value_of

Floats = NDArray[np.float64]

CONTESTS: dict[str, tuple[tuple[int, ...], int]] = {
    '18, 44, 46, 11 (× 2)': ((18, 44, 46, 11), 2),
    '4 × 30': ((30,) * 4, 1),
    '8 × 15': ((15,) * 8, 1),
    '8 × 10': ((10,) * 8, 1),
    '4 × 10': ((10,) * 4, 1),
    '10, 10, 20, 20, 40, 60': ((10, 10, 20, 20, 40, 60), 1),
    '10, 20, 30, 40, 1': ((10, 20, 30, 40, 1), 1),
}
"""Problems of each contest, and how many languages they have."""

HARDNESS: dict[str, tuple[float, float, float]] = {
    'alike': (0.5, 0.5, 0.6),
    'moderate': (0.3, 0.7, 3.0),
    'steep': (0.05, 0.95, 3.0),
    'steep, U-shaped': (0.05, 0.95, 0.6),
    'extreme': (0.01, 0.99, 3.0),
    'hard': (0.02, 0.4, 3.0),
}
"""Mean chance of the first and of the last contest, those between at equal steps; a + b of their Betas."""

FLIPS = 'solved or not, 4 % flipped'
"""Contests are solved or not in turn, but for 4 % of their problems."""

N, SEED = 48, 20241219


class Case(NamedTuple):
    """One row."""

    contests: str
    """One of `CONTESTS`."""
    hardness: str
    """One of `HARDNESS`, or `FLIPS`."""
    metric: str = 'mG-Pass@16'


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--runs', type=int, default=2000, help='simulated runs a row (default: 2000)')
    runs = parser.parse_args().runs
    for title, rows in (
        ('Scores', [row(case, runs) for case in cases()]),
        ('Two runs of which one collapses in the first contest', [pair_row(*one, runs) for one in pairs()]),
    ):
        print(f'\n{title}, {runs} runs a row\n')
        print(tabulate(rows, headers='keys', tablefmt='github', floatfmt=('', '', '', *['.1f'] * 5, '.2f')))


def cases() -> Iterator[Case]:
    """Every contest and hardness, and some of the strictest metric."""
    yield from (Case(*one) for one in product(CONTESTS, (*HARDNESS, FLIPS)))
    for contests, hardness in product(list(CONTESTS)[:2], ('moderate', 'steep', 'extreme', 'hard')):
        yield Case(contests, hardness, 'G-Pass@16_1.0')


def pairs() -> Iterator[tuple[str, float]]:
    """Contests, and the share of the problems of the first one on which a run collapses."""
    yield from product(list(CONTESTS)[:4], (0.1, 0.3))


def row(case: Case, runs: int) -> dict[str, Any]:
    """Of the first table: how often one is printed, with strata, and holds, and how wide it is."""
    generator, truth = np.random.default_rng(SEED), true_score(case)
    names, strata = _layout(case.contests)
    held, plain, used, width = [], [], 0, []
    for _ in range(runs):
        values = draw(generator, case)
        found, without = mean_interval(values, names, strata=strata), mean_interval(values, names)
        if found.refused:
            continue
        used += bool(found.strata)
        held.append(found.low <= truth <= found.high)
        plain.append(without.low <= truth <= without.high)
        width.append((found.high - found.low) / (without.high - without.low))
    return {
        'contests': case.contests,
        'hardness': case.hardness,
        'metric': case.metric,
        'printed': 100 * len(held) / runs,
        'with strata': 100 * used / max(len(held), 1),
        **_shares(held, plain, width),
    }


def pair_row(contests: str, share: float, runs: int) -> dict[str, Any]:
    """Of the second table: both runs have one chance elsewhere."""
    generator = np.random.default_rng(SEED)
    (sizes, versions), (names, strata) = CONTESTS[contests], _layout(contests)
    truth, table = -share * sizes[0] / sum(sizes), value_table(Metric.parse('mG-Pass@16'), N)
    held, plain, width = [], [], []
    for _ in range(runs):
        chances = np.repeat(generator.beta(3, 3, sum(sizes)), versions)
        first, second = (table[generator.binomial(N, chances)] for _ in range(2))
        fallen = np.repeat((generator.random(sum(sizes)) < share) & _of_contest(sizes, 0), versions)
        second = np.where(fallen, first - 1, second)
        found, without = compare(second, first, names, strata=strata), compare(second, first, names)
        held.append(found.low <= truth <= found.high)
        plain.append(without.low <= truth <= without.high)
        width.append((found.high - found.low) / (without.high - without.low))
    shown = {'contests': contests, 'collapse': f'{100 * share:g} % of the first', 'metric': 'mG-Pass@16'}
    return {**shown, 'printed': 100.0, 'with strata': 100.0, **_shares(held, plain, width)}


def draw(generator: np.random.Generator, case: Case) -> Floats:
    """The metric of each question; translations of a problem correlate."""
    sizes, versions = CONTESTS[case.contests]
    if case.hardness == FLIPS:
        solved = np.repeat(np.arange(len(sizes)) % 2, sizes) != (generator.random(sum(sizes)) < 0.04)
        return np.repeat(solved.astype(np.float64), versions)
    a, b = (np.repeat(one, sizes) for one in betas(case))
    shared = np.repeat(generator.beta(a, b), versions)
    own = generator.beta(np.repeat(a, versions), np.repeat(b, versions))
    chances = np.where(generator.random(shared.size) < np.sqrt(CORRELATION), shared, own)
    values: Floats = value_table(Metric.parse(case.metric), N)[generator.binomial(N, chances)]
    return values


@lru_cache
def true_score(case: Case) -> float:
    """Of these contests in these proportions, by quadrature."""
    sizes, _ = CONTESTS[case.contests]
    if case.hardness == FLIPS:
        means = np.where(np.arange(len(sizes)) % 2, 0.96, 0.04)
    else:
        places, kernel = (np.arange(20_000) + 0.5) / 20_000, Metric.parse(case.metric)
        chances = [
            np.clip(stats.beta.ppf(places, a, b), 1e-9, 1 - 1e-9) for a, b in zip(*betas(case), strict=True)
        ]
        means = np.array([value_of(kernel, one).mean() for one in chances])
    return float(means @ sizes / sum(sizes))


def betas(case: Case) -> tuple[Floats, Floats]:
    """The a and the b of each contest."""
    first, last, both = HARDNESS[case.hardness]
    means = np.linspace(first, last, len(CONTESTS[case.contests][0]))
    return means * both, (1 - means) * both


def _layout(contests: str) -> tuple[list[int], list[int]]:
    """The problem and the contest of each question."""
    sizes, versions = CONTESTS[contests]
    names = np.repeat(np.arange(sum(sizes)), versions)
    return names.tolist(), np.repeat(np.arange(len(sizes)), sizes)[names].tolist()


def _of_contest(sizes: tuple[int, ...], one: int) -> NDArray[np.bool_]:
    return np.asarray(np.repeat(np.arange(len(sizes)), sizes) == one)


def _shares(held: list[bool], plain: list[bool], width: list[float]) -> dict[str, float]:
    share, other = (float(np.mean(one)) if one else np.nan for one in (held, plain))
    return {
        'coverage': 100 * share,
        '±': 100 * float(np.sqrt(share * (1 - share) / max(len(held), 1))),
        'without strata': 100 * other,
        'width': float(np.median(width)) if width else np.nan,
    }


if __name__ == '__main__':
    main()
