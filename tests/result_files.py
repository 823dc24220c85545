"""Result files made by hand, in the layout of OpenCompass."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpassk_opencompass.record import read, write
from gpassk_opencompass.sweep.folder import Entry

ABBR = 'm{}_t1.0_l100'
"""A sampled run of the model m1, m2, …"""

GREEDY = 'm{}_t0_l100'

THIRDS = [4] * 8 + [2] * 8 + [0] * 8
"""Of 24 questions, four answers each: a third always, a third half of the time, a third never correct."""

HALVES = [4] * 12 + [2] * 8 + [0] * 4


def block(
    c: Sequence[int],
    n: int,
    k: Sequence[int] = (2,),
    judge: str = 'rule',
    data: str = 'd',
    groups: Sequence[str] = ('A_cn', 'A_en'),
    unjudged: Sequence[int] | None = None,
    problems: Sequence[str] | None = None,
    run: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """`gpassk` of a record; the questions take turns in the groups."""
    uids = [f'u{number}' for number in range(len(c))]
    return {
        'schema': 3, 'run': {'host': 'opencompass', **(run or {})}, 'n': n, 'k': list(k) if n > 1 else [1],
        'thresholds': [0.5, 0.75, 1.0],
        'data': {'questions': len(c), 'sha256': hashlib.sha256(data.encode()).hexdigest()},
        'counts': {
            'uid': uids, 'problem': list(problems or uids), 'c': list(c),
            'group': [groups[number % len(groups)] for number in range(len(c))],
            'unjudged': list(unjudged or [0] * len(c)),
        },
        'health': {'samples': n * len(c), 'unjudged': sum(unjudged or [])},
        'judge': {'name': judge, 'statistics': {'pairs': len(c)}},
        'signature': f'G-Pass@k|n:{n}|judge:{judge}',
    }  # fmt: skip


def write_result(
    outputs: Path,
    model: str,
    c: Sequence[int],
    n: int = 4,
    dataset: str = 'MATH500-L5',
    time: str = '20260101_000000',
    work: str = 'w',
    **more: Any,
) -> Path:
    """`<outputs>/<work>/<time>/results/<model>/<dataset>-k2-n<n>.json`, or -k1-r1 of a greedy run."""
    name = f'{dataset}-k1-r1' if n == 1 else f'{dataset}-k2-r{n // 2}'
    path = outputs / work / time / 'results' / model / f'{name}.json'
    path.parent.mkdir(parents=True, exist_ok=True)
    run = {'model': model, 'dataset': name}
    path.write_text(json.dumps({'gpassk': block(c, n, run=run, **more)}), encoding='utf-8')
    return path


def write_three(outputs: Path) -> None:
    """Two sampled runs and a greedy one, of 24 questions."""
    write_result(outputs, ABBR.format(1), THIRDS)
    write_result(outputs, ABBR.format(2), HALVES)
    write_result(outputs, GREEDY.format(2), [1] * 10 + [0] * 14, n=1)


def entry_of(model_abbr: str, **more: Any) -> Entry:
    known = {'file': 'a.py', 'template': 't.py', 'model': 'm', 'path': 'org/m', 'dataset_abbr': 'd'}
    sizes = {'benchmark': 'b', 'k': (2,), 'n': 4, 'questions': 24, 'settings': {'temperature': 1.0}}
    return Entry(**{**known, **sizes, 'model_abbr': model_abbr, 'sha256': 'h', **more})


def rename(path: Path, **names: str) -> None:
    result = read(path)
    result.run = result.run.model_copy(update=names)
    samples = result.samples()
    write(path, result if samples is None else result.with_samples(samples))
