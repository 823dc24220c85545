"""Results made up from Beta populations: boards for the tests and the pictures of the figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from gpassk_opencompass.naming.names import DatasetName, ModelName, Settings
from gpassk_opencompass.report.leaderboard import Board, boards
from gpassk_opencompass.results.result import Result

KS = (4, 8, 16)


def made_result(
    name: str, c: Sequence[int], n: int, k: Sequence[int] = KS, problems: Sequence[str] | None = None
) -> Result:
    """A result with these counts; `name` is the model abbreviation, any text."""
    uids = [f'q{number}' for number in range(len(c))]
    problems = problems or uids
    block: dict[str, Any] = {
        'schema': 2,
        'n': n,
        'k': list(k) if n > 1 else [1],
        'thresholds': [0.5, 0.75, 1.0],
        'data': {'questions': len(c), 'sha256': 64 * '0'},
        'counts': {
            'uid': uids,
            'problem': list(problems),
            'group': ['made_en'] * len(c),
            'c': list(map(int, c)),
        },
        'unjudged': 0,
        'judge': {'name': 'made'},
    }
    dataset = 'LiveMathBench-vmade-k1-r1' if n == 1 else str(DatasetName('LiveMathBench-vmade', tuple(k), n))
    return Result(name, dataset, {'gpassk': block}, Path(f'{name}.json'))


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
    """The one board of these results."""
    [board] = boards(results)[0]
    return board


def write_results(results: Iterable[Result], folder: Path) -> None:
    """As files that `gpassk report` finds."""
    for result in results:
        target = folder / 'made' / '20260101_000000' / 'results' / result.model_abbr
        target.mkdir(parents=True, exist_ok=True)
        text = json.dumps(result.record)
        (target / f'{result.dataset_abbr}.json').write_text(text, encoding='utf-8')
