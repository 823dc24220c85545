"""How often the statements of `gpassk_opencompass.statistics` hold, in simulations whose truth is known.

    python research/statistics.py [score difference rerun runs ranks decide tables plan audit]

Each writes research/NAME.csv, a row a cell, and prints its worst ones. All together take some minutes.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

# This file is called as a script: its own folder must not stand in the way of Python's `statistics`.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

import numpy as np
from scipy import optimize, special, stats

from gpassk_opencompass import statistics as ours
from gpassk_opencompass.agreement import Audit
from gpassk_opencompass.metrics import ACCURACY, Metric, value_table
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import score as scored

Row = dict[str, object]
SIGMOID = special.expit


def table(name: str, n: int) -> np.ndarray:
    return value_table(Metric.parse(name), n)


@lru_cache
def curve(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The expected value of a question at each chance, which is that of k answers for every n."""
    metric, chances = Metric.parse(name), np.linspace(0, 1, 4001)
    return chances, stats.binom.pmf(np.arange(metric.k + 1), metric.k, chances[:, None]) @ value_table(
        metric, metric.k
    )


def truth(name: str, chances: np.ndarray) -> np.ndarray:
    return np.interp(chances, *curve(name))


def share(flags: np.ndarray) -> float:
    return round(100 * float(np.mean(flags)), 1)


def plain(values: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and half-width of Student's t over clusters, values (..., J) summed: what everybody prints."""
    mean, count = values.sum(-1) / sizes.sum(), sizes.size
    left = ((values - mean[..., None] * sizes) ** 2).sum(-1)
    return mean, stats.t.ppf(0.975, count - 1) * np.sqrt(count / (count - 1) * left) / sizes.sum()


SCORES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    **{f'Beta({a}, {b})': partial(lambda a, b, rng, s: rng.beta(a, b, s), a, b)
       for a, b in [(0.3, 0.3), (0.2, 1), (2, 2), (5, 1), (0.1, 0.1), (0.05, 2)]},
    **{f'{p:.0%} always, others never': partial(lambda p, rng, s: (rng.random(s) < p) * 1.0, p)
       for p in (0.01, 0.02, 0.05, 0.97)},
    '3% nearly always, others hardly': lambda rng, s: np.where(rng.random(s) < 0.03, 0.98, 0.02),
    'logit 2.5': lambda rng, s: SIGMOID(2.5 * rng.standard_normal(s)),
}  # fmt: skip
DESIGNS = {
    '10': [1] * 10, '20': [1] * 20, '60': [1] * 60, '119': [1] * 119, '119 x 2': [2] * 119,
    '60 x 1-4': [1, 2, 3, 4] * 15, '1 of 20, 39 of 1': [20] + [1] * 39,
}  # fmt: skip


def score(runs: int = 2000) -> Iterator[Row]:
    for (what, draw), name in product(SCORES.items(), ['G-Pass@16_1.0', 'mG-Pass@16', 'accuracy']):
        rng = np.random.default_rng(7)
        true, values = truth(name, draw(rng, (1_000_000,))).mean(), table(name, 48)
        for design, each in DESIGNS.items():
            problem = np.repeat(np.arange(len(each)), each)
            found = values[rng.binomial(48, draw(rng, (runs, len(each)))[:, problem])]
            low, high = ours.mean_interval(found, problem.tolist()).at()
            mean, half = plain(*ours.problem_sums(found, problem.tolist()))
            covered, as_usual = (low <= true) & (true <= high), np.abs(mean - true) <= half
            width = round(float((high - low).mean() / max(2 * half.mean(), 1e-9)), 2)
            yield {'chances': what, 'metric': name, 'problems': design, 'true': round(100 * true, 2),
                   'holds': share(covered), 'plain t holds': share(as_usual), 'width to plain t': width}  # fmt: skip


