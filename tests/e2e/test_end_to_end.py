"""The real `opencompass` command, from a config to a result file."""

from __future__ import annotations

import csv
import json
import re
import threading
from pathlib import Path

import pytest
from hosts import (
    dataset_config,
    import_plugin,
    numbers,
    results_of,
    scripted,
    wait_until,
    write_bench,
    write_config,
)
from judge_server import Act, Asked, Hang, JudgeServer

from gpassk_opencompass.demo import MODEL

import_plugin()
pytestmark = pytest.mark.e2e

NAME = 'Qwen2.5-0.5B_t1.0_rs42_l24'


def test_kill_and_resume_gives_the_same_samples(forks, tmp_path):
    """kill -9 in the inference of two shards, then -r: real sampling, the result as without the kill."""
    model = {
        'type': 'gpassk_opencompass.SeededHuggingFace', 'abbr': NAME, 'path': MODEL,
        'model_kwargs': {'torch_dtype': 'torch.float32', 'device_map': 'cpu'},
        'generation_kwargs': {'do_sample': True, 'temperature': 1.0, 'top_p': 1.0, 'top_k': 0},
        'max_seq_len': 2048, 'max_out_len': 24, 'batch_size': 8, 'random_seed': 42,
        'run_cfg': {'num_gpus': 0},
    }  # fmt: skip
    root = write_bench(tmp_path / 'data', {'AMC_en': [(f'{i}+{i + 30}=?', '$7$') for i in range(8)]})
    config = write_config(tmp_path / 'run.py', model, dataset_config(root, k=[2, 8], n=8))
    workers = ('--max-num-workers', '2')
    forks.opencompass(config, tmp_path / 'whole', *workers)
    [whole] = results_of(tmp_path / 'whole')

    def samples_and_results(folder: Path) -> tuple[list[Path], list[Path]]:
        return [*folder.glob('*/predictions/*/bench*.jsonl')], [*folder.glob('*/results/*/*.json')]

    for attempt in range(10):  # a kill may come too late on a busy machine
        killed = tmp_path / f'killed{attempt}'
        copy = forks.start('opencompass', config, '-w', killed, *workers, folder=tmp_path)
        wait_until(lambda folder=killed: any(samples_and_results(folder)), copy)
        copy.kill()
        samples, results = samples_and_results(killed)
        if samples and not results:
            break
    assert (bool(samples), results) == (True, [])
    forks.opencompass(config, killed, '-r', *workers)
    [resumed] = results_of(killed)
    assert numbers(resumed) == numbers(whole)
    texts = [answer for question in whole['details']['answers'] for answer in question]
    assert len(set(texts)) > 8, 'replicas of one question must differ'
    for kind in ('predictions', 'results'):  # the model's name with its points is that of every folder
        assert {path.name for path in killed.glob(f'*/{kind}/*')} == {NAME}
    [summary] = killed.glob('*/summary/gpassk_*.md')
    assert '| Qwen2.5-0.5B' in summary.read_text()


