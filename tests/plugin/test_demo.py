"""The demo's questions are right and parallel; its model is small, loads and answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from math import prod
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass import benchmarks as wording
from gpassk_opencompass import demo

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RUNGS = 8
FILES = [f'{split}_{language}.jsonl' for split in demo.SPLITS for language in demo.LANGUAGES]


def read(name: str) -> list[dict[str, Any]]:
    text = (Path(demo.QUESTIONS) / demo.VERSION / name).read_text(encoding='utf-8')
    return [json.loads(line) for line in text.splitlines()]


def numbers(row: dict[str, Any]) -> list[int]:
    return [int(digits) for digits in re.findall(r'\d+', row['question'])]


def solved(row: dict[str, Any]) -> int:
    """The answer from the words of the question alone, in the way a reader would find it."""
    question = row['question']
    found = numbers(row)
    if 'boxes' in question or '盒子' in question:
        return found[0] * found[1] - found[2]
    if 'yuan' in question or '元' in question:
        return found[0] * found[2] + found[1]
    (expression,) = re.findall(r'\$(.*)\$', question)
    return sum(prod(map(int, term.split('\\times'))) for term in expression.split('+'))


@pytest.mark.parametrize('name', FILES)
def test_reference_answers_follow_from_the_questions(name):
    rows = read(name)
    assert [row['answer'] for row in rows] == [f'${solved(row)}$' for row in rows]


@pytest.mark.parametrize('split', demo.SPLITS)
def test_line_i_is_one_problem_in_both_languages(split):
    english, chinese = read(f'{split}_en.jsonl'), read(f'{split}_cn.jsonl')
    assert len(english) == RUNGS
    assert [row['answer'] for row in english] == [row['answer'] for row in chinese]
    assert [sorted(numbers(row)) for row in english] == [sorted(numbers(row)) for row in chinese]


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('host', ['opencompass', 'lighteval'])
def test_shipped_model_answers_in_both_languages(host):
    """Asked as either host does, a batch of both languages gives boxed answers, the easy ones right."""
    models = pytest.importorskip('opencompass.models', reason='the wrapper is part of OpenCompass')
    prompts = pytest.importorskip(
        'opencompass.datasets.livemathbench.prompts', reason='prompts of OpenCompass'
    )
    wrapped = models.HuggingFacewithChatTemplate(
        path=demo.MODEL, model_kwargs={'torch_dtype': 'torch.float32', 'device_map': 'cpu'}
    )
    own = {'en': wording.ENGLISH, 'cn': wording.CHINESE}
    asked = {'en': prompts.PROMPT_EN, 'cn': prompts.PROMPT_CN} if host == 'opencompass' else own
    inputs = [
        text.format(question=row['question'])
        for language, text in asked.items()
        for row in read(f'ADD_{language}.jsonl')
    ]
    outputs = wrapped.generate(inputs, max_out_len=40, do_sample=False)
    answers = [re.findall(r'\\boxed\{(\d+)\}', output) for output in outputs]
    assert all(len(answer) == 1 for answer in answers)
    for name, first in (('ADD_en.jsonl', 0), ('ADD_cn.jsonl', RUNGS)):
        assert f'${answers[first][0]}$' == read(name)[0]['answer']
    assert all('So the answer is' in output for output in outputs[:RUNGS])
    assert all('所以答案是' in output for output in outputs[RUNGS:])


@pytest.mark.e2e
def test_training_reproduces_itself(tmp_path):
    """Two short trainings with one seed write the same loadable model, another seed writes another."""
    pytest.importorskip('opencompass', reason='training asks its questions with the prompts of OpenCompass')
    folders = [tmp_path / name for name in ('first', 'second', 'other')]
    code = (
        'import sys; from research.demo_train import main\n'
        "for folder, seed in zip(sys.argv[1:], '001'):\n"
        "    main(['--steps', '2', '--output', folder, '--seed', seed])\n"
        'from transformers import AutoModelForCausalLM, AutoTokenizer\n'
        'AutoModelForCausalLM.from_pretrained(sys.argv[1]); AutoTokenizer.from_pretrained(sys.argv[1])'
    )
    line = [sys.executable, '-c', code, *folders]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'step 2/2  loss ' in done.stdout
    first, second, other = [(folder / 'model.safetensors').read_bytes() for folder in folders]
    assert first == second
    assert first != other
    # The tokenizer does not depend on the number of steps, so the shipped one comes out again.
    shipped = Path(demo.MODEL, 'tokenizer.json').read_bytes()
    assert (folders[0] / 'tokenizer.json').read_bytes() == shipped
