"""How often a table has a false rank, and how many models it tells apart: simulated tables, truth known.

    python -m benchmarks.rank_coverage [--runs 1000] [--models 2 8 30]

A table has a false rank if one of its intervals leaves out a rank that is true; equal models share all of
theirs. At most 5 % of tables may have one. *Told apart*: of all pairs of models that do differ, how many the
ranks separate. A share above 5 % by more than twice its error is marked.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats
from tabulate import tabulate

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import all_pairs, value_table

from .interval_coverage import POPULATIONS, better, draw_chances, names_of, value_of, versions_of

Floats = NDArray[np.float64]

PROMISED, SEED = 5.0, 20241219

DESIGNS = ('24', '30', '60', '119 × 2', '238')
"""Source problems, and languages of each, of the tables of equal models; `Case.problems` takes others."""

FALL = -4.0
"""Where a model collapses, on the log-odds scale."""


class Case(NamedTuple):
    """One row: what the models have in common and what not."""

    models: str
    """One of `MODELS`."""
    population: str
    """One of `interval_coverage.POPULATIONS`: the chances of a right answer."""
    problems: str
    count: int
    """Of models."""
    metric: str = 'mG-Pass@16'
    n: int = 48
    """Samples a question."""


Draw = Callable[[np.random.Generator, Case], Floats]
"""Chances of all models, shape (models, questions)."""


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--runs', type=int, default=1000, help='simulated tables a row (default: 1000)')
    parser.add_argument('--models', type=int, nargs='+', help='only tables of so many models')
    options = parser.parse_args()
    runs = options.runs
    for title, every in (('Equal models', equal()), ('Models that differ', different())):
        cases = [case for case in every if not options.models or case.count in options.models]
        print(f'\n{title}, {runs} tables a row\n')
        rows = [row(case, runs) for case in cases]
        print(tabulate(rows, headers='keys', tablefmt='github', floatfmt='.1f'), flush=True)


def equal() -> Iterator[Case]:
    """Nothing is to be found: all ranks are open."""
    for problems, count in product(DESIGNS, (2, 8, 30)):
        yield Case('alike', 'U', problems, count)
    for population, problems in product(('J, hard', 'J, easy'), ('24', '119 × 2')):
        yield Case('alike', population, problems, 30)
    yield Case('alike', 'U', '119 × 1–4', 30)
    for (metric, n), problems in product((('mG-Pass@15', 48), ('accuracy', 1)), ('24', '119 × 2')):
        yield Case('alike', 'U', problems, 30, metric, n)
    for models, problems in product(('own strengths', 'own collapses'), ('24', '119 × 2')):
        yield Case(models, 'U', problems, 30)
    for problems, count in product(('24', '60', '119 × 2', '238'), (2, 8)):
        yield Case('uneven', 'U', problems, count)


def different() -> Iterator[Case]:
    """Every second model is better, or is worse on few problems; those of one kind are equal."""
    for problems, count in product(DESIGNS, (2, 8, 30)):
        yield Case('better', 'U', problems, count)
    yield Case('better', 'J, hard', '119 × 2', 30)
    yield Case('better', 'U', '119 × 2', 30, 'accuracy', 1)
    for problems, count in product(('24', '60', '119 × 2'), (2, 30)):
        yield Case('collapse', 'U', problems, count)


def row(case: Case, runs: int) -> dict[str, Any]:
    """Of the table, in percent."""
    false, apart, generator = 0, 0, np.random.default_rng(SEED)
    lowest, highest = true_ranks(case)
    for _ in range(runs):
        ranks = all_pairs(draw_values(generator, case), names_of(versions(case))).ranks
        false += bool((ranks[:, 0] > lowest).any() or (ranks[:, 1] < highest).any())
        apart += int((np.minimum(ranks[:, 0], lowest) - 1).sum())
    share, pairs = false / runs, int((lowest - 1).sum())
    error = np.sqrt(max(share * (1 - share), 1 / runs / 4) / runs)
    a, b = POPULATIONS[case.population]
    return {
        'models': f'{case.count}, {case.models}',
        'chances': f'{case.population}: Beta({a}, {b})',
        'problems': case.problems,
        'metric': case.metric,
        'n': case.n,
        'false rank': 100 * share,
        '±': 100 * error,
        **({'told apart': 100 * apart / runs / pairs} if pairs else {}),
        'mark': 'above 5' if 100 * (share - 2 * error) > PROMISED else '',
    }


def draw_values(generator: np.random.Generator, case: Case) -> Floats:
    """The metric of each model and question, shape (models, questions)."""
    counts = generator.binomial(case.n, MODELS[case.models](generator, case))
    values: Floats = value_table(Metric.parse(case.metric), case.n)[counts]
    return values


def true_ranks(case: Case) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Best and worst rank that each model truly has: equal ones share theirs."""
    place = np.arange(case.count) % 2
    ahead = {'better': place, 'collapse': 1 - place}.get(case.models, np.zeros_like(place))
    first = np.array([1 + (ahead > own).sum() for own in ahead])
    last = np.array([case.count - (ahead < own).sum() for own in ahead])
    return first, last


