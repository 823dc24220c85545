"""What do the responses beside a page cost: written with a report?

    python -m benchmarks.page_responses            # 238 questions × 48 samples of 20,000 characters
    python -m benchmarks.page_responses --quick    # of 2,000 characters

One made run of OpenCompass, the real command. The floor is a process that loads the same predictions and
compresses each question, all in memory.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from gpassk_opencompass.results.samples import write_samples

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
questions = int(sys.argv[2])
for question in range(questions):
    texts = [rows[str(row)] for row in range(question, len(rows), questions)]
    base64.b64encode(zlib.compress(json.dumps(texts, ensure_ascii=False).encode(), 3))
"""


class Found(NamedTuple):
    """What was measured."""

    predictions: int
    """Their bytes."""
    floor: Cost
    page: Cost
    written: Cost
    size: int
    """Bytes of the responses."""


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
    """Write a finished run of OpenCompass: predictions, result and sample file; the path of the first."""
    chance = random.Random(SEED)
    time = outputs / MODEL / '20261121_000000'
    dataset = DATASET.format(n=n)
    predictions = time / 'predictions' / MODEL / f'{dataset}.json'
    result = time / 'results' / MODEL / f'{dataset}.json'
    pool = [_text(chance, length) for _ in range(50)]
    rows = {}
    for replica in range(n):
        for question in range(questions):
            text = f'<think>{chance.choice(pool)}{replica}</think>\\boxed{{{question}}}'
            prompt = [{'role': 'HUMAN', 'prompt': f'Problem {question}: what is $x$?'}]
            rows[str(len(rows))] = {'origin_prompt': prompt, 'prediction': text, 'gold': str(question)}
    for path in (predictions, result):
        path.parent.mkdir(parents=True)
    predictions.write_text(json.dumps(rows, indent=4, ensure_ascii=False), encoding='utf-8')
    samples = [(question, replica) for question in range(questions) for replica in range(n)]
    told: dict[str, list[Any]] = {
        'uid': [f'u{question}' for question, _ in samples],
        'replica': [replica for _, replica in samples],
        'verdict': ['correct' if replica % 2 else 'incorrect' for _, replica in samples],
        'answer': [str(question) for question, _ in samples],
        'file': [f'../../predictions/{MODEL}/{dataset}.json'] * len(samples),
        'row': [replica * questions + question for question, replica in samples],
    }
    told['response_characters'] = [len(rows[str(row)]['prediction']) for row in told['row']]
    uids = [f'u{question}' for question in range(questions)]
    block = {
        'schema': 2,
        'n': n,
        'k': [4],
        'thresholds': [0.5, 1.0],
        'data': {'questions': questions, 'sha256': '0' * 64},
        'counts': {'uid': uids, 'problem': uids, 'group': ['AMC_en'] * questions, 'c': [n // 2] * questions},
        'unjudged': 0,
        'judge': {'name': 'made'},
    }
    record = {'gpassk': block}
    write_samples(result, record, told)
    result.write_text(json.dumps(record), encoding='utf-8')
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
        f'its predictions have {found.predictions / 1e6:,.0f} MB. '
        'Floor: a process that loads the predictions and compresses each question in memory.',
        ['what', 'processor', 'of the floor', 'most memory'],
        [
            _row('floor: load and compress', floor, floor),
            _row('page alone', page, floor),
            _row('page and responses', found.written, floor),
        ],
        notes=[f'The responses take {size / 1e6:,.1f} MB, {part:.0f} % of the predictions.'],
        headlines=[headline(f'Responses beside a page, {each}', 'load and compress', found.written, floor)],
    )


def _row(what: str, spent: Cost, floor: Cost) -> list[str]:
    return [what, duration(spent.cpu), times(spent.cpu / floor.cpu), megabytes(spent)]


if __name__ == '__main__':
    main(measure, __doc__)
