"""Whether a plan keeps what it says: simulated runs of the planned questions and samples, the truth known.

    python -m benchmarks.plan_hit [--runs 3000]

Planned / simulated: the half-width of the score and of the paired difference, on average over the runs that
print one; the chance that the interval leaves out 0 where the two models differ; the chance that a model
which is equal is called not worse by 4 points. Standard errors of the simulation stand behind ±. A chance
that is off by more than three of them and by more than two points is marked.

Two models are alike in one of two ways. *same or own*: a problem is as hard for one as for the other, or has
a hardness of its own for each, so few problems differ much. *all a little*: ranks of hardness correlate.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats
from tabulate import tabulate

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import Population, compare, mean_interval, value_table
from gpassk_opencompass.uncertainty.budgets import Offer, Question, offer
from gpassk_opencompass.uncertainty.rivals import Rival

from .interval_coverage import POPULATIONS, value_of

Floats = NDArray[np.float64]

SEED, CORRELATION, LEVEL = 20241219, 0.9, 0.95
MOST_ERRORS, MOST_OFF = 3.0, 0.02


class Case(NamedTuple):
    """What is planned."""

    population: str
    problems: int
    translations: int
    n: int
    likeness: float
    difference: float = 0.05
    metric: str = 'mG-Pass@16'
    alike: str = 'same or own'


class Simulated(NamedTuple):
    """Means over runs, and their standard errors."""

    half: tuple[float, float]
    paired: tuple[float, float]
    decides: tuple[float, float]
    not_worse: tuple[float, float]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--runs', type=int, default=3000, help='simulated runs a row (default: 3000)')
    runs = parser.parse_args().runs
    print(f'{runs} runs a row; likeness and difference are those of the true values\n')
    print(tabulate([row(case, runs) for case in cases()], headers='keys', tablefmt='github'), flush=True)


def cases() -> Iterator[Case]:
    """Populations, few and many problems, few and many samples, models more and less alike."""
    for n in (16, 48):
        yield Case('U', 119, 2, n, 0.8)
        yield Case('U', 119, 2, n, 0.95)
        yield Case('J, hard', 119, 2, n, 0.8)
    for problems in (30, 60, 134, 500):
        yield Case('U', problems, 1, 48, 0.8)
    for population in ('J, easy', 'flat', 'middling'):
        yield Case(population, 134, 1, 32, 0.8)
    yield Case('flat', 134, 1, 48, 0.95)
    yield Case('U', 134, 1, 4, 0.8, metric='mG-Pass@4')
    yield Case('U', 134, 1, 1, 0.8, metric='accuracy')
    yield Case('hard', 500, 1, 32, 0.8, 0.02)
    for population, problems, n in (('U', 30, 48), ('U', 119, 48), ('flat', 134, 32), ('J, hard', 119, 16)):
        yield Case(population, problems, 1, n, 0.8, alike='all a little')
    yield Case('U', 119, 1, 48, 0.95, alike='all a little')


def row(case: Case, runs: int) -> dict[str, Any]:
    """Of the table."""
    own, other, share = models(case)
    metric = Metric.parse(case.metric)
    asked = Question(metric, LEVEL, case.difference, 0.04)
    questions = case.problems * case.translations
    apart = offer(own, Rival(other, case.likeness), asked, questions, case.n)
    equal = offer(own, Rival(own, case.likeness), asked, questions, case.n)
    found = simulate(np.random.default_rng(SEED), case, (own, other), share, runs)
    told = {
        'chances': f'{case.population}: Beta({own.a:g}, {own.b:g})',
        'problems': f'{case.problems}' + (f' × {case.translations}' if case.translations > 1 else ''),
        'metric': case.metric,
        'n': case.n,
        'alike': f'{case.likeness:g}, {case.alike}',
        '± score': _widths(apart.half_width, found.half),
        '± difference': _widths(apart.paired, found.paired),
        'finds': f'{100 * asked.difference:g}: ' + _chances(apart.decides, found.decides),
        'not worse by 4': _chances(equal.not_worse, found.not_worse),
    }
    return {**told, 'mark': _mark(apart, equal, found)}


def models(case: Case) -> tuple[Population, Population, float]:
    """Two populations that differ by `difference`, and how often they share a problem's rank."""
    metric = Metric.parse(case.metric)
    a, b = POPULATIONS[case.population]
    own = Population(a, b, case.translations, CORRELATION)
    mean = own.moments(metric, metric.k)[0]

    def lacking(log: float) -> float:
        other = Population(a, b * math.exp(log), case.translations, CORRELATION)
        return other.moments(metric, metric.k)[0] - mean - case.difference

    other = Population(a, b * math.exp(optimize.brentq(lacking, -3, 3)), case.translations, CORRELATION)
    return own, other, _share(metric, (own, other), case)


