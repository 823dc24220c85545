"""A finished run of OpenCompass with stored responses of the demo model, made by hand."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.record import Names, write
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import score

ABBR, DATASET = 'demo_t1.0_rs42_l40', 'LiveMathBench-vdemo-k2-n2'
QUESTION = 'Compute ${}+{}$.'


class Run(NamedTuple):
    """Where its parts are."""

    work_dir: Path
    result: Path
    predictions: Path


def write_run(
    folder: Path, questions: int = 12, verdicts: Sequence[str] = ('11', '10', '01', '00'), **columns: Any
) -> Run:
    """Questions with two samples each, whose verdicts take turns, and more columns of the sample file.

    The right responses are short; of a column a value is that of all samples.
    """
    time_dir = folder / '20260101_000000'
    predictions = time_dir / 'predictions' / ABBR / f'{DATASET}.json'
    path = time_dir / 'results' / ABBR / f'{DATASET}.json'
    rows: dict[str, Any] = {}
    told: defaultdict[str, list[Any]] = defaultdict(list)
    for number in range(questions):
        prompt = QUESTION.format(number, 2 * number)
        for replica, verdict in enumerate(verdicts[number % len(verdicts)]):
            row = replica * questions + number
            text = f'${number}+{2 * number}={3 * number}$'
            response = text if verdict == '1' else f'{text} ' * 2 + str(number + replica)
            messages = [{'role': 'HUMAN', 'prompt': prompt}]
            rows[str(row)] = {'origin_prompt': messages, 'prediction': response, 'gold': str(3 * number)}
            sample = {
                'uid': f'q{number}', 'replica': replica, 'group': 'ADD_en', 'question': prompt,
                'reference': str(3 * number), 'row': row + 1,
                'file': f'../../predictions/{ABBR}/{DATASET}.json',
                'response': response, 'answer': '', 'verdict': 'correct' if verdict == '1' else 'incorrect',
                **columns,
            }  # fmt: skip
            for name, value in sample.items():
                told[name].append(value)
    predictions.parent.mkdir(parents=True)
    predictions.write_text(json.dumps(rows), encoding='utf-8')
    names = Names(model=ABBR, dataset=DATASET, host='opencompass')
    result = score(Samples(told), {'name': 'made'}, n=2, k=2, thresholds=[0.5, 1.0], names=names)
    result.provenance = {'model': {'path': MODEL}}
    write(path, result)
    return Run(folder, path, predictions)
