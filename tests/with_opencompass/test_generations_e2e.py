"""From the engine to the table: what a run cost and how its samples ended, by the real command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from forks import Forks
from hosts import dataset_config, import_plugin, write_bench, write_config

from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.record import Result, read

import_plugin()
pytestmark = pytest.mark.e2e

QUESTIONS = [(f'{i}+{i + 30}=?', '$7$') for i in range(8)]
N = 4


def config_of(folder: Path, max_out_len: int) -> Path:
    """A run of the demo's model."""
    root = write_bench(folder / 'data', {'AMC_en': QUESTIONS})
    dataset = dataset_config(root, k=[2, 4], n=N)
    dataset['infer_cfg']['inferencer']['max_out_len'] = max_out_len
    model = {
        'type': 'gpassk_opencompass.SeededHuggingFace',
        'abbr': 'demo',
        'path': MODEL,
        'model_kwargs': {'torch_dtype': 'torch.float32', 'device_map': 'cpu'},
        'generation_kwargs': {'do_sample': True, 'temperature': 1.0, 'top_p': 1.0, 'top_k': 0},
        'max_seq_len': 2048,
        'batch_size': 8,
        'random_seed': 42,
        'run_cfg': {'num_gpus': 0},
    }
    return write_config(folder / 'run.py', model, dataset)


def rows_of(out: Path) -> list[dict[str, Any]]:
    """Of all shards, in the order of the data set."""
    shards = sorted(out.glob('*/predictions/*/bench*.json'))
    return [row for shard in shards for row in json.loads(shard.read_text()).values()]


def result_in(out: Path) -> Result:
    """The only result of a run."""
    [path] = out.glob('*/results/*/*.json')
    return read(path)


def by_question(column: list[Any]) -> list[Any]:
    """Question by question; in the predictions row = replica × questions + question."""
    return [one for question in range(len(QUESTIONS)) for one in column[question :: len(QUESTIONS)]]


def test_shards_are_put_together_sample_by_sample(forks: Forks, tmp_path: Path) -> None:
    """Two shards, and a question has samples in both: tokens and reasons are of the right rows."""
    config = config_of(tmp_path, max_out_len=24)
    out = tmp_path / 'out'
    forks.opencompass(config, out, '--max-num-workers', '2')
    rows = rows_of(out)
    told = [row['generation'] for row in rows]
    assert len(told) == N * len(QUESTIONS)
    tokens = [one['output_tokens'] for one in told]
    assert len(set(tokens)) > 2
    found = result_in(out)
    samples, health = found.samples(), found.health
    assert samples is not None
    assert samples['output_tokens'] == by_question(tokens)
    assert samples['finish_reason'] == by_question([one['finish_reason'] for one in told])
    assert samples['seed'] == by_question([row['sample']['seed'] for row in rows])
    assert samples['fingerprint'] == by_question([row['sample']['task'] for row in rows])
    assert samples['response'] == by_question([row['prediction'] for row in rows])
    places = zip(samples['file'], samples['row'], strict=True)
    texts = [json.loads((found.path.parent / file).read_text())[str(row - 1)] for file, row in places]
    assert texts == by_question(rows)
    assert health.output_tokens == sum(tokens)
    assert health.prompt_tokens == sum(one['prompt_tokens'] for one in told)
    assert health.truncated == sum(one['finish_reason'] == 'length' for one in told)
    assert health.seconds is None