def _share(metric: Metric, pair: tuple[Population, Population], case: Case) -> float:
    """The chance of one place for both, or the correlation of normal scores, that gives the likeness."""
    z = stats.norm.ppf((np.arange(400) + 0.5) / 400)
    first, second = (value_of(metric, stats.beta.ppf(stats.norm.cdf(z), one.a, one.b)) for one in pair)
    if case.alike == 'same or own':
        return case.likeness / float(np.corrcoef(first, second)[0, 1])

    def lacking(correlation: float) -> float:
        places = stats.norm.cdf(correlation * z[:, None] + math.sqrt(1 - correlation**2) * z)
        other = np.interp(places, stats.norm.cdf(z), second)
        product = (first - first.mean()) @ (other.mean(1) - other.mean()) / z.size
        return float(product / (first.std() * other.std())) - case.likeness

    return float(optimize.brentq(lacking, 0.1, 1 - 1e-9))


def simulate(
    generator: np.random.Generator,
    case: Case,
    pair: tuple[Population, Population],
    share: float,
    runs: int,
) -> Simulated:
    """Draw both models anew in each run; the second is the better one, and a third equals the first."""
    metric = Metric.parse(case.metric)
    values, level = value_table(metric, case.n), _share(metric, (pair[0], pair[0]), case)
    names = np.repeat(np.arange(case.problems), case.translations).tolist()
    halves, widths, decided, spared = [], [], [], []
    for _ in range(runs):
        ranks = np.stack(paired_ranks(generator, case, share))
        equal = paired_ranks(generator, case, level)
        first, second = (
            values[generator.binomial(case.n, stats.beta.ppf(u, one.a, one.b))]
            for u, one in zip(ranks, pair, strict=True)
        )
        old, new = (
            values[generator.binomial(case.n, stats.beta.ppf(u, pair[0].a, pair[0].b))] for u in equal
        )
        single, found = mean_interval(first, names, LEVEL), compare(second, first, names, LEVEL)
        inner = compare(new, old, names, 2 * LEVEL - 1)
        halves.append((single.high - single.low) / 2)
        widths.append((found.high - found.low) / 2)
        decided.append(float(found.low > 0))
        spared.append(float(inner.low > -0.04))
    return Simulated(*(_mean(np.array(one)) for one in (halves, widths, decided, spared)))


def paired_ranks(generator: np.random.Generator, case: Case, share: float) -> tuple[Floats, Floats]:
    """The places of all questions in the populations of two models, from 0 to 1; `share`: of `_share`."""
    first, other = _ranks(generator, case), _ranks(generator, case)
    if case.alike == 'same or own':
        same = np.repeat(generator.random(case.problems) < share, case.translations)
        return first, np.where(same, first, other)
    z, own = stats.norm.ppf(first), stats.norm.ppf(other)
    return first, np.asarray(stats.norm.cdf(share * z + math.sqrt(1 - share**2) * own))


def _ranks(generator: np.random.Generator, case: Case) -> Floats:
    """Each version of a problem has the problem's place, or with 1 − √CORRELATION one of its own."""
    shared = np.repeat(generator.random(case.problems), case.translations)
    if case.translations == 1:
        return shared
    return np.where(
        generator.random(shared.size) < math.sqrt(CORRELATION), shared, generator.random(shared.size)
    )


def _mean(values: Floats) -> tuple[float, float]:
    there = values[np.isfinite(values)]
    if there.size < 2:
        return math.nan, math.nan
    return float(there.mean()), float(there.std(ddof=1) / math.sqrt(there.size))


def _widths(planned: float, found: tuple[float, float]) -> str:
    return f'{100 * planned:.2f} / {100 * found[0]:.2f} ± {100 * found[1]:.2f}'


def _chances(planned: float, found: tuple[float, float]) -> str:
    return f'{100 * planned:.1f} / {100 * found[0]:.1f} ± {100 * found[1]:.1f}'


def _mark(apart: Offer, equal: Offer, found: Simulated) -> str:
    pairs = ((apart.decides, found.decides), (equal.not_worse, found.not_worse))
    off = [abs(planned - mean) > max(MOST_ERRORS * error, MOST_OFF) for planned, (mean, error) in pairs]
    return 'off' if any(off) else ''


if __name__ == '__main__':
    main()
