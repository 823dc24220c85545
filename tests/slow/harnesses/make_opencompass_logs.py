"""Logs that OpenCompass 0.5.4 itself writes of data sets with n > 1, of a model whose truth is known.

    .venv/bin/python tests/slow/harnesses/make_opencompass_logs.py FOLDER

which also writes tests/recorded/opencompass again. Five questions with four samples each; which of them are
right: `is_right`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripted import run, write_rows

N, KS = 4, [2, 4]
COUNTS = (4, 3, 2, 1, 0)
"""Right samples of each question."""
FEW = 4
"""Questions of the data set with the cascade: the rule alone finds all of its first samples right."""
HERE = Path(__file__).resolve().parent
TIME = '20260101_120000'
"""The name of the time directories that are kept."""

PROMPT = '{question}\nRemember to put your final answer within \\boxed{}.'
GRADER = 'Question: {question}\nGold: {answer}\nResponse: {prediction}\nA or B?'


def is_right(question: int, replica: int) -> bool:
    return replica < COUNTS[question]


def question(number: int) -> str:
    return f'What is {number} + 10?'


def answer(number: int) -> str:
    return str(number + 10)


def response(number: int, replica: int, in_words: bool = False) -> str:
    """A sample; `in_words`: right ones of odd replicas as only an LLM judge can tell."""
    if not is_right(number, replica):
        said = '99'
    elif in_words and replica % 2:
        said = r'\text{the right number}'
    else:
        said = answer(number)
    return f'Sample {replica} of question {number}, zehn plus {number} – so it is \\boxed{{{said}}}.'


class Scripted:
    """Mixed into OpenCompass's model; `path` is a file that counts how often each prompt was asked."""

    def reply(self, prompt: str, replica: int) -> str:
        return response(_number(prompt), replica)

    def replies(self, inputs: Sequence[str], path: Path, sequences: int = 1) -> list[str]:
        asked = json.loads(path.read_text()) if path.exists() else {}
        said = []
        for prompt in inputs:
            for _ in range(sequences):
                replica = asked.get(prompt, 0)
                asked[prompt] = replica + 1
                said.append(self.reply(prompt, replica))
        path.write_text(json.dumps(asked))
        return said


def _number(prompt: str) -> int:
    return int(re.findall(r'What is (\d+) \+', prompt)[-1])


