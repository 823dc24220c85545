"""Have EvalScope evaluate a scripted model of which is known what it gets right, and keep what it writes.

    python make_evalscope_logs.py FOLDER [SUITE ...]

It runs in EvalScope's environment, and makes a work directory a suite, with `truth.json` in it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
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

    1: right. 0: wrong. t: right, the thought kept apart. h: wrong by one, which earns half of the credit.
    c: cut off, and so wrong. l: the server says that the prompt is too long. f: the server refuses.
    x: right, but the judge's own reply is no verdict.
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
JUDGED = [Question('default', 21, 1, '1x00')]
SCORES = [Question('default', 31, 1, '11h1'), Question('default', 32, 2, '0h10')]

SUITES: dict[str, dict[str, list[Question]]] = {
    'sums': {'aime24': AIME, 'math_500': MATH},
    'judged': {'aime25': JUDGED},
    'scores': {'two_scores': SCORES},
}
"""Suite → benchmark → its questions."""


class Script:
    """What the model says, and the judge; asked by several threads at once."""

    def __init__(self, questions: list[Question]) -> None:
        self._questions = {(one.a, one.b): one for one in questions}
        self._asked: Counter[Question] = Counter()
        self._lock = Lock()

    def reply(self, path: str, request: dict[str, Any]) -> Reply:
        prompt = request['messages'][-1]['content']
        if request['model'] == 'judge':
            return completion('judge', {'content': self._verdict(prompt)})
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
        total = question.a + question.b + {'0': 2, 'h': 1}.get(letter, 0)
        message = {'content': f'Sample {number}: \\boxed{{{total}}}'}
        if letter == 't':
            message['reasoning_content'] = f'I add {question.a} and {question.b}.'
        if letter == 'c':
            message['content'] = f'Sample {number}: first I'
        return completion(request['model'], message, 'length' if letter == 'c' else 'stop')

    def _verdict(self, prompt: str) -> str:
        first, second = re.findall(r'Expression [12]: (.*)', prompt)[-2:]
        said = re.search(r'Sample (\d+): \\boxed\{(\d+)\}', first)
        assert said, prompt
        for question in self._questions.values():
            if question.answer == second.strip() and question.replies[int(said[1])] == 'x':
                return 'Hard to say.'
        return json.dumps({'verdict': 'Yes' if said[2] == second.strip() else 'No'})


def _write_data(folder: Path, benchmark: str, questions: list[Question]) -> Path:
    rows = [
        {
            'problem': one.text, 'answer': one.answer, 'level': one.subset.removeprefix('Level '),
            'unique_id': f'{one.a}-{one.b}', 'solution': 'by counting',
        }
        for one in questions
    ]  # fmt: skip
    return write_rows(folder / benchmark / 'test.jsonl', rows).parent


def _register_two_scores() -> None:
    """Register a benchmark with the scores `credit`, its main one, and `acc`."""
    from evalscope.api.benchmark import BenchmarkMeta, DefaultDataAdapter
    from evalscope.api.dataset import Sample
    from evalscope.api.metric import Score
    from evalscope.api.registry import register_benchmark

    @register_benchmark(
        BenchmarkMeta(
            name='two_scores', pretty_name='Two scores', description='Sums.', dataset_id='two_scores',
            metric_list=['acc'], primary_metric='accuracy', eval_split='test', prompt_template='{question}',
        )
    )  # fmt: skip
    class TwoScores(DefaultDataAdapter):
        def record_to_sample(self, record: dict[str, Any]) -> Sample:
            return Sample(
                input=record['problem'], target=record['answer'], metadata={'answer': record['answer']}
            )

        def match_score(
            self, original_prediction: str, filtered_prediction: str, reference: str, task_state: Any
        ) -> Score:
            [said] = re.findall(r'boxed{(\d+)}', original_prediction)
            off = abs(int(said) - int(reference))
            score = Score(extracted_prediction=said, prediction=original_prediction)
            score.value = {'acc': float(off == 0), 'credit': max(0.0, 1 - off / 2)}
            score.main_score_name = 'credit'
            return score


def make(folder: Path, suite: str) -> None:
    """Run a suite in an empty folder, which becomes the work directory."""
    from evalscope import TaskConfig, run_task

    if suite == 'scores':
        _register_two_scores()
    benchmarks = SUITES[suite]
    folder.mkdir(parents=True)
    os.chdir(folder)
    data = {name: str(_write_data(Path('data'), name, questions)) for name, questions in benchmarks.items()}
    arguments = {
        name: dict(local_path=path, dataset_id=path, eval_split='test', prompt_template='{question}')
        for name, path in data.items()
    }
    with served(Script([one for questions in benchmarks.values() for one in questions]).reply) as port:
        url = f'http://127.0.0.1:{port}/v1'
        judge: dict[str, Any] = {}
        if suite == 'judged':
            model = {'model_id': 'judge', 'api_url': url, 'api_key': 'EMPTY'}
            judge = {'judge': {'strategy': 'llm', 'models': [model]}}
        config = {
            'model': 'scripted-1', 'api_url': url, 'api_key': 'EMPTY', 'eval_type': 'openai_api',
            'datasets': list(benchmarks), 'dataset_args': arguments, 'dataset_dir': 'data', 'repeats': N,
            'ignore_errors': True, 'eval_batch_size': 3, 'work_dir': '.', 'no_timestamp': True,
            'collect_perf': suite == 'sums',
            'generation_config': {'temperature': 0.7, 'top_p': 0.95, 'max_tokens': 64, 'retries': 1},
            **judge,
        }  # fmt: skip
        run_task(TaskConfig(**config))
    truth = {
        name: [
            {'subset': one.subset, 'question': one.text, 'reference': one.answer, 'replies': one.replies}
            for one in questions
        ]
        for name, questions in benchmarks.items()
    }
    Path('truth.json').write_text(json.dumps(truth, indent=1))


def _scrub(folder: Path) -> None:
    """Keep what a reader looks at, without the port of the server."""
    for name in ('data', 'logs'):
        shutil.rmtree(folder / name, ignore_errors=True)
    for path in folder.rglob('report.html'):
        path.unlink()
    for path in folder.rglob('*.yaml'):
        path.write_text(re.sub(r'http://127\.0\.0\.1:\d+', 'http://127.0.0.1:8000', path.read_text()))


if __name__ == '__main__':
    root = Path(sys.argv[1]).resolve()
    for name in sys.argv[2:] or SUITES:
        make(root / name, name)
        _scrub(root / name)
