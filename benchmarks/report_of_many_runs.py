"""Time and memory of `gpassk report` on many runs: made results, then the real command.

    python -m benchmarks.report_of_many_runs            # up to 200 runs on one benchmark and on three
    python -m benchmarks.report_of_many_runs --quick    # fewer, the page and figures of the fewest only

The results are those of the evaluator, answers and all, of models of different strength on questions of
different hardness, each in Chinese and English. Each part of the report is a command of its own, "all" is the
one without `--only`. The floor is a process that only parses the same result files.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpassk_opencompass import Samples, score
from gpassk_opencompass.record import Names, write

from .made import LANGUAGES, QUESTIONS, SEED, SPLITS
from .measuring import Cost, command_cost, cost, progress
from .sections import Section, Size, duration, headline, main, megabytes

N, K = 48, 16
PARTS = ('tables', 'page', 'figures')
ALL = 'all'
"""The part that is the whole command."""

LIVE = 'LiveMathBench-v202412'
ONE = {LIVE: QUESTIONS}
THREE = {**ONE, 'AIME2024': 30, 'MATH500-L5': 134}
LARGE = dict.fromkeys((*ONE, 'OlymMATH-hard', 'MATH500-L5'), QUESTIONS)
"""Benchmarks that all have as many questions as the largest."""


class Case(NamedTuple):
    """How many runs on which benchmarks, with their questions; and what is reported of them."""

    runs: int
    benchmarks: Mapping[str, int] = ONE
    parts: tuple[str, ...] = (*PARTS, ALL)


CASES: Mapping[Size, tuple[Case, ...]] = {
    'tiny': (Case(4, {LIVE: 4}, PARTS[:1]), Case(2, {LIVE: 4, 'AIME2024': 2}, PARTS[:1])),
    'quick': (Case(25), Case(50, parts=PARTS[:1]), Case(100, parts=PARTS[:1]), Case(25, THREE)),
    'full': (Case(50), Case(100), Case(200), Case(200, THREE), Case(200, LARGE)),
}

PARSE = """
import json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob('*.json'):
    json.loads(path.read_text())
"""


class Row(NamedTuple):
    """What one case cost."""

    case: Case
    size: float
    """Of the results, in MB."""
    floor: Cost
    parts: Mapping[str, Cost]


def measure(size: Size) -> Section:
    """Every case of this size."""
    n = K if size == 'tiny' else N
    with TemporaryDirectory() as folder:
        rows = [_row(Path(folder, str(place)), case, n) for place, case in enumerate(CASES[size])]
    return _section(rows, n)


def _row(folder: Path, case: Case, n: int) -> Row:
    outputs, report = folder / 'outputs', folder / 'report'
    told = f'report: {case.runs} runs × {_questions(case)} questions'
    progress(told)
    # In a process of its own: what it leaves in memory would count as the report's.
    made = cost(partial(make_results, outputs, case.runs, case.benchmarks, n))
    floor = command_cost([sys.executable, '-c', PARSE, outputs])
    command = [sys.executable, '-m', 'gpassk_opencompass.cli', 'report', outputs, '-o', report]
    found = {}
    for part in case.parts:
        progress(f'{told}, {part}')
        found[part] = command_cost([*command, *([] if part == ALL else ['--only', part])])
    return Row(case, made.value / 1e6, floor, found)


def make_results(outputs: Path, runs: int, benchmarks: Mapping[str, int], n: int) -> int:
    """Write the result files of sampled runs, four settings a model; the bytes written.

    Args:
        benchmarks: names with their numbers of questions.
    """
    return sum(
        _make_benchmark(outputs, runs, name, questions, n, SEED + place)
        for place, (name, questions) in enumerate(benchmarks.items())
    )


def _make_benchmark(outputs: Path, runs: int, name: str, questions: int, n: int, seed: int) -> int:
    generator = np.random.default_rng(seed)
    hardness = np.repeat(generator.normal(size=(questions + 1) // 2), 2)[:questions]
    columns = question_columns(questions, n)
    size = 0
    for run in range(runs):
        strength = generator.normal(scale=1.5)
        chances = 1 / (1 + np.exp(-3 * (strength - hardness)))
        right = generator.random((questions, n)) < chances[:, None]
        abbr = f'model-{run // 4}_t{("0-3", "0-5", "0-7", "1-0")[run % 4]}_p0-8_k50_rp1-0_rs42_l8192'
        path = outputs / f'run-{run}' / f'20261121_{run:06d}' / 'results' / abbr
        samples = made_samples(columns, right, generator)
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


def made_samples(
    columns: dict[str, list[Any]], right: NDArray[np.bool_], generator: np.random.Generator
) -> Samples:
    """Of one run: wrong answers are some of a few that many give."""
    hits = right.ravel().tolist()
    wrong = generator.integers(1, 9, size=right.size).tolist()
    answers = [
        reference if hit else rf'\frac{{{reference}}}{{{other}}}'
        for reference, hit, other in zip(columns['reference'], hits, wrong, strict=True)
    ]
    return Samples(
        {
            **columns,
            'answer': answers,
            'response': [f'{answer} (thought {number})' for number, answer in enumerate(answers)],
            'verdict': ['correct' if hit else 'incorrect' for hit in hits],
            'judged_by': ['rule'] * len(hits),
        }
    )


def _section(rows: list[Row], n: int) -> Section:
    heads = ['runs', 'questions', 'results', 'parsing them', *PARTS, ALL]
    last = rows[-1]
    return Section(
        'Report',
        f'`gpassk report` on result files of runs with {n} samples a question, every part by itself and all '
        'of them in one command, start and imports included, with the most memory. Parsing: a process '
        'that only reads the same files. OpenCompass has no such report.',
        heads,
        [_cells(row) for row in rows],
        headlines=[
            headline(
                f'Report of {last.case.runs} runs on {len(last.case.benchmarks)} benchmarks, {part}',
                'parsing the files',
                found,
                last.floor,
            )
            for part, found in last.parts.items()
        ],
    )


def _cells(row: Row) -> list[str]:
    return [
        f'{row.case.runs}',
        _questions(row.case),
        f'{row.size:,.0f} MB',
        _cell(row.floor),
        *(_cell(row.parts[part]) if part in row.parts else '–' for part in (*PARTS, ALL)),
    ]


def _questions(case: Case) -> str:
    return ' + '.join(map(str, case.benchmarks.values()))


def _cell(found: Cost) -> str:
    return f'{duration(found.cpu)}, {megabytes(found)}'


if __name__ == '__main__':
    main(measure, __doc__)
