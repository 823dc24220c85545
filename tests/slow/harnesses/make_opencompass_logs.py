"""A run of OpenCompass on a data set with n = 4 and a cascade as its judge, of a model whose truth is known.

Four questions with four samples each; how many of them are right: `COUNTS`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from harness_script import Sums, run, write_rows
from opencompass.models.base import BaseModel, LMTemplateParser

N = 4
COUNTS = (4, 3, 2, 1)
"""Right samples of each question, the first ones of it."""
SUMS = Sums(COUNTS, 'Sample {replica} of question {number}, zehn plus {number} – so it is \\boxed{{{said}}}.')
PROMPT = '{question}\nRemember to put your final answer within \\boxed{}.'
GRADER = 'Question: {question}\nGold: {answer}\nResponse: {prediction}\nA or B?'


class Model(BaseModel):
    """Right answers of odd replicas are words; `path`, a file, counts how often each prompt was asked."""

    is_api = False

    def __init__(self, path: str, **_: Any) -> None:
        super().__init__(path=path, tokenizer_only=True)
        self.template_parser = LMTemplateParser()

    def reply(self, prompt: str, replica: int) -> str:
        right = r'\text{the right number}' if replica % 2 else ''
        return SUMS.response(SUMS.number(prompt), replica, right)

    def generate(self, inputs: list[str], max_out_len: int, **_: Any) -> list[str]:
        path, said = Path(self.path), []
        asked = json.loads(path.read_text()) if path.exists() else {}
        for prompt in inputs:
            said.append(self.reply(prompt, asked.get(prompt, 0)))
            asked[prompt] = asked.get(prompt, 0) + 1
        path.write_text(json.dumps(asked))
        return said

    def get_token_len(self, prompt: str) -> int:
        return len(prompt.split())


class Judge(Model):
    """Says A of what is right, B of what is not; of one sample neither."""

    def reply(self, prompt: str, replica: int) -> str:
        told = prompt.partition('Response: ')[2]
        sample, number = map(int, re.findall(r'Sample (\d+) of question (\d+)', told)[0])
        if (number, sample) == (2, 3):
            return 'I Am not sure.'
        return 'A' if SUMS.is_right(number, sample) else 'B'


def _template(prompt: str) -> dict[str, Any]:
    said = {'round': [{'role': 'HUMAN', 'prompt': prompt}]}
    return {'type': 'opencompass.openicl.icl_prompt_template.PromptTemplate', 'template': said}


def _model(folder: Path, name: str, abbr: str) -> dict[str, Any]:
    return {
        'type': f'{Path(__file__).stem}.{name}', 'abbr': abbr, 'path': str(folder / f'{abbr}.asked.json'),
        'max_out_len': 64, 'batch_size': 5, 'run_cfg': {'num_gpus': 0},
    }  # fmt: skip


def _config(folder: Path) -> dict[str, Any]:
    data = {
        'type': 'opencompass.datasets.Aime2024Dataset', 'path': str(folder / 'questions.jsonl'),
        'reader_cfg': {'input_columns': ['question'], 'output_column': 'answer'},
    }  # fmt: skip
    llm = {
        'type': 'opencompass.evaluator.GenericLLMEvaluator', 'prompt_template': _template(GRADER),
        'dataset_cfg': {**data, 'abbr': 'judged'}, 'judge_cfg': _model(folder, 'Judge', 'judge'),
        'dict_postprocessor': {'type': 'opencompass.datasets.generic_llmjudge_postprocess'},
    }  # fmt: skip
    cascade = {
        'type': 'opencompass.evaluator.CascadeEvaluator', 'llm_evaluator': llm, 'parallel': False,
        'rule_evaluator': {'type': 'opencompass.evaluator.MATHVerifyEvaluator'},
    }  # fmt: skip
    infer = {
        'prompt_template': _template(PROMPT),
        'retriever': {'type': 'opencompass.openicl.icl_retriever.ZeroRetriever'},
        'inferencer': {'type': 'opencompass.openicl.icl_inferencer.GenInferencer'},
    }
    own = {
        'abbr': 'aime-cascade',
        'n': N,
        'k': [2, 4],
        'infer_cfg': infer,
        'eval_cfg': {'evaluator': cascade},
    }
    task = {'type': 'opencompass.tasks.OpenICLInferTask'}
    runner = {'type': 'opencompass.runners.LocalRunner', 'max_num_workers': 1, 'task': task}
    partitioner = {'type': 'opencompass.partitioners.NaivePartitioner'}
    return {
        'models': [_model(folder, 'Model', 'in-words')], 'datasets': [data | own],
        'infer': {'partitioner': partitioner, 'runner': runner},
    }  # fmt: skip


def make(folder: Path) -> Path:
    """Run the real `opencompass` in the work directory `folder/judges`; the file of what it said."""
    rows = [{'origin_prompt': text, 'gold_answer': answer} for text, answer in SUMS.questions().items()]
    write_rows(folder / 'questions.jsonl', rows)
    path = folder / 'judges.py'
    path.write_text(''.join(f'{key} = {value!r}\n' for key, value in _config(folder).items()))
    command = [Path(sys.executable).with_name('opencompass'), path, '-w', folder / 'judges', '--debug']
    run(folder, folder / 'judges.out', command)
    return folder / 'judges.out'
