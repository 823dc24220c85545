"""How long does `gpassk score` take for many questions and samples, and how much memory?

    python -m benchmarks.score

A line of counts a question, and a row a sample with a response of 0.6 kB and its verdict (JSON lines and
Parquet), scored by the command, a process of its own; nothing is judged anew. The floor is a process that
only parses the same rows. Before a time counts, the accuracy that was printed is compared with the known
one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet

from .made import SEED
from .measuring import gpassk, progress, python
from .tables import Row, Section, Size, duration, main, megabytes, overview, times

N = 16
SIZES = {'tiny': (100, 320), 'quick': (200_000, 100_000), 'full': (1_000_000, 1_000_000)}
"""Lines of counts, and samples."""

TEXT = 'We add the two numbers, one digit after the other, and carry. ' * 10
PARSE_LINES = 'import json, sys\nwith open(sys.argv[1]) as lines:\n    for line in lines: json.loads(line)'
PARSE_PARQUET = (
    'import sys\nfrom pyarrow import parquet\n'
    'for batch in parquet.ParquetFile(sys.argv[1]).iter_batches(4096): batch.to_pylist()'
)


def measure(size: Size) -> Section:
    """Every form."""
    rows: list[Row] = []
    lines, samples = SIZES[size]
    forms: tuple[tuple[str, int, str, Callable[[Path, int], float]], ...] = (
        ('counts, JSON lines', lines, PARSE_LINES, write_counts),
        ('samples, JSON lines', samples, PARSE_LINES, write_lines),
        ('samples, Parquet', samples, PARSE_PARQUET, write_parquet),
    )
    for form, count, parse, write in forms:
        progress(f'score: {count:,} {form}')
        with TemporaryDirectory() as folder:
            path = Path(folder, 'rows.parquet' if 'Parquet' in form else 'rows.jsonl')
            known = 100 * write(path, count)
            ours, floor = gpassk('score', path, '--k', '8', '16'), python(parse, path)
            megabytes_read = path.stat().st_size / 1e6
        printed = re.search(r'^\| accuracy +\| +([0-9.]+) ', str(ours.value), re.MULTILINE)
        if printed is None or abs(float(printed[1]) - known) > 0.01:
            raise RuntimeError(f'{form}: expected an accuracy of {known}, got\n{ours.value}')
        row = {'rows': f'{count:,} {form}', 'size': f'{megabytes_read:,.0f} MB', 'ours': duration(ours.cpu)}
        row |= {'rows a second': f'{count / ours.cpu:,.0f}', 'parsing them': duration(floor.cpu)}
        rows.append(row | {'ours / parsing': times(ours.cpu / floor.cpu), 'memory': megabytes(ours)})
    return Section(
        'Scoring files',
        f'`gpassk score` on lines of counts, and on samples with verdicts, {N} a question, 0.6 kB of '
        'text each; start '
        'and imports included. Beside it a process that parses the same rows, with `json.loads` or pyarrow.',
        rows,
        '',
        [overview(f'Scoring {count:,} {form}', 'parsing the rows', ours, floor)],
    )


def write_counts(path: Path, questions: int) -> float:
    """Counts of a U-shaped population, a line a question; the share of right samples."""
    generator = np.random.default_rng(SEED)
    counts = generator.binomial(N, generator.beta(0.4, 0.4, size=questions))
    with path.open('w', encoding='utf-8') as file:
        for question, c in enumerate(counts.tolist()):
            file.write(json.dumps({'uid': f'question-{question}', 'n': N, 'c': c}) + '\n')
    return float(counts.mean()) / N


def verdicts(samples: int) -> list[bool]:
    """Of a U-shaped population."""
    generator = np.random.default_rng(SEED)
    chances = np.repeat(generator.beta(0.4, 0.4, size=samples // N), N)
    return (generator.random(len(chances)) < chances).tolist()


def sample_rows(right: list[bool]) -> Iterator[dict[str, Any]]:
    """A row a sample, with a text that no other has."""
    for row, correct in enumerate(right):
        number = row // N
        answer = f'\\boxed{{{number if correct else -1}}}'
        yield {
            'uid': f'q{number}',
            'question': f'What is {number}?',
            'reference': str(number),
            'response': f'{row % N}: {TEXT}{answer}',
            'correct': correct,
        }


def write_lines(path: Path, samples: int) -> float:
    """Write JSON lines; the share of right samples."""
    right = verdicts(samples)
    with path.open('w', encoding='utf-8') as file:
        file.writelines(json.dumps(row) + '\n' for row in sample_rows(right))
    return sum(right) / len(right)


def write_parquet(path: Path, samples: int) -> float:
    '""Write a table, in pieces, as the rows of a million samples take gigabytes; the share of right'
    'samples.""'
    right = verdicts(samples)
    rows = sample_rows(right)
    first = pyarrow.Table.from_pylist([next(rows)])
    with parquet.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        while piece := list(islice(rows, 50_000)):
            writer.write_table(pyarrow.Table.from_pylist(piece))
    return sum(right) / len(right)


if __name__ == '__main__':
    main(measure, __doc__)
