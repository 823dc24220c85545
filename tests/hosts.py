"""What several tests of the OpenCompass side share: the import, small data, and the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

READER = {'input_columns': ['prompt'], 'output_column': 'answer'}
TESTS = Path(__file__).resolve().parent
SHARED = TESTS.parents[1] / 'shared'


def import_plugin(module: str = '') -> ModuleType:
    """Import the package, or a module of the plugin; OpenCompass's own import warns of many things."""
    pytest.importorskip('datasets', reason='OpenCompass is not installed in this environment')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for name in ('datasets', 'models', 'tasks'):  # the plugin imports them when it is used
            import_module(f'opencompass.{name}')
        return import_module('gpassk_opencompass' + (f'.plugin{module}' if module else ''))


def write_bench(root: Path, files: dict[str, Sequence[tuple[str, str]]], version: str = '202412') -> Path:
    """A folder in LiveMathBench's layout: {'AMC_en': [(question, answer), …], …}."""
    (root / version).mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        lines = [
            json.dumps({'question': q, 'answer': a, 'question_type': 'problem-solving', 'options': []})
            for q, a in rows
        ]
        (root / version / f'{name}.jsonl').write_text('\n'.join(lines), encoding='utf-8')
    return root


def dataset_config(path: Path, **settings: Any) -> dict[str, Any]:
    openicl, template = 'opencompass.openicl', {'round': [{'role': 'HUMAN', 'prompt': '{prompt}'}]}
    infer = {
        'prompt_template': {'type': f'{openicl}.icl_prompt_template.PromptTemplate', 'template': template},
        'retriever': {'type': f'{openicl}.icl_retriever.ZeroRetriever'},
        'inferencer': {'type': 'gpassk_opencompass.SeededGenInferencer', 'max_out_len': 64},
    }
    return {
        'type': 'gpassk_opencompass.LiveMathBenchDataset', 'abbr': 'bench', 'path': str(path),
        'dataset_splits': ['AMC'], 'dataset_languages': ['en'], 'reader_cfg': READER, 'infer_cfg': infer,
        'eval_cfg': {'evaluator': {'type': 'gpassk_opencompass.GPassKEvaluator'}}, **settings,
    }  # fmt: skip


def scripted(**settings: Any) -> dict[str, Any]:
    """The model part of a run's config: a model whose answers the test decides, see `scripted`."""
    return {
        'type': 'scripted.ScriptedModel', 'abbr': 'scripted', 'path': '', 'batch_size': 4,
        'max_out_len': 64, 'run_cfg': {'num_gpus': 0}, **settings,
    }  # fmt: skip


def write_config(path: Path, model: dict[str, Any], dataset: dict[str, Any]) -> Path:
    summarizer = {'type': 'gpassk_opencompass.GPassKSummarizer'}
    path.write_text(f'models = [{model!r}]\ndatasets = [{dataset!r}]\nsummarizer = {summarizer!r}\n')
    return path


def environment() -> dict[str, str]:
    """So that the tasks of OpenCompass find this package and the models of the tests."""
    paths = [str(TESTS.parent), str(TESTS), os.environ.get('PYTHONPATH', '')]
    ours = {'PYTHONPATH': os.pathsep.join(filter(None, paths)), 'HF_HUB_OFFLINE': '1', 'OMP_NUM_THREADS': '1'}
    return {**os.environ, **ours}


def run_opencompass(config: Path, work_dir: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end in a folder of its own (OpenCompass writes ./tmp and ./.cache).

    Each process imports all of OpenCompass; where they are not what is tested, see `forks.Forks.opencompass`.
    """
    return subprocess.run(
        [Path(sys.executable).with_name('opencompass'), config, '-w', work_dir, *options],
        cwd=config.parent,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def drawn(
    model: Any,
    prompts: Sequence[str],
    seeds: Sequence[Any] | None = None,
    max_out_len: int = 16,
    **options: Any,
) -> list[tuple[str, Any, str]]:
    """Text, generation, and what was said, of each prompt, as a seeded model tells the inferencer."""
    found: dict[int, tuple[str, Any, str]] = {}

    def done(number: int, *told: Any) -> None:
        assert number not in found
        found[number] = told

    own = [model.seed_of('202412/AMC_en/0', replica) for replica in range(len(prompts))]
    model.sample(list(prompts), own if seeds is None else seeds, max_out_len, done, **options)
    return [found[number] for number in range(len(prompts))]


def results_of(work_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(work_dir.glob('*/results/*/*.json'))]


def numbers(result: dict[str, Any]) -> dict[str, Any]:
    block = {key: value for key, value in result['gpassk'].items() if key != 'judge'}
    block.pop('sample_file', None)  # which names the files of the predictions, shard by shard
    for part in ('provenance', 'run'):
        block[part] = {key: told for key, told in block[part].items() if key != 'created'}
    return {**result, 'gpassk': block}


def wait_until(condition: Callable[[], Any], process: Any, seconds: float = 300) -> None:
    """Wait while the process runs; fail if it ends, or takes longer, before the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, 'the command ended before it could be killed'
        assert time.monotonic() < deadline, 'nothing to kill came up'
        time.sleep(0.05)