def versions(case: Case) -> NDArray[np.intp]:
    """How many questions each problem has."""
    return (
        np.ones(int(case.problems), dtype=np.intp)
        if case.problems.isdecimal()
        else versions_of(case.problems)
    )


def _shared(generator: np.random.Generator, case: Case) -> Floats:
    return draw_chances(generator, *POPULATIONS[case.population], versions(case))


def _alike(generator: np.random.Generator, case: Case) -> Floats:
    return np.tile(_shared(generator, case), (case.count, 1))


def _own_strengths(generator: np.random.Generator, case: Case) -> Floats:
    """On a half of the problems each model has a chance of its own."""
    own = np.stack([_shared(generator, case) for _ in range(case.count)])
    return np.where(_some_problems(generator, case, 0.5), own, _shared(generator, case))


def _own_collapses(generator: np.random.Generator, case: Case) -> Floats:
    """Each model fails on a tenth of the problems, not on the same ones as another."""
    return _fallen(generator, case, np.ones(case.count, dtype=bool), 0.1, 0.0)


def _better(generator: np.random.Generator, case: Case) -> Floats:
    """Every second model is better by 0.8 on the log-odds scale, on all problems."""
    shared = _shared(generator, case)
    return np.stack([better(shared, 0.8) if place % 2 else shared for place in range(case.count)])


def _collapse(generator: np.random.Generator, case: Case) -> Floats:
    """Every second model fails on a fifth of the problems."""
    return _fallen(generator, case, np.arange(case.count) % 2 == 1, 0.2, 0.0)


def _uneven(generator: np.random.Generator, case: Case) -> Floats:
    """Every second model fails on a tenth of the problems and is better on the others: equal on average."""
    gain = _evening_gain(case.population, case.metric, 0.1)
    return _fallen(generator, case, np.arange(case.count) % 2 == 1, 0.1, gain)


MODELS: dict[str, Draw] = {
    'alike': _alike,
    'own strengths': _own_strengths,
    'own collapses': _own_collapses,
    'uneven': _uneven,
    'better': _better,
    'collapse': _collapse,
}


def _fallen(
    generator: np.random.Generator, case: Case, falling: NDArray[np.bool_], share: float, gain: float
) -> Floats:
    """`falling` models collapse on a share of the problems, each on its own, and gain on the others."""
    shared = _shared(generator, case)
    changed = np.where(_some_problems(generator, case, share), better(shared, FALL), better(shared, gain))
    return np.where(falling[:, None], changed, shared)


def _some_problems(generator: np.random.Generator, case: Case, share: float) -> NDArray[np.bool_]:
    """Which questions are of the problems that a model has drawn, shape (models, questions)."""
    sizes = versions(case)
    return np.repeat(generator.random((case.count, sizes.size)) < share, sizes, axis=1)


@lru_cache
def _evening_gain(population: str, metric: str, share: float) -> float:
    """The gain on the log-odds scale that makes up for collapses; means by quadrature."""
    chances = stats.beta.ppf((np.arange(20_000) + 0.5) / 20_000, *POPULATIONS[population])

    def lacking(gain: float) -> float:
        parts = (1 - share, gain), (share, FALL), (-1, 0.0)
        return sum(weight * _mean(metric, better(chances, shift)) for weight, shift in parts)

    return float(optimize.brentq(lacking, 0, 20))


def _mean(metric: str, chances: Floats) -> float:
    return float(value_of(Metric.parse(metric), chances).mean())


if __name__ == '__main__':
    main()
