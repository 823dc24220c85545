"""The tasks in Lighteval, what they ask, and their settings: from a file, and as parameters of a task."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from made import TASKS, task_of

from gpassk_opencompass import InputError
from gpassk_opencompass.benchmarks import BENCHMARKS

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    from lighteval.models.abstract_model import ModelConfig
    from lighteval.tasks.registry import Registry
    from lighteval.tasks.requests import SamplingMethod
    from lighteval.utils.cache_management import SampleCache

    from gpassk_opencompass.lighteval import MOST_QUESTIONS, TASKS_TABLE, TaskSettings, checked, read_settings

NAMES = {config.name for config in TASKS_TABLE}
CNMO = 'livemathbench:v202412_CNMO_en'
LLM = {'type': 'llm', 'model': 'm', 'urls': ['http://localhost:1']}


def asking(folder: Path, *questions: str, name: str = '202412/CNMO_en') -> str:
    file = folder / f'{name}.jsonl'
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(''.join(json.dumps({'question': one, 'answer': '7'}) + '\n' for one in questions))
    return str(folder)


# Tasks


def test_there_is_a_task_for_every_list_and_every_version():
    """One a version, split and language, one for all of a version, one a benchmark."""
    assert {
        name.replace('-', '_') if name.startswith('livemathbench') else name for name in BENCHMARKS
    } < NAMES
    assert len([name for name in NAMES if name.startswith('livemathbench:v202412_')]) == 10
    assert {CNMO, 'gpassk_demo'} < NAMES


def test_questions_come_from_a_local_folder(tmp_path):
    """In place of the hub; one that does not hold them is refused by the name of the file."""
    [doc] = task_of(CNMO, questions=asking(tmp_path, 'What is 3 + 4?')).eval_docs()
    assert doc.query.startswith('What is 3 + 4?')
    digest = hashlib.sha256(b'What is 3 + 4?').hexdigest()
    assert doc.specific['uid'] == f'202412/CNMO_en/{digest[:12]}'
    assert doc.choices == ['7']
    with pytest.raises(InputError, match=r'aime2024\.jsonl'):
        task_of('aime2024', questions=str(tmp_path)).eval_docs()


def kept_under(folder: Path, question: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name under which Lighteval keeps responses to a task that asks this question."""
    from gpassk_opencompass import lighteval

    table = list(lighteval.tasks(TaskSettings(questions=asking(folder, question))))
    monkeypatch.setattr(lighteval, 'TASKS_TABLE', table)
    registry = Registry(CNMO, custom_tasks=lighteval)
    [task] = registry.load_tasks().values()
    assert [doc.specific['question'] for doc in task.eval_docs()] == [question]
    cache = SampleCache(ModelConfig(model_name='m', cache_dir=str(folder / 'cache')))
    cache._init_registry(registry)
    return str(cache.get_task_id(task.full_name, SamplingMethod.GENERATIVE))


def test_responses_to_other_questions_are_not_taken(tmp_path, monkeypatch):
    """Lighteval knows a question by its row alone; the task's name for its cache has what is asked."""
    first, again, other = (kept_under(tmp_path, one, monkeypatch) for one in ('3 + 4?', '3 + 4?', '4 + 3?'))
    assert first == again != other


def test_what_lighteval_would_do_without_a_word_is_refused(tmp_path):
    """Few-shot examples are questions of the list itself with answers; rows beyond the last are lost."""
    [task] = Registry('gpassk_demo|3', custom_tasks=TASKS).load_tasks().values()
    with pytest.raises(InputError, match=r'gpassk_demo: there are no few-shot examples'):
        task.get_docs()
    folder = asking(tmp_path, *['?'] * (MOST_QUESTIONS + 1), name='202505/all_en')
    with pytest.raises(InputError, match='1001 questions; a task has at most 1000'):
        task_of('livemathbench:v202505_all_en', questions=folder).eval_docs()


PROTOCOL = """
PROMPT_EN = 'Protocol: {question} in \\\\boxed{{}}'
PROMPT_CN = '协议: {question}'
JUDGE_PROMPT_EN = '{question} {gold_answer} {answer}'
JUDGE_PROMPT_CN = '判 {question} {gold_answer} {answer}'
"""
ASKED = """
from gpassk_opencompass.judges.prompts import find_prompts
from gpassk_opencompass.benchmarks import whole_prompt
print(whole_prompt('{3}', 'en'), whole_prompt('{3}', 'cn'), find_prompts().name, sep='|')
"""