def test_a_mixed_leaderboard_in_shards_stands_in_one_table(forks, tmp_path):
    """Two of our models, three of our benchmarks and two data sets of OpenCompass; one model is right."""
    sums = [(f'What is {i}+{i + 1}?', f'{2 * i + 1}') for i in range(10, 25)]
    root = write_bench(tmp_path / 'data', {'AMC_en': sums[:6]})
    lines = [json.dumps({'question': question, 'answer': answer}) for question, answer in sums]
    for name, count in (('aime2025', 15), ('own', 8), ('quiz', 9)):
        (root / f'{name}.jsonl').write_text('\n'.join(lines[:count]))
    fields = {'question': 'question', 'answer': 'answer'}
    live = dataset_config(root, abbr='live', k=[2], n=4)
    ours = {'type': 'gpassk_opencompass.BenchmarkDataset', 'k': [4], 'n': 4}
    aime = dataset_config(root / 'aime2025.jsonl', **ours, abbr='aime', benchmark='aime2025-i')
    own = dataset_config(root / 'own.jsonl', **ours, abbr='own', benchmark='own', fields=fields)
    reader = {'input_columns': ['question'], 'output_column': 'answer'}
    contains = {'evaluator': {'type': 'known_model.Holds'}}
    theirs = {'type': 'opencompass.datasets.CustomDataset', 'reader_cfg': reader, 'eval_cfg': contains}
    quizzes = [dataset_config(root / 'quiz.jsonl', **theirs, abbr=f'quiz{number}') for number in range(2)]
    for dataset in (aime, own, *quizzes):
        del dataset['dataset_splits'], dataset['dataset_languages']
    for dataset in quizzes:
        dataset['infer_cfg']['inferencer']['type'] = 'opencompass.openicl.icl_inferencer.GenInferencer'
        dataset['infer_cfg']['prompt_template']['template']['round'][0]['prompt'] = '{question}'

    def behave(asked: Asked) -> str:
        first, second = map(int, re.findall(r'(\d+)\+(\d+)\?', asked.prompt)[-1])
        assert 'seed' in asked.body
        return rf'\boxed{{{first + second + (asked.body["model"] == "other" and first % 2)}}}'

    with JudgeServer(behave) as server:
        fixed = {
            'type': 'gpassk_opencompass.SeededOpenAISDK',
            'openai_api_base': f'{server.url}/v1',
            'key': 'EMPTY',
        }
        fixed |= {'tokenizer_path': MODEL, 'random_seed': 42, 'batch_size': 8, 'max_out_len': 24}
        models = [
            {**fixed, 'abbr': name, 'path': name, 'run_cfg': {'num_gpus': 0}} for name in ('right', 'other')
        ]
        config = tmp_path / 'run.py'
        parts = {'models': models, 'datasets': [live, aime, own, *quizzes]}
        parts |= {'summarizer': {'type': 'gpassk_opencompass.GPassKSummarizer'}}
        config.write_text(''.join(f'{name} = {value!r}\n' for name, value in parts.items()))
        said = forks.opencompass(config, tmp_path / 'out', '--max-num-workers', '2')
    [summary] = (tmp_path / 'out').glob('*/summary/summary_*.csv')
    rows = list(csv.DictReader(summary.read_text().splitlines()))
    table = {row['dataset']: row for row in rows if row['metric'] in ('accuracy', 'score')}
    share = {'live': 3 / 6, 'aime': 8 / 15, 'own': 4 / 8, 'quiz0': 5 / 9, 'quiz1': 5 / 9}
    assert {name: float(row['right']) for name, row in table.items()} == dict.fromkeys(share, 100.0), said
    for name, row in table.items():
        assert float(row['other']) == pytest.approx(100 * share[name], abs=0.01)
    for name in ('live', 'aime', 'own'):
        assert re.search(rf'\b{name}\b', next((tmp_path / 'out').glob('*/summary/gpassk_*.md')).read_text())


def test_all_judges_dead_is_an_error_in_time_and_a_resume_asks_for_the_rest(forks, tmp_path):
    """No result file, every address in the log; with a server back, -r asks only for what is missing."""
    answered, cured, out = 5, threading.Event(), tmp_path / 'out'

    def number_in(asked: Asked) -> int:
        return int(re.findall(r'number (\d+) ', asked.prompt)[-1])

    def behave(asked: Asked) -> Act:
        if asked.number < answered or cured.is_set():
            return r'\boxed{yes}' if number_in(asked) % 3 == 0 else r'\boxed{no}'
        return Hang()

    def stored() -> int:
        return sum(file.read_text().count('"verdict": ') for file in out.glob('*/verdicts/*.jsonl'))

    with JudgeServer(behave) as first, JudgeServer(behave) as second:
        judge = {
            'type': 'llm',
            'model': 'judge',
            'urls': [first.url, second.url],
            'concurrency': 4,
            'patience': 10.0,
        }
        evaluator = {'type': 'gpassk_opencompass.GPassKEvaluator', 'judge': judge}
        root = write_bench(tmp_path / 'data', {'AMC_en': [(f'Question {i}?', '$7$') for i in range(8)]})
        dataset = dataset_config(root, k=[2, 4], n=4, eval_cfg={'evaluator': evaluator})
        config = write_config(tmp_path / 'run.py', scripted(numbered=True), dataset)
        run = forks.start('opencompass', config, '-w', out, folder=tmp_path)
        wait_until(lambda: len(first.asked) > answered and len(second.asked) > answered, run)
        wait_until(lambda: stored() == 2 * answered, run)
        first.stop()
        second.stop()
        run.wait(100.0)  # seconds that a busy machine may be late
        assert 'IncompleteError: no server answers' in run.said
        assert all(f'{server.url}/v1/chat/completions' in run.said for server in (first, second))
        assert results_of(out) == []
        kept = {number_in(asked) for server in (first, second) for asked in server.asked[:answered]}
        before = len(first.asked)
        cured.set()
        first.start()
        forks.opencompass(config, out, '-r')
        resumed = [number_in(asked) for asked in first.asked[before:]]
    assert len(kept) == 2 * answered
    assert sorted(resumed) == sorted(set(range(8 * 4)) - kept)
    [result] = results_of(out)
    expected = [sum((8 * replica + i) % 3 == 0 for replica in range(4)) for i in range(8)]
    assert result['gpassk']['counts']['c'] == expected
    assert result['gpassk']['judge']['statistics']['stored'] == len(kept)