def _models() -> dict[str, type]:
    """Return the model classes; OpenCompass is imported only where it runs them."""
    from opencompass.models.base import BaseModel, LMTemplateParser

    class Model(Scripted, BaseModel):  # type: ignore[misc]
        """Answers as `response` says."""

        is_api = False

        def __init__(self, path: str, generation_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
            super().__init__(path=path, tokenizer_only=True)
            self.template_parser = LMTemplateParser()
            self.generation_kwargs = generation_kwargs or {}

        def generate(self, inputs: list[str], max_out_len: int, **_: Any) -> list[str]:
            sequences = self.generation_kwargs.get('num_return_sequences', 1)
            return self.replies(inputs, Path(self.path), sequences)

        def get_token_len(self, prompt: str) -> int:
            return len(prompt.split())

    class InWords(Model):
        """Says some right answers in words."""

        def reply(self, prompt: str, replica: int) -> str:
            return response(_number(prompt), replica, in_words=True)

    class Copies(Model):
        """Says the same in every sample, as with one seed."""

        def reply(self, prompt: str, replica: int) -> str:
            number = _number(prompt)
            return response(number, 0) + ' And so on.' * 30

    class Judge(Model):
        """Says A of what is right, B of what is not; of one sample neither."""

        def reply(self, prompt: str, replica: int) -> str:
            told = prompt.partition('Response: ')[2]
            sample, number = map(int, re.findall(r'Sample (\d+) of question (\d+)', told)[0])
            if (number, sample) == (2, 3):
                return 'I Am not sure.'
            return 'A' if is_right(number, sample) else 'B'

    return {'Model': Model, 'InWords': InWords, 'Copies': Copies, 'Judge': Judge}


def __getattr__(name: str) -> Any:
    if name in {'Model', 'InWords', 'Copies', 'Judge'}:
        found = _models()
        for one in found.values():
            one.__module__, one.__qualname__ = __name__, one.__name__
        globals().update(found)
        return found[name]
    raise AttributeError(name)


def _dataset(
    data: dict[str, Any], abbr: str, evaluator: dict[str, Any], n: int = N, **more: Any
) -> dict[str, Any]:
    prefix = 'opencompass.openicl.'
    return {
        **data,
        'abbr': abbr,
        'n': n,
        'k': KS if n > 1 else 1,
        'infer_cfg': {
            'prompt_template': {
                'type': f'{prefix}icl_prompt_template.PromptTemplate',
                'template': {'round': [{'role': 'HUMAN', 'prompt': PROMPT}]},
            },
            'retriever': {'type': f'{prefix}icl_retriever.ZeroRetriever'},
            'inferencer': {'type': f'{prefix}icl_inferencer.GenInferencer'},
        },
        'eval_cfg': {'evaluator': evaluator, **more},
    }


def _data(folder: Path, name: str = 'questions') -> dict[str, Any]:
    return {
        'type': 'opencompass.datasets.Aime2024Dataset',
        'path': str(folder / f'{name}.jsonl'),
        'reader_cfg': {'input_columns': ['question'], 'output_column': 'answer'},
    }


def _llm(folder: Path, name: str = 'questions') -> dict[str, Any]:
    return {
        'type': 'opencompass.evaluator.GenericLLMEvaluator',
        'prompt_template': {
            'type': 'opencompass.openicl.icl_prompt_template.PromptTemplate',
            'template': {'round': [{'role': 'HUMAN', 'prompt': GRADER}]},
        },
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


RULE = {'type': 'opencompass.evaluator.MATHVerifyEvaluator'}


def _configs(folder: Path) -> dict[str, dict[str, Any]]:
    cascade = {
        'type': 'opencompass.evaluator.CascadeEvaluator',
        'rule_evaluator': RULE,
        'llm_evaluator': _llm(folder, 'few'),
        'parallel': False,
    }
    boxed = {'type': 'opencompass.datasets.math.math_postprocess_v2'}
    math = {'type': 'opencompass.datasets.MATHEvaluator', 'version': 'v2'}
    plain = {'type': 'opencompass.openicl.icl_evaluator.EMEvaluator'}
    parts = {'type': 'opencompass.partitioners.NumWorkerPartitioner', 'num_worker': 2, 'min_task_size': 8}
    whole = {'type': 'opencompass.partitioners.NaivePartitioner'}
    settings = {'generation_kwargs': {'temperature': 0.7, 'top_p': 0.95}}
    return {
        'rules': {
            'models': [_model(folder, 'Model', 'scripted', **settings), _model(folder, 'Copies', 'copies')],
            'datasets': [_dataset(_data(folder), 'aime-rule', RULE)],
            'infer': _infer(parts),
        },
        'judges': {
            'models': [_model(folder, 'InWords', 'in-words')],
            'datasets': [_dataset(_data(folder, 'few'), 'aime-cascade', cascade)],
            'infer': _infer(whole),
        },
        'llm': {
            'models': [_model(folder, 'InWords', 'judged')],
            'datasets': [_dataset(_data(folder), 'aime-llm', _llm(folder))],
            'infer': _infer(whole),
        },
        'math': {
            'models': [_model(folder, 'Model', 'org/nested')],
            'datasets': [_dataset(_data(folder), 'aime-math', math, pred_postprocessor=boxed)],
            'infer': _infer(whole),
        },
        'sequences': {
            'models': [_model(folder, 'Model', 'lists', generation_kwargs={'num_return_sequences': 2})],
            'datasets': [_dataset(_data(folder), 'aime-lists', plain, n=2) | {'k': [1, 2]}],
            'infer': _infer(whole),
        },
    }


def _infer(partitioner: dict[str, Any]) -> dict[str, Any]:
    task = {'type': 'opencompass.tasks.OpenICLInferTask'}
    runner = {'type': 'opencompass.runners.LocalRunner', 'max_num_workers': 1, 'task': task}
    return {'partitioner': partitioner, 'runner': runner}


def make(folder: Path, only: Sequence[str] = ()) -> None:
    """Run the real `opencompass` for each config; work directories are `folder/<name>/<time>`."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{'origin_prompt': question(one), 'gold_answer': answer(one)} for one in range(len(COUNTS))]
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
