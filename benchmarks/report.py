"""Time and memory of `gpassk report` on many runs: made results, then the real command.

    python -m benchmarks.report            # 50 runs on one benchmark and on three

The results are those of the evaluator, answers and all, of models of different strength on questions of
different hardness, each in Chinese and English. Each part of the report is a command of its own, "all" is the
one without `--only`. The floor is a process that only parses the same result files.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpassk_opencompass import Samples, score
from gpassk_opencompass.record import Names, write

from .made import LANGUAGES, QUESTIONS, SEED, SPLITS
from .measuring import Cost, cost, gpassk, progress, python
from .tables import Row, Section, Size, duration, main, megabytes, overview

K = 16
PARTS = ('tables', 'page', 'figures', 'all')
LIVE = 'LiveMathBench-v202412'
CASES: Mapping[str, tuple[tuple[int, Mapping[str, int]], ...]] = {
    'tiny': ((4, {LIVE: 4, 'AIME2024': 2}),),
    'quick': ((25, {LIVE: QUESTIONS}),),
    'full': (
        (50, {LIVE: QUESTIONS}),
        (50, {LIVE: QUESTIONS, 'AIME2024': 30, 'MATH500-L5': 134}),
    ),
}
"""Runs, and benchmarks with their questions."""

PARSE = """
import json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob('*.json'):
    json.loads(path.read_text())
"""


def measure(size: Size) -> Section:
    """Every case of this size."""
    n = K if size == 'tiny' else 3 * K
    rows: list[Row] = []
    for runs, benchmarks in CASES[size]:
        questions = ' + '.join(map(str, benchmarks.values()))
        with TemporaryDirectory() as folder:
            outputs, report = Path(folder, 'outputs'), Path(folder, 'report')
            progress(f'report: {runs} runs × {questions} questions')
            # In a process of its own: what it leaves in memory would count as the report's.
            bytes_written = cost(partial(make_results, outputs, runs, benchmarks, n)).value
            floor = python(PARSE, outputs)
            row = {'runs': f'{runs}', 'questions': questions, 'results': f'{bytes_written / 1e6:,.0f} MB'}
            row['parsing them'] = _cell(floor)
            for part in PARTS[:1] if size == 'tiny' else PARTS:
                progress(f'report: {runs} runs × {questions} questions, {part}')
                done = gpassk('report', outputs, '-o', report, *(() if part == 'all' else ('--only', part)))
                row[part] = _cell(done)
        rows.append(row)
    return Section(
        'Report',
        f'`gpassk report` on result files of runs with {n} samples a question, every part by itself and '
        'all of them in '
        'one command, start and imports included, with the most memory. OpenCompass has no such report.',
        rows,
        '',
        [
            overview(
                f'Report of {runs} runs on {len(benchmarks)} benchmarks, {part}',
                'parsing the files',
                done,
                floor,
            )
        ],
    )


def _cell(cost: Cost) -> str:
    return f'{duration(cost.cpu)}, {megabytes(cost)}'


def make_results(outputs: Path, runs: int, benchmarks: Mapping[str, int], n: int) -> int:
    """Write the result files of sampled runs, four settings a model; the bytes written.

    Args:
        benchmarks: names with their numbers of questions.
    """
    size = 0
    for place, (name, questions) in enumerate(benchmarks.items()):
        generator = np.random.default_rng(SEED + place)
        hardness = np.repeat(generator.normal(size=(questions + 1) // 2), 2)[:questions]
        columns = question_columns(questions, n)
        for run in range(runs):
            chances = 1 / (1 + np.exp(-3 * (generator.normal(scale=1.5) - hardness)))
            right = (generator.random((questions, n)) < chances[:, None]).ravel().tolist()
            abbr = f'model-{run // 4}_t{("0-3", "0-5", "0-7", "1-0")[run % 4]}_p0-8_k50_rp1-0_rs42_l8192'
            path = outputs / f'run-{run}' / f'20261121_{run:06d}' / 'results' / abbr
            # Wrong answers are some of a few that many give.
            wrong = generator.integers(1, 9, size=len(right)).tolist()
            answers = [
                reference if hit else rf'\frac{{{reference}}}{{{other}}}'
                for reference, hit, other in zip(columns['reference'], right, wrong, strict=True)
            ]
            samples = Samples(
                {
                    **columns,
                    'answer': answers,
                    'response': [f'{answer} (thought {number})' for number, answer in enumerate(answers)],
                    'verdict': ['correct' if hit else 'incorrect' for hit in right],
                    'judged_by': ['rule'] * len(right),
                }
            )
            names = Names(model=abbr, dataset=f'{name}-k{K}-n{n}', host='opencompass')
            write(path / f'{names.dataset}.json', score(samples, {'name': 'equal'}, n=n, k=K, names=names))
            size += sum(file.stat().st_size for file in path.glob(f'{names.dataset}.*'))
    return size


def question_columns(questions: int, n: int) -> dict[str, list[Any]]:
    """What all runs share, a row a sample."""
    rows = [(question, replica) for question in range(questions) for replica in range(n)]
    return {
        'uid': [f'u{question}' for question, _ in rows],
        'replica': [replica for _, replica in rows],
        'question': [f'Problem {question // 2}: what is $x_{{{question}}}$?' for question, _ in rows],
        'reference': [str(question) for question, _ in rows],
        'group': [f'{list(SPLITS)[question // 2 % 4]}_{LANGUAGES[question % 2]}' for question, _ in rows],
        'problem': [f'p{question // 2}' for question, _ in rows],
    }


if __name__ == '__main__':
    main(measure, __doc__)
