"""Results made up from Beta populations: boards for the tests and the pictures of the figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from gpassk_opencompass.record import Names, Result
from gpassk_opencompass.report.frame import Board, boards
from gpassk_opencompass.samples import Counts, Samples
from gpassk_opencompass.scoring import score_counts
from gpassk_opencompass.sweep.names import DatasetName, ModelName, Settings

KS = (4, 8, 16)


def result_of(
    model: str,
    dataset: str,
    counts: Mapping[str, Sequence[Any]],
    n: int,
    k: Sequence[int] = KS,
    judge: str = 'made',
    columns: Mapping[str, Sequence[Any]] | None = None,
    path: Path | None = None,
) -> Result:
    c = np.array(counts['c'])
    uid, unjudged = counts['uid'], np.array(counts.get('unjudged', 0 * c))
    told = Counts(uid, counts.get('problem', uid), counts['group'], np.full(len(c), n), c, unjudged)
    names = Names(model=model, dataset=dataset, host='opencompass')
    result = score_counts(told, {'name': judge}, k=k if n > 1 else 1, names=names)
    result._path = path or Path(f'{model}.json')
    return result.with_samples(Samples(columns)) if columns else result


def made_result(
    name: str, c: Sequence[int], n: int, k: Sequence[int] = KS, problems: Sequence[str] | None = None
) -> Result:
    uids = [f'q{number}' for number in range(len(c))]
    counts = {'uid': uids, 'problem': problems or uids, 'group': ['made_en'] * len(c), 'c': list(map(int, c))}
    dataset = 'LiveMathBench-vmade-k1-r1' if n == 1 else str(DatasetName('LiveMathBench-vmade', tuple(k), n))
    return result_of(name, dataset, counts, n, k)


def made_sweep(
    models: Iterable[str],
    temperatures: Sequence[float] = (0.3, 0.5, 0.7, 1.0),
    top_ps: Sequence[float] = (0.8, 1.0),
    questions: int = 238,
    n: int = 48,
    seed: int = 0,
) -> list[Result]:
    """Every model greedily and at every setting; hotter is less sure, two questions share a problem."""
    generator = np.random.default_rng(seed)
    difficulty = np.repeat(generator.normal(size=-(-questions // 2)), 2)[:questions]
    problems = [f'p{number // 2}' for number in range(questions)]
    results = []
    for model in models:
        skill, sure = generator.normal(0.2, 1.2), generator.uniform(1.0, 3.0)
        logit = skill - difficulty + 0.3 * generator.normal(size=questions)
        greedy = ModelName(model, Settings(8192, 0.0))
        results.append(made_result(str(greedy), (sure * logit > 0).astype(int), 1, problems=problems))
        for temperature, top_p in product(temperatures, top_ps):
            heat = 0.6 + temperature * (0.6 + top_p)
            chance = 1 / (1 + np.exp(-2.2 * sure * (logit - 0.25 * temperature) / heat))
            name = ModelName(model, Settings(8192, temperature, top_p, 50, random_seed=42))
            results.append(made_result(str(name), generator.binomial(n, chance), n, problems=problems))
    return results


def board_of(results: Sequence[Result]) -> Board:
    [board] = boards(results)[0]
    return board
