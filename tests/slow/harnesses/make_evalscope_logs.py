"""EvalScope evaluates a scripted model whose truth is known: `make_evalscope_logs.py FOLDER`."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from harness_script import Reply, completion, served, write_rows

N = 4
"""Samples a question."""


class Question(NamedTuple):
    """A question, and the n replies to it in the order of its requests, a letter each.

    1: right. 0: wrong. t: right, the thought kept apart. c: cut off, and so wrong.
    l: the server says that the prompt is too long. f: the server refuses.
    """

    subset: str
    a: int
    b: int
    replies: str
    reference: str | None = None
    """In the place of the sum."""

    @property
    def text(self) -> str:
        return f'What is {self.a} + {self.b}?'

    @property
    def answer(self) -> str:
        return str(self.a + self.b) if self.reference is None else self.reference


AIME = [
    Question('default', 2, 3, '0000'), Question('default', 3, 4, '0101'),
    Question('default', 4, 5, '11c1'), Question('default', 5, 6, '1l1f'),
    Question('default', 6, 7, 't0t0'), Question('default', 7, 8, '1101', '7.5'),
]  # fmt: skip
"""EvalScope cannot judge the last one: its reference is no whole number."""

MATH = [
    Question('Level 1', 11, 1, '1000'),
    Question('Level 2', 12, 2, '1110'),
    Question('Level 2', 13, 3, '0011'),
]
BENCHMARKS = {'aime24': AIME, 'math_500': MATH}


class Script:
    """What the model says, and the judge; asked by several threads at once."""

    def __init__(self, questions: list[Question]) -> None:
        self._questions = {(one.a, one.b): one for one in questions}
        self._asked: Counter[Question] = Counter()
        self._lock = Lock()

    def reply(self, path: str, request: dict[str, Any]) -> Reply:
        prompt = request['messages'][-1]['content']
        asked = re.search(r'What is (\d+) \+ (\d+)\?', prompt)
        assert asked, prompt
        question = self._questions[int(asked[1]), int(asked[2])]
        with self._lock:
            number = self._asked[question]
            self._asked[question] += 1
        letter = question.replies[number]
        if letter in 'lf':
            code = 'context_length_exceeded' if letter == 'l' else 'refused_by_the_script'
            return 400, {'error': {'message': f'no reply to sample {number}: 17', 'code': code}}
        total = question.a + question.b + 2 * (letter == '0')
        message = {'content': f'Sample {number}: \\boxed{{{total}}}'}
        if letter == 't':
            message['reasoning_content'] = f'I add {question.a} and {question.b}.'
        if letter == 'c':
            message['content'] = f'Sample {number}: first I'
        return completion(request['model'], message, 'length' if letter == 'c' else 'stop')


def _write_data(folder: Path, benchmark: str, questions: list[Question]) -> Path:
    rows = [
        {
            'problem': one.text, 'answer': one.answer, 'level': one.subset.removeprefix('Level '),
            'unique_id': f'{one.a}-{one.b}', 'solution': 'by counting',
        }
        for one in questions
    ]  # fmt: skip
    return write_rows(folder / benchmark / 'test.jsonl', rows).parent


def make(folder: Path) -> None:
    """Evaluate in an empty folder, which becomes the work directory."""
    from evalscope import TaskConfig, run_task

    folder.mkdir(parents=True)
    os.chdir(folder)
    data = {name: str(_write_data(Path('data'), name, questions)) for name, questions in BENCHMARKS.items()}
    arguments = {
        name: dict(local_path=path, dataset_id=path, eval_split='test', prompt_template='{question}')
        for name, path in data.items()
    }
    with served(Script([*AIME, *MATH]).reply) as port:
        config = {
            'model': 'scripted-1', 'api_url': f'http://127.0.0.1:{port}/v1', 'api_key': 'EMPTY',
            'eval_type': 'openai_api', 'datasets': list(BENCHMARKS), 'dataset_args': arguments,
            'dataset_dir': 'data', 'repeats': N, 'ignore_errors': True, 'eval_batch_size': 3, 'work_dir': '.',
            'no_timestamp': True, 'collect_perf': True,
            'generation_config': {'temperature': 0.7, 'top_p': 0.95, 'max_tokens': 64, 'retries': 1},
        }  # fmt: skip
        run_task(TaskConfig(**config))
    truth = {
        name: [
            {'subset': one.subset, 'question': one.text, 'reference': one.answer, 'replies': one.replies}
            for one in questions
        ]
        for name, questions in BENCHMARKS.items()
    }
    Path('truth.json').write_text(json.dumps(truth, indent=1))


if __name__ == '__main__':
    make(Path(sys.argv[1]).resolve())
