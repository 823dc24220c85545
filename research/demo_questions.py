"""The demo's problems: drawn from a ladder of difficulties, asked and answered in two languages.

`python -m research.demo_questions [--output DIR]` writes the question files again.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import NamedTuple

from gpassk_opencompass.demo import LANGUAGES, QUESTIONS, SPLITS, VERSION

SEED = 2412
"""Seed of the shipped question files."""

LADDERS: dict[str, tuple[tuple[int, ...], ...]] = {
    'ADD': ((1, 1), (2, 1), (2, 2), (2, 2), (3, 2), (3, 3), (2, 2, 2), (4, 4)),
    'MUL': ((1, 1), (1, 1), (2, 1), (2, 1), (2, 1), (3, 1), (2, 2), (2, 2)),
    'MIX': ((1, 1, 1), (1, 1, 1), (1, 1, 2), (1, 1, 2), (1, 1, 3), (2, 1, 1), (2, 1, 2), (2, 1, 2)),
}
"""Per split, the numbers of digits of the operands, from easy to hard: one problem a rung."""

_COMPUTE = {'en': 'Compute ${}$.', 'cn': '计算 ${}$。'}
_LEFT = {
    'en': 'Each of ${1}$ boxes holds ${0}$ pens. ${2}$ pens are taken out. How many pens are left?',
    'cn': '有 ${1}$ 个盒子，每个装 ${0}$ 支笔，拿走 ${2}$ 支，还剩多少支？',
}
_COST = {
    'en': 'A pen costs ${0}$ yuan and a bag costs ${2}$ yuan. How much do ${1}$ pens and a bag cost?',
    'cn': '一支笔 ${0}$ 元，一个包 ${2}$ 元，买 ${1}$ 支笔和一个包要多少元？',
}
_RESPONSE = {
    'en': ('${}$', ', ', '{}. So the answer is \\boxed{{{}}}.'),
    'cn': ('${}$', '，', '{}。所以答案是 \\boxed{{{}}}。'),
}


class Problem(NamedTuple):
    """One problem: its question in each language, equations that lead to the answer, and that."""

    questions: dict[str, str]
    steps: tuple[str, ...]
    answer: int

    def response(self, language: str) -> str:
        """Return the right response in a language."""
        step, comma, sentence = _RESPONSE[language]
        return sentence.format(comma.join(map(step.format, self.steps)), self.answer)


def draw(rng: Random, split: str, digits: Sequence[int]) -> Problem:
    """Draw a random problem of a split, whose operands have so many digits."""
    operands = [_number(rng, width) for width in digits]
    if split == 'MIX':
        return _word_problem(rng, *operands)
    sign = '+' if split == 'ADD' else '\\times'
    questions = {language: _COMPUTE[language].format(sign.join(map(str, operands))) for language in LANGUAGES}
    if split == 'ADD':
        totals = list(accumulate(operands))  # an equation a sign, each going on from the sum before
        terms = zip(totals, operands[1:], totals[1:], strict=False)
        return Problem(questions, tuple(f'{a}+{b}={c}' for a, b, c in terms), sum(operands))
    return Problem(questions, (_product(*operands),), math.prod(operands))


def _number(rng: Random, width: int) -> int:
    return rng.randrange(max(2, 10 ** (width - 1)), 10**width)


def _product(left: int, right: int) -> str:
    """Write a product by the digits of its longer factor, e.g. 47\\times6=240+42=282."""
    digits = str(left)
    parts = [int(digit) * right * 10 ** (len(digits) - 1 - place) for place, digit in enumerate(digits)]
    shown = '+'.join(str(part) for part in parts if part)
    result = left * right
    return f'{left}\\times{right}={shown}' + (f'={result}' if shown != str(result) else '')


def _word_problem(rng: Random, price: int, count: int, other: int) -> Problem:
    product = price * count
    # More pens than there are cannot be taken out; such numbers make a bill instead.
    left = other < product and rng.random() < 0.5
    texts, sign, answer = (_LEFT, '-', product - other) if left else (_COST, '+', product + other)
    questions = {language: texts[language].format(price, count, other) for language in LANGUAGES}
    steps = (_product(price, count), f'{product}{sign}{other}={answer}')
    return Problem(questions, steps, answer)


def write(folder: Path, seed: int = SEED) -> None:
    """Write `<folder>/<VERSION>/<SPLIT>_<language>.jsonl` for each split and language: a problem a rung."""
    (folder / VERSION).mkdir(parents=True, exist_ok=True)
    rng = Random(seed)
    for split in SPLITS:
        problems = [draw(rng, split, digits) for digits in LADDERS[split]]
        for language in LANGUAGES:
            rows = [
                {
                    'question': problem.questions[language],
                    'answer': f'${problem.answer}$',
                    'question_type': 'problem-solving',
                    'options': [],
                }
                for problem in problems
            ]
            lines = [f'{json.dumps(row, ensure_ascii=False)}\n' for row in rows]
            (folder / VERSION / f'{split}_{language}.jsonl').write_text(''.join(lines), encoding='utf-8')


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the question files from the command line."""
    parser = argparse.ArgumentParser(prog='python -m research.demo_questions', description=main.__doc__)
    parser.add_argument('--output', type=Path, default=Path(QUESTIONS), help='folder (default: %(default)s)')
    write(parser.parse_args(arguments).output)


if __name__ == '__main__':
    main()
