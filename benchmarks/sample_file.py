"""What do a result and its samples cost: with responses, and of many samples without?

    python -m benchmarks.sample_file            # 238 × 48 responses of 20,000 characters, 10,000 × 64 without
    python -m benchmarks.sample_file --quick    # responses of 2,000 characters

Made answers and verdicts, with the tokens, finish reasons and seeds that a seeded engine tells. Written is
the pair, JSON and Parquet, from columns in memory to the disk, hashes included; opened is one question with
all of its columns, from the pair and from the Parquet file alone. The floor is `json`: a line a sample,
written and read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from gpassk_opencompass import Samples, score
from gpassk_opencompass.record import Result, read, write

from .made import QUESTIONS, SEED, answer_of
from .measuring import Cost, cost, progress
from .sections import Section, Size, duration, headline, main, megabytes

CASES: Mapping[Size, tuple[tuple[int, int, int], ...]] = {
    'tiny': ((10, 4, 300),),
    'quick': ((QUESTIONS, 48, 2_000), (10_000, 64, 0)),
    'full': ((QUESTIONS, 48, 20_000), (10_000, 64, 0)),
}
"""(questions, n, characters of a response)"""


class Row(NamedTuple):
    """One case; `value` of what writes is the size in bytes."""

    case: tuple[int, int, int]
    written: Cost
    lines_written: Cost
    read: Cost
    lines_read: Cost
    opened: Cost
    alone: Cost


def measure(size: Size) -> Section:
    """Every case of this size."""
    with TemporaryDirectory() as folder:
        return _section([_row(Path(folder, f'{case[0]}'), case) for case in CASES[size]])


def _row(folder: Path, case: tuple[int, int, int]) -> Row:
    progress('sample file: {:,} × {} × {:,}'.format(*case))
    folder.mkdir()
    result, path, lines = made_run(*case), folder / 'result.json', folder / 'lines.jsonl'
    written = cost(partial(_write, path, result), warm=1)
    [parquet] = folder.glob('*.parquet')
    place = case[0] // 2 * case[1], (case[0] // 2 + 1) * case[1]
    return Row(
        case,
        written,
        cost(partial(_write_lines, lines, result)),
        cost(partial(_read, path), warm=1),
        cost(partial(_read_lines, lines)),
        cost(partial(_open, path, place), warm=1),
        cost(partial(Samples.read, parquet, None, place), warm=1),
    )


def made_run(questions: int, n: int, length: int) -> Result:
    """A run whose answers are right, spelled otherwise, or wrong."""
    generator = np.random.default_rng(SEED)
    numbers = [number for number in range(questions) for _ in range(n)]
    verdicts = (generator.random(len(numbers)) < 0.5).tolist()
    made = [answer_of(number) for number in range(questions)]
    samples = Samples(
        {
            'uid': [f'made/AMC_en/{number}' for number in numbers],
            'replica': [*range(n)] * questions,
            'question': [f'Find the value of $x_{{{number}}}$' for number in numbers],
            'reference': [made[number].reference for number in numbers],
            'response': [_text(generator, length) for _ in numbers] if length else None,
            'answer': [
                made[number].reference if hit else made[number].wrong
                for number, hit in zip(numbers, verdicts, strict=True)
            ],
            'verdict': ['correct' if hit else 'incorrect' for hit in verdicts],
            'group': ['AMC_en'] * len(numbers),
            'finish_reason': ['stop'] * len(numbers),
            'output_tokens': generator.integers(200, 8192, len(numbers)).tolist(),
            'seed': generator.integers(0, 2**53, len(numbers)).tolist(),
        }
    )
    return score(samples, {'name': 'made'}, n=n, k=[4], answers=None, warn=False)


WORDS = [f'{word:x}'[::-1] for word in range(16, 20_000)]


def _text(generator: np.random.Generator, length: int) -> str:
    """Words as often as in prose, the second one half as often as the first: they compress like it."""
    drawn = np.minimum(generator.zipf(1.2, length // 3), len(WORDS)) - 1
    return ' '.join([WORDS[word] for word in drawn.tolist()])[:length]


def _write(path: Path, result: Result) -> int:
    write(path, result)
    return sum(one.stat().st_size for one in path.parent.iterdir() if one.suffix != '.jsonl')


def _write_lines(path: Path, result: Result) -> int:
    samples = result.samples()
    assert samples is not None
    names = samples.names
    with path.open('w', encoding='utf-8') as file:
        for values in zip(*(samples[name] for name in names), strict=True):
            file.write(json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) + '\n')
    return path.stat().st_size


def _read(path: Path) -> int:
    samples = read(path).samples()
    return len(samples) if samples else 0


def _read_lines(path: Path) -> int:
    with path.open(encoding='utf-8') as file:
        return len([json.loads(line) for line in file])


def _open(path: Path, rows: tuple[int, int]) -> int:
    samples = read(path).samples(rows=rows)
    return len(samples) if samples else 0


def _section(rows: list[Row]) -> Section:
    heads = ['questions × n × characters', 'pair', 'lines', 'written', 'lines', 'read', 'lines']
    heads += ['one question', '… without the hash', 'memory: written', 'read']
    first = rows[0]
    return Section(
        'Results and their samples',
        'The pair of files of a result, JSON and Parquet, with seeds, tokens and finish reasons; floor: a '
        'line of JSON a sample, by `json`. One question: all of its samples, with their responses.',
        heads,
        [_cells(row) for row in rows],
        headlines=[
            headline(
                'One question of {:,} × {} × {:,} opened'.format(*first.case),
                'reading all lines',
                first.opened,
                first.lines_read,
            )
        ],
    )


def _cells(row: Row) -> list[str]:
    costs = (row.written, row.lines_written, row.read, row.lines_read, row.opened, row.alone)
    return [
        '{:,} × {} × {:,}'.format(*row.case),
        *(f'{one.value / 1e6:,.1f} MB' for one in costs[:2]),
        *(duration(one.cpu) for one in costs),
        megabytes(row.written),
        megabytes(row.read),
    ]


if __name__ == '__main__':
    main(measure, __doc__)
