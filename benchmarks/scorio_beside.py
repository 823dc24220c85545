"""The later metrics beside scorio's and evalsig's answers on the same counts.

    python -m venv beside && beside/bin/pip install numpy scipy scorio==0.2.3 evalsig==0.1.2
    PYTHONPATH=. beside/bin/python -m benchmarks.scorio_beside [counts.jsonl …]

A file has a question a line, {"n": 8, "c": 3}, as `gpassk score` takes it; without one they are made up.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpassk_opencompass.uncertainty import Interval, mean_interval, stability, tail_profile

SEED, QUESTIONS, SAMPLES = 7, 60, 16
Cells = tuple[str, str, str, str]


def main() -> None:
    """Print a table for each file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('files', nargs='*', type=Path, metavar='FILE')
    for name, c, n in inputs(parser.parse_args().files):
        print(f'\n{name}: {c.size} questions, n = {n}\n')
        print('| number | ours | theirs | difference |\n| --- | --- | --- | --- |')
        for cells in rows(c, n):
            print(f'| {" | ".join(cells)} |')


def inputs(files: list[Path]) -> Iterator[tuple[str, NDArray[np.int64], int]]:
    """Counts of each file, or those that are made up."""
    if not files:
        generator = np.random.default_rng(SEED)
        chances = generator.beta(0.5, 0.5, QUESTIONS)
        yield 'made up, Beta(0.5, 0.5)', generator.binomial(SAMPLES, chances), SAMPLES
    for file in files:
        told = [json.loads(line) for line in file.read_text(encoding='utf-8').splitlines() if line.strip()]
        yield file.stem, np.array([one['c'] for one in told]), int(told[0]['n'])


def rows(c: NDArray[np.int64], n: int) -> Iterator[Cells]:
    """Each number by both; for intervals there is no difference to be shown."""
    evaluation: Any = import_module('scorio.eval')
    cluster_bootstrap_ci: Any = import_module('evalsig.inference.cluster_bootstrap').cluster_bootstrap_ci
    matrix = (np.arange(n) < c[:, None]).astype(int)
    ours = {row.name: row for row in stability(c, n)}
    mu, sigma, low, high = evaluation.bayes_ci(matrix)
    bayes = ours[f'Bayes@{n}']
    yield _number(f'Bayes@{n} (scorio bayes)', bayes.value, mu)
    yield _number('its posterior deviation (bayes)', bayes.again.error, sigma)
    yield 'its interval for these questions (bayes_ci)', _interval(bayes.again), _limits(low, high), ''
    for tau in (0.5, 0.75, 1.0):
        name = f'Cover@{tau:g}'
        theirs = evaluation.g_pass_at_k_tau(matrix, n, tau)
        yield _number(f'{name}, plug-in (g_pass_at_k_tau, k = n)', ours[name].value, theirs)
        yield f'{name}, its interval', _interval(ours[name].new), 'none', ''
    agreement = evaluation.pass_hat_k(matrix, 2) + 1 - evaluation.pass_at_k(matrix, 2)
    row = ours['consistency@2']
    yield _number('consistency@2 (pass_hat_k + 1 − pass_at_k, k = 2)', row.value, agreement)
    yield 'its interval for new questions', _interval(row.new), 'none', ''
    k = min(n, 8)
    profile, curve = tail_profile(c, n, k), evaluation.tailpass_empirical(matrix, k)
    off = float(np.abs(profile.estimates - curve).max())
    yield f'tail profile, k = {k}, largest difference (tailpass_empirical)', '', '', f'{off:.0e}'
    place = k // 2 - 1
    posterior = evaluation.tailpass(matrix, k)
    single = posterior.ci(method='normal')
    yield (
        f'G-Pass@{k}_0.5 with band (tailpass: posterior mean, that point alone)',
        f'{100 * profile.estimates[place]:.2f} {_limits(profile.low[place], profile.high[place])}',
        f'{100 * posterior.mean[place]:.2f} {_limits(single[2][place], single[3][place])}',
        '',
    )
    accuracy = mean_interval(c / n)
    theirs = cluster_bootstrap_ci(np.zeros(c.size), c / n, np.arange(c.size)).ci
    yield 'accuracy, new questions (evalsig cluster_bootstrap_ci)', _interval(accuracy), _limits(*theirs), ''


def _number(name: str, ours: float, theirs: float) -> Cells:
    return name, f'{100 * ours:.4f}', f'{100 * theirs:.4f}', f'{abs(ours - theirs):.0e}'


def _interval(interval: Interval) -> str:
    return f'none: {interval.refused}' if interval.refused else _limits(interval.low, interval.high)


def _limits(low: float, high: float) -> str:
    return f'[{100 * low:.1f}, {100 * high:.1f}]'


if __name__ == '__main__':
    main()
