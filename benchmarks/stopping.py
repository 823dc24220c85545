"""Sampling that stops: whether the intervals hold where it stops, and what it saves.

    python -m benchmarks.stopping [--runs 500] [--counts FILE] [TABLE …]

Simulated runs on populations whose true scores are known: a look after every 16 samples, 96 at most. Stopping
at a half-width for new questions, at a decision against another run, and at a half-width of the rerun error,
the last also with uncertain questions first. "At all looks" is whoever stops at the look that is wrong.
`--counts`: JSON, question → the share right of 8 at each of several rounds; the last ten (or five) rounds
are 80 (40) samples a question, in an order of its own in each run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from tabulate import tabulate

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import (
    Allocation,
    rerun_interval,
    uncertain_first,
    value_table,
)
from gpassk_opencompass.uncertainty.allocation import plan_by_worth
from gpassk_opencompass.uncertainty.looks import (
    canonical_correlation,
    critical_values,
    first_heavy,
)
from gpassk_opencompass.uncertainty.rerun import beta_moments

from .interval_coverage import POPULATIONS, Row, better, draw_chances, value_of
from .stopping_runs import (
    LEVEL,
    LOOKS,
    Floats,
    Integers,
    Tally,
    against,
    decides,
    narrower,
    new_questions,
    ordinary_widths,
    planned,
    planned_values,
    reordered,
    rerun_looks,
    sampled,
    values_of,
    wider,
    wrongly,
)

DESIGNS = {'119 × 2': (119, 2), '134': (134, 1), '60': (60, 1), '30': (30, 1)}
SEED = 20261123
EXACT = ('spending', 'allocation')


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('tables', nargs='*', metavar='TABLE', help=', '.join(TABLES))
    parser.add_argument('--runs', type=int, default=500, help='simulated runs a row (default: 500)')
    parser.add_argument('--counts', type=Path, metavar='FILE', help='of real rounds, for the table real')
    options = parser.parse_args()
    for name in options.tables or TABLES:
        title, table = TABLES[name]
        if name == 'real' and not options.counts:
            continue
        rows = table(np.random.default_rng(SEED), options)
        print(f'\n{title}\n' if name in EXACT else f'\n{title}, {options.runs} runs a row\n')
        print(tabulate(rows, headers='keys', tablefmt='github', floatfmt='.1f'), flush=True)


def half_width_rows(generator: np.random.Generator, options: argparse.Namespace) -> list[Row]:
    """New questions: stop 5 % above the ordinary half-width of n = 48."""
    cases = [(design, 'U', 'mG-Pass@16') for design in DESIGNS]
    cases += [('119 × 2', 'flat', 'mG-Pass@16'), ('60', 'flat', 'mG-Pass@16')]
    cases += [('60', 'J, easy', 'G-Pass@16_1.0'), ('134', 'J, hard', 'mG-Pass@16')]
    rows = []
    for design, population, key in cases:
        metric, (a, b) = Metric.parse(key), POPULATIONS[population]
        [truth], _ = beta_moments(metric, np.array([a]), np.array([b]))

        def draw(metric: Metric = metric, design: str = design, a: float = a, b: float = b) -> Floats:
            return values_of(metric, sampled(generator, chances_of(generator, design, a, b), LOOKS), LOOKS)

        found = to_width(draw, DESIGNS[design][1], LOOKS, float(truth), options.runs)
        rows.append({'problems': design, **_population(population), 'metric': key, **found})
    return rows


def real_rows(generator: np.random.Generator, options: argparse.Namespace) -> list[Row]:
    """Real samples: questions drawn with replacement, each with its samples in an order of its own."""
    rounds = json.loads(options.counts.read_text(encoding='utf-8'))
    rows = []
    for looks, key in (
        ((16, 24, 32, 40), 'mG-Pass@16'),
        ((16, 32, 48, 64, 80), 'mG-Pass@16'),
        ((16, 32, 48, 64, 80), 'G-Pass@16_1.0'),
    ):
        metric, last = Metric.parse(key), looks[-1]
        right = np.array([round(8 * sum(parts[-last // 8 :])) for parts in rounds.values()])
        truth = float(value_table(metric, last)[right].mean())
        for questions in (134, 30):

            def draw(
                metric: Metric = metric,
                right: Integers = right,
                questions: int = questions,
                looks: tuple[int, ...] = looks,
            ) -> Floats:
                counts = reordered(generator, generator.choice(right, questions), looks)
                return values_of(metric, counts, looks)

            found = to_width(draw, 1, looks, truth, options.runs)
            rows.append({'questions': questions, 'n at most': last, 'metric': key, **found})
    return rows


def to_width(draw: Callable[[], Floats], versions: int, ns: Sequence[int], truth: float, runs: int) -> Row:
    """Stopping 5 % above the ordinary half-width in the middle of the plan, which 100 other runs tell."""
    widths = np.nanmean([ordinary_widths(draw(), versions) for _ in range(100)], axis=0)
    goal = 1.05 * float(widths[(len(ns) - 1) // 2])
    tally = Tally()
    for _ in range(runs):
        tally.add(new_questions(draw(), versions, ns, goal), truth)
    fixed = float(np.interp(-goal, -widths, ns))
    return {
        'goal': 100 * goal,
        **tally.row(narrower(goal)),
        'fixed n': '≤ 16' if goal >= widths[0] else f'{fixed:.0f}',
        'wider, %': wider(tally, narrower(goal)),
    }


def decided_rows(generator: np.random.Generator, options: argparse.Namespace) -> list[Row]:
    """Stop when decided against a run with 48 samples a question: as many for each question, or not."""
    cases = [('119 × 2', 'flat', 0.0), ('134', 'flat', 0.0), ('60', 'flat', 0.0), ('30', 'U', 0.0)]
    cases += [('119 × 2', 'flat', 0.2), ('134', 'flat', 0.2), ('60', 'flat', 0.5), ('30', 'flat', 0.9)]
    cases += [('119 × 2', 'U', 0.4), ('134', 'J, hard', 0.4)]
    return [row for case in cases for row in _decided(generator, options.runs, *case, 0.0)]


def differing_rows(generator: np.random.Generator, options: argparse.Namespace) -> list[Row]:
    """The same, of models that differ in which questions they can do."""
    cases = [('134', 'flat', 0.0, 2.0), ('60', 'J, hard', 0.0, 2.0)]
    cases += [('134', 'flat', 0.7, 2.0), ('119 × 2', 'U', 0.4, 1.0)]
    return [row for case in cases for row in _decided(generator, options.runs, *case)]


def _decided(
    generator: np.random.Generator, runs: int, design: str, population: str, shift: float, spread: float
) -> list[Row]:
    """Return a row for equal numbers of samples, and one with uncertain questions first."""
    metric = Metric.parse('mG-Pass@16')
    plan, (a, b), (problems, versions) = (
        uncertain_first(metric, LOOKS),
        POPULATIONS[population],
        DESIGNS[design],
    )
    truth = true_shift(metric, a, b, shift, spread)
    tallies = {'equal': Tally(), 'uncertain first': Tally()}
    for _ in range(runs):
        chances = chances_of(generator, design, a, b)
        theirs, ours = np.zeros(1), np.full(1, shift)
        if spread:
            theirs, ours = np.repeat(generator.normal([[0.0], [shift]], spread, (2, problems)), versions, 1)
        other = value_table(metric, 48)[generator.binomial(48, better(chances, theirs))]
        counts = sampled(generator, better(chances, ours), LOOKS)
        tallies['equal'].add(against(values_of(metric, counts, LOOKS), other, versions), truth)
        samples, values = planned_values(plan, counts)
        tallies['uncertain first'].add(against(values, other, versions, samples), truth)
    equal = tallies['equal']
    power = [np.mean([decides(run.ordinary[i]) for run in equal.runs]) for i in range(6)]
    at_equal, rows = equal.row(decides)['n at the stop'], []
    what = {'problems': design, **_population(population), 'spread': spread, 'better by': 100 * truth}
    for name, tally in tallies.items():
        row = tally.row(decides)
        wrong = [wrongly(run, truth) for run in tally.runs]
        saved = '' if name == 'equal' else f'{100 * (1 - row["n at the stop"] / at_equal):.0f} %'
        fixed = _where(power, row['reached, %'] / 100) if shift else '–'
        last = {'wrongly decided, %': 100 * float(np.mean(wrong)), 'saved': saved, 'fixed n': fixed}
        rows.append({**what, 'samples': name, **row, **last})
    return rows


def rerun_rows(generator: np.random.Generator, options: argparse.Namespace) -> list[Row]:
    """The same questions again: stop 5 % above the ordinary half-width of n = 48."""
    rows = []
    for questions, population, key in (
        (238, 'U', 'mG-Pass@16'),
        (238, 'J, easy', 'mG-Pass@16'),
        (134, 'flat', 'G-Pass@16_1.0'),
        (60, 'J, hard', 'mG-Pass@16'),
        (30, 'U', 'mG-Pass@16'),
    ):
        metric = Metric.parse(key)
        goal, widths = rerun_goal(generator, metric, questions, population)
        plan = uncertain_first(metric, LOOKS)
        tallies = {'equal': Tally(), 'uncertain first': Tally()}
        for _ in range(options.runs):
            chances = generator.beta(*POPULATIONS[population], size=questions)
            truth, counts = float(value_of(metric, chances).mean()), sampled(generator, chances, LOOKS)
            same = [rerun_interval(row, n, metric) for row, n in zip(counts, LOOKS, strict=True)]
            tallies['equal'].add(rerun_looks(LOOKS, same, goal), truth)
            tallies['uncertain first'].add(rerun_looks(*planned(plan, counts), goal), truth)
        for name, tally in tallies.items():
            row = tally.row(narrower(goal))
            what = {'questions': questions, **_population(population), 'metric': key}
            fixed = float(np.interp(-np.log(goal), -np.log(widths), LOOKS))
            saved = {'fixed n': fixed, 'saved': f'{100 * (1 - row["n at the stop"] / fixed):.0f} %'}
            rows.append({**what, 'samples': name, 'goal': 100 * goal, **row, **saved})
    return rows


def rerun_goal(
    generator: np.random.Generator, metric: Metric, questions: int, population: str
) -> tuple[float, Floats]:
    """The goal, fixed before any run, and the ordinary half-width at each look, from 100 other runs."""
    widths = []
    for _ in range(100):
        counts = sampled(generator, generator.beta(*POPULATIONS[population], size=questions), LOOKS)
        made = [rerun_interval(row, n, metric) for row, n in zip(counts, LOOKS, strict=True)]
        widths.append([float(stats.norm.isf((1 - LEVEL) / 2)) * one.error for one in made])
    mean = np.mean(widths, axis=0)
    return 1.05 * float(mean[2]), mean


def allocation_rows(generator: np.random.Generator, options: argparse.Namespace) -> list[Row]:
    """Exact: what uncertain questions first save, and how far ordinary values would be off."""
    del generator, options
    rows = []
    for key in ('mG-Pass@16', 'G-Pass@16_1.0', 'G-Pass@16_0.5', 'mG-Pass@4', 'pass@8', 'accuracy'):
        metric = Metric.parse(key)
        for looks in (LOOKS, (32, 64, 96)):
            plan, note = offered(metric, looks)
            row = {'metric': key, 'n': ', '.join(map(str, looks)), 'offered': note}
            for name in ('U', 'J, hard', 'J, easy', 'flat', 'hard', 'middling'):
                a, b = POPULATIONS[name]
                row[name] = f'{plan.saving(a, b):.2f}× ({100 * naive_bias(plan, a, b):+.2f})'
            rows.append(row)
    return rows


def offered(metric: Metric, looks: tuple[int, ...]) -> tuple[Allocation, str]:
    """The plan, and whether it is offered."""
    try:
        return uncertain_first(metric, looks), 'yes'
    except InputError:
        return plan_by_worth(metric, looks), 'no'


def naive_bias(plan: Allocation, a: float, b: float) -> float:
    """How far the mean of ordinary values of the counts at the stop is off."""
    [truth], _ = beta_moments(plan.metric, np.array([a]), np.array([b]))
    found = 0.0
    for place, n in enumerate(plan.looks):
        chances = plan.stopping_chances(place, np.array([a]), np.array([b]))[0]
        found += float(chances @ value_table(plan.metric, n))
    return found - float(truth)


def spending_rows(generator: np.random.Generator, options: argparse.Namespace) -> list[Row]:
    """Exact: how much wider than an ordinary interval, for shares of the first look and of the questions."""
    del generator, options
    rows, ordinary = [], float(stats.t.ppf((1 + LEVEL) / 2, 118))
    for share in (1 / 6, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        row: Row = {'first look spends': f'{100 * share:.0f} %'}
        for between in (0.85, 0.45, 0.25):
            errors = np.sqrt(between + (1 - between) * LOOKS[0] / np.array(LOOKS))
            spent = first_heavy(len(LOOKS), 1 - LEVEL, share)
            wider = 100 * (critical_values(canonical_correlation(errors), spent, 118) / ordinary - 1)
            row[f'{100 * between:.0f} % between'] = ', '.join(f'{one:+.0f}' for one in wider)
            row[f'mean, {100 * between:.0f} %'] = f'{wider.mean():+.1f}'
        rows.append(row)
    return rows


def chances_of(generator: np.random.Generator, design: str, a: float, b: float) -> Floats:
    """Of the questions of a design, those of one problem after each other."""
    problems, versions = DESIGNS[design]
    return draw_chances(generator, a, b, np.full(problems, versions))


def true_shift(metric: Metric, a: float, b: float, shift: float, spread: float) -> float:
    """How much better a model is by `shift` on the log-odds scale, where both vary about a question's own."""
    chances = stats.beta.ppf((np.arange(2_000) + 0.5) / 2_000, a, b)
    around = spread * stats.norm.ppf((np.arange(200) + 0.5) / 200) if spread else np.zeros(1)
    old, new = (
        np.mean([value_of(metric, better(chances, mean + one)).mean() for one in around])
        for mean in (0.0, shift)
    )
    return float(new - old)


