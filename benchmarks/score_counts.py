"""How long does `gpassk score` take for a million questions, and how much memory?

    python -m benchmarks.score_counts            # 10,000, 100,000 and 1,000,000 questions, 48 samples each
    python -m benchmarks.score_counts --quick    # 10,000, 50,000 and 200,000

Generated counts (Beta(0.4, 0.4)) are scored by the command, a process of its own. The floor is a process
that only parses the same lines with `orjson.loads`, the fastest parser there is; beside it is one with
`json.loads`. They take turns, and the least of several counts. Lines with a source problem take a cluster
each two.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from .made import SEED
from .measuring import COMPILED, Cost, command_cost, progress
from .sections import Section, Size, duration, headline, main, megabytes, times

N = 48
CASES: Mapping[Size, tuple[int, ...]] = {
    'tiny': (100,),
    'quick': (10_000, 50_000, 200_000),
    'full': (10_000, 100_000, 1_000_000),
}
REPEATS = 3
PARSE = 'import {0}, sys\nwith open(sys.argv[1]) as lines:\n    for line in lines: {0}.loads(line)'
FLOOR, PLAIN = PARSE.format('orjson'), PARSE.format('json')
"""Programs that parse the lines of a file."""


class Row(NamedTuple):
    """One file."""

    questions: int
    clustered: bool
    ours: Cost
    floor: Cost
    plain: Cost
    """With `json.loads`."""


def measure(size: Size) -> Section:
    """Every case of this size, the last also with source problems."""
    cases = [(questions, False) for questions in CASES[size]] + [(CASES[size][-1], True)]
    with TemporaryDirectory() as folder:
        return _section([_row(Path(folder, 'counts.jsonl'), *case) for case in cases])


def _row(path: Path, questions: int, clustered: bool) -> Row:
    progress(f'score: {questions:,} questions{", clustered" if clustered else ""}')
    write_counts(path, questions, clustered)
    lines = [
        [sys.executable, '-m', 'gpassk_opencompass.cli', 'score', path],
        *([sys.executable, '-c', parse, path] for parse in (FLOOR, PLAIN)),
    ]
    turns = [[command_cost(line, environment=COMPILED) for line in lines] for _ in range(REPEATS)]
    return Row(
        questions, clustered, *(min(costs, key=lambda cost: cost.cpu) for costs in zip(*turns, strict=True))
    )


def write_counts(path: Path, questions: int, problems: bool) -> None:
    """Counts of a U-shaped population, a line a question."""
    generator = np.random.default_rng(SEED)
    counts = generator.binomial(N, generator.beta(0.4, 0.4, size=questions))
    with path.open('w', encoding='utf-8') as file:
        for question, c in enumerate(counts.tolist()):
            row = {'uid': f'question-{question}', 'n': N, 'c': c}
            file.write(json.dumps(row | ({'problem': f'problem-{question // 2}'} if problems else {})) + '\n')


def _section(rows: list[Row]) -> Section:
    last = rows[-2]
    return Section(
        'Scoring counts',
        '`gpassk score` on a file of counts, a line a question, start and imports included. Floor: a '
        'process that parses the same lines with orjson, which is no requirement of ours.',
        [
            *('questions', 'ours', 'a question', 'floor: orjson', 'ours / floor', 'json', 'ours / json'),
            *('memory, ours', 'floor'),
        ],
        [
            [
                f'{row.questions:,}{", two a problem" if row.clustered else ""}',
                duration(row.ours.cpu),
                duration(row.ours.cpu / row.questions),
                duration(row.floor.cpu),
                times(row.ours.cpu / row.floor.cpu),
                duration(row.plain.cpu),
                times(row.ours.cpu / row.plain.cpu),
                megabytes(row.ours),
                megabytes(row.floor),
            ]
            for row in rows
        ],
        headlines=[
            headline(
                f'Scoring {last.questions:,} lines of counts',
                'parsing the lines with orjson',
                last.ours,
                last.floor,
            )
        ],
    )


if __name__ == '__main__':
    main(measure, __doc__)
