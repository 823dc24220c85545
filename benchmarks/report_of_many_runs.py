"""Time and memory of `gpassk report` on many runs: made results, then the real command.

    python -m benchmarks.report_of_many_runs            # 50, 100 and 200 runs × 238 questions × 48 samples
    python -m benchmarks.report_of_many_runs --quick    # 25, 50 and 100 runs, the page and figures of 25 only

The results are those of the evaluator, answers and all, of models of different strength on questions of
different hardness, each in Chinese and English. Each part of the report is a process of its own. The floor
is a process that only parses the same result files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpassk_opencompass import FunctionJudge, Judgement, Samples, Verdict
from gpassk_opencompass.scoring import score_judged

from .made import LANGUAGES, QUESTIONS, SEED, SPLITS
from .measuring import Cost, command_cost, cost, progress
from .sections import Section, Size, duration, headline, main, megabytes, times

N, K = 48, 16
PARTS = ('tables', 'page', 'figures')
CASES: Mapping[Size, tuple[tuple[int, tuple[str, ...]], ...]] = {
    'tiny': ((4, PARTS[:1]),),
    'quick': ((25, PARTS), (50, PARTS[:1]), (100, PARTS[:1])),
    'full': ((50, PARTS), (100, PARTS), (200, PARTS)),
}
"""(runs, parts of the report)"""

PARSE = """
import json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob('*.json'):
    json.loads(path.read_text())
"""


class Row(NamedTuple):
    """One number of runs."""

    runs: int
    size: float
    """Of the results, in MB."""
    floor: Cost
    parts: Mapping[str, Cost]


def measure(size: Size) -> Section:
    """Every case of this size."""
    questions, n = (4, K) if size == 'tiny' else (QUESTIONS, N)
    with TemporaryDirectory() as folder:
        rows = [_row(Path(folder, str(runs)), runs, questions, n, parts) for runs, parts in CASES[size]]
    return _section(rows, f'{questions} questions × {n} samples')


def _row(folder: Path, runs: int, questions: int, n: int, parts: tuple[str, ...]) -> Row:
    outputs, report = folder / 'outputs', folder / 'report'
    progress(f'report: {runs} runs')
    # In a process of its own: what it leaves in memory would count as the report's.
    made = cost(partial(make_results, outputs, runs, questions, n))
    floor = command_cost([sys.executable, '-c', PARSE, outputs])
    command = [sys.executable, '-m', 'gpassk_opencompass.cli']
    found = {}
    for part in parts:
        progress(f'report: {runs} runs, {part}')
        found[part] = command_cost([*command, 'report', outputs, '-o', report, '--only', part])
    return Row(runs, made.value / 1e6, floor, found)


def make_results(outputs: Path, runs: int, questions: int, n: int) -> int:
    """Write the result files of sampled runs, four settings a model; the bytes written."""
    generator = np.random.default_rng(SEED)
    hardness = np.repeat(generator.normal(size=(questions + 1) // 2), 2)[:questions]
    columns = question_columns(questions, n)
    size = 0
    for run in range(runs):
        strength = generator.normal(scale=1.5)
        chances = 1 / (1 + np.exp(-3 * (strength - hardness)))
        right = generator.random((questions, n)) < chances[:, None]
        abbr = f'model-{run // 4}_t{("0-3", "0-5", "0-7", "1-0")[run % 4]}_p0-8_k50_rp1-0_rs42_l8192'
        path = outputs / f'run-{run}' / f'20261121_{run:06d}' / 'results' / abbr
        path.mkdir(parents=True)
        file = path / f'LiveMathBench-v202412-k{K}-n{n}.json'
        size += file.write_text(json.dumps(record(columns, right, n, generator)))
    return size


def question_columns(questions: int, n: int) -> dict[str, list[Any]]:
    """What all runs share, a row a sample."""
    rows = [(question, replica) for question in range(questions) for replica in range(n)]
    return {
        'uid': [f'u{question}' for question, _ in rows],
        'replica': [replica for _, replica in rows],
        'question': [f'Problem {question // 2}: what is $x_{{{question}}}$?' for question, _ in rows],
        'reference': [str(question) for question, _ in rows],
        'split': [list(SPLITS)[question // 2 % 4] for question, _ in rows],
        'language': [LANGUAGES[question % 2] for question, _ in rows],
        'problem': [f'p{question // 2}' for question, _ in rows],
    }


def record(
    columns: dict[str, list[Any]], right: NDArray[np.bool_], n: int, generator: np.random.Generator
) -> dict[str, Any]:
    """Of one run: wrong answers are some of a few that many give."""
    hits = right.ravel().tolist()
    wrong = generator.integers(1, 9, size=right.size).tolist()
    answers = [
        reference if hit else rf'\frac{{{reference}}}{{{other}}}'
        for reference, hit, other in zip(columns['reference'], hits, wrong, strict=True)
    ]
    judgements = [Judgement(Verdict.CORRECT if hit else Verdict.INCORRECT, 'rule') for hit in hits]
    judge = FunctionJudge(lambda pair: pair.answer == pair.reference, name='equal')
    responses = [f'{answer} (thought {number})' for number, answer in enumerate(answers)]
    samples = Samples(**columns, response=responses)
    return score_judged(samples, judgements, answers, judge, n=n, k=K).record


def _section(rows: list[Row], each: str) -> Section:
    heads = ['runs', 'results', 'parsing them', *PARTS, 'tables / parsing']
    last = rows[-1]
    return Section(
        'Report',
        f'`gpassk report` on result files of runs with {each} each, every part by itself, start and imports '
        'included, with the most memory. Parsing: a process that only reads the same files. Neither '
        'OpenCompass nor Lighteval has such a report.',
        heads,
        [_cells(row) for row in rows],
        headlines=[
            headline(f'Report of {last.runs} runs, {part}', 'parsing the files', found, last.floor)
            for part, found in last.parts.items()
        ],
    )


def _cells(row: Row) -> list[str]:
    return [
        f'{row.runs}',
        f'{row.size:,.0f} MB',
        _cell(row.floor),
        *(_cell(row.parts[part]) if part in row.parts else '–' for part in PARTS),
        times(row.parts['tables'].cpu / row.floor.cpu),
    ]


def _cell(found: Cost) -> str:
    return f'{duration(found.cpu)}, {megabytes(found)}'


if __name__ == '__main__':
    main(measure, __doc__)