def _where(shares: Sequence[Any], share: float) -> str:
    """Between which looks the share is reached, by interpolation."""
    if share <= shares[0]:
        return f'≤ {LOOKS[0]}'
    if share > max(shares):
        return f'> {LOOKS[-1]}'
    rising = np.maximum.accumulate(np.asarray(shares, dtype=float))
    return f'{np.interp(share, rising, LOOKS):.0f}'


def _population(name: str) -> Row:
    a, b = POPULATIONS[name]
    return {'population': f'{name}: Beta({a}, {b})'}


# Name: title, rows.
TABLES: dict[str, tuple[str, Callable[[np.random.Generator, argparse.Namespace], list[Row]]]] = {
    'half-width': ('Stopping at a half-width for new questions', half_width_rows),
    'decided': ('Stopping when decided against a run', decided_rows),
    'differing': ('The same, models that differ in which questions they can do', differing_rows),
    'rerun': ('Stopping at a half-width of the rerun error', rerun_rows),
    'allocation': (
        'Uncertain first, exact: samples saved (bias of ordinary values)',
        allocation_rows,
    ),
    'spending': ('How much wider at each of six looks, in percent', spending_rows),
    'real': ('Real samples, stopping at a half-width for new questions', real_rows),
}


if __name__ == '__main__':
    main()