def pair(kind: str, rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Chances of two models on the same problems."""
    x = 2.5 * rng.standard_normal(shape)
    what, _, number = kind.partition(' ')
    size = float(number or 0)
    if what == 'noise':
        return SIGMOID(x + size * rng.standard_normal(shape)), SIGMOID(x + size * rng.standard_normal(shape))
    if what == 'shift':
        return SIGMOID(x + size), SIGMOID(x)
    lost = rng.random(shape) < size
    if what == 'collapse':
        return SIGMOID(x + 2), np.where(lost, 0.0, SIGMOID(x + 2))
    if what == 'uneven':
        return SIGMOID(x + 1), np.where(lost, 0.0, SIGMOID(x + 1.3))
    if what == 'flip':
        base = (rng.random(shape) < 0.5) * 1.0
        return np.where(lost, 1.0, base), np.where(lost, 0.0, base)
    return SIGMOID(x), SIGMOID(2.5 * rng.standard_normal(shape))  # unrelated


PAIRS = [
    *('noise 0', 'noise 0.7', 'shift 0.5', 'shift 1.3', 'collapse 0.02', 'collapse 0.05', 'collapse 0.1'),
    *('uneven 0.05', 'uneven 0.1', 'flip 0.01', 'flip 0.02', 'flip 0.05', 'flip 0.1', 'unrelated'),
]


def difference(runs: int = 2000) -> Iterator[Row]:
    for kind, name in product(PAIRS, ['G-Pass@16_1.0', 'mG-Pass@16', 'accuracy']):
        rng = np.random.default_rng(11)
        first, second = pair(kind, rng, (1_000_000,))
        true, values = (truth(name, first) - truth(name, second)).mean(), table(name, 48)
        for problems in (10, 20, 30, 60, 119, 238):
            a, b = (values[rng.binomial(48, p)] for p in pair(kind, rng, (runs, problems)))
            low, high = ours.difference(a, b).at()
            mean, half = plain(a - b, np.ones(problems))
            yield {'pair': kind, 'metric': name, 'problems': problems, 'true': round(100 * true, 2),
                   'holds': share((low <= true) & (true <= high)), 'plain t holds': share(np.abs(mean - true) <= half),
                   'width to plain t': round(float((high - low).mean() / max(2 * half.mean(), 1e-9)), 2),
                   'told apart': share((low > 0) | (high < 0)), 'by plain t': share(np.abs(mean) > half)}  # fmt: skip


def rerun(runs: int = 1000) -> Iterator[Row]:
    draws = {
        **{f'all {p}': partial(lambda p, rng, s: np.full(s, p), p) for p in (0.5, 0.9, 0.97)},
        **{name: SCORES[name] for name in ('Beta(0.3, 0.3)', 'Beta(5, 1)', 'logit 2.5')},
        'half never, half 0.95': lambda rng, s: np.where(rng.random(s) < 0.5, 0, 0.95),
        'Beta(0.2, 2)': lambda rng, s: rng.beta(0.2, 2, s),
    }
    for name, times in product(
        ['accuracy', 'G-Pass@8_1.0', 'mG-Pass@8', 'G-Pass@16_1.0', 'mG-Pass@16'], (1, 2, 3)
    ):
        n = times * (Metric.parse(name).k if name != 'accuracy' else 16)
        for what, draw in draws.items():
            rng = np.random.default_rng(5)
            chances = draw(rng, (runs, 60))
            counts = rng.binomial(n, chances)
            error = ours.rerun_error(counts, n, partial(table, name))
            off = table(name, n)[counts].mean(1) - truth(name, chances).mean(1)
            yield {'chances': what, 'metric': name, 'n': n, 'n to k': times, 'holds': share(np.abs(off) <= 1.96 * error),
                   'error to true': round(float(error.mean() / off.std()), 2)}  # fmt: skip


def runs(pairs: int = 2000) -> Iterator[Row]:
    """Equal models, and one that is 0.4 logits worse, whose runs are shifted on the logit scale."""
    values = table('mG-Pass@8', 16)
    rerun_of = partial(ours.rerun_error, n=16, metric=partial(table, 'mG-Pass@8'))
    sds = [(0, 0), (0.15, 0.15), (0.3, 0.3), (0.3, 0), (0, 0.3)]
    for (old, new), (one, two) in product(sds, [(1, 1), (2, 2), (3, 3), (5, 5), (5, 1)]):
        for drop in (0.0, 0.4):
            rng = np.random.default_rng(8)
            x = 0.5 + 1.5 * rng.standard_normal((pairs, 1, 60))
            a, b = (
                rng.binomial(16, SIGMOID(x - shift + sd * rng.standard_normal((pairs, count, 1))))
                for shift, sd, count in ((drop, new, one), (0, old, two))
            )
            sampled = (rerun_of(a) ** 2).mean(-1) / one + (rerun_of(b) ** 2).mean(-1) / two
            table_of_eight = x[:, None] + max(old, new) * rng.standard_normal((pairs, 6, one, 1))
            others = values[rng.binomial(16, SIGMOID(table_of_eight))]
            for questions, known in product(('same', 'new'), ('the two', 'table of eight')):
                if known != 'the two' and (one != two or old != new or one == 1):
                    continue
                between = None
                if known != 'the two':
                    between = ours.between_runs([*np.moveaxis(others, 1, 0), values[a], values[b]])
                found = ours.compare_runs(values[a], values[b], None, questions, sampled, between)
                said, (low, high) = ours.decide(found, 0.02), found.at()
                yield {'sd old': old, 'sd new': new, 'runs': f'{one}:{two}', 'questions': questions, 'S2 of': known,
                       'truth': 'worse' if drop else 'equal', 'better': share(said == 'better'),
                       'worse': share(high < 0), 'half-width': round(50 * float(np.median(high - low)), 1)}  # fmt: skip


BASE = np.log(q := special.betaincinv(0.4, 0.4, (np.arange(20_000) + 0.5) / 20_000)) - np.log1p(-q)


def logit_mean(shift: float) -> float:
    return float(truth('mG-Pass@16', SIGMOID(BASE + shift)).mean())


def leaderboard(kind: str, models: int, problems: int, rng: np.random.Generator) -> np.ndarray:
    """Values of models, every second one of another kind; equally good but where `better` says else."""
    shape, odd = (models, problems), (np.arange(models) % 2 == 1)[:, None]
    if kind == 'wholly or evenly':  # all solved, but for 3 % wholly failed, or for 3 % of all answers
        return np.where(odd, rng.random(shape) >= 0.03, rng.binomial(48, 0.97, shape) / 48)
    chances = rng.beta(0.4, 0.4, problems).clip(1e-12, 1 - 1e-12)
    x = np.tile(np.log(chances / (1 - chances)), (models, 1))
    if kind == 'one better':
        x[0] += 0.8
    if kind == 'half 10 points better':
        x = np.where(odd, x, x + _shift(0.1))
    if kind == 'half collapse':
        x = np.where(odd & (rng.random(shape) < 0.2), x - 4, x)
    if kind == 'own strengths':
        x = x + rng.standard_normal(shape)
    if kind == 'collapse and gain':
        x = np.where(odd, np.where(rng.random(shape) < 0.1, x - 4, x + _gain()), x)
    return table('mG-Pass@16', 48)[rng.binomial(48, SIGMOID(x))]


@lru_cache
def _shift(points: float) -> float:
    return optimize.brentq(lambda shift: logit_mean(shift) - logit_mean(0) - points, -9, 9)


@lru_cache
def _gain() -> float:
    return optimize.brentq(lambda gain: 0.9 * logit_mean(gain) + 0.1 * logit_mean(-4) - logit_mean(0), 0, 20)


def better(kind: str, models: int) -> np.ndarray:
    level = np.zeros(models)
    level[:: models if kind == 'one better' else 2] = kind in (
        'one better',
        'half 10 points better',
        'half collapse',
    )
    return level[:, None] > level


def ranks(tables: int = 1000, told_apart: Callable[[np.ndarray], np.ndarray] | None = None) -> Iterator[Row]:
    told_apart = told_apart or (lambda values: ours.all_pairs(values, draws=999).better)
    cells = [
        *product(['wholly or evenly'], (12, 25), (60, 119, 200, 300)),
        *(
            ('collapse and gain', 30, 60),
            ('collapse and gain', 30, 119),
            ('own strengths', 12, 119),
            ('alike', 12, 24),
        ),
        *product(['one better', 'half 10 points better', 'half collapse'], (12, 25), (60, 119)),
    ]
    for kind, models, problems in cells:
        rng, true = np.random.default_rng(5), better(kind, models)
        found = [told_apart(leaderboard(kind, models, problems, rng)) for _ in range(tables)]
        told = share([(one & true).sum() / true.sum() for one in found]) if true.any() else ''
        yield {'models': models, 'problems': problems, 'kind': kind,
               'false tables': share([(one & ~true).any() for one in found]), 'told apart': told}  # fmt: skip


def decide(pairs: int = 2000) -> Iterator[Row]:
    """At the edges of the margin: what must not be said of a difference of −margin, 0 and +margin."""
    rng = np.random.default_rng(9)
    x, values = 2.5 * rng.standard_normal(400_000), table('mG-Pass@16', 48)
    base = truth('mG-Pass@16', SIGMOID(x)).mean()
    wrong = {-1: ['better', 'equivalent', 'not worse'], 0: ['better', 'worse'], 1: ['equivalent', 'worse']}
    for kind, margin, side, problems in product(
        ('shift', 'collapse'), (0.02, 0.05), (-1, 0, 1), (24, 60, 119, 500)
    ):
        z, true = 2.5 * rng.standard_normal((pairs, problems)), side * margin
        if kind == 'shift':
            apart = partial(lambda true, s: truth('mG-Pass@16', SIGMOID(x + s)).mean() - base - true, true)
            new, old = z + optimize.brentq(apart, -3, 3), z
        else:
            fallen = np.where(rng.random(z.shape) < margin * abs(side) / base, -50.0, z)
            new, old = (fallen, z) if side < 0 else (z, fallen)
        said = ours.decide(
            ours.difference(*(values[rng.binomial(48, SIGMOID(p))] for p in (new, old))), margin
        )
        yield {'kind': kind, 'margin': margin, 'true': round(true, 2), 'problems': problems,
               'wrong': share(np.isin(said, wrong[side])), 'undecided': share(said == 'undecided'),
               'passes': share(np.isin(said, [*ours.PASSES]))}  # fmt: skip


def tables(count: int = 1000) -> Iterator[Row]:
    """Contradictions of a table's ranks, its intervals and the comparison of two of its models."""
    rng, metric = np.random.default_rng(21), table('mG-Pass@8', 16)
    for place in range(count):
        models, problems, reruns = (
            rng.integers(2, 13),
            rng.integers(5, 80),
            rng.integers(2, 5) if place % 3 == 0 else 1,
        )
        number = np.resize(np.arange(problems), rng.integers(problems, 2 * problems)).tolist()
        x = rng.normal(size=len(number)) * 1.5 + rng.normal(size=(models, 1, 1)) * rng.choice([0, 0.5, 2])
        values = metric[
            rng.binomial(16, SIGMOID(x + rng.choice([0, 0.3]) * rng.normal(size=(models, reruns, 1))))
        ]
        spread, freedom = ours.between_runs(values, number)
        found = ours.all_pairs(
            values.mean(1), number, draws=399, runs=(float(spread), freedom, np.full(models, reruns))
        )
        told = wrong = 0
        for i, j in product(range(models), repeat=2):
            low, high = ours.compare_runs(values[i], values[j], number, between=(spread, freedom)).at()
            wrong += found.low[i, j] > low + 1e-12 or found.high[i, j] < high - 1e-12
            wrong += found.better[i, j] and (
                low <= 0 or found.ranks[i, 1] >= models or found.ranks[j, 0] <= 1
            )
            told += bool(found.better[i, j])
        yield {
            'table': place,
            'models': models,
            'problems': problems,
            'reruns': reruns,
            'told': told,
            'contradictions': wrong,
        }


def plan(pilots: int = 200) -> Iterator[Row]:
    metric = partial(table, 'mG-Pass@8')
    for what, first in product(['Beta(0.3, 0.3)', 'Beta(5, 1)', 'Beta(0.2, 1)', 'logit 2.5'], (20, 60, 119)):
        rng = np.random.default_rng(31)
        large = rng.binomial(16, SCORES[what](rng, (40_000,)))
        [needed] = ours.plan(large, 16, metric, [16], half_width=0.05)
        found = [
            ours.plan(rng.binomial(16, SCORES[what](rng, (first,))), 16, metric, [16], half_width=0.05)[
                0
            ].questions
            for _ in range(pilots)
        ]
        yield {'chances': what, 'pilot': first, 'needed': needed.questions, 'planned, median': int(np.median(found)),
               'enough': share(np.array(found) >= needed.questions)}  # fmt: skip


def judged_run(rng: np.random.Generator, of: str, rate: float) -> Audit:
    """100 questions with 24 samples: answers A and B are right, others wrong, and some judged wrongly."""
    right = rng.binomial(24, rng.beta(0.5, 0.35, 100))
    counts = np.hstack([rng.multinomial(right, [0.9, 0.1]), rng.multinomial(24 - right, [0.5, 0.3, 0.2])])
    wrong = rng.random((100, 5 if of == 'answers' else 1)) < rate
    verdicts = np.where((np.arange(5) < 2) != wrong, 'correct', 'incorrect')
    question = [f'{number}?' for number in range(100) for _ in range(24)]
    columns: dict[str, list[object]] = {'uid': question, 'replica': [*range(24)] * 100, 'question': question}
    columns |= {'reference': ['A'] * 2400, 'answer': np.repeat([*'ABVWX'] * 100, counts.ravel()).tolist()}
    columns['verdict'] = np.repeat(verdicts.ravel(), counts.ravel()).tolist()
    return Audit(scored(Samples(columns), {'name': 'simulated'}, k=16, answers=None))


def audit(audits: int = 1000) -> Iterator[Row]:
    """Corrected scores, by how many wrong verdicts an audit finds; the truth has labels of all questions."""
    for (of, rate), drawn in product(
        [('answers', 0.002), ('answers', 0.01), ('questions', 0.02)], (28, 56, 83)
    ):
        rng, found = np.random.default_rng(13), defaultdict(list)
        for seed in range(audits):
            run = judged_run(rng, of, rate)
            labels = {one.name: one.pair.answer in 'AB' for one in run.answers_of(range(100))}
            rows = run.draw(drawn, seed)
            asked = run.answers_of(rows)
            errors = min(4, sum((one.accepted > 0) != labels[one.name] for one in asked))  # 4: or more
            for metric in (ACCURACY, Metric.parse('G-Pass@16_1.0')):
                true = run.corrected(range(100), labels, metric).corrected
                said = run.corrected(rows, labels, metric)
                held = said.low - 1e-9 <= true <= said.high + 1e-9
                found[str(metric), errors].append((held, len(asked), said.high - said.low))
        for (metric, errors), cells in sorted(found.items()):
            held, asked, width = np.transpose(cells)
            yield {'errors in': of, 'percent': 100 * rate, 'labels': round(asked.mean()), 'metric': metric,
                   'errors found': errors, 'audits': len(cells), 'holds': share(held),
                   'half-width': round(width.mean() / 2, 1)}  # fmt: skip


STUDIES = {
    study.__name__: study for study in (score, difference, rerun, runs, ranks, decide, tables, plan, audit)
}


def main(names: list[str]) -> None:
    for name in names or STUDIES:
        rows = list(STUDIES[name]())
        with Path(__file__).with_name(f'{name}.csv').open('w', newline='', encoding='utf-8') as file:
            writer = csv.DictWriter(file, rows[0], lineterminator='\n')
            writer.writeheader()
            writer.writerows(rows)
        print(f'{name}: {len(rows)} cells', flush=True)
        for row in sorted(rows, key=lambda row: [row.get(key, 0) for key in ('holds', 'contradictions')])[:3]:
            print('  ', row)


if __name__ == '__main__':
    main(sys.argv[1:])
