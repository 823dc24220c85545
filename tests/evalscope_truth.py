"""What the script of EvalScope's logs knows."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

N = 4
"""Samples a question."""

SYMBOLS = {'1': '1', 't': '1', 'x': '1', '0': '0', 'c': '0', 'h': '0', 'l': '?', 'f': '?'}
"""Letter of the script → verdict."""


def truth_of(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """Benchmark → uid → what the script knows of a question.

    EvalScope counts from 0 in each subset, which the uid begins with unless it is a sole `default`.
    """
    told = json.loads((folder / 'truth.json').read_text())
    known: dict[str, dict[str, dict[str, str]]] = {}
    for benchmark, questions in told.items():
        numbers: dict[str, int] = defaultdict(int)
        whole = {one['subset'] for one in questions} == {'default'}
        for one in questions:
            number = numbers[one['subset']]
            known.setdefault(benchmark, {})[str(number) if whole else f'{one["subset"]}/{number}'] = one
            numbers[one['subset']] += 1
    return known


def symbols_of(known: dict[str, str]) -> str:
    """The verdicts on a question in the order of its requests; EvalScope judges whole numbers alone."""
    if '.' in known['reference']:
        return '?' * N
    return ''.join(SYMBOLS[letter] for letter in known['replies'])
