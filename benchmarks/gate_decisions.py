"""How often a gate decides falsely, and how often it decides at all: simulated pairs of runs, truth known.

    python -m benchmarks.gate_decisions [--runs 1000] [--only false together same power]

A decision is false where it says *better* or *worse* of two that are equal, or passes one that is worse by
the margin. At most 5 % may be, and 2.5 % to each side. A share above that by more than twice its error is
marked with *. –: the old model has no more to lose than the margin.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats
from tabulate import tabulate

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import (
    Decision,
    Decisions,
    Outcome,
    PairedRuns,
    decide,
    decide_all,
    value_table,
)
from gpassk_opencompass.uncertainty.rerun import rerun_variance

from .interval_coverage import POPULATIONS, better, draw_chances, names_of, value_of, versions_of

Floats = NDArray[np.float64]

PROMISED, SEED, MARGIN = 5.0, 20241219, 0.02

TOGETHER_MARGIN = 0.10
"""Of three benchmarks, of which one has 30 problems: with a smaller one it would decide hardly anything."""

METRIC = Metric.parse('mG-Pass@16')

DESIGNS = ('119 × 2', '60', '30')
"""Source problems, and languages of each."""

SAMPLES = (16, 48)
"""Samples a question."""

FALL = -4.0
"""Where a model collapses, on the log-odds scale."""

MOVED = (Outcome.BETTER, Outcome.WORSE)


class Case(NamedTuple):
    """Two models on one benchmark."""

    population: str
    """One of `interval_coverage.POPULATIONS`: the old model's chances of a right answer."""
    problems: str
    n: int
    kind: str = 'alike'
    """One of `KINDS`: how the new model differs from question to question."""
    difference: float = 0.0
    """New − old, truly."""


class Kind(NamedTuple):
    """How a new model differs: on a share of the problems it collapses, elsewhere it is shifted.

    jitter: standard deviation of the shift between problems, on the log-odds scale.
    """

    collapse: float = 0.0
    jitter: float = 0.0


KINDS = {
    'alike': Kind(),
    'own strengths': Kind(jitter=1.0),
    'collapse 5 %': Kind(collapse=0.05),
    'collapse 10 %': Kind(collapse=0.10),
}


