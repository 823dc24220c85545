"""`gpassk run` with a real vLLM in OpenCompass's tasks: whole, and in shards, killed and gone on with."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest
from hosts import environment, import_plugin, write_bench
from vllm_settings import VLLM_ON_CPU

if find_spec('vllm') is None:
    pytest.skip('no vLLM here: make test-engines', allow_module_level=True)

import_plugin()
from engine_checks import SAME_TEXTS  # noqa: E402

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings('ignore')]

QUESTIONS, N = 4, 12
VERSION = 'squares'  # not a published one, whose number of questions is known
PATIENCE = 900.0
ENVIRONMENT = {name: value for name, value in VLLM_ON_CPU.items() if 'MULTIPROCESSING' not in name}
ENVIRONMENT['CUDA_VISIBLE_DEVICES'] = '0'  # OpenCompass starts no task of one GPU where it counts none

TEMPLATE = """
engine = 'vllm'
llm_infos = [dict(path={model!r}, name='m', tp=1, batch_size={batch})]
model_kwargs = dict(dtype='float32', enforce_eager=True)
max_seq_len = 256
temperatures = [1.0]
random_seeds = [42]
greedy = False
max_out_lens = [24]
k_lists = [[4]]
n = {n}
dataset_path = {data!r}
version = {version!r}
dataset_splits = ['AMC']
dataset_languages = ['en']
"""

Rows = dict[tuple[Any, ...], dict[str, Any]]


def test_a_killed_run_in_shards_draws_what_a_whole_one_does(padded: Path, tmp_path: Path) -> None:
    """With another batch size, too: the same seeds, and texts that differ in ties of last bits alone."""
    questions = [(f'What is {number} + {number * number}?', '7') for number in range(QUESTIONS)]
    data = write_bench(tmp_path / 'data', {'AMC_en': questions}, VERSION)
    whole, broken = (_configs(tmp_path / name, padded, data, batch) for name, batch in (('a', 48), ('b', 2)))
    shards = ('--', '--max-num-workers', '2')
    killed = _gpassk(broken, 'run', 'configs', '-w', 'work', *shards)
    _wait_for_rows(broken, killed)
    _kill(killed)
    drawn = len(_drafts(broken)) + sum(len(json.loads(file.read_text())) for file in _predictions(broken))
    assert 0 < drawn < QUESTIONS * N
    for folder, options in ((broken, shards), (whole, ())):
        assert _gpassk(folder, 'run', 'configs', '-w', 'work', *options).wait(PATIENCE) == 0, _said(folder)
    assert [len(_predictions(folder)) for folder in (whole, broken)] == [1, 2]
    first, second = _rows(whole), _rows(broken)
    assert len(first) == QUESTIONS * N
    assert len({row['sample']['seed'] for row in first.values()}) == QUESTIONS * N
    assert {key: row['sample']['seed'] for key, row in first.items()} == {
        key: row['sample']['seed'] for key, row in second.items()
    }
    same = sum(row['prediction'] == second[key]['prediction'] for key, row in first.items())
    print(f'vllm | killed, two shards, other batch size | {same} of {len(first)} texts the same')
    assert same / len(first) >= SAME_TEXTS
    assert all(row['generation']['finish_reason'] in ('stop', 'length') for row in second.values())


def _configs(folder: Path, model: Path, data: Path, batch: int) -> Path:
    folder.mkdir()
    values = {'model': str(model), 'batch': batch, 'n': N, 'data': str(data), 'version': VERSION}
    (folder / 'template.py').write_text(TEMPLATE.format(**values))
    expanded = _gpassk(folder, 'expand', 'template.py', '--output-dir', 'configs')
    assert expanded.wait(PATIENCE) == 0, _said(folder)
    return folder


def _gpassk(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    with (folder / 'said').open('ab') as said:
        return subprocess.Popen(
            [sys.executable, '-m', 'gpassk_opencompass.cli', *arguments],
            cwd=folder,
            env={**environment(), **ENVIRONMENT},
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End it and all that it started, which has sessions of its own."""
    for one in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
        one.kill()
    process.wait()


def _said(folder: Path) -> str:
    return (folder / 'said').read_text(errors='replace')[-3000:]


def _drafts(folder: Path) -> list[str]:
    return [line for path in folder.rglob('*.rows.jsonl') for line in path.read_text().splitlines()]


def _wait_for_rows(folder: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not _drafts(folder):
        assert process.poll() is None, _said(folder)
        assert time.monotonic() < deadline, _said(folder)
        time.sleep(0.01)


def _predictions(folder: Path) -> list[Path]:
    return sorted((folder / 'work').glob('*/*/predictions/*/*.json'))


def _rows(folder: Path) -> Rows:
    """Return the rows of all shards, each under its question and replica."""
    rows = [row for file in _predictions(folder) for row in json.loads(file.read_text()).values()]
    found = {(row['sample']['uid'], row['sample']['replica']): row for row in rows}
    assert len(found) == len(rows)
    return found
