"""What do the responses beside a page cost: written with a report?

    python -m benchmarks.page_responses            # 238 questions × 48 samples of 20,000 characters
    python -m benchmarks.page_responses --quick    # of 2,000 characters

One made run, the real command. The floor is a process that loads the same responses from JSON and compresses
each question, all in memory.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from gpassk_opencompass import Samples, score
from gpassk_opencompass.record import Names, write

from .made import QUESTIONS, SEED
from .measuring import Cost, command_cost, cost, progress
from .sections import Section, Size, duration, headline, main, megabytes, times

CASES: Mapping[Size, tuple[int, int, int]] = {
    'tiny': (10, 4, 300),
    'quick': (QUESTIONS, 48, 2_000),
    'full': (QUESTIONS, 48, 20_000),
}
"""(questions, n, characters of a response)"""

MODEL, DATASET = 'model_t1-0_rs42_l8192', 'LiveMathBench-v202412-k4-n{n}'
WORDS = ('so', 'we', 'have', r'\frac{1}{2}', 'x^2', '=', '17', '\n\n', 'wait,', 'therefore', '二', 'mod')

FLOOR = """
import base64, json, sys, zlib
rows = json.load(open(sys.argv[1], encoding='utf-8'))
n = len(rows) // int(sys.argv[2])
for start in range(0, len(rows), n):
    texts = rows[start : start + n]
    base64.b64encode(zlib.compress(json.dumps(texts, ensure_ascii=False).encode(), 3))
"""


class Found(NamedTuple):
    """What was measured."""

    predictions: int
    """Bytes of the responses."""
    floor: Cost
    page: Cost
    written: Cost
    size: int
    """Bytes of what is beside the page."""


def measure(size: Size) -> Section:
    """The case of this size."""
    questions, n, length = CASES[size]
    with TemporaryDirectory() as folder:
        return _section(_found(Path(folder), questions, n, length), f'{questions} × {n} × {length:,}')


def _found(folder: Path, questions: int, n: int, length: int) -> Found:
    outputs, report = folder / 'outputs', folder / 'report'
    progress('responses: made run')
    # In a process of its own: what it leaves in memory would count as that of the commands.
    predictions = cost(partial(make_run, outputs, questions, n, length)).value
    command = [sys.executable, '-m', 'gpassk_opencompass.cli', 'report', outputs, '-o', report]
    command += ['--only', 'page']
    progress('responses: floor')
    floor = command_cost([sys.executable, '-c', FLOOR, predictions, str(questions)])
    progress('responses: reports')
    page = command_cost(command)
    written = command_cost([*command, '--responses'])
    size = sum(path.stat().st_size for path in (report / 'responses').rglob('*') if path.is_file())
    return Found(predictions.stat().st_size, floor, page, written, size)


def make_run(outputs: Path, questions: int, n: int, length: int) -> Path:
    """Write a finished run of OpenCompass, and its responses as JSON; the path of those."""
    chance = random.Random(SEED)
    folder = outputs / MODEL / '20261121_000000' / 'results' / MODEL
    names = Names(model=MODEL, dataset=DATASET.format(n=n), host='opencompass')
    pool = [_text(chance, length) for _ in range(50)]
    rows = [(question, replica) for question in range(questions) for replica in range(n)]
    texts = [
        f'<think>{chance.choice(pool)}{replica}</think>\\boxed{{{question}}}' for question, replica in rows
    ]
    samples = Samples(
        {
            'uid': [f'u{question}' for question, _ in rows],
            'replica': [replica for _, replica in rows],
            'question': [f'Problem {question}: what is $x$?' for question, _ in rows],
            'reference': [str(question) for question, _ in rows],
            'response': texts,
            'verdict': ['correct' if replica % 2 else 'incorrect' for _, replica in rows],
            'answer': [str(question) for question, _ in rows],
        }
    )
    write(folder / f'{names.dataset}.json', score(samples, {'name': 'made'}, n=n, k=[4], names=names))
    predictions = outputs.parent / 'predictions.json'
    predictions.write_text(json.dumps(texts, ensure_ascii=False), encoding='utf-8')
    return predictions


def _text(chance: random.Random, length: int) -> str:
    text = ''
    while len(text) < length:
        text += f'{chance.choice(WORDS)} {chance.randrange(100)} '
    return text[:length]


def _section(found: Found, each: str) -> Section:
    page, floor, size = found.page, found.floor, found.size
    part = 100 * size / found.predictions
    return Section(
        'Responses beside the page',
        f'`gpassk report --only page --responses` of one run of {each} characters, with start and imports; '
        f'its responses have {found.predictions / 1e6:,.0f} MB. '
        'Floor: a process that loads them from JSON and compresses each question in memory.',
        ['what', 'processor', 'of the floor', 'most memory'],
        [
            _row('floor: load and compress', floor, floor),
            _row('page alone', page, floor),
            _row('page and responses', found.written, floor),
        ],
        notes=[f'Beside the page they take {size / 1e6:,.1f} MB, {part:.0f} % of that.'],
        headlines=[headline(f'Responses beside a page, {each}', 'load and compress', found.written, floor)],
    )


def _row(what: str, spent: Cost, floor: Cost) -> list[str]:
    return [what, duration(spent.cpu), times(spent.cpu / floor.cpu), megabytes(spent)]


if __name__ == '__main__':
    main(measure, __doc__)