def main() -> None:
    """Print the tables."""
    tables: dict[str, Callable[[int], Iterator[dict[str, str]]]] = {
        'false': false_rows,
        'together': together_rows,
        'same': same_rows,
        'power': power_rows,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--runs', type=int, default=1000, help='simulated pairs a cell (default: 1000)')
    parser.add_argument('--only', nargs='+', choices=tables, default=list(tables), help='these tables')
    options = parser.parse_args()
    for name in options.only:
        print(f'\n{name}, {options.runs} pairs a cell\n', flush=True)
        rows = list(tables[name](options.runs))
        print(tabulate(rows, headers='keys', tablefmt='github', disable_numparse=True), flush=True)


def false_rows(runs: int) -> Iterator[dict[str, str]]:
    """One benchmark, new questions: every population for models that are alike, and unlike ones."""
    cases = [(population, 'alike') for population in POPULATIONS]
    cases += [('U', kind) for kind in KINDS if kind != 'alike']
    for (population, kind), problems, n in product(cases, DESIGNS, SAMPLES):
        equal = Case(population, problems, n, kind)
        worse = equal._replace(difference=-MARGIN)
        found = outcomes(equal, runs)
        yield {
            'new model': kind,
            'chances': _population(population),
            'problems': problems,
            'n': str(n),
            'equal: better': _share(found[Outcome.BETTER], runs, PROMISED / 2),
            'equal: worse': _share(found[Outcome.WORSE], runs, PROMISED / 2),
            'worse by the margin: passes': _share(_passing(outcomes(worse, runs)), runs)
            if possible(worse)
            else '–',
        }


def together_rows(runs: int) -> Iterator[dict[str, str]]:
    """Three benchmarks at once, one a design."""
    margin = TOGETHER_MARGIN
    truths = {
        'all equal': (0.0, 0.0, 0.0),
        'all worse by the margin': (-margin,) * 3,
        'that of 119 × 2 worse by the margin': (-margin, 0.0, 0.0),
        'that of 30 worse by the margin': (0.0, 0.0, -margin),
    }
    for (name, truth), kind, n in product(truths.items(), ('alike', 'own strengths'), SAMPLES):
        tally: Counter[str] = Counter()
        generator = np.random.default_rng(SEED)
        for _ in range(runs):
            cases = [Case('U', problems, n, kind, one) for problems, one in zip(DESIGNS, truth, strict=True)]
            found = decide_all([drawn(generator, case) for case in cases], margin)
            tally.update(_false(found, truth))
        yield {
            'truth': name,
            'new model': kind,
            'n': str(n),
            'a false row': _share(tally['row'], runs),
            'a false row, also together': _share(tally['together'], runs),
            'falsely worse': _share(tally['worse'], runs),
            'falsely passes': _share(tally['passes'], runs),
            'passes': _share(tally['passing'], runs, math.inf),
        }


def _false(found: Decisions, truth: Sequence[float]) -> Iterator[str]:
    """What of a gate is false."""
    wrong = [(_is_false(one, true), one.together) for one, true in zip(found.each, truth, strict=True)]
    if any(false and not together for false, together in wrong):
        yield 'row'
    if any(false for false, _ in wrong):
        yield 'together'
    if found.outcome is Outcome.WORSE and min(truth) >= 0:
        yield 'worse'
    if found.outcome.passes:
        yield 'passing'
        if min(truth) <= -TOGETHER_MARGIN:
            yield 'passes'


def _is_false(found: Decision, true: float) -> bool:
    """Whether what is said of one pair is not so."""
    return {
        Outcome.BETTER: true <= 0,
        Outcome.EQUIVALENT: abs(true) >= TOGETHER_MARGIN,
        Outcome.NOT_WORSE: true <= -TOGETHER_MARGIN,
        Outcome.WORSE: true >= 0,
        Outcome.NOT_DECIDED: False,
    }[found.outcome]


def same_rows(runs: int) -> Iterator[dict[str, str]]:
    """Statements on these very questions: one set of questions a row, sampled again and again."""
    for population, questions, n in product(('U', 'J, hard', 'J, easy'), (238, 30, 10), SAMPLES):
        generator = np.random.default_rng(SEED)
        old = generator.beta(*POPULATIONS[population], size=questions)
        cells = {}
        for name, difference in (('equal', 0.0), ('worse by the margin', -MARGIN)):
            new = better(old, _shift_of_these(old, difference))
            found = Counter(
                decide(_sampled(generator, new, old, n, None), MARGIN, of_new_questions=False).outcome
                for _ in range(runs)
            )
            cells[name] = found
        yield {
            'chances': _population(population),
            'questions': str(questions),
            'n': str(n),
            'equal: better or worse': _share(sum(cells['equal'][one] for one in MOVED), runs),
            'worse by the margin: passes': _share(_passing(cells['worse by the margin']), runs),
            'equal: passes': _share(_passing(cells['equal']), runs, math.inf),
        }


def power_rows(runs: int) -> Iterator[dict[str, str]]:
    """How often is decided what is true, for new questions: the new model has its own strengths, a little."""
    for population, problems, n in product(('U', 'J, hard'), DESIGNS, SAMPLES):
        row = {'chances': _population(population), 'problems': problems, 'n': str(n)}
        for kind in ('alike', 'own strengths'):
            equal = decisions(Case(population, problems, n, kind), runs)
            for margin in (0.02, 0.03, 0.05, 0.08):
                passing = sum(one.inner_low > -margin for one in equal)
                row[f'{kind}, equal: passes ±{100 * margin:g}'] = _share(passing, runs, math.inf)
            for change in (-0.03, -0.06, 0.03, 0.06):
                case = Case(population, problems, n, kind, change)
                is_so = Outcome.BETTER if change > 0 else Outcome.WORSE
                row[f'{kind}, {100 * change:+g}: {is_so.value}'] = _share(
                    outcomes(case, runs)[is_so], runs, math.inf
                )
        yield row


def outcomes(case: Case, runs: int) -> Counter[Outcome]:
    """How often each is said."""
    return Counter(one.outcome for one in decisions(case, runs))


def decisions(case: Case, runs: int) -> list[Decision]:
    """Of pairs of runs of this case."""
    generator = np.random.default_rng(SEED)
    return [decide(drawn(generator, case), MARGIN) for _ in range(runs)]


def drawn(generator: np.random.Generator, case: Case) -> PairedRuns:
    """Two runs on new questions."""
    versions = versions_of(case.problems) if '×' in case.problems else np.ones(int(case.problems), np.intp)
    old = draw_chances(generator, *POPULATIONS[case.population], versions)
    kind = KINDS[case.kind]
    shift = shift_of(case.population, case.kind, case.difference)
    falling = generator.random(versions.size) < kind.collapse
    own = shift + kind.jitter * generator.standard_normal(versions.size)
    moved = np.repeat(np.where(falling, FALL, own), versions)
    return _sampled(generator, _moved(old, moved), old, case.n, names_of(versions))


def _sampled(
    generator: np.random.Generator, new: Floats, old: Floats, n: int, problems: list[int] | None
) -> PairedRuns:
    counts = [generator.binomial(n, chances) for chances in (new, old)]
    table = value_table(METRIC, n)
    variance = sum(rerun_variance(METRIC, n, np.bincount(one, minlength=n + 1)) for one in counts)
    return PairedRuns(table[counts[0]], table[counts[1]], problems, math.sqrt(variance) / new.size)


def _moved(chances: Floats, shift: Floats) -> Floats:
    """Chances, each shifted on the log-odds scale."""
    odds = np.exp(shift) * chances
    return np.asarray(odds / (odds + (1 - chances)))


def possible(case: Case) -> bool:
    """Whether the old model has so much to lose."""
    chances = stats.beta.ppf((np.arange(4_000) + 0.5) / 4_000, *POPULATIONS[case.population])
    return _mean(chances) + case.difference > 0.001


@lru_cache
def shift_of(population: str, kind: str, difference: float) -> float:
    """The shift on the log-odds scale with which new − old is `difference`; means by quadrature."""
    collapse, jitter = KINDS[kind]
    chances = stats.beta.ppf((np.arange(4_000) + 0.5) / 4_000, *POPULATIONS[population])
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    spread = zip(nodes * jitter, weights / weights.sum(), strict=True) if jitter else [(0.0, 1.0)]
    parts = list(spread)
    before, fallen = _mean(chances), _mean(better(chances, FALL))

    def lacking(shift: float) -> float:
        elsewhere = sum(weight * _mean(better(chances, shift + node)) for node, weight in parts)
        return float((1 - collapse) * elsewhere + collapse * fallen - before - difference)

    return 0.0 if abs(lacking(0.0)) < 1e-12 else float(optimize.brentq(lacking, -12, 12))


def _shift_of_these(chances: Floats, difference: float) -> float:
    before = _mean(chances)
    return float(optimize.brentq(lambda shift: _mean(better(chances, shift)) - before - difference, -12, 12))


def _mean(chances: Floats) -> float:
    return float(value_of(METRIC, chances).mean())


def _passing(found: Counter[Outcome]) -> int:
    return sum(count for outcome, count in found.items() if outcome.passes)


def _share(count: int, runs: int, promised: float = PROMISED) -> str:
    """In percent with its standard error, marked where it is above what is promised."""
    share = count / runs
    error = math.sqrt(max(share * (1 - share), 1 / runs / 4) / runs)
    mark = ' *' if 100 * (share - 2 * error) > promised else ''
    return f'{100 * share:.1f} ± {100 * error:.1f}{mark}'


def _population(name: str) -> str:
    a, b = POPULATIONS[name]
    return f'{name}: Beta({a}, {b})'


if __name__ == '__main__':
    main()
