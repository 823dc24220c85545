"""A finished run of OpenCompass with stored responses of the demo model, made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.files import model_files
from gpassk_opencompass.results.samples import WORDS, write_samples

ABBR, DATASET = 'demo_t1.0_rs42_l40', 'LiveMathBench-vdemo-k2-n2'
QUESTION = 'Compute ${}+{}$.'


class Run(NamedTuple):
    """Where its parts are."""

    work_dir: Path
    result: Path
    predictions: Path

    def edit(self, change: Any) -> None:
        """Change the predictions."""
        content = json.loads(self.predictions.read_text('utf-8'))
        change(content)
        self.predictions.write_text(json.dumps(content), encoding='utf-8')


def write_run(
    folder: Path,
    questions: int = 12,
    verdicts: Sequence[str] = ('11', '10', '01', '00'),
    model: dict[str, Any] | None = None,
    prompt_tokens: Any = None,
    **generation: Any,
) -> Run:
    """Questions with two samples each, whose verdicts take turns; the right ones are short.

    Args:
        model: of the provenance; None: the demo model, with its files.
        prompt_tokens: of each prompt, a function of it; None: the engine did not say.
        generation: more columns of the sample file, a value for all samples.
    """
    time_dir = folder / '20260101_000000'
    predictions = time_dir / 'predictions' / ABBR / f'{DATASET}.json'
    result = time_dir / 'results' / ABBR / f'{DATASET}.json'
    rows: dict[str, Any] = {}
    told: dict[str, list[Any]] = {name: [] for name in ('uid', 'replica', 'verdict', 'answer', 'file', 'row')}
    counts = []
    for number in range(questions):
        prompt = QUESTION.format(number, 2 * number)
        for replica, verdict in enumerate(verdicts[number % len(verdicts)]):
            row = replica * questions + number
            text = f'${number}+{2 * number}={3 * number}$'
            rows[str(row)] = {
                'origin_prompt': [{'role': 'HUMAN', 'prompt': prompt}],
                'prediction': text if verdict == '1' else f'{text} ' * 2 + str(number + replica),
                'gold': str(3 * number),
            }
            columns = f'q{number}', replica, WORDS[verdict], '', None, row
            for name, value in zip(told, columns, strict=True):
                told[name].append(value)
        counts.append(verdicts[number % len(verdicts)].count('1'))
    told['file'] = [f'../../predictions/{ABBR}/{DATASET}.json'] * len(told['uid'])
    texts = {row: entry['prediction'] for row, entry in rows.items()}
    told['response_characters'] = [len(texts[str(row)]) for row in told['row']]
    told |= {name: [value] * len(told['uid']) for name, value in generation.items()}
    if prompt_tokens is not None:
        asked = [rows[str(row)]['origin_prompt'][0]['prompt'] for row in told['row']]
        told['prompt_tokens'] = list(map(prompt_tokens, asked))
    predictions.parent.mkdir(parents=True)
    predictions.write_text(json.dumps(rows), encoding='utf-8')
    record = {'gpassk': _block(counts, model)}
    result.parent.mkdir(parents=True)
    write_samples(result, record, told)
    result.write_text(json.dumps(record), encoding='utf-8')
    return Run(folder, result, predictions)


def _block(counts: Sequence[int], model: dict[str, Any] | None) -> dict[str, Any]:
    uids = [f'q{number}' for number in range(len(counts))]
    files = {'path': model_files(Path(MODEL))} if model is None else {}
    return {
        'schema': 2, 'n': 2, 'k': [2], 'thresholds': [0.5, 1.0],
        'data': {'questions': len(uids), 'sha256': 64 * '0'},
        'counts': {'uid': uids, 'problem': uids, 'group': ['ADD_en'] * len(uids), 'c': list(counts)},
        'unjudged': 0, 'judge': {'name': 'made'},
        'provenance': {'model': {'path': MODEL} if model is None else model, 'files': files},
    }  # fmt: skip