def test_the_protocols_prompts_are_asked_where_opencompass_lies(tmp_path):
    """Of questions and of the judge, each in the row's language; nothing else of OpenCompass is loaded."""
    file = tmp_path / 'opencompass' / 'datasets' / 'livemathbench' / 'prompts.py'
    file.parent.mkdir(parents=True)
    file.write_text(PROTOCOL, encoding='utf-8')
    (tmp_path / 'opencompass' / '__init__.py').write_text('raise ImportError')
    environment = {**os.environ, 'PYTHONPATH': str(tmp_path)}
    done = subprocess.check_output([sys.executable, '-c', ASKED], env=environment, text=True)
    assert done.strip() == 'Protocol: {3} in \\boxed{}|协议: {3}|protocol'


# Settings


def test_parameters_of_a_task_go_before_the_file(tmp_path):
    """As Lighteval reads them; what Lighteval takes for a task alone, the length, comes from the file."""
    file = tmp_path / 'settings.yaml'
    file.write_text(f'n: 8\nk: 4\nmax_new_tokens: 99\nquestions: {tmp_path}\njudge: rule\n')
    code = (
        'from gpassk_opencompass import lighteval as ours; from lighteval.tasks.registry import Registry;'
        '[task] = Registry(\'aime2024@n=16@k="2 4"\', custom_tasks=ours.__name__).load_tasks().values();'
        'settings = task.metrics[0].sample_level_fn.settings;'
        'print(max(task.num_samples), settings.k, task.generation_size, settings.questions)'
    )
    environment = {**os.environ, 'GPASSK_LIGHTEVAL': str(file), 'PYTHONWARNINGS': 'ignore'}
    done = subprocess.check_output([sys.executable, '-c', code], env=environment, text=True, cwd=tmp_path)
    assert done.splitlines()[-1] == f'16 [2, 4] 99 {tmp_path}'


def test_json_is_settings_too(tmp_path):
    """And a judge is a name or a whole config; verdicts of an LLM get a store."""
    file = tmp_path / 'settings.json'
    file.write_text(json.dumps({'n': 4, 'k': [2, 4], 'thresholds': [0, 1], 'judge': LLM}, indent=2))
    settings = read_settings(str(file))
    assert (settings.n, settings.k, settings.thresholds) == (4, [2, 4], [0.0, 1.0])
    assert settings.judge['verdicts'].endswith('gpassk_opencompass/verdicts')
    assert TaskSettings(judge='rule').judge == {'type': 'rule'}


def test_all_that_is_wrong_with_a_file_is_told_at_once(tmp_path):
    """What, what was received, what is allowed; and which key was meant."""
    file = tmp_path / 'settings.yaml'
    file.write_text('n: x\nk: [0]\nthresholds: 2\njudge: gpt\nunjudged_tolerance: 2\ntau: 1\n')
    with pytest.raises(InputError) as error:
        read_settings(str(file))
    told = str(error.value).removeprefix(f'{file}: ').split('; ')
    assert [one.split()[0].rstrip(':') for one in told] == [
        *('n', 'k.0', 'thresholds.0', 'judge', 'unjudged_tolerance', 'tau')
    ]
    assert told[0].startswith("n = 'x': Input should be a valid integer")
    assert 'expected rule, llm, cascade' in told[3]
    assert told[5] == f'tau: no such setting, it takes {", ".join(TaskSettings.model_fields)}'


@pytest.mark.parametrize(
    ('given', 'message'),
    [
        ({'n': 4, 'k': [8]}, 'k must be a whole number from 1 to n = 4, got 8'),
        ({'k': '4 x'}, "k.1 = 'x'"),
        ({'k': [4, 4]}, 'k and each threshold once'),
        (
            {'judge': {**LLM, 'concurency': 8}},
            "judge 'llm': concurency: no such setting, did you mean 'concurrency'",
        ),
        (None, 'valid dictionary'),
    ],
)
def test_settings_that_cannot_be_met_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        checked(TaskSettings, given, 'settings:')


def test_files_that_are_none_and_unknown_parameters_are_refused(tmp_path):
    (tmp_path / 'torn.json').write_text('{"n": [')
    for name in ('torn.json', 'missing.yaml'):
        with pytest.raises(InputError, match=f'{name} cannot be read as YAML or JSON'):
            read_settings(str(tmp_path / name))
    with pytest.raises(InputError, match="no parameter 'questions'; it has n, k, thresholds"):
        Registry('aime2024@questions=1', custom_tasks=TASKS)
