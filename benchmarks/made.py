"""Made data that every benchmark can have: questions, answers in several spellings, responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SEED = 20241219
LANGUAGES = ('cn', 'en')
SPLITS = {'CNMO': 18, 'CCEE': 44, 'AMC': 46, 'WLPMC': 11}
"""Problems of each contest in LiveMathBench v202412, each there in both languages."""

QUESTIONS = len(LANGUAGES) * sum(SPLITS.values())
"""238."""

VERSION = 'made'
K_LIST = (4, 8, 16)
READER = {'input_columns': ['prompt'], 'output_column': 'answer'}


class Answer(NamedTuple):
    """A reference, the same in another spelling, and something else."""

    reference: str
    respelled: str
    wrong: str


class MadePair(NamedTuple):
    """A reference and an answer to it."""

    reference: str
    answer: str
    right: bool


KINDS: tuple[Callable[[int], Answer], ...] = (
    lambda i: Answer(f'{i + 2}', f'{i + 2}.0', f'{i + 3}'),
    lambda i: Answer(rf'\frac{{{2 * i + 1}}}{{8}}', f'{(2 * i + 1) / 8}', rf'\frac{{{2 * i + 1}}}{{16}}'),
    lambda i: Answer(rf'{i + 2}\sqrt{{3}}', rf'\sqrt{{{3 * (i + 2) ** 2}}}', rf'{i + 2}\sqrt{{5}}'),
    lambda i: Answer(f'x^2+{i + 1}x+{i}', f'(x+1)(x+{i})' if i else 'x(x+1)', f'x^2+{i + 1}x-{i + 1}'),
    lambda i: Answer(
        rf'\{{{i}, {i + 1}, {i + 2}\}}', rf'\{{{i + 2}, {i}, {i + 1}\}}', rf'\{{{i}, {i + 1}\}}'
    ),
    lambda i: Answer(f'({i}, {i + 4}]', rf'\left({i}, {2 * i + 8}/2\right]', f'[{i}, {i + 4}]'),
    lambda i: Answer(rf'\frac{{\pi}}{{{i + 2}}}', rf'\pi/{i + 2}', rf'\frac{{\pi}}{{{i + 3}}}'),
    lambda i: Answer(
        rf'2^{{{i + 3}}}-1', f'{2 ** (i % 40 + 3) - 1}' if i < 40 else f'-1+2^{{{i + 3}}}', f'{i}'
    ),
)


def answer_of(number: int) -> Answer:
    """Of question `number`, whole numbers and what needs mathematics by turns."""
    return KINDS[number % len(KINDS)](number // len(KINDS))


def made_pairs(count: int) -> list[MadePair]:
    """Different pairs that spelling alone does not decide, every other one right."""
    answers = [answer_of(number) for number in range(-(-count // 2))]
    pairs = [
        MadePair(answer.reference, text, right)
        for answer in answers
        for text, right in ((answer.respelled, True), (answer.wrong, False))
    ]
    return pairs[:count]


def write_questions(root: Path, scale: float = 1.0) -> int:
    """LiveMathBench's layout with `scale` times as many questions; how many there are."""
    (root / VERSION).mkdir(parents=True)
    count = 0
    for split, language in product(SPLITS, LANGUAGES):
        rows = []
        for index in range(max(1, round(SPLITS[split] * scale))):
            rows.append(json.dumps(_question(count, split, index, language), ensure_ascii=False))
            count += 1
        (root / VERSION / f'{split}_{language}.jsonl').write_text('\n'.join(rows), encoding='utf-8')
    return count


def _question(number: int, split: str, index: int, language: str) -> dict[str, Any]:
    text = '求下式的值' if language == 'cn' else 'Find the value'
    return {
        'question': f'{text} ({split}, {index}): {" + ".join(f"$x_{{{i}}}^2$" for i in range(12))}',
        'answer': answer_of(number).reference,
        'question_type': 'problem-solving',
        'options': [],
    }


def dataset_arguments(root: Path, n: int) -> dict[str, Any]:
    """For the data set classes of both sides."""
    return {
        'path': str(root),
        'version': VERSION,
        'dataset_splits': list(SPLITS),
        'dataset_languages': list(LANGUAGES),
        'k': [k for k in K_LIST if k <= n] or [n],
        'n': n,
        'reader_cfg': READER,
        'abbr': 'made_en',  # the built-in evaluator takes the language from the part behind `_`
    }


def made_responses(questions: int, n: int, length: int) -> tuple[list[str], list[bool]]:
    """n × Q responses, replica by replica, and which are right: mostly as the reference, else one of two."""
    generator = np.random.default_rng(SEED)
    chances = generator.beta(0.7, 0.7, size=questions)
    filler = ' '.join(
        f'Step {number}: $a_{{{number}}} = {number * number}$, hence …' for number in range(2000)
    )
    starts = generator.integers(0, len(filler) - length, size=n * questions).tolist()
    right = (generator.random((n, questions)) < chances).ravel().tolist()
    respelled = (generator.random(n * questions) < 0.2).tolist()
    responses = []
    for row, start in enumerate(starts):
        answer = answer_of(row % questions)
        text = (answer.respelled if respelled[row] else answer.reference) if right[row] else answer.wrong
        responses.append(rf'{filler[start : start + length]} So the answer is $\boxed{{{text}}}$.')
    return responses, right


def draw_labels(questions: int, n: int) -> Any:
    """n × Q labels, one row a replica, of questions that are mostly easy or hard."""
    generator = np.random.default_rng(SEED)
    difficulty = generator.beta(0.5, 0.5, questions).astype(np.float32)
    labels = np.empty((n, questions), dtype=np.bool_)
    for replica in labels:
        np.less(generator.random(questions, dtype=np.float32), difficulty, out=replica)
    return labels
