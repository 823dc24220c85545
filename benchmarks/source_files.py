"""How long does `gpassk score` take for files of other programs, and how much memory?

    python -m benchmarks.source_files            # 1,000,000 samples of each form, 0.2 to 1.2 GB
    python -m benchmarks.source_files --quick    # 100,000

Samples with known verdicts are written in the forms of lm-eval, verl, NeMo-Skills and a table with a row a
sample, and scored by the command, a process of its own; nothing is judged anew. The floor is a process that
only parses the same rows: `json.loads` for lines, pyarrow for Parquet. Before a time counts, the accuracy
that was printed is compared with the known one.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow
from pyarrow import parquet

from .made import SEED
from .measuring import Cost, command_cost, progress
from .sections import Section, Size, duration, headline, main, megabytes, times

N = 16
SAMPLES: Mapping[Size, int] = {'tiny': 320, 'quick': 100_000, 'full': 1_000_000}
TEXT = 'We add the two numbers, one digit after the other, and carry. ' * 10
PARSE_LINES = (
    'import json, sys\nfor path in sys.argv[1:]:\n'
    '    with open(path) as lines:\n        for line in lines: json.loads(line)'
)
PARSE_PARQUET = (
    'import sys\nfrom pyarrow import parquet\n'
    'for batch in parquet.ParquetFile(sys.argv[1]).iter_batches(4096): batch.to_pylist()'
)

Question = tuple[int, list[bool]]
"""Its number, and which of its samples are right."""


class Row(NamedTuple):
    """One form."""

    form: str
    megabytes: float
    ours: Cost
    floor: Cost


def measure(size: Size) -> Section:
    """Every form."""
    samples = SAMPLES[size]
    return _section([_row(form, write, samples) for form, write in FORMS.items()], samples)


def _row(form: str, write: Callable[[Path, int], list[Path]], samples: int) -> Row:
    progress(f'{form}: {samples:,} samples')
    with TemporaryDirectory() as folder:
        files = write(Path(folder), samples // N)
        given = folder if len(files) > 1 else files[0]
        ours = command_cost(
            [sys.executable, '-m', 'gpassk_opencompass.cli', 'score', given, '--k', '8', '16']
        )
        told = re.search(r'^\| accuracy +\| +([0-9.]+) ', str(ours.value), re.MULTILINE)
        known = 100 * float(np.mean([right for _, verdicts in questions(samples // N) for right in verdicts]))
        assert told is not None
        assert abs(float(told[1]) - known) < 0.01, (form, told[1], known)
        parse = PARSE_PARQUET if files[0].suffix == '.parquet' else PARSE_LINES
        floor = command_cost([sys.executable, '-c', parse, *files])
        return Row(form, sum(file.stat().st_size for file in files) / 1e6, ours, floor)


def questions(count: int) -> Iterator[Question]:
    """Of a U-shaped population."""
    generator = np.random.default_rng(SEED)
    for number, share in enumerate(generator.beta(0.4, 0.4, size=count)):
        yield number, (generator.random(N) < share).tolist()


def response(number: int, place: int, right: bool) -> str:
    """A text of 0.6 kB that no other sample has."""
    return f'{place}: {TEXT}\\boxed{{{number if right else -1}}}'


def write_lines(path: Path, rows: Iterator[Mapping[str, Any]]) -> list[Path]:
    """JSON lines."""
    with path.open('w', encoding='utf-8') as file:
        file.writelines(json.dumps(row) + '\n' for row in rows)
    return [path]


def sample_rows(count: int) -> Iterator[dict[str, Any]]:
    """A row a sample."""
    for number, verdicts in questions(count):
        for place, right in enumerate(verdicts):
            yield {
                'uid': f'q{number}',
                'question': f'What is {number}?',
                'reference': str(number),
                'response': response(number, place, right),
                'correct': right,
            }


def write_parquet(folder: Path, count: int) -> list[Path]:
    """A table, in pieces: the rows of a million samples take gigabytes."""
    path, rows = folder / 'table.parquet', sample_rows(count)
    first = pyarrow.Table.from_pylist([next(rows)])
    with parquet.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        while piece := list(islice(rows, 50_000)):
            writer.write_table(pyarrow.Table.from_pylist(piece))
    return [path]


def lm_eval_rows(count: int) -> Iterator[dict[str, Any]]:
    """A row a question, as a task with `repeats` and a verdict each logs it."""
    for number, verdicts in questions(count):
        texts = [response(number, place, right) for place, right in enumerate(verdicts)]
        yield {
            'doc_id': number,
            'doc': {'question': f'What is {number}?', 'answer': str(number)},
            'target': str(number),
            'arguments': {'gen_args_0': {'arg_0': f'What is {number}?', 'arg_1': {'temperature': 1.0}}},
            'resps': [texts],
            'filtered_resps': texts,
            'filter': 'all',
            'metrics': ['correct'],
            'doc_hash': f'{number:064x}',
            'prompt_hash': f'{number:064x}',
            'target_hash': f'{number:064x}',
            'correct': verdicts,
        }


def verl_rows(count: int) -> Iterator[dict[str, Any]]:
    """A row a rollout."""
    for number, verdicts in questions(count):
        for place, right in enumerate(verdicts):
            yield {
                'input': f'What is {number}?',
                'output': response(number, place, right),
                'gts': str(number),
                'score': float(right),
                'step': 100,
                'acc': right,
            }


def write_nemo_skills(folder: Path, count: int) -> list[Path]:
    """A file a seed."""
    (target := folder / 'eval-results' / 'sums').mkdir(parents=True)
    paths = [target / f'output-rs{place}.jsonl' for place in range(N)]
    files = [path.open('w', encoding='utf-8') for path in paths]
    for number, verdicts in questions(count):
        for place, (file, right) in enumerate(zip(files, verdicts, strict=True)):
            row = {
                'id': f'q{number}',
                'problem': f'What is {number}?',
                'expected_answer': str(number),
                'generation': response(number, place, right),
                'predicted_answer': str(number if right else -1),
                'symbolic_correct': right,
                'num_generated_tokens': 100,
            }
            file.write(json.dumps(row) + '\n')
    for file in files:
        file.close()
    return paths


FORMS: Mapping[str, Callable[[Path, int], list[Path]]] = {
    'table, JSON lines': lambda folder, count: write_lines(folder / 'table.jsonl', sample_rows(count)),
    'lm-eval': lambda folder, count: write_lines(
        folder / 'samples_sums_2026-01-01T00-00-00.000000.jsonl', lm_eval_rows(count)
    ),
    'verl': lambda folder, count: write_lines(folder / '100.jsonl', verl_rows(count)),
    'NeMo-Skills': write_nemo_skills,
    'table, Parquet': write_parquet,  # last: a process begins with the memory of the one that starts it
}


def _section(rows: list[Row], samples: int) -> Section:
    first = rows[0]
    return Section(
        'Samples of other programs',
        f'`gpassk score` on {samples:,} samples with verdicts, {N} a question, 0.6 kB of text each, start '
        'and imports included. Floor: a process that parses the same rows, with `json.loads` or pyarrow.',
        ['form', 'size', 'ours', 'samples a second', 'floor', 'ours / floor', 'memory, ours', 'floor'],
        [
            [
                row.form,
                f'{row.megabytes:,.0f} MB',
                duration(row.ours.cpu),
                f'{samples / row.ours.cpu:,.0f}',
                duration(row.floor.cpu),
                times(row.ours.cpu / row.floor.cpu),
                megabytes(row.ours),
                megabytes(row.floor),
            ]
            for row in rows
        ],
        headlines=[
            headline(f'Scoring {samples:,} samples of a table', 'parsing the rows', first.ours, first.floor)
        ],
    )


if __name__ == '__main__':
    main(measure, __doc__)
