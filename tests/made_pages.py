"""Reports made up for the page: runs on benchmarks, with samples, settings, responses, and their faults."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from made_results import result_of

from gpassk_opencompass.record import Result
from gpassk_opencompass.report.frame import Board, boards, frame
from gpassk_opencompass.report.page import write_page
from gpassk_opencompass.sweep.names import DatasetName, ModelName, Settings

BENCHMARKS: Mapping[str, tuple[int, int]] = {
    'LiveMathBench-v202412': (238, 48),
    'MATH500-L5': (134, 16),
    'AIME2024': (30, 48),
}
"""Name → questions and samples a question."""

MODELS = (
    'Qwen2.5-Math-72B-Instruct',
    'DeepSeek-R1-Distill-Qwen-32B',
    'Llama-3.3-70B-Instruct',
    '数学模型-7B',
    'InternLM3-8B-Instruct',
    'a-model-with-a-name-of-ninety-characters-as-some-merges-on-the-hub-have-them-v0.3-dpo-final-2',
)

WRONG = ('43', r'\frac{1}{2}', r'\frac{5}{7}', '-42', '', 'no solution')


def made_results(
    runs: int = 30,
    benchmarks: Mapping[str, tuple[int, int]] = BENCHMARKS,
    texts: Sequence[str] = (),
    samples: bool = True,
) -> list[Result]:
    """Models × temperatures on each benchmark, a greedy run a model, some cut off, unjudged or unfinished.

    Args:
        texts: responses, dealt out to the samples.
    """
    draws = np.random.default_rng(3)
    found = []
    for title, (questions, n) in benchmarks.items():
        ease = np.repeat(draws.normal(size=-(-questions // 2)), 2)[:questions]
        for number in range(runs):
            model, temperature = MODELS[number % len(MODELS)], round(0.3 + 0.1 * (number // len(MODELS)), 1)
            if title != next(iter(benchmarks)) and number % 7 == 6:
                continue
            skill = 2.2 - 0.6 * (number % len(MODELS)) - 0.3 * temperature
            chance = 1 / (1 + np.exp(-(skill + 1.6 * ease + 0.4 * draws.normal(size=questions))))
            for many, heat in ((n, temperature), *([(1, 0.0)] if number < len(MODELS) else [])):
                c = draws.binomial(many, chance).tolist()
                uids = [
                    f'{("AMC", "CNMO")[i % 4 // 2]}_{("cn", "en")[i % 2]}/{i // 2}' for i in range(questions)
                ]
                # Every sixth run has a short limit: most of what it does not get right was cut off.
                cut = [(many - right) * 2 // 3 if number % 6 == 4 else 0 for right in c]
                made = counted(model, c, cut=cut, n=many, dataset=title, heat=heat, uids=uids, texts=texts)
                made.health.output_tokens = None if number % 13 == 0 else made.health.samples * (700 + number)
                made.health.truncated = sum(cut)
                found.append(made if samples else _without_samples(made))
    return found


def _without_samples(result: Result) -> Result:
    result._samples = None
    return result


def counted(
    model: str,
    c: Sequence[int],
    *,
    cut: Sequence[int] = (),
    unjudged: Sequence[int] = (),
    judge: str = 'rule',
    n: int = 10,
    backwards: bool = False,
    dataset: str = 'Counted',
    heat: float = 0.7,
    uids: Sequence[str] = (),
    texts: Sequence[str] = (),
    data: str = '',
) -> Result:
    """A run with c[i] of n right on question i: problem i // 2 in Chinese (even) and in English (odd).

    Args:
        cut: samples of each question that were cut off, all of them wrong.
        unjudged: of each question; wrong, and in doubt.
        backwards: the result has its questions in the other order.
    """
    size = len(c)
    names = list(uids or map(uid_of, range(size)))
    order = list(range(size))[:: -1 if backwards else 1]
    missing, short = list(unjudged or [0] * size), list(cut or [0] * size)
    counts = {
        'uid': [names[i] for i in order], 'problem': [f'{dataset} p{i // 2}' for i in order],
        'group': [names[i].rpartition('/')[0] for i in order],
        'c': [int(c[i]) for i in order], 'unjudged': [missing[i] for i in order],
    }  # fmt: skip
    rows: list[tuple[Any, ...]] = []
    for i in order:
        question = f'Find the value of $x_{{{i}}}$ with $\\frac{{x^2}}{{{i + 1}}} = 42$.'
        for r in range(n):
            right, doubt = r < c[i], r >= n - missing[i]
            verdict = 'correct' if right else 'unjudged' if doubt else 'incorrect'
            answer = '42' if right else WRONG[(i + r) % len(WRONG)]
            end = 'length' if c[i] <= r < c[i] + short[i] else 'stop'
            text = texts[(i + r) % len(texts)] if texts else None
            rows.append(
                (names[i], r, question, '42', answer, verdict, 'text', end, 1000 + r, 800 + r, 3.5, text)
            )
    columns = 'uid', 'replica', 'question', 'reference', 'answer', 'verdict', 'judged_by', 'finish_reason'
    told = dict(
        zip((*columns, 'seed', 'output_tokens', 'seconds', 'response'), zip(*rows, strict=True), strict=True)
    )
    if not texts:
        del told['response']
    abbr = str(ModelName(model, Settings(8192, temperature=heat, top_p=0.95, random_seed=42)))
    ks = (4, 8, 16) if n >= 16 else (4, 8)
    name = str(DatasetName(dataset, (1,) if n == 1 else ks, n))
    result = result_of(abbr, name, counts, n, ks, judge, {key: list(column) for key, column in told.items()})
    result.data.sha256 = sha256((data or dataset).encode()).hexdigest()
    result._path = Path(dataset, judge, f'{abbr}.json')
    return result


def uid_of(place: int) -> str:
    return f'AMC_{("cn", "en")[place % 2]}/{place // 2}'


def write_made_page(folder: Path, results: Iterable[Result], **more: Any) -> tuple[list[Board], Path]:
    """Write a page, with responses beside it where `responses` says so."""
    tables, _ = boards(list(results))
    write_page(tables, frame(tables), folder, **more)
    return tables, folder / 'index.html'


def rows_of(tables: Sequence[Board]) -> list[Any]:
    return list(frame(tables).itertuples())


def content_of(path: Path) -> Any:
    [text] = re.findall(r'id="content">(.*?)</script>', path.read_text(encoding='utf-8'), re.DOTALL)
    return json.loads(text)


def opened(packed: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def rewritten(path: Path, run: int, position: int, **changes: Any) -> Path:
    """Put other responses of a question beside a page: new columns, or values of its first sample."""
    entry = content_of(path)['boards'][0]['entries'][run]
    file = path.parent.joinpath('responses', str(entry['shards']), f'{position}.js')
    shard = opened(file.read_text().rpartition(',"')[2].partition('"')[0])
    for name, value in changes.items():
        column = list(shard['samples'].get(name) or [None] * entry['n'])
        shard['samples'][name] = (
            value if isinstance(value, list) and len(value) == entry['n'] else [value, *column[1:]]
        )
    packed = base64.b64encode(zlib.compress(json.dumps(shard).encode())).decode()
    file.write_text(f'gpasskShard("{entry["shards"]}/{position}","{packed}")\n')
    return file
