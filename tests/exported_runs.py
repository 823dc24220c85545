"""Runs whose truth is known, scored by `gpassk score`, and the exact scores of their counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

from exact import g_pass

from gpassk_opencompass.cli import main

N = 4
TRUTH = ['1111', '1100', '0000', '0111', '1000', '1110'] * 4
"""Which samples of 24 questions are correct; two questions each are of one problem."""

COUNTS = [verdicts.count('1') for verdicts in TRUTH]


def response(question: int, correct: bool, replica: int) -> str:
    """A response by construction right or wrong, which no other one is a copy of."""
    thought = f'<think>{"so " * (replica + 1)}</think>'
    return f'{thought}I add.\u2028The sum is \\boxed{{{2 * question + (0 if correct else 1)}}}.'


def scored_responses(folder: Path, name: str = 'theirs', **more: Any) -> Path:
    """The result of responses, judged by the rule; the file with the responses lies beside it.

    Args:
        name: of the model.
        more: further fields of each row.
    """
    rows = [
        {
            'uid': f'q{number}',
            'problem': f'p{number // 2}',
            'split': 'sums' if number < 12 else '求和',
            'language': 'en' if number % 2 else 'cn',
            'question': f'What is ${number}+{number}$?',
            'answer': str(2 * number),
            'responses': [
                response(number, symbol == '1', replica) for replica, symbol in enumerate(verdicts)
            ],
            **more,
        }
        for number, verdicts in enumerate(TRUTH)
    ]
    given, result = folder / f'{name}.jsonl', folder / f'{name}.gpassk.json'
    folder.mkdir(parents=True, exist_ok=True)
    given.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    assert main(['score', str(given), '-o', str(result), '--k', '1', '2', '3']) == 0
    return result


def exact(metric: str, n: int, counts: Sequence[int]) -> float:
    """The mean of a metric over questions with so many correct samples, by its definition."""
    if metric == 'accuracy':
        return sum(counts) / n / len(counts)
    kind, _, rest = metric.partition('@')
    k, _, tau = rest.partition('_')
    if kind == 'mG-Pass':
        steps = range(ceil(Fraction(int(k), 2)) + 1, int(k) + 1)
        return 2 / int(k) * sum(g_pass(counts, n, int(k), Fraction(step, int(k))) for step in steps) / 100
    return g_pass(counts, n, int(k), Fraction(tau or 0)) / 100
