"""The questions of our tasks, as rows of a data set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ... import demo
from ...errors import InputError
from ...lighteval_settings import QUESTIONS_VARIABLE
from ...question_sets import BENCHMARKS, LIVE_MATH_BENCH_HUB, LiveMathBenchRows
from ...questions.benchmarks import benchmark_rows, live_math_bench_rows
from ...questions.own import own_rows
from ...questions.wording import asked

_COLUMNS = ('uid', 'problem', 'question', 'answer', 'split', 'language')


def task_rows(
    metadata: Mapping[str, Any], environment: Mapping[str, str] = os.environ
) -> list[dict[str, Any]]:
    """Return the questions of a task, each with the whole `prompt`.

    Args:
        metadata: of the task. `benchmark` is one of `BENCHMARKS`, or 'demo'; without it the questions are
            somebody's own. `questions` is a folder with the files of a benchmark, or the file of one's own.
        environment: names `questions` where the metadata do not: `$GPASSK_QUESTIONS`.

    Raises:
        InputError: there are no such questions, or they are damaged.
    """
    path = str(metadata.get('questions') or environment.get(QUESTIONS_VARIABLE, '')).strip()
    rows = _rows(metadata.get('benchmark'), path)
    return [
        {
            **{name: row[name] for name in _COLUMNS},
            'prompt': row.get('prompt') or asked(row['question'], row['language']),
        }
        for row in rows
    ]


def _rows(benchmark: Any, path: str) -> list[dict[str, Any]]:
    if benchmark is None:
        if not path:
            raise InputError(
                'no questions: give a JSON Lines file with --metadata \'{"questions": "FILE"}\', or in '
                f'${QUESTIONS_VARIABLE}'
            )
        return own_rows(Path(path))
    if benchmark == 'demo':
        return live_math_bench_rows(demo.QUESTIONS, demo.VERSION, demo.SPLITS, demo.LANGUAGES)
    if benchmark not in BENCHMARKS:
        raise InputError(f'benchmark = {benchmark!r}: expected one of demo, {", ".join(BENCHMARKS)}')
    found = BENCHMARKS[benchmark]
    if isinstance(found, LiveMathBenchRows):
        version, splits, languages = found
        return live_math_bench_rows(path or LIVE_MATH_BENCH_HUB, version, splits, languages)
    return benchmark_rows(benchmark, path)
