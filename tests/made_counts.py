"""Results with counts that a test chooses: two languages of each problem, samples cut off and unjudged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from gpassk_opencompass.results.result import Result

N = 10


def counted(
    model: str,
    c: Sequence[int],
    cut: Sequence[int] | None = None,
    unjudged: Sequence[int] | None = None,
    judge: str = 'rule',
    n: int = N,
    data: str = 'same',
    backwards: bool = False,
    more: Sequence[str] = (),
) -> Result:
    """A run with c[i] of n right on question i: problem i // 2 in Chinese (even) and in English (odd).

    Args:
        cut: samples of each question that were cut off, all of them wrong; None: nobody knows.
        unjudged: of each question; wrong, and in doubt.
        backwards: the result has its questions in the other order.
        more: fields of the signature.
    """
    order = list(range(len(c)))[:: -1 if backwards else 1]
    missing = list(unjudged or [0] * len(c))
    columns = {
        'uid': [uid_of(i) for i in order],
        'problem': [f'p{i // 2}' for i in order],
        'group': [('AMC_cn', 'AMC_en')[i % 2] for i in order],
        'c': [int(c[i]) for i in order],
        'unjudged': [missing[i] for i in order],
    }
    block = {
        'schema': 2,
        'n': n,
        'k': [1] if n == 1 else [4, 8],
        'data': {'questions': len(c), 'sha256': data},
        'counts': columns,
        'unjudged': sum(missing),
        'judge': {'name': judge},
        'signature': '|'.join([f'judge:{judge}', f'model:{model}', *more]),
    }
    details: dict[str, object] = {
        'question': [f'Question {i}' for i in order],
        'reference': ['42'] * len(c),
        'answers': [['42'] * c[i] + ['43'] * (n - c[i]) for i in order],
        'verdicts': ['1' * c[i] + '0' * (n - c[i] - missing[i]) + '?' * missing[i] for i in order],
    }
    if cut is not None:
        details['finish_reason'] = [['stop'] * (n - cut[i]) + ['length'] * cut[i] for i in order]
    record = json.loads(json.dumps({'details': details, 'gpassk': block}))
    return Result(model, f'Counted-k{"1" if n == 1 else "4_8"}-n{n}', record, Path(f'{model}.json'))


def uid_of(place: int) -> str:
    """The name of a question."""
    return f'AMC_{("cn", "en")[place % 2]}/{place // 2}'
