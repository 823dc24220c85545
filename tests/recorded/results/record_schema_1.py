"""Write results of schema 1 with a version of this package that wrote it.

    git worktree add /tmp/old COMMIT
    PYTHONPATH=/tmp/old python tests/recorded/results/record_schema_1.py tests/recorded/results NAME

The last commit of version 0.1.0 wrote `0.1.0.json` and `0.1.0-whole.json`; the last one of schema 1, before
0.2.0, wrote `schema-1.json` and `schema-1-whole.json`. The whole ones have all optional parts.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from gpassk_opencompass import FunctionJudge, RuleJudge, Samples, Verdict, score

PLACES = [(question, replica) for question in range(3) for replica in range(4)]
RESPONSES = [
    *(r'It is \boxed{2}.', r'\boxed{3}', 'So it is', r'\boxed{2.0}'),
    *(r'\boxed{\frac{1}{2}}', r'\boxed{0.5}', r'\boxed{1/2}', r'\boxed{x}'),
    *(r'\boxed{7}', r'\boxed{7 \text{ or } 8}', r'\boxed{\text{二}}', r'\boxed{7'),
]


def samples(whole: bool) -> Samples:
    """Return four responses to each of three questions; with `whole`, also what the engine said of them."""
    columns: dict[str, Any] = {
        'uid': [f'demo/ADD_en/{question}' for question, _ in PLACES],
        'replica': [replica for _, replica in PLACES],
        'question': [f'Question {question}?' for question, _ in PLACES],
        'reference': [['2', '1/2', '7'][question] for question, _ in PLACES],
        'response': RESPONSES,
        'split': ['ADD'] * 12,
        'language': ['en'] * 12,
        'problem': [f'demo/ADD/{question}' for question, _ in PLACES],
    }
    if whole and 'generation' in {field.name for field in fields(Samples)}:
        generation = import_module('gpassk_opencompass.results.generation').Generation  # as it was then
        told = [
            generation('length' if place % 5 == 4 else 'stop', 30, 100 + place, 1.5) for place in range(11)
        ]
        columns['generation'] = [*told, generation()]
    return Samples(**columns)


def some_unjudged(pair: Any) -> Any:
    """Leave one answer open."""
    return (
        Verdict.UNJUDGED
        if pair.answer == 'x'
        else Verdict('correct' if pair.answer == pair.reference else 'incorrect')
    )


def main(folder: Path, name: str) -> None:
    """Write the two files of a version."""
    with RuleJudge(workers=1) as judge:
        plain = score(samples(False), judge, n=4, k=2, thresholds=[0.5, 1.0])
    whole = score(samples(True), FunctionJudge(some_unjudged), n=4, k=[2, 4], unjudged_tolerance=0.5)
    whole['gpassk'] |= {
        'provenance': {'created': '2026-01-02T03:04:05Z', 'model': {'path': 'org/m'}, 'warnings': ['none']},
        'run': {
            'model': 'm_t1-0_l100',
            'dataset': 'MATH500-L5-k2_4-r1',
            'host': 'file',
            'created': '2026-01-02T03:04:05Z',
        },
    }
    whole['gpassk']['data']['sources'] = ['questions.jsonl@sha256:' + 64 * '0']
    for file, record in ((f'{name}.json', plain), (f'{name}-whole.json', whole)):
        (folder / file).write_text(json.dumps(record, ensure_ascii=False, indent=1) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main(Path(sys.argv[1]), sys.argv[2])
