"""Logs that OpenCompass 0.5.4 itself writes of data sets with n > 1, of a model whose truth is known.

    .venv/bin/python tests/slow/harnesses/make_opencompass_logs.py FOLDER

which also writes tests/recorded/opencompass again. Five questions with four samples each; how many of them
are right: `COUNTS`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness_script import Sums, run, write_rows

N, KS = 4, [2, 4]
COUNTS = (4, 3, 2, 1, 0)
"""Right samples of each question."""
FEW = 4
"""Questions of the data set with the cascade: the rule alone finds all of its first samples right."""
HERE = Path(__file__).resolve().parent
TIME = '20260101_120000'
"""The name of the time directories that are kept."""

PROMPT = '{question}\nRemember to put your final answer within \\boxed{}.'
TEXT = 'Sample {replica} of question {number}, zehn plus {number} – so it is \\boxed{{{said}}}.'
SUMS = Sums(COUNTS, TEXT)
GRADER = 'Question: {question}\nGold: {answer}\nResponse: {prediction}\nA or B?'


def _models() -> dict[str, type]:
    """Return the model classes; OpenCompass is imported only where it runs them."""
    from opencompass.models.base import BaseModel, LMTemplateParser

    class Model(BaseModel):
        """Answers as `SUMS` says; `path` is a file that counts how often each prompt was asked."""

        is_api = False

        def __init__(self, path: str, generation_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
            super().__init__(path=path, tokenizer_only=True)
            self.template_parser = LMTemplateParser()
            self.sequences = (generation_kwargs or {}).get('num_return_sequences', 1)

        def reply(self, prompt: str, replica: int) -> str:
            return SUMS.response(SUMS.number(prompt), replica)

        def generate(self, inputs: list[str], max_out_len: int, **_: Any) -> list[str]:
            path, said = Path(self.path), []
            asked = json.loads(path.read_text()) if path.exists() else {}
            for prompt in (prompt for prompt in inputs for _ in range(self.sequences)):
                said.append(self.reply(prompt, asked.get(prompt, 0)))
                asked[prompt] = asked.get(prompt, 0) + 1
            path.write_text(json.dumps(asked))
            return said

        def get_token_len(self, prompt: str) -> int:
            return len(prompt.split())

    class InWords(Model):
        """Says right answers of odd replicas in words, as only an LLM judge can tell."""

        def reply(self, prompt: str, replica: int) -> str:
            right = r'\text{the right number}' if replica % 2 else ''
            return SUMS.response(SUMS.number(prompt), replica, right)

    class Copies(Model):
        """Says the same in every sample, as with one seed."""

        def reply(self, prompt: str, replica: int) -> str:
            return SUMS.response(SUMS.number(prompt), 0) + ' And so on.' * 30

    class Judge(Model):
        """Says A of what is right, B of what is not; of one sample neither."""

        def reply(self, prompt: str, replica: int) -> str:
            told = prompt.partition('Response: ')[2]
            sample, number = map(int, re.findall(r'Sample (\d+) of question (\d+)', told)[0])
            if (number, sample) == (2, 3):
                return 'I Am not sure.'
            return 'A' if SUMS.is_right(number, sample) else 'B'

    return {one.__name__: one for one in (Model, InWords, Copies, Judge)}


def __getattr__(name: str) -> Any:
    if name in {'Model', 'InWords', 'Copies', 'Judge'}:
        found = _models()
        for one in found.values():
            one.__module__, one.__qualname__ = __name__, one.__name__
        globals().update(found)
        return found[name]
    raise AttributeError(name)


_PREFIX = 'opencompass.openicl.'


def _template(prompt: str) -> dict[str, Any]:
    said = {'round': [{'role': 'HUMAN', 'prompt': prompt}]}
    return {'type': f'{_PREFIX}icl_prompt_template.PromptTemplate', 'template': said}


def _dataset(
    data: dict[str, Any], abbr: str, evaluator: dict[str, Any], n: int = N, **more: Any
) -> dict[str, Any]:
    asking = {
        'prompt_template': _template(PROMPT),
        'retriever': {'type': f'{_PREFIX}icl_retriever.ZeroRetriever'},
        'inferencer': {'type': f'{_PREFIX}icl_inferencer.GenInferencer'},
    }
    own = {'abbr': abbr, 'n': n, 'k': KS if n > 1 else 1, 'infer_cfg': asking}
    return {**data, **own, 'eval_cfg': {'evaluator': evaluator, **more}}


def _data(folder: Path, name: str = 'questions') -> dict[str, Any]:
    columns = {'input_columns': ['question'], 'output_column': 'answer'}
    path = str(folder / f'{name}.jsonl')
    return {'type': 'opencompass.datasets.Aime2024Dataset', 'path': path, 'reader_cfg': columns}


def _llm(folder: Path, name: str = 'questions') -> dict[str, Any]:
    return {
        'type': 'opencompass.evaluator.GenericLLMEvaluator',
        'prompt_template': _template(GRADER),
        'dataset_cfg': {**_data(folder, name), 'abbr': 'judged'},
        'judge_cfg': _model(folder, 'Judge', 'judge'),
        'dict_postprocessor': {'type': 'opencompass.datasets.generic_llmjudge_postprocess'},
    }


def _model(folder: Path, name: str, abbr: str, **more: Any) -> dict[str, Any]:
    return {
        'type': f'{Path(__file__).stem}.{name}', 'abbr': abbr,
        'path': str(folder / f'{abbr.replace("/", "_")}.asked.json'), 'max_out_len': 64, 'batch_size': 5,
        'run_cfg': {'num_gpus': 0}, **more,
    }  # fmt: skip


def _configs(folder: Path) -> dict[str, dict[str, Any]]:
    data, few = _data(folder), _data(folder, 'few')
    rule = {'type': 'opencompass.evaluator.MATHVerifyEvaluator'}
    cascade = {
        'type': 'opencompass.evaluator.CascadeEvaluator', 'rule_evaluator': rule,
        'llm_evaluator': _llm(folder, 'few'), 'parallel': False,
    }  # fmt: skip
    boxed = {'type': 'opencompass.datasets.math.math_postprocess_v2'}
    math = {'type': 'opencompass.datasets.MATHEvaluator', 'version': 'v2'}
    plain = {'type': 'opencompass.openicl.icl_evaluator.EMEvaluator'}
    drawn = {'generation_kwargs': {'temperature': 0.7, 'top_p': 0.95}}
    lists = _model(folder, 'Model', 'lists', generation_kwargs={'num_return_sequences': 2})
    scripted = [_model(folder, 'Model', 'scripted', **drawn), _model(folder, 'Copies', 'copies')]
    runs = {
        'rules': (scripted, _dataset(data, 'aime-rule', rule)),
        'judges': ([_model(folder, 'InWords', 'in-words')], _dataset(few, 'aime-cascade', cascade)),
        'llm': ([_model(folder, 'InWords', 'judged')], _dataset(data, 'aime-llm', _llm(folder))),
        'math': (
            [_model(folder, 'Model', 'org/nested')],
            _dataset(data, 'aime-math', math, pred_postprocessor=boxed),
        ),
        'sequences': ([lists], _dataset(data, 'aime-lists', plain, n=2) | {'k': [1, 2]}),
    }
    return {
        name: {'models': models, 'datasets': [dataset], 'infer': _infer(in_parts=name == 'rules')}
        for name, (models, dataset) in runs.items()
    }


def _infer(in_parts: bool) -> dict[str, Any]:
    parts = {'type': 'opencompass.partitioners.NumWorkerPartitioner', 'num_worker': 2, 'min_task_size': 8}
    whole = {'type': 'opencompass.partitioners.NaivePartitioner'}
    task = {'type': 'opencompass.tasks.OpenICLInferTask'}
    runner = {'type': 'opencompass.runners.LocalRunner', 'max_num_workers': 1, 'task': task}
    return {'partitioner': parts if in_parts else whole, 'runner': runner}


def make(folder: Path, only: Sequence[str] = ()) -> None:
    """Run the real `opencompass` for each config; work directories are `folder/<name>/<time>`."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{'origin_prompt': text, 'gold_answer': answer} for text, answer in SUMS.questions().items()]
    for file, count in (('questions', len(rows)), ('few', FEW)):
        write_rows(folder / f'{file}.jsonl', rows[:count])
    (folder / 'made').mkdir(exist_ok=True)
    for name, config in _configs(folder).items():
        if only and name not in only:
            continue
        for asked in folder.glob('*.asked.json'):
            asked.unlink()
        path = folder / 'made' / f'{name}.py'
        path.write_text(''.join(f'{key} = {value!r}\n' for key, value in config.items()))
        command = [Path(sys.executable).with_name('opencompass'), path, '-w', folder / name, '--debug']
        run(folder, path.with_suffix('.out'), command)


def keep(folder: Path, target: Path) -> None:
    """Copy what the tests read, without the paths of this machine: `target/<name>/<time>/…`."""
    for time in sorted(folder.glob('*/2*_*')):
        for part in ('configs', 'predictions', 'results'):
            for path in sorted((time / part).rglob('*.*')):
                place = target / time.parent.name / TIME / path.relative_to(time)
                place = place.with_name(f'{TIME}.py') if part == 'configs' else place
                place.parent.mkdir(parents=True, exist_ok=True)
                text = path.read_text(encoding='utf-8').replace(str(folder), 'logs')
                place.write_text(text.replace(time.name, TIME), encoding='utf-8')


if __name__ == '__main__':
    make(Path(sys.argv[1]))
    keep(Path(sys.argv[1]).resolve(), HERE.parents[1] / 'recorded' / 'opencompass')
