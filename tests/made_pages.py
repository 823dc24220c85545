"""Leaderboards made up for pages: runs on several benchmarks, with samples, settings, and what goes wrong."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from made_results import result_of

from gpassk_opencompass.record import Result
from gpassk_opencompass.report.frame import Board, Entry, boards
from gpassk_opencompass.report.page import write_page
from gpassk_opencompass.report.page.content import Responses
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
    seed: int = 3,
    samples: bool = True,
) -> list[Result]:
    """Models × temperatures on each benchmark, a greedy run a model, some cut off, unjudged or unfinished."""
    draws = np.random.default_rng(seed)
    found = []
    for title, (questions, n) in benchmarks.items():
        ease = np.repeat(draws.normal(size=-(-questions // 2)), 2)[:questions]
        for number in range(runs):
            model, temperature = MODELS[number % len(MODELS)], round(0.3 + 0.1 * (number // len(MODELS)), 1)
            if title != next(iter(benchmarks)) and number % 7 == 6:
                continue
            skill = 2.2 - 0.6 * (number % len(MODELS)) - 0.3 * temperature
            chance = 1 / (1 + np.exp(-(skill + 1.6 * ease + 0.4 * draws.normal(size=questions))))
            found.append(_result(model, temperature, title, draws.binomial(n, chance), n, number, samples))
            if number < len(MODELS):
                found.append(_result(model, 0.0, title, draws.binomial(1, chance), 1, number, samples))
    return found


def _result(
    model: str, temperature: float, title: str, c: Sequence[int], n: int, number: int, samples: bool
) -> Result:
    size = len(c)
    groups = [f'{("AMC", "CNMO")[i % 4 // 2]}_{("cn", "en")[i % 2]}' for i in range(size)]
    counts = {
        'uid': [f'{group}/{i // 2}' for i, group in enumerate(groups)],
        'problem': [f'p{i // 2}' for i in range(size)],
        'group': groups,
        'c': [int(one) for one in c],
    }
    abbr = str(ModelName(model, Settings(8192, temperature=temperature, top_p=0.95, random_seed=42)))
    dataset = str(DatasetName(title, (1,) if n == 1 else (4, 8, 16), n))
    columns = _samples(counts['uid'], counts['c'], n, number) if samples else None
    return result_of(abbr, dataset, counts, n, (4, 8, 16), 'rule', columns, Path(title, f'{abbr}.json'))


def _samples(uids: Sequence[Any], counts: Sequence[int], n: int, number: int) -> dict[str, Any]:
    wrong = [WRONG[(number + i) % len(WRONG)] for i in range(7)]
    # Every sixth run has a short limit: what it does not get right was cut off more often than not.
    wrong_ends = [('stop' if number % 6 != 4 or i % 3 == 0 else 'length') for i in range(n)]
    rows: list[tuple[Any, ...]] = []
    for i, (uid, c) in enumerate(zip(uids, counts, strict=True)):
        question = f'Find the value of $x_{{{i}}}$ with $\\frac{{x^2}}{{{i + 1}}} = 42$.'
        rows += [(uid, r, question, '42', '42', 'correct', 'text', 'stop') for r in range(c)]
        rows += [
            (uid, c + r, question, '42', wrong[(i + r) % 7], 'incorrect', 'text', wrong_ends[r])
            for r in range(n - c)
        ]
    names = 'uid', 'replica', 'question', 'reference', 'answer', 'verdict', 'judged_by', 'finish_reason'
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def write_made_page(
    folder: Path, results: Iterable[Result], texts: Sequence[str] | None = None, with_limited: bool = False
) -> tuple[list[Board], Path]:
    """Write a page, with responses beside it where there are texts, which are dealt out to the samples."""
    tables, _ = boards(list(results), with_limited=with_limited)
    responses = {}
    for board in tables:
        for number, entry in enumerate(board.entries):
            if texts:
                name = f'{abs(hash((board.title, number))) % 16**12:012x}'
                _write_shards(folder / 'responses' / name, board, entry, texts)
                responses[entry.result.path] = Responses(name)
    [page] = write_page(tables, folder, responses=responses)
    return tables, page


def _write_shards(folder: Path, board: Board, entry: Entry, texts: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for position, uid in enumerate(board.entries[0].result.counts.uid):
        (folder / f'{position}.js').write_text(
            shard(f'{folder.name}/{position}', made_shard(entry, uid, texts))
        )


def shard(name: str, content: Mapping[str, Any]) -> str:
    """A file of responses as it lies beside the page."""
    packed = base64.b64encode(zlib.compress(json.dumps(content).encode('utf-8'))).decode('ascii')
    return f'gpasskShard({json.dumps(name)},{json.dumps(packed)})\n'


def made_shard(entry: Entry, uid: str, texts: Sequence[str]) -> dict[str, Any]:
    """What a shard holds: the samples of the question, each with one of the texts."""
    result = entry.result
    row = result.counts.uid.index(uid)
    drawn = result.samples(rows=(row * result.n, (row + 1) * result.n))
    assert drawn is not None
    told = zip(drawn['answer'], drawn['verdict'], drawn['finish_reason'], strict=True)
    samples = [
        {
            'replica': i,
            'seed': 1000 + i,
            'verdict': '1' if verdict == 'correct' else '0',
            'answer': answer,
            'decidedBy': 'text',
            'reason': '',
            'finish': finish,
            'state': None,
            'outputTokens': 800 + 13 * i,
            'reasoningTokens': None,
            'seconds': 3.5 + i,
            'response': texts[(row + i) % len(texts)],
            'lost': None,
            'thought': None,
            'separateThought': None,
            'judge': {
                'name': 'made-judge',
                'prompt': f'Is {answer} equal to 42?',
                'reply': 'A' if verdict == 'correct' else 'B',
            },
        }
        for i, (answer, verdict, finish) in enumerate(told)
    ]
    return {'uid': uid, 'prompt': f'Question {uid}: reason step by step.', 'samples': samples, 'greedy': None}
