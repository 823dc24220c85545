"""What does a row a sample cost, beside the JSON of the same result?

    python -m benchmarks.sample_file            # 238 × 48 and 10,000 × 64
    python -m benchmarks.sample_file --quick    # the same

Made answers and verdicts, with the tokens, finish reasons and seeds that a seeded engine tells. Writing the
sample file is from the columns in memory to bytes on the disk, its hash included; the JSON is the result of
the same run, written by `json`. Reading gives every column as Python values; of the JSON it is `json` alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from gpassk_opencompass import FunctionJudge, Judgement, Samples, Verdict
from gpassk_opencompass.results.health import Generation
from gpassk_opencompass.results.samples import COLUMNS, read_samples, sample_file_of, write_samples
from gpassk_opencompass.scoring import Scored, score_judged

from .made import QUESTIONS, SEED, answer_of
from .measuring import Cost, cost, progress
from .sections import Section, Size, duration, headline, main, times

CASES: Mapping[Size, tuple[tuple[int, int], ...]] = {
    'tiny': ((10, 4),),
    'quick': ((QUESTIONS, 48), (10_000, 64)),
    'full': ((QUESTIONS, 48), (10_000, 64)),
}
"""(questions, n)"""


class Row(NamedTuple):
    """One case; `value` of what writes is the size in bytes."""

    questions: int
    n: int
    written: Cost
    json_written: Cost
    read: Cost
    json_read: Cost


def measure(size: Size) -> Section:
    """Every case of this size."""
    with TemporaryDirectory() as folder:
        return _section(
            [_row(Path(folder, f'{questions}.json'), questions, n) for questions, n in CASES[size]]
        )


def _row(path: Path, questions: int, n: int) -> Row:
    progress(f'sample file: {questions:,} × {n}')
    scored = made_run(questions, n)
    return Row(
        questions,
        n,
        cost(partial(_write, path, scored), warm=1),
        cost(partial(_write_json, path, scored.record), warm=1),
        cost(partial(_read, path, n), warm=1),
        cost(partial(_read_json, path), warm=1),
    )


def made_run(questions: int, n: int) -> Scored:
    """A run whose answers are right, spelled otherwise, or wrong."""
    generator = np.random.default_rng(SEED)
    chances = generator.beta(0.5, 0.5, questions)
    right = (generator.random((questions, n)) < chances[:, None]).ravel().tolist()
    tokens = generator.integers(200, 8192, questions * n).tolist()
    seeds = generator.integers(0, 2**53, questions * n).tolist()
    numbers = [number for number in range(questions) for _ in range(n)]
    made = [answer_of(number) for number in range(questions)]
    answers = [
        made[number].reference if hit else made[number].wrong
        for number, hit in zip(numbers, right, strict=True)
    ]
    samples = Samples(
        uid=[f'made/AMC_en/{number}' for number in numbers],
        replica=list(range(n)) * questions,
        question=[f'Find the value of $x_{{{number}}}$' for number in numbers],
        reference=[made[number].reference for number in numbers],
        response=[f'{answer} (thought {row})' for row, answer in enumerate(answers)],
        split=['AMC'] * len(numbers),
        language=['en'] * len(numbers),
        problem=[f'made/AMC/{number}' for number in numbers],
        generation=[Generation('stop', 120, count) for count in tokens],
        seed=seeds,
        file=['../../predictions/made/made.json'] * len(numbers),
        row=list(range(len(numbers))),
    )
    judgements = [Judgement(Verdict.CORRECT if hit else Verdict.INCORRECT, 'string') for hit in right]
    judge = FunctionJudge(lambda pair: pair.answer == pair.reference, name='equal')
    return score_judged(samples, judgements, answers, judge, n=n, k=[4])


def _write(path: Path, scored: Scored) -> int:
    write_samples(path, scored.record, scored.samples)
    return sample_file_of(path).stat().st_size


def _write_json(path: Path, record: Mapping[str, Any]) -> int:
    path.write_text(json.dumps(record, ensure_ascii=False), encoding='utf-8')
    return path.stat().st_size


def _read(path: Path, n: int) -> None:
    samples = read_samples(sample_file_of(path), n)
    for column in COLUMNS:
        samples.column(column.name)


def _read_json(path: Path) -> None:
    json.loads(path.read_bytes())


def _section(rows: list[Row]) -> Section:
    last = rows[-1]
    heads = ['questions × n', 'sample file', 'JSON', 'file / JSON', 'written', '/ JSON', 'read', '/ JSON']
    return Section(
        'Sample file',
        'The file beside each result that has a row a sample, with seeds, tokens and finish reasons, and '
        'the JSON of the same result: their sizes, and what writing and reading them takes.',
        heads,
        [_cells(row) for row in rows],
        headlines=[
            headline(
                f'Sample file of {last.questions:,} × {last.n}, written',
                'writing its JSON',
                last.written,
                last.json_written,
            )
        ],
    )


def _cells(row: Row) -> list[str]:
    size, json_size = row.written.value, row.json_written.value
    return [
        f'{row.questions:,} × {row.n}',
        f'{size / 1e6:,.2f} MB',
        f'{json_size / 1e6:,.2f} MB',
        times(size / json_size),
        duration(row.written.cpu),
        times(row.written.cpu / row.json_written.cpu),
        duration(row.read.cpu),
        times(row.read.cpu / row.json_read.cpu),
    ]


if __name__ == '__main__':
    main(measure, __doc__)
