"""The evaluation task that holds each response once: its results are those of OpenCompass's task."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hosts import dataset_config, import_plugin, write_bench
from mmengine.config import Config
from opencompass.registry import TEXT_POSTPROCESSORS
from opencompass.tasks import OpenICLEvalTask

from gpassk_opencompass.record import read

plugin = import_plugin()
TIME, MODEL, DATA = '20260101_000000', 'made', 'bench'
QUESTIONS = [('What is 2 + 2?', '4'), ('半径为 2 的圆的面积?', r'4\pi'), ('Half of one?', r'\frac{1}{2}')]
N = 4
RESPONSES = [
    r'<think>4, or \boxed{5}?</think>So \boxed{4}.',
    r'面积为 $\boxed{4\pi}$。',
    'The answer is 0.5.',
    r'\boxed{2} or \boxed{4}',
    r'It is \boxed{12.566370614359172}',
    r'\boxed{1/2} 𝛼…',
    'I do not know',
    r'Cut off at \boxed{4',
    '<think>never closed',
    '',
    r'\boxed{\frac{1}{3}}',
    r'Surely \boxed{0.5}.' + ' ' * 300,
]


def prepare(
    folder: Path, shards: Sequence[Any], evaluator: Mapping[str, Any] | None = None, **more: Any
) -> Path:
    """Write config, questions and predictions of a run as OpenCompass does; where its result goes."""
    data = write_bench(folder / 'data', {'AMC_en': QUESTIONS})
    dataset = dataset_config(data, abbr=DATA, k=[2, 4], n=N)
    dataset['infer_cfg']['inferencer'] = {'type': 'opencompass.openicl.icl_inferencer.GenInferencer'}
    dataset['eval_cfg'] = {
        'evaluator': {'type': 'gpassk_opencompass.GPassKEvaluator', **(evaluator or {})},
        **more,
    }
    model = {'type': 'opencompass.models.HuggingFacewithChatTemplate', 'abbr': MODEL, 'path': 'made'}
    task = {'type': 'gpassk_opencompass.GPassKEvalTask'}
    runner = {'type': 'opencompass.runners.LocalRunner', 'task': task}
    evaluation = {'partitioner': {'type': 'opencompass.partitioners.NaivePartitioner'}, 'runner': runner}
    text = f'models = [{model!r}]\ndatasets = [{dataset!r}]\neval = {evaluation!r}\n'
    (folder / 'config.py').write_text(text, encoding='utf-8')
    predictions = folder / 'out' / TIME / 'predictions' / MODEL
    predictions.mkdir(parents=True)
    for shard, responses in enumerate(shards):
        rows = [
            {'origin_prompt': '', 'prediction': one} if isinstance(one, str) else one for one in responses
        ]
        content = json.dumps(dict(enumerate(rows)), indent=4, ensure_ascii=False)
        name = f'{DATA}_{shard}.json' if len(shards) > 1 else f'{DATA}.json'
        (predictions / name).write_text(content, encoding='utf-8')
    return folder / 'out' / TIME / 'results' / MODEL / f'{DATA}.json'


def evaluate(folder: Path, task: Any) -> tuple[bytes, bytes]:
    """Do the task anew; result and sample file."""
    config = Config.fromfile(folder / 'config.py')
    config['datasets'], config['work_dir'] = [config['datasets']], str(folder / 'out' / TIME)
    config['eval']['runner']['task']['dump_details'] = True
    result = folder / 'out' / TIME / 'results' / MODEL / f'{DATA}.json'
    result.unlink(missing_ok=True)
    task(config).run()
    samples = read(result).sample_path
    assert samples
    return result.read_bytes(), samples.read_bytes()


@pytest.mark.parametrize('shards', [1, 3])
def test_results_are_those_of_the_task_of_opencompass(forks, tmp_path, shards):
    """To the byte, with thoughts, several alphabets and no answer at all; also by the command."""
    size = len(RESPONSES) // shards
    result = prepare(tmp_path, [RESPONSES[shard * size : (shard + 1) * size] for shard in range(shards)])
    theirs, ours = evaluate(tmp_path, OpenICLEvalTask), evaluate(tmp_path, plugin.GPassKEvalTask)
    assert ours == theirs
    record = json.loads(ours[0])
    assert [question.count('1') for question in record['details']['verdicts']] == [1, 2, 3]
    result.unlink()
    forks.opencompass(tmp_path / 'config.py', tmp_path / 'out', '-m', 'eval', '-r', TIME)
    found = json.loads(result.read_text(encoding='utf-8'))
    assert found['details'] == record['details']
    assert found['gpassk']['signature'] == record['gpassk']['signature']


@TEXT_POSTPROCESSORS.register_module('answers_in_a_box')
def answers_in_a_box(text: str) -> str:
    """What a postprocessor of somebody may do."""
    return rf'\boxed{{{text}}}'


@pytest.mark.parametrize(
    ('evaluator', 'more'),
    [
        ({}, {'pred_postprocessor': {'type': 'answers_in_a_box'}}),
        ({'pred_postprocessor': {'type': 'answers_in_a_box'}}, {}),
        ({'evaluator': {'type': 'opencompass.evaluator.MATHVerifyEvaluator'}}, {}),
    ],
    ids=['postprocessor of the data set', 'postprocessor of the evaluator', 'another evaluator'],
)
def test_who_wants_the_texts_has_them(tmp_path, evaluator, more):
    prepare(tmp_path, [['4', r'4\pi', '0.5'] * N], evaluator, **more)
    theirs, ours = evaluate(tmp_path, OpenICLEvalTask), evaluate(tmp_path, plugin.GPassKEvalTask)
    assert ours == theirs
    if 'evaluator' not in evaluator:
        assert json.loads(ours[0])['accuracy'] == 100.0


def test_a_response_lies_in_memory_once(tmp_path):
    """Of 48 MB of responses; OpenCompass has the text of the file beside them."""
    size = 4_000_000
    responses = [f'{number} '.ljust(size, 'x') + r'\boxed{4}' for number in range(len(QUESTIONS) * N)]
    prepare(tmp_path, [responses])
    evaluate(tmp_path, plugin.GPassKEvalTask)  # what is imported on the way does not count
    most = {}
    for task in (OpenICLEvalTask, plugin.GPassKEvalTask):
        tracemalloc.start()
        evaluate(tmp_path, task)
        most[task] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    whole = len(responses) * size
    assert most[plugin.GPassKEvalTask] < 1.5 * whole < 2 * whole < most[OpenICLEvalTask]


@pytest.mark.parametrize(
    ('rows', 'told'),
    [
        ([*RESPONSES[:11], ['no row']], 'stands where a row of predictions was expected'),
        (RESPONSES[:11], '11 predictions for 12 rows'),
    ],
    ids=['no rows', 'one too few'],
)
def test_what_cannot_be_read_is_an_error(tmp_path, rows, told):
    """It says what is wrong, and no result is written."""
    result = prepare(tmp_path, [rows])
    with pytest.raises(Exception, match=told):
        evaluate(tmp_path, plugin.GPassKEvalTask)
    assert not result.exists()
