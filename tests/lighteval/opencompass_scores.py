"""Scores of responses that Lighteval saved, by OpenCompass's evaluator: runs in OpenCompass's environment.

python opencompass_scores.py details_….parquet N K [K …]
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pyarrow.parquet

from gpassk_opencompass import GPassKEvaluator, demo
from gpassk_opencompass.plugin import LiveMathBenchDataset


def scores(details: str, n: int, k: list[int]) -> dict[str, Any]:
    """The record of the demo's questions as OpenCompass asks them, answered as Lighteval's model did."""
    texts = {
        row['doc']['specific']['uid']: row['model_response']['text']
        for row in pyarrow.parquet.read_table(details).to_pylist()
    }
    rows = LiveMathBenchDataset(
        reader_cfg={'input_columns': ['prompt'], 'output_column': 'answer'},
        path=demo.QUESTIONS,
        version=demo.VERSION,
        dataset_splits=demo.SPLITS,
        dataset_languages=demo.LANGUAGES,
        k=k,
        n=n,
    ).dataset
    predictions = [texts[uid][replica] for uid, replica in zip(rows['uid'], rows['replica'], strict=True)]
    return GPassKEvaluator().evaluate(k, n, rows, predictions=predictions, references=rows['answer'])


if __name__ == '__main__':
    details, n, *k = sys.argv[1:]
    print(json.dumps(scores(details, int(n), [int(each) for each in k])))
