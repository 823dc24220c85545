"""Work directories as OpenCompass's own LiveMathBench runs leave them, made by hand in milliseconds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from exact import EXACT

from gpassk_opencompass.cli import main
from gpassk_opencompass.judges.prompts import protocol_constants

TIME = '20250105_120000'

NAME = 'LiveMathBench_v202412'

BUILT_IN = 'opencompass.datasets.livemathbench.LiveMathBench'


class Ask(NamedTuple):
    """One question of the data."""

    split: str
    language: str
    question: str
    answer: str


ASKS = [
    Ask(
        split,
        language,
        f'{split} {number}: {"what is" if language == "en" else "求"} {number} + 5?',
        str(number + 5),
    )
    for split in ('AMC', 'CNMO')
    for language in ('cn', 'en')
    for number in (1, 2)
]
"""In the order in which the built-in data set has them."""

COUNTS = [2, 2, 3, 1, 2, 4, 0, 2]
"""How many of four samples of each are right, in `responses()`."""


def files(asks: Sequence[Ask] = ASKS) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for ask in asks:
        found.setdefault(f'{ask.split}_{ask.language}', []).append((ask.question, ask.answer))
    return found


def prompt(ask: Ask) -> str:
    text: str = protocol_constants()['PROMPT_EN' if ask.language == 'en' else 'PROMPT_CN']
    return text.format(question=ask.question)


def responses(asks: Sequence[Ask] = ASKS, counts: Sequence[int] = COUNTS, n: int = 4) -> list[list[str]]:
    """n texts to each question; which ones are right differs from question to question."""

    def text(place: int, replica: int) -> str:
        is_right = (replica + place) % n < counts[place]
        return f'Sample {replica}: \\boxed{{{asks[place].answer if is_right else "0"}}}'

    return [[text(place, replica) for replica in range(n)] for place in range(len(asks))]


def rows(asks: Sequence[Ask] = ASKS, given: Sequence[Sequence[Any]] | None = None) -> list[dict[str, Any]]:
    given = responses(asks) if given is None else given
    return [
        {'origin_prompt': prompt(ask), 'prediction': texts[replica], 'gold': ask.answer}
        for replica in range(len(given[0]))
        for ask, texts in zip(asks, given, strict=True)
    ]


def dataset(**changes: Any) -> dict[str, Any]:
    evaluator = {'type': f'{BUILT_IN}Evaluator', 'model_name': 'judge', 'url': ['http://node1:23333/v1/']}
    return {
        'type': f'{BUILT_IN}Dataset', 'abbr': NAME, 'path': 'opencompass/LiveMathBench', 'version': '202412',
        'dataset_splits': ['AMC', 'CNMO'], 'dataset_languages': ['cn', 'en'], 'cot': True, 'k': [2, 4],
        'n': 4, 'reader_cfg': {'input_columns': ['prompt'], 'output_column': 'answer'},
        'infer_cfg': {'prompt_template': {'template': {'round': [{'role': 'HUMAN', 'prompt': '{prompt}'}]}}},
        'eval_cfg': {'evaluator': evaluator}, **changes,
    }  # fmt: skip


def write(
    root: Path,
    predictions: Sequence[Mapping[str, Any]],
    data: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    parts: Sequence[int] = (),
) -> Path:
    """One run below `root`, its predictions in one file or in parts of these lengths."""
    data = dataset() if data is None else data
    model = {'abbr': 'm', 'type': 'opencompass.models.VLLMwithChatTemplate', **(model or {})}
    text = f'datasets = [{dict(data)!r}]\nmodels = [{model!r}]\n'
    put(root / TIME / 'configs' / f'{TIME}_{data["abbr"]}.py', text)
    folder, start = root / TIME / 'predictions' / str(model['abbr']), 0
    for number, length in enumerate(parts or [len(predictions)]):
        name = f'{data["abbr"]}_{number}.json' if parts else f'{data["abbr"]}.json'
        chunk = predictions[start : start + length]
        put(folder / name, json.dumps({str(row): entry for row, entry in enumerate(chunk)}))
        start += length
    return root


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding='utf-8')
    return path


def put_result(root: Path, verdicts: Sequence[int]) -> Path:
    details = [
        {'example_abbr': f'{NAME}_{place}', 'correct': [one] * 4} for place, one in enumerate(verdicts)
    ]
    scores = {'accuracy (4 runs average)': 100 * sum(verdicts) / len(verdicts)}
    scores |= {'LiveMathBench/G-Pass@4_1.0': 62.5, 'G-Pass@4_1.0': 62.5}
    record = {**scores, 'details': details}
    return put(root / TIME / 'results' / 'm' / f'{NAME}.json', json.dumps(record))


def put_replies(root: Path, replies: Sequence[str]) -> Path:
    prompt = protocol_constants()['JUDGE_PROMPT_CN'].format(question='?', gold_answer='1', answer='1')
    entries = {
        str(place): {'prompt': prompt, 'response': one, 'postprocess_response': int('{yes}' in one)}
        for place, one in enumerate(replies)
    }
    return put(root / TIME / 'results' / 'm' / NAME / 'tmp_judge.json', json.dumps(entries))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob('*') if path.is_file()}


def score(work_dir: Path, *options: str) -> tuple[int, Path]:
    out = work_dir.parent / 'new'
    return main(['score', str(work_dir), '-o', str(out), *EXACT, *options]), out


def record_in(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / f'm@{NAME}.gpassk.json').read_text())
    return content


def judged_run(tmp_path: Path) -> Path:
    """An old run of 8 questions × 4 samples, judged by an LLM that saw the first samples alone."""
    root = write(tmp_path / 'old', rows())
    first = [int('\\boxed{0}' not in texts[0]) for texts in responses()]
    put_result(root, first)
    put_replies(root, ['\\boxed{yes}' if label else '\\boxed{no}' for label in first])
    return root
