"""How far the metrics that came after G-Pass@k can be trusted: simulated runs whose true values are known.

    python -m benchmarks.later_metrics [--runs 500]

Five tables: what estimates of Cover@τ are off on average; how often the intervals of Cover@τ, consistency@2
(with it C_out and std@m, which follow from it) and Bayes@n hold, for new questions and for the same ones
again; what the posterior interval of Bayes@n would cover without its rule; and how often the whole curve of
the tail profile lies in its band. After each share its Monte Carlo standard error. A cell that prints an
interval in less than half of the runs shows –.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from tabulate import tabulate

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import Interval, stability, tail_profile
from gpassk_opencompass.uncertainty.rerun import beta_moments
from gpassk_opencompass.uncertainty.stability import MOST_SHIFT, fitted_cover

from .interval_coverage import POPULATIONS, draw_chances, names_of, versions_of

Floats = NDArray[np.float64]
Row = dict[str, Any]

SEED, THRESHOLDS, K = 20251009, (0.5, 0.8), 16
DESIGNS = ('119 × 2', '238', '46', '30')
ATOMS = 'atoms: 30 % at 0, 30 % at 1, else Beta(2, 2)'


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--runs', type=int, default=500, help='simulated runs a row (default: 500)')
    runs = parser.parse_args().runs
    for title, table in (
        ('Cover@τ: estimate less truth, points', bias_rows),
        ('Coverage, percent', coverage_rows),
        ('Coverage of Cover@τ where it is hardest, percent', edge_rows),
        ('The posterior interval of Bayes@n with and without the rule, percent', prior_rows),
        (f'The whole tail profile, k = {K}, n = 48, in its band, percent', profile_rows),
    ):
        print(f'\n{title}, {runs} runs a row\n')
        print(tabulate(table(runs), headers='keys', tablefmt='github', disable_numparse=True), flush=True)


def bias_rows(runs: int) -> list[Row]:
    """The plug-in, the mean posterior chance of Jeffreys' prior, and the fitted Beta distribution."""
    rows = []
    for population, tau, n in itertools.product([*POPULATIONS, ATOMS], THRESHOLDS, (16, 48, 96)):
        generator = np.random.default_rng(SEED)
        c = np.arange(n + 1)
        jeffreys = stats.beta.sf(tau, c + 0.5, n - c + 0.5)
        found = []
        for _ in range(max(runs // 5, 20)):
            counts = np.bincount(generator.binomial(n, _chances(generator, population, 238)), minlength=n + 1)
            plugged = counts[math.ceil(round(n * tau, 9)) :].sum() / 238
            fitted = fitted_cover(counts.astype(float), tau)
            found.append((plugged, counts @ jeffreys / 238, fitted))
        truth = _share(population, tau)
        off = 100 * (np.array(found, dtype=float) - truth)
        rows.append(
            {
                'population': _named(population),
                'τ': f'{tau}',
                'n': f'{n}',
                'Cover@τ': f'{100 * truth:.1f}',
                **{
                    name: f'{mean:+.1f} ± {error:.1f}'
                    for name, mean, error in zip(
                        ('plug-in', 'Jeffreys', 'fitted'),
                        off.mean(0),
                        off.std(0) / math.sqrt(len(off)),
                        strict=True,
                    )
                },
            }
        )
    return rows


def coverage_rows(runs: int) -> list[Row]:
    """Every population and design, with 16 and 48 samples."""
    rows = []
    for population, design, n in itertools.product(POPULATIONS, DESIGNS, (16, 48)):
        a, b = POPULATIONS[population]
        versions = versions_of(design)
        generator, names = np.random.default_rng(SEED), names_of(versions)
        tally = Tally()
        agreement = 1 - 2 * a * b / ((a + b) * (a + b + 1))
        mean = (n * a / (a + b) + 1) / (n + 2)
        for _ in range(runs):
            chances = draw_chances(generator, a, b, versions)
            row = {one.name: one for one in stability(_draw(generator, n, chances), n, names, THRESHOLDS)}
            for tau in THRESHOLDS:
                name = f'Cover@{tau}'
                tally.add(f'{name}, new', row[name].new, float(stats.beta.sf(tau, a, b)))
                tally.add(f'{name}, again', row[name].again, float((chances >= tau).mean()))
            tally.add('consistency, new', row['consistency@2'].new, agreement)
            again = float((chances**2 + (1 - chances) ** 2).mean())
            tally.add('consistency, again', row['consistency@2'].again, again)
            tally.add('Bayes, new', row[f'Bayes@{n}'].new, mean)
            tally.add('Bayes, posterior', row[f'Bayes@{n}'].again, float(chances.mean()))
        rows.append({'population': _named(population), 'problems': design, 'n': f'{n}', **tally.shown()})
    return rows


def edge_rows(runs: int) -> list[Row]:
    """Questions of which n samples cannot tell on which side of τ they are: half of them are above."""
    rows = []
    for tau, design, n in itertools.product(THRESHOLDS, ('238', '46'), (16, 48, 96)):
        row: Row = {'τ': f'{tau}', 'problems': design, 'n': f'{n}'}
        for name, pair in {
            'half 0, half τ': (0.0, tau),
            'half just below τ, half 1': (tau - 1e-6, 1.0),
        }.items():
            generator, tally = np.random.default_rng(SEED), Tally()
            for _ in range(runs):
                chances = generator.choice(pair, size=int(versions_of(design).sum()))
                [cover, *_] = stability(_draw(generator, n, chances), n, thresholds=[tau])
                tally.add(f'{name}: new', cover.new, 0.5)
                tally.add(f'{name}: again', cover.again, float((chances >= tau).mean()))
            row |= tally.shown()
        rows.append(row)
    return rows


def prior_rows(runs: int) -> list[Row]:
    """The posterior interval of 238 questions where it is always printed, and where the prior is fair."""
    rows = []
    for (name, (a, b)), n in itertools.product(POPULATIONS.items(), (16, 48)):
        generator = np.random.default_rng(SEED)
        chances = generator.beta(a, b, size=(runs, 238))
        c = generator.binomial(n, chances)
        means = (c + 1).mean(1) / (n + 2)
        errors = np.sqrt(((c + 1) * (n - c + 1)).sum(1) / (n + 3)) / (n + 2) / 238
        held = np.abs(means - chances.mean(1)) <= 1.959964 * errors
        printed = np.abs(means - c.mean(1) / n) <= MOST_SHIFT * errors
        row = {'population': f'{name}: Beta({a}, {b})', 'n': f'{n}', 'always': _percent(held.tolist())}
        often = printed.mean() >= 0.5
        row['printed'] = f'{100 * printed.mean():.0f}'
        row['where printed'] = _percent(held[printed].tolist()) if often else '–'
        rows.append(row)
    return rows


def profile_rows(runs: int) -> list[Row]:
    """All points that have a band at once, and the same with the interval of each point alone."""
    rows = []
    for population, design in itertools.product(POPULATIONS, DESIGNS):
        a, b = POPULATIONS[population]
        versions = versions_of(design)
        generator, names = np.random.default_rng(SEED), names_of(versions)
        truth = np.array(
            [
                beta_moments(Metric.g_pass_at(K, i / K), np.array([a]), np.array([b]))[0][0]
                for i in range(1, K + 1)
            ]
        )
        held, alone, points, wider = [], [], 0, []
        for _ in range(runs):
            chances = draw_chances(generator, a, b, versions)
            profile = tail_profile(
                _draw(generator, 48, chances), 48, K, names, draws=1000
            )  # a tenth: for speed
            printed = ~np.isnan(profile.low)
            points += int(printed.sum())
            if printed.any():
                inside = (profile.low <= truth) & (truth <= profile.high)
                held.append(bool(inside[printed].all()))
                lows, highs = np.array([(one.low, one.high) for one in profile.intervals]).T
                alone.append(bool(((lows <= truth) & (truth <= highs))[printed].all()))
                wider.append(profile.critical)
        rows.append(
            {
                'population': _named(population),
                'problems': design,
                'points with a band': f'{points / runs:.1f} of {K}',
                'critical value': f'{np.mean(wider):.2f}' if wider else '–',
                'band': _percent(held),
                'intervals of single points': _percent(alone),
            }
        )
    return rows


class Tally:
    """How often intervals are printed, hold, and how wide they are."""

    def __init__(self) -> None:
        self._held: defaultdict[str, list[bool]] = defaultdict(list)
        self._widths: defaultdict[str, list[float]] = defaultdict(list)
        self._runs: defaultdict[str, int] = defaultdict(int)

    def add(self, name: str, interval: Interval, truth: float) -> None:
        """Count one interval."""
        self._runs[name] += 1
        if not interval.refused:
            self._held[name].append(bool(interval.low <= truth <= interval.high))
            self._widths[name].append(interval.high - interval.low)

    def shown(self) -> dict[str, str]:
        """Coverage ± its error, and half the mean width in points."""
        return {name: self._cell(name) for name in self._runs}

    def _cell(self, name: str) -> str:
        held = self._held[name]
        if len(held) < self._runs[name] / 2:
            return '–'
        return f'{_percent(held)} ({50 * np.mean(self._widths[name]):.1f})'


def _percent(held: Sequence[bool]) -> str:
    if not held:
        return '–'
    share = float(np.mean(held))
    error = math.sqrt(max(share * (1 - share), 0.25 / len(held)) / len(held))
    return f'{100 * share:.1f} ± {100 * error:.1f}'


def _draw(generator: np.random.Generator, n: int, chances: Floats) -> NDArray[np.int64]:
    return generator.binomial(n, chances)


def _atoms(generator: np.random.Generator, questions: int) -> Floats:
    which = generator.random(questions)
    return np.where(which < 0.3, 0.0, np.where(which < 0.6, 1.0, generator.beta(2, 2, size=questions)))


def _chances(generator: np.random.Generator, population: str, questions: int) -> Floats:
    if population == ATOMS:
        return _atoms(generator, questions)
    return generator.beta(*POPULATIONS[population], size=questions)


def _share(population: str, tau: float) -> float:
    if population == ATOMS:
        return 0.3 + 0.4 * float(stats.beta.sf(tau, 2, 2))
    return float(stats.beta.sf(tau, *POPULATIONS[population]))


def _named(population: str) -> str:
    if population == ATOMS:
        return ATOMS
    a, b = POPULATIONS[population]
    return f'{population}: Beta({a}, {b})'


if __name__ == '__main__':
    main()
